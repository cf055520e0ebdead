use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use kopf_testserver::{Resource, ResponseBody, Server};
use serde_json::{Value, json};
use tower::Service as _;

pub(crate) const GREETINGS: Resource = Resource::new("demo.example.com", "v1", "greetings");
pub(crate) const ALL: &str = "/apis/demo.example.com/v1/greetings";
pub(crate) const HERE: &str = "/apis/demo.example.com/v1/namespaces/default/greetings";
pub(crate) const HELLO: &str = "/apis/demo.example.com/v1/namespaces/default/greetings/hello";
pub(crate) const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
pub(crate) const MERGE: &str = "application/merge-patch+json";
pub(crate) const JSON: &str = "application/json-patch+json";

/// A server that knows greetings.
pub(crate) fn server() -> Server {
    let server = Server::new();
    server.apply(crd()).unwrap();
    server
}

pub(crate) fn crd() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "greetings.demo.example.com"},
        "spec": {
            "group": "demo.example.com",
            "scope": "Namespaced",
            "names": {"kind": "Greeting", "plural": "greetings", "shortNames": ["gr"], "categories": ["all"]},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}},
                "additionalPrinterColumns": [{"name": "Who", "type": "string", "jsonPath": ".spec.who"}],
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "properties": {
                        "spec": {
                            "type": "object",
                            "required": ["who"],
                            "properties": {
                                "who": {"type": "string", "minLength": 2, "maxLength": 5},
                                "tone": {"type": "string", "enum": ["warm", "cold"], "default": "warm"},
                                "count": {"type": "integer", "minimum": 1, "maximum": 9},
                                "tags": {"type": "array", "maxItems": 2, "items": {"type": "string"}},
                                "port": {"x-kubernetes-int-or-string": true},
                                "map": {"type": "object", "additionalProperties": {"type": "integer"}},
                            },
                        },
                        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                    },
                }},
            }],
        },
    })
}

pub(crate) fn greeting(name: &str) -> Value {
    json!({
        "apiVersion": "demo.example.com/v1", "kind": "Greeting",
        "metadata": {"name": name}, "spec": {"who": "bob"},
    })
}

/// A greeting that was created through the API.
pub(crate) async fn create(server: &Server, object: Value) -> Value {
    let (code, object) = send(server, "POST", HERE, "application/json", object).await;
    assert_eq!(code, 201, "{object}");
    object
}

pub(crate) async fn get(server: &Server, path: &str) -> (u16, Value) {
    send(server, "GET", path, "", "").await
}

pub(crate) async fn delete(server: &Server, path: &str) -> (u16, Value) {
    send(server, "DELETE", path, "", "").await
}

pub(crate) async fn patch(server: &Server, path: &str, content_type: &str, body: Value) -> (u16, Value) {
    send(server, "PATCH", path, content_type, body).await
}

/// Sends a request whose body is a text or a JSON value, and reads the whole answer.
pub(crate) async fn send(
    server: &Server,
    method: &str,
    path: &str,
    content_type: &str,
    body: impl ToString,
) -> (u16, Value) {
    try_send(server, request(method, path, content_type, &body.to_string()))
        .await
        .unwrap()
}

pub(crate) fn request(method: &str, path: &str, content_type: &str, body: &str) -> Request<Full<Bytes>> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", content_type);
    request.body(Full::new(Bytes::from(body.to_owned()))).unwrap()
}

pub(crate) async fn try_send(server: &Server, request: Request<Full<Bytes>>) -> std::io::Result<(u16, Value)> {
    let response = server.service().call(request).await?;
    let code = response.status().as_u16();
    let body = response.into_body().collect().await?.to_bytes();
    let value = serde_json::from_slice(&body);
    Ok((code, value.unwrap_or_else(|_| json!(String::from_utf8_lossy(&body)))))
}

/// An open watch.
pub(crate) struct Events {
    body: ResponseBody,
}

impl Events {
    /// The next event as its type and object; nothing when the stream has ended.
    pub(crate) async fn next(&mut self) -> Option<(String, Value)> {
        let frame = self.body.frame().await?.unwrap();
        let line = frame.into_data().unwrap();
        assert!(line.ends_with(b"\n"));
        let event: Value = serde_json::from_slice(&line).unwrap();
        Some((event["type"].as_str().unwrap().to_owned(), event["object"].clone()))
    }

    /// The next event as its type and the name of its object.
    pub(crate) async fn brief(&mut self) -> Option<(String, String)> {
        let (kind, object) = self.next().await?;
        Some((kind, object["metadata"]["name"].as_str().unwrap_or_default().to_owned()))
    }

    /// Whether nothing is to be read now.
    pub(crate) async fn is_silent(&mut self) -> bool {
        let moment = std::time::Duration::from_millis(10);
        tokio::time::timeout(moment, self.body.frame()).await.is_err()
    }
}

pub(crate) async fn watch(server: &Server, path: &str, query: &str) -> Events {
    let response = server
        .service()
        .call(request("GET", &format!("{path}?watch=true&{query}"), "", ""))
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
    Events {
        body: response.into_body(),
    }
}

pub(crate) fn version(object: &Value) -> String {
    object["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
}

/// What [`Events::brief`] gives for an event.
#[expect(clippy::unnecessary_wraps, reason = "comparable with what the stream gives")]
pub(crate) fn brief(kind: &str, name: &str) -> Option<(String, String)> {
    Some((kind.to_owned(), name.to_owned()))
}
