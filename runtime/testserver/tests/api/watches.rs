use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use crate::support::{
    ALL, HELLO, HERE, MERGE, brief, create, delete, get, greeting, patch, send, server, version, watch,
};

#[tokio::test(start_paused = true)]
async fn a_watch_from_nowhere_starts_with_the_current_state() {
    let server = server();
    let object = create(&server, greeting("hello")).await;
    for query in ["", "resourceVersion=0"] {
        let mut events = watch(&server, ALL, query).await;
        assert_eq!(events.next().await, Some(("ADDED".into(), object.clone())));
        assert!(events.is_silent().await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_from_a_version_starts_after_it() {
    let server = server();
    let first = create(&server, greeting("hello")).await;
    patch(&server, HELLO, MERGE, json!({"spec": {"who": "eve"}})).await;
    let mut events = watch(&server, ALL, &format!("resourceVersion={}", version(&first))).await;
    assert_eq!(events.next().await.unwrap().1["spec"]["who"], "eve");
    delete(&server, HELLO).await;
    assert_eq!(events.brief().await, brief("DELETED", "hello"));
}

#[tokio::test(start_paused = true)]
async fn a_watch_sees_its_namespace_only() {
    let server = server();
    let mut events = watch(&server, HERE, "").await;
    let other = "/apis/demo.example.com/v1/namespaces/kube-system/greetings";
    send(&server, "POST", other, "application/json", greeting("other")).await;
    create(&server, greeting("hello")).await;
    assert_eq!(events.brief().await, brief("ADDED", "hello"));
}

#[tokio::test(start_paused = true)]
async fn objects_come_and_go_through_a_selector() {
    let server = server();
    let mut events = watch(&server, ALL, "labelSelector=a%3Db").await;
    create(&server, greeting("hello")).await;
    patch(&server, HELLO, MERGE, json!({"metadata": {"labels": {"a": "b"}}})).await;
    patch(&server, HELLO, MERGE, json!({"spec": {"who": "eve"}})).await;
    let (_, last) = patch(&server, HELLO, MERGE, json!({"metadata": {"labels": null}})).await;
    assert_eq!(events.brief().await, brief("ADDED", "hello"));
    assert_eq!(events.brief().await, brief("MODIFIED", "hello"));
    let (kind, object) = events.next().await.unwrap();
    assert_eq!(kind, "DELETED");
    assert_eq!(
        (version(&object), &object["metadata"]["labels"]),
        (version(&last), &json!({"a": "b"}))
    );
    delete(&server, HELLO).await;
    assert!(events.is_silent().await);
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_version_is_too_old() {
    let server = server();
    create(&server, greeting("hello")).await;
    server.faults().compact();
    let mut events = watch(&server, ALL, "resourceVersion=4").await;
    let (kind, status) = events.next().await.unwrap();
    assert_eq!(
        (kind.as_str(), &status["code"], &status["reason"]),
        ("ERROR", &json!(410), &json!("Expired"))
    );
    assert_eq!(events.next().await, None);

    server.faults().refuse_old_watches(true);
    assert_eq!(
        get(&server, &format!("{ALL}?watch=true&resourceVersion=4")).await.0,
        410
    );
    let (_, list) = get(&server, ALL).await;
    let mut events = watch(&server, ALL, &format!("resourceVersion={}", version(&list))).await;
    assert!(events.is_silent().await);
}

#[tokio::test(start_paused = true)]
async fn bookmarks_come_every_minute() {
    let server = server();
    let mut events = watch(&server, ALL, "allowWatchBookmarks=true").await;
    let start = Instant::now();
    server
        .apply(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lab"}}))
        .unwrap();
    let (kind, object) = events.next().await.unwrap();
    assert_eq!((kind.as_str(), start.elapsed()), ("BOOKMARK", Duration::from_secs(60)));
    let (_, list) = get(&server, ALL).await;
    assert_eq!(
        (version(&object), &object["kind"]),
        (version(&list), &json!("Greeting"))
    );
    events.next().await;
    assert_eq!(start.elapsed(), Duration::from_secs(120));
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_at_its_timeout() {
    let server = server();
    let start = Instant::now();
    let mut events = watch(&server, ALL, "timeoutSeconds=7").await;
    assert_eq!(events.next().await, None);
    assert_eq!(start.elapsed(), Duration::from_secs(7));
}

#[tokio::test(start_paused = true)]
async fn initial_events_end_with_a_bookmark() {
    let server = server();
    create(&server, greeting("hello")).await;
    assert_eq!(
        get(&server, &format!("{ALL}?watch=true&sendInitialEvents=true"))
            .await
            .0,
        422
    );
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut events = watch(&server, ALL, query).await;
    assert_eq!(events.brief().await, brief("ADDED", "hello"));
    let (kind, object) = events.next().await.unwrap();
    assert_eq!(kind, "BOOKMARK");
    assert_eq!(object["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
}

#[tokio::test(start_paused = true)]
async fn held_events_come_late_but_in_order() {
    let server = server();
    let mut events = watch(&server, ALL, "").await;
    server.faults().hold_events();
    create(&server, greeting("a")).await;
    create(&server, greeting("b")).await;
    assert!(events.is_silent().await);
    server.faults().release_events();
    assert_eq!(
        (events.brief().await, events.brief().await),
        (brief("ADDED", "a"), brief("ADDED", "b"))
    );
}

#[tokio::test(start_paused = true)]
async fn dropped_watches_are_resumed_without_loss() {
    let server = server();
    let object = create(&server, greeting("a")).await;
    let mut events = watch(&server, ALL, "").await;
    events.next().await;
    server.faults().drop_watches();
    assert_eq!(events.next().await, None);
    create(&server, greeting("b")).await;
    let mut events = watch(&server, ALL, &format!("resourceVersion={}", version(&object))).await;
    assert_eq!(events.brief().await, brief("ADDED", "b"));
}

#[tokio::test(start_paused = true)]
async fn scripted_errors_end_open_watches_only() {
    let server = server();
    let mut events = watch(&server, ALL, "").await;
    server.faults().send_watch_error(500);
    let (kind, status) = events.next().await.unwrap();
    assert_eq!((kind.as_str(), &status["code"]), ("ERROR", &json!(500)));
    assert_eq!(events.next().await, None);
    assert!(watch(&server, ALL, "").await.is_silent().await);
}

#[tokio::test(start_paused = true)]
async fn a_watcher_that_falls_far_behind_is_too_late() {
    let server = server();
    let mut events = watch(&server, ALL, "").await;
    create(&server, greeting("hello")).await;
    for number in 0..=10_000 {
        let note = json!({"metadata": {"annotations": {"number": number.to_string()}}});
        server
            .patch(crate::support::GREETINGS, Some("default"), "hello", note)
            .unwrap();
    }
    let (kind, status) = events.next().await.unwrap();
    assert_eq!((kind.as_str(), &status["code"]), ("ERROR", &json!(410)));
}

#[tokio::test(start_paused = true)]
async fn large_events_come_whole() {
    let server = server();
    let mut events = watch(&server, "/api/v1/configmaps", "fieldSelector=metadata.name%3Da").await;
    let big = "x".repeat(2 << 20);
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"big": big}});
    server.apply(object).unwrap();
    assert_eq!(events.next().await.unwrap().1["data"]["big"], big);
}
