#![doc = include_str!("../README.md")]

mod access;
mod admission;
mod audit;
mod cluster;
mod discovery;
mod faults;
mod http;
mod kinds;
mod objects;
mod schema;
mod status;
mod store;
mod warnings;

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::net::ToSocketAddrs;
use tokio::sync::watch;
use tokio::time::timeout;

pub use crate::access::User;
pub use crate::audit::RecordedRequest;
pub use crate::faults::Failure;
pub use crate::http::listen::Listening;
pub use crate::http::responses::ResponseBody;
pub use crate::http::service::Service;
pub use crate::status::Status;

use crate::audit::RequestLog;
use crate::cluster::{Clock, Cluster, Place};
use crate::faults::{Faults, Signals};
use crate::http::{Api, lock};
use crate::objects::patching;
use crate::objects::writing::{How, Scope, name_of};

/// How long [`Server::wait_for`] waits.
const PATIENCE: Duration = Duration::from_secs(60);

/// Names a resource: group (empty for the core one), version and plural.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resource<'a> {
    /// The group, such as `apps`; empty for the core group.
    pub group: &'a str,
    /// The version, such as `v1`.
    pub version: &'a str,
    /// The plural, such as `deployments`.
    pub plural: &'a str,
}

impl<'a> Resource<'a> {
    /// Names a resource; usable in constants.
    pub const fn new(group: &'a str, version: &'a str, plural: &'a str) -> Self {
        Self { group, version, plural }
    }
}

/// An object did not become as [`Server::wait_for`] was told to expect it.
#[derive(Debug, thiserror::Error)]
#[error("{plural} {name} was not as expected within {PATIENCE:?}, at last: {last}")]
pub struct NeverHappened {
    plural: String,
    name: String,
    /// The state at the end; null if there was no such object.
    pub last: Value,
}

/// A Kubernetes API server with its storage, in this process. Clones are handles to the same one.
#[derive(Clone)]
pub struct Server {
    api: Arc<Api>,
}

impl Server {
    /// A cluster with the namespaces `default` and `kube-system`, and nothing else in it.
    pub fn new() -> Self {
        Self::with_clock(Timestamp::now)
    }

    /// The same, with timestamps of objects taken from this clock. Timers always follow tokio's clock.
    pub fn with_clock(clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        let clock: Clock = Arc::new(clock);
        let api = Api {
            cluster: Arc::new(Mutex::new(Cluster::new(clock))),
            faults: Mutex::new(Faults::default()),
            signals: watch::Sender::new(Signals::default()),
            requests: Mutex::new(RequestLog::default()),
        };
        Self { api: Arc::new(api) }
    }

    /// A connection within the process for one caller, whose rights count; for example a service account.
    pub fn service_as(&self, user: User) -> Service {
        Service {
            api: Arc::clone(&self.api),
            user,
        }
    }

    /// A connection of the administrator within the process, for `kube::Client::new(server.service(), "default")`.
    pub fn service(&self) -> Service {
        Service {
            api: Arc::clone(&self.api),
            user: User::admin(),
        }
    }

    /// Listens for plain HTTP/1.1, usually at `127.0.0.1:0`.
    pub async fn listen(&self, address: impl ToSocketAddrs) -> io::Result<Listening> {
        Listening::start(self.service(), address).await
    }

    /// Creates an object, or replaces it if it is there. Unlike a request, this stores the status too, if there is
    /// one. Namespaced objects without a namespace get into `default`.
    pub fn apply(&self, object: Value) -> Result<Value, Status> {
        let mut cluster = lock(&self.api.cluster);
        let (kind, version) = cluster.kinds.of_object(&object).ok_or_else(|| {
            let (kind, version) = (&object["kind"], &object["apiVersion"]);
            Status::new(
                404,
                "NotFound",
                format!("no matches for kind {kind} in version {version}"),
            )
        })?;
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default").to_owned();
        let namespace = if kind.namespaced { namespace } else { String::new() };
        let place = Place {
            kind,
            version,
            namespace,
        };
        let name = name_of(&object);
        let exists = cluster.store.get(&place.kind.key(), &place.namespace, &name).is_some();
        let mut stored = if exists {
            None
        } else {
            Some(cluster.create(&place, object.clone(), How::default())?)
        };
        if exists || object.get("status").is_some() {
            let name = stored.as_deref().map_or(name, name_of);
            let whole = How {
                scope: Scope::All,
                ..How::default()
            };
            let replaced = cluster.update(&place, &name, whole, |current| {
                let mut object = object;
                for field in ["name", "uid", "resourceVersion"] {
                    object["metadata"][field] = current["metadata"][field].clone();
                }
                if let (None, Some(status)) = (object.get("status"), current.get("status")) {
                    object["status"] = status.clone();
                }
                Ok(object)
            })?;
            stored = Some(replaced);
        }
        Ok(stored.as_deref().cloned().unwrap_or_default())
    }

    /// An object, in the version asked for.
    pub fn get(&self, resource: Resource<'_>, namespace: Option<&str>, name: &str) -> Option<Value> {
        let cluster = lock(&self.api.cluster);
        let place = place(&cluster, resource, namespace).ok()?;
        let object = cluster.store.get(&place.kind.key(), &place.namespace, name)?;
        Some(Value::clone(&place.present(object)))
    }

