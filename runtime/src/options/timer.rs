//! Options of timers.

use std::marker::PhantomData;
use std::time::Duration;

use serde_json::Value;

use super::{Backoff, Common};
use crate::actions::execution::ErrorsMode;
use crate::arguments::{Condition, InitialDelay};
use crate::configured::Configured;
use crate::intents::background::OnPermanent;
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
    pub(crate) on_permanent: Option<Configured<OnPermanent>>,
    pub(crate) life: super::Life<K>,
    kind: PhantomData<fn() -> K>,
}

impl<K: Kind> TimerOptions<K> {
    common_options!(interval, idle, sharp, on_permanent, life);
    error_options!();
    life_options!();

    /// The time from the end of one call to the start of the next (T-3).
    ///
    /// A timer with neither this nor [`idle`](Self::idle) is called once for each object (T-12).
    pub fn interval(mut self, interval: impl Into<Configured<Duration>>) -> Self {
        self.interval = Some(interval.into());
        self
    }

    /// How long the object must have been left unchanged before each call (T-7). What its own daemons and timers patch
    /// does not count, and neither does the status.
    pub fn idle(mut self, idle: impl Into<Configured<Duration>>) -> Self {
        self.idle = Some(idle.into());
        self
    }

    /// Measures `interval` from start to start, on the grid of the first call (T-3). What falls into a running call is
    /// left out.
    pub fn sharp(mut self, sharp: impl Into<Configured<bool>>) -> Self {
        self.sharp = Some(sharp.into());
        self
    }

    /// What a timer does that has failed for good; by default it goes on at its next interval (T-5).
    pub fn on_permanent(mut self, then: impl Into<Configured<OnPermanent>>) -> Self {
        self.on_permanent = Some(then.into());
        self
    }
}
