//! The first step of whatever happens to an object: bringing the indexes up to its newest state (I).
//!
//! It is apart from the object's cycles: an error in here is that of an index handler, never of the object, and an
//! object that waits after an error of its own is indexed all the same (I-19, *Improve on*). It holds no place among the
//! workers, so that neither a slow handler nor the wait for readiness keeps other objects from being handled (I-17).

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt as _;

use super::inventory::{Incoming, Memory};
use super::processing::{Object, Processor, is_newer};
use crate::actions::execution::{self, Moment, Outcome};
use crate::actions::invocation::describe;
use crate::configs::progress::Record;
use crate::engines::indexing::{Conclusion, Effect, Standing, conclude};
use crate::engines::spans;
use crate::intents::calling::Subject;
use crate::intents::filters::Asked;
use crate::intents::handlers::IndexHandler;
use crate::intents::invocation::{IndexCall, Returned};
use crate::intents::stoppers::Stopped;
use crate::structs::bodies::Body;
use crate::structs::events::{EventType, ObjectReference};
use crate::structs::patches::Patch;

/// What an object is like now, as far as the indexes do not know it.
enum News {
    None,
    State(Body),
    Gone,
}

/// What became of the call of a handler.
enum Attempt {
    Made(Outcome),
    /// The object does not belong into the index.
    Elsewhere,
    /// The operator ends.
    Interrupted,
}

impl Processor {
    pub(super) fn has_indexes(&self) -> bool {
        !self.registry.indexes.is_empty()
    }

    /// Whether the indexes know all there is to be known of the object.
    pub(super) fn is_indexed(&self, object: &Object, memory: &Memory) -> bool {
        !self.has_indexes() || !matches!(self.news(object, memory), News::State(_))
    }

    /// Returns when an index handler is to be called again by itself, if one is.
    pub(super) async fn reindexing(&self, memory: &Memory) {
        match self.delay(memory) {
            Some(delay) => tokio::time::sleep(delay).await,
            None => std::future::pending().await,
        }
    }

    fn delay(&self, memory: &Memory) -> Option<Duration> {
        memory.indexed.as_ref()?.delay(self.environment.clock.now())
    }

    /// Brings the indexes up to the newest state, be it in the queue still, and repeats what is due.
    pub(super) async fn index(&self, object: &mut Object, memory: &mut Memory) {
        if !self.has_indexes() {
            return;
        }
        // Boxed as a cycle is, and for the same reason.
        let indexing = Box::pin(self.index_news(object, memory));
        if let Err(panic) = AssertUnwindSafe(indexing).catch_unwind().await {
            let about = object.indexed.as_ref().map(ObjectReference::to).unwrap_or_default();
            spans::handler_span(0, "", &about)
                .in_scope(|| tracing::error!("Cannot index the object: it {}", describe(panic.as_ref())));
        }
    }

    fn news(&self, object: &Object, memory: &Memory) -> News {
        let mut known = memory.indexed.as_ref().and_then(|indexed| indexed.version.as_deref());
        let is_known = |body: &Body| object.indexed.as_ref().is_some_and(|indexed| indexed.is_same(body));
        let mut news = News::None;
        // The answer to an own patch may be newer than what has come since.
        if let Some(current) = object.current.as_ref().filter(|current| !is_known(current))
            && is_newer(current.resource_version(), known)
        {
            known = current.resource_version();
            news = News::State(current.clone());
        }
        match self.inventory.last(&object.key).or_else(|| object.last()) {
            Some(incoming) if incoming.is_end() => News::Gone,
            Some(Incoming::Object(event_type, body)) if !is_known(&body) => {
                let version = body.resource_version();
                let restored =
                    event_type == EventType::Listed && version != known && self.inventory.is_before_listing(known);
                if restored || is_newer(version, known) {
                    news = News::State(body);
                }
                news
            }
            _ => news,
        }
    }

