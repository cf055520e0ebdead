use serde_json::{Value, json};

use super::stage::{Stage, handled};

kopf_on_both_servers! {
    failures_stay_with_their_handlers;
}

async fn failures_stay_with_their_handlers(stage: &Stage) {
    let kopf = stage.start("failures.py", "kopf");
    let path = stage.create("box", json!({"items": ["ball", "kite"]})).await;
    let wanted = json!({"careless": 1, "pack/ball": "ball is in", "pack/kite": "kite is in"});
    let done = |toy: &Value| handled(toy) != Value::Null && toy["status"] == wanted;
    stage.cluster.wait(&path, done).await;
    let complaints = [
        "wrong size",
        "dropped it",
        "found it again",
        "never mind",
        "it rolls away",
    ];
    let calls = kopf.stop(&complaints);
    let of = |handler: &str| -> Vec<&str> {
        let call = |call: &&String| call.split(' ').next() == Some(handler);
        calls.iter().filter(call).map(String::as_str).collect()
    };
    assert_eq!(of("hopeless"), ["hopeless"]);
    assert_eq!(of("clumsy"), ["clumsy 0", "clumsy 1", "clumsy 2"]);
    assert_eq!(of("careless"), ["careless 0", "careless 1"]);
    assert_eq!(of("relaxed"), ["relaxed"]);
    assert_eq!(of("pack/ball"), ["pack/ball 0", "pack/ball 1"]);
    assert_eq!(of("pack/kite"), ["pack/kite 0"]);
    let first: Vec<_> = calls.iter().take(5).map(String::as_str).collect();
    assert_eq!(first, ["hopeless", "clumsy 0", "careless 0", "relaxed", "pack"]);
}
