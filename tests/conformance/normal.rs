//! Answers without what differs on every run: identities, versions, times, tokens and random suffixes.
//!
//! What is the same within a conversation stays the same: the first identity that was seen becomes `<uid 1>`, and an
//! object's second version `<version 2>`.

use std::collections::BTreeMap;

use kopf_runtime::jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

/// What a server's answers in one conversation had in them so far.
#[derive(Debug, Default)]
pub(crate) struct Normaliser {
    managed_fields: bool,
    uids: Vec<String>,
    versions: BTreeMap<String, Vec<String>>,
}

/// What the server takes its random suffixes from.
const SUFFIX: &str = "bcdfghjklmnpqrstvwxz2456789";

impl Normaliser {
    /// For a new conversation; ownership of fields stays only if wanted.
    pub(crate) fn new(managed_fields: bool) -> Self {
        Self {
            managed_fields,
            ..Self::default()
        }
    }

    /// The answer in comparable form.
    pub(crate) fn normal(&mut self, value: &Value) -> Value {
        match value {
            Value::Object(fields) => fields
                .iter()
                .map(|(key, value)| (key.clone(), self.field(key, value)))
                .collect(),
            Value::Array(items) => items.iter().map(|item| self.normal(item)).collect(),
            Value::String(text) => Value::String(self.text(text)),
            other => other.clone(),
        }
    }

    fn field(&mut self, key: &str, value: &Value) -> Value {
        match (key, value) {
            ("metadata", Value::Object(metadata)) => self.metadata(metadata),
            ("resourceVersion", Value::String(version)) if is_version(version) => json!("<version>"),
            // Only here are versions spoken of.
            ("message", Value::String(text)) if text.to_lowercase().contains("resource version") => {
                Value::String(without_numbers(text))
            }
            _ => self.normal(value),
        }
    }

    fn metadata(&mut self, metadata: &Map<String, Value>) -> Value {
        let text = |key: &str| metadata.get(key).and_then(Value::as_str).unwrap_or_default();
        let version = self.version(text("uid"), text("resourceVersion"));
        let name = without_suffix(text("generateName"), text("name"));
        let mut normal = Map::new();
        for (key, value) in metadata {
            let value = match key.as_str() {
                "selfLink" => continue,
                "managedFields" if !self.managed_fields => continue,
                "managedFields" => self.normal(&without_times(value)),
                "resourceVersion" if is_version(text(key)) => json!(version),
                "continue" if !text(key).is_empty() => json!("<token>"),
                "name" if name.is_some() => json!(name),
                _ => self.normal(value),
            };
            normal.insert(key.clone(), value);
        }
        Value::Object(normal)
    }

    /// The how-manieth version of its object it is; lists and bookmarks are no objects.
    fn version(&mut self, uid: &str, version: &str) -> String {
        if uid.is_empty() {
            return "<version>".into();
        }
        let known = self.versions.entry(uid.into()).or_default();
        format!("<version {}>", ordinal(known, version))
    }

    fn text(&mut self, text: &str) -> String {
        if let Some(time) = recent(text) {
            return time.into();
        }
        let mut normal = String::new();
        let mut rest = text;
        while let Some(next) = rest.chars().next() {
            if let Some(uid) = rest.get(..36).filter(|start| is_uid(start)) {
                normal.extend(["<uid ", &ordinal(&mut self.uids, uid).to_string(), ">"]);
                rest = &rest[36..];
            } else {
                normal.push(next);
                rest = &rest[next.len_utf8()..];
            }
        }
        normal
    }
}

/// The place of a text among those seen, from 1.
fn ordinal(known: &mut Vec<String>, text: &str) -> usize {
    let index = known.iter().position(|each| each == text).unwrap_or_else(|| {
        known.push(text.into());
        known.len() - 1
    });
    index + 1
}

fn is_version(text: &str) -> bool {
    !text.is_empty() && text != "0" && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_uid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// The precision of a time of today; other times were written in the check.
fn recent(text: &str) -> Option<&'static str> {
    let time: Timestamp = text.parse().ok()?;
    let distance = time.duration_since(Timestamp::now()).abs();
    let precision = if text.contains('.') { "<microtime>" } else { "<time>" };
    (distance < SignedDuration::from_hours(24)).then_some(precision)
}

fn without_numbers(text: &str) -> String {
    let words = text.split_inclusive(|c: char| !c.is_ascii_digit());
    let mut normal = String::new();
    for word in words {
        let digits = word.len() - word.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits > 0 {
            normal += "<version>";
        }
        normal += &word[digits..];
    }
    normal
}

