//! One face for the embedded and the real API server, so that a scenario is written once.

use std::time::Duration;

use kopf_runtime::kube::{Client, Config, config::KubeConfigOptions, config::Kubeconfig};
use kopf_runtime::{Operator, RunOptions};
use kopf_testserver::Server;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::control_plane;

/// How long a state may take to come; tokio's time, which a paused clock makes short.
const PATIENCE: Duration = Duration::from_secs(60);

/// A cluster, and a namespace of its own in it for one scenario.
pub struct Cluster {
    /// As administrator.
    pub client: Client,
    /// The scenario's namespace.
    pub namespace: String,
    /// The embedded server, for faults; `None` on the real one.
    pub embedded: Option<Server>,
}

/// An operator at work. Dropping it kills it, as far as that is possible within one process.
pub struct Working {
    stopping: tokio_util::sync::CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

impl Cluster {
    /// A fresh embedded server; the clock is expected to be paused.
    pub async fn embedded() -> Self {
        let server = Server::new();
        let client = Client::new(server.service(), "default");
        Self::prepare(client, Some(server)).await
    }

    /// The real control plane; `None` if there is none here.
    ///
    /// # Panics
    /// If its kubeconfig cannot be used.
    pub async fn real() -> Option<Self> {
        let plane = control_plane::shared()?;
        let kubeconfig = Kubeconfig::read_from(&plane.kubeconfig).expect("the kubeconfig is readable");
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        let client = Client::try_from(config.expect("the kubeconfig is complete")).expect("the client can be built");
        Some(Self::prepare(client, None).await)
    }

    async fn prepare(client: Client, embedded: Option<Server>) -> Self {
        use std::sync::atomic::{AtomicUsize, Ordering};
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        let namespace = format!("scenario-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let cluster = Self {
            client,
            namespace,
            embedded,
        };
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": cluster.namespace}});
        cluster
            .request("POST", "/api/v1/namespaces", &namespace)
            .await
            .expect("the namespace can be created");
        cluster
    }

    /// Starts an operator in the scenario's namespace.
    pub fn start(&self, operator: Operator) -> Working {
        let stopping = tokio_util::sync::CancellationToken::new();
        let options = RunOptions::new(self.client.clone())
            .namespaces([&self.namespace])
            .stop_on(stopping.clone())
            .follow_tokio_time();
        let task = tokio::spawn(async move {
            operator.run(options).await.expect("the operator is well-formed");
        });
        Working { stopping, task }
    }

    /// Any request with a JSON body; patches by their media type through [`Cluster::patch`].
    ///
    /// # Errors
    /// What the server or the transport says.
    pub async fn request(&self, method: &str, path: &str, body: &Value) -> Result<Value, kopf_runtime::kube::Error> {
        self.send(method, path, "application/json", body).await
    }

    /// A merge patch of the object at `path`.
    ///
    /// # Panics
    /// If the server refuses it.
    pub async fn patch(&self, path: &str, patch: &Value) -> Value {
        self.send("PATCH", path, "application/merge-patch+json", patch)
            .await
            .expect("the patch is accepted")
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        media: &str,
        body: &Value,
    ) -> Result<Value, kopf_runtime::kube::Error> {
        let body = if body.is_null() {
            Vec::new()
        } else {
            body.to_string().into_bytes()
        };
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", media)
            .body(body);
        self.client.request(request.expect("the request is well-formed")).await
    }

    /// The object at `path`; null if it is not there.
    ///
    /// # Panics
    /// On any other error.
    pub async fn get(&self, path: &str) -> Value {
        match self.request("GET", path, &Value::Null).await {
            Ok(object) => object,
            Err(kopf_runtime::kube::Error::Api(status)) if status.code == 404 => Value::Null,
            Err(error) => panic!("cannot get {path}: {error}"),
        }
    }

    /// Waits until what is at `path` is as wanted; null stands for an absent object.
    ///
    /// # Panics
    /// If it never is; the message shows the last state.
    pub async fn wait(&self, path: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let begin = Instant::now();
        loop {
            let object = self.get(path).await;
            if wanted(&object) {
                return object;
            }
            assert!(
                begin.elapsed() < PATIENCE,
                "{path} never was as wanted; at last: {object:#}"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// The Kubernetes events about objects of this name, oldest first: reason and message.
    pub async fn events_about(&self, name: &str) -> Vec<(String, String)> {
        let list = self.get(&format!("/api/v1/namespaces/{}/events", self.namespace)).await;
        let text = |event: &Value, key: &str| event[key].as_str().unwrap_or_default().to_owned();
        let mut events: Vec<_> = list["items"].as_array().cloned().unwrap_or_default();
        events.retain(|event| event["involvedObject"]["name"] == name);
        events.sort_by_key(|event| text(event, "eventTime"));
        events
            .iter()
            .map(|event| (text(event, "reason"), text(event, "message")))
            .collect()
    }
}

impl Working {
    /// Stops the operator as SIGTERM does.
    ///
    /// # Panics
    /// If it panicked.
    pub async fn stop(mut self) {
        self.stopping.cancel();
        (&mut self.task).await.expect("the operator ends well");
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.stopping.cancel();
    }
}

/// Runs a scenario on the embedded server, on a paused clock, and on the real control plane.
#[macro_export]
macro_rules! on_both_servers {
    ($($(#[$doc:meta])* $scenario:ident;)*) => {$(
        mod $scenario {
            $(#[$doc])*
            #[tokio::test(start_paused = true)]
            async fn embedded() {
                super::$scenario(&$crate::cluster::Cluster::embedded().await).await;
            }

            $(#[$doc])*
            #[tokio::test(flavor = "multi_thread")]
            async fn real() {
                if let Some(cluster) = $crate::cluster::Cluster::real().await {
                    super::$scenario(&cluster).await;
                }
            }
        }
    )*};
}
