//! How timers are told to end.

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
