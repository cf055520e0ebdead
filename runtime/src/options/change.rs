//! Options of handlers of changes.

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
