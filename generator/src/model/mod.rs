//! The resolved operator: what `lower` makes of a spec and all that `render` sees.
//!
//! No option is undecided here: names are allotted, defaults are filled in, and every check has passed.
//! Text is as it goes into the output (`greetings`, `demo.example.com`), identifiers are legal Rust.

mod configured;
mod filters;
mod handler;
mod indexes;
mod openapi;
mod schema;
mod settings;

pub use configured::{Backoff, Configured, Optional, unset};
pub use filters::{Condition, Criterion, Filters, Helper, HelperArgument};
pub use handler::{
    ChangeType, Daemon, Entry, ErrorsMode, Family, Function, Handler, HandlerType, Index, InitialDelay, Life, Limits,
    OnPermanent, Restart, SubHandler, Timer,
};
pub use indexes::{IndexMarker, IndexType, TypePart};
pub use schema::{Field, Fields, ObjectSchema, Presence, Scalar, Schema, SchemaTypes, Shape};
pub use settings::{
    Background, DiffBaseStorage, Execution, Former, Networking, Persistence, Posting, ProgressStorage, Queueing,
    Settings,
};

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;

/// A whole operator.
#[derive(Clone, Debug)]
pub struct Operator {
    /// `metadata.name`: Deployment, service account, peering object.
    pub name: String,
    /// The package in `Cargo.toml`, and the library's name with `_` for `-`.
    pub crate_name: String,
    /// `metadata.description`, on one or more lines.
    pub description: Option<String>,
    /// `metadata.labels`, on all objects but the shared CRDs.
    pub labels: BTreeMap<String, String>,
    /// `metadata.annotations`, likewise.
    pub annotations: BTreeMap<String, String>,
    /// In the order of the spec.
    pub resources: Vec<Resource>,
    /// What the `indexes` of all kinds feed, in the order of the spec.
    pub indexes: Vec<IndexMarker>,
    /// Where state is kept on the objects.
    pub persistence: Persistence,
    /// What is posted as Kubernetes events.
    pub posting: Posting,
    /// All other settings.
    pub settings: Settings,
    /// The type of the operator's memo.
    pub memo: Option<Memo>,
    /// `None` for `peering: false`: a standalone operator.
    pub peering: Option<Peering>,
    /// Where it runs.
    pub deploy: Deploy,
    /// How the crate reaches the runtime library.
    pub runtime: RuntimeSource,
}

impl Operator {
    /// The environment variables that must be set.
    #[must_use]
    pub fn needed_variables(&self) -> BTreeSet<&str> {
        self.resources.iter().flat_map(Resource::needed_variables).collect()
    }
}

/// `peering`: until peering is served, it shapes manifests only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peering {
    /// The peering object.
    pub name: String,
    /// Paused while the object is absent.
    pub mandatory: bool,
    /// `None` stands for a random one.
    pub priority: Option<i64>,
    /// How long a record counts without renewal.
    pub lifetime: Duration,
    /// Hides the successful keep-alives from the log.
    pub stealth: bool,
    /// `ClusterKopfPeering` rather than `KopfPeering`.
    pub clusterwide: bool,
}

/// `deploy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deploy {
    /// The operator's own namespace.
    pub namespace: String,
    /// The image without its tag.
    pub image: String,
    /// The image's tag: the crate's version.
    pub tag: String,
    /// Port of `/healthz` and `/readyz`.
    pub health_port: u16,
}

/// `project.runtime`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuntimeSource {
    /// A copy of the sources under `vendor/`.
    Vendored,
    /// A checkout of this workspace, relative to the project or absolute; holds `runtime` and `runtime/testserver`.
    Path(String),
}

/// One watched kind.
#[derive(Clone, Debug)]
pub struct Resource {
    /// How the API serves it.
    pub reference: Reference,
    /// Module in `src/generated` and `src/handlers`, such as `database`.
    pub module: String,
    /// Rust type, such as `Database`.
    pub type_name: String,
    /// Own or built-in.
    pub origin: Origin,
    /// Change and raw-event handlers in registration order; a `type` list gives one entry for each.
    pub handlers: Vec<Handler>,
    /// In registration order.
    pub timers: Vec<Timer>,
    /// In registration order.
    pub daemons: Vec<Daemon>,
    /// In registration order.
    pub indexes: Vec<Index>,
    /// The distinct functions behind the entries above, in order of first mention: one stub and one adaptor each.
    pub functions: Vec<Function>,
    /// The distinct functions in their options, likewise.
    pub helpers: Vec<Helper>,
    /// The type of the notes on each object.
    pub memo: Option<Memo>,
    /// Objects for `try`, the seeded test and `deploy/samples`; never empty for own kinds.
    pub samples: Vec<Sample>,
}

