//! Sets of fields in the form of `FieldsV1`: trees of path elements.
//!
//! A path element is `f:` with the name of a field, `k:` with the keys of a list element, or `v:` with a scalar that
//! is a list element.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

/// A set of fields below one that is known from elsewhere.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fields {
    /// Whether the field above is in the set itself.
    pub(crate) owned: bool,
    pub(crate) below: BTreeMap<String, Fields>,
}

/// The path element of a field's name.
pub(crate) fn named(name: &str) -> String {
    format!("f:{name}")
}

impl Fields {
    pub(crate) fn is_empty(&self) -> bool {
        !self.owned && self.below.is_empty()
    }

    /// Adds what is below an element, if there is anything.
    pub(crate) fn add(&mut self, element: String, fields: Self) {
        if !fields.is_empty() {
            self.below.entry(element).or_default().unite(fields);
        }
    }

    pub(crate) fn unite(&mut self, other: Self) {
        self.owned |= other.owned;
        for (element, fields) in other.below {
            match self.below.get_mut(&element) {
                Some(known) => known.unite(fields),
                None => drop(self.below.insert(element, fields)),
            }
        }
    }

    pub(crate) fn without(&self, other: &Self) -> Self {
        let below = self.below.iter().filter_map(|(element, fields)| {
            let rest = other
                .below
                .get(element)
                .map_or_else(|| fields.clone(), |other| fields.without(other));
            (!rest.is_empty()).then(|| (element.clone(), rest))
        });
        Self {
            owned: self.owned && !other.owned,
            below: below.collect(),
        }
    }

    pub(crate) fn common(&self, other: &Self) -> Self {
        let below = self.below.iter().filter_map(|(element, fields)| {
            let common = fields.common(other.below.get(element)?);
            (!common.is_empty()).then(|| (element.clone(), common))
        });
        Self {
            owned: self.owned && other.owned,
            below: below.collect(),
        }
    }

    /// Removes one field, but not what is below it.
    pub(crate) fn remove(&mut self, path: &[&str]) {
        let Some((first, rest)) = path.split_first() else {
            self.owned = false;
            return;
        };
        let element = named(first);
        if let Some(fields) = self.below.get_mut(&element) {
            fields.remove(rest);
            if fields.is_empty() {
                self.below.remove(&element);
            }
        }
    }

    /// The paths of all fields in the set, as messages write them: at each level what is there before what is below.
    pub(crate) fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        self.collect_paths("", &mut paths);
        paths
    }

    fn collect_paths(&self, path: &str, paths: &mut Vec<String>) {
        let below = || {
            self.below
                .iter()
                .map(|(element, fields)| (format!("{path}{}", in_words(element)), fields))
        };
        paths.extend(below().filter(|(_, fields)| fields.owned).map(|(path, _)| path));
        for (path, fields) in below() {
            fields.collect_paths(&path, paths);
        }
    }

    /// The set as clients send it; nothing if they sent something else.
    pub(crate) fn parse(value: &Value) -> Option<Self> {
        let mut fields = Self::default();
        for (element, value) in value.as_object()? {
            if element == "." {
                fields.owned = true;
            } else {
                let mut below = Self::parse(value)?;
                below.owned |= below.below.is_empty();
                fields.below.insert(tidy_element(element)?, below);
            }
        }
        Some(fields)
    }

    pub(crate) fn to_value(&self) -> Value {
        let mut value = Map::new();
        if self.owned && !self.below.is_empty() {
            value.insert(".".into(), json!({}));
        }
        value.extend(
            self.below
                .iter()
                .map(|(element, fields)| (element.clone(), fields.to_value())),
        );
        Value::Object(value)
    }
}

/// A path element as messages write it, such as `.name`, `[name="a"]` or `[="a"]`.
pub(crate) fn in_words(element: &str) -> String {
    let Some((kind, rest)) = element.split_once(':') else {
        return element.to_owned();
    };
    match kind {
        "f" => format!(".{rest}"),
        "k" => {
            let keys: Map<String, Value> = serde_json::from_str(rest).unwrap_or_default();
            let mut words = String::new();
            for (key, value) in &keys {
                let comma = if words.is_empty() { "" } else { "," };
                // Writing to a string cannot fail.
                let _ = write!(words, "{comma}{key}={value}");
            }
            format!("[{words}]")
        }
        "v" => format!("[={rest}]"),
        _ => format!("[{rest}]"),
    }
}

fn tidy_element(element: &str) -> Option<String> {
    let (kind, rest) = element.split_once(':')?;
    match kind {
        "f" => Some(element.to_owned()),
        "k" | "v" | "i" => {
            let value: Value = serde_json::from_str(rest).ok()?;
            (kind != "k" || value.is_object()).then(|| format!("{kind}:{value}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(value: &Value) -> Fields {
        Fields::parse(value).expect("the test wrote fields")
    }

    #[test]
    fn sets_come_back_as_they_were_sent() {
        let sent = json!({
            "f:metadata": {"f:labels": {".": {}, "f:a": {}}, "f:finalizers": {"v:\"x\"": {}}},
            "f:spec": {"k:{\"name\":\"a\"}": {".": {}, "f:image": {}}, "f:empty": {}},
        });
        assert_eq!(fields(&sent).to_value(), sent);
        assert_eq!(
            fields(&json!({"k:{ \"a\" : 1 }": {}})).to_value(),
            json!({"k:{\"a\":1}": {}})
        );
    }

    #[test]
    fn what_is_no_set_is_refused() {
        for value in [
            json!(1),
            json!({"x": {}}),
            json!({"q:x": {}}),
            json!({"k:[]": {}}),
            json!({"f:a": null}),
        ] {
            assert!(Fields::parse(&value).is_none(), "{value}");
        }
    }

    #[test]
    fn a_parent_is_a_member_of_its_own() {
        let both = fields(&json!({"f:a": {".": {}, "f:b": {}, "f:c": {}}}));
        let parent = fields(&json!({"f:a": {}}));
        assert_eq!(both.without(&parent).to_value(), json!({"f:a": {"f:b": {}, "f:c": {}}}));
        assert_eq!(both.common(&parent), parent);
        let children = fields(&json!({"f:a": {"f:b": {}, "f:c": {}}}));
        assert_eq!(both.without(&children), parent);
        let mut united = parent;
        united.unite(children);
        assert_eq!(united, both);
        united.remove(&["a", "b"]);
        united.remove(&["a"]);
        assert_eq!(united.to_value(), json!({"f:a": {"f:c": {}}}));
    }

    #[test]
    fn paths_are_written_as_in_messages() {
        let set = fields(&json!({"f:spec": {
            "f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:name": {}}},
            "f:names": {"v:\"x\"": {}},
        }}));
        assert_eq!(
            set.paths(),
            [
                ".spec.names[=\"x\"]",
                ".spec.ports[port=80,protocol=\"TCP\"]",
                ".spec.ports[port=80,protocol=\"TCP\"].name",
            ]
        );
    }
}
