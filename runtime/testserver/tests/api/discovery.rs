use serde_json::{Value, json};

use kopf_testserver::Resource;
use tower::Service as _;

use crate::support::{get, request, send, server};

fn find<'a>(list: &'a Value, name: &str) -> &'a Value {
    list.as_array()
        .unwrap()
        .iter()
        .find(|each| each["name"] == name)
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn groups_and_versions_are_listed() {
    let server = server();
    assert_eq!(get(&server, "/api").await.1["versions"], json!(["v1"]));
    let (_, groups) = get(&server, "/apis").await;
    let group = find(&groups["groups"], "demo.example.com");
    let version = json!({"groupVersion": "demo.example.com/v1", "version": "v1"});
    assert_eq!(
        group,
        &json!({"name": "demo.example.com", "versions": [version], "preferredVersion": version})
    );
}

#[tokio::test(start_paused = true)]
async fn resources_tell_their_names_and_subresources() {
    let server = server();
    let (_, resources) = get(&server, "/apis/demo.example.com/v1").await;
    let greetings = find(&resources["resources"], "greetings");
    assert_eq!(
        (&greetings["shortNames"], &greetings["categories"]),
        (&json!(["gr"]), &json!(["all"]))
    );
    assert_eq!(
        (&greetings["kind"], &greetings["namespaced"]),
        (&json!("Greeting"), &json!(true))
    );
    assert_eq!(
        find(&resources["resources"], "greetings/status")["verbs"],
        json!(["get", "patch", "update"])
    );
    let (_, core) = get(&server, "/api/v1").await;
    assert_eq!(find(&core["resources"], "namespaces")["namespaced"], false);
}

#[tokio::test(start_paused = true)]
async fn documents_leave_the_validation_to_the_server() {
    let server = server();
    let (_, index) = get(&server, "/openapi/v3").await;
    let url = index["paths"]["apis/demo.example.com/v1"]["serverRelativeURL"]
        .as_str()
        .unwrap();
    let (_, document) = get(&server, url).await;
    let patch = &document["paths"]["/apis/demo.example.com/v1/namespaces/{namespace}/greetings/{name}"]["patch"];
    assert_eq!(patch["parameters"][0]["name"], "fieldValidation");
    assert_eq!(patch["x-kubernetes-group-version-kind"]["kind"], "Greeting");
    assert_eq!(get(&server, "/openapi/v3/apis/demo.example.com/v9").await.0, 404);
    assert_eq!(get(&server, "/openapi/v3/api/v1").await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn unknown_paths_are_not_found() {
    let server = server();
    for path in [
        "/apis/none.example.com",
        "/apis/demo.example.com/v9",
        "/apis/demo.example.com/v1/nothing",
    ] {
        assert_eq!(get(&server, path).await, (404, json!("404 page not found\n")), "{path}");
    }
    // What is below none of the APIs is answered with the paths that there are.
    for (path, code) in [("/", 200), ("/nothing", 404)] {
        let (found, index) = get(&server, path).await;
        let paths = index["paths"].as_array().unwrap();
        assert!(
            found == code && paths.contains(&json!("/apis/demo.example.com/v1")),
            "{path}: {index}"
        );
    }
    // Groups of built-in kinds answer themselves.
    for path in [
        "/api/v1/namespaces/default/greetings",
        "/api/v1/namespaces/default/nodes",
        "/api/v1/pods/some",
        "/apis/apps/v9",
    ] {
        let (code, status) = get(&server, path).await;
        let message = "the server could not find the requested resource";
        assert_eq!((code, &status["message"]), (404, &json!(message)), "{path}");
    }
    assert_eq!(send(&server, "POST", "/apis/apps/v1", "", "").await.0, 405);
    assert_eq!(send(&server, "POST", "/api/v1/pods", "", "{}").await.0, 405);
    assert_eq!(send(&server, "DELETE", "/api/v1/pods", "", "").await.0, 405);
    // Only collections are watched like this.
    let (_, namespace) = get(&server, "/api/v1/namespaces/default?watch=true").await;
    assert_eq!(namespace["kind"], "Namespace");
}

#[tokio::test(start_paused = true)]
async fn the_server_is_healthy_and_permissive() {
    let server = server();
    for path in ["/healthz", "/readyz", "/livez"] {
        assert_eq!(get(&server, path).await, (200, json!("ok")));
    }
    assert_eq!(get(&server, "/version").await.1["major"], "1");
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let spec = json!({"resourceAttributes": {"verb": "list", "resource": "pods"}});
    let (code, review) = send(&server, "POST", path, "application/json", json!({"spec": spec})).await;
    assert_eq!(
        (code, &review["status"], &review["spec"]),
        (201, &json!({"allowed": true}), &spec)
    );
}

#[tokio::test(start_paused = true)]
async fn all_of_discovery_comes_once_until_it_changes() {
    let server = server();
    let ask = async |tag: &str| {
        let mut request = request("GET", "/apis", "", "");
        let form = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
        request.headers_mut().insert("accept", form.parse().unwrap());
        request.headers_mut().insert("if-none-match", tag.parse().unwrap());
        let response = server.service().call(request).await.unwrap();
        let tag = response.headers()["etag"].to_str().unwrap().to_owned();
        (response.status().as_u16(), tag)
    };
    let (code, tag) = ask("none").await;
    assert_eq!((code, ask(&tag).await), (200, (304, tag.clone())));
    let crds = Resource::new("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    let names = json!({"spec": {"names": {"shortNames": ["other"]}}});
    server.patch(crds, None, "greetings.demo.example.com", names).unwrap();
    let (code, other) = ask(&tag).await;
    assert!(code == 200 && other != tag, "{code} {other}");
}
