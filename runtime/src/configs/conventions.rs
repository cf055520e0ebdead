//! Names of annotations, and the little that both storages share (N).

use std::fmt::Write as _;

use base64::Engine as _;
use base64::alphabet::Alphabet;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};
use blake2::digest::consts::U4;
use blake2::{Blake2b, Digest as _};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::structs::bodies::Body;
use crate::structs::fields::FieldPath;
use crate::structs::patches::compose;
use crate::structs::state_patches::StatePatch;

/// The longest name of an annotation, without its prefix (N-2).
const NAME_LIMIT: usize = 63;

/// The longest prefix: what is left of 253 characters by a name and a slash (N-8).
const PREFIX_LIMIT: usize = 253 - NAME_LIMIT - 1;

/// How many bytes of annotations an object may have, names and values together; the API server's own limit.
pub(crate) const ANNOTATIONS_LIMIT: usize = 262_144;

/// The name of the annotation that marks a prefix as owned by an operator of this family (N-9).
const MARKER: &str = "kopf-managed";

/// The name of the annotation that says which object the state belongs to (B-028).
const IDENTITY: &str = "kopf-gen";

/// The name of the annotation with the diff-base (B-7).
pub(crate) const LAST_HANDLED: &str = "last-handled-configuration";

/// The name of the annotation with which Kopf wakes itself up (W-10).
const TOUCH: &str = "touch-dummy";

/// Whether an annotation of this name is no handler's record.
pub(crate) fn is_reserved(name: &str) -> bool {
    [MARKER, IDENTITY, LAST_HANDLED, TOUCH].contains(&name)
}

/// The format of what is kept on objects.
const FORMAT_VERSION: u32 = 1;

/// Why a prefix of annotations cannot be used (N-8).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PrefixError {
    /// Nothing can be kept without a prefix (P-13).
    #[error("the prefix of annotations is empty")]
    Empty,
    #[error("the prefix {0:?} of annotations is longer than {PREFIX_LIMIT} characters")]
    TooLong(String),
    #[error("the prefix {0:?} of annotations is not a DNS subdomain (lower-case letters, digits, '-' and '.')")]
    NotSubdomain(String),
}

/// Why a name of a finalizer cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a name with or without a DNS subdomain and a slash before it, as in 'example.com/finalizer'")]
pub(crate) struct QualifiedNameError(String);

/// Refuses prefixes that the API would refuse in every patch (N-8).
pub(crate) fn validate_prefix(prefix: &str) -> Result<(), PrefixError> {
    if prefix.is_empty() {
        Err(PrefixError::Empty)
    } else if prefix.len() > PREFIX_LIMIT {
        Err(PrefixError::TooLong(prefix.to_owned()))
    } else if !is_subdomain(prefix) {
        Err(PrefixError::NotSubdomain(prefix.to_owned()))
    } else {
        Ok(())
    }
}

/// Refuses names of finalizers that the API would refuse.
pub(crate) fn validate_qualified_name(text: &str) -> Result<(), QualifiedNameError> {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    let valid = prefix.is_none_or(|prefix| prefix.len() <= 253 && is_subdomain(prefix))
        && (1..=NAME_LIMIT).contains(&name.len())
        && name.chars().all(allowed)
        && name.starts_with(|char: char| char.is_ascii_alphanumeric())
        && name.ends_with(|char: char| char.is_ascii_alphanumeric());
    if valid {
        Ok(())
    } else {
        Err(QualifiedNameError(text.to_owned()))
    }
}

/// Refuses fields of the status in which nothing can be kept (P-14, B-8).
pub(crate) fn validate_status_field(field: &FieldPath) -> Result<(), String> {
    match field.keys() {
        [status, rest @ ..] if status == "status" && !rest.is_empty() && !rest.iter().any(String::is_empty) => Ok(()),
        _ => Err(format!(
            "{:?} is no field below the status, as in \"status.kopf.progress\"",
            field.to_string()
        )),
    }
}

fn is_subdomain(text: &str) -> bool {
    let plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.split('.').all(|label| {
        let bytes = label.as_bytes();
        bytes.first().is_some_and(plain)
            && bytes.last().is_some_and(plain)
            && bytes.iter().all(|byte| *byte == b'-' || plain(byte))
    })
}

