//! `/healthz` and `/readyz` over HTTP.
//!
//! Healthy means that the loop of every task turns; a stream that waits out an outage turns too, since an
//! unreachable API server must not restart anybody. `?verbose` tells each task's age and trouble.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::structs::heartbeat::{Heartbeat, Sign};

/// A loop that has not turned for this long is stuck: several times the longest silence of a stream.
const STUCK: Duration = Duration::from_secs(5 * 60);

/// Where the probe listens, from a URL such as `http://0.0.0.0:8081/healthz` (LIVE-01).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Answered like `/healthz`.
    pub(crate) path: String,
}

impl std::str::FromStr for Endpoint {
    type Err = String;

    fn from_str(url: &str) -> Result<Self, String> {
        let uri: http::Uri = url.parse().map_err(|error| format!("not a URL: {error}"))?;
        if uri.scheme_str() != Some("http") {
            return Err("only http:// is served, such as http://0.0.0.0:8081/healthz".into());
        }
        Ok(Self {
            host: uri
                .host()
                .filter(|host| !host.is_empty())
                .unwrap_or("localhost")
                .to_owned(),
            port: uri.port_u16().unwrap_or(80),
            path: uri.path().to_owned(),
        })
    }
}

/// Listens; the returned future serves until it is dropped.
pub(crate) async fn serve(
    endpoint: &Endpoint,
    heartbeats: Arc<Vec<Heartbeat>>,
) -> std::io::Result<(SocketAddr, impl Future<Output = ()> + Send + use<>)> {
    let listener = TcpListener::bind((endpoint.host.trim_matches(['[', ']']), endpoint.port)).await?;
    let address = listener.local_addr()?;
    let path = endpoint.path.clone();
    Ok((address, async move {
        // They end with this future.
        let mut connections = JoinSet::new();
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                // Out of descriptors, for instance: the next attempt may fare better, but not at once.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            let (heartbeats, path) = (Arc::clone(&heartbeats), path.clone());
            let answers = service_fn(move |request: Request<Incoming>| {
                let signs: Vec<_> = heartbeats.iter().map(Heartbeat::sign).collect();
                let answer = answer(request.method(), request.uri(), &path, &signs);
                async move { Ok::<_, Infallible>(answer) }
            });
            while connections.try_join_next().is_some() {}
            connections
                .spawn(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), answers));
        }
    }))
}

fn answer(method: &Method, uri: &http::Uri, path: &str, signs: &[Sign]) -> Response<Full<Bytes>> {
    let (status, text) = if ![Method::GET, Method::HEAD].contains(method) {
        (StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n".to_owned())
    } else if uri.path() == "/readyz" {
        // The server listens only once the operator is ready.
        (StatusCode::OK, "ok\n".to_owned())
    } else if uri.path() == "/healthz" || uri.path() == path {
        health(
            signs,
            uri.query()
                .is_some_and(|query| query.split('&').any(|key| key == "verbose" || key == "verbose=")),
        )
    } else {
        (StatusCode::NOT_FOUND, "not found\n".to_owned())
    };
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    response
}

fn health(signs: &[Sign], verbose: bool) -> (StatusCode, String) {
    let stuck = signs.iter().any(|sign| sign.age >= STUCK);
    let mut text = String::new();
    for sign in signs.iter().filter(|sign| verbose || sign.age >= STUCK) {
        let mark = if sign.age >= STUCK { "stuck" } else { "ok" };
        let _ = write!(text, "{mark} {} age={}s", sign.name, sign.age.as_secs());
        if let Some(failure) = &sign.failure {
            let _ = write!(text, " waiting: {failure}");
        }
        text.push('\n');
    }
    if stuck {
        return (StatusCode::SERVICE_UNAVAILABLE, text);
    }
    text.push_str("ok\n");
    (StatusCode::OK, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sign(age: u64, failure: Option<&str>) -> Sign {
        Sign {
            name: "carts".into(),
            age: Duration::from_secs(age),
            failure: failure.map(str::to_owned),
        }
    }

    fn status(method: &Method, target: &str, signs: &[Sign]) -> u16 {
        answer(method, &target.parse().unwrap(), "/live", signs)
            .status()
            .as_u16()
    }

    // LIVE-03, B-002
    #[test]
    fn a_stuck_loop_is_unhealthy_and_an_outage_is_not() {
        assert_eq!(
            status(&Method::GET, "/healthz", &[sign(20, Some("connection refused"))]),
            200
        );
        assert_eq!(
            status(&Method::GET, "/healthz", &[sign(20, None), sign(301, None)]),
            503
        );
        assert_eq!(status(&Method::GET, "/readyz", &[sign(301, None)]), 200);
        assert_eq!(status(&Method::GET, "/live", &[]), 200);
        assert_eq!(status(&Method::GET, "/other", &[]), 404);
        assert_eq!(status(&Method::POST, "/healthz", &[]), 405);
    }

    #[test]
    fn verbose_tells_what_a_task_is_waiting_for() {
        let (_, text) = health(&[sign(20, Some("connection refused"))], true);
        assert_eq!(text, "ok carts age=20s waiting: connection refused\nok\n");
    }

    // LIVE-01
    #[test]
    fn only_http_endpoints_are_served() {
        let endpoint: Endpoint = "http://0.0.0.0:8081/healthz".parse().unwrap();
        assert_eq!(
            endpoint,
            Endpoint {
                host: "0.0.0.0".into(),
                port: 8081,
                path: "/healthz".into()
            }
        );
        let endpoint: Endpoint = "http://localhost".parse().unwrap();
        assert_eq!((endpoint.port, endpoint.path.as_str()), (80, "/"));
        assert!("https://x:1/".parse::<Endpoint>().is_err());
    }
}
