//! Before an attempt: whether it may be made. After it: what its outcome means for the handler's record (E).

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::configs::progress::Record;
use crate::configured::FromVariable;

/// What an arbitrary error of a handler means: one that is neither temporary nor permanent (E-2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorsMode {
    /// The handler is called again after its backoff.
    Temporary,
    /// The handler has failed for good.
    Permanent,
    /// The handler counts as successful, without a result.
    Ignored,
}

impl FromVariable for ErrorsMode {
    const EXPECTED: &'static str = "`temporary`, `permanent` or `ignored`";

    fn from_variable(text: &str) -> Option<Self> {
        match text {
            "temporary" => Some(Self::Temporary),
            "permanent" => Some(Self::Permanent),
            "ignored" => Some(Self::Ignored),
            _ => None,
        }
    }
}

/// How the waits after arbitrary errors grow (E, *Improve on*).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Growth {
    /// After the first attempt; doubled after each further one.
    pub(crate) initial: Duration,
    /// Never longer, whatever chance adds.
    pub(crate) max: Duration,
    /// By which share of itself a wait may be lengthened, at random, so that what failed together does not come back
    /// together.
    pub(crate) jitter: f64,
}

impl Growth {
    /// Always the same wait.
    pub(crate) const fn fixed(wait: Duration) -> Self {
        Self {
            initial: wait,
            max: wait,
            jitter: 0.0,
        }
    }

    /// The wait after an attempt that had so many before it; `random` is from 0 to 1.
    pub(crate) fn wait(self, attempts: u32, random: f64) -> Duration {
        // Beyond 2^64 nanoseconds, all waits are at their limit.
        let grown = self.initial.as_secs_f64() * 2_f64.powi(attempts.min(1000).cast_signed());
        let lengthened = grown.min(self.max.as_secs_f64()) * (1.0 + self.jitter * random);
        Duration::try_from_secs_f64(lengthened).map_or(self.max, |wait| wait.min(self.max))
    }
}

/// The limits of one handler's attempts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Limits {
    /// How many calls at most; `None` for no limit (E-7).
    pub(crate) retries: Option<u32>,
    /// How long all attempts together may take; `None` for no limit (E-8).
    pub(crate) timeout: Option<Duration>,
    /// The wait after an arbitrary error; `None` for the operator's default (E-5).
    pub(crate) backoff: Option<Growth>,
    /// What arbitrary errors mean; `None` for the default of the family (E-2).
    pub(crate) errors: Option<ErrorsMode>,
    /// The timeout also ends a running async call (E-10, improved).
    pub(crate) interrupt: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            retries: None,
            timeout: None,
            backoff: None,
            errors: None,
            interrupt: true,
        }
    }
}

/// What applies where a handler's own limits say nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Defaults {
    /// The mode of the handler's family (E-2).
    pub(crate) errors: ErrorsMode,
    /// The operator's backoff (E-5).
    pub(crate) backoff: Duration,
}

/// What a decision takes from outside, each once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) now: Timestamp,
    /// A random number from 0 to 1.
    pub(crate) random: f64,
}

impl Moment {
    /// This time, with a number drawn now.
    pub(crate) fn at(now: Timestamp) -> Self {
        Self {
            now,
            random: fastrand::f64(),
        }
    }
}

/// How one attempt ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// Done, perhaps with a result to deliver.
    Success(Option<Value>),
    /// To be repeated after the delay; without one, as soon as possible (E-12).
    Temporary { delay: Option<Duration>, message: String },
    /// Not to be repeated.
    Permanent { message: String },
    /// Any other error; the handler's mode decides.
    Arbitrary { message: String },
}

impl Outcome {
    /// The result to deliver, if there is one.
    pub(crate) fn result(&self) -> Option<&Value> {
        match self {
            Self::Success(result) => result.as_ref(),
            Self::Temporary { .. } | Self::Permanent { .. } | Self::Arbitrary { .. } => None,
        }
    }

    /// The text of the error, if it is one.
    pub(crate) fn error(&self) -> Option<&str> {
        match self {
            Self::Success(_) => None,
            Self::Temporary { message, .. } | Self::Permanent { message } | Self::Arbitrary { message } => {
                Some(message)
            }
        }
    }
}

/// The least time between two calls that nothing but the first has caused: without a pause, an error or a schedule that
/// wants none would starve everything else.
pub(crate) const SHORTEST_DELAY: Duration = Duration::from_millis(10);

/// What an outcome means.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// Final. Also an ignored error.
    Success,
    /// Final, with the reason.
    Failure(String),
    /// The next attempt is due after the delay.
    Retry(Duration),
}

