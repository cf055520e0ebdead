use std::time::Duration;

use kopf_testserver::{ChangeKind, Resource, Server};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::support::{ALL, GREETINGS, brief, get, greeting, server, watch};

const NAMESPACES: Resource = Resource::new("", "v1", "namespaces");

#[tokio::test(start_paused = true)]
async fn applying_creates_and_replaces_with_status() {
    let server = server();
    let mut object = greeting("hello");
    object["status"] = json!({"ready": false});
    let first = server.apply(object.clone()).unwrap();
    assert_eq!(first["status"], json!({"ready": false}));
    object["spec"]["who"] = json!("eve");
    object["status"] = json!({"ready": true});
    let second = server.apply(object).unwrap();
    assert_eq!(
        (&second["spec"]["who"], &second["status"]["ready"]),
        (&json!("eve"), &json!(true))
    );
    assert_eq!(second["metadata"]["uid"], first["metadata"]["uid"]);
    let third = server.apply(greeting("hello")).unwrap();
    assert_eq!(third["status"], second["status"], "a status that is not given stays");
    assert_eq!(
        server
            .apply(json!({"apiVersion": "v9", "kind": "Nothing"}))
            .unwrap_err()
            .code,
        404
    );
}

#[tokio::test(start_paused = true)]
async fn objects_are_read_changed_and_deleted() {
    let server = server();
    server.apply(greeting("hello")).unwrap();
    let here = Some("default");
    let patched = server
        .patch(GREETINGS, here, "hello", json!({"spec": {"who": "eve"}}))
        .unwrap();
    assert_eq!(server.get(GREETINGS, here, "hello"), Some(patched.clone()));
    assert_eq!(server.list(GREETINGS, None), [patched]);
    let patched = server
        .patch_status(GREETINGS, here, "hello", json!({"status": {"a": 1}}))
        .unwrap();
    assert_eq!(patched["status"], json!({"a": 1}));
    server.delete(GREETINGS, here, "hello").unwrap();
    assert_eq!(server.delete(GREETINGS, here, "hello").unwrap_err().reason, "NotFound");
    assert_eq!(
        server.list(Resource::new("", "v1", "nothings"), None),
        Vec::<Value>::new()
    );
    assert!(server.audit().is_empty(), "helpers are no requests");
}

#[tokio::test(start_paused = true)]
async fn waiting_ends_with_the_expected_state() {
    let server = server();
    let other = server.clone();
    tokio::spawn(async move {
        sleep(Duration::from_secs(3)).await;
        other.apply(greeting("hello")).unwrap();
        sleep(Duration::from_secs(3)).await;
        other.delete(GREETINGS, Some("default"), "hello").unwrap();
    });
    let start = Instant::now();
    let object = server
        .wait_for(GREETINGS, Some("default"), "hello", |object| object.is_some())
        .await
        .unwrap();
    assert_eq!(
        (start.elapsed(), &object["spec"]["who"]),
        (Duration::from_secs(3), &json!("bob"))
    );
    let gone = server
        .wait_for(GREETINGS, Some("default"), "hello", |object| object.is_none())
        .await
        .unwrap();
    assert_eq!((start.elapsed(), gone), (Duration::from_secs(6), Value::Null));
}

#[test]
fn the_history_of_an_object_is_whole() {
    let server = server();
    let who = |who: &str| json!({"spec": {"who": who}});
    server.apply(greeting("hello")).unwrap();
    server.apply(greeting("other")).unwrap();
    server.patch(GREETINGS, Some("default"), "hello", who("eve")).unwrap();
    server.faults().compact();
    server.delete(GREETINGS, Some("default"), "hello").unwrap();
    server.apply(greeting("hello")).unwrap();
    let history = server.history(GREETINGS, Some("default"), "hello");
    let brief: Vec<_> = history
        .iter()
        .map(|change| (change.kind, change.object["spec"]["who"].as_str().unwrap()))
        .collect();
    assert_eq!(
        brief,
        [
            (ChangeKind::Added, "bob"),
            (ChangeKind::Modified, "eve"),
            (ChangeKind::Deleted, "eve"),
            (ChangeKind::Added, "bob"),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn waiting_for_what_is_not_served_is_in_vain() {
    let server = server();
    for (resource, namespace, why) in [
        (
            Resource::new("", "v1", "podz"),
            Some("default"),
            "podz were not served within 60s",
        ),
        (GREETINGS, None, "greetings were not served outside of a namespace"),
    ] {
        let error = server
            .wait_gone(resource, namespace, "hello")
            .await
            .unwrap_err()
            .to_string();
        assert!(error.starts_with(why), "{error}");
    }
    server.wait_gone(GREETINGS, Some("default"), "hello").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn objects_are_waited_for_until_they_are_gone() {
    let server = server();
    server.apply(greeting("hello")).unwrap();
    let start = Instant::now();
    let remover = server.clone();
    tokio::spawn(async move {
        sleep(Duration::from_secs(5)).await;
        remover.delete(GREETINGS, Some("default"), "hello").unwrap();
    });
    server.wait_gone(GREETINGS, Some("default"), "hello").await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn requests_are_waited_for_as_well() {
    let server = server();
    let start = Instant::now();
    let reader = server.clone();
    tokio::spawn(async move {
        sleep(Duration::from_secs(5)).await;
        get(&reader, ALL).await;
    });
    let listed = |server: &Server| {
        server
            .audit()
            .with_verb("list")
            .iter()
            .any(|request| request.status == Some(200))
    };
    server.wait_until("greetings are listed", listed).await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_secs(5));
    let error = server.wait_until("pigs fly", |_| false).await.unwrap_err().to_string();
    assert!(error.starts_with("it was not so that pigs fly within 60s"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn waiting_in_vain_tells_the_last_state() {
    let server = server();
    server.apply(greeting("hello")).unwrap();
    let start = Instant::now();
    let error = server
        .wait_for(GREETINGS, Some("default"), "hello", |_| false)
        .await
        .unwrap_err();
    assert_eq!(start.elapsed(), Duration::from_secs(60));
    assert!(
        error
            .to_string()
            .starts_with("greetings hello was not as expected within 60s; at last it was {"),
        "{error}"
    );
    assert_eq!(error.last["spec"]["who"], "bob");
}

#[tokio::test(start_paused = true)]
async fn changes_by_helpers_are_watched_too() {
    let server = server();
    let mut events = watch(&server, ALL, "").await;
    server.apply(greeting("hello")).unwrap();
    assert_eq!(events.brief().await, brief("ADDED", "hello"));
}

#[tokio::test(start_paused = true)]
async fn timestamps_come_from_the_given_clock() {
    let server = Server::with_clock(|| "2020-02-20T20:20:20.5Z".parse().unwrap());
    let namespace = server.get(NAMESPACES, None, "default").unwrap();
    assert_eq!(namespace["metadata"]["creationTimestamp"], "2020-02-20T20:20:20Z");
}
