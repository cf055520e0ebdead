//! Options of handlers, one type for each family, so that an option which a family lacks does not compile (H-15).

use std::time::Duration;

use serde_json::Value;

use crate::actions::execution::{ErrorsMode, Limits};
use crate::arguments::InitialDelay;
use crate::configured::{Configured, Reading};
use crate::intents::filters::Filters;
use crate::intents::stoppers::Cancellation;
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
    pub(crate) limits: LimitOptions,
    pub(crate) enabled: Option<Configured<bool>>,
}

/// The limits of a handler's attempts, as they are given.
#[derive(Clone, Debug, Default)]
pub(crate) struct LimitOptions {
    retries: Option<Configured<u32>>,
    timeout: Option<Configured<Duration>>,
    backoff: Option<Backoff>,
    errors: Option<Configured<ErrorsMode>>,
    interrupt: Option<Configured<bool>>,
}

impl LimitOptions {
    pub(crate) fn read(&self, reading: &mut Reading<'_>) -> Limits {
        Limits {
            retries: reading.optional("retries", self.retries.as_ref()),
            timeout: reading.optional("timeout", self.timeout.as_ref()),
            backoff: self.backoff.as_ref().and_then(|backoff| backoff.read(reading)),
            errors: reading.optional("errors", self.errors.as_ref()),
            interrupt: reading.optional("interrupt", self.interrupt.as_ref()).unwrap_or(true),
        }
    }
}

/// What daemons and timers share.
#[derive(Clone, Debug)]
pub(crate) struct Life<K> {
    pub(crate) initial_delay: Option<InitialDelay<K>>,
    pub(crate) optional: Option<Configured<bool>>,
    pub(crate) cancellation_backoff: Option<Configured<Duration>>,
    pub(crate) cancellation_timeout: Option<Configured<Duration>>,
    pub(crate) cancellation_polling: Option<Configured<Duration>>,
}

impl<K> Default for Life<K> {
    fn default() -> Self {
        Self {
            initial_delay: None,
            optional: None,
            cancellation_backoff: None,
            cancellation_timeout: None,
            cancellation_polling: None,
        }
    }
}

impl<K> Life<K> {
    pub(crate) fn cancellation(&self, reading: &mut Reading<'_>) -> Cancellation {
        let polling = reading.optional("cancellation_polling", self.cancellation_polling.as_ref());
        if polling.is_some_and(|polling| polling.is_zero()) {
            reading.fault(
                "cancellation_polling",
                "is zero: with no time between, the log says nothing else",
            );
        }
        Cancellation {
            backoff: reading.optional("cancellation_backoff", self.cancellation_backoff.as_ref()),
            timeout: reading.optional("cancellation_timeout", self.cancellation_timeout.as_ref()),
            polling,
        }
    }
}

macro_rules! life_options {
    () => {
        /// The wait before the first call: a duration, or another [`InitialDelay`] (G-3, T-2).
        pub fn initial_delay(mut self, delay: impl Into<InitialDelay<K>>) -> Self {
            self.life.initial_delay = Some(delay.into());
            self
        }

        /// Deletion does not wait for the handler: no finalizer is set for it, and it may still run when its object is
        /// gone already (B-046).
        pub fn optional(mut self, optional: impl Into<Configured<bool>>) -> Self {
            self.life.optional = Some(optional.into());
            self
        }

        /// How long a running call may go on by itself once it is asked to stop, before it is cancelled (G-12);
        /// meanwhile its reason has
        /// [`DAEMON_SIGNALLED`](crate::StopReason::DAEMON_SIGNALLED). Without `cancellation_timeout`, nothing follows.
        pub fn cancellation_backoff(mut self, backoff: impl Into<Configured<Duration>>) -> Self {
            self.life.cancellation_backoff = Some(backoff.into());
            self
        }

        /// How long a running call may clean up once it is cancelled, which is told by
        /// [`Stopped::cancelled`](crate::Stopped::cancelled); by default it is never cancelled, and takes as long as
        /// it takes (G-12, G-14, B-046).
        ///
        /// After that, an async function is dropped at its await point. A blocking one cannot be dropped: it is left
        /// to itself with a warning, and the deletion goes on (G-16, G-22).
        pub fn cancellation_timeout(mut self, timeout: impl Into<Configured<Duration>>) -> Self {
            self.life.cancellation_timeout = Some(timeout.into());
            self
        }

        /// How often the log says that a call is still ending; by default `settings.background.cancellation_polling`.
        pub fn cancellation_polling(mut self, polling: impl Into<Configured<Duration>>) -> Self {
            self.life.cancellation_polling = Some(polling.into());
            self
        }
    };
}

macro_rules! common_options {
    ($($field:ident),*) => {
        plain_options!($($field),*);

        /// Only objects that have this field, be it before the change (F-5); update handlers only when it differs
        /// (H-5, H-6).
        ///
        /// The handler's id gets `/<field>` appended (H-9). One function with the same id for a creation and for a
        /// field has two ids thereby, and is called twice for an object that is created with the field.
        pub fn field(mut self, path: impl Into<FieldPath>) -> Self {
            self.common.field = Some(path.into());
            self
        }
    };
}

