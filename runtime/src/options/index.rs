//! Options of index handlers.

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

/// Options of `index`. An object that does not match contributes nothing (I-8).
#[derive(Clone, Debug)]
#[must_use]
pub struct IndexOptions<K> {
    pub(crate) common: Common,
    kind: PhantomData<fn() -> K>,
}

impl<K: Kind> IndexOptions<K> {
    plain_options!();
    limit_options!();

    /// Only objects that have this field. The id of an index stays as it is (I-1).
    pub fn field(mut self, path: impl Into<FieldPath>) -> Self {
        self.common.field = Some(path.into());
        self
    }

    /// What an arbitrary error means; by default it is ignored: what the object has contributed stays (I-9).
    ///
    /// After a temporary error, the object contributes nothing until the call is repeated, which happens by itself
    /// (I-11, *Improve on*); after a permanent one, nothing as long as it lives (I-10).
    pub fn errors(mut self, mode: impl Into<Configured<ErrorsMode>>) -> Self {
        self.common.limits.errors = Some(mode.into());
        self
    }
}
