use serde_json::{Value, json};

use super::stage::Stage;

kopf_on_both_servers! {
    a_timer_ticks_while_it_is_wound_up;
    a_timer_goes_on_after_failures;
}

async fn a_timer_ticks_while_it_is_wound_up(stage: &Stage) {
    let kopf = stage.start("ticks.py", "kopf");
    let path = stage.create("clock", json!({"size": 1, "wound": true})).await;
    let toy = stage
        .cluster
        .wait(&path, |toy| toy["status"]["tick"].as_i64() >= Some(3))
        .await;
    assert_eq!(
        toy["metadata"]["finalizers"],
        json!(["kopf.zalando.org/KopfFinalizerMarker"])
    );
    stage
        .cluster
        .patch(&path, &json!({"spec": {"size": 2, "wound": false}}))
        .await;
    // The other timer waits until nothing has happened to the object for a while, so the first one has stopped.
    kopf.wait_call("rest 2").await;
    let count = |calls: &[String]| calls.iter().filter(|call| call.starts_with("tick")).count();
    let before = count(&kopf.calls());
    stage
        .cluster
        .patch(&path, &json!({"spec": {"size": 3, "wound": true}}))
        .await;
    let again = format!("tick {} 3", before + 1);
    kopf.wait_call(&again).await;
    stage.remove(&path).await;
    let calls = kopf.stop(&[]);
    let ticks: Vec<_> = calls.iter().filter(|call| call.starts_with("tick")).collect();
    for (index, tick) in ticks.iter().enumerate() {
        assert!(tick.starts_with(&format!("tick {} ", index + 1)), "{ticks:?}");
    }
    let sizes: Vec<_> = ticks.iter().filter_map(|tick| tick.split(' ').nth(2)).collect();
    assert!(sizes.iter().is_sorted(), "{ticks:?}");
}

async fn a_timer_goes_on_after_failures(stage: &Stage) {
    let kopf = stage.start("ticks.py", "kopf");
    let mut toy = stage.new_toy("clock", &json!({"size": 1}));
    toy["metadata"]["labels"] = json!({"broken": "yes"});
    stage.cluster.request("POST", &stage.toys(), &toy).await.unwrap();
    let six = |log: &str| log.matches("call tock").count() >= 6;
    kopf.wait("six attempts", six).await;
    stage.remove(&stage.toy("clock")).await;
    let calls = kopf.stop(&["the spring is broken"]);
    let tocks: Vec<_> = calls.iter().filter(|call| call.starts_with("tock")).take(6).collect();
    assert_eq!(tocks, ["tock 0", "tock 1", "tock 0", "tock 1", "tock 0", "tock 1"]);
    assert_eq!(stage.cluster.get(&stage.toy("clock")).await, Value::Null);
}
