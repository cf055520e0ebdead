//! Waiting for what an operator makes of a scene.

use std::fmt;
use std::time::Duration;

use serde_json::Value;
use tokio::time::timeout;

use crate::audit::RecordedRequest;
use crate::http::lock;
use crate::{Resource, Server, place};

/// How long is waited unless the test says otherwise.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The requests about an object that a failure shows.
const SHOWN: usize = 10;

/// Something did not become as a test was told to expect it.
///
/// Its text shows the object at last and the latest requests about it.
#[derive(Debug)]
#[non_exhaustive]
pub struct NeverHappened {
    /// What was waited for.
    pub expected: String,
    /// The state at the end; null if there was no such object.
    pub last: Value,
    /// The latest requests about it, oldest first.
    pub requests: Vec<RecordedRequest>,
    waited: Duration,
}

impl std::error::Error for NeverHappened {}

impl fmt::Display for NeverHappened {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} within {:?}", self.expected, self.waited)?;
        if self.last.is_null() {
            write!(formatter, "; there is no such object")?;
        } else {
            write!(formatter, "; at last it was {:#}", self.last)?;
        }
        if self.requests.is_empty() {
            return write!(formatter, "\nnobody ever asked for it");
        }
        write!(formatter, "\nthe latest requests about it:")?;
        self.requests
            .iter()
            .try_for_each(|request| write!(formatter, "\n  {request}"))
    }
}

impl Server {
    /// Waits for at most this long, of tokio's time, from now on; 60 seconds unless told otherwise.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Waits until an object is as expected, and returns it as it was then.
    ///
    /// The expectation is asked now and after each change. For an object that does not exist it gets nothing, and
    /// null is returned; it is not asked before the kind is served.
    ///
    /// # Errors
    /// If that does not happen before the server's [patience](Self::with_patience) ends.
    pub async fn wait_for(
        &self,
        resource: Resource<'_>,
        namespace: Option<&str>,
        name: &str,
        mut expected: impl FnMut(Option<&Value>) -> bool,
    ) -> Result<Value, NeverHappened> {
        let mut changes = lock(&self.api.cluster).store.subscribe();
        let mut last = Value::Null;
        let mut served = false;
        let waiting = async {
            loop {
                changes.borrow_and_update();
                let object = self.get(resource, namespace, name);
                // That something is absent says nothing as long as it could not be there.
                served |= self.serves(resource, namespace);
                let met = served && expected(object.as_ref());
                last = object.unwrap_or_default();
                // The sender lives in this very server.
                if met || changes.changed().await.is_err() {
                    break;
                }
            }
        };
        if timeout(self.patience, waiting).await.is_ok() {
            return Ok(last);
        }
        let plural = resource.plural;
        let about = |request: &RecordedRequest| {
            let kind = request.resource.split('/').next().unwrap_or_default();
            kind == plural && request.name == name
        };
        let mut requests: Vec<_> = self.audit().into_iter().filter(about).collect();
        requests.drain(..requests.len().saturating_sub(SHOWN));
        let expected = match (served, namespace) {
            (true, _) => format!("{plural} {name} was not as expected"),
            (false, None) => format!("{plural} were not served outside of a namespace"),
            (false, Some(_)) => format!("{plural} were not served"),
        };
        Err(NeverHappened {
            expected,
            last,
            requests,
            waited: self.patience,
        })
    }

    /// Waits until an object is gone.
    ///
    /// # Errors
    /// As for [`wait_for`](Self::wait_for).
    pub async fn wait_gone(
        &self,
        resource: Resource<'_>,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<(), NeverHappened> {
        let gone = self
            .wait_for(resource, namespace, name, |object| object.is_none())
            .await;
        gone.map(drop)
    }

    /// Waits until something holds; it is asked now, after each change of any object and after each request.
    /// `expected` is what a failure says of it.
    ///
    /// # Errors
    /// As for [`wait_for`](Self::wait_for).
    pub async fn wait_until(&self, expected: &str, mut holds: impl FnMut(&Self) -> bool) -> Result<(), NeverHappened> {
        let mut changes = lock(&self.api.cluster).store.subscribe();
        let mut requests = lock(&self.api.audit).subscribe();
        let waiting = async {
            loop {
                changes.borrow_and_update();
                requests.borrow_and_update();
                if holds(self) {
                    break;
                }
                // The senders live in this very server.
                let gone = tokio::select! {
                    changed = changes.changed() => changed.is_err(),
                    changed = requests.changed() => changed.is_err(),
                };
                if gone {
                    break;
                }
            }
        };
        timeout(self.patience, waiting).await.map_err(|_| {
            let mut requests = self.audit().into_iter().collect::<Vec<_>>();
            requests.drain(..requests.len().saturating_sub(SHOWN));
            NeverHappened {
                expected: format!("it was not so that {expected}"),
                last: Value::Null,
                requests,
                waited: self.patience,
            }
        })
    }

    /// Whether objects can be at such a place.
    fn serves(&self, resource: Resource<'_>, namespace: Option<&str>) -> bool {
        let cluster = lock(&self.api.cluster);
        place(&cluster, resource, namespace).is_ok_and(|place| place.kind.namespaced == namespace.is_some())
    }
}