    async fn index_news(&self, object: &mut Object, memory: &mut Memory) {
        let (body, is_new) = match self.news(object, memory) {
            News::Gone => {
                memory.leave_indexes();
                return;
            }
            News::State(body) => {
                if object.has_ended() || self.inventory.has_ended(&object.key) {
                    // Another object under the same key, which has no uid (M-3).
                    memory.leave_indexes();
                }
                object.indexed = Some(body.clone());
                let indexed = memory.indexed.get_or_insert_default();
                indexed.version = body.resource_version().map(Into::into);
                (body, true)
            }
            News::None => match (&object.indexed, self.delay(memory)) {
                (Some(body), Some(_)) => (body.clone(), false),
                _ => return,
            },
        };
        let memo = self.memo(memory);
        let handlers = &self.registry.indexes;
        let places = memory.indexed.get_or_insert_default().places(handlers.len());
        let Ok(spec) = object.typed(&self.registry.parse_spec, &body) else {
            // The cycle reports it.
            for place in places {
                place.withdraw();
            }
            return;
        };
        let asked = Asked {
            body: &body,
            spec: &spec,
            memo: &memo,
            view: None,
        };
        let patch = Patch::default();
        let subject = Subject {
            environment: &self.environment,
            body: &body,
            spec: &spec,
            memo: &memo,
            patch: &patch,
            abort: &self.environment.abort,
        };
        for (handler, place) in handlers.iter().zip(places) {
            let now = self.environment.clock.now();
            match place.standing(now) {
                Standing::Ready if is_new => {}
                Standing::Due => {}
                Standing::Ready | Standing::Waiting(_) | Standing::Excluded => continue,
            }
            let returned = Returned::default();
            let record = place.attempt(now);
            let outcome = match self.attempt(handler, &asked, subject, &record, &returned).await {
                Attempt::Made(outcome) => outcome,
                Attempt::Elsewhere => {
                    place.withdraw();
                    continue;
                }
                Attempt::Interrupted => return,
            };
            let message = outcome.error().map(str::to_owned);
            let backoff = self.environment.settings.execution.default_backoff;
            let moment = Moment::at(self.environment.clock.now());
            let Conclusion {
                effect,
                verdict,
                failed,
            } = conclude(record, outcome, &handler.limits, backoff, moment);
            let id = handler.index.id;
            spans::handler_span(0, id, &ObjectReference::to(&body)).in_scope(|| match (&failed, effect) {
                (Some(record), _) => spans::report(id, &verdict, record),
                (None, Effect::Keep) => {
                    let message = message.unwrap_or_default();
                    tracing::error!("Handler {id} failed, and what it returned before stays: {message}");
                }
                (None, _) => tracing::debug!("Handler {id} succeeded"),
            });
            if let Some(store) = self.environment.indexes.store(id) {
                place.settle(effect, failed, &returned, store);
            }
        }
    }

    /// Calls a handler, if it is for the object and may be called still.
    async fn attempt(
        &self,
        handler: &IndexHandler,
        asked: &Asked<'_>,
        subject: Subject<'_>,
        record: &Record,
        returned: &Returned,
    ) -> Attempt {
        match self.belongs(handler, asked) {
            Ok(true) => {}
            Ok(false) => return Attempt::Elsewhere,
            Err(message) => return Attempt::Made(Outcome::Arbitrary { message }),
        }
        if let Some(message) = execution::refuse(record, &handler.limits, self.environment.clock.now()) {
            return Attempt::Made(Outcome::Permanent { message });
        }
        let extras = (&handler.param, Stopped::default());
        let arguments = |common| IndexCall {
            common,
            returned: returned.clone(),
        };
        let span = spans::handler_span(0, handler.index.id, &ObjectReference::to(subject.body));
        let call = subject.call(&handler.call, record, &handler.limits, extras, span, arguments);
        call.await.map_or(Attempt::Interrupted, Attempt::Made)
    }

    /// Whether a handler is for the object; of one function that was registered several times, only the first
    /// registration that matches counts (H-10).
    fn belongs(&self, handler: &IndexHandler, asked: &Asked<'_>) -> Result<bool, String> {
        let before = self
            .registry
            .indexes
            .iter()
            .take_while(|other| !std::ptr::eq(*other, handler));
        let mut twins = before.filter(|other| other.index.id == handler.index.id && other.function == handler.function);
        if twins.any(|twin| twin.matches(asked) == Ok(true)) {
            return Ok(false);
        }
        handler.matches(asked)
    }
}

impl Memory {
    /// Takes the object out of all indexes.
    pub(super) fn leave_indexes(&mut self) {
        if let Some(mut indexed) = self.indexed.take() {
            indexed.leave();
        }
    }
}
