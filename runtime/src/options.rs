//! Options of handlers, one type for each family, so that an option which a family lacks does not compile (H-15).

use std::marker::PhantomData;
use std::time::Duration;

use serde_json::Value;

use crate::actions::execution::{ErrorsMode, Growth, Limits};
use crate::arguments::Condition;
use crate::configured::{Configured, Reading};
use crate::intents::criteria::Criterion;
use crate::intents::filters::Filters;
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

/// How long to wait after an arbitrary error of a handler: always the same time, or longer after each attempt.
///
/// ```
/// use kopf_runtime::{Backoff, mins, secs};
///
/// let same: Backoff = secs(15).into();
/// // 1, 2, 4, 8, … up to 300 seconds, each up to a fifth longer, but never more than 300.
/// let growing = Backoff::exponential(secs(1), mins(5)).jitter(0.2);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Backoff {
    initial: Configured<Duration>,
    max: Option<Configured<Duration>>,
    jitter: Option<Configured<f64>>,
}

impl Backoff {
    /// `initial` after the first attempt, doubled after each further one, and never longer than `max`.
    pub fn exponential(initial: impl Into<Configured<Duration>>, max: impl Into<Configured<Duration>>) -> Self {
        Self {
            initial: initial.into(),
            max: Some(max.into()),
            jitter: None,
        }
    }

    /// Lengthens each wait by a random share of itself, from 0 up to this one, but never beyond the longest wait. So
    /// objects that failed together are not retried together. For growing waits only.
    pub fn jitter(mut self, share: impl Into<Configured<f64>>) -> Self {
        self.jitter = Some(share.into());
        self
    }

    fn read(&self, reading: &mut Reading<'_>) -> Option<Growth> {
        let option = "backoff";
        let initial = reading.value(option, &self.initial)?;
        let Some(max) = &self.max else {
            if self.jitter.is_some() {
                reading.fault(option, "is fixed, so it has no jitter; use `Backoff::exponential`");
            }
            return Some(Growth::fixed(initial));
        };
        let max = reading.value(option, max)?;
        let jitter = reading.optional(option, self.jitter.as_ref()).unwrap_or_default();
        if max < initial {
            reading.fault(option, &format!("begins with {initial:?}, beyond its maximum {max:?}"));
        }
        if !(0.0..=1.0).contains(&jitter) {
            reading.fault(
                option,
                &format!("has the jitter {jitter}; expected a share from 0 to 1"),
            );
        }
        Some(Growth { initial, max, jitter })
    }
}

impl From<Configured<Duration>> for Backoff {
    fn from(wait: Configured<Duration>) -> Self {
        Self {
            initial: wait,
            max: None,
            jitter: None,
        }
    }
}

impl From<Duration> for Backoff {
    fn from(wait: Duration) -> Self {
        Configured::from(wait).into()
    }
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

macro_rules! common_options {
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

        /// Only objects that have this field, be it before the change (F-5); update handlers only when it differs
        /// (H-5, H-6).
        ///
        /// The handler's id gets `/<field>` appended (H-9). One function with the same id for a creation and for a
        /// field has two ids thereby, and is called twice for an object that is created with the field.
        pub fn field(mut self, path: impl Into<FieldPath>) -> Self {
            self.common.field = Some(path.into());
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
        /// How many times the function is called at most for one change (E-7).
        pub fn retries(mut self, count: impl Into<Configured<u32>>) -> Self {
            self.common.limits.retries = Some(count.into());
            self
        }

        /// How long all attempts together may take, with the waits between them and across restarts; it also
        /// interrupts a running async function, and then what the call has put into its patch is forgotten (E-8).
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

        /// What an arbitrary error means; by default it is temporary (E-2).
        pub fn errors(mut self, mode: impl Into<Configured<ErrorsMode>>) -> Self {
            self.common.limits.errors = Some(mode.into());
            self
        }
    };
}

/// Options of `on_create`, `on_update`, `on_field`, `on_delete` and `on_resume`.
#[derive(Clone, Debug)]
#[must_use]
pub struct ChangeOptions<K> {
    pub(crate) common: Common,
    pub(crate) optional: Option<Configured<bool>>,
    pub(crate) deleted: Option<Configured<bool>>,
    pub(crate) covers_downtime: Option<Configured<bool>>,
    kind: PhantomData<fn() -> K>,
}

impl<K: Kind> ChangeOptions<K> {
    common_options!(optional, deleted, covers_downtime);
    error_options!();

