//! One cycle of one object (C-1): raw-event handlers, daemons and timers, the finalizer, change handlers, one patch.
//!
//! What to do is decided by `intents::planning`; here it is done.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;

use super::fitting::{Fit, digest};
use super::inventory::{self, Incoming, Inventory, Memory};
use super::throttling::{Fault, Throttle};
use crate::actions::application::{self, Applied, Patience};
use crate::clients::fetching::Serving;
use crate::clients::patching::Target;
use crate::configs::storages::Storages;
use crate::engines::readiness::Gate;
use crate::engines::spans;
use crate::intents::causes::Reason;
use crate::intents::environment::Environment;
pub(super) use crate::intents::live::TypedSpec;
use crate::intents::memos::Memo;
use crate::intents::planning::{self, FinalizerStep, Plan, Situation, Step};
use crate::intents::registries::{Misfit, ParseSpec, Registry};
use crate::intents::stoppers::StopReason;
use crate::structs::bodies::Body;
use crate::structs::events::{EventType, ObjectReference};
use crate::structs::patches::{Patch, PatchContents};
use crate::structs::slots::Slot;

/// What the worker does after a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Another cycle at once.
    Again,
    /// Another cycle after this time, or at the next event.
    After(Duration),
    /// Another cycle after this time, whatever happens meanwhile.
    Throttled(Duration),
    /// Nothing until the next event.
    Rest,
    /// The object is gone.
    Gone,
}

/// What a worker holds of its object while it works; it outlives the cycle in which something broke.
pub(crate) struct Object {
    pub(super) key: Box<str>,
    /// What came and was not looked at.
    queue: VecDeque<Incoming>,
    /// The freshest known state.
    pub(super) current: Option<Body>,
    /// What came last, be it older than that.
    latest: Option<Body>,
    /// What the indexes know.
    pub(super) indexed: Option<Body>,
    /// The typed spec of a state, or why it does not fit.
    typed: Option<(Body, Result<TypedSpec, Misfit>)>,
    /// What the handlers of raw events want.
    pub(super) observed: Patch,
    /// What the API server refused to store: it is sent again before any handler is called again.
    pub(super) unsent: Option<PatchContents>,
    /// A cycle is due.
    pub(super) due: bool,
    gone: bool,
    /// The worker's place among those that work at once.
    pub(super) slot: Slot,
}

impl Object {
    pub(super) fn receive(&mut self, batch: impl IntoIterator<Item = Incoming>) {
        self.queue.extend(batch);
    }

    /// The last that came of the object itself and was not looked at.
    pub(super) fn last(&self) -> Option<Incoming> {
        inventory::last(&self.queue)
    }

    /// Whether its end came, looked at or not.
    pub(super) fn has_ended(&self) -> bool {
        self.gone || self.queue.iter().any(Incoming::is_end)
    }

    /// Forgets what is made again when it is needed.
    pub(super) fn rest(&mut self) {
        self.typed = None;
    }

    /// The spec as its type has it, parsed once for each state.
    pub(super) fn typed(&mut self, parse: &ParseSpec, body: &Body) -> Result<TypedSpec, Misfit> {
        match &self.typed {
            Some((known, parsed)) if known.is_same(body) => parsed.clone(),
            _ => {
                let parsed = parse(body);
                self.typed = Some((body.clone(), parsed.clone()));
                parsed
            }
        }
    }
}

/// Handles the objects of one stream.
pub(crate) struct Processor {
    pub(crate) registry: Arc<Registry>,
    pub(crate) environment: Environment,
    pub(crate) inventory: Inventory,
    /// Closed until the indexes are complete.
    pub(super) gate: Gate,
    pub(super) storages: Storages,
    serving: Mutex<Serving>,
    /// The places of all workers; `None` for no limit.
    places: Option<Arc<Semaphore>>,
}

impl Processor {
    pub(crate) fn new(registry: Arc<Registry>, environment: Environment, gate: Gate) -> Self {
        let storages = Storages::new(&environment.settings.persistence);
        let limit = environment.settings.queueing.worker_limit;
        Self {
            registry,
            storages,
            places: limit.map(|limit| Arc::new(Semaphore::new(limit.min(Semaphore::MAX_PERMITS)))),
            environment,
            inventory: Inventory::default(),
            gate,
            serving: Mutex::new(Serving {
                status_subresource: false,
            }),
        }
    }

    /// Learns how the cluster serves the kind.
    pub(crate) fn serve(&self, serving: Serving) {
        *self.serving.lock().unwrap_or_else(PoisonError::into_inner) = serving;
    }

