//! Options of handlers, one type for each family, so that an option which a family lacks does not compile (H-15).

use std::marker::PhantomData;
use std::time::Duration;

use serde_json::Value;

use crate::actions::execution::{ErrorsMode, Limits};
use crate::intents::filters::{Criterion, Filters};
use crate::kind::Kind;
use crate::structs::fields::FieldPath;

/// `count` seconds.
#[must_use]
pub const fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// `count` milliseconds.
#[must_use]
pub const fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// `count` minutes.
#[must_use]
pub const fn mins(count: u64) -> Duration {
    Duration::from_secs(60 * count)
}

/// `count` hours.
#[must_use]
pub const fn hours(count: u64) -> Duration {
    Duration::from_secs(3600 * count)
}

/// What all families share.
#[derive(Clone, Debug, Default)]
pub(crate) struct Common {
    pub(crate) param: Value,
    pub(crate) filters: Filters,
    pub(crate) field: Option<FieldPath>,
    pub(crate) limits: Limits,
}

macro_rules! common_options {
    ($($field:ident),*) => {
        pub(crate) fn new() -> Self {
            Self { common: Common::default(), $($field: Default::default(),)* kind: PhantomData }
        }

        /// A value that is handed to the function as `param`, verbatim (H-13).
        pub fn param(mut self, param: impl Into<Value>) -> Self {
            self.common.param = param.into();
            self
        }

        /// Only objects whose label is this text, [`PRESENT`](crate::PRESENT) or [`ABSENT`](crate::ABSENT) (F-2).
        pub fn label(mut self, key: impl Into<String>, criterion: impl Into<Criterion>) -> Self {
            self.common.filters.labels.push((key.into(), criterion.into()));
            self
        }

        /// Only objects whose annotation is this text, [`PRESENT`](crate::PRESENT) or [`ABSENT`](crate::ABSENT) (F-2).
        pub fn annotation(mut self, key: impl Into<String>, criterion: impl Into<Criterion>) -> Self {
            self.common
                .filters
                .annotations
                .push((key.into(), criterion.into()));
            self
        }

        /// Only objects that have this field; update handlers only when it differs (H-5, H-6, F-5).
        pub fn field(mut self, path: impl Into<FieldPath>) -> Self {
            self.common.field = Some(path.into());
            self
        }
    };
}

macro_rules! error_options {
    () => {
        /// How many times the function is called at most for one change (E-7).
        pub fn retries(mut self, count: u32) -> Self {
            self.common.limits.retries = Some(count);
            self
        }

        /// How long all attempts together may take; it also interrupts a running async function (E-8).
        pub fn timeout(mut self, timeout: Duration) -> Self {
            self.common.limits.timeout = Some(timeout);
            self
        }

        /// The wait after an arbitrary error; by default `settings.execution.default_backoff` (E-4).
        pub fn backoff(mut self, backoff: Duration) -> Self {
            self.common.limits.backoff = Some(backoff);
            self
        }

        /// What an arbitrary error means (E-2).
        pub fn errors(mut self, mode: ErrorsMode) -> Self {
            self.common.limits.errors = Some(mode);
            self
        }
    };
}

/// Options of `on_create`, `on_update`, `on_field`, `on_delete` and `on_resume`.
#[derive(Clone, Debug)]
#[must_use]
pub struct ChangeOptions<K> {
    pub(crate) common: Common,
    pub(crate) optional: bool,
    pub(crate) deleted: bool,
    kind: PhantomData<fn() -> K>,
}

impl<K: Kind> ChangeOptions<K> {
    common_options!(optional, deleted);
    error_options!();

    /// On delete handlers: deletion does not wait for this handler; no finalizer is set for it (H-7).
    pub fn optional(mut self, optional: bool) -> Self {
        self.optional = optional;
        self
    }

    /// On resume handlers: also for objects that are being deleted (H-3).
    pub fn deleted(mut self, deleted: bool) -> Self {
        self.deleted = deleted;
        self
    }
}

/// Options of `on_event`; errors of these handlers are logged, never retried (E-13).
#[derive(Clone, Debug)]
#[must_use]
pub struct EventOptions<K> {
    pub(crate) common: Common,
    kind: PhantomData<fn() -> K>,
}

impl<K: Kind> EventOptions<K> {
    common_options!();
}

/// Options of `timer`.
#[derive(Clone, Debug)]
#[must_use]
pub struct TimerOptions<K> {
    pub(crate) common: Common,
    pub(crate) interval: Option<Duration>,
    pub(crate) idle: Option<Duration>,
    pub(crate) sharp: bool,
    pub(crate) initial_delay: Option<Duration>,
    pub(crate) optional: bool,
    pub(crate) cancellation_backoff: Option<Duration>,
    pub(crate) cancellation_timeout: Option<Duration>,
    kind: PhantomData<fn() -> K>,
}

impl<K: Kind> TimerOptions<K> {
    common_options!(
        interval,
        idle,
        sharp,
        initial_delay,
        optional,
        cancellation_backoff,
        cancellation_timeout
    );
    error_options!();

    /// The time from the end of one call to the start of the next (T-3).
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = Some(interval);
        self
    }

    /// How long the object must have been left unchanged before each call (T-7).
    pub fn idle(mut self, idle: Duration) -> Self {
        self.idle = Some(idle);
        self
    }

    /// Measures `interval` from start to start, on a fixed grid (T-3).
    pub fn sharp(mut self, sharp: bool) -> Self {
        self.sharp = sharp;
        self
    }

    /// The wait before the first call (T-2).
    pub fn initial_delay(mut self, delay: Duration) -> Self {
        self.initial_delay = Some(delay);
        self
    }

    /// Deletion does not wait for the timer: no finalizer is set for it, and it may still run when its object is gone
    /// already (B-046).
    pub fn optional(mut self, optional: bool) -> Self {
        self.optional = optional;
        self
    }

    /// How much longer than `cancellation_timeout` a timer may take to end. Without that one it means nothing.
    pub fn cancellation_backoff(mut self, backoff: Duration) -> Self {
        self.cancellation_backoff = Some(backoff);
        self
    }

    /// How long a running call may go on once the timer is asked to stop, because the object is deleted or no longer
    /// matches; by default as long as it takes (G-12, B-046).
    ///
    /// After that and `cancellation_backoff`, an async function is dropped at its await point. A blocking one cannot
    /// be dropped: it is left to itself with a warning, and the deletion goes on.
    pub fn cancellation_timeout(mut self, timeout: Duration) -> Self {
        self.cancellation_timeout = Some(timeout);
        self
    }
}
