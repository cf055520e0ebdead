//! How long an object waits after an error of the framework itself: nothing of it may hurt other objects (X).

use std::time::Duration;

/// What went wrong in a cycle that was not the error of a handler.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Fault(pub(crate) String);

/// The waits of one object.
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    errors: usize,
}

impl Throttle {
    /// The wait after another error: the next of the row, of which the last one repeats; `None` if there is no row
    ///
    pub(crate) fn advance(&mut self, delays: &[Duration]) -> Option<Duration> {
        let index = self.errors.min(delays.len().checked_sub(1)?);
        self.errors += 1;
        Some(delays[index])
    }

    /// A success: the row begins anew.
    pub(crate) fn reset(&mut self) {
        self.errors = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //
    #[test]
    fn errors_in_a_row_wait_longer_and_a_success_begins_anew() {
        let delays = [1, 2].map(Duration::from_secs);
        let mut throttle = Throttle::default();
        let waits: Vec<_> = (0..3).filter_map(|_| throttle.advance(&delays)).collect();
        assert_eq!(waits, [1, 2, 2].map(Duration::from_secs));
        throttle.reset();
        assert_eq!(throttle.advance(&delays), Some(delays[0]));
    }

    //
    #[test]
    fn without_a_row_there_is_no_wait() {
        assert_eq!(Throttle::default().advance(&[]), None);
    }
}
