//! Digests in place of what must not or cannot be kept with a copy of an object (B, *Improve on*; B-054).
//!
//! The data of secrets is never copied, and of what would not fit the largest parts are not. A digest in the copy stands
//! for the value; [`restore`] puts the value back where it is still the same.

use std::fmt::Write as _;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::conventions;
use crate::structs::bodies::Body;
use crate::structs::fields::FieldPath;

/// The beginning of what stands for a value.
const DIGEST: &str = "sha256:";

/// How long a digest is in JSON: the algorithm, 64 digits and quotes.
const DIGEST_SIZE: usize = DIGEST.len() + 64 + 2;

/// The essence of an object as it may be kept: digests stand for the data of secrets.
///
/// ```
/// use kopf_runtime::storages::Essence;
/// use serde_json::json;
///
/// let essence = json!({"spec": {"size": 1, "script": "x".repeat(1000)}});
/// let kept = Essence::for_test(&essence);
/// assert_eq!(kept.value(), &essence);
/// let short = kept.fitted(200);
/// assert_eq!(short["spec"]["size"], 1);
/// assert!(short["spec"]["script"].as_str().unwrap().starts_with("sha256:"));
/// ```
#[derive(Debug)]
pub struct Essence<'a> {
    sealed: Value,
    source: &'a Value,
}

impl<'a> Essence<'a> {
    pub(crate) fn seal(body: &Body, source: &'a Value) -> Self {
        Self {
            sealed: sealed(body, source.clone()),
            source,
        }
    }

    /// For tests of storages: the essence of an object that is no secret.
    #[must_use]
    pub fn for_test(value: &'a Value) -> Self {
        Self {
            sealed: value.clone(),
            source: value,
        }
    }

    /// All of it.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.sealed
    }

    /// The same in at most so many bytes of compact ASCII JSON: digests stand for its largest parts, so that changes of
    /// them are still noticed. What is nothing but small parts may stay longer.
    #[must_use]
    pub fn fitted(&self, limit: usize) -> Value {
        fit(self.sealed.clone(), self.source, limit)
    }
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

/// An essence with the values of `fresh` instead of all digests, also where they are others: a digest is no value.
pub(crate) fn shown(essence: Value, fresh: &Value) -> Value {
    let Value::Object(members) = essence else {
        return essence;
    };
    let shown = members.into_iter().filter_map(|(key, value)| {
        let fresh = fresh.get(&key);
        let value = if is_digest(&value) {
            fresh?.clone()
        } else {
            shown(value, fresh.unwrap_or_default())
        };
        Some((key, value))
    });
    Value::Object(shown.collect())
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
#[path = "digests_tests.rs"]
mod tests;
