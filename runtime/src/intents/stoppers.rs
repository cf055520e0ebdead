//! How daemons and timers are told to end, and in which stages (G-9 to G-12).

use std::fmt;
use std::ops::BitOr;
use std::pin::pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Why a daemon or a timer is to stop: a set of flags, which grows while it is stopping (G-10).
///
/// ```
/// use kopf_runtime::StopReason;
///
/// let reason = StopReason::RESOURCE_DELETED | StopReason::DAEMON_SIGNALLED;
/// assert!(reason.contains(StopReason::RESOURCE_DELETED));
/// assert_eq!(reason.to_string(), "RESOURCE_DELETED|DAEMON_SIGNALLED");
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct StopReason(u8);

impl StopReason {
    /// The daemon or timer has ended, whatever the cause.
    pub const DONE: Self = Self(1);
    /// The object no longer matches the handler's filters.
    pub const FILTERS_MISMATCH: Self = Self(1 << 1);
    /// The object is being deleted, or gone.
    pub const RESOURCE_DELETED: Self = Self(1 << 2);
    /// The operator is to end.
    pub const OPERATOR_EXITING: Self = Self(1 << 3);
    /// The handler has its `cancellation_backoff` to end by itself.
    pub const DAEMON_SIGNALLED: Self = Self(1 << 4);
    /// The handler has its `cancellation_timeout` to clean up before it is dropped.
    pub const DAEMON_CANCELLED: Self = Self(1 << 5);
    /// Nothing could end the handler, since it runs on a thread; nobody waits for it any longer.
    pub const DAEMON_ABANDONED: Self = Self(1 << 6);

    const NAMES: [(Self, &'static str); 7] = [
        (Self::DONE, "DONE"),
        (Self::FILTERS_MISMATCH, "FILTERS_MISMATCH"),
        (Self::RESOURCE_DELETED, "RESOURCE_DELETED"),
        (Self::OPERATOR_EXITING, "OPERATOR_EXITING"),
        (Self::DAEMON_SIGNALLED, "DAEMON_SIGNALLED"),
        (Self::DAEMON_CANCELLED, "DAEMON_CANCELLED"),
        (Self::DAEMON_ABANDONED, "DAEMON_ABANDONED"),
    ];
    const ANY: Self = Self(u8::MAX);

    /// Whether all of these flags are set.
    #[must_use]
    pub const fn contains(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// Whether no flag is set: nobody asked for an end.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    const fn has_any_of(self, flags: Self) -> bool {
        self.0 & flags.0 != 0
    }
}

impl BitOr for StopReason {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Debug for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StopReason({self})")
    }
}

impl fmt::Display for StopReason {
    /// The names of the flags, such as `FILTERS_MISMATCH|DONE`; nothing for no flag.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Self::NAMES.into_iter().filter(|(flag, _)| self.contains(*flag));
        let names: Vec<&str> = names.map(|(_, name)| name).collect();
        f.write_str(&names.join("|"))
    }
}

/// Whether a daemon or a timer was asked to stop, by its object or by the operator's end, and why (G-9). Clones share
/// the state, which stays readable after the end.
#[derive(Clone, Default)]
pub struct Stopped(Arc<Stopper>);

#[derive(Default)]
struct Stopper {
    own: Mutex<StopReason>,
    /// Wakes blocking functions when a flag is added.
    threads: Condvar,
    /// Wakes async functions then.
    tasks: Notify,
    /// The operator is to end, which tells all of them at once (B-059).
    operator: Option<CancellationToken>,
}

impl Stopped {
    /// Whether stopping was requested.
    #[must_use]
    pub fn is_set(&self) -> bool {
        !self.reason().is_empty()
    }

    /// Why, as far as it has come; no flag while nobody asked for an end.
    #[must_use]
    pub fn reason(&self) -> StopReason {
        *self.own() | self.exiting()
    }

    /// Returns once stopping is requested, and at once if it is already.
    pub async fn wait(&self) {
        self.until(StopReason::ANY).await;
    }

    /// Sleeps for `duration`, but only until stopping is requested. True if it is, false if the time is up.
    ///
    /// ```
    /// # use kopf_runtime::{Daemon, HandlerResult, Kind, secs};
    /// async fn watch_over<K: Kind>(Daemon { stopped, .. }: Daemon<K>) -> HandlerResult {
    ///     while !stopped.wait_for(secs(10)).await {
    ///         // … look after the object
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub async fn wait_for(&self, duration: Duration) -> bool {
        tokio::select! {
            biased;
            () = self.wait() => true,
            () = tokio::time::sleep(duration) => false,
        }
    }

