//! Daemons and timers: for each object and handler one task, for as long as the object matches (G, T).
//!
//! A task sees the object live: the worker of the object puts each new state before it. It never dies of a failed patch
//! (G-24, T-15), never runs beside another one of its handler and object (G-2, T-13), and ends promptly from wherever
//! it rests once it is asked to (T-11). At rest it costs one small future: no thread, no polling, and no copy of the
//! object.
//!
//! `steps` is where in its life a task is, `running` its loop, `schedules` what follows an attempt, `attempts` one
//! attempt, and `supervision` how a running attempt is stopped.

mod attempts;
mod running;
mod schedules;
mod steps;
mod supervision;

use std::sync::Arc;

use self::running::Task;
use self::steps::{Phase, Step};
use crate::clients::patching::Target;
use crate::intents::background::BackgroundHandler;
use crate::intents::environment::Environment;
use crate::intents::live::{Calm, LiveObject, TypedSpec};
use crate::intents::memos::Memo;
use crate::intents::stoppers::{StopReason, Stopped};
use crate::structs::bodies::Body;

/// What tasks need of whoever handles the objects of their kind.
pub(crate) trait Host: Send + Sync {
    fn environment(&self) -> &Environment;

    /// Where a patch of this object goes: a task outlives changes of the object's CRD.
    fn target(&self, body: &Body) -> Target;

    /// Digest of what counts as a change of the object (T-8).
    fn essence(&self, body: &Body) -> u64;

    /// Called when a task has ended or is abandoned, on which the finalizer may wait, or another start.
    fn wake(self: Arc<Self>, key: &str);
}

/// What the tasks of one object share.
pub(crate) struct Surroundings {
    pub(crate) host: Arc<dyn Host>,
    /// Of the object, for its worker.
    pub(crate) key: Box<str>,
    /// The object's memo, shared with its other handlers.
    pub(crate) memo: Memo,
    pub(crate) live: Arc<LiveObject>,
}

/// The daemons and timers of one object.
#[derive(Debug, Default)]
pub(crate) struct Background {
    tasks: Vec<Supervised>,
    /// While there is anything to look at it.
    live: Option<Arc<LiveObject>>,
    /// The idle clock, while there is not.
    calm: Option<Box<Calm>>,
}

/// One task of one object, also after its end: one that ended by itself is not started again (G-6).
#[derive(Debug)]
struct Supervised {
    handler: Arc<BackgroundHandler>,
    stopped: Stopped,
    phase: Phase,
}

impl Supervised {
    /// Asks the task to stop; one that has ended stays as it is.
    fn stop(&self, reason: StopReason) {
        if self.phase.change(Step::stop).is_ending() {
            self.stopped.set(reason);
        }
    }
}

impl Background {
    /// Shows the newest state to the tasks; another essence resets their idle clocks.
    pub(crate) fn show(&mut self, body: &Body, spec: &TypedSpec, essence: u64) {
        if let Some(live) = &self.live {
            return live.show(body, spec, essence);
        }
        let mut calm = self.calm.take().map_or_else(|| Calm::begin(essence), |calm| *calm);
        calm.see(essence);
        self.live = Some(Arc::new(LiveObject::new(body.clone(), Arc::clone(spec), calm)));
    }

    /// Shows a state that does not fit its type, or is the object's last one.
    pub(crate) fn show_untyped(&self, body: &Body) {
        if let Some(live) = &self.live {
            live.show_untyped(body);
        }
    }

