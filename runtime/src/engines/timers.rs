//! Timers: for each object and timer one task that calls a function again and again (T).
//!
//! A timer sees the object live: the worker of the object puts each new state before it. It never dies of a failed
//! patch (T-15), never overlaps with itself (T-13), and waits for its stop request wherever it waits (T-11).

use std::any::Any;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tracing::Instrument as _;

use super::spans;
use super::supervision::{Ended, Step, Stopping, Supervised, supervise};
use crate::actions::application::{self, Applied};
use crate::actions::execution::{self, Defaults, ErrorsMode, Moment, Verdict};
use crate::clients::fetching::Serving;
use crate::configs::progress::Record;
use crate::intents::calling::Subject;
use crate::intents::environment::Environment;
use crate::intents::handlers::TimerHandler;
use crate::intents::invocation::TimerCall;
use crate::intents::memos::Memo;
use crate::intents::stoppers::Stopped;
use crate::structs::bodies::Body;
use crate::structs::events::ObjectReference;
use crate::structs::patches::{self, Patch, PatchContents};
use crate::structs::references::Reference;

/// What a timer that asks for no delay gets all the same: a loop without a pause would starve everything else.
const SHORTEST_DELAY: Duration = Duration::from_millis(10);

/// The timers of one object.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    running: Vec<Running>,
    live: Option<watch::Sender<Live>>,
}

/// One timer of one object.
#[derive(Debug)]
struct Running {
    id: String,
    /// The object waits for its end.
    holds: bool,
    task: Supervised,
}

/// The object as its timers see it.
#[derive(Clone, Debug)]
struct Live {
    body: Body,
    spec: Arc<dyn Any + Send + Sync>,
    /// Digest of the essence (T-8).
    essence: u64,
    quiet: Quiet,
    /// What `quiet` was before the last change.
    before: Quiet,
}

/// Since when nobody changed the object, its timers aside.
#[derive(Clone, Copy, Debug)]
struct Quiet {
    since: Instant,
    /// How often somebody did, for two changes may come in the same instant.
    changes: u64,
}

/// What a timer task needs besides its object.
#[derive(Clone)]
pub(crate) struct Surroundings {
    pub(crate) environment: Environment,
    pub(crate) reference: Reference,
    /// The object's memo, shared with its other handlers.
    pub(crate) memo: Memo,
    /// How the kind is served now: a timer outlives changes of its CRD.
    pub(crate) serving: Arc<dyn Fn() -> Serving + Send + Sync>,
    /// Tells two essences apart.
    pub(crate) essence: Arc<dyn Fn(&Body) -> u64 + Send + Sync>,
    /// Called when a timer has ended, on which the finalizer may wait.
    pub(crate) ended: Ended,
}

impl Timers {
    /// Shows the newest state to the running timers; another essence resets their idle clocks.
    pub(crate) fn show(&mut self, body: &Body, spec: &Arc<dyn Any + Send + Sync>, essence: u64) {
        let quiet = Quiet {
            since: Instant::now(),
            changes: 0,
        };
        let live = self.live.get_or_insert_with(|| {
            watch::Sender::new(Live {
                body: body.clone(),
                spec: Arc::clone(spec),
                essence,
                quiet,
                before: quiet,
            })
        });
        live.send_modify(|live| {
            live.body = body.clone();
            live.spec = Arc::clone(spec);
            if live.essence != essence {
                live.essence = essence;
                live.before = live.quiet;
                live.quiet = Quiet {
                    since: quiet.since,
                    changes: live.before.changes + 1,
                };
            }
        });
    }

    /// Starts the timers that match and do not run, and asks those that no longer match to stop (G-1, G-2, G-18).
    ///
    /// Only when `secured` may those start that need the finalizer. [`Timers::show`] must have been called before.
    pub(crate) fn adjust(&mut self, matching: &[&TimerHandler], secured: bool, surroundings: &Surroundings) {
        for running in &self.running {
            if !matching.iter().any(|timer| timer.id == running.id) {
                running.task.stop();
            }
        }
        // A stopped timer may start again once its old task is gone; one that ended by itself may not.
        self.running.retain(|running| running.task.step() != Step::Stopped);
        let Some(live) = &self.live else { return };
        for timer in matching.iter().filter(|timer| secured || timer.optional) {
            if !self.running.iter().any(|running| running.id == timer.id) {
                self.running.push(start(timer, live, surroundings));
            }
        }
    }

    /// Asks all to stop.
    pub(crate) fn stop(&self) {
        for running in &self.running {
            running.task.stop();
        }
    }

