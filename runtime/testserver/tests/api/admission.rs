use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::BodyExt as _;
use kopf_testserver::{Breakage, Resource, Server};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tower::Service as _;

use crate::support::{GREETINGS, HELLO, HERE, MERGE, create, delete, get, greeting, patch, request, send, server};

const NAMESPACES: &str = "/api/v1/namespaces";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A configuration with one webhook per path, each with what it has beside the usual.
pub(crate) fn configuration(kind: &str, name: &str, hooks: &[(&str, Value)]) -> Value {
    let hooks = hooks.iter().map(|(path, more)| {
        let mut hook = json!({
            "name": format!("{path}.{name}.example.com"),
            "clientConfig": {"url": format!("https://hooks.example.com/{path}")},
            "rules": [{
                "apiGroups": ["demo.example.com"], "apiVersions": ["v1"], "resources": ["greetings", "greetings/status"],
                "operations": ["*"],
            }],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        });
        for (field, value) in more.as_object().unwrap() {
            hook[field] = value.clone();
        }
        hook
    });
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": format!("{kind}WebhookConfiguration"),
        "metadata": {"name": name}, "webhooks": hooks.collect::<Vec<_>>(),
    })
}

/// What webhooks were asked, in order: the path and the request in the review.
#[derive(Clone, Default)]
struct Asked(Arc<Mutex<Vec<(String, Value)>>>);

impl Asked {
    fn paths(&self) -> Vec<String> {
        self.0.lock().unwrap().iter().map(|(path, _)| path.clone()).collect()
    }

    fn last(&self) -> Value {
        self.0
            .lock()
            .unwrap()
            .last()
            .map(|(_, request)| request.clone())
            .unwrap_or_default()
    }
}

/// Answers all webhooks by what is decided for a path and a request; null admits.
fn answer(server: &Server, decide: impl Fn(&str, &Value) -> Value + Send + Sync + 'static) -> Asked {
    let asked = Asked::default();
    let noted = asked.clone();
    server.answer_webhooks("https://hooks.example.com", move |path, mut review| {
        let request = review["request"].take();
        let mut response = decide(&path, &request);
        if response.is_null() {
            response = json!({"allowed": true});
        }
        response["uid"] = request["uid"].clone();
        review["response"] = response;
        noted.0.lock().unwrap().push((path, request));
        async { review }
    });
    asked
}

pub(crate) fn json_patch(operations: &Value) -> Value {
    json!({"allowed": true, "patchType": "JSONPatch", "patch": STANDARD.encode(operations.to_string())})
}

