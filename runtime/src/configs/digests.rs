//! Digests in place of what must not or cannot be kept with a copy of an object (B, *Improve on*; B-054).
//!
//! The data of secrets is never copied, and of what would not fit the largest parts are not. A digest in the copy stands
//! for the value; [`restore`] puts the value back where it is still the same.

use std::fmt::Write as _;

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::conventions;
use crate::structs::bodies::Body;
use crate::structs::fields::FieldPath;

/// The beginning of what stands for a value.
const DIGEST: &str = "sha256:";

/// The member of a mapping that holds the digest of all of it, where only members that handlers ask for are kept.
const WHOLE: &str = DIGEST;

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
    asked: &'a [FieldPath],
}

impl<'a> Essence<'a> {
    /// The fields in `asked` are not lost in the digests of what they are in.
    pub(crate) fn seal(body: &Body, source: &'a Value, asked: &'a [FieldPath]) -> Self {
        Self {
            sealed: sealed(body, source.clone()),
            source,
            asked,
        }
    }

    /// For tests of storages: the essence of an object that is no secret.
    #[must_use]
    pub fn for_test(value: &'a Value) -> Self {
        Self {
            sealed: value.clone(),
            source: value,
            asked: &[],
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
        fit(self.sealed.clone(), self.source, self.asked, limit)
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
        (Value::Object(stored), Some(fresh)) if stored.get(WHOLE).is_some_and(|whole| digest(fresh) == *whole) => {
            fresh.clone()
        }
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
    let Value::Object(mut members) = essence else {
        return essence;
    };
    let mut all = Map::new();
    if members.remove(WHOLE).is_some() {
        all = fresh.as_object().cloned().unwrap_or_default();
    }
    let shown = members.into_iter().filter_map(|(key, value)| {
        let fresh = fresh.get(&key);
        let value = if is_digest(&value) {
            fresh?.clone()
        } else {
            shown(value, fresh.unwrap_or_default())
        };
        Some((key, value))
    });
    all.extend(shown);
    Value::Object(all)
}

/// The value with digests in place of its largest parts, so that its text is not longer than `limit` (B-054).
///
/// A digest stands for what `source` has at that place: for a patch, that is the whole value after it. Lists are
/// digested as wholes. A value that is all small keys may stay too long.
///
/// Of a mapping around a field in `asked`, the member on the way to it is kept beside the digest: whether that field
/// has changed can be told although others have.
pub(crate) fn fit(mut value: Value, source: &Value, asked: &[FieldPath], limit: usize) -> Value {
    loop {
        let size = conventions::ascii_json(&value).len();
        let Some(excess) = size.checked_sub(limit).filter(|&excess| excess > 0) else {
            return value;
        };
        let mut parts = Vec::new();
        measure(&value, source, asked, &mut Vec::new(), &mut parts);
        // The smallest part that is large enough; else the largest one, and then again.
        let enough = parts
            .iter()
            .filter(|part| part.saved >= excess)
            .min_by_key(|part| part.length);
        let Some(Part { path, kept, .. }) = enough.or_else(|| parts.iter().max_by_key(|part| part.saved)) else {
            return value;
        };
        let Some(whole) = path.resolve(source).map(digest) else {
            return value;
        };
        let short = match kept.clone() {
            None => whole,
            Some(mut kept) => {
                kept.insert(WHOLE.to_owned(), whole);
                Value::Object(kept)
            }
        };
        path.insert(&mut value, short);
    }
}

/// What a digest could stand for.
struct Part {
    path: FieldPath,
    /// How long it is; so what is in a part is always smaller than the part.
    length: usize,
    /// The bytes that it would save.
    saved: usize,
    /// The members that are kept beside it, if a handler asks for something within.
    kept: Option<Map<String, Value>>,
}

/// Collects what a digest could stand for.
fn measure(value: &Value, source: &Value, asked: &[FieldPath], path: &mut Vec<String>, parts: &mut Vec<Part>) {
    for (key, part) in value.as_object().into_iter().flatten() {
        path.push(key.clone());
        let here = FieldPath::from(path.clone());
        let kept = kept(part, path, asked);
        let beside = |kept: &Map<String, Value>| {
            let text = conventions::ascii_json(&Value::Object(kept.clone()));
            // Quotes, a colon and a comma.
            text.len() + WHOLE.len() + 4
        };
        let needed = DIGEST_SIZE + kept.as_ref().map_or(0, beside);
        let length = conventions::ascii_json(part).len();
        if length > DIGEST_SIZE && here.resolve(source).is_some() {
            if let Some(saved) = length.checked_sub(needed).filter(|&saved| saved > 0) {
                parts.push(Part {
                    path: here,
                    length,
                    saved,
                    kept,
                });
            }
            measure(part, source, asked, path, parts);
        }
        path.pop();
    }
}

/// The members of what is at this path that lead to fields within it; `None` if nobody asks for such.
fn kept(part: &Value, path: &[String], asked: &[FieldPath]) -> Option<Map<String, Value>> {
    let members = part.as_object()?;
    let mut within = asked
        .iter()
        .filter_map(|field| field.keys().strip_prefix(path)?.first())
        .peekable();
    within.peek()?;
    let kept = within.filter_map(|key| Some((key.clone(), members.get(key)?.clone())));
    Some(kept.collect())
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