    /// The object as the timers see it.
    pub(crate) fn body(&self) -> Option<Body> {
        self.live.as_ref().map(|live| live.borrow().body.clone())
    }

    /// Whether the object has to wait for any of them, be it on its way out (Z-10, T-1).
    pub(crate) fn hold(&self) -> bool {
        self.running
            .iter()
            .any(|running| running.holds && running.task.step().is_awaited())
    }

    /// Whether this timer runs, and was not asked to stop.
    pub(crate) fn is_running(&self, id: &str) -> bool {
        self.running
            .iter()
            .any(|running| running.id == id && running.task.step() == Step::Running)
    }

    /// Whether this timer is over for this object and process (T-12).
    pub(crate) fn is_over(&self, id: &str) -> bool {
        self.running
            .iter()
            .any(|running| running.id == id && running.task.step() == Step::Over)
    }
}

impl Drop for Timers {
    /// Whoever forgets the object ends its timers (G-25).
    fn drop(&mut self) {
        self.stop();
    }
}

fn start(timer: &TimerHandler, live: &watch::Sender<Live>, surroundings: &Surroundings) -> Running {
    let environment = &surroundings.environment;
    // Asked by its object or by the operator, dropped alone or with all the others.
    let stopped = Stopped::within(&environment.stopping);
    let abort = environment.abort.child_token();
    let task = Task {
        timer: timer.clone(),
        live: live.clone(),
        stopped: stopped.clone(),
        surroundings: Surroundings {
            environment: Environment {
                abort: abort.clone(),
                ..environment.clone()
            },
            ..surroundings.clone()
        },
    };
    let about = ObjectReference::to(&live.borrow().body);
    let span = spans::handler_span(environment.number, &timer.id, &about);
    let stopping = Stopping {
        id: timer.id.clone(),
        stopped,
        cancellation: timer.cancellation,
        abort,
    };
    let (supervised, work) = supervise(task.run(), stopping, Arc::clone(&surroundings.ended));
    // The task is waited for by the operator's end, not by a handle.
    drop(environment.tasks.spawn(work.instrument(span)));
    Running {
        id: timer.id.clone(),
        holds: !timer.optional,
        task: supervised,
    }
}

struct Task {
    timer: TimerHandler,
    live: watch::Sender<Live>,
    stopped: Stopped,
    surroundings: Surroundings,
}

impl Task {
    /// Runs until it is told to stop, or for a one-shot until its outcome is final.
    async fn run(mut self) {
        if self.rest(self.timer.initial_delay.unwrap_or_default()).await.is_break() {
            return;
        }
        // Sharp timers keep to the grid of their first call.
        let mut grid = None;
        // What a series of attempts has come to; one begins with its first call, not with the wait for it (T-5, E-8).
        let mut series = None;
        loop {
            if self.idle().await.is_break() {
                return;
            }
            let grid = *grid.get_or_insert_with(Instant::now);
            let record = series.take().unwrap_or_else(|| Record::fresh(self.now()));
            let live = self.live.borrow().clone();
            let seen = live.quiet.changes;
            let Some((after, verdict)) = self.attempt(live, record).await else {
                return;
            };
            let pause = match verdict {
                Verdict::Retry(delay) => {
                    series = Some(after);
                    delay.max(SHORTEST_DELAY)
                }
                Verdict::Success | Verdict::Failure(_) => match self.timer.interval.map(|it| it.max(SHORTEST_DELAY)) {
                    Some(interval) if self.timer.sharp => until_grid(grid, interval, Instant::now()),
                    Some(interval) => interval,
                    None if self.timer.idle.is_some() => {
                        if self.disturbed_since(seen).await.is_break() {
                            return;
                        }
                        Duration::ZERO
                    }
                    None => return,
                },
            };
            if self.rest(pause).await.is_break() {
                return;
            }
        }
    }

    fn now(&self) -> jiff::Timestamp {
        self.surroundings.environment.clock.now()
    }

