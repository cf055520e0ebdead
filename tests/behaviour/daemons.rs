//! Daemons.

use kopf_runtime::{Daemon, HandlerResult, Operator, Resource};
use kopf_tests::cluster::Cluster;
use kopf_tests::on_both_servers;
use kopf_tests::widgets::{self, Notes, Widget, create, path};
use serde_json::{Value, json};

on_both_servers! {
    a_daemon_lives_with_its_object;
}

// G-1, G-9, G-15
async fn a_daemon_lives_with_its_object(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let watch = {
        let notes = notes.clone();
        move |Daemon { stopped, .. }: Daemon<Widget>| {
            let notes = notes.clone();
            notes.add("begun");
            async move {
                stopped.wait().await;
                notes.add(stopped.reason().to_string());
                HandlerResult::Ok(())
            }
        }
    };
    let operator =
        cluster.start(Operator::new("suite").resource(Resource::of::<Widget>().daemon("watch", watch, |o| o)));
    let path = path(cluster, "a");
    create(cluster, "a", json!({"size": 1})).await;
    notes.wait_for(1).await;
    assert_eq!(
        cluster.get(&path).await["metadata"]["finalizers"],
        json!(["kopf.zalando.org/KopfFinalizerMarker"])
    );
    cluster.request("DELETE", &path, &Value::Null).await.unwrap();
    cluster.wait(&path, Value::is_null).await;
    assert_eq!(notes.all(), ["begun", "RESOURCE_DELETED"]);
    operator.stop().await;
}
