//! Where unfinished handlers stand, kept on the object itself or elsewhere (P).

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::conventions;
pub use super::records::Record;
use crate::structs::bodies::Body;
use crate::structs::fields::FieldPath;
use crate::structs::patches::compose;
use crate::structs::state_patches::StatePatch;

/// A place for the records of unfinished handlers (P-17).
///
/// Kopf's storages can also *touch* an object, to be woken up by the echo. Nothing is ever touched here: delays are
/// waited for in the process, and after a restart the listing brings each object anyway. Nor is there a *flush*: what
/// is to be changed on the object is gathered in `patch` and sent once, and what is kept elsewhere is the storage's own
/// affair.
///
/// Storages are called while a cycle of an object is planned and concluded, on a thread of the async runtime. They must
/// not block: what takes long belongs into a task of their own. They may be asked for several objects at once, but
/// never for one object twice at a time.
///
/// ```
/// use std::collections::HashMap;
/// use std::sync::{Arc, Mutex};
///
/// use kopf_runtime::jiff::Timestamp;
/// use kopf_runtime::storages::{ProgressStorage, Record, StatePatch};
/// use kopf_runtime::{Body, Operator};
/// use serde_json::Value;
///
/// /// Keeps records in memory: retries begin anew after a restart, and the objects stay clean.
/// #[derive(Debug, Default)]
/// struct InMemory(Mutex<HashMap<(String, String), Record>>);
///
/// fn key(body: &Body, id: &str) -> (String, String) {
///     (body.uid().unwrap_or_default().to_owned(), id.to_owned())
/// }
///
/// impl ProgressStorage for InMemory {
///     fn fetch(&self, body: &Body, id: &str, _now: Timestamp) -> Option<Record> {
///         self.0.lock().unwrap().get(&key(body, id)).cloned()
///     }
///     fn store(&self, body: &Body, id: &str, record: &Record, _patch: &mut StatePatch) {
///         self.0.lock().unwrap().insert(key(body, id), record.clone());
///     }
///     fn purge(&self, body: &Body, id: &str, _patch: &mut StatePatch) {
///         self.0.lock().unwrap().remove(&key(body, id));
///     }
///     fn clear(&self, _essence: &mut Value) {} // nothing of it is on the object
/// }
///
/// let operator = Operator::new("shop").settings(|settings| {
///     settings.persistence.progress = vec![Arc::new(InMemory::default())];
/// });
/// ```
pub trait ProgressStorage: fmt::Debug + Send + Sync {
    /// The record of a handler on this object; `None` if there is none, or none that can be read.
    ///
    /// `now` is the time of the cycle: what a record does not say is as if it began then (P-5).
    fn fetch(&self, body: &Body, id: &str, now: Timestamp) -> Option<Record>;

    /// Keeps the record of a handler. What is kept as it is need not be written again (P-6).
    fn store(&self, body: &Body, id: &str, record: &Record, patch: &mut StatePatch);

    /// Drops the record of a handler, if there is one (P-10).
    fn purge(&self, body: &Body, id: &str, patch: &mut StatePatch);

    /// Drops all records that can be found for this object, whoever they are for: handlers that were renamed or removed
    /// leave them behind (P-11). Called when nothing is left to do for the object. Does nothing by itself.
    fn purge_all(&self, body: &Body, patch: &mut StatePatch) {
        let _ = (body, patch);
    }

    /// Takes what this storage keeps on the object out of an essence, so that it is no change (P-18).
    fn clear(&self, essence: &mut Value);

    /// Says why nothing could be kept with these settings; then the operator does not start.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// Keeps records in annotations, one per handler, in Kopf's format (P-13).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnotationsProgress {
    prefix: String,
    v1: bool,
}

impl AnnotationsProgress {
    /// With this prefix of the annotations' names: a DNS subdomain of at most 189 characters, without a slash.
    pub fn new(prefix: impl Into<String>) -> Self {
        Self {
            prefix: prefix.into(),
            v1: false,
        }
    }

    /// Whether records of long ids are also written under the names of Kopf's older scheme, for operators that know
    /// only that (N-5, N-6). They are read and removed in any case. Default: false.
    #[must_use]
    pub fn v1(self, v1: bool) -> Self {
        Self { v1, ..self }
    }
}

