//! Scripted misfortune: failing requests, and what happens to open watches.

use std::time::Duration;

use serde_json::json;
use tokio::sync::watch;

use crate::status::Status;

/// What happens to a request instead of, or beside, being served.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// The request is refused with this code and is not executed.
    Status {
        /// The HTTP status code.
        code: u16,
        /// The reason; when empty, the usual one of the code.
        reason: String,
        /// Seconds for the `Retry-After` header and for `details.retryAfterSeconds`.
        retry_after: Option<u32>,
    },
    /// The connection breaks before the request is executed.
    Reset,
    /// The request is executed, but the connection breaks before the response.
    LostResponse,
    /// The request is not executed, and no response ever comes.
    Hang,
    /// The request is executed after this long.
    Delay(Duration),
}

impl Failure {
    /// A refusal with the usual reason of its code.
    pub fn status(code: u16) -> Self {
        Self::Status {
            code,
            reason: String::new(),
            retry_after: None,
        }
    }

    /// A refusal that asks to come again after some seconds.
    pub fn retry_after(code: u16, seconds: u32) -> Self {
        Self::Status {
            code,
            reason: String::new(),
            retry_after: Some(seconds),
        }
    }
}

/// The scripted faults of one server.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    planned: Vec<Planned>,
}

#[derive(Debug)]
struct Planned {
    method: String,
    part: String,
    failure: Failure,
    times: usize,
}

impl Faults {
    pub(crate) fn plan(&mut self, method: &str, part: &str, failure: Failure, times: usize) {
        self.planned.push(Planned {
            method: method.to_uppercase(),
            part: part.into(),
            failure,
            times,
        });
    }

    pub(crate) fn clear(&mut self) {
        self.planned.clear();
    }

    /// Takes the failure that was planned first for such a request.
    pub(crate) fn take(&mut self, method: &str, path_and_query: &str) -> Option<Failure> {
        let fits = |planned: &Planned| {
            (planned.method.is_empty() || planned.method == method) && path_and_query.contains(&planned.part)
        };
        let planned = self
            .planned
            .iter_mut()
            .find(|planned| planned.times > 0 && fits(planned))?;
        planned.times -= 1;
        let failure = planned.failure.clone();
        self.planned.retain(|planned| planned.times > 0);
        Some(failure)
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

/// What open watches are told, apart from changes.
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
}

/// The signals, shared with all watches.
pub(crate) type Switchboard = watch::Sender<Signals>;
