//! Where unfinished handlers stand, kept on the object itself (P).

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::conventions;
use crate::structs::bodies::Body;
use crate::structs::fields::FieldPath;
use crate::structs::patches::compose;

/// Where one handler stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record {
    /// The first attempt or selection.
    pub(crate) started: Timestamp,
    /// When it became final; `None` while it is not.
    pub(crate) stopped: Option<Timestamp>,
    /// Not to be called before; `None` for at once.
    pub(crate) delayed: Option<Timestamp>,
    /// The reason it is recorded for.
    pub(crate) purpose: Option<String>,
    /// Concluded attempts (E-6).
    pub(crate) retries: u32,
    /// Final, and well.
    pub(crate) success: bool,
    /// Final, and not well.
    pub(crate) failure: bool,
    /// The text of the last error.
    pub(crate) message: Option<String>,
    /// Sub-handlers at any depth, sorted.
    pub(crate) subrefs: Option<Vec<String>>,
    /// Not Kopf's: a merge patch from the diff-base to the essence that the handler last finished on.
    pub(crate) handled: Option<Value>,
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

    /// Reads a stored record; what it does not say is as if it began now (P-5). `None` if the text is no record.
    pub(crate) fn parse(text: &str, now: Timestamp) -> Option<Self> {
        Stored::read(serde_json::from_str(text).ok()?).map(|stored| stored.into_record(now))
    }

    /// The text to be stored (P-1 to P-3).
    pub(crate) fn to_text(&self) -> String {
        conventions::ascii_json(&Stored::from(self))
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
    fn read(value: Value) -> Option<Self> {
        // Lists would do for serde, too.
        value.is_object().then(|| serde_json::from_value(value).ok()).flatten()
    }

    /// Whether a text of unknown origin is a record for sure: it has the keys that are always written, and no others.
    fn is_record(text: &str) -> bool {
        let Ok(Value::Object(keys)) = serde_json::from_str(text) else {
            return false;
        };
        Self::read(Value::Object(keys.clone())).is_some()
            && ["retries", "success", "failure"]
                .iter()
                .all(|key| keys.contains_key(*key))
            && keys.keys().all(|key| Self::KEYS.contains(&key.as_str()))
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

/// Keeps records in annotations; those of Kopf's status storage are read and purged, never written (P-16).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProgressStorage {
    prefix: String,
}

/// Where Kopf's status storage keeps its records (P-14).
const STATUS_RECORDS: [&str; 3] = ["status", "kopf", "progress"];

/// What Kopf's status storage writes to wake itself up (P-14).
const STATUS_DUMMY: [&str; 3] = ["status", "kopf", "dummy"];

impl ProgressStorage {
    pub(crate) fn new(prefix: &str) -> Self {
        Self {
            prefix: prefix.to_owned(),
        }
    }

    /// The record of a handler, wherever it is found first (N-6, P-16). What cannot be read counts as absent.
    pub(crate) fn fetch(&self, body: &Body, id: &str, now: Timestamp) -> Option<Record> {
        let annotation = conventions::keys(&self.prefix, id, body).into_iter().find_map(|key| {
            let text = body.annotation(&key)?;
            let record = Record::parse(text, now);
            if record.is_none() {
                tracing::warn!(annotation = key, "Ignored an unreadable record of the handler {id:?}");
            }
            record
        });
        annotation.or_else(|| {
            let stored = FieldPath::from(STATUS_RECORDS).resolve(body.value())?.get(id)?;
            Stored::read(stored.clone()).map(|stored| stored.into_record(now))
        })
    }

    /// Adds the record to a merge patch, unless it is stored as it is (P-6). Its older annotation goes.
    pub(crate) fn store(&self, merge: &mut Map<String, Value>, body: &Body, id: &str, record: &Record) {
        let keys = conventions::keys(&self.prefix, id, body);
        let (current, legacy) = keys.split_first().expect("there is always a current key");
        let text = record.to_text();
        if body.annotation(current) != Some(&text) {
            conventions::annotate(merge, current.clone(), Value::String(text));
        }
        for key in legacy {
            purge_annotation(merge, body, key);
        }
    }

    /// Adds the removal of a handler's record to a merge patch, wherever the object has one (P-10).
    pub(crate) fn purge(&self, merge: &mut Map<String, Value>, body: &Body, id: &str) {
        for key in conventions::keys(&self.prefix, id, body) {
            purge_annotation(merge, body, &key);
        }
        if FieldPath::from(STATUS_RECORDS)
            .resolve(body.value())
            .and_then(|records| records.get(id))
            .is_some()
        {
            let [status, kopf, progress] = STATUS_RECORDS;
            let removal = json!({status: {kopf: {progress: {id: null}}}});
            if let Value::Object(removal) = removal {
                compose(merge, removal);
            }
        }
    }

    /// Adds the removal of every record under the prefix, whoever it was for (P-11).
    ///
    /// Where Kubernetes keeps copying annotations onto the object, those are left: they would only come back.
    pub(crate) fn purge_all(&self, merge: &mut Map<String, Value>, body: &Body) {
        if conventions::inherits_annotations(body) {
            return;
        }
        for (key, text) in body.annotations() {
            let ours = key.strip_prefix(&self.prefix).is_some_and(|rest| rest.starts_with('/'));
            if ours && Stored::is_record(text) {
                purge_annotation(merge, body, key);
            }
        }
    }

    /// Takes what this storage keeps, or Kopf's would, out of an essence (P-18).
    pub(crate) fn clear(&self, essence: &mut Value) {
        for path in [STATUS_RECORDS, STATUS_DUMMY] {
            FieldPath::from(path).remove(essence);
        }
        if let Some(Value::Object(annotations)) = essence.pointer_mut("/metadata/annotations") {
            annotations.retain(|key, _| key.split_once('/').is_none_or(|(prefix, _)| prefix != self.prefix));
            if annotations.is_empty() {
                FieldPath::from(["metadata", "annotations"]).remove(essence);
            }
        }
    }
}

fn purge_annotation(merge: &mut Map<String, Value>, body: &Body, key: &str) {
    if body.annotation(key).is_some() {
        conventions::annotate(merge, key.to_owned(), Value::Null);
    }
}

#[cfg(test)]
#[path = "progress_tests.rs"]
mod tests;