    /// [`wait_for`](Self::wait_for) for [`blocking`](crate::blocking()) functions: it blocks the thread.
    #[must_use]
    pub fn block_for(&self, duration: Duration) -> bool {
        let begin = Instant::now();
        let mut own = self.own();
        loop {
            if !(*own | self.exiting()).is_empty() {
                return true;
            }
            let left = duration.saturating_sub(begin.elapsed());
            if left.is_zero() {
                return false;
            }
            let woken = self.0.threads.wait_timeout(own, left);
            own = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Returns once [`StopReason::DAEMON_CANCELLED`] is set: what is left of `cancellation_timeout` is for cleaning
    /// up, and then the function is dropped at its await point.
    pub async fn cancelled(&self) {
        self.until(StopReason::DAEMON_CANCELLED).await;
    }

    /// Requests an end, in unit tests of handlers.
    pub fn set_for_test(&self, reason: StopReason) {
        self.set(reason);
    }

    /// Set also when the operator is to end (B-059).
    pub(crate) fn within(operator: &CancellationToken) -> Self {
        Self(Arc::new(Stopper {
            operator: Some(operator.clone()),
            ..Stopper::default()
        }))
    }

    /// Adds flags.
    pub(crate) fn set(&self, reason: StopReason) {
        let mut own = self.own();
        *own = *own | reason;
        drop(own);
        self.0.threads.notify_all();
        self.0.tasks.notify_waiters();
    }

    fn own(&self) -> MutexGuard<'_, StopReason> {
        self.0.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn exiting(&self) -> StopReason {
        match &self.0.operator {
            Some(operator) if operator.is_cancelled() => StopReason::OPERATOR_EXITING,
            _ => StopReason::default(),
        }
    }

    /// Returns once any of these flags is set.
    async fn until(&self, wanted: StopReason) {
        let mut told = pin!(self.0.tasks.notified());
        loop {
            // From here on no flag is missed.
            told.as_mut().enable();
            if self.reason().has_any_of(wanted) {
                return;
            }
            match &self.0.operator {
                Some(operator) if wanted.contains(StopReason::OPERATOR_EXITING) => {
                    tokio::select! {
                        () = told.as_mut() => {}
                        () = operator.cancelled() => {}
                    }
                }
                _ => told.as_mut().await,
            }
            told.set(self.0.tasks.notified());
        }
    }
}

impl fmt::Debug for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stopped({})", self.reason())
    }
}

/// How long a call may go on once it was asked to stop (G-12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cancellation {
    pub(crate) backoff: Option<Duration>,
    pub(crate) timeout: Option<Duration>,
    /// How often it is said that a call is still ending; `None` for the operator's own interval.
    pub(crate) polling: Option<Duration>,
}

/// How far the stopping of a call has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It may end by itself; this is left of the time for it.
    Signalled(Duration),
    /// It is to clean up; this is left of the time for it.
    Cancelled(Duration),
    /// Its time is up.
    Overdue,
    /// It is waited for without a limit (G-14).
    Awaited,
}

impl Cancellation {
    /// The stage at an age that counts from the first request (G-11, G-12).
    ///
    /// Kopf cancels after the back-off and abandons after the timeout, which is what the task has for cleaning up. A
    /// dropped future cleans up nothing, so that it has both times before.
    pub(crate) fn stage(self, age: Duration) -> Stage {
        let backoff = self.backoff.unwrap_or_default();
        if let Some(left) = positive(backoff, age) {
            return Stage::Signalled(left);
        }
        match self.timeout {
            None => Stage::Awaited,
            Some(timeout) => match positive(backoff.saturating_add(timeout), age) {
                Some(left) => Stage::Cancelled(left),
                None => Stage::Overdue,
            },
        }
    }

    /// The time from the request to stop until the task is dropped; `None` for never (G-14).
    pub(crate) fn limit(self) -> Option<Duration> {
        let backoff = self.backoff.unwrap_or_default();
        self.timeout.map(|timeout| timeout.saturating_add(backoff))
    }
}

/// What is left of a limit, if anything is.
fn positive(limit: Duration, age: Duration) -> Option<Duration> {
    limit.checked_sub(age).filter(|left| !left.is_zero())
}

#[cfg(test)]
mod tests {
    use super::Stage::{Awaited, Cancelled, Overdue, Signalled};
    use super::*;

