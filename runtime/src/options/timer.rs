//! Options of timers.

use std::marker::PhantomData;
use std::time::Duration;

use serde_json::Value;

use super::{Backoff, Common};
use crate::actions::execution::ErrorsMode;
use crate::arguments::Condition;
use crate::configured::Configured;
use crate::intents::criteria::Criterion;
use crate::kind::Kind;
use crate::structs::fields::FieldPath;

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
