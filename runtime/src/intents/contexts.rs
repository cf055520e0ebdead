//! What a call gets besides its cause: access to the cluster, the typed spec, the object's events.

use std::any::Any;
use std::sync::Arc;

use kube::Client;
use tracing::Level;

use super::indexes::Indexes;
use super::memos::Memo;
use super::stoppers::Stopped;
use crate::clients::events::{EventType, NewEvent};
use crate::structs::events::ObjectReference;

/// Takes Kubernetes events for posting; never blocks (B-084).
pub(crate) type EventSink = Arc<dyn Fn(NewEvent) + Send + Sync>;

/// The surroundings of one call. The default has none: it is what unit tests of handlers get.
#[derive(Clone, Default)]
pub(crate) struct Context {
    pub(crate) client: Option<Client>,
    /// The `K::Spec` of the kind, parsed once per state of the object.
    pub(crate) spec: Option<Arc<dyn Any + Send + Sync>>,
    /// The object's `K::Memo`.
    pub(crate) memo: Option<Memo>,
    pub(crate) indexes: Indexes,
    pub(crate) events: Events,
    pub(crate) stopped: Stopped,
}

/// Posts Kubernetes events about the object in hand: Kopf's `info`, `warn` and `exception`.
///
/// An object has 25 of them at once, then one every five minutes; what is too many is dropped, which the log says once.
#[derive(Clone, Default)]
pub struct Events {
    pub(crate) sink: Option<EventSink>,
    pub(crate) about: ObjectReference,
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events")
            .field("about", &self.about)
            .finish_non_exhaustive()
    }
}

impl Events {
    /// Posts a `Normal` event. `reason` is one word in CamelCase, as `kubectl` shows it.
    pub fn info(&self, reason: impl Into<String>, message: impl Into<String>) {
        self.post(EventType::Normal, Level::INFO, reason.into(), message.into());
    }

    /// Posts a `Warning` event.
    pub fn warn(&self, reason: impl Into<String>, message: impl Into<String>) {
        self.post(EventType::Warning, Level::WARN, reason.into(), message.into());
    }

    /// Posts an error with its causes as a `Warning` event.
    pub fn exception(&self, reason: impl Into<String>, error: &anyhow::Error) {
        self.post(EventType::Warning, Level::ERROR, reason.into(), format!("{error:#}"));
    }

    fn post(&self, event_type: EventType, level: Level, reason: String, message: String) {
        if let Some(sink) = &self.sink {
            sink(NewEvent {
                about: self.about.clone(),
                event_type,
                level,
                reason,
                message,
                at: jiff::Timestamp::now(),
            });
        }
    }
}
