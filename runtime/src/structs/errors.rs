//! What a handler answers: success with a result, a temporary or a permanent error, or any other error.
//!
//! `Temporary` and `Permanent` are plain errors. They keep their meaning wherever they stand in the chain of an
//! [`anyhow::Error`], so that context can be added on the way up. All other errors are *arbitrary*: retried after
//! the handler's `backoff` unless its [`ErrorsMode`](crate::ErrorsMode) says otherwise (E-1 to E-4).

use std::fmt;
use std::time::Duration;

/// What handlers return. `T` is the result: anything that serializes; `()` and `None` deliver nothing.
///
/// A result is stored at `.status.<handler id>` of the object (R-1).
pub type HandlerResult<T = ()> = anyhow::Result<T>;

/// An error that goes away by itself: the handler is called again after a delay.
///
/// ```
/// use kopf_runtime::{HandlerResult, Temporary, secs};
///
/// fn check(ready: bool) -> HandlerResult {
///     if !ready {
///         return Err(Temporary::after(secs(10), "not ready yet").into());
///     }
///     Ok(())
/// }
/// assert!(check(false).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Temporary {
    pub(crate) message: String,
    pub(crate) delay: Option<Duration>,
}

impl Temporary {
    /// The delay of [`Temporary::new`], fixed as in Kopf (E-5).
    pub const DEFAULT_DELAY: Duration = Duration::from_secs(60);

    /// To be tried again after 60 seconds.
    pub fn new(message: impl Into<String>) -> Self {
        Self::after(Self::DEFAULT_DELAY, message)
    }

    /// To be tried again after `delay`.
    pub fn after(delay: Duration, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            delay: Some(delay),
        }
    }

    /// To be tried again as soon as possible (E-12).
    pub fn soon(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            delay: None,
        }
    }
}

impl fmt::Display for Temporary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Temporary {}

/// An error that no further attempt can mend: the handler is not called again for this change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permanent {
    pub(crate) message: String,
}

impl Permanent {
    /// Gives up with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

impl fmt::Display for Permanent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Permanent {}

/// Decides about an error on the spot.
///
/// ```
/// use kopf_runtime::{HandlerResult, OrRetry, secs};
///
/// fn replicas(text: &str) -> HandlerResult<u32> {
///     text.parse().or_give_up()
/// }
/// fn reach(address: &str) -> HandlerResult {
///     std::net::ToSocketAddrs::to_socket_addrs(address).or_retry(secs(5))?;
///     Ok(())
/// }
/// # assert!(replicas("x").is_err());
/// # let _ = reach;
/// ```
pub trait OrRetry<T> {
    /// Makes the error temporary: tried again after `delay`.
    fn or_retry(self, delay: Duration) -> HandlerResult<T>;
    /// Makes the error permanent.
    fn or_give_up(self) -> HandlerResult<T>;
}

impl<T, E: Into<anyhow::Error>> OrRetry<T> for Result<T, E> {
    fn or_retry(self, delay: Duration) -> HandlerResult<T> {
        self.map_err(|error| {
            let error = error.into();
            let message = chain(&error);
            error.context(Temporary::after(delay, message))
        })
    }

    fn or_give_up(self) -> HandlerResult<T> {
        self.map_err(|error| {
            let error = error.into();
            let message = chain(&error);
            error.context(Permanent::new(message))
        })
    }
}

/// The whole chain of causes on one line.
pub(crate) fn chain(error: &anyhow::Error) -> String {
    format!("{error:#}")
}

/// The causes of an error, outermost first, each said once: some transports repeat the cause in their text.
pub(crate) fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.contains(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    text
}
