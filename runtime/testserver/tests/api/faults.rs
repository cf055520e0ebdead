use std::time::Duration;

use http_body_util::BodyExt as _;
use kopf_testserver::{Chaos, Disturbance, Failure, ResponseBody, Server, Traffic, User};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};
use tower::Service as _;

use crate::support::{
    ALL, HELLO, HERE, MERGE, brief, create, get, greeting, patch, request, send, server, try_send, watch,
};

#[tokio::test(start_paused = true)]
async fn requests_fail_as_often_as_planned() {
    let server = server();
    create(&server, greeting("hello")).await;
    server.faults().plan(
        Traffic::any().verb("patch").resource("greetings"),
        2,
        Failure::status(503),
    );
    for code in [503, 503, 200] {
        assert_eq!(get(&server, HELLO).await.0, 200);
        assert_eq!(patch(&server, HELLO, MERGE, json!({})).await.0, code);
    }
    server
        .faults()
        .plan(Traffic::any().verb("watch"), 1, Failure::status(403));
    server.faults().clear();
    server
        .faults()
        .plan(Traffic::any().verb("list").query("limit=5"), 1, Failure::status(410));
    assert_eq!(get(&server, ALL).await.0, 200);
    let (code, status) = get(&server, &format!("{ALL}?limit=5")).await;
    assert_eq!((code, &status["reason"]), (410, &json!("Expired")));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_may_ask_to_come_again() {
    let server = server();
    server.faults().plan(Traffic::any(), 1, Failure::retry_after(429, 7));
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
    server.faults().plan(Traffic::any().verb("create"), 1, Failure::Reset);
    assert!(try_send(&server, post("a")).await.is_err());
    server
        .faults()
        .plan(Traffic::any().verb("create"), 1, Failure::LostResponse);
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
    server.faults().plan(Traffic::any().verb("list"), 1, Failure::Hang);
    assert!(timeout(Duration::from_secs(3600), get(&server, ALL)).await.is_err());
    server
        .faults()
        .plan(Traffic::any().verb("list"), 1, Failure::Delay(Duration::from_secs(5)));
    let start = Instant::now();
    assert_eq!(get(&server, ALL).await.0, 200);
    assert_eq!(start.elapsed(), Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn requests_are_recorded() {
    let server = server();
    server.faults().plan(Traffic::any().verb("list"), 1, Failure::Reset);
    let _ = try_send(&server, request("GET", ALL, "", "")).await;
    send(
        &server,
        "PATCH",
        &format!("{HELLO}?fieldManager=me"),
        MERGE,
        json!({"a": 1}),
    )
    .await;
    let requests = server.audit();
    assert_eq!((requests[0].method.as_str(), requests[0].status), ("GET", None));
    let patch = &requests[1];
    assert_eq!((patch.path.as_str(), patch.query.as_str()), (HELLO, "fieldManager=me"));
    assert_eq!((patch.content_type.as_str(), patch.status), (MERGE, Some(404)));
    assert_eq!(patch.body, Some(json!({"a": 1})));
    assert_eq!((patch.verb.as_str(), patch.resource.as_str()), ("patch", "greetings"));
    assert_eq!((patch.namespace.as_str(), patch.name.as_str()), ("default", "hello"));
    server.clear_audit();
    assert!(server.audit().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_audit_counts_by_caller_verb_and_kind() {
    let server = server();
    let operator = User::service_account("default", "operator");
    let mut service = server.service_as(operator.clone());
    for path in [ALL, ALL, HELLO] {
        service.call(request("GET", path, "", "")).await.unwrap();
    }
    get(&server, &format!("{HELLO}/status")).await;
    let counts = server.audit().of_caller(&operator.name).counts();
    let key = |verb: &str| (verb.to_owned(), "greetings".to_owned());
    assert_eq!(counts, [(key("list"), 2), (key("get"), 1)].into());
    assert_eq!(
        server.audit().for_resource("greetings/status").with_verb("get").len(),
        1
    );
    let last = server
        .audit()
        .with_verb("get")
        .for_resource("greetings/status")
        .to_string();
    assert_eq!(last, format!("404 GET {HELLO}/status\n"));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_may_have_another_reason_and_come_over_several_lines() {
    let server = server();
    let refusal = Failure::retry_after(429, 3).because("Busy").over_several_lines();
    server.faults().plan(Traffic::any(), 1, refusal);
    let response = server.service().call(request("GET", ALL, "", "")).await.unwrap();
    assert_eq!(response.headers()["retry-after"].to_str().unwrap(), "3");
    let text = response.into_body().collect().await.unwrap().to_bytes();
    assert!(String::from_utf8_lossy(&text).lines().count() > 5);
    let status: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!((&status["reason"], &status["code"]), (&json!("Busy"), &json!(429)));
}

#[tokio::test(start_paused = true)]
async fn a_response_breaks_in_its_middle_after_the_work() {
    let server = server();
    server.faults().plan(Traffic::any().verb("create"), 1, Failure::Cut);
    let body = greeting("hello").to_string();
    assert!(
        try_send(&server, request("POST", HERE, "application/json", &body))
            .await
            .is_err()
    );
    assert_eq!(get(&server, HELLO).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn a_write_may_be_answered_without_being_done() {
    let server = server();
    create(&server, greeting("hello")).await;
    server
        .faults()
        .plan(Traffic::any().resource("greetings"), 1, Failure::Unchanged);
    let (_, before) = get(&server, HELLO).await;
    let answer = patch(&server, HELLO, MERGE, json!({"spec": {"who": "eve"}})).await;
    assert_eq!(answer, (200, before));
    assert_eq!(
        patch(&server, HELLO, MERGE, json!({"spec": {"who": "eve"}})).await.1["spec"]["who"],
        "eve"
    );
}

#[tokio::test(start_paused = true)]
async fn a_caller_may_have_a_wrong_clock() {
    let server = server();
    let lease = json!({"metadata": {"name": "one"}, "spec": {"renewTime": "2020-01-01T00:00:00.000000Z"}});
    let slow = Failure::Skew(jiff::SignedDuration::from_secs(-30));
    server.faults().plan(Traffic::any().resource("leases"), 1, slow);
    let path = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    let (_, lease) = send(&server, "POST", path, "application/json", lease).await;
    assert_eq!(lease["spec"]["renewTime"], "2019-12-31T23:59:30.000000Z");
}

#[tokio::test(start_paused = true)]
async fn a_stopped_server_refuses_connections_and_keeps_its_state() {
    let server = server();
    create(&server, greeting("hello")).await;
    let mut events = watch(&server, ALL, "").await;
    assert_eq!(events.brief().await, brief("ADDED", "hello"));
    server.faults().stop();
    assert_eq!(events.brief().await, None);
    let error = try_send(&server, request("GET", HELLO, "", "")).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
    server.faults().restart();
    assert_eq!(get(&server, HELLO).await.0, 200);
}

/// A watch of three greetings, `a` to `c`, whose second event on is disturbed.
async fn disturbed(how: Disturbance) -> (Server, ResponseBody) {
    let server = server();
    for name in ["a", "b", "c"] {
        create(&server, greeting(name)).await;
    }
    let failure = Failure::Watch { after: 1, how };
    server.faults().plan(Traffic::any().resource("greetings"), 1, failure);
    assert_eq!(get(&server, ALL).await.0, 200, "it is kept for a watch");
    let response = server
        .service()
        .call(request("GET", &format!("{ALL}?watch=1"), "", ""))
        .await;
    (server, response.unwrap().into_body())
}

/// What can be read within twenty minutes: names of objects, or the text of anything else.
async fn read((_server, mut body): (Server, ResponseBody)) -> Vec<String> {
    let mut seen = Vec::new();
    loop {
        match timeout(Duration::from_secs(1200), body.frame()).await {
            Err(_) => seen.push("silence".into()),
            Ok(None) => seen.push("end".into()),
            Ok(Some(Err(_))) => seen.push("broken".into()),
            Ok(Some(Ok(frame))) => {
                let line = frame.into_data().unwrap();
                let event: Value = serde_json::from_slice(&line).unwrap_or_default();
                let name = event["object"]["metadata"]["name"].as_str().map(str::to_owned);
                seen.push(name.unwrap_or_else(|| String::from_utf8(line.into()).unwrap()));
                continue;
            }
        }
        return seen;
    }
}

#[tokio::test(start_paused = true)]
async fn watches_go_wrong_in_many_ways() {
    for (how, expected) in [
        (Disturbance::Stall, &["a", "silence"][..]),
        (Disturbance::Close, &["a", "end"]),
        (Disturbance::Break, &["a", "broken"]),
        (Disturbance::Duplicate, &["a", "b", "b", "c", "c", "silence"]),
        (Disturbance::Reorder, &["a", "c", "b", "silence"]),
    ] {
        assert_eq!(read(disturbed(how).await).await, expected, "{how:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn watches_end_with_errors_of_all_shapes() {
    let seen = read(disturbed(Disturbance::Error(410)).await).await;
    let event: Value = serde_json::from_str(&seen[1]).unwrap();
    assert_eq!(
        (&event["type"], &event["object"]["code"]),
        (&json!("ERROR"), &json!(410))
    );
    assert_eq!(seen[2], "end");
    let seen = read(disturbed(Disturbance::Status(500)).await).await;
    let status: Value = serde_json::from_str(&seen[1]).unwrap();
    assert_eq!((&status["kind"], seen[1].lines().count() > 5), (&json!("Status"), true));
    assert_eq!(seen[2], "end");
}

#[tokio::test(start_paused = true)]
async fn watches_bring_lines_that_are_no_json() {
    let seen = read(disturbed(Disturbance::Malformed).await).await;
    assert!(serde_json::from_str::<Value>(&seen[1]).is_err());
    assert_eq!(seen[2..], ["b", "c", "silence"], "the stream goes on");
    let seen = read(disturbed(Disturbance::Cut).await).await;
    assert!(serde_json::from_str::<Value>(&seen[1]).is_err());
    assert_eq!(seen[2..], ["broken"]);
}

#[tokio::test(start_paused = true)]
async fn events_come_late() {
    let server = server();
    let late = Disturbance::Late(Duration::from_secs(5));
    server.faults().plan(Traffic::any().verb("watch"), 1, late);
    let mut events = watch(&server, ALL, "").await;
    let begin = Instant::now();
    create(&server, greeting("a")).await;
    create(&server, greeting("b")).await;
    assert_eq!(events.brief().await, brief("ADDED", "a"));
    assert_eq!(begin.elapsed(), Duration::from_secs(5));
    assert_eq!(events.brief().await, brief("ADDED", "b"));
    assert_eq!(begin.elapsed(), Duration::from_secs(5), "both were late at once");
}

#[tokio::test(start_paused = true)]
async fn random_faults_follow_their_seed_and_end_with_their_guard() {
    async fn run(seed: u64) -> Vec<bool> {
        let server = server();
        let chaos = Chaos::from_seed(seed)
            .rate(0.5)
            .failures([Failure::status(500), Failure::Reset]);
        let mischief = server.faults().at_random(chaos.of(Traffic::any().verb("list")));
        let mut outcomes = Vec::new();
        for _ in 0..40 {
            outcomes.push(
                try_send(&server, request("GET", ALL, "", ""))
                    .await
                    .is_ok_and(|(code, _)| code == 200),
            );
            assert_eq!(get(&server, HELLO).await.0, 404, "others are spared");
        }
        drop(mischief);
        for _ in 0..40 {
            assert_eq!(get(&server, ALL).await.0, 200);
        }
        outcomes
    }
    let outcomes = run(3).await;
    assert!(outcomes.contains(&true) && outcomes.contains(&false));
    assert_eq!(outcomes, run(3).await);
    assert_ne!(outcomes, run(4).await);
}