impl ProgressStorage for AnnotationsProgress {
    fn fetch(&self, body: &Body, id: &str, now: Timestamp) -> Option<Record> {
        conventions::keys(&self.prefix, id, body).into_iter().find_map(|key| {
            let text = body.annotation(&key)?;
            let record = Record::parse(text, now);
            if record.is_none() {
                tracing::warn!(annotation = key, "Ignored an unreadable record of the handler {id:?}");
            }
            record
        })
    }

    fn store(&self, body: &Body, id: &str, record: &Record, patch: &mut StatePatch) {
        let text = record.to_text();
        for (index, key) in conventions::keys(&self.prefix, id, body).into_iter().enumerate() {
            if index > 0 && !self.v1 {
                purge_annotation(patch, body, &key);
            } else if body.annotation(&key) != Some(&text) {
                patch.annotation(key, &text);
            }
        }
        conventions::mark(patch, &self.prefix, body);
    }

    fn purge(&self, body: &Body, id: &str, patch: &mut StatePatch) {
        for key in conventions::keys(&self.prefix, id, body) {
            purge_annotation(patch, body, &key);
        }
    }

    /// Where Kubernetes keeps copying annotations onto the object, those are left: they would only come back.
    fn purge_all(&self, body: &Body, patch: &mut StatePatch) {
        if conventions::inherits_annotations(body) {
            return;
        }
        for (key, text) in conventions::annotations_under(&self.prefix, body) {
            if Record::is_record(text) {
                purge_annotation(patch, body, key);
            }
        }
    }

    fn clear(&self, essence: &mut Value) {
        conventions::clear_annotations(essence, &self.prefix);
    }

    fn check(&self) -> Result<(), String> {
        conventions::validate_prefix(&self.prefix).map_err(|error| error.to_string())
    }
}

/// Keeps records in the status, in a mapping by the handlers' ids as they are (P-14).
///
/// The kind's schema must allow the field; what the API server prunes is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusProgress {
    field: FieldPath,
    read_only: bool,
}

/// Where Kopf's status storage keeps its records by default (P-14).
const KOPFS_FIELD: [&str; 3] = ["status", "kopf", "progress"];

/// What Kopf's status storages write beside their records to wake themselves up (P-14).
const TOUCH: &str = "dummy";

impl StatusProgress {
    /// In this field below `.status`; Kopf's default is `status.kopf.progress`.
    pub fn new(field: impl Into<FieldPath>) -> Self {
        Self {
            field: field.into(),
            read_only: false,
        }
    }

    /// Whether nothing is ever written: what is found there is read, and removed once it is done with (P-16).
    /// Default: false.
    #[must_use]
    pub fn read_only(self, read_only: bool) -> Self {
        Self { read_only, ..self }
    }

    /// What Kopf's smart storage reads besides annotations (P-16).
    fn kopfs() -> Self {
        Self::new(KOPFS_FIELD).read_only(true)
    }

    fn stored<'a>(&self, body: &'a Body, id: &str) -> Option<&'a Value> {
        self.field.resolve(body.value())?.get(id)
    }

    fn write(&self, patch: &mut StatePatch, id: &str, value: Value) {
        let mut change = Value::Null;
        self.field
            .insert(&mut change, Value::Object(Map::from_iter([(id.to_owned(), value)])));
        patch.merge(change);
    }
}

impl ProgressStorage for StatusProgress {
    fn fetch(&self, body: &Body, id: &str, now: Timestamp) -> Option<Record> {
        Record::from_json(self.stored(body, id)?, now)
    }

    fn store(&self, body: &Body, id: &str, record: &Record, patch: &mut StatePatch) {
        if self.read_only {
            return;
        }
        let record = record.to_json();
        let is_kept = |(key, value): (&String, &Value)| {
            let stored = self.stored(body, id).and_then(|stored| stored.get(key));
            stored.unwrap_or(&Value::Null) == value
        };
        let differs = !record.as_object().is_some_and(|record| record.iter().all(is_kept));
        if differs || self.stored(body, id).is_none() {
            self.write(patch, id, record);
        }
    }

    fn purge(&self, body: &Body, id: &str, patch: &mut StatePatch) {
        if self.stored(body, id).is_some() {
            self.write(patch, id, Value::Null);
        }
    }