    /// Starts those that match and do not run, and asks those that do not match to stop, for this `reason` (G-1, G-2,
    /// G-18).
    ///
    /// Only when `secured` may those start that need the finalizer. [`Background::show`] must have been called before.
    /// Says whether any were started.
    pub(crate) fn adjust(
        &mut self,
        matching: &[&Arc<BackgroundHandler>],
        reason: StopReason,
        secured: bool,
        surroundings: impl FnOnce(&Arc<LiveObject>) -> Surroundings,
    ) -> bool {
        for task in &self.tasks {
            if !matching.iter().any(|handler| handler.id == task.handler.id) {
                task.stop(reason);
            }
        }
        // A stopped task may start again once it is gone; one that ended by itself may not.
        self.tasks.retain(|task| task.phase.get() != Step::Stopped);
        let Some(live) = &self.live else { return false };
        let starting = matching.iter().filter(|handler| secured || handler.optional);
        let starting = starting.filter(|handler| !self.tasks.iter().any(|task| task.handler.id == handler.id));
        let mut starting = starting.peekable();
        if starting.peek().is_none() {
            return false;
        }
        let surroundings = Arc::new(surroundings(live));
        let started: Vec<Supervised> = starting.map(|handler| start(handler, &surroundings)).collect();
        self.tasks.extend(started);
        true
    }

    /// Asks all to stop.
    pub(crate) fn stop(&self, reason: StopReason) {
        for task in &self.tasks {
            task.stop(reason);
        }
    }

    /// Whether there is no task, or only what is left of some.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.tasks.iter().all(|task| task.phase.get().has_ended())
    }

    /// Keeps no state of an object that no task looks at; but its idle clock, if it `has_idle_timers` (T-8).
    pub(crate) fn forget_state(&mut self, has_idle_timers: bool) {
        if let Some(live) = self.live.take() {
            self.calm = has_idle_timers.then(|| Box::new(live.calm()));
        }
    }

    /// The object as the tasks see it.
    pub(crate) fn body(&self) -> Option<Body> {
        self.live.as_ref().map(|live| live.body())
    }

    /// Whether the object has to wait for any of them, be it on its way out (Z-10, T-1).
    pub(crate) fn hold(&self) -> bool {
        self.tasks
            .iter()
            .any(|task| !task.handler.optional && task.phase.get().is_awaited())
    }

    /// Whether a task of this handler runs, and was not asked to stop.
    pub(crate) fn is_running(&self, id: &str) -> bool {
        self.step(id) == Some(Step::Running)
    }

    /// Whether this handler is over for this object and process (G-6, T-12).
    pub(crate) fn is_over(&self, id: &str) -> bool {
        self.step(id) == Some(Step::Over)
    }

    fn step(&self, id: &str) -> Option<Step> {
        let task = self.tasks.iter().find(|task| task.handler.id == id)?;
        Some(task.phase.get())
    }
}

fn start(handler: &Arc<BackgroundHandler>, surroundings: &Arc<Surroundings>) -> Supervised {
    let environment = surroundings.host.environment();
    // Asked by its object, or by the operator.
    let stopped = Stopped::within(&environment.stopping);
    let phase = Phase::default();
    let task = Task {
        handler: Arc::clone(handler),
        object: Arc::clone(surroundings),
        stopped: stopped.clone(),
        phase: phase.clone(),
    };
    // The task is waited for by the operator's end, not by a handle.
    drop(environment.tasks.spawn(task.run()));
    Supervised {
        handler: Arc::clone(handler),
        stopped,
        phase,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    // T-8
    #[tokio::test(start_paused = true)]
    async fn of_an_object_that_nobody_looks_at_its_idle_clock_is_kept() {
        let body = Body::new(json!({"metadata": {"name": "a"}, "spec": {"size": 1}}));
        let spec: TypedSpec = Arc::new(1);
        let mut background = Background::default();
        let mut quiet = |essence: u64, has_idle_timers: bool| {
            background.show(&body, &spec, essence);
            let quiet = background.live.as_ref().map(|live| live.quiet());
            background.forget_state(has_idle_timers);
            assert!(background.body().is_none());
            quiet.map(|quiet| (quiet.since.elapsed().as_secs(), quiet.changes))
        };
        assert_eq!(quiet(7, true), Some((0, 0)));
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(quiet(7, true), Some((5, 0)));
        assert_eq!(quiet(8, true), Some((0, 1)));
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(quiet(8, false), Some((5, 1)));
        assert_eq!(
            quiet(8, false),
            Some((0, 0)),
            "without a timer that asks, nothing is kept"
        );
    }
}