/// How long a record's message may be, in bytes: it goes into an annotation.
const MESSAGE_LIMIT: usize = 1024;

/// The time since the handler's first attempt.
pub(crate) fn runtime(record: &Record, now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(record.started)).unwrap_or_default()
}

/// Why the next attempt must not be made, if so (E-9).
pub(crate) fn refuse(record: &Record, limits: &Limits, now: Timestamp) -> Option<String> {
    let runtime = runtime(record, now);
    match (limits.timeout, limits.retries) {
        (Some(timeout), _) if runtime >= timeout => Some(format!("timed out after {runtime:?}")),
        (_, Some(retries)) if record.retries >= retries => Some(format!("exceeded {} retries", record.retries)),
        _ => None,
    }
}

/// The record after an attempt, and what is to happen next (E-4 to E-12, E-16).
pub(crate) fn conclude(
    record: Record,
    outcome: Outcome,
    limits: &Limits,
    defaults: Defaults,
    Moment { now, random }: Moment,
) -> (Record, Verdict) {
    let look_ahead = |delay: Option<Duration>, message| look_ahead(&record, delay, message, limits, now);
    let next = match outcome {
        Outcome::Success(_) => Next::Success,
        Outcome::Permanent { message } => Next::Failure(message),
        Outcome::Temporary { delay, message } => look_ahead(delay, message),
        Outcome::Arbitrary { message } => match limits.errors.unwrap_or(defaults.errors) {
            ErrorsMode::Ignored => Next::Success,
            ErrorsMode::Permanent => Next::Failure(message),
            ErrorsMode::Temporary => {
                let growth = limits.backoff.unwrap_or(Growth::fixed(defaults.backoff));
                look_ahead(Some(growth.wait(record.retries, random)), message)
            }
        },
    };
    let record = Record {
        retries: record.retries.saturating_add(1),
        stopped: None,
        delayed: None,
        success: false,
        failure: false,
        message: None,
        ..record
    };
    match next {
        Next::Success => (
            Record {
                stopped: Some(now),
                success: true,
                ..record
            },
            Verdict::Success,
        ),
        Next::Failure(message) => {
            let text = Some(shortened(&message));
            (
                Record {
                    stopped: Some(now),
                    failure: true,
                    message: text,
                    ..record
                },
                Verdict::Failure(message),
            )
        }
        Next::Retry(delay, message) => {
            let delayed = delay.map(|delay| later(now, delay));
            let message = Some(shortened(&message));
            (
                Record {
                    delayed,
                    message,
                    ..record
                },
                Verdict::Retry(delay.unwrap_or_default()),
            )
        }
    }
}

/// The record of a handler that has done its part and waits for its sub-handlers until then; without a time, for as
/// short as possible. This is no attempt (U-8, *Improve on*).
///
/// # Errors
/// Why it has failed: its own time will be up (E-8).
pub(crate) fn awaiting(
    record: &Record,
    until: Option<Timestamp>,
    limits: &Limits,
    now: Timestamp,
) -> Result<Record, String> {
    let due = until.unwrap_or(now).max(now);
    match limits.timeout {
        Some(timeout) if runtime(record, due) >= timeout => Err(format!(
            "would time out after {timeout:?}: its sub-handlers have not finished"
        )),
        _ => Ok(Record {
            stopped: None,
            delayed: until,
            success: false,
            failure: false,
            message: None,
            ..record.clone()
        }),
    }
}

/// What follows an attempt.
enum Next {
    Success,
    Failure(String),
    Retry(Option<Duration>, String),
}

/// An attempt that would be refused is not waited for: the failure is final at once (E-7, E-8).
fn look_ahead(record: &Record, delay: Option<Duration>, message: String, limits: &Limits, now: Timestamp) -> Next {
    let then = runtime(record, now).saturating_add(delay.unwrap_or_default());
    match (limits.timeout, limits.retries) {
        (Some(timeout), _) if then >= timeout => Next::Failure(format!("would time out after {timeout:?}: {message}")),
        (_, Some(retries)) if record.retries.saturating_add(1) >= retries => {
            Next::Failure(format!("would exceed {retries} retries: {message}"))
        }
        _ => Next::Retry(delay, message),
    }
}

/// A time after `now`; the last representable one if the delay leads beyond it.
fn later(now: Timestamp, delay: Duration) -> Timestamp {
    SignedDuration::try_from(delay)
        .ok()
        .and_then(|delay| now.checked_add(delay).ok())
        .unwrap_or(Timestamp::MAX)
}

fn shortened(message: &str) -> String {
    let mut end = message.len().min(MESSAGE_LIMIT);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    message[..end].to_owned()
}

#[cfg(test)]
#[path = "execution_tests.rs"]
mod tests;