    /// The objects of a resource in one namespace, or in all of them, sorted by namespace and name.
    pub fn list(&self, resource: Resource<'_>, namespace: Option<&str>) -> Vec<Value> {
        let cluster = lock(&self.api.cluster);
        let Ok(place) = place(&cluster, resource, namespace) else {
            return Vec::new();
        };
        let objects = cluster.store.list(&place.kind.key(), namespace);
        objects.map(|object| Value::clone(&place.present(object))).collect()
    }

    /// Applies a merge patch, as a client would.
    pub fn patch(
        &self,
        resource: Resource<'_>,
        namespace: Option<&str>,
        name: &str,
        patch: Value,
    ) -> Result<Value, Status> {
        self.merge(resource, namespace, name, (Scope::Main, patch))
    }

    /// Applies a merge patch to the status subresource, as a client would.
    pub fn patch_status(
        &self,
        resource: Resource<'_>,
        namespace: Option<&str>,
        name: &str,
        patch: Value,
    ) -> Result<Value, Status> {
        self.merge(resource, namespace, name, (Scope::Status, patch))
    }

    fn merge(
        &self,
        resource: Resource<'_>,
        namespace: Option<&str>,
        name: &str,
        (scope, patch): (Scope, Value),
    ) -> Result<Value, Status> {
        let mut cluster = lock(&self.api.cluster);
        let place = place(&cluster, resource, namespace)?;
        if scope == Scope::Status && !place.version()?.status {
            return Err(Status::no_such_subresource());
        }
        let patch = patching::Patch::Merge(patch);
        let how = How {
            scope,
            ..How::default()
        };
        let patched = cluster.update(&place, name, how.clone(), |current| patch.apply(current, &place, &how))?;
        Ok(Value::clone(&patched))
    }

    /// Deletes an object, as a client would: one with finalizers stays until they are gone.
    pub fn delete(&self, resource: Resource<'_>, namespace: Option<&str>, name: &str) -> Result<(), Status> {
        let mut cluster = lock(&self.api.cluster);
        let place = place(&cluster, resource, namespace)?;
        cluster.delete(&place, name, &Value::Null, false).map(drop)
    }

    /// Waits until an object is as expected, for at most 60 seconds of tokio's time, and returns it as it was then.
    ///
    /// The expectation is asked now and after each change. For an object that does not exist it gets nothing, and
    /// null is returned.
    pub async fn wait_for(
        &self,
        resource: Resource<'_>,
        namespace: Option<&str>,
        name: &str,
        mut expected: impl FnMut(Option<&Value>) -> bool,
    ) -> Result<Value, NeverHappened> {
        let mut changes = lock(&self.api.cluster).store.subscribe();
        let mut last = Value::Null;
        let waiting = async {
            loop {
                changes.borrow_and_update();
                let object = self.get(resource, namespace, name);
                let met = expected(object.as_ref());
                last = object.unwrap_or_default();
                // The sender lives in this very server.
                if met || changes.changed().await.is_err() {
                    break;
                }
            }
        };
        if timeout(PATIENCE, waiting).await.is_ok() {
            return Ok(last);
        }
        Err(NeverHappened {
            plural: resource.plural.into(),
            name: name.into(),
            last,
        })
    }

    /// Every request that came through [`service`](Self::service) or a socket since the start or the last clearing,
    /// in the order of arrival. At most the last 100,000 are kept.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        lock(&self.api.requests).all()
    }

    /// Forgets the recorded requests.
    pub fn clear_requests(&self) {
        lock(&self.api.requests).clear();
    }

    /// Lets the next requests fail whose method is this one (empty: any) and whose path with its query contains this
    /// text (empty: any), so many times. Failures planned earlier go first.
    pub fn fail_next(&self, method: &str, path_part: &str, failure: Failure, times: usize) {
        lock(&self.api.faults).plan(method, path_part, failure, times);
    }

    /// Forgets the planned failures.
    pub fn clear_failures(&self) {
        lock(&self.api.faults).clear();
    }

    /// Ends all open watches.
    pub fn drop_watches(&self) {
        self.api.signals.send_modify(|signals| signals.drops += 1);
    }

    /// Ends all open watches with an error event of this code.
    pub fn send_watch_error(&self, code: u16) {
        self.api.signals.send_modify(|signals| signals.errors.push(code));
    }

    /// Keeps back the events of all watches, until they are released.
    pub fn hold_events(&self) {
        self.api.signals.send_modify(|signals| signals.held = true);
    }

    /// Delivers the events that were kept back, and all later ones.
    pub fn release_events(&self) {
        self.api.signals.send_modify(|signals| signals.held = false);
    }

    /// Forgets all history: a watch from an earlier version, and the next page of a list, are answered with 410.
    pub fn compact(&self) {
        let mut cluster = lock(&self.api.cluster);
        cluster.store.compact();
        cluster.snapshots.clear();
    }

    /// Chooses how a watch from a forgotten version is refused: by an error event in the stream (the default), or by
    /// the response itself. Clusters do either.
    pub fn refuse_old_watches(&self, by_response: bool) {
        self.api.signals.send_modify(|signals| signals.refuse_old = by_response);
    }
}

impl Default for Server {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = lock(&self.api.cluster).store.version();
        formatter
            .debug_struct("Server")
            .field("version", &json!(version))
            .finish_non_exhaustive()
    }
}

fn place(cluster: &Cluster, resource: Resource<'_>, namespace: Option<&str>) -> Result<Place, Status> {
    cluster.place(resource.group, resource.version, resource.plural, namespace)
}
