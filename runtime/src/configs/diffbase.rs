//! The essence of objects, and its copy of when it was handled last (B).

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::conventions;
pub use super::digests::Essence;
use crate::structs::bodies::Body;
use crate::structs::fields::FieldPath;
use crate::structs::patches::compose;
use crate::structs::state_patches::StatePatch;

/// What `kubectl` keeps of an object on the object itself (B-3).
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// How long the text in an annotation may be, in bytes (B-054).
const TEXT_LIMIT: usize = 200_000;

/// What is left to records and to whoever else annotates the object.
const RESERVE: usize = 16_384;

/// How large an object may be, in bytes of JSON: the storage of Kubernetes takes one and a half mebibytes by default.
const OBJECT_LIMIT: usize = 1_400_000;

/// A place for the copy of what was handled last of an object, so that changes are told apart from what is known (B).
///
/// The same goes for it as for [`ProgressStorage`](crate::storages::ProgressStorage): what is changed on the object is
/// gathered in `patch`, and nothing may block.
///
/// ```
/// use kopf_runtime::Body;
/// use kopf_runtime::storages::{DiffBaseStorage, Essence, StatePatch};
/// use serde_json::Value;
///
/// /// Keeps the copy under a name of our own choice, readable to people.
/// #[derive(Debug)]
/// struct Readable;
///
/// const KEY: &str = "shop.example.com/handled";
///
/// impl DiffBaseStorage for Readable {
///     fn fetch(&self, body: &Body) -> Option<Value> {
///         serde_json::from_str(body.annotation(KEY)?).ok()
///     }
///     fn store(&self, _body: &Body, essence: &Essence<'_>, patch: &mut StatePatch) {
///         patch.annotation(KEY, format!("{:#}", essence.fitted(100_000)));
///     }
///     fn purge(&self, body: &Body, patch: &mut StatePatch) {
///         if body.annotation(KEY).is_some() {
///             patch.annotation(KEY, None);
///         }
///     }
///     fn clear(&self, essence: &mut Value) {
///         if let Some(annotations) = essence.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
///             annotations.remove(KEY);
///         }
///     }
/// }
/// ```
pub trait DiffBaseStorage: fmt::Debug + Send + Sync {
    /// The copy, perhaps with digests in it, as it was stored; `None` if there is none, or none that can be read.
    fn fetch(&self, body: &Body) -> Option<Value>;

    /// Keeps the copy.
    fn store(&self, body: &Body, essence: &Essence<'_>, patch: &mut StatePatch);

    /// Drops the copy, if there is one.
    fn purge(&self, body: &Body, patch: &mut StatePatch);

    /// Takes out of an essence what this storage keeps on the object, and what it is told to ignore (B-3, B-4).
    /// Stanzas that are left empty are dropped afterwards.
    fn clear(&self, essence: &mut Value);

    /// Says why nothing could be kept with these settings; then the operator does not start.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// Keeps the copy in an annotation, in Kopf's format (B-7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnotationsDiffBase {
    prefix: String,
    key: String,
    ignored_fields: Vec<FieldPath>,
    v1: bool,
}

impl AnnotationsDiffBase {
    /// With this prefix of the annotation's name: a DNS subdomain of at most 189 characters, without a slash.
    pub fn new(prefix: impl Into<String>) -> Self {
        Self {
            prefix: prefix.into(),
            key: conventions::LAST_HANDLED.to_owned(),
            ignored_fields: Vec::new(),
            v1: false,
        }
    }

    /// The annotation's name after the prefix. Default: `last-handled-configuration`.
    #[must_use]
    pub fn key(self, key: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            ..self
        }
    }

    /// Fields whose changes do not matter, not even to handlers that ask for them (B-4). Default: none.
    #[must_use]
    pub fn ignored_fields<F: Into<FieldPath>>(self, fields: impl IntoIterator<Item = F>) -> Self {
        Self {
            ignored_fields: fields.into_iter().map(Into::into).collect(),
            ..self
        }
    }

    /// Whether the copy is also written under the name of Kopf's older scheme, if a long key has one (N-5, N-6). It is
    /// read and removed in any case. Default: false.
    #[must_use]
    pub fn v1(self, v1: bool) -> Self {
        Self { v1, ..self }
    }

    /// How long the text may be so that the object can be written at all (B-054).
    fn limit(&self, body: &Body) -> usize {
        let own: usize = conventions::annotations_under(&self.prefix, body)
            .map(|(key, text)| key.len() + text.len())
            .sum();
        let others = conventions::size(body) - own;
        TEXT_LIMIT.min(conventions::ANNOTATIONS_LIMIT.saturating_sub(others + RESERVE))
    }
}

impl DiffBaseStorage for AnnotationsDiffBase {
    fn fetch(&self, body: &Body) -> Option<Value> {
        conventions::keys(&self.prefix, &self.key, body)
            .into_iter()
            .find_map(|key| read(body.annotation(&key)?, &key))
    }