    /// On delete handlers: deletion does not wait for this handler; no finalizer is set for it (H-7).
    pub fn optional(mut self, optional: impl Into<Configured<bool>>) -> Self {
        self.optional = Some(optional.into());
        self
    }

    /// On resume handlers: also for objects that are being deleted (H-3).
    pub fn deleted(mut self, deleted: impl Into<Configured<bool>>) -> Self {
        self.deleted = Some(deleted.into());
        self
    }

    /// On resume handlers: also for objects that were created while the operator was away (C, *Improve on*).
    ///
    /// Such an object is new to the operator, so the call is part of its creation, with that reason. Without this,
    /// resuming never mixes into creation (C-6).
    pub fn covers_downtime(mut self, covers: impl Into<Configured<bool>>) -> Self {
        self.covers_downtime = Some(covers.into());
        self
    }

    /// On update and field handlers: only if the field was this before the change; [`field`](Self::field) says which
    /// one (F-9). Not beside [`value`](Self::value).
    pub fn old(mut self, criterion: impl Into<Criterion>) -> Self {
        self.common.filters.old = Some(criterion.into());
        self
    }

    /// On update and field handlers: only if the field has become this; as [`old`](Self::old).
    pub fn new(mut self, criterion: impl Into<Criterion>) -> Self {
        self.common.filters.new = Some(criterion.into());
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
    pub(crate) interval: Option<Configured<Duration>>,
    pub(crate) idle: Option<Configured<Duration>>,
    pub(crate) sharp: Option<Configured<bool>>,
    pub(crate) initial_delay: Option<Configured<Duration>>,
    pub(crate) optional: Option<Configured<bool>>,
    pub(crate) cancellation_backoff: Option<Configured<Duration>>,
    pub(crate) cancellation_timeout: Option<Configured<Duration>>,
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
    pub fn interval(mut self, interval: impl Into<Configured<Duration>>) -> Self {
        self.interval = Some(interval.into());
        self
    }

    /// How long the object must have been left unchanged before each call (T-7).
    pub fn idle(mut self, idle: impl Into<Configured<Duration>>) -> Self {
        self.idle = Some(idle.into());
        self
    }

    /// Measures `interval` from start to start, on a fixed grid (T-3).
    pub fn sharp(mut self, sharp: impl Into<Configured<bool>>) -> Self {
        self.sharp = Some(sharp.into());
        self
    }

    /// The wait before the first call (T-2).
    pub fn initial_delay(mut self, delay: impl Into<Configured<Duration>>) -> Self {
        self.initial_delay = Some(delay.into());
        self
    }

    /// Deletion does not wait for the timer: no finalizer is set for it, and it may still run when its object is gone
    /// already (B-046).
    pub fn optional(mut self, optional: impl Into<Configured<bool>>) -> Self {
        self.optional = Some(optional.into());
        self
    }

    /// How much longer than `cancellation_timeout` a timer may take to end. Without that one it means nothing.
    pub fn cancellation_backoff(mut self, backoff: impl Into<Configured<Duration>>) -> Self {
        self.cancellation_backoff = Some(backoff.into());
        self
    }

    /// How long a running call may go on once the timer is asked to stop, because the object is deleted or no longer
    /// matches; by default as long as it takes (G-12, B-046).
    ///
    /// After that and `cancellation_backoff`, an async function is dropped at its await point. A blocking one cannot
    /// be dropped: it is left to itself with a warning, and the deletion goes on.
    pub fn cancellation_timeout(mut self, timeout: impl Into<Configured<Duration>>) -> Self {
        self.cancellation_timeout = Some(timeout.into());
        self
    }
}
