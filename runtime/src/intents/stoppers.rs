//! How timers are told to end.

use tokio_util::sync::CancellationToken;

/// Whether a timer was asked to stop. Clones share the state.
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

    pub(crate) fn set(&self) {
        self.0.cancel();
    }
}