fn without_suffix(prefix: &str, name: &str) -> Option<String> {
    let suffix = name.strip_prefix(prefix).filter(|_| !prefix.is_empty())?;
    (suffix.len() == 5 && suffix.chars().all(|c| SUFFIX.contains(c))).then(|| format!("{prefix}<suffix>"))
}

/// Ownership of fields without when it was taken and, since the oldest server does not say it, through which
/// subresource.
fn without_times(managed_fields: &Value) -> Value {
    let mut managed_fields = managed_fields.clone();
    for entry in managed_fields.as_array_mut().into_iter().flatten() {
        for key in ["time", "subresource"] {
            entry.as_object_mut().map(|entry| entry.remove(key));
        }
    }
    // Entries of one operation are sorted by their times.
    if let Some(entries) = managed_fields.as_array_mut() {
        entries.sort_by_key(Value::to_string);
    }
    managed_fields
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "0b2f8cd6-24a5-4a0f-8d2b-1f7b0f4a1a01";
    const SECOND: &str = "9a2f8cd6-24a5-4a0f-8d2b-1f7b0f4a1a02";

    #[test]
    fn identities_are_numbered_as_they_are_seen() {
        let mut normaliser = Normaliser::default();
        let normal = normaliser.normal(&json!({"a": FIRST, "b": [SECOND, FIRST], "c": format!("not {SECOND}!")}));
        assert_eq!(
            normal,
            json!({"a": "<uid 1>", "b": ["<uid 2>", "<uid 1>"], "c": "not <uid 2>!"})
        );
    }

    #[test]
    fn versions_count_per_object() {
        let mut normaliser = Normaliser::default();
        let mut version = |uid: &str, version: &str| {
            let normal = normaliser.normal(&json!({"metadata": {"uid": uid, "resourceVersion": version}}));
            normal["metadata"]["resourceVersion"].clone()
        };
        assert_eq!(version(FIRST, "17"), "<version 1>");
        assert_eq!(version(SECOND, "19"), "<version 1>");
        assert_eq!(version(FIRST, "20"), "<version 2>");
        assert_eq!(version(FIRST, "17"), "<version 1>");
    }

    #[test]
    fn versions_of_lists_are_all_alike_but_their_absence_shows() {
        let mut normaliser = Normaliser::default();
        let mut of = |metadata: Value| normaliser.normal(&json!({"metadata": metadata}))["metadata"].clone();
        assert_eq!(of(json!({"resourceVersion": "3"})), of(json!({"resourceVersion": "4"})));
        assert_ne!(of(json!({"resourceVersion": "3"})), of(json!({"resourceVersion": ""})));
        assert_ne!(of(json!({"resourceVersion": "3"})), of(json!({})));
    }

    #[test]
    fn only_times_of_now_are_normalised_and_keep_their_precision() {
        let mut normaliser = Normaliser::default();
        let now = Timestamp::now();
        assert_eq!(normaliser.normal(&json!(now.strftime("%FT%TZ").to_string())), "<time>");
        assert_eq!(
            normaliser.normal(&json!(now.strftime("%FT%T%.6fZ").to_string())),
            "<microtime>"
        );
        assert_eq!(
            normaliser.normal(&json!("2001-02-03T04:05:06Z")),
            "2001-02-03T04:05:06Z"
        );
    }

    #[test]
    fn generated_suffixes_must_be_like_those_of_the_server() {
        let mut normaliser = Normaliser::default();
        let mut name = |name: &str| {
            let normal = normaliser.normal(&json!({"metadata": {"generateName": "a-", "name": name}}));
            normal["metadata"]["name"].clone()
        };
        assert_eq!(name("a-xk2b9"), "a-<suffix>");
        assert_eq!(name("a-12345"), "a-12345");
        assert_eq!(name("a-xk2b"), "a-xk2b");
    }

    #[test]
    fn ownership_is_dropped_or_kept_without_times() {
        let object = json!({"metadata": {"managedFields": [{"manager": "a", "time": "x", "subresource": "status"}]}});
        assert_eq!(Normaliser::default().normal(&object), json!({"metadata": {}}));
        let mut normaliser = Normaliser::new(true);
        assert_eq!(
            normaliser.normal(&object),
            json!({"metadata": {"managedFields": [{"manager": "a"}]}})
        );
    }

    #[test]
    fn versions_in_messages_are_not_compared() {
        let mut normaliser = Normaliser::default();
        let status =
            json!({"message": "too old resource version: 1 (345)", "details": {"causes": [{"message": "12"}]}});
        let normal = normaliser.normal(&status);
        assert_eq!(normal["message"], "too old resource version: <version> (<version>)");
        assert_eq!(normal["details"]["causes"][0]["message"], "12");
    }
}
