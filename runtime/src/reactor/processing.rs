//! One cycle of one object (C-1): raw-event handlers, timers, the finalizer, change handlers, one patch.
//!
//! What to do is decided by `intents::planning`; here it is done.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use super::fitting::{Fit, digest};
use super::inventory::{Incoming, Inventory, Memory};
use super::queueing;
use crate::actions::application::{self, Applied};
use crate::actions::execution::{Limits, Outcome};
use crate::clients::fetching::Serving;
use crate::clients::patching::Target;
use crate::configs::progress::Record;
use crate::configs::storages::Storages;
use crate::engines::spans;
use crate::engines::timers::Surroundings;
use crate::intents::calling::Subject;
use crate::intents::causes::Reason;
use crate::intents::environment::Environment;
use crate::intents::handlers::{EventHandler, TimerHandler};
use crate::intents::invocation::EventCall;
use crate::intents::planning::{self, FinalizerStep, Plan, Situation};
use crate::intents::registries::Registry;
use crate::intents::stoppers::Stopped;
use crate::structs::bodies::Body;
use crate::structs::events::{EventType, ObjectReference};
use crate::structs::finalizers;
use crate::structs::patches::{Patch, PatchContents};

/// How often an object that waits for its timers to end is looked at, beside being woken by them.
pub(super) const TIMERS_CHECK: Duration = Duration::from_secs(60);

/// What the worker does after a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Another cycle at once.
    Again,
    /// Another cycle after this time, or at the next event.
    After(Duration),
    /// Nothing until the next event.
    Rest,
    /// The object is gone.
    Gone,
}

/// What a worker holds of its object while it works.
pub(crate) struct Object {
    key: Box<str>,
    /// The freshest known state.
    pub(super) current: Option<Body>,
}

impl Object {
    pub(crate) fn new(key: Box<str>) -> Self {
        Self { key, current: None }
    }
}

/// Handles the objects of one stream.
pub(crate) struct Processor {
    pub(crate) registry: Arc<Registry>,
    pub(crate) environment: Environment,
    pub(crate) inventory: Inventory,
    pub(super) storages: Storages,
    serving: Mutex<Serving>,
}

pub(super) type TypedSpec = Arc<dyn Any + Send + Sync>;

impl Processor {
    pub(crate) fn new(registry: Arc<Registry>, environment: Environment) -> Self {
        let persistence = &environment.settings.persistence;
        let storages = Storages::new(&persistence.prefix, &persistence.finalizer);
        Self {
            registry,
            storages,
            environment,
            inventory: Inventory::default(),
            serving: Mutex::new(Serving {
                status_subresource: false,
            }),
        }
    }

    /// Learns how the cluster serves the kind.
    pub(crate) fn serve(&self, serving: Serving) {
        *self.serving.lock().unwrap_or_else(PoisonError::into_inner) = serving;
    }

