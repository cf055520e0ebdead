//! The object as its daemons and timers see it: as it is now, and since when nobody has changed it (K-11, T-8).

use std::any::Any;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::structs::bodies::Body;

/// The typed spec of a state.
pub(crate) type TypedSpec = Arc<dyn Any + Send + Sync>;

/// The newest known state of one object, shared by its daemons and timers.
#[derive(Debug)]
pub(crate) struct LiveObject {
    state: Mutex<State>,
    shown: Notify,
}

#[derive(Debug)]
struct State {
    body: Body,
    /// Of the last state that fitted the type.
    spec: TypedSpec,
    /// Grows with each state.
    number: u64,
    calm: Calm,
}

/// The idle clock of an object (T-8): all that has to be remembered of one that nobody looks at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calm {
    /// Digest of the essence.
    essence: u64,
    quiet: Quiet,
    /// What `quiet` was before the last change.
    before: Quiet,
}

impl Calm {
    /// It begins now.
    pub(crate) fn begin(essence: u64) -> Self {
        let quiet = Quiet {
            since: Instant::now(),
            changes: 0,
        };
        Self {
            essence,
            quiet,
            before: quiet,
        }
    }

    /// Another essence sets it back.
    pub(crate) fn see(&mut self, essence: u64) {
        if self.essence != essence {
            self.essence = essence;
            self.before = self.quiet;
            self.quiet = Quiet {
                since: Instant::now(),
                changes: self.before.changes + 1,
            };
        }
    }
}

/// Since when nobody changed the object, its own daemons and timers aside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quiet {
    pub(crate) since: Instant,
    /// How often somebody did, for two changes may come in the same instant.
    pub(crate) changes: u64,
}

impl LiveObject {
    pub(crate) fn new(body: Body, spec: TypedSpec, calm: Calm) -> Self {
        let state = State {
            body,
            spec,
            number: 0,
            calm,
        };
        Self {
            state: Mutex::new(state),
            shown: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows the newest state; another essence resets the idle clock.
    pub(crate) fn show(&self, body: &Body, spec: &TypedSpec, essence: u64) {
        let mut state = self.state();
        state.spec = Arc::clone(spec);
        state.calm.see(essence);
        state.follow(body);
        drop(state);
        self.shown.notify_waiters();
    }

    /// Shows a state that has no spec of its own: it does not fit the type, or is the object's last one.
    pub(crate) fn show_untyped(&self, body: &Body) {
        self.state().follow(body);
        self.shown.notify_waiters();
    }

    /// The object now, with its typed spec.
    pub(crate) fn now(&self) -> (Body, TypedSpec) {
        let state = self.state();
        (state.body.clone(), Arc::clone(&state.spec))
    }

    pub(crate) fn body(&self) -> Body {
        self.state().body.clone()
    }

    pub(crate) fn spec(&self) -> TypedSpec {
        Arc::clone(&self.state().spec)
    }

    /// The number of the state now.
    pub(crate) fn number(&self) -> u64 {
        self.state().number
    }

    pub(crate) fn quiet(&self) -> Quiet {
        self.state().calm.quiet
    }

    pub(crate) fn calm(&self) -> Calm {
        self.state().calm
    }

    /// Returns the number of a state that is not the one of this number, once there is one.
    pub(crate) async fn beyond(&self, number: u64) -> u64 {
        self.until(|state| state.number != number).await.number()
    }

    /// Returns once somebody has changed the object after so many changes.
    pub(crate) async fn disturbed_since(&self, changes: u64) {
        self.until(|state| state.calm.quiet.changes != changes).await;
    }

    async fn until(&self, reached: impl Fn(&State) -> bool) -> &Self {
        let mut shown = pin!(self.shown.notified());
        loop {
            // From here on no state is missed.
            shown.as_mut().enable();
            if reached(&self.state()) {
                return self;
            }
            shown.as_mut().await;
            shown.set(self.shown.notified());
        }
    }

    /// The essence now, and as it is to be after an own patch, if that changes it.
    pub(crate) fn foresee(&self, then: impl FnOnce(&Body) -> Option<u64>) -> Option<OwnChange> {
        let (body, now) = {
            let state = self.state();
            (state.body.clone(), state.calm.essence)
        };
        let then = then(&body)?;
        (now != then).then_some(OwnChange { now, then })
    }

    /// Does not take an own patch for a change of the object, whether its echo came already or is to come (B-065). If
    /// others have changed the object as well, that counts.
    pub(crate) fn overlook(&self, own: OwnChange) {
        let calm = &mut self.state().calm;
        if calm.essence == own.now {
            calm.essence = own.then;
        } else if calm.essence == own.then {
            calm.quiet = calm.before;
        }
    }
}

impl State {
    fn follow(&mut self, body: &Body) {
        if !self.body.is_same(body) {
            let known = self
                .body
                .resource_version()
                .is_some_and(|version| body.resource_version() == Some(version));
            self.number += u64::from(!known);
            self.body = body.clone();
        }
    }
}

/// What an own patch does to the essence, as digests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnChange {
    pub(crate) now: u64,
    pub(crate) then: u64,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    fn body(version: &str) -> Body {
        Body::new(json!({"metadata": {"name": "a", "resourceVersion": version}}))
    }

    fn spec(size: i64) -> TypedSpec {
        Arc::new(size)
    }

    // K-11
    #[tokio::test]
    async fn each_new_state_is_shown_once() {
        let live = LiveObject::new(body("1"), spec(1), Calm::begin(0));
        live.show(&body("1"), &spec(1), 0);
        assert_eq!(live.number(), 0, "the same state again");
        live.show(&body("2"), &spec(2), 0);
        assert_eq!(live.beyond(0).await, 1);
        assert_eq!(live.spec().downcast_ref::<i64>(), Some(&2));
        live.show_untyped(&body("3"));
        assert_eq!(live.body().resource_version(), Some("3"));
        assert_eq!(live.spec().downcast_ref::<i64>(), Some(&2));
        assert_eq!(live.beyond(1).await, 2);
    }

    // T-7, T-8
    #[tokio::test(start_paused = true)]
    async fn another_essence_resets_the_idle_clock_and_an_own_one_does_not() {
        let live = LiveObject::new(body("1"), spec(1), Calm::begin(10));
        let pause = || tokio::time::advance(Duration::from_secs(1));
        pause().await;
        live.show(&body("2"), &spec(1), 10);
        assert_eq!(live.quiet().since.elapsed().as_secs(), 1);
        live.show(&body("3"), &spec(1), 11);
        live.disturbed_since(0).await;
        assert_eq!(live.quiet().since.elapsed().as_secs(), 0);
        pause().await;
        // The echo comes after the answer, or before it.
        let own = live.foresee(|_| Some(12)).unwrap();
        live.overlook(own);
        live.show(&body("4"), &spec(1), 12);
        let own = live.foresee(|_| Some(13)).unwrap();
        live.show(&body("5"), &spec(1), 13);
        live.overlook(own);
        assert_eq!((live.quiet().since.elapsed().as_secs(), live.quiet().changes), (1, 1));
        assert!(live.foresee(|_| Some(13)).is_none());
    }
}
