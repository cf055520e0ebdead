use serde_json::{Value, json};

use crate::support::{HELLO, HERE, create, get, greeting, send, server, version};

#[tokio::test(start_paused = true)]
async fn a_created_object_gets_its_identity() {
    let server = server();
    let object = create(&server, greeting("hello")).await;
    assert_eq!(object["metadata"]["namespace"], "default");
    assert_eq!(object["metadata"]["generation"], 1);
    assert_eq!(object["metadata"]["uid"].as_str().unwrap().len(), 36);
    assert!(object["metadata"]["creationTimestamp"].as_str().unwrap().ends_with('Z'));
    assert_eq!(get(&server, HELLO).await, (200, object));
}

#[tokio::test(start_paused = true)]
async fn names_are_generated_and_taken_only_once() {
    let server = server();
    let mut object = greeting("");
    object["metadata"] = json!({"generateName": "hello-", "name": ""});
    let (first, second) = (create(&server, object.clone()).await, create(&server, object).await);
    let name = first["metadata"]["name"].as_str().unwrap();
    assert!(name.starts_with("hello-") && name.len() == 11);
    assert_ne!(first["metadata"]["name"], second["metadata"]["name"]);

    let (code, status) = send(&server, "POST", HERE, "application/json", greeting(name)).await;
    assert_eq!((code, &status["reason"]), (409, &json!("AlreadyExists")));
    assert_eq!(
        status["details"],
        json!({"name": name, "group": "demo.example.com", "kind": "greetings"})
    );
}

const YAML: &str = "apiVersion: demo.example.com/v1
kind: Greeting
metadata:
  name: from-yaml
spec: {who: ann}
";

#[tokio::test(start_paused = true)]
async fn bad_requests_are_told_apart() {
    let server = server();
    let with = |metadata: Value| {
        let mut object = greeting("hello");
        object["metadata"] = metadata;
        object.to_string()
    };
    let mut other_kind = greeting("hello");
    other_kind["kind"] = json!("Other");
    let mut other_version = greeting("hello");
    other_version["apiVersion"] = json!("demo.example.com/v2");
    for (body, code, message) in [
        ("{".to_owned(), 400, "unrecognized"),
        ("[]".to_owned(), 400, "unrecognized"),
        (
            json!({"metadata": {"name": "hello"}}).to_string(),
            400,
            "Object 'Kind' is missing",
        ),
        (
            other_kind.to_string(),
            422,
            "kind: Invalid value: \"Other\": must be Greeting",
        ),
        (
            other_version.to_string(),
            400,
            "does not match the expected API version",
        ),
        (
            with(json!({})),
            422,
            "metadata.name: Required value: name or generateName is required",
        ),
        (
            with(json!({"name": "No_Way"})),
            422,
            "metadata.name: Invalid value: \"No_Way\"",
        ),
        (
            with(json!({"name": "a", "namespace": "other"})),
            400,
            "does not match the namespace sent",
        ),
        (
            with(json!({"name": "a", "resourceVersion": "1"})),
            500,
            "resourceVersion should not be set",
        ),
        (
            with(json!({"name": "a", "labels": {"bad key": ""}})),
            422,
            "metadata.labels: Invalid value",
        ),
        (with(json!({"name": "a", "labels": {"key": 1}})), 400, "metadata.labels"),
        (
            with(json!({"name": "a", "annotations": {"a/b/c": ""}})),
            422,
            "metadata.annotations: Invalid value",
        ),
        (
            with(json!({"name": "a", "annotations": {"x".repeat(64): ""}})),
            422,
            "no more than 63",
        ),
        (
            with(json!({"name": "a", "annotations": {"big": "x".repeat(262_144)}})),
            422,
            "262144",
        ),
        (
            with(json!({"name": "a", "finalizers": ["not good"]})),
            422,
            "metadata.finalizers: Invalid value",
        ),
        (
            with(json!({"name": "a", "ownerReferences": [{}]})),
            422,
            "metadata.ownerReferences.uid",
        ),
    ] {
        let (found, status) = send(&server, "POST", HERE, "application/json", &body).await;
        let text = status["message"].as_str().unwrap();
        assert!(
            found == code && text.contains(message),
            "{code} {message:?}, but {found} {text:?}"
        );
        assert_eq!(
            (&status["kind"], &status["status"]),
            (&json!("Status"), &json!("Failure"))
        );
    }
    let (code, _) = send(&server, "POST", HERE, "application/xml", "<kind/>").await;
    assert_eq!(code, 415);
    let (code, _) = send(&server, "POST", HERE, "application/vnd.kubernetes.protobuf", "k8s\0").await;
    assert_eq!(code, 415);
    let (code, object) = send(&server, "POST", HERE, "application/yaml", YAML).await;
    assert_eq!((code, &object["spec"]["who"]), (201, &json!("ann")));
    let (code, _) = send(&server, "POST", HERE, "application/json", " ".repeat(3 << 20) + "{}").await;
    assert_eq!(code, 413);
}

