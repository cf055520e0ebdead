use serde_json::{Value, json};

use super::stage::{Kopf, Stage, handled};

kopf_on_both_servers! {
    an_object_lives_from_creation_to_deletion;
    a_restarted_operator_resumes_and_catches_up;
}

async fn an_object_lives_from_creation_to_deletion(stage: &Stage) {
    live(stage, stage.start("life.py", "kopf")).await;
}

/// Newer servers only: the list comes as the first events of the watch.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_lives_with_an_operator_that_streams_its_lists() {
    let Some(stage) = Stage::embedded().await else { return };
    let namespace = stage.cluster.namespace.clone();
    let arguments = ["--standalone", "--namespace", &namespace];
    let kopf = stage.run("life.py", "kopf", &arguments, &[("STREAMING", "yes")]);
    live(&stage, kopf).await;
}

async fn live(stage: &Stage, kopf: Kopf) {
    let path = stage
        .create("ball", json!({"size": 1, "colour": "red", "failures": 1}))
        .await;
    let halfway = |toy: &Value| toy["metadata"]["annotations"]["kopf.zalando.org/assemble"].is_string();
    let toy = stage.cluster.wait(&path, halfway).await;
    let progress = toy["metadata"]["annotations"]["kopf.zalando.org/assemble"]
        .as_str()
        .unwrap();
    let progress: Value = serde_json::from_str(progress).unwrap();
    assert_eq!(progress["retries"], 1, "{toy:#}");
    assert_eq!(progress["message"], "a screw is missing");

    // The status is patched after the rest.
    let done = |toy: &Value| handled(toy) != Value::Null && toy["status"]["assemble"] != Value::Null;
    let toy = stage.cluster.wait(&path, done).await;
    assert_eq!(
        toy["metadata"]["finalizers"],
        json!(["kopf.zalando.org/KopfFinalizerMarker"])
    );
    assert_eq!(toy["status"], json!({"assemble": {"parts": 2}, "paper": "red"}));
    assert_eq!(toy["metadata"]["labels"], json!({"wrapped": "yes"}));
    let annotations = toy["metadata"]["annotations"].as_object().unwrap();
    assert_eq!(annotations.len(), 1, "no progress is left: {annotations:?}");
    assert_eq!(toy["metadata"]["generation"], 1);

    let edit = |patch: Value| async move {
        stage.cluster.patch(&stage.toy("ball"), &patch).await;
        let all = |toy: &Value| {
            let spec = patch["spec"].as_object().unwrap();
            spec.iter().all(|(field, value)| handled(toy)["spec"][field] == *value)
        };
        stage.cluster.wait(&stage.toy("ball"), all).await
    };
    edit(json!({"spec": {"size": 2}})).await;
    let toy = edit(json!({"spec": {"colour": "blue"}})).await;
    assert_eq!(toy["status"]["rebuild"], 1);
    assert_eq!(toy["metadata"]["generation"], 3);
    stage.remove(&path).await;

    // The events are posted beside the handling.
    let events = format!("/api/v1/namespaces/{}/events", stage.cluster.namespace);
    let both = |list: &Value| list["items"].as_array().is_some_and(|items| items.len() >= 2);
    let list = stage.cluster.wait(&events, both).await;
    let event = &list["items"][0];
    assert_eq!(event["involvedObject"]["uid"], toy["metadata"]["uid"]);
    assert!(event["metadata"]["name"].as_str().unwrap().starts_with("kopf-event-"));
    let events = stage.cluster.events_about("ball").await;
    let event = |reason: &str, message: &str| (reason.to_owned(), message.to_owned());
    assert_eq!(
        events,
        [
            event("Assembled", "Took 2 attempts."),
            event("Recycled", "Nothing is left."),
        ]
    );
    assert_eq!(
        kopf.stop(&["a screw is missing", "the bin is full"]),
        [
            "assemble 0",
            "wrap",
            "repaint None->red",
            "assemble 1",
            "rebuild change spec.size 1->2",
            "rebuild change spec.colour red->blue",
            "repaint red->blue",
            "recycle 0",
            "recycle 1",
        ]
    );
}

async fn a_restarted_operator_resumes_and_catches_up(stage: &Stage) {
    let kopf = stage.start("life.py", "first");
    let untouched = stage.create("untouched", json!({"size": 1})).await;
    let edited = stage.create("edited", json!({"size": 2})).await;
    let deleted = stage.create("deleted", json!({"size": 3})).await;
    for path in [&untouched, &edited, &deleted] {
        let done = |toy: &Value| handled(toy) != Value::Null && toy["status"]["assemble"] != Value::Null;
        stage.cluster.wait(path, done).await;
    }
    kopf.stop(&[]);

    stage.cluster.patch(&edited, &json!({"spec": {"size": 4}})).await;
    stage.cluster.patch(&edited, &json!({"spec": {"size": 5}})).await;
    stage.delete(&deleted).await;
    let waiting = stage.cluster.get(&deleted).await;
    assert!(waiting["metadata"]["deletionTimestamp"].is_string(), "{waiting:#}");

    let kopf = stage.start("life.py", "second");
    stage
        .cluster
        .wait(&untouched, |toy| toy["status"]["inspect"] == 1)
        .await;
    stage.cluster.wait(&edited, |toy| toy["status"]["inspect"] == 5).await;
    let rebuilt = |toy: &Value| handled(toy)["spec"]["size"] == 5 && toy["status"]["rebuild"] == 1;
    stage.cluster.wait(&edited, rebuilt).await;
    stage.cluster.wait(&deleted, Value::is_null).await;
    let mut calls = kopf.stop(&["the bin is full"]);
    // Objects are handled side by side.
    calls.sort();
    assert_eq!(
        calls,
        [
            "inspect 1",
            "inspect 5",
            "rebuild change spec.size 2->5",
            "recycle 0",
            "recycle 1",
        ]
    );
    for path in [&untouched, &edited] {
        stage
            .cluster
            .patch(path, &json!({"metadata": {"finalizers": null}}))
            .await;
    }
}
