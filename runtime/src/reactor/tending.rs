//! The daemons and timers of an object: started, shown each new state, asked to stop (G, T).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::fitting::digest;
use super::inventory::Memory;
use super::processing::{Object, Processor, TypedSpec, is_newer};
use super::queueing;
use crate::clients::patching::Target;
use crate::engines::background::{Host, Surroundings};
use crate::intents::background::BackgroundHandler;
use crate::intents::environment::Environment;
use crate::intents::filters::Asked;
use crate::intents::stoppers::StopReason;
use crate::structs::bodies::Body;

impl Processor {
    /// Starts and stops daemons and timers; says whether any of them needs the finalizer (Z-2, Z-10).
    pub(super) fn tend(self: &Arc<Self>, object: &Object, memory: &mut Memory, body: &Body, spec: &TypedSpec) -> bool {
        if self.registry.background.is_empty() {
            return false;
        }
        // What ends from here on is told by its wake-up, which may need the state.
        let at_rest = memory.background.is_at_rest();
        memory.background.show(body, spec, self.essence(body));
        let memo = self.memo(memory);
        let asked = Asked {
            body,
            spec,
            memo: &memo,
            view: None,
        };
        // A filter that fails leaves its handler as it is.
        let matches = |handler: &&Arc<BackgroundHandler>| {
            !memory.background.is_over(&handler.id)
                && handler.matches(&asked).unwrap_or_else(|message| {
                    self.report_fault(body, &handler.id, &message);
                    memory.background.is_running(&handler.id)
                })
        };
        let (matching, reason) = if body.deletion_timestamp().is_some() {
            (Vec::new(), StopReason::RESOURCE_DELETED)
        } else {
            let matching = self.registry.background.iter().filter(matches).collect();
            (matching, StopReason::FILTERS_MISMATCH)
        };
        // A handler begins only once its object cannot vanish under it.
        let secured = self.storages.is_held(body);
        let host: Arc<dyn Host> = Arc::clone(self) as Arc<dyn Host>;
        let started = memory
            .background
            .adjust(&matching, reason, secured, |live| Surroundings {
                host,
                key: object.key.clone(),
                memo,
                live: Arc::clone(live),
            });
        if at_rest && !started {
            memory.background.forget_state(self.registry.has_idle_timers());
        }
        matching.iter().any(|handler| !handler.optional) || memory.background.hold()
    }

    /// Tells daemons and timers the newest state while the object waits after an error: they have no part in that, and
    /// one that is to stop must not run on.
    pub(super) fn glance(self: &Arc<Self>, object: &mut Object, memory: &mut Memory) {
        if self.registry.background.is_empty() {
            return;
        }
        let Some(body) = self.inventory.newest(&object.key) else {
            return;
        };
        if !is_newer(body.resource_version(), memory.version.as_deref()) {
            return;
        }
        if body.deletion_timestamp().is_some() {
            memory.background.show_untyped(&body);
            return memory.background.stop(StopReason::RESOURCE_DELETED);
        }
        let tend = || match object.typed(&self.registry.parse_spec, &body) {
            Ok(spec) => {
                self.tend(object, memory, &body, &spec);
            }
            Err(_) => memory.background.stop(StopReason::FILTERS_MISMATCH),
        };
        // What breaks here is met again, and reported, by the next cycle.
        drop(catch_unwind(AssertUnwindSafe(tend)));
    }

    /// Shows the last state of an object to those of its daemons and timers that still run, and asks them to stop
    /// (G-25, G-26).
    pub(super) fn see_off(memory: &mut Memory, last: Option<&Body>) {
        if let Some(body) = last {
            memory.background.show_untyped(body);
        }
        memory.background.stop(StopReason::RESOURCE_DELETED);
    }
}

impl Host for Processor {
    fn environment(&self) -> &Environment {
        &self.environment
    }

    fn target(&self, body: &Body) -> Target {
        Processor::target(self, body)
    }

    fn essence(&self, body: &Body) -> u64 {
        // Nobody asks since when an object is left alone, unless there is a timer that wants to know.
        if self.registry.has_idle_timers() {
            digest(&self.storages.essence(body, &[]))
        } else {
            0
        }
    }

    fn wake(self: Arc<Self>, key: &str) {
        if self.environment.stopping.is_cancelled() {
            return;
        }
        if let Some(start) = self.inventory.wake(key) {
            queueing::spawn(&self, start);
        }
    }
}
