//! `settings`.

use std::time::Duration;

use super::tree::Spanned;
use crate::diagnostic::Span;

/// Where Kopf's status storage keeps progress.
pub(crate) const PROGRESS_FIELD: &str = "status.kopf.progress";

/// Where Kopf's status storage keeps what was handled last.
pub(crate) const DIFFBASE_FIELD: &str = "status.kopf.last-handled-configuration";

/// All groups.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// `persistence`.
    pub(crate) persistence: Persistence,
    /// `posting`.
    pub(crate) posting: Posting,
    /// `execution`.
    pub(crate) execution: Execution,
    /// `background`.
    pub(crate) background: Background,
    /// `queueing`.
    pub(crate) queueing: Queueing,
    /// `networking`.
    pub(crate) networking: Networking,
}

/// `settings.persistence`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Persistence {
    /// `prefix`.
    pub(crate) prefix: Option<Spanned<String>>,
    /// `finalizer`.
    pub(crate) finalizer: Option<Spanned<String>>,
    /// `progress`.
    pub(crate) progress: Vec<StorageSpec>,
    /// `diffbase`.
    pub(crate) diffbase: Vec<StorageSpec>,
    /// `formerly`.
    pub(crate) formerly: Vec<FormerSpec>,
}

/// An item of `progress` or `diffbase`; `lower` knows which keys go with which.
#[derive(Clone, Debug)]
pub(crate) enum StorageSpec {
    /// `{annotations: …}`.
    Annotations {
        /// Of the item.
        span: Span,
        /// `prefix`.
        prefix: Option<Spanned<String>>,
        /// `v1`.
        v1: Option<Spanned<bool>>,
        /// `key`.
        key: Option<Spanned<String>>,
        /// `ignoredFields`.
        ignored_fields: Vec<Spanned<String>>,
    },
    /// `{status: …}`.
    Status {
        /// `field`.
        field: Spanned<String>,
        /// `readOnly`.
        read_only: Option<Spanned<bool>>,
        /// `ignoredFields`.
        ignored_fields: Vec<Spanned<String>>,
    },
}

/// An item of `formerly`.
#[derive(Clone, Debug)]
pub(crate) struct FormerSpec {
    /// `prefix`.
    pub(crate) prefix: Spanned<String>,
    /// `finalizer`.
    pub(crate) finalizer: Option<Spanned<String>>,
}

/// `settings.posting`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Posting {
    /// `enabled`.
    pub(crate) enabled: Option<Spanned<bool>>,
    /// `loggers`.
    pub(crate) loggers: Option<Spanned<bool>>,
    /// `level`.
    pub(crate) level: Option<Spanned<String>>,
}

/// `settings.execution`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Execution {
    /// `defaultBackoff`.
    pub(crate) default_backoff: Option<Spanned<Duration>>,
    /// `lifecycle`.
    pub(crate) lifecycle: Option<Spanned<String>>,
    /// `maxWorkers`.
    pub(crate) max_workers: Option<Spanned<u32>>,
}

/// `settings.background`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Background {
    /// `cancellationPolling`.
    pub(crate) cancellation_polling: Option<Spanned<Duration>>,
    /// `timerLimit`.
    pub(crate) timer_limit: Option<Spanned<u32>>,
}

/// `settings.queueing`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queueing {
    /// `errorDelays`.
    pub(crate) error_delays: Option<Vec<Duration>>,
    /// `workerLimit`.
    pub(crate) worker_limit: Option<Spanned<u32>>,
    /// `exitTimeout`.
    pub(crate) exit_timeout: Option<Spanned<Duration>>,
}

/// `settings.networking`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Networking {
    /// `requestTimeout`.
    pub(crate) request_timeout: Option<Spanned<Duration>>,
    /// `connectTimeout`.
    pub(crate) connect_timeout: Option<Spanned<Duration>>,
    /// `errorBackoffs`.
    pub(crate) error_backoffs: Option<Vec<Duration>>,
    /// `enforceRetryAfter`.
    pub(crate) enforce_retry_after: Option<Spanned<bool>>,
}
