//! Options whose value may come from the environment.

use std::time::Duration;

/// A value of the spec, or of the operator's environment when it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Configured<T> {
    /// As the spec says.
    Plain(T),
    /// As an environment variable says.
    Environment {
        /// The variable.
        name: String,
        /// What is taken if it is not set; without it the operator refuses to start.
        default: Option<T>,
    },
}

impl<T> Configured<T> {
    /// What it is as long as nobody sets a variable, if anything.
    #[must_use]
    pub fn unset(&self) -> Option<&T> {
        match self {
            Self::Plain(value) => Some(value),
            Self::Environment { default, .. } => default.as_ref(),
        }
    }

    /// The variable that must be set.
    #[must_use]
    pub fn needed(&self) -> Option<&str> {
        match self {
            Self::Environment { name, default: None } => Some(name),
            _ => None,
        }
    }
}

/// An option that is only there if the spec gives it.
pub type Optional<T> = Option<Configured<T>>;

/// What such an option is as long as nobody sets a variable.
#[must_use]
pub fn unset<T: Copy>(option: &Optional<T>) -> Option<T> {
    option.as_ref().and_then(Configured::unset).copied()
}

/// `backoff`.
#[derive(Clone, Debug, PartialEq)]
pub enum Backoff {
    /// The same wait after each error.
    Fixed(Configured<Duration>),
    /// A wait that doubles from error to error.
    Growing {
        /// The first one.
        initial: Duration,
        /// The longest one.
        max: Duration,
        /// Which part of it is random.
        jitter: Option<f64>,
    },
}
