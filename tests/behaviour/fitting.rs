//! Objects that do not fit their typed spec.

use kopf_runtime::{Change, HandlerResult, Operator, Resource};
use kopf_tests::cluster::Cluster;
use kopf_tests::on_both_servers;
use kopf_tests::widgets::{self, Notes, Widget, create, path};
use serde_json::{Value, json};

fn operator(notes: &Notes) -> Operator {
    let handler = |id: &'static str| {
        let notes = notes.clone();
        move |Change { name, spec, .. }: Change<Widget>| {
            notes.add(format!("{id} {name} {}", spec.size));
            async { HandlerResult::Ok(true) }
        }
    };
    Operator::new("suite").resource(
        Resource::of::<Widget>()
            .on_create("made", handler("made"), |o| o)
            .on_update("changed", handler("changed"), |o| o)
            .on_delete("gone", handler("gone"), |o| o),
    )
}

on_both_servers! {
    an_object_that_does_not_fit_waits_alone;
    deletion_of_a_misfit_works_with_what_was_handled_last;
}

async fn an_object_that_does_not_fit_waits_alone(cluster: &Cluster) {
    widgets::install(cluster).await;
    create(cluster, "misfit", json!({"size": "large"})).await;
    create(cluster, "fine", json!({"size": 1})).await;
    let notes = Notes::default();
    let operator = cluster.start(operator(&notes));
    let made = |object: &Value| object["status"]["made"] == true;
    cluster.wait(&path(cluster, "fine"), made).await;

    let begin = tokio::time::Instant::now();
    while cluster.events_about("misfit").await.is_empty() {
        assert!(begin.elapsed().as_secs() < 30, "no event came");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    // Nothing of the object changed, so it is not reported again.
    cluster
        .patch(&path(cluster, "misfit"), &json!({"status": {"any": 1}}))
        .await;
    cluster
        .patch(&path(cluster, "misfit"), &json!({"metadata": {"labels": {"any": "x"}}}))
        .await;
    create(cluster, "later", json!({"size": 3})).await;
    cluster.wait(&path(cluster, "later"), made).await;
    let events = cluster.events_about("misfit").await;
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(events[0].0, "InvalidSpec");
    assert!(
        events[0].1.contains("spec.size"),
        "the event names the path: {}",
        events[0].1
    );

    cluster
        .patch(&path(cluster, "misfit"), &json!({"spec": {"size": 2}}))
        .await;
    cluster.wait(&path(cluster, "misfit"), made).await;
    operator.stop().await;
    let mut notes = notes.all();
    notes.sort();
    assert_eq!(notes, ["made fine 1", "made later 3", "made misfit 2"]);
}

async fn deletion_of_a_misfit_works_with_what_was_handled_last(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let operator = cluster.start(operator(&notes));
    let path = path(cluster, "a");
    create(cluster, "a", json!({"size": 7})).await;
    cluster.wait(&path, |object| object["status"]["made"] == true).await;
    cluster.patch(&path, &json!({"spec": {"size": "large"}})).await;
    cluster.request("DELETE", &path, &Value::Null).await.unwrap();
    cluster.wait(&path, Value::is_null).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["made a 7", "gone a 7"]);
}
