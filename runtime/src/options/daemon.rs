//! Options of daemons.

use std::marker::PhantomData;
use std::time::Duration;

use serde_json::Value;

use super::{Backoff, Common};
use crate::actions::execution::ErrorsMode;
use crate::arguments::{Condition, InitialDelay};
use crate::configured::Configured;
use crate::intents::background::Restart;
use crate::intents::criteria::Criterion;
use crate::kind::Kind;
use crate::structs::fields::FieldPath;

/// Options of `daemon`.
#[derive(Clone, Debug)]
#[must_use]
pub struct DaemonOptions<K> {
    pub(crate) common: Common,
    pub(crate) restart: Option<Configured<Restart>>,
    pub(crate) life: super::Life<K>,
    kind: PhantomData<fn() -> K>,
}

impl<K: Kind> DaemonOptions<K> {
    common_options!(restart, life);
    error_options!();
    life_options!();

    /// Whether a daemon that has ended by itself is started again; by default it is not (G-6).
    ///
    /// Before that, the handler's `backoff` is waited out, which counts the failures in a row. A daemon that is started
    /// again begins with `retry` 0, and without its initial delay.
    pub fn restart(mut self, restart: impl Into<Configured<Restart>>) -> Self {
        self.restart = Some(restart.into());
        self
    }
}
