//! The server behind a socket, for clients in other processes.

use std::io;
use std::net::SocketAddr;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, ToSocketAddrs};
use tokio::task::{JoinHandle, JoinSet};
use tower::Service as _;

use crate::http::service::Service;

/// A listening server. It stops, and its connections break, when this is dropped.
///
/// Requests without a bearer token are the administrator's, as on the insecure port that real servers had once.
#[derive(Debug)]
#[must_use = "the server stops listening when this is dropped"]
pub struct Listening {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Listening {
    pub(crate) async fn start(service: Service, address: impl ToSocketAddrs) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(accept(listener, service));
        Ok(Self { address, task })
    }

    /// The address with the port that was chosen.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base of all paths, such as `http://127.0.0.1:40123`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A kubeconfig, as YAML text, for kubectl and client libraries.
    pub fn kubeconfig(&self) -> String {
        self.kubeconfig_of("{}")
    }

    /// The same for the owner of a token, such as [`Server::token_for`](crate::Server::token_for) makes.
    ///
    /// kubectl and other clients in Go send tokens over TLS only, and are the administrator here; for them there is
    /// [`kubeconfig_as`](Self::kubeconfig_as).
    pub fn kubeconfig_for(&self, token: &str) -> String {
        self.kubeconfig_of(&format!("{{token: {token:?}}}"))
    }

    /// The same for an administrator who acts as somebody else, such as `system:serviceaccount:default:operator`.
    pub fn kubeconfig_as(&self, user: &str) -> String {
        self.kubeconfig_of(&format!("{{as: {user:?}}}"))
    }

    fn kubeconfig_of(&self, credentials: &str) -> String {
        let url = self.url();
        format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- name: testserver\n  cluster:\n    server: {url}\nusers:\n\
             - name: testserver\n  user: {credentials}\ncontexts:\n- name: testserver\n  context:\n    cluster: \
             testserver\n    user: testserver\n    namespace: default\ncurrent-context: testserver\n"
        )
    }

    /// Stops listening and waits until all connections are closed.
    pub async fn shutdown(mut self) {
        self.task.abort();
        // The only outcome is that the task was aborted.
        let _ = (&mut self.task).await;
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, service: Service) {
    // Aborts all connections when it is dropped with this task.
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of file descriptors, most likely: others may close some.
            tokio::task::yield_now().await;
            continue;
        };
        let service = service.clone();
        connections.spawn(async move {
            let serve = service_fn(move |request: http::Request<Incoming>| service.clone().call(request));
            // A connection that fails is the client's to notice.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), serve)
                .await;
        });
        while connections.try_join_next().is_some() {}
    }
}
