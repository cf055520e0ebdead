#![doc = include_str!("../README.md")]

mod access;
mod admission;
mod audit;
mod cluster;
mod discovery;
mod faults;
mod go;
mod history;
mod http;
mod kinds;
mod manifests;
mod objects;
mod owners;
mod schema;
mod status;
mod store;
mod tokens;
mod waiting;
mod warnings;

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::net::ToSocketAddrs;
use tokio::sync::watch;
use tokio::time::Instant;

pub use crate::access::User;
pub use crate::admission::network::Breakage;
pub use crate::audit::{Audit, RecordedRequest};
pub use crate::faults::{Chaos, Disturbance, Failure, Faults, Mischief, Traffic};
pub use crate::history::{Change, ChangeKind};
pub use crate::http::listen::Listening;
pub use crate::http::responses::ResponseBody;
pub use crate::http::service::Service;
pub use crate::manifests::InstallError;
pub use crate::status::Status;
pub use crate::waiting::NeverHappened;

use crate::cluster::{Clock, Cluster, Place};
use crate::faults::Signals;
use crate::http::{Api, lock};
use crate::objects::delete_options::DeleteOptions;
use crate::objects::patching;
use crate::objects::writing::{How, Scope, name_of};
use crate::waiting::PATIENCE;

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

/// A Kubernetes API server with its storage, in this process. Clones are handles to the same one.
#[derive(Clone)]
pub struct Server {
    api: Arc<Api>,
    patience: Duration,
}

impl Server {
    /// A cluster as it is right after its making.
    ///
    /// Timestamps begin with the time of day and follow tokio's clock, so that a test which pauses and advances the
    /// one pauses and advances the other.
    pub fn new() -> Self {
        let (start, began) = (Timestamp::now(), Instant::now());
        Self::with_clock(move || start + began.elapsed())
    }

    /// The same, with timestamps of objects taken from this clock. Timers always follow tokio's clock.
    pub fn with_clock(clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        let clock: Clock = Arc::new(clock);
        let api = Api {
            cluster: Arc::new(Mutex::new(Cluster::new(clock))),
            faults: Mutex::default(),
            signals: watch::Sender::new(Signals::default()),
            audit: Mutex::default(),
        };
        Self {
            api: Arc::new(api),
            patience: PATIENCE,
        }
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
        let patch = patching::Patch::merge(&patch);
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
        cluster.delete(&place, name, &DeleteOptions::default()).map(drop)
    }

    /// Every request that came through a [`service`](Self::service) or a socket since the start or the last clearing,
    /// in the order of arrival. At most the last 100,000 are kept.
    pub fn audit(&self) -> Audit {
        lock(&self.api.audit).all()
    }

    /// Forgets the recorded requests.
    pub fn clear_audit(&self) {
        lock(&self.api.audit).clear();
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
