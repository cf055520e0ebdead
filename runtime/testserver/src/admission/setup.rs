//! How tests let webhooks be reached.

use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::Value;

use crate::Server;
use crate::admission::lock;

impl Server {
    /// Lets a port of a service lead to an address such as `127.0.0.1:8443`, for webhooks that are configured with a
    /// service: nothing runs behind services here. Certificates are still verified for `NAME.NAMESPACE.svc`.
    pub fn resolve_service(&self, namespace: &str, name: &str, port: u16, address: SocketAddr) {
        let network = &mut lock(&self.api.cluster).network;
        network.resolve(namespace, name, port, address.to_string());
    }

    /// Answers the webhooks whose URL begins like this within the process, without sockets and certificates, and so
    /// also while the clock is paused. The URL of a webhook with a service is `https://NAME.NAMESPACE.svc:PORT/PATH`;
    /// the port may be left out.
    ///
    /// The answer gets the path and the `AdmissionReview`, and returns an `AdmissionReview`. Of two answers that fit,
    /// the one given last counts.
    pub fn answer_webhooks<F, A>(&self, url: &str, answer: F)
    where
        F: Fn(String, Value) -> A + Send + Sync + 'static,
        A: Future<Output = Value> + Send + 'static,
    {
        let network = &mut lock(&self.api.cluster).network;
        network.answer(url, Arc::new(move |path, review| Box::pin(answer(path, review))));
    }
}
