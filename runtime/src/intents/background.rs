//! Handlers that live with an object: daemons and timers. A timer is a daemon with a schedule (T-1).

use std::any::TypeId;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::filters::{Answer, Asked, Filters};
use super::invocation::BackgroundFn;
use super::stoppers::Cancellation;
use crate::actions::execution::Limits;
use crate::configured::FromVariable;
use crate::structs::fields::FieldPath;

/// A daemon or a timer.
pub(crate) struct BackgroundHandler {
    pub(crate) id: String,
    pub(crate) function: TypeId,
    pub(crate) field: Option<FieldPath>,
    pub(crate) filters: Filters,
    pub(crate) limits: Limits,
    /// The wait before the first call (G-3, T-2).
    pub(crate) initial_delay: Option<FirstDelay>,
    pub(crate) schedule: Schedule,
    /// Needs no finalizer.
    pub(crate) optional: bool,
    pub(crate) cancellation: Cancellation,
    pub(crate) param: Value,
    pub(crate) call: BackgroundFn,
}

/// When a handler is called once its attempts have come to an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Schedule {
    Daemon {
        restart: Restart,
    },
    Timer {
        /// From the end of one call to the start of the next; `None` for once, or once per quiet period (T-10, T-12).
        interval: Option<Duration>,
        /// How long the object must have been left unchanged before a call (T-7).
        idle: Option<Duration>,
        /// The interval is from start to start, on a fixed grid (T-3).
        sharp: bool,
        on_permanent: OnPermanent,
    },
}

/// Whether a daemon that has ended by itself is started again for its object (G, *Improve on*).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Restart {
    /// Never, until the operator itself is restarted, as in Kopf (G-6). The object no longer waits for the daemon.
    #[default]
    Never,
    /// If it has failed for good: by a permanent error, or because its retries or its timeout are used up.
    OnFailure,
    /// Also if it has returned.
    Always,
}

impl FromVariable for Restart {
    const EXPECTED: &'static str = "`never`, `onFailure` or `always`";

    fn from_variable(text: &str) -> Option<Self> {
        match text {
            "never" => Some(Self::Never),
            "onFailure" => Some(Self::OnFailure),
            "always" => Some(Self::Always),
            _ => None,
        }
    }
}

/// What a timer does that has failed for good: by a permanent error, or because its retries or its timeout are used up
/// (T-5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnPermanent {
    /// It is called again at the next interval, with `retry` 0, as in Kopf.
    #[default]
    Continue,
    /// It is over for this object until the operator is restarted.
    Stop,
}

impl FromVariable for OnPermanent {
    const EXPECTED: &'static str = "`continue` or `stop`";

    fn from_variable(text: &str) -> Option<Self> {
        match text {
            "continue" => Some(Self::Continue),
            "stop" => Some(Self::Stop),
            _ => None,
        }
    }
}

/// The wait before the first call, asked for at each start (G-3).
#[derive(Clone)]
pub(crate) enum FirstDelay {
    Fixed(Duration),
    /// At random, from nothing up to this (B-066).
    UpTo(Duration),
    By(Arc<dyn Fn(&Asked<'_>) -> Duration + Send + Sync>),
}

impl FirstDelay {
    /// The wait of this object now.
    ///
    /// # Errors
    /// If the function panics, with what it said.
    pub(crate) fn of(&self, asked: &Asked<'_>, random: f64) -> Result<Duration, Box<dyn std::any::Any + Send>> {
        match self {
            Self::Fixed(delay) => Ok(*delay),
            Self::UpTo(most) => Ok(most.mul_f64(random)),
            Self::By(function) => catch_unwind(AssertUnwindSafe(|| function(asked))),
        }
    }
}

impl BackgroundHandler {
    /// Whether the handler is for this object as it is now (F-1, F-5).
    pub(crate) fn matches(&self, asked: &Asked<'_>) -> Answer {
        if !self.filters.matches_body(self.field.as_ref(), asked.body)? {
            return Ok(false);
        }
        self.filters.when(asked)
    }

    /// How long the object must have been left unchanged before each call; `None` if that does not matter (T-7).
    pub(crate) fn idle(&self) -> Option<Duration> {
        match self.schedule {
            Schedule::Daemon { .. } => None,
            Schedule::Timer { idle, .. } => idle,
        }
    }
}

impl fmt::Debug for BackgroundHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackgroundHandler")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
