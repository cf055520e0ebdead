use std::process::Command;
use std::time::{Duration, Instant};

use kopf_runtime::kube::Error;
use kopf_runtime::kube::client::Body;
use serde_json::{Value, json};

use super::stage::{Kopf, Stage};

kopf_on_both_servers! {
    objects_are_reviewed_before_they_are_stored;
}

const CONFIGURATIONS: &str = "/apis/admissionregistration.k8s.io/v1";

/// A certificate for the loopback address that vouches for itself.
fn certify(stage: &Stage) {
    let made = Command::new("openssl")
        .args([
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=toys",
        ])
        .args(["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"])
        .arg("-keyout")
        .arg(stage.file("key.pem"))
        .arg("-out")
        .arg(stage.file("certificate.pem"))
        .output()
        .expect("openssl is on the path");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

async fn start(stage: &Stage) -> Kopf {
    certify(stage);
    let (key, certificate) = (stage.file("key.pem"), stage.file("certificate.pem"));
    let environment = [
        ("KEY", key.to_str().unwrap()),
        ("CERTIFICATE", certificate.to_str().unwrap()),
    ];
    let namespace = stage.cluster.namespace.clone();
    let arguments = ["--standalone", "--namespace", &namespace];
    let kopf = stage.run("reviews.py", "kopf", &arguments, &environment);
    for (kind, count) in [("mutating", 1), ("validating", 2)] {
        let path = format!("{CONFIGURATIONS}/{kind}webhookconfigurations/{}", stage.group());
        let installed = |found: &Value| {
            found["webhooks"]
                .as_array()
                .is_some_and(|webhooks| webhooks.len() == count)
        };
        stage.cluster.wait(&path, installed).await;
    }
    kopf
}

/// Creates a toy for real or for show; the answer, and the warnings beside it.
async fn post(stage: &Stage, query: &str, toy: &Value) -> (Result<Value, (u16, String)>, Vec<String>) {
    let request = http::Request::post(format!("{}{query}", stage.toys()))
        .header("content-type", "application/json")
        .body(Body::from(toy.to_string().into_bytes()))
        .unwrap();
    let response = stage.cluster.client.send(request).await.unwrap();
    let warnings = response.headers().get_all("warning").iter();
    let warnings = warnings.map(|value| value.to_str().unwrap().to_owned()).collect();
    let code = response.status().as_u16();
    let body = response.into_body().collect_bytes().await.unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    if code < 300 {
        (Ok(body), warnings)
    } else {
        (Err((code, body["message"].as_str().unwrap().to_owned())), warnings)
    }
}

async fn objects_are_reviewed_before_they_are_stored(stage: &Stage) {
    let kopf = start(stage).await;
    let group = stage.group();
    let huge = stage.new_toy("huge", &json!({"size": 11}));
    let refused = |message: &str| format!("admission webhook \"{message}");
    // The server takes notice of webhooks a little later than it stores them.
    eventually("both webhooks at work", async || {
        let small = stage.new_toy("small", &json!({"size": 1}));
        let completed = post(stage, "?dryRun=All", &small).await.0.unwrap()["spec"]["colour"] == "grey";
        completed && post(stage, "?dryRun=All", &huge).await.0.is_err()
    })
    .await;
    let before = kopf.calls().len();
    let too_big = (451, refused(&format!("check.{group}\" denied the request: too big")));
    assert_eq!(post(stage, "", &huge).await.0, Err(too_big));
    assert_eq!(stage.cluster.get(&stage.toy("huge")).await, Value::Null);

    let (made, warnings) = post(stage, "", &stage.new_toy("small", &json!({"size": 1}))).await;
    assert_eq!(made.unwrap()["spec"], json!({"size": 1, "colour": "grey"}));
    assert_eq!(warnings, [""; 0]);
    let (made, warnings) = post(stage, "", &stage.new_toy("big", &json!({"size": 6, "colour": "red"}))).await;
    assert_eq!(made.unwrap()["spec"], json!({"size": 6, "colour": "red"}));
    assert_eq!(warnings, ["299 - \"rather big\""]);
    let (made, _) = post(stage, "?dryRun=All", &stage.new_toy("shown", &json!({"size": 2}))).await;
    assert_eq!(made.unwrap()["spec"]["colour"], "grey");
    assert_eq!(stage.cluster.get(&stage.toy("shown")).await, Value::Null);

    let patch = json!({"spec": {"size": 12}}).to_string();
    let patch = http::Request::patch(stage.toy("small"))
        .header("content-type", "application/merge-patch+json")
        .body(patch.into_bytes());
    match stage.cluster.client.request::<Value>(patch.unwrap()).await {
        Err(Error::Api(status)) => assert_eq!(status.code, 451, "{status:?}"),
        other => panic!("{other:?}"),
    }
    let toy = stage.cluster.get(&stage.toy("small")).await;
    assert_eq!(toy["spec"]["size"], 1);
    // The mutating webhook runs again at each edit.
    let toy = stage
        .cluster
        .patch(&stage.toy("small"), &json!({"spec": {"colour": null}}))
        .await;
    assert_eq!(toy["spec"]["colour"], "grey");

    stage
        .cluster
        .patch(&stage.toy("big"), &json!({"metadata": {"labels": {"precious": "yes"}}}))
        .await;
    match stage.cluster.request("DELETE", &stage.toy("big"), &Value::Null).await {
        Err(Error::Api(status)) => {
            assert_eq!(status.code, 500, "{status:?}");
            let message = format!("keep.{group}\" denied the request: it is dear to somebody");
            assert_eq!(status.message, refused(&message));
        }
        other => panic!("{other:?}"),
    }
    stage.remove(&stage.toy("small")).await;
    assert_ne!(stage.cluster.get(&stage.toy("big")).await, Value::Null);

    let calls = kopf.stop(&["too big", "it is dear to somebody"]);
    // Old servers try a refused edit once more, in case they had worked on stale data.
    let mut once: Vec<&str> = Vec::new();
    for call in &calls[before..] {
        if !once.contains(&call.as_str()) {
            once.push(call);
        }
    }
    assert_eq!(
        once,
        [
            "complete CREATE huge 11 None real master",
            "check CREATE huge None->11 grey",
            "complete CREATE small 1 None real master",
            "check CREATE small None->1 grey",
            "complete CREATE big 6 red real master",
            "check CREATE big None->6 red",
            "complete CREATE shown 2 None dry master",
            "check CREATE shown None->2 grey",
            "complete UPDATE small 12 grey real master",
            "check UPDATE small 1->12 grey",
            "complete UPDATE small 1 None real master",
            "check UPDATE small 1->1 grey",
            "complete UPDATE big 6 red real master",
            "check UPDATE big 6->6 red",
            "keep big",
        ]
    );
    // What is left of the webhooks keeps nobody from anything.
    for kind in ["mutating", "validating"] {
        let path = format!("{CONFIGURATIONS}/{kind}webhookconfigurations/{group}");
        let configuration = stage.cluster.get(&path).await;
        assert_eq!(
            configuration["webhooks"].as_array().map_or(0, Vec::len),
            0,
            "{configuration:#}"
        );
        stage.remove(&path).await;
    }
    eventually("a deletion without webhooks", async || {
        let deleted = stage.cluster.request("DELETE", &stage.toy("big"), &Value::Null).await;
        deleted.is_ok()
    })
    .await;
}

/// Tries until it comes true.
async fn eventually(what: &str, attempt: impl AsyncFn() -> bool) {
    let begin = Instant::now();
    while !attempt().await {
        assert!(begin.elapsed() < Duration::from_secs(60), "never: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
