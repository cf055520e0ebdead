use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kopf_testserver::Server;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::admission::{configuration, json_patch};
use crate::support::{HERE, create, greeting, send, server};

/// Who signed [`SERVED`].
const AUTHORITY: &str = include_str!("../certificates/authority.pem");

/// A certificate for this host and for services in the default namespace, and its key.
const SERVED: (&str, &str) = (
    include_str!("../certificates/server.pem"),
    include_str!("../certificates/server.key"),
);

/// A certificate for this host that is its own authority, and its key.
const OWN: (&str, &str) = (
    include_str!("../certificates/own.pem"),
    include_str!("../certificates/own.key"),
);

/// Serves webhooks over HTTPS, whose answers depend on the path.
async fn serve((certificate, key): (&'static str, &'static str)) -> SocketAddr {
    let chain = CertificateDer::pem_slice_iter(certificate.as_bytes())
        .map(Result::unwrap)
        .collect();
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                if let Ok(stream) = acceptor.accept(stream).await {
                    drop(
                        http1::Builder::new()
                            .serve_connection(TokioIo::new(stream), service_fn(answer))
                            .await,
                    );
                }
            });
        }
    });
    address
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let mut review: Value = serde_json::from_slice(&body).unwrap();
    let (path, query) = (head.uri.path(), head.uri.query());
    assert_eq!(
        (head.method.as_str(), query.map(|query| query.starts_with("timeout="))),
        ("POST", Some(true))
    );
    assert_eq!(head.headers["content-type"], "application/json");
    let mut response = match path {
        "/host" => json_patch(&json!([{
            "op": "add", "path": "/metadata/labels",
            "value": {"host": head.headers["host"].to_str().unwrap().split(':').next()},
        }])),
        "/deny" => json!({"allowed": false}),
        "/slow" => {
            tokio::time::sleep(Duration::from_secs(30)).await;
            json!({})
        }
        "/broken" => {
            let response = Response::builder().status(500).header("content-type", "text/plain");
            return Ok(response.body(Full::from("out of order\n")).unwrap());
        }
        _ => return Ok(Response::new(Full::from("hello"))),
    };
    response["uid"] = review["request"]["uid"].clone();
    review["response"] = response;
    Ok(Response::new(Full::from(review.to_string())))
}

fn configure(server: &Server, mut client: Value, authority: &str, more: Value) {
    client["caBundle"] = json!(STANDARD.encode(authority));
    let mut hook = more;
    hook["clientConfig"] = client;
    server.apply(configuration("Mutating", "test", &[("a", hook)])).unwrap();
}

/// What a failed call is told to be.
async fn failure(server: &Server, url: &str) -> String {
    let (code, status) = send(server, "POST", HERE, "application/json", greeting("hello")).await;
    assert_eq!(code, 500, "{status}");
    let message = status["message"].as_str().unwrap();
    let start = "Internal error occurred: failed calling webhook \"a.test.example.com\": failed to call webhook: ";
    let why = message.strip_prefix(start).unwrap_or(message);
    why.strip_prefix(&format!("Post \"{url}\": ")).unwrap_or(why).to_owned()
}

#[tokio::test]
async fn webhooks_are_called_by_url_over_https() {
    let (server, port) = (server(), serve(SERVED).await.port());
    configure(
        &server,
        json!({"url": format!("https://localhost:{port}/host")}),
        AUTHORITY,
        json!({}),
    );
    let stored = create(&server, greeting("one")).await;
    assert_eq!(stored["metadata"]["labels"], json!({"host": "localhost"}));

    let url = format!("https://localhost:{port}/deny");
    configure(&server, json!({"url": url}), AUTHORITY, json!({}));
    let (code, status) = send(&server, "POST", HERE, "application/json", greeting("two")).await;
    assert_eq!(code, 400);
    let message = "admission webhook \"a.test.example.com\" denied the request without explanation";
    assert_eq!(
        (&status["message"], status.get("reason"), status.get("details")),
        (&json!(message), None, None)
    );
}

#[tokio::test]
async fn webhooks_of_services_are_called_where_these_resolve_to() {
    let (server, address) = (server(), serve(SERVED).await);
    let service = json!({"service": {"name": "hooks", "namespace": "default", "path": "/host", "port": 8443}});
    configure(&server, service, AUTHORITY, json!({}));
    server.resolve_service("default", "hooks", 8443, address);
    let stored = create(&server, greeting("hello")).await;
    assert_eq!(stored["metadata"]["labels"], json!({"host": "hooks.default.svc"}));
}

#[tokio::test]
async fn certificates_are_verified() {
    let (server, address) = (server(), serve(SERVED).await);
    let at = |host: &str| {
        let url = format!("https://{host}:{}/host", address.port());
        (format!("{url}?timeout=10s"), json!({"url": url}))
    };
    let unverified = "tls: failed to verify certificate: x509: ";
    let (url, client) = at("127.0.0.1");
    for authority in [OWN.0, "no certificate at all", ""] {
        configure(&server, client.clone(), authority, json!({}));
        let why = format!("{unverified}certificate signed by unknown authority");
        assert_eq!(failure(&server, &url).await, why, "{authority}");
    }
    let service = json!({"service": {"name": "hooks", "namespace": "other", "path": "/host"}});
    configure(&server, service, AUTHORITY, json!({}));
    server.resolve_service("other", "hooks", 443, address);
    let why = format!("{unverified}certificate is valid for localhost, *.default.svc, not hooks.other.svc");
    assert_eq!(
        failure(&server, "https://hooks.other.svc:443/host?timeout=10s").await,
        why
    );
}

#[tokio::test]
async fn a_certificate_may_be_its_own_authority() {
    let (server, address) = (server(), serve(OWN).await);
    configure(
        &server,
        json!({"url": format!("https://{address}/host")}),
        OWN.0,
        json!({}),
    );
    create(&server, greeting("hello")).await;
    let service = json!({"service": {"name": "hooks", "namespace": "default", "path": "/host"}});
    configure(&server, service, OWN.0, json!({}));
    server.resolve_service("default", "hooks", 443, address);
    let why = failure(&server, "https://hooks.default.svc:443/host?timeout=10s").await;
    assert!(
        why.ends_with("certificate is valid for localhost, not hooks.default.svc"),
        "{why}"
    );
}

#[tokio::test]
async fn failed_calls_say_what_went_wrong() {
    let (server, address) = (server(), serve(SERVED).await);
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let url = format!("https://{closed}/x");
    configure(&server, json!({"url": url}), AUTHORITY, json!({}));
    let why = format!("dial tcp {closed}: connect: connection refused");
    assert_eq!(failure(&server, &format!("{url}?timeout=10s")).await, why);

    for (path, told) in [
        ("/slow", "context deadline exceeded"),
        (
            "/broken",
            "an error on the server (\"out of order\") has prevented the request from succeeding",
        ),
        (
            "/text",
            "couldn't get version/kind; json parse error: invalid character 'h' looking for beginning of value",
        ),
    ] {
        let url = format!("https://{address}{path}");
        configure(&server, json!({"url": url}), AUTHORITY, json!({"timeoutSeconds": 1}));
        assert_eq!(failure(&server, &format!("{url}?timeout=1s")).await, told);
    }

    let listening = server.listen("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/x", listening.address());
    configure(&server, json!({"url": url}), AUTHORITY, json!({}));
    let why = failure(&server, &format!("{url}?timeout=10s")).await;
    assert_eq!(why, "tls: first record does not look like a TLS handshake");
}
