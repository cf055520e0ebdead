use serde_json::{Value, json};

use crate::support::{ALL, CRDS, HERE, MERGE, brief, crd, create, delete, get, greeting, patch, send, server, watch};

#[tokio::test(start_paused = true)]
async fn a_definition_is_completed_and_served_at_once() {
    let server = kopf_testserver::Server::new();
    assert_eq!(get(&server, ALL).await.0, 404);
    let (code, crd) = send(&server, "POST", CRDS, "application/json", crd()).await;
    assert_eq!(code, 201, "{crd}");
    assert_eq!(crd["spec"]["names"]["singular"], "greeting");
    assert_eq!(crd["status"]["acceptedNames"], crd["spec"]["names"]);
    assert_eq!(crd["status"]["storedVersions"], json!(["v1"]));
    let conditions = crd["status"]["conditions"].as_array().unwrap();
    assert!(
        conditions
            .iter()
            .any(|each| each["type"] == "Established" && each["status"] == "True")
    );
    assert_eq!(get(&server, ALL).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn a_bad_definition_is_refused() {
    let server = kopf_testserver::Server::new();
    for (path, value, field) in [
        ("/metadata/name", json!("other"), "metadata.name"),
        ("/spec/group", json!(""), "metadata.name"),
        ("/spec/scope", json!("Other"), "spec.scope"),
        ("/spec/versions/0/storage", json!(false), "spec.versions"),
        (
            "/spec/versions/0/schema",
            json!({}),
            "spec.versions[0].schema.openAPIV3Schema",
        ),
    ] {
        let mut crd = crd();
        *crd.pointer_mut(path).unwrap() = value;
        let (code, status) = send(&server, "POST", CRDS, "application/json", crd).await;
        assert_eq!((code, &status["details"]["causes"][0]["field"]), (422, &json!(field)));
    }
}

#[tokio::test(start_paused = true)]
async fn unknown_fields_are_pruned_and_defaults_set() {
    let server = server();
    let mut object = greeting("hello");
    object["spec"] = json!({"who": "bob", "junk": 1, "tone": null, "count": null, "map": {"a": 1}, "port": "http"});
    object["junk"] = json!(1);
    let object = create(&server, object).await;
    assert_eq!(
        object["spec"],
        json!({"who": "bob", "tone": "warm", "map": {"a": 1}, "port": "http"})
    );
    assert!(object.get("junk").is_none());
}

#[tokio::test(start_paused = true)]
async fn unknown_fields_are_refused_on_demand() {
    let server = server();
    let mut object = greeting("hello");
    object["spec"]["junk"] = json!(1);
    let path = format!("{HERE}?fieldValidation=Strict");
    let (code, status) = send(&server, "POST", &path, "application/json", object).await;
    let text = "Greeting in version \"v1\" cannot be handled as a Greeting: strict decoding error: \
                unknown field \"spec.junk\"";
    assert_eq!((code, &status["message"]), (400, &json!(text)));
    assert_eq!(
        send(&server, "POST", &path, "application/json", greeting("hello"))
            .await
            .0,
        201
    );
}

#[tokio::test(start_paused = true)]
async fn faults_are_told_with_their_paths() {
    let server = server();
    let causes = async |spec: Value| {
        let mut object = greeting("hello");
        object["spec"] = spec;
        let (code, status) = send(&server, "POST", HERE, "application/json", object).await;
        assert_eq!((code, &status["details"]["kind"]), (422, &json!("Greeting")));
        let causes = status["details"]["causes"].as_array().unwrap().iter();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        causes
            .map(|cause| format!("{}: {}", text(&cause["field"]), text(&cause["message"])))
            .collect::<Vec<_>>()
    };
    assert_eq!(causes(json!({})).await, ["spec.who: Required value"]);
    let spec = json!({
        "who": "a", "tone": "x", "count": 0, "tags": ["a", 1, "c"], "port": true, "map": {"a": "b"},
    });
    assert_eq!(
        causes(spec).await,
        [
            "spec.count: Invalid value: 0: spec.count in body should be greater than or equal to 1",
            "spec.map.a: Invalid value: \"string\": spec.map.a in body must be of type integer: \"string\"",
            "spec.port: Invalid value: \"boolean\": spec.port in body must be of type integer,string: \"boolean\"",
            "spec.tags[1]: Invalid value: \"integer\": spec.tags[1] in body must be of type string: \"integer\"",
            "spec.tags: Too many: 3: must have at most 2 items",
            "spec.tone: Unsupported value: \"x\": supported values: \"warm\", \"cold\"",
            "spec.who: Invalid value: \"a\": spec.who in body should be at least 2 chars long",
        ]
    );
    assert_eq!(
        causes(json!({"who": "abcdef", "count": 1.5})).await,
        [
            "spec.count: Invalid value: \"number\": spec.count in body must be of type integer: \"number\"",
            "spec.who: Too long: may not be more than 5 bytes",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn objects_are_shown_in_the_version_asked_for() {
    let server = server();
    create(&server, greeting("hello")).await;
    let mut crd = crd();
    let mut beta = crd["spec"]["versions"][0].clone();
    (beta["name"], beta["storage"]) = (json!("v1beta1"), json!(false));
    crd["spec"]["versions"].as_array_mut().unwrap().push(beta);
    server.apply(crd).unwrap();

    let path = "/apis/demo.example.com/v1beta1/namespaces/default/greetings";
    let (_, object) = patch(
        &server,
        &format!("{path}/hello"),
        MERGE,
        json!({"spec": {"who": "eve"}}),
    )
    .await;
    assert_eq!(object["apiVersion"], "demo.example.com/v1beta1");
    let mut events = watch(&server, path, "").await;
    assert_eq!(events.next().await.unwrap().1["apiVersion"], "demo.example.com/v1beta1");
    assert_eq!(
        get(&server, HERE).await.1["items"][0]["apiVersion"],
        "demo.example.com/v1"
    );
    let (_, group) = get(&server, "/apis/demo.example.com").await;
    assert_eq!(group["preferredVersion"]["version"], "v1");
    assert_eq!(group["versions"].as_array().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_came_back_has_no_past() {
    let server = server();
    create(&server, greeting("hello")).await;
    let mut events = watch(&server, ALL, "").await;
    delete(&server, &format!("{CRDS}/greetings.demo.example.com")).await;
    assert_eq!(events.brief().await, brief("ADDED", "hello"));
    assert_eq!(events.brief().await, brief("DELETED", "hello"));
    assert_eq!(events.next().await, None);

    server.apply(crd()).unwrap();
    assert_eq!(get(&server, ALL).await.1["items"], json!([]));
    let mut events = watch(&server, ALL, "resourceVersion=5").await;
    assert_eq!(events.next().await.unwrap().0, "ERROR");
}

#[tokio::test(start_paused = true)]
async fn without_the_status_endpoint_the_status_is_content() {
    let server = kopf_testserver::Server::new();
    let mut crd = crd();
    crd["spec"]["versions"][0]["subresources"] = json!({});
    server.apply(crd).unwrap();
    let mut object = greeting("hello");
    object["status"] = json!({"a": 1});
    let object = create(&server, object).await;
    assert_eq!(object["status"], json!({"a": 1}));
    let path = format!("{HERE}/hello");
    let (_, object) = patch(&server, &path, MERGE, json!({"status": {"a": 2}})).await;
    assert_eq!(
        (&object["status"]["a"], &object["metadata"]["generation"]),
        (&json!(2), &json!(2))
    );
    assert_eq!(patch(&server, &format!("{path}/status"), MERGE, json!({})).await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn embedded_resources_and_open_parts_are_not_pruned() {
    let server = kopf_testserver::Server::new();
    let mut crd = crd();
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = json!({
        "type": "object",
        "properties": {
            "template": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {
                "spec": {"type": "object", "properties": {"a": {"type": "integer"}}},
            }},
            "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
                "shut": {"type": "object"},
            }},
            "maybe": {"type": "string", "nullable": true},
        },
    });
    server.apply(crd).unwrap();
    let mut object = greeting("hello");
    object["spec"] = json!({
        "template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"a": 1, "b": 2}, "c": 3},
        "open": {"any": {"thing": null}, "shut": {"out": 1}},
        "maybe": null,
    });
    let object = create(&server, object).await;
    assert_eq!(
        object["spec"],
        json!({
            "template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"a": 1}},
            "open": {"any": {"thing": null}, "shut": {}},
            "maybe": null,
        })
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_not_served_of_definitions_is_said() {
    let server = kopf_testserver::Server::new();
    let mut webhook = crd();
    webhook["spec"]["conversion"] = json!({
        "strategy": "Webhook",
        "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://example.com/convert"}},
    });
    let (code, status) = send(&server, "POST", CRDS, "application/json", webhook).await;
    assert_eq!((code, &status["reason"]), (501, &json!("NotImplemented")));

    let mut rules = crd();
    let schema = &mut rules["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    schema["properties"]["spec"]["x-kubernetes-validations"] = json!([{"rule": "self.who != 'eve'"}]);
    let (code, status) = send(&server, "POST", CRDS, "application/json", rules).await;
    if cfg!(feature = "cel") {
        assert_eq!(code, 201, "{status}");
    } else {
        assert_eq!((code, &status["reason"]), (501, &json!("NotImplemented")));
    }
}
