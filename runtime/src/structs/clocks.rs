//! The time of day. Each decision reads it once and passes it on.

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// Where the time of day comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Clock {
    /// The system's clock.
    System,
    /// Follows tokio's clock from a given moment on, so that tests which pause the one pause the other.
    Tokio {
        /// The time of day at `since`.
        base: Timestamp,
        /// When the clock was made.
        since: Instant,
    },
}

impl Clock {
    /// A clock that shows the time of day now and from then on follows tokio's.
    pub(crate) fn tokio() -> Self {
        Self::Tokio {
            base: Timestamp::now(),
            since: Instant::now(),
        }
    }

    pub(crate) fn now(self) -> Timestamp {
        match self {
            Self::System => Timestamp::now(),
            Self::Tokio { base, since } => {
                let elapsed = SignedDuration::try_from(since.elapsed()).unwrap_or(SignedDuration::MAX);
                base.checked_add(elapsed).unwrap_or(Timestamp::MAX)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_time_of_day_stands_still_with_tokios_clock() {
        let clock = Clock::tokio();
        let before = clock.now();
        assert_eq!(clock.now(), before);
        tokio::time::advance(Duration::from_secs(90)).await;
        assert_eq!(clock.now().duration_since(before), SignedDuration::from_secs(90));
    }
}