    fn serving(&self) -> Serving {
        *self.serving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn target(&self, body: &Body) -> Target {
        self.environment.target(self.registry.reference, self.serving(), body)
    }

    /// Takes in what was queued and runs one cycle on the freshest state.
    ///
    /// `pending` says that a cycle is due whatever the batch holds.
    pub(crate) async fn process(
        self: &Arc<Self>,
        object: &mut Object,
        memory: &mut Memory,
        batch: Vec<Incoming>,
        pending: bool,
    ) -> Next {
        let patch = Patch::default();
        let mut due = pending;
        let mut gone = false;
        let mut latest = None;
        for incoming in batch {
            match incoming {
                Incoming::Vanished => gone = true,
                Incoming::Wake => due = true,
                Incoming::Object(event_type, body) => {
                    self.observe(event_type, &body, memory, &patch).await;
                    gone = event_type == EventType::Deleted;
                    let known = object
                        .current
                        .as_ref()
                        .and_then(Body::resource_version)
                        .or(memory.version.as_deref());
                    if is_newer(body.resource_version(), known) {
                        object.current = Some(body.clone());
                        due = true;
                    }
                    latest = Some(body);
                }
            }
        }
        if gone {
            memory.timers.stop();
            return Next::Gone;
        }
        if due && object.current.is_none() {
            object.current = memory.timers.body().or_else(|| latest.clone());
        }
        match object.current.clone() {
            Some(body) if due => self.cycle(object, memory, &body, &patch).await,
            // Only echoes of own patches: what their raw-event handlers want is all there is to send.
            _ => match latest {
                Some(body) => self.send(object, &body, patch.take()).await,
                None => Next::Rest,
            },
        }
    }

    /// Calls the handlers of raw events; every event counts, none is retried (E-13).
    async fn observe(&self, event_type: EventType, body: &Body, memory: &mut Memory, patch: &Patch) {
        let matching: Vec<&EventHandler> = self
            .registry
            .events
            .iter()
            .filter(|handler| handler.matches(body))
            .collect();
        if matching.is_empty() {
            return;
        }
        let spec = match (self.registry.parse_spec)(body) {
            Ok(spec) => spec,
            Err(misfit) => return self.report(body, memory, &misfit, "its handlers wait until it is changed"),
        };
        for handler in matching {
            let about = ObjectReference::to(body);
            let span = spans::handler_span(0, &handler.id, &about);
            let subject = Subject {
                environment: &self.environment,
                body,
                spec: &spec,
                patch,
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
        }
    }

    async fn cycle(self: &Arc<Self>, object: &mut Object, memory: &mut Memory, body: &Body, patch: &Patch) -> Next {
        let now = self.environment.clock.now();
        memory.version = body.resource_version().map(Into::into);
        let spec = match self.fit(body, memory) {
            Fit::Typed(spec) => spec,
            Fit::Hold => {
                memory.timers.stop();
                return self.send(object, body, patch.take()).await;
            }
            Fit::Release => {
                memory.timers.stop();
                if !patch.is_empty() {
                    self.send(object, body, patch.take()).await;
                }
                if memory.timers.hold() {
                    return Next::After(TIMERS_CHECK);
                }
                return self.release(object, body).await;
            }
        };
        let timers_need = self.tend_timers(object, memory, body, &spec);
        let situation = Situation {
            body,
            deleted_event: false,
            handlers: &self.registry.changes,
            initial: memory.noticed_by_listing && !memory.handled_once,
            deletion_done: memory.deletion_done,
            timers_need,
            storages: &self.storages,
            now,
        };
        let plan = planning::plan(&situation);
        self.trace(body, memory, &plan);
        match plan.finalizer {
            FinalizerStep::Keep => {}
            FinalizerStep::Add => {
                // Nothing may be added once deletion has begun, which a fresh read may bring to light (B-040).
                let add = |body: &Body| match body.deletion_timestamp() {
                    Some(_) => Ok(Vec::new()),
                    None => Ok(finalizers::add(body, &self.storages.finalizer).unwrap_or_default()),
                };
                let applied =
                    application::guarded(&self.target(body), body.clone(), add, &self.environment.patience()).await;
                return self.after(object, body, applied, patch).await;
            }
            FinalizerStep::Remove => {
                if !patch.is_empty() {
                    self.send(object, body, patch.take()).await;
                }
                return self.release(object, body).await;
            }
        }
        if plan.stealth {
            return self.send(object, body, patch.take()).await;
        }
        self.handle(object, memory, body, &spec, &plan, patch).await
    }

    /// Says why the cycle does what it does, for `--verbose`.
    fn trace(&self, body: &Body, memory: &mut Memory, plan: &Plan) {
        if plan.stealth {
            return;
        }
        let (name, reason, finalizer) = (body.name(), plan.reason, plan.finalizer);
        let due: Vec<&str> = plan.steps.iter().map(|step| step.id.as_str()).collect();
        tracing::debug!(name, %reason, ?finalizer, handlers = due.join(" "), "Handling");
        let awaited = || planning::deletion_is_awaited(&self.registry.changes, body);
        if reason == Reason::Free && !memory.deletion_done && awaited() {
            memory.deletion_done = true;
            // Whoever deleted it was faster than the finalizer, or another finalizer holds it (B-040).
            tracing::info!(
                name,
                "Deleted without the operator's finalizer; delete handlers are skipped"
            );
        }
    }

    /// Starts and stops timers; says whether any of them needs the finalizer (Z-2, Z-10).
    fn tend_timers(self: &Arc<Self>, object: &Object, memory: &mut Memory, body: &Body, spec: &TypedSpec) -> bool {
        if self.registry.timers.is_empty() {
            return false;
        }
        let essence = digest(&self.storages.diffbase.essence(body, &[]));
        let changed = memory.essence.is_some_and(|known| known != essence);
        memory.essence = Some(essence);
        memory.timers.show(body, spec, changed);
        let matching: Vec<&TimerHandler> = match body.deletion_timestamp() {
            Some(_) => Vec::new(),
            None => self
                .registry
                .timers
                .iter()
                .filter(|timer| timer.matches(body) && !memory.timers.is_over(&timer.id))
                .collect(),
        };
        // A timer begins only once its object cannot vanish under it.
        let secured = finalizers::is_present(body, &self.storages.finalizer);
        memory.timers.adjust(&matching, secured, &self.surroundings(object));
        matching.iter().any(|timer| !timer.optional) || memory.timers.hold()
    }

    fn surroundings(self: &Arc<Self>, object: &Object) -> Surroundings {
        let processor: Weak<Self> = Arc::downgrade(self);
        let key = object.key.clone();
        Surroundings {
            environment: self.environment.clone(),
            reference: self.registry.reference,
            serving: {
                let processor = Arc::clone(self);
                Arc::new(move || processor.serving())
            },
            ended: Arc::new(move || {
                if let Some(processor) = processor.upgrade()
                    && let Some(start) = processor.inventory.wake(&key)
                {
                    queueing::spawn(&processor, start);
                }
            }),
        }
    }

    /// Sends what raw-event handlers gathered.
    async fn send(&self, object: &mut Object, body: &Body, contents: PatchContents) -> Next {
        if contents.is_empty() {
            return Next::Rest;
        }
        match application::apply(&self.target(body), body, contents, &self.environment.patience()).await {
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

    /// Takes our finalizer away, guarded; then the object is deleted, or free of us.
    pub(super) async fn release(&self, object: &mut Object, body: &Body) -> Next {
        let remove = |body: &Body| Ok(finalizers::remove(body, &self.storages.finalizer).unwrap_or_default());
        let applied =
            application::guarded(&self.target(body), body.clone(), remove, &self.environment.patience()).await;
        self.after(object, body, applied, &Patch::default()).await
    }

    /// Goes on after a change of the finalizer.
    async fn after(&self, object: &mut Object, body: &Body, applied: Applied, patch: &Patch) -> Next {
        match applied {
            // The last finalizer of a deletion: the object is gone, its `DELETED` event is on the way (W-6).
            Applied::Patched(after) if after.deletion_timestamp().is_some() && after.finalizers().next().is_none() => {
                object.current = Some(after);
                Next::Rest
            }
            Applied::Patched(after) => {
                object.current = Some(after.clone());
                self.send(object, &after, patch.take()).await;
                Next::Again
            }
            Applied::Nothing => {
                self.send(object, body, patch.take()).await;
                Next::Rest
            }
            Applied::Refused(message) => {
                tracing::error!(
                    name = body.name(),
                    "The API server refused a change of the finalizer: {message}"
                );
                Next::After(self.environment.settings.execution.default_backoff)
            }
            Applied::Gone | Applied::Interrupted => Next::Rest,
        }
    }
}

/// Whether a state is later than the known one. Versions of one kind are numbers that grow; others are only equal or not.
fn is_newer(version: Option<&str>, known: Option<&str>) -> bool {
    let (Some(version), Some(known)) = (version, known) else {
        return true;
    };
    match (version.parse::<u64>(), known.parse::<u64>()) {
        (Ok(version), Ok(known)) => version > known,
        _ => version != known,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_version_is_newer_and_an_echo_is_not() {
        assert!(is_newer(Some("10"), Some("9")));
        assert!(!is_newer(Some("9"), Some("10")));
        assert!(!is_newer(Some("9"), Some("9")));
        assert!(is_newer(Some("b"), Some("a")));
        assert!(is_newer(None, Some("a")));
        assert!(is_newer(Some("1"), None));
    }
}