/// Those that mean the same in all families.
macro_rules! plain_options {
    ($($field:ident),*) => {
        pub(crate) fn blank() -> Self {
            Self { common: Common::default(), $($field: Default::default(),)* kind: PhantomData }
        }

        /// Whether the handler is registered at all; by default it is. One that is not leaves no trace: no finalizer,
        /// no extra field in what is remembered of objects, no progress.
        pub fn enabled(mut self, enabled: impl Into<Configured<bool>>) -> Self {
            self.common.enabled = Some(enabled.into());
            self
        }

        /// A value that is handed to the function as `param`, verbatim (H-13).
        pub fn param(mut self, param: impl Into<Value>) -> Self {
            self.common.param = param.into();
            self
        }

        /// Only objects whose label is this text, [`PRESENT`](crate::PRESENT), [`ABSENT`](crate::ABSENT), or whatever
        /// a function accepts that is given [`by`](crate::by) (F-2). Labels are looked at as they are now (F-4).
        pub fn label(mut self, key: impl Into<String>, criterion: impl Into<Criterion>) -> Self {
            self.common.filters.labels.push((key.into(), criterion.into()));
            self
        }

        /// Only objects whose annotation is as by [`label`](Self::label).
        pub fn annotation(mut self, key: impl Into<String>, criterion: impl Into<Criterion>) -> Self {
            self.common
                .filters
                .annotations
                .push((key.into(), criterion.into()));
            self
        }

        /// Only objects whose field is this; [`field`](Self::field) says which one.
        ///
        /// For update and field handlers it is enough if the field was this, or is this now (F-6); for all others it
        /// must be this now.
        pub fn value(mut self, criterion: impl Into<Criterion>) -> Self {
            self.common.filters.value = Some(criterion.into());
            self
        }

        /// Only objects that the condition accepts, such as a function from [`Filter`](crate::Filter) to `bool`; it
        /// is asked last (F-1). Several conditions must all hold.
        ///
        /// The function is asked in every cycle of an object, so it must be quick and must not change anything
        /// (F-14). One that panics fails its handler alone, as an error of the handler itself would, and is asked
        /// again after the handler's backoff; whether deletion waits for the object then stays as it was (F-15,
        /// *Improve on*).
        ///
        /// It is not asked about an object that does not fit its type: no handler of such an object can be called, and
        /// the finalizer stays as if the condition held. Where what was handled last does fit, a deletion goes on with
        /// that, and so does `spec` in the condition.
        pub fn when(mut self, condition: impl Into<Condition<K>>) -> Self {
            self.common.filters.when.push(condition.into().erased);
            self
        }
    };
}

macro_rules! error_options {
    () => {
        limit_options!();

        /// What an arbitrary error means; by default it is temporary (E-2).
        pub fn errors(mut self, mode: impl Into<Configured<ErrorsMode>>) -> Self {
            self.common.limits.errors = Some(mode.into());
            self
        }
    };
}

/// Those that mean the same in all families.
macro_rules! limit_options {
    () => {
        /// How many times the function is called at most for one change (E-7). Calls that end well and only wait for
        /// [sub-handlers](crate::Plan) are not counted (U-8, *Improve on*).
        pub fn retries(mut self, count: impl Into<Configured<u32>>) -> Self {
            self.common.limits.retries = Some(count.into());
            self
        }

        /// How long all attempts together may take, with the waits between them and across restarts; it also
        /// interrupts a running async function, and then what the call has put into its patch is forgotten (E-8). It
        /// bounds the [sub-handlers](crate::Plan), too (U-8).
        pub fn timeout(mut self, timeout: impl Into<Configured<Duration>>) -> Self {
            self.common.limits.timeout = Some(timeout.into());
            self
        }

        /// With `false`, the timeout does not interrupt a running async function: it is looked at between attempts
        /// only, as in Kopf (E-10). By default it does interrupt.
        pub fn interrupt(mut self, interrupt: impl Into<Configured<bool>>) -> Self {
            self.common.limits.interrupt = Some(interrupt.into());
            self
        }

        /// The wait after an arbitrary error: a duration, or a growing [`Backoff`]; by default
        /// `settings.execution.default_backoff` (E-4).
        pub fn backoff(mut self, backoff: impl Into<Backoff>) -> Self {
            self.common.limits.backoff = Some(backoff.into());
            self
        }
    };
}

mod backoff;
mod change;
mod daemon;
mod event;
mod index;
mod timer;

pub use backoff::Backoff;
pub use change::ChangeOptions;
pub(crate) use change::read_each;
pub use daemon::DaemonOptions;
pub use event::EventOptions;
pub use index::IndexOptions;
pub use timer::TimerOptions;
