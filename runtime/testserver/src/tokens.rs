//! Tokens of service accounts in the hands of a test.

use crate::Server;
use crate::access::tokens::{Issuer, simple};
use crate::http::lock;
use crate::status::Status;

impl Server {
    /// A token of a service account, which has to exist, for one hour: what `kubectl create token` prints.
    ///
    /// It goes into the `Authorization` header of requests, in a [`service`](Self::service) as over a socket. It ends
    /// with its time (by the clock of the server), with its account, and with [`expire_tokens`](Self::expire_tokens).
    pub fn token_for(&self, namespace: &str, service_account: &str) -> Result<String, Status> {
        simple(&mut lock(&self.api.cluster), namespace, service_account)
    }

    /// Ends all tokens that were given out so far: requests with one of them are answered with 401.
    pub fn expire_tokens(&self) {
        lock(&self.api.cluster).access.issuer = Issuer::default();
    }
}
