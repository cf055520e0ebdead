//! How timers are told to end.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// Whether a timer was asked to stop, by its object or by the operator's end. Clones share the state.
#[derive(Clone, Debug, Default)]
pub struct Stopped(CancellationToken);

impl Stopped {
    /// Whether stopping was requested.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Returns once stopping is requested.
    pub async fn wait(&self) {
        self.0.cancelled().await;
    }

    /// Set also when the operator is to end (B-059).
    pub(crate) fn within(operator: &CancellationToken) -> Self {
        Self(operator.child_token())
    }

    pub(crate) fn token(&self) -> CancellationToken {
        self.0.clone()
    }

    pub(crate) fn set(&self) {
        self.0.cancel();
    }
}

/// How long a task may go on once it was asked to stop (G-12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cancellation {
    pub(crate) backoff: Option<Duration>,
    pub(crate) timeout: Option<Duration>,
}

impl Cancellation {
    /// The time from the request to stop until the task is dropped; `None` for never (G-14).
    ///
    /// Kopf cancels after the back-off and abandons after the timeout, which is what the task has for cleaning up. A
    /// dropped future cleans up nothing, so that it has both times before.
    pub(crate) fn limit(self) -> Option<Duration> {
        let backoff = self.backoff.unwrap_or_default();
        self.timeout.map(|timeout| timeout.saturating_add(backoff))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // G-12, G-14
    #[test]
    fn only_a_timeout_ends_a_task_by_force() {
        let limit = |backoff: Option<u64>, timeout: Option<u64>| {
            let [backoff, timeout] = [backoff, timeout].map(|it| it.map(Duration::from_secs));
            Cancellation { backoff, timeout }.limit().map(|limit| limit.as_secs())
        };
        assert_eq!(limit(None, None), None);
        assert_eq!(limit(Some(1), None), None);
        assert_eq!(limit(None, Some(3)), Some(3));
        assert_eq!(limit(Some(1), Some(3)), Some(4));
    }
}