    fn store(&self, body: &Body, essence: &Essence<'_>, patch: &mut StatePatch) {
        let text = conventions::ascii_json(&essence.fitted(self.limit(body))) + "\n";
        for (index, key) in conventions::keys(&self.prefix, &self.key, body).into_iter().enumerate() {
            if index == 0 || self.v1 {
                patch.annotation(key, &text);
            } else if body.annotation(&key).is_some() {
                patch.annotation(key, None);
            }
        }
        conventions::mark(patch, &self.prefix, body);
    }

    fn purge(&self, body: &Body, patch: &mut StatePatch) {
        for key in conventions::keys(&self.prefix, &self.key, body) {
            if body.annotation(&key).is_some() {
                patch.annotation(key, None);
            }
        }
    }

    fn clear(&self, essence: &mut Value) {
        conventions::clear_annotations(essence, &self.prefix);
        for field in &self.ignored_fields {
            field.remove(essence);
        }
    }

    fn check(&self) -> Result<(), String> {
        if self.key.is_empty() {
            return Err("the key of the annotation is empty".to_owned());
        }
        conventions::validate_prefix(&self.prefix).map_err(|error| error.to_string())
    }
}

/// Keeps the copy in the status, as one text (B-8).
///
/// The kind's schema must allow the field; what the API server prunes is lost, and the object is new every time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusDiffBase {
    field: FieldPath,
    ignored_fields: Vec<FieldPath>,
}

impl StatusDiffBase {
    /// In this field below `.status`; Kopf's default is `status.kopf.last-handled-configuration`.
    pub fn new(field: impl Into<FieldPath>) -> Self {
        Self {
            field: field.into(),
            ignored_fields: Vec::new(),
        }
    }

    /// Fields whose changes do not matter, not even to handlers that ask for them (B-4). Default: none.
    #[must_use]
    pub fn ignored_fields<F: Into<FieldPath>>(self, fields: impl IntoIterator<Item = F>) -> Self {
        Self {
            ignored_fields: fields.into_iter().map(Into::into).collect(),
            ..self
        }
    }

    fn write(&self, patch: &mut StatePatch, value: Value) {
        let mut change = Value::Null;
        self.field.insert(&mut change, value);
        patch.merge(change);
    }
}

impl DiffBaseStorage for StatusDiffBase {
    fn fetch(&self, body: &Body) -> Option<Value> {
        read(self.field.resolve(body.value())?.as_str()?, &self.field)
    }

    fn store(&self, body: &Body, essence: &Essence<'_>, patch: &mut StatePatch) {
        let known = self
            .field
            .resolve(body.value())
            .and_then(Value::as_str)
            .unwrap_or_default();
        let others = body.value().to_string().len().saturating_sub(known.len());
        // Quotes are escaped once more than in an annotation, so the text counts twice at the worst.
        let limit = OBJECT_LIMIT.saturating_sub(others) / 2;
        self.write(patch, Value::String(conventions::ascii_json(&essence.fitted(limit))));
    }

    fn purge(&self, body: &Body, patch: &mut StatePatch) {
        if self.field.resolve(body.value()).is_some() {
            self.write(patch, Value::Null);
        }
    }

    fn clear(&self, essence: &mut Value) {
        self.field.remove(essence);
        for field in &self.ignored_fields {
            field.remove(essence);
        }
    }

    fn check(&self) -> Result<(), String> {
        conventions::validate_status_field(&self.field)
    }
}

/// White space around the text does not matter (B-10).
fn read(text: &str, place: &dyn fmt::Display) -> Option<Value> {
    let stored = serde_json::from_str(text.trim()).ok().filter(Value::is_object);
    if stored.is_none() {
        tracing::warn!(%place, "Ignored an unreadable copy of what was handled last");
    }
    stored
}

/// The storages of an operator: an essence passes through all, the first copy found is read, all are written (B-9).
///
/// What was kept under former names is read after them, removed with them, and never written.
#[derive(Clone, Debug)]
pub(crate) struct DiffBaseStorages {
    present: Arc<[Arc<dyn DiffBaseStorage>]>,
    former: Arc<[Arc<dyn DiffBaseStorage>]>,
}

