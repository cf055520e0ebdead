//! The essence of objects, and its copy of when it was handled last (B).
//!
//! What must not or cannot be copied into an annotation is replaced by a digest: the data of secrets, and the largest
//! parts of what would not fit. A digest in the copy stands for the value; [`restore`] puts the value back where it is
//! still the same.

use std::fmt::Write as _;

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::conventions;
use crate::structs::bodies::Body;
use crate::structs::fields::FieldPath;

/// The id under which the essence is stored, as if it were a handler's (B-7).
const KEY: &str = conventions::LAST_HANDLED;

/// What `kubectl` keeps of an object on the object itself (B-3).
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// How long the stored text may be, in bytes (B-054).
const TEXT_LIMIT: usize = 200_000;

/// How many bytes of annotations an object may have.
const ANNOTATIONS_LIMIT: usize = 262_144;

/// What is left to records and to whoever else annotates the object.
const RESERVE: usize = 16_384;

/// The beginning of what stands for a value.
const DIGEST: &str = "sha256:";

/// How long a digest is in JSON: the algorithm, 64 digits and quotes.
const DIGEST_SIZE: usize = DIGEST.len() + 64 + 2;

/// Keeps the essence that was handled last in an annotation (B-7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DiffBaseStorage {
    prefix: String,
}

impl DiffBaseStorage {
    pub(crate) fn new(prefix: &str) -> Self {
        Self {
            prefix: prefix.to_owned(),
        }
    }

    /// What matters of an object: all but the system's metadata and the status, and those extra fields (B-1 to B-5).
    pub(crate) fn essence(&self, body: &Body, extra: &[FieldPath]) -> Value {
        let mut essence = common(body.value());
        self.drop_foreign_state(&mut essence, body);
        for field in extra.iter().filter(|field| is_extra(field)) {
            carry(field, body.value(), &mut essence);
        }
        drop_empty_stanzas(&mut essence);
        essence
    }

    /// Takes out what operators keep on objects, this one and others (B-3).
    fn drop_foreign_state(&self, essence: &mut Value, body: &Body) {
        let Some(Value::Object(annotations)) = essence.pointer_mut("/metadata/annotations") else {
            return;
        };
        let owned = |prefix: &str| prefix == self.prefix || conventions::is_owned(prefix, body);
        annotations
            .retain(|key, _| key != LAST_APPLIED && key.split_once('/').is_none_or(|(prefix, _)| !owned(prefix)));
    }

    /// The essence as it was stored, perhaps with digests in it.
    ///
    /// What has turned out to be another operator's state since then is left out: it is no news that it is.
    pub(crate) fn fetch(&self, body: &Body) -> Option<Value> {
        let mut stored = conventions::keys(&self.prefix, KEY, body).into_iter().find_map(|key| {
            let text = body.annotation(&key)?;
            let stored = serde_json::from_str(text.trim()).ok().filter(Value::is_object);
            if stored.is_none() {
                tracing::warn!(annotation = key, "Ignored an unreadable copy of what was handled last");
            }
            stored
        })?;
        self.drop_foreign_state(&mut stored, body);
        drop_empty_stanzas(&mut stored);
        Some(stored)
    }

    /// Adds the removal of the essence to a merge patch, if the object has one.
    pub(crate) fn purge(&self, merge: &mut Map<String, Value>, body: &Body) {
        for key in conventions::keys(&self.prefix, KEY, body)
            .iter()
            .filter(|key| body.annotation(key).is_some())
        {
            conventions::annotate(merge, key.clone(), Value::Null);
        }
    }

    /// Adds the essence to a merge patch, in a form that may be stored and fits.
    pub(crate) fn store(&self, merge: &mut Map<String, Value>, body: &Body, essence: &Value) {
        let keys = conventions::keys(&self.prefix, KEY, body);
        let (current, legacy) = keys.split_first().expect("there is always a current key");
        let sealed = fit(sealed(body, essence.clone()), essence, self.limit(body));
        conventions::annotate(
            merge,
            current.clone(),
            Value::String(conventions::ascii_json(&sealed) + "\n"),
        );
        for key in legacy.iter().filter(|key| body.annotation(key).is_some()) {
            conventions::annotate(merge, key.clone(), Value::Null);
        }
    }

