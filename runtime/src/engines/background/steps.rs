//! Where in its life a task is.

use std::sync::{Arc, Mutex, PoisonError};

/// Where in its life a task is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Step {
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
    pub(super) fn stop(self) -> Self {
        match self {
            Self::Running => Self::Stopping,
            other => other,
        }
    }

    pub(super) fn abandon(self) -> Self {
        match self {
            Self::Running | Self::Stopping => Self::Abandoned,
            other => other,
        }
    }

    /// The end of a task that saw no request.
    pub(super) fn end(self) -> Self {
        match self {
            Self::Running => Self::Over,
            Self::Stopping | Self::Abandoned => Self::Stopped,
            other => other,
        }
    }

    /// Whether the object has to wait for the task (Z-10, T-1).
    pub(super) fn is_awaited(self) -> bool {
        matches!(self, Self::Running | Self::Stopping)
    }

    /// Whether it was asked to stop and has not ended yet.
    pub(super) fn is_ending(self) -> bool {
        matches!(self, Self::Stopping | Self::Abandoned)
    }

    pub(super) fn has_ended(self) -> bool {
        matches!(self, Self::Stopped | Self::Over)
    }
}

/// The step of a task, shared with the task.
#[derive(Clone, Debug, Default)]
pub(super) struct Phase(Arc<Mutex<Step>>);

impl Phase {
    pub(super) fn get(&self) -> Step {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn change(&self, change: fn(Step) -> Step) -> Step {
        let mut step = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *step = change(*step);
        *step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // G-6, G-7
    #[test]
    fn only_what_was_asked_to_stop_may_start_again() {
        assert_eq!(Step::Running.end(), Step::Over);
        assert_eq!(Step::Running.stop().end(), Step::Stopped);
        assert_eq!(Step::Running.stop().abandon().end(), Step::Stopped);
        assert_eq!(Step::Over.stop().abandon(), Step::Over);
    }
}
