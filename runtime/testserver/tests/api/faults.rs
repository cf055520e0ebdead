use std::time::Duration;

use kopf_testserver::Failure;
use serde_json::json;
use tokio::time::{Instant, timeout};
use tower::Service as _;

use crate::support::{ALL, HELLO, HERE, MERGE, create, get, greeting, patch, request, send, server, try_send};

#[tokio::test(start_paused = true)]
async fn requests_fail_as_often_as_planned() {
    let server = server();
    create(&server, greeting("hello")).await;
    server.fail_next("PATCH", "/greetings/", Failure::status(503), 2);
    for code in [503, 503, 200] {
        assert_eq!(get(&server, HELLO).await.0, 200);
        assert_eq!(patch(&server, HELLO, MERGE, json!({})).await.0, code);
    }
    server.fail_next("", "watch=true", Failure::status(403), 1);
    server.clear_failures();
    server.fail_next("get", "limit=5", Failure::status(410), 1);
    assert_eq!(get(&server, ALL).await.0, 200);
    let (code, status) = get(&server, &format!("{ALL}?limit=5")).await;
    assert_eq!((code, &status["reason"]), (410, &json!("Expired")));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_may_ask_to_come_again() {
    let server = server();
    server.fail_next("", "", Failure::retry_after(429, 7), 1);
    let response = server.service().call(request("GET", ALL, "", "")).await.unwrap();
    assert_eq!(
        (
            response.status().as_u16(),
            response.headers()["retry-after"].to_str().unwrap()
        ),
        (429, "7")
    );
}

#[tokio::test(start_paused = true)]
async fn connections_break_before_or_after_the_work() {
    let server = server();
    let post = |name: &str| request("POST", HERE, "application/json", &greeting(name).to_string());
    server.fail_next("POST", "", Failure::Reset, 1);
    assert!(try_send(&server, post("a")).await.is_err());
    server.fail_next("POST", "", Failure::LostResponse, 1);
    assert!(try_send(&server, post("b")).await.is_err());
    let (_, list) = get(&server, ALL).await;
    assert_eq!(
        (
            list["items"].as_array().unwrap().len(),
            &list["items"][0]["metadata"]["name"]
        ),
        (1, &json!("b"))
    );
}

#[tokio::test(start_paused = true)]
async fn requests_hang_or_come_late() {
    let server = server();
    server.fail_next("GET", "", Failure::Hang, 1);
    assert!(timeout(Duration::from_secs(3600), get(&server, ALL)).await.is_err());
    server.fail_next("GET", "", Failure::Delay(Duration::from_secs(5)), 1);
    let start = Instant::now();
    assert_eq!(get(&server, ALL).await.0, 200);
    assert_eq!(start.elapsed(), Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn requests_are_recorded() {
    let server = server();
    server.fail_next("GET", "", Failure::Reset, 1);
    let _ = try_send(&server, request("GET", ALL, "", "")).await;
    send(
        &server,
        "PATCH",
        &format!("{HELLO}?fieldManager=me"),
        MERGE,
        json!({"a": 1}),
    )
    .await;
    let requests = server.requests();
    assert_eq!((requests[0].method.as_str(), requests[0].status), ("GET", None));
    let patch = &requests[1];
    assert_eq!((patch.path.as_str(), patch.query.as_str()), (HELLO, "fieldManager=me"));
    assert_eq!((patch.content_type.as_str(), patch.status), (MERGE, Some(404)));
    assert_eq!(patch.body, Some(json!({"a": 1})));
    server.clear_requests();
    assert!(server.requests().is_empty());
}