    /// Of a field that is only read, others' records are left alone.
    fn purge_all(&self, body: &Body, patch: &mut StatePatch) {
        let records = self.field.resolve(body.value()).and_then(Value::as_object);
        for id in records.into_iter().flat_map(Map::keys).filter(|_| !self.read_only) {
            self.write(patch, id, Value::Null);
        }
    }

    /// Also what Kopf writes to wake itself up: handlers of the whole status must not take it for a change.
    fn clear(&self, essence: &mut Value) {
        self.field.remove(essence);
        let [status, kopf, _] = KOPFS_FIELD;
        FieldPath::from([status, kopf, TOUCH]).remove(essence);
        if let [parents @ .., _] = self.field.keys()
            && parents.len() > 1
        {
            let touch = parents.iter().cloned().chain([TOUCH.to_owned()]);
            FieldPath::from(touch.collect::<Vec<_>>()).remove(essence);
        }
    }

    fn check(&self) -> Result<(), String> {
        conventions::validate_status_field(&self.field)
    }
}

/// The storages of an operator: the first one that has a record is read, all are written (P-15).
///
/// What was kept under former names is read after them, removed with them, and never written.
#[derive(Clone, Debug)]
pub(crate) struct ProgressStorages {
    present: Arc<[Arc<dyn ProgressStorage>]>,
    former: Arc<[Arc<dyn ProgressStorage>]>,
}

impl ProgressStorages {
    /// Without any storages, Kopf's smart one: annotations, and what is found in the status (P-16).
    pub(crate) fn new<'a>(
        prefix: &str,
        given: &[Arc<dyn ProgressStorage>],
        former_prefixes: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let smart = || -> Vec<Arc<dyn ProgressStorage>> {
            vec![
                Arc::new(AnnotationsProgress::new(prefix)),
                Arc::new(StatusProgress::kopfs()),
            ]
        };
        let former: Vec<Arc<dyn ProgressStorage>> = former_prefixes
            .into_iter()
            .map(|prefix| Arc::new(AnnotationsProgress::new(prefix)) as Arc<dyn ProgressStorage>)
            .collect();
        let kopfs = (!former.is_empty()).then(|| Arc::new(StatusProgress::kopfs()) as Arc<dyn ProgressStorage>);
        Self {
            present: if given.is_empty() { smart() } else { given.to_vec() }.into(),
            former: former.into_iter().chain(kopfs).collect(),
        }
    }

    fn all(&self) -> impl Iterator<Item = &dyn ProgressStorage> {
        self.present.iter().chain(self.former.iter()).map(AsRef::as_ref)
    }

    /// The record of a handler, wherever it is found first (N-6, P-15, P-16).
    pub(crate) fn fetch(&self, body: &Body, id: &str, now: Timestamp) -> Option<Record> {
        self.all().find_map(|storage| storage.fetch(body, id, now))
    }

    /// Adds the record to a merge patch, wherever it is not stored as it is (P-6).
    pub(crate) fn store(&self, merge: &mut Map<String, Value>, body: &Body, id: &str, record: &Record) {
        let mut patch = StatePatch::default();
        for storage in self.present.iter() {
            storage.store(body, id, record, &mut patch);
        }
        compose(merge, patch.into_merge());
    }

    /// Adds the removal of a handler's record to a merge patch, wherever the object has one (P-10).
    pub(crate) fn purge(&self, merge: &mut Map<String, Value>, body: &Body, id: &str) {
        let mut patch = StatePatch::default();
        for storage in self.all() {
            storage.purge(body, id, &mut patch);
        }
        compose(merge, patch.into_merge());
    }

    /// Adds the removal of every record, whoever it was for (P-11).
    pub(crate) fn purge_all(&self, merge: &mut Map<String, Value>, body: &Body) {
        let mut patch = StatePatch::default();
        for storage in self.all() {
            storage.purge_all(body, &mut patch);
        }
        compose(merge, patch.into_merge());
    }

    /// Takes what is kept, now or formerly, out of an essence (P-18).
    pub(crate) fn clear(&self, essence: &mut Value) {
        for storage in self.all() {
            storage.clear(essence);
        }
    }
}

fn purge_annotation(patch: &mut StatePatch, body: &Body, key: &str) {
    if body.annotation(key).is_some() {
        patch.annotation(key, None);
    }
}

#[cfg(test)]
#[path = "progress_tests.rs"]
mod tests;