    const fn secs(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    // G-12, G-14
    #[test]
    fn only_a_timeout_ends_a_task_by_force() {
        let limit = |backoff: Option<u64>, timeout: Option<u64>| {
            let [backoff, timeout] = [backoff, timeout].map(|it| it.map(secs));
            let cancellation = Cancellation {
                backoff,
                timeout,
                polling: None,
            };
            (
                cancellation.limit(),
                [0, 1, 3, 4].map(|age| cancellation.stage(secs(age))),
            )
        };
        assert_eq!(limit(None, None), (None, [Awaited; 4]));
        assert_eq!(
            limit(Some(2), None),
            (None, [Signalled(secs(2)), Signalled(secs(1)), Awaited, Awaited])
        );
        assert_eq!(
            limit(None, Some(3)),
            (
                Some(secs(3)),
                [Cancelled(secs(3)), Cancelled(secs(2)), Overdue, Overdue]
            )
        );
        assert_eq!(
            limit(Some(1), Some(3)),
            (
                Some(secs(4)),
                [Signalled(secs(1)), Cancelled(secs(3)), Cancelled(secs(1)), Overdue]
            )
        );
    }

    // G-10
    #[test]
    fn reasons_are_flags_that_add_up() {
        let stopped = Stopped::default();
        assert!(stopped.reason().is_empty() && !stopped.is_set());
        assert_eq!(stopped.reason().to_string(), "");
        stopped.set(StopReason::FILTERS_MISMATCH);
        stopped.set(StopReason::DAEMON_SIGNALLED);
        stopped.set(StopReason::DONE);
        let reason = stopped.clone().reason();
        assert!(reason.contains(StopReason::DONE) && reason.contains(StopReason::FILTERS_MISMATCH));
        assert!(!reason.contains(StopReason::DONE | StopReason::OPERATOR_EXITING));
        assert_eq!(reason.to_string(), "DONE|FILTERS_MISMATCH|DAEMON_SIGNALLED");
    }

    // G-9
    #[tokio::test(start_paused = true)]
    async fn waiting_ends_with_the_time_or_at_once_when_stopped() {
        let stopped = Stopped::default();
        let begin = tokio::time::Instant::now();
        assert!(!stopped.wait_for(secs(5)).await);
        assert_eq!(begin.elapsed(), secs(5));
        let other = stopped.clone();
        let waiting = tokio::spawn(async move { (other.wait_for(secs(60)).await, other.reason()) });
        tokio::time::sleep(secs(7)).await;
        stopped.set(StopReason::RESOURCE_DELETED);
        assert_eq!(waiting.await.unwrap(), (true, StopReason::RESOURCE_DELETED));
        assert!(stopped.wait_for(secs(60)).await && stopped.block_for(secs(60)));
        assert_eq!(begin.elapsed(), secs(12));
    }

    // G-9: also on threads, where the clock is real.
    #[test]
    fn a_thread_waits_like_a_task() {
        let stopped = Stopped::default();
        assert!(!stopped.block_for(Duration::from_millis(5)));
        let other = stopped.clone();
        let waiting = std::thread::spawn(move || other.block_for(Duration::MAX));
        stopped.set(StopReason::FILTERS_MISMATCH);
        assert!(waiting.join().unwrap());
    }

    // G-20, B-059: one token for all of them.
    #[tokio::test]
    async fn the_operators_end_is_a_reason_for_all() {
        let operator = CancellationToken::new();
        let (first, second) = (Stopped::within(&operator), Stopped::within(&operator));
        let waiting = tokio::spawn({
            let first = first.clone();
            async move { first.wait().await }
        });
        second.set(StopReason::FILTERS_MISMATCH);
        assert!(!first.is_set());
        operator.cancel();
        waiting.await.unwrap();
        assert_eq!(first.reason(), StopReason::OPERATOR_EXITING);
        assert_eq!(
            second.reason(),
            StopReason::OPERATOR_EXITING | StopReason::FILTERS_MISMATCH
        );
        assert!(second.block_for(secs(60)));
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_chance_comes_with_the_cancellation_only() {
        let stopped = Stopped::default();
        stopped.set(StopReason::RESOURCE_DELETED);
        let chance = tokio::time::timeout(secs(9), stopped.cancelled()).await;
        assert!(chance.is_err());
        stopped.set(StopReason::DAEMON_CANCELLED);
        stopped.cancelled().await;
    }
}
