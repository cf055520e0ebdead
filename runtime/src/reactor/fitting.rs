//! Whether an object can be handed to its typed handlers. One that cannot never stops the others of its kind, and a
//! handler whose filter fails never stops the others of its object.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::inventory::Memory;
use super::processing::{Object, Processor, TypedSpec};
use crate::clients::events::{EventType, NewEvent};
use crate::engines::spans;
use crate::intents::filters::Answer;
use crate::intents::handlers::EventHandler;
use crate::intents::planning;
use crate::intents::registries::Misfit;
use crate::structs::bodies::Body;
use crate::structs::events::ObjectReference;

/// Whether the typed handlers can be called.
pub(super) enum Fit {
    Typed(TypedSpec),
    /// They wait for a change of the object.
    Hold,
    /// Deletion is not theirs to hold up.
    Release,
}

impl Processor {
    /// Finds a spec for the typed handlers. An object that does not fit never stops the others of its kind.
    pub(super) fn fit(&self, body: &Body, object: &mut Object, memory: &mut Memory) -> Fit {
        let misfit = match object.typed(&self.registry.parse_spec, body) {
            Ok(spec) => {
                memory.reported = None;
                return Fit::Typed(spec);
            }
            Err(misfit) => misfit,
        };
        let deleting = body.deletion_timestamp().is_some();
        if !deleting || !self.storages.is_held(body) {
            self.report(body, memory, &misfit, "its handlers wait until it is changed");
            return Fit::Hold;
        }
        if !planning::deletion_may_be_awaited(&self.registry.changes, body) {
            return Fit::Release;
        }
        // What was handled last did fit: deletion can work with it.
        let last = self
            .storages
            .diffbase
            .fetch(body)
            .and_then(|essence| (self.registry.parse_spec)(&Body::new(essence)).ok());
        if let Some(spec) = last {
            return Fit::Typed(spec);
        }
        let advice = format!(
            "its deletion waits: mend the object, or take the finalizer {} from it by hand",
            self.storages.holders(body).collect::<Vec<_>>().join(" and ")
        );
        self.report(body, memory, &misfit, &advice);
        Fit::Hold
    }

    /// Whether a handler of raw events may be for this state.
    ///
    /// Filters are their author's code. Nobody suffers here from one that breaks: the worker meets and reports it.
    pub(super) fn may_be_observed(&self, body: &Body) -> bool {
        let matches = |handler: &EventHandler| handler.matches_body(body).unwrap_or(true);
        catch_unwind(AssertUnwindSafe(|| self.registry.events.iter().any(matches))).unwrap_or(true)
    }

    /// Whether a filter is met; one that fails is not, and is reported (F-15, *Improve on*).
    pub(super) fn is_met(&self, body: &Body, id: &str, answer: Answer) -> bool {
        answer.unwrap_or_else(|message| {
            self.report_fault(body, id, &message);
            false
        })
    }

    /// Says that a filter has failed.
    pub(super) fn report_fault(&self, body: &Body, id: &str, message: &str) {
        let span = spans::handler_span(self.environment.number, id, &ObjectReference::to(body));
        span.in_scope(|| tracing::error!("Handler {id} is not called: {message}"));
    }

    /// Says once per change that an object does not fit, in the log and as a Kubernetes event.
    pub(super) fn report(&self, body: &Body, memory: &mut Memory, misfit: &Misfit, advice: &str) {
        let digest = digest(&(body.spec(), advice));
        if memory.reported.replace(digest) == Some(digest) {
            return;
        }
        let about = ObjectReference::to(body);
        let message = format!("The object does not fit its type at {misfit}; {advice}");
        spans::handler_span(0, "", &about).in_scope(|| tracing::warn!("{message}"));
        (self.environment.sink)(NewEvent {
            about,
            event_type: EventType::Warning,
            level: tracing::Level::WARN,
            reason: "InvalidSpec".into(),
            message,
            at: self.environment.clock.now(),
        });
    }
}

/// Tells two states apart, in memory only.
pub(super) fn digest(value: &impl std::fmt::Debug) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{value:?}").hash(&mut hasher);
    hasher.finish()
}
