//! The handlers of raw events: every event counts, none is retried (E-13).

use super::inventory::Memory;
use super::processing::{Next, Object, Processor};
use crate::actions::application::{self, Applied};
use crate::actions::execution::{Limits, Outcome};
use crate::configs::progress::Record;
use crate::engines::spans;
use crate::intents::calling::Subject;
use crate::intents::filters::Asked;
use crate::intents::handlers::EventHandler;
use crate::intents::invocation::EventCall;
use crate::intents::stoppers::Stopped;
use crate::structs::bodies::Body;
use crate::structs::events::{EventType, ObjectReference};
use crate::structs::patches::Patch;

impl Processor {
    /// Calls those that this event is for; what they want is gathered in the object.
    pub(super) async fn observe(&self, event_type: EventType, body: &Body, object: &mut Object, memory: &mut Memory) {
        let may_match = |handler: &&EventHandler| self.is_met(body, &handler.id, handler.matches_body(body));
        let matching: Vec<&EventHandler> = self.registry.events.iter().filter(may_match).collect();
        if matching.is_empty() {
            return;
        }
        let spec = match object.typed(&self.registry.parse_spec, body) {
            Ok(spec) => spec,
            Err(misfit) => return self.report(body, memory, &misfit, "its handlers wait until it is changed"),
        };
        let memo = self.memo(memory);
        let asked = Asked {
            body,
            spec: &spec,
            memo: &memo,
            view: None,
        };
        for handler in matching {
            if !self.is_met(body, &handler.id, handler.filters.when(&asked)) {
                continue;
            }
            let patch = Patch::after(object.observed.all());
            let about = ObjectReference::to(body);
            let span = spans::handler_span(0, &handler.id, &about);
            let subject = Subject {
                environment: &self.environment,
                body,
                spec: &spec,
                memo: &memo,
                patch: &patch,
                abort: &self.environment.abort,
            };
            let record = Record::fresh(self.environment.clock.now());
            let extras = (&handler.param, Stopped::default());
            let arguments = |common| EventCall { common, event_type };
            let called = subject
                .call(
                    &handler.call,
                    &record,
                    &Limits::default(),
                    extras,
                    span.clone(),
                    arguments,
                )
                .await;
            match called {
                Some(Outcome::Success(Some(result))) => patch.deliver(&handler.id, result),
                Some(Outcome::Success(None)) => {}
                Some(failure) => {
                    let message = failure.error().unwrap_or_default();
                    span.in_scope(|| tracing::error!("Handler {} failed: {message}", handler.id));
                }
                None => return,
            }
            object.observed.absorb(patch.take());
        }
    }

    /// Sends what raw-event handlers gathered.
    pub(super) async fn send_observed(&self, object: &mut Object, body: &Body) -> Next {
        let contents = object.observed.take();
        if contents.is_empty() {
            return Next::Rest;
        }
        let patience = self.patience(object);
        match application::apply(&self.target(body), body, contents, &patience).await {
            Applied::Patched(after) => {
                if object.current.is_some() && after.resource_version() != body.resource_version() {
                    object.current = Some(after);
                    return Next::Again;
                }
            }
            Applied::Refused(message) => {
                tracing::error!(name = body.name(), "The API server refused the patch: {message}");
            }
            Applied::Nothing | Applied::Gone | Applied::Interrupted => {}
        }
        Next::Rest
    }
}
