//! Objects that Kopf has handled.

use kopf_runtime::{Change, HandlerResult, Operator, Resource};
use kopf_tests::cluster::Cluster;
use kopf_tests::on_both_servers;
use kopf_tests::widgets::{self, Notes, Widget, path};
use serde_json::{Value, json};

on_both_servers! {
    an_object_that_kopf_handled_is_not_handled_again;
    a_retry_that_kopf_began_is_continued;
}

fn operator(notes: &Notes) -> Operator {
    let handler = |id: &'static str| {
        let notes = notes.clone();
        move |Change {
                  reason, retry, diff, ..
              }: Change<Widget>| {
            notes.add(format!("{id} {reason} {retry} {diff}"));
            async { HandlerResult::Ok(()) }
        }
    };
    Operator::new("suite").resource(
        Resource::of::<Widget>()
            .on_create("made", handler("made"), |o| o)
            .on_update("changed", handler("changed"), |o| o)
            .on_delete("gone", handler("gone"), |o| o),
    )
}

// B-1, B-7, C-4
async fn an_object_that_kopf_handled_is_not_handled_again(cluster: &Cluster) {
    widgets::install(cluster).await;
    let metadata = json!({
        "finalizers": ["kopf.zalando.org/KopfFinalizerMarker"],
        "annotations": {"kopf.zalando.org/last-handled-configuration": "{\"spec\":{\"size\":1}}\n"},
    });
    widgets::create_with(cluster, "a", metadata, json!({"size": 1})).await;
    let notes = Notes::default();
    let operator = cluster.start(operator(&notes));
    let path = path(cluster, "a");
    // Another object shows that the listing was worked through.
    widgets::create(cluster, "b", json!({"size": 5})).await;
    notes.wait_for(1).await;
    assert!(
        notes.all()[0].starts_with("made create"),
        "only the new object is created: {:?}",
        notes.all()
    );
    cluster.patch(&path, &json!({"spec": {"size": 2}})).await;
    notes.wait_for(2).await;
    cluster.request("DELETE", &path, &Value::Null).await.unwrap();
    cluster.wait(&path, Value::is_null).await;
    operator.stop().await;
    let notes = notes.all();
    assert!(
        notes[1].starts_with("changed update 0") && notes[1].contains("spec.size"),
        "{notes:?}"
    );
    assert!(notes[2].starts_with("gone delete 0"), "{notes:?}");
    assert_eq!(notes.len(), 3);
    cluster
        .patch(&widgets::path(cluster, "b"), &json!({"metadata": {"finalizers": null}}))
        .await;
}

// P-2, P-12; also a record without an offset (P-4).
async fn a_retry_that_kopf_began_is_continued(cluster: &Cluster) {
    widgets::install(cluster).await;
    let record = "{\"started\":\"2031-02-03T04:05:06.000789\",\"delayed\":\"2020-02-03T04:06:06.000999+00:00\",\
                  \"purpose\":\"create\",\"retries\":2,\"success\":false,\"failure\":false,\"message\":\"busy\"}";
    let metadata = json!({
        "finalizers": ["kopf.zalando.org/KopfFinalizerMarker"],
        "annotations": {"kopf.zalando.org/made": record},
    });
    widgets::create_with(cluster, "a", metadata, json!({"size": 1})).await;
    let notes = Notes::default();
    let operator = cluster.start(operator(&notes));
    let path = path(cluster, "a");
    let handled =
        |object: &Value| object["metadata"]["annotations"]["kopf.zalando.org/last-handled-configuration"].is_string();
    let done = cluster.wait(&path, handled).await;
    operator.stop().await;
    assert!(notes.all()[0].starts_with("made create 2"), "{:?}", notes.all());
    assert_eq!(done["metadata"]["annotations"]["kopf.zalando.org/made"], Value::Null);
    cluster.patch(&path, &json!({"metadata": {"finalizers": null}})).await;
}
