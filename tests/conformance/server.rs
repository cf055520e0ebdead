//! The servers under comparison: raw requests, and watches line by line.

use std::fmt;
use std::fs;
use std::pin::Pin;
use std::time::Duration;

use futures::{Stream, StreamExt as _};
use http_body_util::BodyExt as _;
use kopf_runtime::kube::client::Body;
use kopf_runtime::kube::config::KubeConfigOptions;
use kopf_runtime::kube::{Client, Config};
use kopf_tests::control_plane::ControlPlane;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

/// What a server is that was built without telling it its version: Debian's, as `control-plane/build` makes it.
const UNSTAMPED: &str = "1.20.2";

/// One of the servers, as administrator unless a request says otherwise.
pub(crate) struct Server {
    client: Client,
    /// The token of the administrator; whoever connects to the embedded server is one.
    admin: Option<String>,
}

/// The release of a server.
#[derive(Debug)]
pub(crate) struct Release {
    numbers: (u32, u32),
    version: String,
}

/// An open watch.
pub(crate) struct Watch {
    frames: Pin<Box<dyn Stream<Item = Result<Vec<u8>, String>> + Send>>,
    unread: Vec<u8>,
}

/// A line of a watch, or why there is none.
pub(crate) enum Line {
    Event(Value),
    End,
    Silence,
}

impl Server {
    /// A fresh embedded server.
    pub(crate) fn embedded() -> Self {
        let server = kopf_testserver::Server::new();
        Self {
            client: Client::new(server.service(), "default"),
            admin: None,
        }
    }

    /// The real control plane.
    pub(crate) async fn real(plane: &ControlPlane) -> Self {
        let text = fs::read_to_string(&plane.kubeconfig).expect("the kubeconfig is readable");
        let mut kubeconfig: Value = serde_yaml::from_str(&text).expect("the kubeconfig is YAML");
        // A client that adds no token, so that each request can have its own.
        let user = kubeconfig["users"][0]["user"].take();
        kubeconfig["users"][0]["user"] = json!({});
        let kubeconfig = serde_json::from_value(kubeconfig).expect("the kubeconfig is one");
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        let mut config = config.expect("the kubeconfig is complete");
        // A refusal is an answer too.
        config.default_retry = false;
        Self {
            client: Client::try_from(config).expect("the client can be built"),
            admin: user["token"].as_str().map(str::to_owned),
        }
    }

    /// What the server calls itself.
    pub(crate) async fn release(&self) -> Release {
        let version = self
            .client
            .apiserver_version()
            .await
            .expect("the server tells its version");
        let version = match version.git_version.trim_start_matches('v') {
            unstamped if unstamped.starts_with("0.0.0") => UNSTAMPED.to_owned(),
            stamped => stamped.to_owned(),
        };
        let mut numbers = version
            .split('.')
            .map(|number| number.parse().expect("releases are numbers"));
        let numbers = [numbers.next(), numbers.next()].map(|number| number.expect("a release has two numbers"));
        Release {
            numbers: numbers.into(),
            version,
        }
    }

    /// Sends a request as the bearer of the token, if there is one.
    pub(crate) async fn send(
        &self,
        request: http::request::Builder,
        token: Option<&str>,
        body: Vec<u8>,
    ) -> Result<http::Response<Body>, String> {
        let request = match token.or(self.admin.as_deref()) {
            Some(token) => request.header("authorization", format!("Bearer {token}")),
            None => request,
        };
        let request = request
            .body(Body::from(body))
            .map_err(|error| format!("cannot be asked that: {error}"))?;
        self.client
            .send(request)
            .await
            .map_err(|error| format!("does not answer: {error}"))
    }
}

impl Release {
    /// Whether what came with a release is in this one.
    pub(crate) fn has(&self, since: (u32, u32)) -> bool {
        since <= self.numbers
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.version)
    }
}

impl Watch {
    /// Reads the body of an answer as it comes.
    pub(crate) fn new(body: Body) -> Self {
        let frames = body.into_data_stream();
        let frames = frames.map(|frame| frame.map(|bytes| bytes.to_vec()).map_err(|error| error.to_string()));
        Self {
            frames: Box::pin(frames),
            unread: Vec::new(),
        }
    }

    /// The next event before the deadline.
    pub(crate) async fn next(&mut self, deadline: Instant) -> Result<Line, String> {
        loop {
            if let Some(end) = self.unread.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                let event = serde_json::from_slice(&line);
                return event
                    .map(Line::Event)
                    .map_err(|error| format!("sends a line that is no event: {error}"));
            }
            match timeout_at(deadline, self.frames.next()).await {
                Err(_) => return Ok(Line::Silence),
                Ok(None) => return Ok(Line::End),
                Ok(Some(frame)) => self.unread.extend(frame?),
            }
        }
    }
}

/// The whole body of an answer: JSON, or else a text.
pub(crate) async fn body_of(body: Body) -> Result<Value, String> {
    let bytes = body
        .collect_bytes()
        .await
        .map_err(|error| format!("breaks off: {error}"))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

/// A moment for controllers to act.
pub(crate) async fn pause() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}
