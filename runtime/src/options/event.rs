//! Options of handlers of raw events.

use std::marker::PhantomData;

use serde_json::Value;

use super::Common;
use crate::arguments::Condition;
use crate::configured::Configured;
use crate::intents::criteria::Criterion;
use crate::kind::Kind;
use crate::structs::fields::FieldPath;

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
