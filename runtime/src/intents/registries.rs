//! The handlers of one kind, and whether an object can be handed to them.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::background::BackgroundHandler;
use super::handlers::{EventHandler, Handler, IndexHandler, duplicate_ids};
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
    /// Daemons and timers.
    pub(crate) background: Vec<Arc<BackgroundHandler>>,
    pub(crate) indexes: Vec<IndexHandler>,
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
            background: Vec::new(),
            indexes: Vec::new(),
            faults: Vec::new(),
        }
    }

    /// Whether any timer wants to know since when an object is left alone (T-7).
    pub(crate) fn has_idle_timers(&self) -> bool {
        self.background.iter().any(|handler| handler.idle().is_some())
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
        let background = self
            .background
            .iter()
            .map(|handler| (handler.id.as_str(), handler.function));
        let kind = self.reference.kind;
        let identities: Vec<_> = changes.chain(events).chain(background).collect();
        duplicate_ids(identities.iter().copied()).map_err(|error| format!("{kind}: {error}"))?;
        // Nothing is stored under the id of an index, so that several functions may feed one; but the log tells handlers
        // apart by their ids.
        let is_taken = |index: &&IndexHandler| identities.iter().any(|(id, _)| *id == index.index.id);
        if let Some(IndexHandler { index, .. }) = self.indexes.iter().find(is_taken) {
            return Err(format!(
                "{kind}: an index and another handler have the id `{}`",
                index.id
            ));
        }
        // A function may react to several changes under one id; a daemon or a timer is one task.
        let mut seen = std::collections::BTreeSet::new();
        let mut background = self.background.iter();
        match background.find(|handler| !seen.insert(handler.id.as_str())) {
            Some(handler) => Err(format!("{kind}: two daemons or timers have the id `{}`", handler.id)),
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