    /// How long the text may be so that the object can be written at all (B-054).
    fn limit(&self, body: &Body) -> usize {
        let others: usize = body
            .annotations()
            .filter(|(key, _)| key.split_once('/').is_none_or(|(prefix, _)| prefix != self.prefix))
            .map(|(key, value)| key.len() + value.len())
            .sum();
        TEXT_LIMIT.min(ANNOTATIONS_LIMIT.saturating_sub(others + RESERVE))
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

/// An essence without the data of secrets: digests stand for them.
pub(crate) fn sealed(body: &Body, mut essence: Value) -> Value {
    if body.kind() == Some("Secret") && body.api_version() == Some("v1") {
        for stanza in ["data", "stringData"] {
            if let Some(Value::Object(secrets)) = essence.get_mut(stanza) {
                for secret in secrets.values_mut().filter(|secret| !is_digest(secret)) {
                    *secret = digest(secret);
                }
            }
        }
    }
    essence
}

/// A stored essence with values instead of digests wherever `fresh` still has the digested value.
pub(crate) fn restore(stored: Value, fresh: Option<&Value>) -> Value {
    match (stored, fresh) {
        (Value::Object(stored), Some(Value::Object(fresh))) => Value::Object(
            stored
                .into_iter()
                .map(|(key, value)| (key.clone(), restore(value, fresh.get(&key))))
                .collect(),
        ),
        (stored, Some(fresh)) if is_digest(&stored) && digest(fresh) == stored => fresh.clone(),
        (stored, _) => stored,
    }
}

/// The value with digests in place of its largest parts, so that its text is not longer than `limit` (B-054).
///
/// A digest stands for what `source` has at that place: for a patch, that is the whole value after it. Lists are
/// digested as wholes. A value that is all small keys may stay too long.
pub(crate) fn fit(mut value: Value, source: &Value, limit: usize) -> Value {
    loop {
        let size = conventions::ascii_json(&value).len();
        let Some(excess) = size.checked_sub(limit).filter(|&excess| excess > 0) else {
            return value;
        };
        let mut parts = Vec::new();
        measure(&value, source, &mut Vec::new(), &mut parts);
        // The smallest part that is large enough; else the largest one, and then again.
        let enough = parts
            .iter()
            .filter(|(saved, _)| *saved >= excess)
            .min_by_key(|(saved, _)| *saved);
        let Some((_, path)) = enough.or_else(|| parts.iter().max_by_key(|(saved, _)| *saved)) else {
            return value;
        };
        let Some(whole) = path.resolve(source) else {
            return value;
        };
        path.insert(&mut value, digest(whole));
    }
}

/// Collects what a digest could stand for, with the bytes it would save.
fn measure(value: &Value, source: &Value, path: &mut Vec<String>, parts: &mut Vec<(usize, FieldPath)>) {
    for (key, part) in value.as_object().into_iter().flatten() {
        path.push(key.clone());
        let here = FieldPath::from(path.clone());
        let saved = conventions::ascii_json(part).len().saturating_sub(DIGEST_SIZE);
        if saved > 0 && here.resolve(source).is_some() {
            parts.push((saved, here));
            measure(part, source, path, parts);
        }
        path.pop();
    }
}

fn is_digest(value: &Value) -> bool {
    let hex =
        |digits: &str| digits.len() == 64 && digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    value
        .as_str()
        .and_then(|text| text.strip_prefix(DIGEST))
        .is_some_and(hex)
}

/// Equal values have equal digests: null members do not count, and 1.0 is 1.
fn digest(value: &Value) -> Value {
    let text = conventions::ascii_json(&canonical(value));
    let mut digest = DIGEST.to_owned();
    for byte in Sha256::digest(text) {
        // Writing to a string cannot fail.
        let _ = write!(digest, "{byte:02x}");
    }
    Value::String(digest)
}

fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let present = map.iter().filter(|(_, value)| !value.is_null());
            Value::Object(present.map(|(key, value)| (key.clone(), canonical(value))).collect())
        }
        Value::Array(list) => Value::Array(list.iter().map(canonical).collect()),
        Value::Number(number) if number.is_f64() => whole(number.as_f64()).map_or_else(|| value.clone(), Value::from),
        other => other.clone(),
    }
}

/// The integer that a float is, if it is one and small enough to be exact.
fn whole(float: Option<f64>) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let float = float.filter(|float| float.fract() == 0.0 && float.abs() < EXACT)?;
    format!("{float:.0}").parse().ok()
}

#[cfg(test)]
#[path = "diffbase_tests.rs"]
mod tests;
