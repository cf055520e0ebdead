//! The handlers of one kind, and whether an object can be handed to them.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::handlers::{EventHandler, Handler, TimerHandler, duplicate_ids};
use super::memos::Memos;
use crate::structs::bodies::Body;
use crate::structs::references::Reference;

/// Turns a raw spec into the kind's own type.
pub(crate) type ParseSpec = Arc<dyn Fn(&Body) -> Result<Arc<dyn Any + Send + Sync>, Misfit> + Send + Sync>;

/// The handlers of one kind.
#[derive(Clone)]
pub(crate) struct Registry {
    pub(crate) reference: Reference,
    pub(crate) parse_spec: ParseSpec,
    pub(crate) memos: Memos,
    pub(crate) changes: Vec<Arc<Handler>>,
    pub(crate) events: Vec<EventHandler>,
    pub(crate) timers: Vec<TimerHandler>,
    /// Options of handlers that could not be read; with any, the operator does not start.
    pub(crate) faults: Vec<String>,
}

impl Registry {
    pub(crate) fn new(reference: Reference, parse_spec: ParseSpec, memos: Memos) -> Self {
        Self {
            reference,
            parse_spec,
            memos,
            changes: Vec::new(),
            events: Vec::new(),
            timers: Vec::new(),
            faults: Vec::new(),
        }
    }

    /// Refuses handlers that would share their records or results (H-11, H-12).
    pub(crate) fn check(&self) -> Result<(), String> {
        let changes = self
            .changes
            .iter()
            .map(|handler| (handler.id.as_str(), handler.function));
        let events = self
            .events
            .iter()
            .map(|handler| (handler.id.as_str(), handler.function));
        let timers = self
            .timers
            .iter()
            .map(|handler| (handler.id.as_str(), handler.function));
        let kind = self.reference.kind;
        duplicate_ids(changes.chain(events).chain(timers)).map_err(|error| format!("{kind}: {error}"))?;
        // A function may react to several changes under one id; a timer is one task.
        let mut seen = std::collections::BTreeSet::new();
        match self.timers.iter().find(|timer| !seen.insert(timer.id.as_str())) {
            Some(timer) => Err(format!("{kind}: two timers have the id `{}`", timer.id)),
            None => Ok(()),
        }
    }
}

/// Why an object does not fit the type of its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Misfit {
    /// Such as `spec.replicas`.
    pub(crate) path: String,
    pub(crate) message: String,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}