fn configure(server: &Server, kind: &str, hooks: &[(&str, Value)]) {
    server.apply(configuration(kind, "test", hooks)).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_webhook_is_told_who_does_what() {
    let server = server();
    let asked = answer(&server, |_, _| Value::Null);
    configure(&server, "Validating", &[("a", json!({}))]);
    let stored = create(&server, greeting("hello")).await;

    let mut request = asked.last();
    assert_eq!(request["uid"].as_str().unwrap().len(), 36);
    assert_eq!(request["object"]["metadata"]["uid"], stored["metadata"]["uid"]);
    assert_eq!(
        request["object"]["spec"],
        json!({"who": "bob", "tone": "warm"}),
        "with defaults"
    );
    request["uid"].take();
    request["object"].take();
    let kind = json!({"group": "demo.example.com", "version": "v1", "kind": "Greeting"});
    let resource = json!({"group": "demo.example.com", "version": "v1", "resource": "greetings"});
    let expected = json!({
        "uid": null, "object": null, "oldObject": null, "operation": "CREATE", "dryRun": false,
        "name": "hello", "namespace": "default",
        "kind": kind, "requestKind": kind, "resource": resource, "requestResource": resource,
        "userInfo": {"username": "admin", "groups": ["system:masters", "system:authenticated"]},
        "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
    });
    assert_eq!(request, expected);
}

#[tokio::test(start_paused = true)]
async fn a_denial_is_passed_on_and_nothing_is_stored() {
    let server = server();
    answer(&server, |_, _| {
        let status = json!({"code": 418, "message": "too loud", "reason": "Teapot"});
        json!({"allowed": false, "status": status, "warnings": ["careful"]})
    });
    configure(&server, "Validating", &[("a", json!({}))]);

    let request = request("POST", HERE, "application/json", &greeting("hello").to_string());
    let response = server.service().call(request).await.unwrap();
    assert_eq!(response.status(), 418);
    assert_eq!(response.headers()["warning"], "299 - \"careful\"");
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let status: Value = serde_json::from_slice(&body).unwrap();
    let message = "admission webhook \"a.test.example.com\" denied the request: too loud";
    assert_eq!(
        (&status["message"], &status["reason"]),
        (&json!(message), &json!("Teapot"))
    );
    assert_eq!(get(&server, HELLO).await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn mutating_webhooks_work_in_the_order_of_names_and_see_what_others_did() {
    let server = server();
    let asked = answer(&server, |path, request| match path {
        "/x" => json_patch(
            &json!([{"op": "remove", "path": "/spec/tone"}, {"op": "add", "path": "/spec/count", "value": 2}]),
        ),
        "/y" => json_patch(
            &json!([{"op": "add", "path": "/metadata/labels", "value": {"tone": request["object"]["spec"]["tone"]}}]),
        ),
        _ => Value::Null,
    });
    server
        .apply(configuration("Mutating", "second", &[("y", json!({}))]))
        .unwrap();
    server
        .apply(configuration(
            "Mutating",
            "first",
            &[("x", json!({})), ("z", json!({}))],
        ))
        .unwrap();
    server
        .apply(configuration("Validating", "a", &[("v", json!({}))]))
        .unwrap();

    let stored = create(&server, greeting("hello")).await;
    assert_eq!(asked.paths(), ["/x", "/z", "/y", "/v"]);
    assert_eq!(stored["spec"], json!({"who": "bob", "tone": "warm", "count": 2}));
    assert_eq!(
        stored["metadata"]["labels"],
        json!({"tone": "warm"}),
        "the default came back in between"
    );
    assert_eq!(asked.last()["object"]["metadata"]["labels"], json!({"tone": "warm"}));
}

#[tokio::test(start_paused = true)]
async fn what_webhooks_add_is_checked_like_the_rest() {
    let server = server();
    answer(&server, |_, _| {
        json_patch(&json!([{"op": "replace", "path": "/spec/who", "value": "somebody else"}]))
    });
    configure(&server, "Mutating", &[("a", json!({}))]);
    let (code, status) = send(&server, "POST", HERE, "application/json", greeting("hello")).await;
    assert_eq!((code, &status["reason"]), (422, &json!("Invalid")), "{status}");
}

#[tokio::test(start_paused = true)]
async fn webhooks_are_called_again_if_needed() {
    let server = server();
    let asked = answer(&server, |path, request| match path {
        "/c" => json_patch(&json!([{"op": "add", "path": "/spec/count", "value": 5}])),
        "/a" if request["object"]["spec"]["count"] == 5 => {
            json_patch(&json!([{"op": "add", "path": "/metadata/labels", "value": {"seen": "5"}}]))
        }
        _ => Value::Null,
    });
    let again = json!({"reinvocationPolicy": "IfNeeded"});
    let hooks = [("a", again.clone()), ("b", json!({})), ("c", json!({})), ("d", again)];
    configure(&server, "Mutating", &hooks);
    let stored = create(&server, greeting("hello")).await;
    // The change of the second round concerns the last one, too.
    assert_eq!(asked.paths(), ["/a", "/b", "/c", "/d", "/a", "/d"]);
    assert_eq!(stored["metadata"]["labels"], json!({"seen": "5"}));
}

#[tokio::test(start_paused = true)]
async fn a_generated_name_is_known_to_validating_webhooks_only() {
    let server = server();
    let asked = answer(&server, |_, _| Value::Null);
    configure(&server, "Mutating", &[("m", json!({}))]);
    let mut object = greeting("");
    object["metadata"] = json!({"generateName": "hi-"});
    create(&server, object.clone()).await;
    let request = asked.last();
    assert_eq!(request.get("name"), None);
    let metadata = &request["object"]["metadata"];
    assert_eq!(metadata["creationTimestamp"], Value::Null);
    assert_eq!(
        (metadata.get("name"), metadata.get("uid"), metadata.get("generation")),
        (None, None, None)
    );
    assert_eq!(metadata["namespace"], "default");

    configure(&server, "Validating", &[("v", json!({}))]);
    let stored = create(&server, object).await;
    let request = asked.last();
    assert_eq!(request["name"], stored["metadata"]["name"]);
    assert_eq!(request["object"]["metadata"]["name"], stored["metadata"]["name"]);
}

#[tokio::test(start_paused = true)]
async fn updates_show_the_object_before_and_after() {
    let server = server();
    create(&server, greeting("hello")).await;
    let asked = answer(&server, |_, _| Value::Null);
    configure(&server, "Validating", &[("a", json!({}))]);

    patch(&server, HELLO, MERGE, json!({"spec": {"count": 3}})).await;
    let request = asked.last();
    assert_eq!(
        (&request["operation"], &request["options"]["kind"]),
        (&json!("UPDATE"), &json!("UpdateOptions"))
    );
    assert_eq!(request["object"]["spec"]["count"], 3);
    assert_eq!(request["oldObject"]["spec"].get("count"), None);

    let path = format!("{HELLO}/status?dryRun=All&fieldManager=me");
    patch(
        &server,
        &path,
        MERGE,
        json!({"status": {"said": true}, "spec": {"count": 4}}),
    )
    .await;
    let request = asked.last();
    assert_eq!(
        (&request["subResource"], &request["requestSubResource"]),
        (&json!("status"), &json!("status"))
    );
    assert_eq!(request["object"]["status"], json!({"said": true}));
    assert_eq!(request["object"]["spec"]["count"], 3);
    assert_eq!(request["dryRun"], true);
    let options = json!({
        "apiVersion": "meta.k8s.io/v1", "kind": "UpdateOptions", "dryRun": ["All"], "fieldManager": "me",
    });
    assert_eq!(request["options"], options);
}

#[tokio::test(start_paused = true)]
async fn deletions_are_reviewed_with_the_old_object_alone() {
    let server = server();
    create(&server, greeting("hello")).await;
    let asked = answer(&server, |_, request| {
        match request["oldObject"]["metadata"]["labels"]["locked"].as_str() {
            Some(_) if request["operation"] == "DELETE" => json!({"allowed": false, "status": {"message": "locked"}}),
            _ => Value::Null,
        }
    });
    configure(&server, "Mutating", &[("m", json!({}))]);
    configure(&server, "Validating", &[("v", json!({}))]);

    patch(&server, HELLO, MERGE, json!({"metadata": {"labels": {"locked": ""}}})).await;
    let (code, status) = delete(&server, HELLO).await;
    assert_eq!(code, 400, "{status}");
    assert!(get(&server, HELLO).await.0 == 200);
    patch(&server, HELLO, MERGE, json!({"metadata": {"labels": null}})).await;
    let body = json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"});
    let (code, _) = send(&server, "DELETE", HELLO, "application/json", body).await;
    assert_eq!(code, 200);
    let request = asked.last();
    assert_eq!(
        (&request["operation"], &request["object"]),
        (&json!("DELETE"), &Value::Null)
    );
    assert_eq!(
        (&request["name"], &request["oldObject"]["metadata"]["name"]),
        (&json!("hello"), &json!("hello"))
    );
    let options = json!({"apiVersion": "meta.k8s.io/v1", "kind": "DeleteOptions", "propagationPolicy": "Background"});
    assert_eq!(request["options"], options);
}

#[tokio::test(start_paused = true)]
async fn collections_are_reviewed_object_by_object() {
    let server = server();
    for name in ["one", "two"] {
        create(&server, greeting(name)).await;
    }
    let asked = answer(&server, |_, _| Value::Null);
    configure(&server, "Validating", &[("v", json!({}))]);
    assert_eq!(delete(&server, HERE).await.0, 200);
    assert_eq!(asked.paths().len(), 2);
    assert_eq!(asked.last().get("name"), None);
    assert_eq!(asked.last()["oldObject"]["metadata"]["name"], "two");
}

#[tokio::test(start_paused = true)]
async fn patches_for_deletions_and_bad_patches_fail() {
    let server = server();
    create(&server, greeting("hello")).await;
    let asked = answer(&server, |_, request| match request["operation"].as_str() {
        Some("DELETE") => json_patch(&json!([{"op": "add", "path": "/x", "value": 1}])),
        _ => json_patch(&json!([{"op": "replace", "path": "/nothing/here", "value": 1}])),
    });
    configure(&server, "Mutating", &[("m", json!({}))]);
    let (code, status) = delete(&server, HELLO).await;
    assert_eq!(code, 500);
    let message = "Internal error occurred: admission webhook \"m.test.example.com\" attempted to modify the object, \
                   which is not supported for this operation";
    assert_eq!(status["message"], message);
    let (code, status) = patch(&server, HELLO, MERGE, json!({"spec": {"count": 3}})).await;
    assert_eq!(code, 500);
    let message = "Internal error occurred: replace operation does not apply: doc is missing path: /nothing/here: \
                   missing value";
    assert_eq!(status["message"], message);
    assert_eq!(asked.paths().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn calls_without_a_verdict_fail_or_are_ignored() {
    let server = server();
    server.answer_webhooks("https://hooks.example.com/bad", |_, mut review| async {
        review["response"] = json!({"uid": "other", "allowed": true});
        review
    });
    configure(&server, "Validating", &[("bad", json!({}))]);
    let (code, status) = send(&server, "POST", HERE, "application/json", greeting("hello")).await;
    assert_eq!((code, &status["reason"]), (500, &json!("InternalError")));
    let message = status["message"].as_str().unwrap();
    let start = "Internal error occurred: failed calling webhook \"bad.test.example.com\": received invalid webhook \
                 response: expected response.uid=\"";
    assert!(
        message.starts_with(start) && message.ends_with("\", got \"other\""),
        "{message}"
    );
    assert_eq!(
        format!(
            "Internal error occurred: {}",
            status["details"]["causes"][0]["message"].as_str().unwrap()
        ),
        message
    );

    configure(&server, "Validating", &[("bad", json!({"failurePolicy": "Ignore"}))]);
    create(&server, greeting("hello")).await;
}

#[tokio::test(start_paused = true)]
async fn a_webhook_that_does_not_answer_is_given_its_time_and_no_more() {
    let server = server();
    server.answer_webhooks("https://hooks.example.com", |_, review| async {
        sleep(Duration::from_secs(3600)).await;
        review
    });
    configure(
        &server,
        "Validating",
        &[("a", json!({})), ("b", json!({"timeoutSeconds": 7}))],
    );
    let start = Instant::now();
    let (code, status) = send(&server, "POST", HERE, "application/json", greeting("hello")).await;
    assert_eq!((code, start.elapsed().as_secs()), (500, 10), "they are asked at once");
    let message = "Internal error occurred: failed calling webhook \"b.test.example.com\": failed to call webhook: \
                   Post \"https://hooks.example.com/b?timeout=7s\": context deadline exceeded";
    assert_eq!(status["message"], message, "the first failure counts");
}

#[tokio::test(start_paused = true)]
async fn webhooks_break_as_planned() {
    let server = server();
    let asked = answer(&server, |_, _| Value::Null);
    configure(&server, "Validating", &[("a", json!({}))]);
    let faults = server.faults();
    faults.break_webhook("a.test.example.com", 1, Breakage::Refused);
    faults.break_webhook("a.test.example.com", 1, Breakage::Timeout);
    faults.break_webhook("b.test.example.com", 1, Breakage::Refused);
    for (why, seconds) in [
        ("dial tcp hooks.example.com:443: connect: connection refused", 0),
        ("context deadline exceeded", 10),
    ] {
        let start = Instant::now();
        let (code, status) = send(&server, "POST", HERE, "application/json", greeting("hello")).await;
        assert_eq!((code, start.elapsed().as_secs()), (500, seconds));
        assert!(status["message"].as_str().unwrap().ends_with(why), "{status}");
    }
    assert!(asked.paths().is_empty());
    create(&server, greeting("hello")).await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_locked_while_a_webhook_thinks() {
    let server = server();
    server.answer_webhooks("https://hooks.example.com", |_, mut review| async move {
        sleep(Duration::from_secs(5)).await;
        review["response"] = json!({"uid": review["request"]["uid"], "allowed": true});
        review
    });
    create(&server, greeting("hello")).await;
    configure(&server, "Validating", &[("a", json!({}))]);
    let slow = patch(&server, HELLO, MERGE, json!({"spec": {"count": 3}}));
    let quick = async {
        sleep(Duration::from_secs(1)).await;
        server
            .patch(GREETINGS, Some("default"), "hello", json!({"spec": {"who": "eve"}}))
            .unwrap();
        Instant::now()
    };
    let start = Instant::now();
    let ((code, object), quick) = tokio::join!(slow, quick);
    assert_eq!((quick - start).as_secs(), 1);
    // What changed meanwhile is kept: the patch was applied anew, and admitted anew.
    assert_eq!((code, start.elapsed().as_secs()), (200, 10));
    assert_eq!(object["spec"], json!({"who": "eve", "tone": "warm", "count": 3}));
}

#[tokio::test(start_paused = true)]
async fn other_versions_are_converted_for_webhooks_that_know_only_one() {
    let server = server();
    let mut crd = crate::support::crd();
    let mut version = crd["spec"]["versions"][0].clone();
    version["name"] = json!("v2");
    version["storage"] = json!(false);
    crd["spec"]["versions"].as_array_mut().unwrap().push(version);
    server.apply(crd).unwrap();
    let asked = answer(&server, |_, _| {
        json_patch(&json!([{"op": "add", "path": "/spec/count", "value": 4}]))
    });
    configure(
        &server,
        "Mutating",
        &[("a", json!({})), ("b", json!({"matchPolicy": "Exact"}))],
    );
    let mut object = greeting("hello");
    object["apiVersion"] = json!("demo.example.com/v2");
    let path = "/apis/demo.example.com/v2/namespaces/default/greetings";
    let (code, stored) = send(&server, "POST", path, "application/json", object).await;
    assert_eq!(code, 201, "{stored}");
    assert_eq!(
        (&stored["apiVersion"], &stored["spec"]["count"]),
        (&json!("demo.example.com/v2"), &json!(4))
    );
    assert_eq!(asked.paths(), ["/a"]);
    let request = asked.last();
    assert_eq!(
        (&request["kind"]["version"], &request["resource"]["version"]),
        (&json!("v1"), &json!("v1"))
    );
    assert_eq!(
        (
            &request["requestKind"]["version"],
            &request["requestResource"]["version"]
        ),
        (&json!("v2"), &json!("v2"))
    );
    assert_eq!(request["object"]["apiVersion"], "demo.example.com/v1");
}

#[tokio::test(start_paused = true)]
async fn namespaces_and_objects_are_selected_by_their_labels() {
    let server = server();
    let asked = answer(&server, |_, _| Value::Null);
    let rules = json!([{
        "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE", "DELETE"],
        "resources": ["configmaps", "namespaces", "nodes"],
    }]);
    let selector = json!({"matchLabels": {"watched": "yes"}});
    configure(
        &server,
        "Validating",
        &[
            ("namespaces", json!({"rules": rules, "namespaceSelector": selector})),
            ("objects", json!({"rules": rules, "objectSelector": selector})),
        ],
    );
    let object = |name: &str, labels: Value| json!({"metadata": {"name": name, "labels": labels}});
    let json = "application/json";
    send(&server, "POST", MAPS, json, object("a", json!({}))).await;
    assert!(asked.paths().is_empty());
    send(&server, "POST", MAPS, json, object("b", json!({"watched": "yes"}))).await;
    assert_eq!(asked.paths(), ["/objects"]);
    patch(
        &server,
        &format!("{MAPS}/b"),
        MERGE,
        json!({"metadata": {"labels": null}}),
    )
    .await;
    assert_eq!(asked.paths(), ["/objects", "/objects"], "it was selected before");
    // A new namespace is judged by its own labels, and a node by no namespace.
    let (code, status) = send(
        &server,
        "POST",
        NAMESPACES,
        json,
        object("web", json!({"watched": "yes"})),
    )
    .await;
    assert_eq!(code, 201, "{status}");
    assert_eq!(asked.paths()[2..], ["/namespaces", "/objects"]);
    assert_eq!(
        (&asked.last()["name"], &asked.last()["namespace"]),
        (&json!("web"), &json!("web"))
    );
    send(
        &server,
        "POST",
        &format!("{NAMESPACES}/web/configmaps"),
        json,
        object("c", json!({})),
    )
    .await;
    send(&server, "POST", "/api/v1/nodes", json, object("d", json!({}))).await;
    assert_eq!(asked.paths()[4..], ["/namespaces", "/namespaces"]);
    assert_eq!(asked.last().get("namespace"), None);
}

#[tokio::test(start_paused = true)]
async fn services_resolve_to_what_was_given_or_to_what_clusters_say() {
    let server = server();
    let hook = |service: Value| ("a", json!({"clientConfig": {"service": service}}));
    let reference = json!({"name": "hooks", "namespace": "default", "path": "/x"});
    configure(&server, "Validating", &[hook(reference.clone())]);
    let attempt = async || {
        let (code, status) = send(&server, "POST", HERE, "application/json", greeting("hello")).await;
        let message = status["message"].as_str().unwrap_or_default().to_owned();
        let start = "Internal error occurred: failed calling webhook \"a.test.example.com\": failed to call webhook: \
                     Post \"https://hooks.default.svc:443/x?timeout=10s\": ";
        (code, message.strip_prefix(start).unwrap_or(&message).to_owned())
    };
    assert_eq!(attempt().await, (500, "service \"hooks\" not found".into()));
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "hooks"}, "spec": {"ports": [{"port": 80}]},
    });
    server.apply(service).unwrap();
    assert_eq!(
        attempt().await,
        (500, "no service port 443 found for service \"hooks\"".into())
    );
    server.answer_webhooks("https://hooks.default.svc", |_, mut review| async move {
        review["response"] = json!({"uid": review["request"]["uid"], "allowed": true});
        review
    });
    assert_eq!(attempt().await.0, 201);
}

#[tokio::test(start_paused = true)]
async fn configurations_are_completed_and_nobody_is_asked_about_them() {
    let server = server();
    let asked = answer(&server, |_, _| json!({"allowed": false}));
    let all = json!([{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}]);
    configure(&server, "Validating", &[("a", json!({"rules": all}))]);
    let path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
    let object = configuration(
        "Mutating",
        "more",
        &[(
            "b",
            json!({
                "clientConfig": {"service": {"name": "x", "namespace": "y"}},
            }),
        )],
    );
    let (code, stored) = send(&server, "POST", path, "application/json", object).await;
    assert_eq!(code, 201, "{stored}");
    assert!(asked.paths().is_empty());
    let hook = &stored["webhooks"][0];
    for (field, value) in [
        ("failurePolicy", json!("Fail")),
        ("matchPolicy", json!("Equivalent")),
        ("namespaceSelector", json!({})),
        ("objectSelector", json!({})),
        ("timeoutSeconds", json!(10)),
        ("reinvocationPolicy", json!("Never")),
    ] {
        assert_eq!(hook[field], value, "{field}");
    }
    assert_eq!(
        (&hook["clientConfig"]["service"]["port"], &hook["rules"][0]["scope"]),
        (&json!(443), &json!("*"))
    );
    assert_eq!(stored["metadata"]["generation"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_configuration_has_all_that_clusters_ask_for() {
    let server = server();
    let configurations = Resource::new("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations");
    let status = server.apply(configuration(
        "Validating",
        "bad",
        &[
            (
                "a",
                json!({"name": "two.segments", "sideEffects": "Some", "timeoutSeconds": 31}),
            ),
            (
                "b",
                json!({"clientConfig": {"url": "http://x"}, "admissionReviewVersions": []}),
            ),
            (
                "c",
                json!({"clientConfig": {"url": "https://x", "service": {}}, "rules": [{}]}),
            ),
        ],
    ));
    let causes = status.unwrap_err().details["causes"].clone();
    let fields: Vec<_> = causes
        .as_array()
        .unwrap()
        .iter()
        .map(|cause| cause["field"].as_str().unwrap())
        .collect();
    assert_eq!(
        fields,
        [
            "webhooks[0].name",
            "webhooks[0].sideEffects",
            "webhooks[0].timeoutSeconds",
            "webhooks[1].clientConfig.url",
            "webhooks[1].admissionReviewVersions",
            "webhooks[2].rules[0].operations",
            "webhooks[2].rules[0].apiGroups",
            "webhooks[2].rules[0].apiVersions",
            "webhooks[2].rules[0].resources",
            "webhooks[2].clientConfig",
        ]
    );
    let error = server
        .apply(configuration(
            "Validating",
            "bad",
            &[("a", json!({"timeoutSeconds": "x"}))],
        ))
        .unwrap_err();
    assert_eq!(error.code, 400, "{error}");
    assert_eq!(server.list(configurations, None), Vec::<Value>::new());
}

#[cfg(not(feature = "cel"))]
#[tokio::test(start_paused = true)]
async fn conditions_are_refused_where_they_cannot_be_evaluated() {
    let server = server();
    let conditions = json!({"matchConditions": [{"name": "always", "expression": "true"}]});
    let error = server
        .apply(configuration("Validating", "test", &[("a", conditions)]))
        .unwrap_err();
    assert_eq!(error.code, 501, "{error}");
}

#[cfg(feature = "cel")]
#[tokio::test(start_paused = true)]
async fn conditions_decide_who_is_asked() {
    let server = server();
    let asked = answer(&server, |_, _| Value::Null);
    let when = |expression: &str| json!({"matchConditions": [{"name": "when", "expression": expression}]});
    configure(
        &server,
        "Validating",
        &[
            ("bob", when("object.spec.who == 'bob'")),
            ("eve", when("object.spec.who == 'eve'")),
            (
                "me",
                when("request.userInfo.username == 'admin' && request.operation == 'CREATE'"),
            ),
            ("changed", when("oldObject != null && oldObject.spec != object.spec")),
        ],
    );
    create(&server, greeting("hello")).await;
    assert_eq!(asked.paths(), ["/bob", "/me"]);
    patch(&server, HELLO, MERGE, json!({"spec": {"who": "eve"}})).await;
    assert_eq!(asked.paths()[2..], ["/eve", "/changed"]);

    let faulty = when("object.spec.nothing.there == 1");
    configure(&server, "Validating", &[("faulty", faulty.clone())]);
    let (code, status) = patch(&server, HELLO, MERGE, json!({"spec": {"who": "bob"}})).await;
    assert_eq!((code, &status["reason"]), (403, &json!("Forbidden")), "{status}");
    let mut ignored = faulty;
    ignored["failurePolicy"] = json!("Ignore");
    configure(&server, "Validating", &[("faulty", ignored)]);
    assert_eq!(
        patch(&server, HELLO, MERGE, json!({"spec": {"who": "bob"}})).await.0,
        200
    );
    assert_eq!(asked.paths().len(), 4);

    let error = server
        .apply(configuration("Validating", "test", &[("a", when("object.spec ==="))]))
        .unwrap_err();
    assert_eq!(error.code, 422, "{error}");
}