#[tokio::test(start_paused = true)]
async fn a_replacement_needs_the_current_version() {
    let server = server();
    let mut object = create(&server, greeting("hello")).await;
    object["spec"]["who"] = json!("eve");
    let (code, replaced) = send(&server, "PUT", HELLO, "application/json", &object).await;
    assert_eq!((code, &replaced["metadata"]["generation"]), (200, &json!(2)));

    let (code, status) = send(&server, "PUT", HELLO, "application/json", &object).await;
    assert_eq!((code, &status["reason"]), (409, &json!("Conflict")));
    object["metadata"]["resourceVersion"] = json!("");
    let (code, status) = send(&server, "PUT", HELLO, "application/json", &object).await;
    assert_eq!((code, &status["reason"]), (422, &json!("Invalid")));
    object["metadata"]["resourceVersion"] = replaced["metadata"]["resourceVersion"].clone();
    object["metadata"]["uid"] = json!("another");
    let (code, _) = send(&server, "PUT", HELLO, "application/json", &object).await;
    assert_eq!(code, 409);
}

#[tokio::test(start_paused = true)]
async fn a_replacement_by_the_same_changes_nothing() {
    let server = server();
    let object = create(&server, greeting("hello")).await;
    let (code, same) = send(&server, "PUT", HELLO, "application/json", &object).await;
    assert_eq!((code, same), (200, object));
}

#[tokio::test(start_paused = true)]
async fn kept_metadata_cannot_be_changed() {
    let server = server();
    let mut object = create(&server, greeting("hello")).await;
    let original = object.clone();
    object["metadata"]["creationTimestamp"] = json!("2001-01-01T00:00:00Z");
    object["metadata"]["generation"] = json!(77);
    let (code, kept) = send(&server, "PUT", HELLO, "application/json", &object).await;
    assert_eq!((code, kept), (200, original));
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_stores_nothing() {
    let server = server();
    let path = format!("{HERE}?dryRun=All");
    let (code, object) = send(&server, "POST", &path, "application/json", greeting("hello")).await;
    assert_eq!((code, &object["spec"]["tone"]), (201, &json!("warm")));
    assert_eq!(get(&server, HELLO).await.0, 404);

    let object = create(&server, greeting("hello")).await;
    send(&server, "DELETE", &format!("{HELLO}?dryRun=All"), "", "").await;
    assert_eq!(version(&get(&server, HELLO).await.1), version(&object));
}

#[tokio::test(start_paused = true)]
async fn namespaces_must_exist_first() {
    let server = server();
    let path = "/api/v1/namespaces/nowhere/configmaps";
    let (code, status) = send(
        &server,
        "POST",
        path,
        "application/json",
        json!({"metadata": {"name": "a"}}),
    )
    .await;
    assert_eq!(
        (code, &status["message"]),
        (404, &json!("namespaces \"nowhere\" not found"))
    );
}

#[tokio::test(start_paused = true)]
async fn events_are_created_without_saying_what_they_are() {
    let server = server();
    let event = json!({"metadata": {"generateName": "kopf-event-"}, "type": "Normal", "reason": "Logging"});
    let path = "/api/v1/namespaces/default/events";
    let (code, event) = send(&server, "POST", path, "application/json", event).await;
    assert_eq!(
        (code, &event["kind"], &event["apiVersion"]),
        (201, &json!("Event"), &json!("v1"))
    );
    assert!(event["metadata"].get("generation").is_none());
}