impl Resource {
    /// What all entries have in common, in registration order; sub-handlers come after their handler.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        let handlers = self.handlers.iter().flat_map(Handler::entries);
        handlers
            .chain(self.timers.iter().map(|timer| &timer.entry))
            .chain(self.daemons.iter().map(|daemon| &daemon.entry))
            .chain(self.indexes.iter().map(|index| &index.entry))
    }

    /// The entries of a function.
    pub fn entries_of(&self, function: &str) -> impl Iterator<Item = &Entry> {
        self.entries().filter(move |entry| entry.function == function)
    }

    /// The timers and daemons: who and how.
    pub fn lives(&self) -> impl Iterator<Item = (&Entry, &Life)> {
        let timers = self.timers.iter().map(|timer| (&timer.entry, &timer.life));
        timers.chain(self.daemons.iter().map(|daemon| (&daemon.entry, &daemon.life)))
    }

    fn needed_variables(&self) -> impl Iterator<Item = &str> {
        let handlers = self.handlers.iter().flat_map(Handler::needed_variables);
        handlers
            .chain(self.timers.iter().flat_map(Timer::needed_variables))
            .chain(self.daemons.iter().flat_map(Daemon::needed_variables))
            .chain(self.indexes.iter().flat_map(|index| index.entry.needed_variables()))
    }

    /// The structs and enums that are generated for its schemas.
    #[must_use]
    pub fn schema_types(&self) -> SchemaTypes {
        let mut types = SchemaTypes::default();
        if let Origin::Own(own) = &self.origin {
            own.spec.collect_types(&mut types);
            own.status.collect_types(&mut types);
        }
        for returns in self.functions.iter().filter_map(|function| function.returns.as_ref()) {
            returns.collect_types(&mut types);
        }
        types
    }
}

/// What names a kind to the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Empty for the core group.
    pub group: String,
    /// Such as `v1alpha1`.
    pub version: String,
    /// Such as `Database`.
    pub kind: String,
    /// Such as `databases`.
    pub plural: String,
    /// Such as `database`.
    pub singular: String,
    /// Such as `DatabaseList`.
    pub list_kind: String,
    /// False for cluster-scoped kinds.
    pub namespaced: bool,
    /// Whether `/status` is served.
    pub status_subresource: bool,
}

impl Reference {
    /// `group/version`, or `version` in the core group.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}

/// Where a kind comes from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// Declared by the spec: gets a CRD and Rust types.
    Own(Box<OwnKind>),
    /// Known to Kubernetes: handled as raw JSON.
    Builtin,
}

/// The schema of an own kind.
#[derive(Clone, Debug)]
pub struct OwnKind {
    /// Description of the kind: the comment above it or `None`.
    pub description: Option<String>,
    /// `shortNames`.
    pub short_names: Vec<String>,
    /// Which parts carry `x-kubernetes-preserve-unknown-fields`.
    pub preserve: Preserve,
    /// `.spec`; its shape is an object or any.
    pub spec: Schema,
    /// `.status`, with one property per handler that `returns`; its shape is an object or any.
    pub status: Schema,
}

/// `preserveUnknownFields`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preserve {
    /// The status only.
    Status,
    /// Spec and status.
    All,
    /// Nothing.
    None,
}

/// One sample object.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The whole object: apiVersion, kind, metadata with a name, and what the spec gives.
    pub object: Value,
    /// Merge patches that `try` and the seeded test send one after the other.
    pub then: Vec<Value>,
}

/// The Rust type of a memo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memo {
    /// From the crate's root, or from another crate: `["state", "Operator"]`.
    pub path: Vec<String>,
    /// Whether the project itself defines it.
    pub is_own: bool,
}

impl Memo {
    /// How any file of the project may name it.
    #[must_use]
    pub fn rust(&self) -> String {
        let root = if self.is_own { "crate::" } else { "" };
        format!("{root}{}", self.path.join("::"))
    }
}