    /// One call and the sending of its patch; `None` if it was cut short.
    async fn attempt(&self, live: Live, record: Record) -> Option<(Record, Verdict)> {
        let environment = &self.surroundings.environment;
        let timer = &self.timer;
        let patch = Patch::default();
        let refusal = execution::refuse(&record, &timer.limits, environment.clock.now());
        let outcome = if let Some(message) = refusal {
            execution::Outcome::Permanent { message }
        } else {
            let subject = Subject {
                environment,
                body: &live.body,
                spec: &live.spec,
                memo: &self.surroundings.memo,
                patch: &patch,
            };
            let extras = (&timer.param, self.stopped.clone());
            let span = tracing::Span::current();
            let arguments = |common| TimerCall { common };
            subject
                .call(&timer.call, &record, &timer.limits, extras, span, arguments)
                .await?
        };
        let result = outcome.result().cloned();
        let defaults = Defaults {
            errors: ErrorsMode::Temporary,
            backoff: environment.settings.execution.default_backoff,
        };
        let moment = Moment::at(environment.clock.now());
        let (record, verdict) = execution::conclude(record, outcome, &timer.limits, defaults, moment);
        spans::report(&timer.id, &verdict, &record);
        let mut contents = patch.take();
        if let Some(result) = result {
            patches::deliver(&mut contents.merge, &timer.id, result);
        }
        let target = environment.target(self.surroundings.reference, (self.surroundings.serving)(), &live.body);
        // What cannot be written must not hold the object once the timer is to end.
        let patience = environment.patience().until(self.stopped.token());
        let own = self.foresee(&contents);
        match application::apply(&target, &live.body, contents, &patience).await {
            Applied::Interrupted => return None,
            Applied::Refused(message) => tracing::error!("The API server refused the patch: {message}"),
            Applied::Patched(after) => self.overlook(own, &after),
            // A `DELETED` event will end the timer.
            Applied::Gone | Applied::Nothing => {}
        }
        Some((record, verdict))
    }

    /// The essence now, and as it is to be after the timer's own patch, if that changes it.
    fn foresee(&self, contents: &PatchContents) -> Option<(u64, u64)> {
        let (body, now) = {
            let live = self.live.borrow();
            (live.body.clone(), live.essence)
        };
        let after = contents.applied_to(body.value()).ok()?;
        let then = (self.surroundings.essence)(&Body::new(after));
        (now != then).then_some((now, then))
    }

    /// Does not take the timer's own patch for a change of the object, whether its echo came already or is to come
    /// (B-065). If others have changed the object as well, that counts.
    fn overlook(&self, own: Option<(u64, u64)>, after: &Body) {
        let Some((now, then)) = own.filter(|(_, then)| (self.surroundings.essence)(after) == *then) else {
            return;
        };
        self.live.send_modify(|live| {
            if live.essence == now {
                live.essence = then;
            } else if live.essence == then {
                live.quiet = live.before;
            }
        });
    }

    /// Waits until the object was left alone for long enough; a change meanwhile prolongs the wait (T-7).
    async fn idle(&mut self) -> ControlFlow<()> {
        let Some(idle) = self.timer.idle else {
            return self.rest(Duration::ZERO).await;
        };
        loop {
            let quiet = self.live.borrow().quiet.since.elapsed();
            match idle.saturating_sub(quiet) {
                Duration::ZERO => return self.rest(Duration::ZERO).await,
                left => self.rest(left).await?,
            }
        }
    }

    /// Waits for a change after so many: a timer with `idle` alone is called once per quiet period (T-10).
    async fn disturbed_since(&self, changes: u64) -> ControlFlow<()> {
        let mut live = self.live.subscribe();
        let disturbed = live.wait_for(|live| live.quiet.changes != changes);
        tokio::select! {
            () = self.stopped.wait() => ControlFlow::Break(()),
            seen = disturbed => if seen.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) },
        }
    }

    /// Sleeps; breaks off as soon as the timer is to stop.
    async fn rest(&self, duration: Duration) -> ControlFlow<()> {
        tokio::select! {
            biased;
            () = self.stopped.wait() => ControlFlow::Break(()),
            () = tokio::time::sleep(duration) => ControlFlow::Continue(()),
        }
    }
}

/// The time to the next point of the grid `start + n × interval` that lies ahead of `now`; the interval is not zero.
fn until_grid(start: Instant, interval: Duration, now: Instant) -> Duration {
    let into = (now - start).as_nanos() % interval.as_nanos();
    interval.saturating_sub(Duration::from_nanos(u64::try_from(into).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    // T-3
    #[test]
    fn sharp_timers_keep_to_the_grid() {
        let start = Instant::now();
        let at = |seconds: f64| until_grid(start, Duration::from_secs(1), start + Duration::from_secs_f64(seconds));
        assert_eq!(at(0.3), Duration::from_millis(700));
        assert_eq!(
            at(1.0),
            Duration::from_secs(1),
            "a call as long as the interval starts at 0 and 2"
        );
        assert_eq!(at(2.25), Duration::from_millis(750), "no drift after a slow call");
    }
}
