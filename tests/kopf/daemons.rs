use serde_json::{Value, json};

use super::stage::Stage;

kopf_on_both_servers! {
    daemons_run_beside_their_object;
    daemons_end_with_the_operator_and_begin_with_the_next;
}

/// The calls of some handlers, in order.
fn of(calls: &[String], handlers: &[&str]) -> Vec<String> {
    let wanted = |call: &&String| handlers.iter().any(|handler| call.starts_with(handler));
    calls.iter().filter(wanted).cloned().collect()
}

async fn daemons_run_beside_their_object(stage: &Stage) {
    let kopf = stage.start("daemons.py", "kopf");
    let path = stage.create("train", json!({"on": true})).await;
    kopf.wait_call("blink begins").await;
    kopf.wait_call("drive begins").await;
    let toy = stage.cluster.wait(&path, |toy| toy["status"]["count"] == 3).await;
    assert_eq!(
        toy["metadata"]["finalizers"],
        json!(["kopf.zalando.org/KopfFinalizerMarker"])
    );
    stage.cluster.patch(&path, &json!({"spec": {"on": false}})).await;
    kopf.wait_call("drive ends FILTERS_MISMATCH").await;
    kopf.wait_call("blink ends").await;
    stage.cluster.patch(&path, &json!({"spec": {"on": true}})).await;
    let twice = |log: &str| {
        ["drive", "blink"]
            .iter()
            .all(|name| log.matches(&format!("call {name} begins")).count() == 2)
    };
    kopf.wait("both daemons begin again", twice).await;
    stage.remove(&path).await;
    let calls = kopf.stop(&["lost count", "Daemon 'sleep' is cancelled"]);
    assert_eq!(
        of(&calls, &["drive"]),
        [
            "drive begins",
            "drive ends FILTERS_MISMATCH",
            "drive begins",
            "drive ends RESOURCE_DELETED"
        ]
    );
    assert_eq!(
        of(&calls, &["blink"]),
        ["blink begins", "blink ends", "blink begins", "blink ends"]
    );
    assert_eq!(of(&calls, &["sleep"]), ["sleep begins", "sleep is cancelled"]);
    assert_eq!(of(&calls, &["count"]), ["count 0", "count 1"]);
}

async fn daemons_end_with_the_operator_and_begin_with_the_next(stage: &Stage) {
    let path = stage.create("train", json!({"on": true})).await;
    for name in ["first", "second"] {
        let kopf = stage.start("daemons.py", name);
        kopf.wait_call("drive begins").await;
        kopf.wait_call("blink begins").await;
        kopf.wait_call("count 1").await;
        let calls = kopf.stop(&["lost count", "Daemon 'sleep' is cancelled"]);
        assert_eq!(of(&calls, &["drive"]), ["drive begins", "drive ends OPERATOR_EXITING"]);
        assert_eq!(of(&calls, &["blink"]), ["blink begins", "blink ends"]);
    }
    let toy = stage.cluster.get(&path).await;
    assert_eq!(toy["metadata"]["deletionTimestamp"], Value::Null);
    stage
        .cluster
        .patch(&path, &json!({"metadata": {"finalizers": null}}))
        .await;
}
