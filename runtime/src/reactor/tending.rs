//! The timers of an object: started, shown each new state, asked to stop (T).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};

use super::fitting::digest;
use super::inventory::Memory;
use super::processing::{Object, Processor, TypedSpec, is_newer};
use super::queueing;
use crate::engines::timers::Surroundings;
use crate::intents::filters::Asked;
use crate::intents::handlers::TimerHandler;
use crate::intents::memos::Memo;
use crate::structs::bodies::Body;

impl Processor {
    /// Starts and stops timers; says whether any of them needs the finalizer (Z-2, Z-10).
    pub(super) fn tend_timers(
        self: &Arc<Self>,
        object: &Object,
        memory: &mut Memory,
        body: &Body,
        spec: &TypedSpec,
    ) -> bool {
        if self.registry.timers.is_empty() {
            return false;
        }
        memory.timers.show(body, spec, self.essence(body));
        let memo = self.memo(memory);
        let asked = Asked {
            body,
            spec,
            memo: &memo,
            view: None,
        };
        // A filter that fails leaves its timer as it is.
        let matches = |timer: &&TimerHandler| {
            !memory.timers.is_over(&timer.id)
                && timer.matches(&asked).unwrap_or_else(|message| {
                    self.report_fault(body, &timer.id, &message);
                    memory.timers.is_running(&timer.id)
                })
        };
        let matching: Vec<&TimerHandler> = match body.deletion_timestamp() {
            Some(_) => Vec::new(),
            None => self.registry.timers.iter().filter(matches).collect(),
        };
        // A timer begins only once its object cannot vanish under it.
        let secured = self.storages.is_held(body);
        let surroundings = self.surroundings(object, memo);
        memory.timers.adjust(&matching, secured, &surroundings);
        matching.iter().any(|timer| !timer.optional) || memory.timers.hold()
    }

    /// Tells the timers the newest state while the object waits after an error: they have no part in that, and one that
    /// is to stop must not run on.
    pub(super) fn glance(self: &Arc<Self>, object: &mut Object, memory: &mut Memory) {
        if self.registry.timers.is_empty() {
            return;
        }
        let Some(body) = self.inventory.newest(&object.key) else {
            return;
        };
        if !is_newer(body.resource_version(), memory.version.as_deref()) {
            return;
        }
        if body.deletion_timestamp().is_some() {
            return memory.timers.stop();
        }
        let tend = || match object.typed(&self.registry.parse_spec, &body) {
            Ok(spec) => {
                self.tend_timers(object, memory, &body, &spec);
            }
            Err(_) => memory.timers.stop(),
        };
        // What breaks here is met again, and reported, by the next cycle.
        drop(catch_unwind(AssertUnwindSafe(tend)));
    }

    /// What counts as a change of the object (T-8), for comparison.
    fn essence(&self, body: &Body) -> u64 {
        digest(&self.storages.essence(body, &[]))
    }

    fn surroundings(self: &Arc<Self>, object: &Object, memo: Memo) -> Surroundings {
        let processor: Weak<Self> = Arc::downgrade(self);
        let key = object.key.clone();
        Surroundings {
            environment: self.environment.clone(),
            reference: self.registry.reference,
            memo,
            serving: {
                let processor = Arc::clone(self);
                Arc::new(move || processor.serving())
            },
            essence: {
                let processor = Arc::clone(self);
                Arc::new(move |body| processor.essence(body))
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
}
