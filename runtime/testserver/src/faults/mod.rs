//! Misfortune on demand: requests that fail, and watches that go wrong.

mod chaos;
mod handle;
mod skew;
mod streams;
mod traffic;

use std::time::Duration;

use jiff::SignedDuration;
use serde_json::json;
use tokio::sync::watch;

pub use self::chaos::{Chaos, Mischief};
pub use self::handle::Faults;
pub use self::traffic::Traffic;

pub(crate) use self::skew::shift_times;
pub(crate) use self::streams::{cut, disturb};

use crate::access::Attributes;
use crate::status::Status;

/// What happens to a request instead of, or beside, being served.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Failure {
    /// The request is refused with this code and is not executed.
    #[non_exhaustive]
    Status {
        /// The HTTP status code.
        code: u16,
        /// The reason; when empty, the usual one of the code.
        reason: String,
        /// Seconds for the `Retry-After` header and for `details.retryAfterSeconds`.
        retry_after: Option<u32>,
        /// Whether the body is written over several lines, as some servers and proxies do.
        indented: bool,
    },
    /// The connection breaks before the request is executed.
    Reset,
    /// The request is executed, but the connection breaks before the response.
    LostResponse,
    /// The request is executed, but the connection breaks in the middle of the response's body.
    Cut,
    /// The request is not executed, and no response ever comes.
    Hang,
    /// The request is executed after this long.
    Delay(Duration),
    /// A write is not executed, and answered with the object as it is, as if it had been.
    Unchanged,
    /// All times in the body of the request are moved by this much: the caller's clock is wrong.
    Skew(SignedDuration),
    /// A watch goes wrong after so many events.
    Watch {
        /// The events, bookmarks included, that still come as they should.
        after: usize,
        /// What happens then.
        how: Disturbance,
    },
}

/// How a watch goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Disturbance {
    /// The connection stays open, and nothing comes any more.
    Stall,
    /// The stream ends as a server ends it.
    Close,
    /// The connection breaks.
    Break,
    /// The connection breaks in the middle of an event.
    Cut,
    /// An error event of this code comes, and the stream ends.
    Error(u16),
    /// A failure of this code, written over several lines, comes in place of an event, and the stream ends.
    Status(u16),
    /// A line that is no JSON comes, and the stream goes on.
    Malformed,
    /// Every event comes twice.
    Duplicate,
    /// Every two events change places; a single one waits for the next.
    Reorder,
    /// Every event comes this much later.
    Late(Duration),
}

impl Failure {
    /// A refusal with the usual reason of its code.
    pub fn status(code: u16) -> Self {
        Self::Status {
            code,
            reason: String::new(),
            retry_after: None,
            indented: false,
        }
    }

    /// A refusal that asks to come again after some seconds.
    pub fn retry_after(code: u16, seconds: u32) -> Self {
        Self::Status {
            code,
            reason: String::new(),
            retry_after: Some(seconds),
            indented: false,
        }
    }

    /// Of a refusal: another reason than the usual one of its code.
    #[must_use]
    pub fn because(mut self, text: &str) -> Self {
        if let Self::Status { reason, .. } = &mut self {
            text.clone_into(reason);
        }
        self
    }

    /// Of a refusal: its body is written over several lines.
    #[must_use]
    pub fn over_several_lines(mut self) -> Self {
        if let Self::Status { indented, .. } = &mut self {
            *indented = true;
        }
        self
    }

    /// Whether this can happen to such a request at all.
    fn concerns(&self, wanted: &Attributes) -> bool {
        match self {
            Self::Watch { .. } => wanted.verb == "watch",
            Self::Unchanged => matches!(wanted.verb.as_str(), "patch" | "update"),
            _ => true,
        }
    }
}

impl From<Disturbance> for Failure {
    /// A watch that goes wrong from its first event on.
    fn from(how: Disturbance) -> Self {
        Self::Watch { after: 0, how }
    }
}

/// The faults of one server that are to come.
#[derive(Debug, Default)]
pub(crate) struct Planned {
    entries: Vec<Entry>,
    chaos: Option<Chaos>,
}

#[derive(Debug)]
struct Entry {
    traffic: Traffic,
    failure: Failure,
    times: usize,
}

impl Planned {
    /// Takes the failure that was planned first for such a request.
    pub(crate) fn take(&mut self, wanted: &Attributes, caller: &str, query: &str) -> Option<Failure> {
        let fits = |entry: &Entry| entry.traffic.includes(wanted, caller, query) && entry.failure.concerns(wanted);
        if let Some(entry) = self.entries.iter_mut().find(|entry| fits(entry)) {
            entry.times -= 1;
            let failure = entry.failure.clone();
            self.entries.retain(|entry| entry.times > 0);
            return Some(failure);
        }
        self.chaos.as_mut()?.roll(wanted, caller, query)
    }
}

pub(crate) fn refusal(code: u16, reason: &str, retry_after: Option<u32>) -> Status {
    let mut status = Status::of_code(code);
    if !reason.is_empty() {
        reason.clone_into(&mut status.reason);
    }
    if let Some(seconds) = retry_after {
        status.details = json!({"retryAfterSeconds": seconds});
    }
    status
}

/// What all connections are told, apart from changes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Signals {
    /// Events wait while this is set.
    pub(crate) held: bool,
    /// How often all watches were dropped.
    pub(crate) drops: usize,
    /// The error events sent so far.
    pub(crate) errors: Vec<u16>,
    /// Watches from a forgotten version are refused by HTTP, instead of by an event in the stream.
    pub(crate) refuse_old: bool,
    /// Nobody answers.
    pub(crate) stopped: bool,
}

/// The signals, shared with all watches.
pub(crate) type Switchboard = watch::Sender<Signals>;