/// The annotations that may hold what is stored under one id: first the current name, then Kopf's older one if it
/// differs (N-6).
pub(crate) fn keys(prefix: &str, id: &str, body: &Body) -> Vec<String> {
    let id = marked(id, body);
    let current = format!("{prefix}/{}", name(&id));
    let legacy = legacy_key(prefix, &id).filter(|legacy| *legacy != current);
    std::iter::once(current).chain(legacy).collect()
}

/// Whether Kubernetes copies annotations onto this object from its owner, so that its own ones need other names (N-7).
pub(crate) fn inherits_annotations(body: &Body) -> bool {
    let owners = body.metadata().and_then(|meta| meta.get("ownerReferences")?.as_array());
    body.kind() == Some("ReplicaSet")
        && owners
            .into_iter()
            .flatten()
            .any(|owner| owner.get("kind").is_some_and(|kind| kind == "Deployment"))
}

/// What is appended to ids on such objects (N-7).
const INHERITORS: &str = "-ofDRS";

/// Whether the name of an annotation is one of such an object itself, as far as it was not shortened.
pub(crate) fn is_for_inheritors(key: &str) -> bool {
    key.ends_with(INHERITORS)
}

fn marked(id: &str, body: &Body) -> String {
    if inherits_annotations(body) {
        format!("{id}{INHERITORS}")
    } else {
        id.to_owned()
    }
}

/// The name of the annotation for an id: Kopf's scheme V2 (N-1 to N-3).
///
/// Where Kopf would yield a name that the API refuses, the offending characters are replaced, and the hash of the id
/// keeps the name unique.
pub(crate) fn name(id: &str) -> String {
    let kopf = replaced(id);
    let mut safe: String = kopf
        .chars()
        .map(|char| if allowed(char) { char } else { '_' })
        .collect();
    if !safe.starts_with(|char: char| char.is_ascii_alphanumeric()) {
        safe.insert(0, 'x');
    }
    let too_long = id.chars().count() > NAME_LIMIT;
    let ends_badly = !safe.ends_with(|char: char| char.is_ascii_alphanumeric());
    if too_long || ends_badly || safe != kopf {
        let suffix = suffix(id);
        safe.truncate(NAME_LIMIT - suffix.len());
        safe + &suffix
    } else {
        safe
    }
}

/// The key of Kopf's older scheme V1, which limits prefix and name together (N-5).
///
/// `None` where it yields what the API refuses, so that no such annotation can exist (N-8).
fn legacy_key(prefix: &str, id: &str) -> Option<String> {
    let room = NAME_LIMIT.checked_sub(prefix.len() + 1)?;
    let safe = replaced(id);
    if !safe.chars().all(allowed) {
        return None;
    }
    let key = if safe.len() <= room {
        format!("{prefix}/{safe}")
    } else {
        let suffix = suffix(&safe);
        let kept = room.checked_sub(suffix.len())?;
        format!("{prefix}/{}{suffix}", &safe[..kept])
    };
    validate_qualified_name(&key).is_ok().then_some(key)
}

/// The replacements of Kopf (N-1).
fn replaced(id: &str) -> String {
    id.replace('/', ".").replace(['<', '>'], "_")
}

fn allowed(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.')
}

/// What keeps a shortened name unique (N-3). The digest's length is a parameter of the hash, not a cut (N-4).
fn suffix(text: &str) -> String {
    let alphabet = Alphabet::new("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-.");
    let engine = GeneralPurpose::new(&alphabet.expect("64 distinct characters"), NO_PAD);
    let digest = Blake2b::<U4>::digest(text.as_bytes());
    format!("-{}", engine.encode(digest))
        .trim_end_matches(['-', '.'])
        .to_owned()
}

/// Whether annotations with this prefix are the state of some operator, Kopf's or ours (N-10).
pub(crate) fn is_owned(prefix: &str, body: &Body) -> bool {
    is_kopf(prefix) || body.annotation(&marker_key(prefix)).is_some()
}

/// The annotation that marks a prefix as owned (N-9).
pub(crate) fn marker_key(prefix: &str) -> String {
    format!("{prefix}/{MARKER}")
}

fn is_kopf(prefix: &str) -> bool {
    prefix == "kopf.zalando.org" || prefix.ends_with(".kopf.zalando.org")
}

/// Marks a prefix as ours, so that other operators of this family know state when they see it.
///
/// Kopf leaves the marker out for all prefixes that begin with `kopf.`, so that other operators take the state for
/// content (N-9, N-11); here only those go without that everyone knows anyway.
pub(crate) fn mark(patch: &mut StatePatch, prefix: &str, body: &Body) {
    let marker = marker_key(prefix);
    if !is_kopf(prefix) && body.annotation(&marker).is_none() {
        patch.annotation(marker, "yes");
    }
}

