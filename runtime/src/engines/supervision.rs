//! Tasks that live with an object: how they are asked to stop, and what becomes of those that do not.
//!
//! Whoever starts a task keeps a [`Supervised`] of it; nothing has to look at it again and again. The supervisor is
//! beside the task, and calls back once the object no longer has to wait for it.

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::intents::stoppers::{Cancellation, Stopped};

/// One task of one object, also after its end: one that ended by itself is not started again (G-6).
#[derive(Debug)]
pub(crate) struct Supervised {
    stopped: Stopped,
    phase: Phase,
}

impl Supervised {
    /// Asks the task to stop; one that has ended stays as it is.
    pub(crate) fn stop(&self) {
        if self.phase.change(Step::stop) == Step::Stopping {
            self.stopped.set();
        }
    }

    pub(crate) fn step(&self) -> Step {
        self.phase.get()
    }
}

/// Where in its life a task is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Step {
    #[default]
    Running,
    /// Asked to stop.
    Stopping,
    /// Still there, since nothing can end it; nobody waits for it any longer (G-16).
    Abandoned,
    /// Ended because it was asked to: it may start again (G-7).
    Stopped,
    /// Ended by itself, be it by a panic: over for this object and process (G-6, T-12).
    Over,
}

impl Step {
    fn stop(self) -> Self {
        match self {
            Self::Running => Self::Stopping,
            other => other,
        }
    }

    fn abandon(self) -> Self {
        match self {
            Self::Running | Self::Stopping => Self::Abandoned,
            other => other,
        }
    }

    fn end(self) -> Self {
        match self {
            Self::Running => Self::Over,
            Self::Stopping | Self::Abandoned => Self::Stopped,
            other => other,
        }
    }

    /// Whether the object has to wait for the task (Z-10, T-1).
    pub(crate) fn is_awaited(self) -> bool {
        matches!(self, Self::Running | Self::Stopping)
    }
}

/// The step of a task, shared with the task.
#[derive(Clone, Debug, Default)]
struct Phase(Arc<Mutex<Step>>);

impl Phase {
    fn get(&self) -> Step {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: fn(Step) -> Step) -> Step {
        let mut step = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *step = change(*step);
        *step
    }
}

/// Called when a task has ended or is abandoned, on which the finalizer may wait.
pub(crate) type Ended = Arc<dyn Fn() + Send + Sync>;

/// Tells of a task's end, however it comes; and only once the task counts as ended.
struct Ending {
    phase: Phase,
    ended: Ended,
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.phase.change(Step::end);
        (self.ended)();
    }
}

/// How a task is stopped.
pub(crate) struct Stopping {
    /// Of the handler, for the log.
    pub(crate) id: String,
    /// The task watches it and ends soon, of its own.
    pub(crate) stopped: Stopped,
    /// How long that may take.
    pub(crate) cancellation: Cancellation,
    /// Drops what the task is at, wherever it waits.
    pub(crate) abort: CancellationToken,
}

/// Puts a supervisor around the work of a task; what comes back is to be spawned.
pub(crate) fn supervise<W>(
    work: W,
    stopping: Stopping,
    ended: Ended,
) -> (Supervised, impl Future<Output = ()> + Send + use<W>)
where
    W: Future<Output = ()> + Send + 'static,
{
    let phase = Phase::default();
    let supervised = Supervised {
        stopped: stopping.stopped.clone(),
        phase: phase.clone(),
    };
    let ending = Ending { phase, ended };
    let task = async move {
        let id = &stopping.id;
        // Dropped last, when the work is gone.
        let ending = ending;
        let mut work = pin!(work);
        tokio::select! {
            biased;
            () = &mut work => return,
            () = overdue(&stopping) => stopping.abort.cancel(),
        }
        // What waits somewhere ends in this very moment; only a thread does not.
        tokio::select! {
            biased;
            () = &mut work => return tracing::warn!("Handler {id} did not stop in time and was dropped"),
            () = std::future::ready(()) => {}
        }
        tracing::warn!("Handler {id} did not stop in time and cannot be interrupted; nobody waits for it any longer");
        ending.phase.change(Step::abandon);
        (ending.ended)();
        work.await;
    };
    (supervised, task)
}

/// Returns when the task was asked to stop and its time is up.
async fn overdue(stopping: &Stopping) {
    stopping.stopped.wait().await;
    match stopping.cancellation.limit() {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::*;

    /// Runs work that ends when it is aborted, if `obeys`, and only after a minute else.
    async fn stopped_after(timeout: Option<u64>, obeys: bool) -> (Duration, Step) {
        let (stopped, abort) = (Stopped::default(), CancellationToken::new());
        let told = abort.clone();
        let work = async move {
            let minute = tokio::time::sleep(Duration::from_secs(60));
            tokio::select! {
                () = told.cancelled(), if obeys => {}
                () = minute => {}
            }
        };
        let stopping = Stopping {
            id: "tick".to_owned(),
            stopped,
            cancellation: Cancellation {
                backoff: None,
                timeout: timeout.map(Duration::from_secs),
            },
            abort,
        };
        let ended = Arc::new(tokio::sync::Notify::new());
        let callback: Ended = {
            let ended = Arc::clone(&ended);
            Arc::new(move || ended.notify_one())
        };
        let (supervised, task) = supervise(work, stopping, callback);
        tokio::spawn(task);
        let begin = Instant::now();
        supervised.stop();
        ended.notified().await;
        (begin.elapsed(), supervised.step())
    }

    // G-12, G-14, G-16, B-046
    #[tokio::test(start_paused = true)]
    async fn a_task_has_its_time_to_stop_and_no_more() {
        let secs = Duration::from_secs;
        assert_eq!(stopped_after(Some(3), true).await, (secs(3), Step::Stopped));
        assert_eq!(stopped_after(Some(3), false).await, (secs(3), Step::Abandoned));
        assert_eq!(stopped_after(None, true).await, (secs(60), Step::Stopped));
    }

    // G-6, G-7
    #[test]
    fn only_what_was_asked_to_stop_may_start_again() {
        assert_eq!(Step::Running.end(), Step::Over);
        assert_eq!(Step::Running.stop().end(), Step::Stopped);
        assert_eq!(Step::Running.stop().abandon().end(), Step::Stopped);
        assert_eq!(Step::Over.stop().abandon(), Step::Over);
    }
}
