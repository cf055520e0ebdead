//! `settings`: what the runtime's defaults are replaced with.

use std::time::Duration;

/// `settings.persistence`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Persistence {
    /// Annotation prefix, such as `pgop.db.example.com`.
    pub prefix: String,
    /// The finalizer, such as `pgop.db.example.com/finalizer`.
    pub finalizer: String,
    /// Where progress is kept; empty stands for annotations under `prefix`.
    pub progress: Vec<ProgressStorage>,
    /// Where the last handled state is kept; empty stands for an annotation under `prefix`.
    pub diffbase: Vec<DiffBaseStorage>,
    /// Names under which earlier operators kept their state.
    pub formerly: Vec<Former>,
}

/// An item of `settings.persistence.progress`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgressStorage {
    /// `{annotations: …}`.
    Annotations {
        /// Of the annotations.
        prefix: String,
        /// Whether keys of Kopf's first format are written, too.
        v1: Option<bool>,
    },
    /// `{status: …}`.
    Status {
        /// A path in the object, with dots.
        field: String,
        /// It is read, but not written.
        read_only: Option<bool>,
    },
}

/// An item of `settings.persistence.diffbase`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiffBaseStorage {
    /// `{annotations: …}`.
    Annotations {
        /// Of the annotation.
        prefix: String,
        /// The rest of its name.
        key: Option<String>,
        /// Paths that are left out.
        ignored_fields: Vec<String>,
        /// Whether keys of Kopf's first format are written, too.
        v1: Option<bool>,
    },
    /// `{status: …}`.
    Status {
        /// A path in the object, with dots.
        field: String,
        /// Paths that are left out.
        ignored_fields: Vec<String>,
    },
}

/// An item of `settings.persistence.formerly`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Former {
    /// Annotation prefix.
    pub prefix: String,
    /// The finalizer.
    pub finalizer: String,
}

/// `settings.posting`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posting {
    /// Whether any Kubernetes event is posted.
    pub enabled: bool,
    /// Whether log records of the operator's crate become events on their object.
    pub loggers: bool,
    /// The least level: `debug`, `info`, `warning` or `error`.
    pub level: String,
    /// Whether the author asks for events, but not by way of log records: stubs post them.
    pub by_handlers: bool,
}

/// The groups that the author need not give; what is `None` keeps the runtime's default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// `settings.execution`.
    pub execution: Execution,
    /// `settings.background`.
    pub background: Background,
    /// `settings.queueing`.
    pub queueing: Queueing,
    /// `settings.networking`.
    pub networking: Networking,
}

/// `settings.execution`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Execution {
    /// The wait after an arbitrary error.
    pub default_backoff: Option<Duration>,
    /// The name of a variant of `Lifecycle`.
    pub lifecycle: Option<&'static str>,
    /// How many blocking functions run at a time.
    pub max_workers: Option<u32>,
}

/// `settings.background`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Background {
    /// How often the log says that a task is still ending.
    pub cancellation_polling: Option<Duration>,
    /// How many calls of timers run at a time.
    pub timer_limit: Option<u32>,
}

/// `settings.queueing`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Queueing {
    /// Waits after errors of the framework itself.
    pub error_delays: Option<Vec<Duration>>,
    /// How many objects are worked on at a time.
    pub worker_limit: Option<u32>,
    /// What running work may take at the operator's end.
    pub exit_timeout: Option<Duration>,
}

/// `settings.networking`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Networking {
    /// Of one request.
    pub request_timeout: Option<Duration>,
    /// Of a new connection.
    pub connect_timeout: Option<Duration>,
    /// Waits before a failed request is repeated.
    pub error_backoffs: Option<Vec<Duration>>,
    /// Whether `Retry-After` is followed to the letter.
    pub enforce_retry_after: Option<bool>,
}
