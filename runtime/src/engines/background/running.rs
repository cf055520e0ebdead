//! The loop of one task: rest, attempt, rest again.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use super::Surroundings;
use super::attempts::Series;
use super::schedules::{self, Next};
use super::steps::{Phase, Step};
use crate::actions::execution::{Growth, Verdict};
use crate::actions::invocation::describe;
use crate::intents::background::{BackgroundHandler, Schedule};
use crate::intents::environment::Environment;
use crate::intents::filters::Asked;
use crate::intents::stoppers::{StopReason, Stopped};

/// One handler at work for one object.
pub(super) struct Task {
    pub(super) handler: Arc<BackgroundHandler>,
    pub(super) object: Arc<Surroundings>,
    pub(super) stopped: Stopped,
    pub(super) phase: Phase,
}

impl Drop for Task {
    /// Tells of the task's end, however it comes; and only once the task counts as ended.
    fn drop(&mut self) {
        // One that the operator ended did not end by itself.
        if !self.stopped.reason().is_empty() {
            self.phase.change(Step::stop);
        }
        self.stopped.set(StopReason::DONE);
        self.phase.change(Step::end);
        Arc::clone(&self.object.host).wake(&self.object.key);
    }
}

impl Task {
    /// Runs until it is told to stop, or until it is over.
    pub(super) async fn run(self) {
        // Only the loop is at rest for long: what it does between is boxed, so that it costs nothing then.
        let _ = self.cycle().await;
    }

    async fn cycle(&self) -> ControlFlow<()> {
        self.rest(self.initial_delay()).await?;
        // Sharp timers keep to the grid of their first call.
        let mut grid = None;
        // What a series of attempts has come to; one begins with its first call, not with the wait for it (T-5, E-8).
        let mut series: Option<Series> = None;
        // How many series in a row have failed.
        let mut failures = 0;
        loop {
            let permit = self.turn().await?;
            let grid = *grid.get_or_insert_with(Instant::now);
            let seen = self.object.live.quiet().changes;
            let begun = series.take().unwrap_or_else(|| Series::begin(self.now()));
            let attempt = Box::pin(self.attempt(begun, permit));
            let Some((after, verdict)) = attempt.await else {
                return ControlFlow::Break(());
            };
            let schedule = &self.handler.schedule;
            let next = schedules::next(schedule, &verdict, self.pause(failures), grid, Instant::now());
            failures = match verdict {
                Verdict::Success => 0,
                Verdict::Failure(_) => failures.saturating_add(1),
                Verdict::Retry(_) => failures,
            };
            match next {
                Next::Retry(delay) => {
                    series = Some(after);
                    self.rest(delay).await?;
                }
                Next::Anew(delay) => self.rest(delay).await?,
                Next::WhenDisturbed => {
                    let disturbed = Box::pin(self.object.live.disturbed_since(seen));
                    self.unless_stopped(disturbed).await?;
                }
                Next::Over => return ControlFlow::Break(()),
            }
        }
    }

    pub(super) fn environment(&self) -> &Environment {
        self.object.host.environment()
    }

    pub(super) fn now(&self) -> Timestamp {
        self.environment().clock.now()
    }

    /// The wait before the first call of this task (G-3).
    fn initial_delay(&self) -> Duration {
        let Some(delay) = &self.handler.initial_delay else {
            return Duration::ZERO;
        };
        let (body, spec) = self.object.live.now();
        let asked = Asked {
            body: &body,
            spec: &spec,
            memo: &self.object.memo,
            view: None,
        };
        delay.of(&asked, fastrand::f64()).unwrap_or_else(|panic| {
            let message = describe(panic.as_ref());
            self.span(&body).in_scope(|| {
                tracing::error!(
                    "The initial delay of handler {} {message}; it begins at once",
                    self.handler.id
                );
            });
            Duration::ZERO
        })
    }

    /// The wait before a daemon is started again, after so many failures in a row.
    fn pause(&self, failures: u32) -> Duration {
        let default = Growth::fixed(self.environment().settings.execution.default_backoff);
        let growth = self.handler.limits.backoff.unwrap_or(default);
        growth.wait(failures, fastrand::f64())
    }

    /// Waits until a call may begin: the object was left alone for long enough (T-7), and there is room for one.
    async fn turn(&self) -> ControlFlow<(), Option<OwnedSemaphorePermit>> {
        loop {
            self.idle().await?;
            let limit = match self.handler.schedule {
                Schedule::Daemon { .. } => None,
                Schedule::Timer { .. } => self.environment().timer_calls.clone(),
            };
            let Some(limit) = limit else {
                return ControlFlow::Continue(None);
            };
            let permit = Box::pin(limit.acquire_owned());
            let permit = self.unless_stopped(permit).await?;
            // Whoever changed the object meanwhile has prolonged the wait.
            if self.left_to_idle().is_zero() {
                return ControlFlow::Continue(permit.ok());
            }
        }
    }

    /// Waits until the object was left alone for long enough; a change meanwhile prolongs the wait.
    async fn idle(&self) -> ControlFlow<()> {
        loop {
            match self.left_to_idle() {
                Duration::ZERO => return self.rest(Duration::ZERO).await,
                left => self.rest(left).await?,
            }
        }
    }

    fn left_to_idle(&self) -> Duration {
        let idle = self.handler.idle().unwrap_or_default();
        idle.saturating_sub(self.object.live.quiet().since.elapsed())
    }

    /// Sleeps; breaks off as soon as the task is to stop.
    async fn rest(&self, duration: Duration) -> ControlFlow<()> {
        // Not by way of a function that is given the future, which would make room for it twice.
        tokio::select! {
            biased;
            () = self.stopped.wait() => ControlFlow::Break(()),
            () = tokio::time::sleep(duration) => ControlFlow::Continue(()),
        }
    }

    async fn unless_stopped<T>(&self, wait: impl Future<Output = T> + Unpin) -> ControlFlow<(), T> {
        tokio::select! {
            biased;
            () = self.stopped.wait() => ControlFlow::Break(()),
            waited = wait => ControlFlow::Continue(waited),
        }
    }
}

#[cfg(test)]
#[path = "running_tests.rs"]
mod tests;