    pub(super) fn serving(&self) -> Serving {
        *self.serving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn object(&self, key: Box<str>) -> Object {
        Object {
            key,
            queue: VecDeque::new(),
            current: None,
            latest: None,
            indexed: None,
            typed: None,
            observed: Patch::default(),
            unsent: None,
            due: false,
            gone: false,
            slot: Slot::among(self.places.as_ref()),
        }
    }

    /// Says that something broke; returns how long the object is left alone now, or `None` until it changes.
    pub(super) fn complain(&self, object: &Object, throttle: &mut Throttle, fault: &Fault) -> Option<Duration> {
        let delay = throttle.advance(&self.environment.settings.queueing.error_delays);
        let then = match delay {
            Some(delay) => format!("trying again in {} s", delay.as_secs_f32()),
            None => "trying again when it changes".to_owned(),
        };
        let body = object.current.as_ref().or(object.latest.as_ref());
        let about = body.map(ObjectReference::to).unwrap_or_default();
        spans::handler_span(0, "", &about).in_scope(|| tracing::error!("Cannot process the object: {fault}; {then}"));
        delay
    }

    pub(super) fn patience(&self, object: &Object) -> Patience {
        self.environment.patience().resting(object.slot.clone())
    }

    pub(super) fn target(&self, body: &Body) -> Target {
        self.environment.target(self.registry.reference, self.serving(), body)
    }

    /// Takes in what was queued and runs one cycle on the freshest state, if one is due.
    ///
    /// An event is taken from the queue before its handlers are called: one that breaks something is not met again.
    pub(crate) async fn process(self: &Arc<Self>, object: &mut Object, memory: &mut Memory) -> Result<Next, Fault> {
        while let Some(incoming) = object.queue.pop_front() {
            match incoming {
                Incoming::Vanished => object.gone = true,
                Incoming::Wake => object.due = true,
                Incoming::Object(event_type, body) => {
                    object.gone = event_type == EventType::Deleted;
                    let known = object.current.as_ref().and_then(Body::resource_version);
                    let known = known.or(memory.version.as_deref());
                    let restored = event_type == EventType::Listed
                        && body.resource_version() != known
                        && self.inventory.is_before_listing(known);
                    if restored || is_newer(body.resource_version(), known) {
                        object.current = Some(body.clone());
                        object.due = true;
                    }
                    object.latest = Some(body.clone());
                    self.observe(event_type, &body, object, memory).await;
                    if event_type == EventType::Deleted {
                        // Whatever comes next under this key is another object, which has no uid (M-3).
                        memory.memo = None;
                    }
                }
            }
        }
        if object.gone {
            Self::see_off(memory, object.latest.as_ref());
            return Ok(Next::Gone);
        }
        let due = std::mem::take(&mut object.due);
        if due && object.current.is_none() {
            object.current = memory.background.body().or_else(|| object.latest.clone());
        }
        match object.current.clone() {
            Some(body) if due => self.cycle(object, memory, &body).await,
            // Only echoes of own patches: what their raw-event handlers want is all there is to send.
            _ => match object.latest.clone() {
                Some(body) => Ok(self.send_observed(object, &body).await),
                None => Ok(Next::Rest),
            },
        }
    }

    async fn cycle(self: &Arc<Self>, object: &mut Object, memory: &mut Memory, body: &Body) -> Result<Next, Fault> {
        let now = self.environment.clock.now();
        memory.version = body.resource_version().map(Into::into);
        let spec = match self.fit(body, object, memory) {
            Fit::Typed(spec) => spec,
            Fit::Hold => {
                memory.background.show_untyped(body);
                memory.background.stop(match body.deletion_timestamp() {
                    Some(_) => StopReason::RESOURCE_DELETED,
                    None => StopReason::FILTERS_MISMATCH,
                });
                if memory.background.is_at_rest() {
                    memory.background.forget_state(self.registry.has_idle_timers());
                }
                if object.unsent.is_some() {
                    return self.send_again(object, body).await;
                }
                return Ok(self.send_observed(object, body).await);
            }
            Fit::Release => {
                memory.background.show_untyped(body);
                memory.background.stop(StopReason::RESOURCE_DELETED);
                self.send_observed(object, body).await;
                if memory.background.hold() {
                    // The last of them wakes the object.
                    return Ok(Next::Rest);
                }
                return self.release(object, body).await;
            }
        };
        let background_needs = self.tend(object, memory, body, &spec);
        let memo = self.memo(memory);
        let situation = Situation {
            body,
            spec: &spec,
            memo: &memo,
            deleted_event: false,
            handlers: &self.registry.changes,
            initial: memory.noticed_by_listing && !memory.handled_once,
            deletion_done: memory.deletion_done,
            background_needs,
            storages: &self.storages,
            now,
        };
        let plan = planning::plan(&situation);
        // Progress that cannot be stored holds up handlers, but neither daemons nor the object's end.
        if object.unsent.is_some() && plan.finalizer != FinalizerStep::Remove {
            return self.send_again(object, body).await;
        }
        self.trace(body, memory, &plan);
        match plan.finalizer {
            FinalizerStep::Keep => {}
            FinalizerStep::Add => {
                // Nothing may be added once deletion has begun, which a fresh read may bring to light (B-040).
                let add = |body: &Body| match body.deletion_timestamp() {
                    Some(_) => Ok(Vec::new()),
                    None => Ok(self.storages.hold(body).unwrap_or_default()),
                };
                let patience = self.patience(object);
                let applied = application::guarded(&self.target(body), body.clone(), add, &patience).await;
                return self.after(object, body, applied).await;
            }
            FinalizerStep::Remove => {
                self.send_observed(object, body).await;
                return self.release(object, body).await;
            }
        }
        if plan.stealth {
            return Ok(self.send_observed(object, body).await);
        }
        self.handle(object, memory, body, &spec, plan).await
    }

    /// Says why the cycle does what it does, for `--verbose`.
    fn trace(&self, body: &Body, memory: &mut Memory, plan: &Plan) {
        let faults = (!plan.faults.is_empty()).then(|| digest(&plan.faults));
        if faults != std::mem::replace(&mut memory.faults, faults) {
            for (id, message) in &plan.faults {
                self.report_fault(body, id, message);
            }
        }
        if plan.stealth {
            return;
        }
        let (name, reason, finalizer) = (body.name(), plan.reason, plan.finalizer);
        let due: Vec<&str> = plan.steps.iter().map(Step::id).collect();
        tracing::debug!(name, %reason, ?finalizer, handlers = due.join(" "), "Handling");
        if reason == Reason::Free && !memory.deletion_done && plan.awaited {
            memory.deletion_done = true;
            // Whoever deleted it was faster than the finalizer, or another finalizer holds it (B-040).
            tracing::info!(
                name,
                "Deleted without the operator's finalizer; delete handlers are skipped"
            );
        }
    }

    /// The object's memo; made now if this is the first that is seen of the object (M-1, M-4).
    pub(super) fn memo(&self, memory: &mut Memory) -> Memo {
        let derive = || self.registry.memos.derive(&self.environment.memo);
        Arc::clone(memory.memo.get_or_insert_with(derive))
    }

    /// Sends what could not be stored before; until that is done, no handler is called.
    async fn send_again(&self, object: &mut Object, body: &Body) -> Result<Next, Fault> {
        let Some(contents) = object.unsent.clone() else {
            return Ok(Next::Again);
        };
        let patience = self.patience(object);
        let outgrown = planning::outgrown(body, body, &contents.merge);
        let applied = application::apply(&self.target(body), body, contents, &patience).await;
        match applied {
            Applied::Patched(after) => object.current = Some(after),
            Applied::Nothing => {}
            Applied::Gone | Applied::Interrupted => return Ok(Next::Rest),
            Applied::Refused(_) if outgrown.is_some() => object.current = outgrown,
            Applied::Refused(message) => return Err(refused_progress(&message)),
        }
        object.unsent = None;
        Ok(Next::Again)
    }

    /// Takes our finalizer away, guarded; then the object is deleted, or free of us.
    pub(super) async fn release(&self, object: &mut Object, body: &Body) -> Result<Next, Fault> {
        let remove = |body: &Body| Ok(self.storages.release(body).unwrap_or_default());
        let patience = self.patience(object);
        let applied = application::guarded(&self.target(body), body.clone(), remove, &patience).await;
        self.after(object, body, applied).await
    }

    /// Goes on after a change of the finalizer.
    async fn after(&self, object: &mut Object, body: &Body, applied: Applied) -> Result<Next, Fault> {
        match applied {
            // The last finalizer of a deletion: the object is gone, its `DELETED` event is on the way (W-6).
            Applied::Patched(after) if after.deletion_timestamp().is_some() && after.finalizers().next().is_none() => {
                object.current = Some(after);
                Ok(Next::Rest)
            }
            Applied::Patched(after) => {
                object.current = Some(after.clone());
                self.send_observed(object, &after).await;
                Ok(Next::Again)
            }
            Applied::Nothing => {
                self.send_observed(object, body).await;
                Ok(Next::Rest)
            }
            Applied::Refused(message) => Err(Fault(format!(
                "the API server refused a change of the finalizer: {message}"
            ))),
            Applied::Gone | Applied::Interrupted => Ok(Next::Rest),
        }
    }
}

pub(super) fn refused_progress(message: &str) -> Fault {
    Fault(format!("the API server refuses to store the progress: {message}"))
}

/// Whether a state is later than the known one. Versions of one kind are numbers that grow; others are only equal or not.
pub(super) fn is_newer(version: Option<&str>, known: Option<&str>) -> bool {
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

    // W-2
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
