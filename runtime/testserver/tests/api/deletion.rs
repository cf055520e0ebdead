use serde_json::{Value, json};

use crate::support::{
    ALL, CRDS, HELLO, HERE, JSON, MERGE, brief, create, delete, get, greeting, patch, send, server, version, watch,
};

fn held(name: &str) -> Value {
    let mut object = greeting(name);
    object["metadata"]["finalizers"] = json!(["example.com/mark"]);
    object
}

#[tokio::test(start_paused = true)]
async fn an_object_without_finalizers_goes_at_once() {
    let server = server();
    let object = create(&server, greeting("hello")).await;
    let (code, status) = delete(&server, HELLO).await;
    let details = json!({
        "name": "hello", "group": "demo.example.com", "kind": "greetings", "uid": object["metadata"]["uid"],
    });
    assert_eq!(
        (code, &status["status"], &status["details"]),
        (200, &json!("Success"), &details)
    );
    assert_eq!(delete(&server, HELLO).await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn an_object_with_finalizers_waits_for_them() {
    let server = server();
    create(&server, held("hello")).await;
    let mut events = watch(&server, HERE, "").await;
    events.next().await;

    let (code, object) = delete(&server, HELLO).await;
    assert_eq!(
        (code, &object["metadata"]["deletionGracePeriodSeconds"]),
        (200, &json!(0))
    );
    assert!(object["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(object["metadata"]["generation"], 2);
    assert_eq!(events.next().await, Some(("MODIFIED".into(), object.clone())));
    assert_eq!(
        delete(&server, HELLO).await,
        (200, object.clone()),
        "deleted twice, it does not change"
    );

    let body = json!({"metadata": {"finalizers": ["example.com/mark", "example.com/x"]}});
    let (code, status) = patch(&server, HELLO, MERGE, body).await;
    assert_eq!(code, 422);
    let text = "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, \
                found new finalizers []string{\"example.com/x\"}";
    assert!(status["message"].as_str().unwrap().ends_with(text), "{status}");

    let body = json!([{"op": "remove", "path": "/metadata/finalizers"}]);
    let (code, last) = patch(&server, HELLO, JSON, body).await;
    assert_eq!((code, last["metadata"].get("finalizers")), (200, None));
    let (kind, gone) = events.next().await.unwrap();
    assert_eq!(
        (kind.as_str(), &gone["metadata"]["finalizers"]),
        ("DELETED", &json!(["example.com/mark"]))
    );
    assert_ne!(version(&gone), version(&object));
    assert_eq!(get(&server, HELLO).await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn finalizers_may_also_go_before_the_deletion() {
    let server = server();
    create(&server, held("hello")).await;
    let (_, object) = patch(&server, HELLO, MERGE, json!({"metadata": {"finalizers": []}})).await;
    assert!(object["metadata"].get("finalizers").is_none());
    assert_eq!(get(&server, HELLO).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn preconditions_protect_from_deleting_another_object() {
    let server = server();
    let object = create(&server, greeting("hello")).await;
    let body = |field: &str, value: &Value| json!({"preconditions": {field: value}});
    for field in ["uid", "resourceVersion"] {
        let wrong = body(field, &json!("1"));
        assert_eq!(send(&server, "DELETE", HELLO, "application/json", wrong).await.0, 409);
    }
    let right = body("uid", &object["metadata"]["uid"]);
    assert_eq!(send(&server, "DELETE", HELLO, "application/json", right).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn a_collection_is_deleted_by_selector() {
    let server = server();
    for name in ["a", "b", "c"] {
        let mut object = greeting(name);
        object["metadata"]["labels"] = json!({"name": name});
        create(&server, object).await;
    }
    let (code, list) = delete(&server, &format!("{HERE}?labelSelector=name%20in%20(a,c)")).await;
    assert_eq!((code, list["items"].as_array().unwrap().len()), (200, 2));
    let (_, left) = get(&server, ALL).await;
    assert_eq!(left["items"][0]["metadata"]["name"], "b");
    assert_eq!(left["items"].as_array().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_namespace_goes_when_it_is_empty() {
    let server = server();
    send(
        &server,
        "POST",
        "/api/v1/namespaces",
        "application/json",
        json!({"metadata": {"name": "lab"}}),
    )
    .await;
    let place = "/apis/demo.example.com/v1/namespaces/lab/greetings";
    for object in [held("held"), greeting("free")] {
        assert_eq!(send(&server, "POST", place, "application/json", object).await.0, 201);
    }
    let (code, namespace) = delete(&server, "/api/v1/namespaces/lab").await;
    assert_eq!((code, &namespace["status"]["phase"]), (200, &json!("Terminating")));
    assert_eq!(get(&server, &format!("{place}/free")).await.0, 404);
    let (code, status) = send(&server, "POST", place, "application/json", greeting("late")).await;
    assert_eq!((code, &status["reason"]), (403, &json!("Forbidden")));

    patch(
        &server,
        &format!("{place}/held"),
        MERGE,
        json!({"metadata": {"finalizers": null}}),
    )
    .await;
    assert_eq!(get(&server, "/api/v1/namespaces/lab").await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn an_empty_namespace_goes_at_once() {
    let server = server();
    let (_, list) = get(&server, "/api/v1/namespaces").await;
    let query = format!("resourceVersion={}", version(&list));
    let mut events = watch(&server, "/api/v1/namespaces", &query).await;
    send(
        &server,
        "POST",
        "/api/v1/namespaces",
        "application/json",
        json!({"metadata": {"name": "lab"}}),
    )
    .await;
    delete(&server, "/api/v1/namespaces/lab").await;
    // Marked, then told to be empty, then gone.
    for kind in ["ADDED", "MODIFIED", "MODIFIED", "DELETED"] {
        assert_eq!(events.brief().await, brief(kind, "lab"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_definition_goes_with_its_last_object() {
    let server = server();
    create(&server, held("hello")).await;
    create(&server, greeting("free")).await;
    let mut events = watch(&server, ALL, "").await;
    assert_eq!(
        (events.brief().await, events.brief().await),
        (brief("ADDED", "free"), brief("ADDED", "hello"))
    );

    let crd = format!("{CRDS}/greetings.demo.example.com");
    assert_eq!(delete(&server, &crd).await.0, 200);
    assert_eq!(events.brief().await, brief("DELETED", "free"));
    assert_eq!(events.brief().await, brief("MODIFIED", "hello"));
    assert_eq!(get(&server, &crd).await.0, 200);

    patch(&server, HELLO, MERGE, json!({"metadata": {"finalizers": null}})).await;
    assert_eq!(events.brief().await, brief("DELETED", "hello"));
    assert_eq!(events.brief().await, None, "the stream ends with the kind");
    assert_eq!((get(&server, &crd).await.0, get(&server, ALL).await.0), (404, 404));
    assert_eq!(get(&server, "/apis/demo.example.com/v1").await.0, 404);
}