/// Marks the prefix as ours, and the state as this very object's. Belongs into every patch that stores state.
pub(crate) fn store_marks(merge: &mut Map<String, Value>, prefix: &str, body: &Body, covered: &[String]) {
    let mut patch = StatePatch::default();
    mark(&mut patch, prefix, body);
    if let Some(uid) = body.uid() {
        let mark = IdentityMark {
            uid: uid.to_owned(),
            v: FORMAT_VERSION,
            fields: covered.to_vec(),
        };
        if read_mark(prefix, body).as_ref() != Some(&mark) {
            patch.annotation(identity_key(prefix, body), ascii_json(&mark));
        }
    }
    compose(merge, patch.into_merge());
}

/// Which object some state belongs to, and which fields beyond the common ones its diff-base covers (B-6).
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct IdentityMark {
    uid: String,
    v: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    fields: Vec<String>,
}

/// Whether an annotation with this prefix is state that is no handler's record: the diff-base, a touch, our mark.
pub(crate) fn is_note(prefix: &str, key: &str, body: &Body) -> bool {
    key == identity_key(prefix, body)
        || [LAST_HANDLED, TOUCH]
            .iter()
            .any(|id| keys(prefix, id, body).iter().any(|own| own == key))
}

fn identity_key(prefix: &str, body: &Body) -> String {
    format!("{prefix}/{}", name(&marked(IDENTITY, body)))
}

fn read_mark(prefix: &str, body: &Body) -> Option<IdentityMark> {
    serde_json::from_str(body.annotation(&identity_key(prefix, body))?).ok()
}

/// Whether the state on the object was copied from another object: it names another uid (B-028).
///
/// `None` for state without a mark, which is trusted: it is Kopf's.
pub(crate) fn is_copied(prefix: &str, body: &Body) -> Option<bool> {
    read_mark(prefix, body).map(|mark| Some(mark.uid.as_str()) != body.uid())
}

/// The fields beyond the common ones that the stored diff-base covers; `None` if nobody noted them down.
pub(crate) fn covered_fields(prefix: &str, body: &Body) -> Option<Vec<String>> {
    read_mark(prefix, body).map(|mark| mark.fields)
}

/// The annotations of an object with this prefix.
pub(crate) fn annotations_under<'a>(prefix: &'a str, body: &'a Body) -> impl Iterator<Item = (&'a str, &'a str)> {
    body.annotations()
        .filter(move |(key, _)| key.split_once('/').is_some_and(|(own, _)| own == prefix))
}

/// How many bytes the annotations of an object take of what is allowed.
pub(crate) fn size(body: &Body) -> usize {
    body.annotations().map(|(key, text)| key.len() + text.len()).sum()
}

/// Takes the annotations with this prefix out of an essence.
pub(crate) fn clear_annotations(essence: &mut Value, prefix: &str) {
    if let Some(Value::Object(annotations)) = essence.pointer_mut("/metadata/annotations") {
        annotations.retain(|key, _| key.split_once('/').is_none_or(|(own, _)| own != prefix));
        if annotations.is_empty() {
            FieldPath::from(["metadata", "annotations"]).remove(essence);
        }
    }
}

/// Compact JSON in ASCII, as Python writes it: all else is `\uXXXX`, in surrogate pairs where needed (P-2).
pub(crate) fn ascii_json(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).expect("maps with text keys always serialize");
    let mut ascii = String::with_capacity(text.len());
    for char in text.chars() {
        if (' '..='~').contains(&char) {
            ascii.push(char);
        } else {
            for unit in char.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(ascii, "\\u{unit:04x}");
            }
        }
    }
    ascii
}

/// ISO 8601 with six fraction digits and an offset (P-3).
pub(crate) fn format_time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00").to_string()
}

/// Reads any offset, and none as UTC: older versions of Kopf wrote that (P-3, P-4).
pub(crate) fn parse_time(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    text.parse::<Timestamp>().ok().or_else(|| {
        let naive: DateTime = text.parse().ok()?;
        Some(naive.to_zoned(TimeZone::UTC).ok()?.timestamp())
    })
}

#[cfg(test)]
#[path = "conventions_tests.rs"]
mod tests;
