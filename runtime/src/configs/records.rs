//! Records of where handlers stand, and their form in storages (P-1 to P-9).

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::conventions;

/// Where one handler stands (P-1).
///
/// Storages keep it in a form of their own, or in Kopf's:
///
/// ```
/// use kopf_runtime::jiff::Timestamp;
/// use kopf_runtime::storages::Record;
///
/// let now = Timestamp::now();
/// let record = Record::parse(r#"{"retries":2,"success":false,"failure":false,"message":"busy"}"#, now).unwrap();
/// assert_eq!((record.retries, record.message.as_deref()), (2, Some("busy")));
/// assert_eq!(record.started, now, "what a record does not say is as if it began now");
/// assert_eq!(Record::parse("no record", now), None);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Record {
    /// The first attempt or selection.
    pub started: Timestamp,
    /// When it became final; `None` while it is not.
    pub stopped: Option<Timestamp>,
    /// Not to be called before; `None` for at once.
    pub delayed: Option<Timestamp>,
    /// The reason it is recorded for.
    pub purpose: Option<String>,
    /// Concluded attempts (E-6).
    pub retries: u32,
    /// Final, and well.
    pub success: bool,
    /// Final, and not well.
    pub failure: bool,
    /// The text of the last error.
    pub message: Option<String>,
    /// Sub-handlers at any depth, sorted.
    pub subrefs: Option<Vec<String>>,
    /// Not Kopf's: a merge patch from the diff-base to the essence that the handler last finished on.
    pub handled: Option<Value>,
}

impl Record {
    /// A handler that was never called (P-5).
    pub(crate) fn fresh(now: Timestamp) -> Self {
        Self {
            started: now,
            stopped: None,
            delayed: None,
            purpose: None,
            retries: 0,
            success: false,
            failure: false,
            message: None,
            subrefs: None,
            handled: None,
        }
    }

    /// The record of a handler that has nothing left to do.
    pub(crate) fn settled(self, now: Timestamp) -> Self {
        if self.finished() {
            return self;
        }
        Self {
            stopped: Some(now),
            delayed: None,
            success: true,
            message: None,
            ..self
        }
    }

    /// Whether the handler is not to be called any more (P-7).
    pub(crate) fn finished(&self) -> bool {
        self.success || self.failure
    }

    /// How long until the handler is due; zero if it is, or if it has finished (P-7, P-9).
    pub(crate) fn delay(&self, now: Timestamp) -> Duration {
        let delayed = self.delayed.filter(|_| !self.finished()).unwrap_or(now);
        Duration::try_from(now.duration_until(delayed)).unwrap_or_default()
    }

    /// Reads a record from its text; what it does not say is as if it began now (P-5). `None` if the text is no record.
    #[must_use]
    pub fn parse(text: &str, now: Timestamp) -> Option<Self> {
        Self::from_json(&serde_json::from_str(text).ok()?, now)
    }

    /// Kopf's text for it: compact JSON in ASCII, without what is absent (P-1 to P-3).
    #[must_use]
    pub fn to_text(&self) -> String {
        conventions::ascii_json(&Stored::from(self))
    }

    /// Reads a record from a mapping, as [`Record::parse`] does from a text.
    #[must_use]
    pub fn from_json(value: &Value, now: Timestamp) -> Option<Self> {
        Stored::read(value).map(|stored| stored.into_record(now))
    }

    /// The record as a mapping with all keys; null stands for what is absent, so that a merge patch erases what an
    /// older record said (P-14).
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut all: Map<String, Value> = Stored::KEYS
            .iter()
            .map(|key| ((*key).to_owned(), Value::Null))
            .collect();
        if let Ok(Value::Object(present)) = serde_json::to_value(Stored::from(self)) {
            all.extend(present);
        }
        Value::Object(all)
    }

    /// Whether a text of unknown origin is a record for sure: it has the keys that are always written, and no others.
    pub(crate) fn is_record(text: &str) -> bool {
        let Ok(Value::Object(keys)) = serde_json::from_str(text) else {
            return false;
        };
        let known = |key: &String| Stored::KEYS.contains(&key.as_str());
        let complete = ["retries", "success", "failure"]
            .iter()
            .all(|key| keys.contains_key(*key));
        complete && keys.keys().all(known) && Stored::read(&Value::Object(keys)).is_some()
    }
}

/// The record as it is stored; the order of the keys is the format's (P-1).
#[derive(Serialize, Deserialize)]
struct Stored {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    started: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stopped: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delayed: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    purpose: Option<String>,
    #[serde(default)]
    retries: Option<u32>,
    #[serde(default)]
    success: Option<bool>,
    #[serde(default)]
    failure: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subrefs: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    handled: Option<Value>,
}

impl From<&Record> for Stored {
    fn from(record: &Record) -> Self {
        Self {
            started: Some(conventions::format_time(record.started)),
            stopped: record.stopped.map(conventions::format_time),
            delayed: record.delayed.map(conventions::format_time),
            purpose: record.purpose.clone(),
            retries: Some(record.retries),
            success: Some(record.success),
            failure: Some(record.failure),
            message: record.message.clone(),
            subrefs: record.subrefs.clone(),
            handled: record.handled.clone(),
        }
    }
}

impl Stored {
    fn read(value: &Value) -> Option<Self> {
        // Lists would do for serde, too.
        value.is_object().then(|| Self::deserialize(value).ok()).flatten()
    }

    const KEYS: [&str; 10] = [
        "started", "stopped", "delayed", "purpose", "retries", "success", "failure", "message", "subrefs", "handled",
    ];

    fn into_record(self, now: Timestamp) -> Record {
        let time = |text: Option<String>| text.as_deref().and_then(conventions::parse_time);
        Record {
            started: time(self.started).unwrap_or(now),
            stopped: time(self.stopped),
            delayed: time(self.delayed),
            purpose: self.purpose,
            retries: self.retries.unwrap_or_default(),
            success: self.success.unwrap_or_default(),
            failure: self.failure.unwrap_or_default(),
            message: self.message,
            subrefs: self.subrefs,
            handled: self.handled,
        }
    }
}

#[cfg(test)]
#[path = "records_tests.rs"]
mod tests;
