//! How a running attempt is stopped: asked, then cancelled, then dropped, or abandoned where it cannot be (G-12).
//!
//! All of it happens beside the attempt itself, so that nothing has to look at it again and again, and it goes on when
//! the object is gone already (G-26).

use std::pin::pin;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::steps::{Phase, Step};
use crate::intents::stoppers::{Cancellation, Stage, StopReason, Stopped};

/// How an attempt is stopped.
pub(super) struct Supervision<'a> {
    /// Of the handler, for the log.
    pub(super) id: &'a str,
    /// Tells the attempt, and is told the stages.
    pub(super) stopped: &'a Stopped,
    pub(super) phase: &'a Phase,
    pub(super) cancellation: Cancellation,
    /// How often it is said that the attempt is still ending.
    pub(super) polling: Duration,
    /// The operator can wait no longer for what has no limit of its own (G-20).
    pub(super) exit: &'a CancellationToken,
    /// Drops what the attempt is at, wherever it waits.
    pub(super) abort: CancellationToken,
    /// Called when the attempt is abandoned.
    pub(super) abandoned: &'a (dyn Fn() + Send + Sync),
}

impl Supervision<'_> {
    /// Makes the attempt; `None` if it was dropped or abandoned on the way.
    pub(super) async fn over<T>(&self, attempt: impl Future<Output = Option<T>>) -> Option<T> {
        let mut attempt = pin!(attempt);
        tokio::select! {
            biased;
            ended = &mut attempt => return ended,
            () = self.overdue() => {}
        }
        let id = self.id;
        self.abort.cancel();
        // What waits somewhere ends in this very moment; only a thread does not.
        tokio::select! {
            biased;
            _ = &mut attempt => {
                tracing::warn!("Handler {id} did not stop in time and was dropped");
                return None;
            }
            () = std::future::ready(()) => {}
        }
        tracing::warn!("Handler {id} did not stop in time and cannot be interrupted; nobody waits for it any longer");
        self.stopped.set(StopReason::DAEMON_ABANDONED);
        self.phase.change(Step::abandon);
        (self.abandoned)();
        attempt.await;
        None
    }

    /// Returns when the attempt was asked to stop and its time is up; sets the flags of the stages on the way.
    async fn overdue(&self) {
        self.stopped.wait().await;
        // Threads are not told by the operator.
        self.stopped.set(self.stopped.reason());
        let begin = Instant::now();
        let mut awaited = false;
        loop {
            let left = match self.cancellation.stage(begin.elapsed()) {
                Stage::Signalled(left) => {
                    self.stopped.set(StopReason::DAEMON_SIGNALLED);
                    left
                }
                Stage::Cancelled(left) => {
                    self.stopped.set(StopReason::DAEMON_CANCELLED);
                    left
                }
                Stage::Overdue => return,
                Stage::Awaited => {
                    if std::mem::replace(&mut awaited, true) {
                        let (id, reason) = (self.id, self.stopped.reason());
                        let age = begin.elapsed().as_secs();
                        tracing::info!("Handler {id} is still ending after {age} s ({reason})");
                    }
                    self.polling
                }
            };
            let limited = self.cancellation.limit().is_some();
            tokio::select! {
                biased;
                () = self.exit.cancelled(), if !limited => {
                    self.stopped.set(StopReason::DAEMON_CANCELLED);
                    return;
                }
                () = tokio::time::sleep(left) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// How work ended that was asked to stop: after which time, with which flags.
    #[derive(Debug, PartialEq)]
    struct Ending(u64, String, Step);

    /// Runs work that ends when it is aborted, if `obeys`, and only after a minute else; when it is cancelled if
    /// `cleans_up`.
    async fn stopped_after(backoff: Option<u64>, timeout: Option<u64>, obeys: bool, cleans_up: bool) -> Ending {
        let (stopped, phase, abort) = (Stopped::default(), Phase::default(), CancellationToken::new());
        let told = abort.clone();
        let work = async {
            tokio::select! {
                () = told.cancelled(), if obeys => {}
                () = stopped.cancelled(), if cleans_up => {}
                () = tokio::time::sleep(Duration::from_secs(60)) => {}
            }
            Some(())
        };
        let begin = Instant::now();
        let abandoned = Arc::new(AtomicBool::new(false));
        let supervision = Supervision {
            id: "tick",
            stopped: &stopped,
            phase: &phase,
            cancellation: Cancellation {
                backoff: backoff.map(Duration::from_secs),
                timeout: timeout.map(Duration::from_secs),
                polling: None,
            },
            polling: Duration::from_secs(10),
            exit: &CancellationToken::new(),
            abort,
            abandoned: &|| abandoned.store(true, Ordering::Relaxed),
        };
        phase.change(Step::stop);
        stopped.set(StopReason::RESOURCE_DELETED);
        tokio::select! {
            _ = supervision.over(work) => {}
            () = async { while !abandoned.load(Ordering::Relaxed) { tokio::time::sleep(Duration::from_millis(100)).await } } => {}
        }
        Ending(begin.elapsed().as_secs(), stopped.reason().to_string(), phase.get())
    }

    // G-12, G-14, G-16, B-046
    #[tokio::test(start_paused = true)]
    async fn an_attempt_has_its_time_to_stop_and_no_more() {
        let flags = |more: &str| format!("RESOURCE_DELETED{more}");
        let all = "|DAEMON_SIGNALLED|DAEMON_CANCELLED";
        let cancelled = "|DAEMON_CANCELLED";
        let abandoned = "|DAEMON_CANCELLED|DAEMON_ABANDONED";
        assert_eq!(
            stopped_after(Some(2), Some(10), true, true).await,
            Ending(2, flags(all), Step::Stopping)
        );
        assert_eq!(
            stopped_after(Some(2), Some(10), true, false).await,
            Ending(12, flags(all), Step::Stopping)
        );
        assert_eq!(
            stopped_after(None, Some(3), true, false).await,
            Ending(3, flags(cancelled), Step::Stopping)
        );
        assert_eq!(
            stopped_after(None, Some(3), false, false).await,
            Ending(3, flags(abandoned), Step::Abandoned)
        );
        assert_eq!(
            stopped_after(None, None, true, true).await,
            Ending(60, flags(""), Step::Stopping)
        );
    }
}
