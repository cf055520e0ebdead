//! How long to wait before what failed is tried again.

use std::time::Duration;

use crate::actions::execution::Growth;
use crate::configured::{Configured, Reading};

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

    pub(super) fn read(&self, reading: &mut Reading<'_>) -> Option<Growth> {
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
