use serde_json::{Value, json};

use crate::support::{HELLO, JSON, MERGE, create, get, greeting, patch, send, server, version, watch};

#[tokio::test(start_paused = true)]
async fn a_merge_patch_changes_and_removes() {
    let server = server();
    create(&server, greeting("hello")).await;
    let body = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"who": "eve", "count": 2}});
    let (code, object) = patch(&server, HELLO, MERGE, body).await;
    assert_eq!((code, &object["metadata"]["generation"]), (200, &json!(2)));
    let body = json!({"metadata": {"labels": {"a": null}}, "spec": {"count": null}});
    let (_, object) = patch(&server, HELLO, MERGE, body).await;
    assert_eq!(object["spec"], json!({"who": "eve", "tone": "warm"}));
    assert!(object["metadata"].get("labels").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_patch_without_effect_is_no_change() {
    let server = server();
    let object = create(&server, greeting("hello")).await;
    let mut events = watch(
        &server,
        HELLO.trim_end_matches("/hello"),
        &format!("resourceVersion={}", version(&object)),
    )
    .await;
    for body in [
        json!({}),
        json!({"spec": {"who": "bob"}}),
        json!({"metadata": {"labels": {"a": null}}}),
    ] {
        assert_eq!(patch(&server, HELLO, MERGE, body).await, (200, object.clone()));
    }
    assert_eq!(patch(&server, HELLO, JSON, json!([])).await, (200, object.clone()));
    assert_eq!(patch(&server, HELLO, JSON, Value::Null).await, (200, object));
    assert!(events.is_silent().await);
}

#[tokio::test(start_paused = true)]
async fn changes_of_metadata_keep_the_generation() {
    let server = server();
    create(&server, greeting("hello")).await;
    let body = json!({"metadata": {"annotations": {"kopf.dev/last-handled": "{}"}}});
    let (_, object) = patch(&server, HELLO, MERGE, body).await;
    assert_eq!(object["metadata"]["generation"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_version_in_a_merge_patch_is_a_precondition() {
    let server = server();
    let object = create(&server, greeting("hello")).await;
    let body = |version: &str| json!({"metadata": {"resourceVersion": version}, "spec": {"who": "eve"}});
    assert_eq!(patch(&server, HELLO, MERGE, body("1")).await.0, 409);
    assert_eq!(patch(&server, HELLO, MERGE, body(&version(&object))).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn a_failed_test_refuses_the_json_patch() {
    let server = server();
    let object = create(&server, greeting("hello")).await;
    let body = |version: &str| {
        json!([
            {"op": "test", "path": "/metadata/resourceVersion", "value": version},
            {"op": "add", "path": "/metadata/finalizers", "value": ["example.com/mark"]},
        ])
    };
    let (code, status) = patch(&server, HELLO, JSON, body("1")).await;
    assert_eq!((code, &status["reason"]), (422, &json!("Invalid")));
    assert_eq!(
        status["message"],
        "the server rejected our request due to an error in our request"
    );
    let (code, object) = patch(&server, HELLO, JSON, body(&version(&object))).await;
    assert_eq!(
        (code, &object["metadata"]["finalizers"]),
        (200, &json!(["example.com/mark"]))
    );
}

#[tokio::test(start_paused = true)]
async fn bad_patches_are_told_apart() {
    let server = server();
    create(&server, greeting("hello")).await;
    for (content_type, body, code) in [
        (MERGE, "null", 400),
        (MERGE, "{", 400),
        (MERGE, "[]", 400),
        (MERGE, r#"{"metadata": null}"#, 400),
        (MERGE, r#"{"metadata": {"name": "other"}}"#, 400),
        (MERGE, r#"{"metadata": {"uid": "other"}}"#, 422),
        (
            MERGE,
            r#"{"metadata": {"deletionTimestamp": "2020-01-01T00:00:00Z"}}"#,
            422,
        ),
        (MERGE, r#"{"kind": "Other"}"#, 422),
        (MERGE, r#"{"spec": {"count": 77}}"#, 422),
        (JSON, "{}", 400),
        (JSON, r#"[{"op": "remove", "path": "/spec/nothing"}]"#, 422),
        ("application/strategic-merge-patch+json", "{}", 415),
        ("application/apply-patch+yaml", "{}", 422),
        ("application/json", "{}", 415),
    ] {
        let (found, status) = send(&server, "PATCH", HELLO, content_type, body).await;
        assert_eq!(found, code, "{content_type} {body}: {status}");
    }
    assert_eq!(patch(&server, &format!("{HELLO}-2"), MERGE, json!({})).await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn the_status_has_an_endpoint_of_its_own() {
    let server = server();
    let mut object = greeting("hello");
    object["status"] = json!({"ready": true});
    let object = create(&server, object).await;
    assert!(object.get("status").is_none());

    let both = json!({"spec": {"who": "eve"}, "status": {"ready": true}});
    let status = format!("{HELLO}/status");
    let (code, object) = patch(&server, &status, MERGE, both.clone()).await;
    assert_eq!(
        (code, &object["spec"]["who"], &object["status"]),
        (200, &json!("bob"), &json!({"ready": true}))
    );
    assert_eq!(object["metadata"]["generation"], 1);
    let (_, object) = patch(&server, HELLO, MERGE, json!({"spec": {"who": "eve"}, "status": null})).await;
    assert_eq!(
        (&object["spec"]["who"], &object["status"]),
        (&json!("eve"), &json!({"ready": true}))
    );
    assert_eq!(get(&server, &status).await, (200, object.clone()));

    let mut replacement = object;
    replacement["status"] = json!({"ready": false});
    replacement["spec"]["who"] = json!("ann");
    let (code, object) = send(&server, "PUT", &status, "application/json", replacement).await;
    assert_eq!(
        (code, &object["spec"]["who"], &object["status"]),
        (200, &json!("eve"), &json!({"ready": false}))
    );
}

#[tokio::test(start_paused = true)]
async fn kinds_without_the_status_endpoint_say_so() {
    let server = server();
    let path = "/api/v1/namespaces/default/configmaps";
    send(
        &server,
        "POST",
        path,
        "application/json",
        json!({"metadata": {"name": "a"}}),
    )
    .await;
    assert_eq!(
        patch(&server, &format!("{path}/a/status"), MERGE, json!({})).await.0,
        404
    );
    assert_eq!(get(&server, "/api/v1/namespaces/default/pods/a/log").await.0, 501);
}