impl DiffBaseStorages {
    /// Without any storages, an annotation under the prefix.
    pub(crate) fn new<'a>(
        prefix: &str,
        given: &[Arc<dyn DiffBaseStorage>],
        former_prefixes: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let annotation = |prefix: &str| Arc::new(AnnotationsDiffBase::new(prefix)) as Arc<dyn DiffBaseStorage>;
        Self {
            present: if given.is_empty() {
                Arc::new([annotation(prefix)])
            } else {
                given.into()
            },
            former: former_prefixes.into_iter().map(annotation).collect(),
        }
    }

    fn all(&self) -> impl Iterator<Item = &dyn DiffBaseStorage> {
        self.present.iter().chain(self.former.iter()).map(AsRef::as_ref)
    }

    /// What matters of an object: all but the system's metadata and the status, and those extra fields (B-1 to B-5).
    pub(crate) fn essence(&self, body: &Body, extra: &[FieldPath]) -> Value {
        let mut essence = common(body.value());
        for field in extra.iter().filter(|field| is_extra(field)) {
            carry(field, body.value(), &mut essence);
        }
        self.clear(&mut essence, body);
        essence
    }

    /// The essence as it was stored, perhaps with digests in it (B-9).
    ///
    /// What has turned out to be another operator's state since then is left out: it is no news that it is.
    pub(crate) fn fetch(&self, body: &Body) -> Option<Value> {
        let mut stored = self.all().find_map(|storage| storage.fetch(body))?;
        self.clear(&mut stored, body);
        Some(stored)
    }

    /// Whether the copy is kept where it belongs, not only under a former name.
    pub(crate) fn is_present(&self, body: &Body) -> bool {
        self.present.iter().any(|storage| storage.fetch(body).is_some())
    }

    /// Takes out what operators keep on objects, this one and others, and what is to be ignored (B-3, B-4).
    fn clear(&self, essence: &mut Value, body: &Body) {
        if let Some(Value::Object(annotations)) = essence.pointer_mut("/metadata/annotations") {
            let owned = |prefix: &str| conventions::is_owned(prefix, body);
            annotations
                .retain(|key, _| key != LAST_APPLIED && key.split_once('/').is_none_or(|(prefix, _)| !owned(prefix)));
        }
        for storage in self.all() {
            storage.clear(essence);
        }
        drop_empty_stanzas(essence);
    }

    /// Adds the removal of the essence to a merge patch, if the object has one.
    pub(crate) fn purge(&self, merge: &mut Map<String, Value>, body: &Body) {
        let mut patch = StatePatch::default();
        for storage in self.all() {
            storage.purge(body, &mut patch);
        }
        compose(merge, patch.into_merge());
    }

    /// Adds the essence to a merge patch, in a form that may be stored and fits.
    pub(crate) fn store(&self, merge: &mut Map<String, Value>, body: &Body, essence: &Value, asked: &[FieldPath]) {
        let essence = Essence::seal(body, essence, asked);
        let mut patch = StatePatch::default();
        for storage in self.present.iter() {
            storage.store(body, &essence, &mut patch);
        }
        compose(merge, patch.into_merge());
    }
}

/// Whether a field is no part of the common essence, so that only handlers that ask for it see it (B-5).
pub(crate) fn is_extra(field: &FieldPath) -> bool {
    let keys: Vec<&str> = field.keys().iter().map(String::as_str).collect();
    match keys.as_slice() {
        // The system's metadata changes with every write; the field is taken for its essential part.
        [] | ["metadata"] | ["metadata", "labels" | "annotations", ..] => false,
        ["metadata" | "status" | "apiVersion" | "kind", ..] => true,
        [_, ..] => false,
    }
}

/// An essence as handlers see it that asked for this field, or for none: without the other extra fields (B-5).
///
/// The field's value is taken from `source`.
pub(crate) fn project(essence: &Value, field: Option<&FieldPath>, source: &Value) -> Value {
    let mut view = common(essence);
    if let Some(field) = field.filter(|field| is_extra(field)) {
        carry(field, source, &mut view);
    }
    drop_empty_stanzas(&mut view);
    view
}

/// All but the system's metadata and the status.
fn common(object: &Value) -> Value {
    let mut essence = Map::new();
    for (key, value) in object.as_object().into_iter().flatten() {
        match key.as_str() {
            "apiVersion" | "kind" | "status" => {}
            "metadata" => {
                let stanzas = ["labels", "annotations"];
                let kept = stanzas
                    .iter()
                    .filter_map(|key| Some(((*key).to_owned(), value.get(key)?.clone())));
                essence.insert(key.clone(), Value::Object(kept.collect()));
            }
            _ => {
                essence.insert(key.clone(), value.clone());
            }
        }
    }
    Value::Object(essence)
}

fn carry(field: &FieldPath, from: &Value, to: &mut Value) {
    if let Some(value) = field.resolve(from) {
        field.insert(to, value.clone());
    }
}

/// Empty stanzas say nothing (B-1).
fn drop_empty_stanzas(essence: &mut Value) {
    let empty = |value: &Value| value.is_null() || value.as_object().is_some_and(Map::is_empty);
    let Value::Object(essence) = essence else { return };
    if let Some(Value::Object(metadata)) = essence.get_mut("metadata") {
        metadata.retain(|key, value| !(matches!(key.as_str(), "labels" | "annotations") && empty(value)));
    }
    essence.retain(|key, value| !(matches!(key.as_str(), "metadata" | "status") && empty(value)));
}

#[cfg(test)]
#[path = "diffbase_tests.rs"]
mod tests;
