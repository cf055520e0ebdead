//! Paths to fields of objects (H-16).

use std::fmt;

use serde_json::{Map, Value};

/// The path to a field: a dotted string, or a list of keys where a key holds dots itself.
///
/// ```
/// use kopf_runtime::FieldPath;
///
/// assert_eq!(FieldPath::from("spec.size"), FieldPath::from(["spec", "size"]));
/// assert_eq!(FieldPath::from(["metadata", "labels", "a.b/c"]).to_string(), "metadata.labels.a.b/c");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FieldPath(Vec<String>);

impl FieldPath {
    /// The keys, outermost first.
    pub fn keys(&self) -> &[String] {
        &self.0
    }

    /// The value there; `None` if the path leads nowhere, into something without keys, or to null (F-11).
    pub fn resolve<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        let found = self
            .0
            .iter()
            .try_fold(value, |value, key| value.as_object()?.get(key))?;
        (!found.is_null()).then_some(found)
    }

    /// Puts a value there; what stands in the way and has no keys is replaced.
    pub(crate) fn insert(&self, into: &mut Value, value: Value) {
        let mut place = into;
        for key in &self.0 {
            if !place.is_object() {
                *place = Value::Object(Map::new());
            }
            let Value::Object(map) = place else { return };
            place = map.entry(key.as_str()).or_insert(Value::Null);
        }
        *place = value;
    }

    /// Takes the value away, and then each mapping on the path that this has left empty.
    pub(crate) fn remove(&self, from: &mut Value) {
        fn descend(value: &mut Value, keys: &[String]) -> bool {
            let (Some((key, rest)), Some(map)) = (keys.split_first(), value.as_object_mut()) else {
                return false;
            };
            match map.get_mut(key) {
                None => false,
                Some(_) if rest.is_empty() => map.remove(key).is_some(),
                Some(inner) => {
                    let removed = descend(inner, rest);
                    if removed && inner.as_object().is_some_and(Map::is_empty) {
                        map.remove(key);
                    }
                    removed
                }
            }
        }
        descend(from, &self.0);
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

impl From<&str> for FieldPath {
    fn from(dotted: &str) -> Self {
        if dotted.is_empty() {
            Self::default()
        } else {
            Self(dotted.split('.').map(str::to_owned).collect())
        }
    }
}

impl From<Vec<String>> for FieldPath {
    fn from(keys: Vec<String>) -> Self {
        Self(keys)
    }
}

impl<const N: usize> From<[&str; N]> for FieldPath {
    fn from(keys: [&str; N]) -> Self {
        Self(keys.into_iter().map(str::to_owned).collect())
    }
}

impl<const N: usize> From<&[&str; N]> for FieldPath {
    fn from(keys: &[&str; N]) -> Self {
        Self(keys.iter().copied().map(str::to_owned).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    // F-11
    #[test]
    fn a_path_through_anything_without_keys_is_absent() {
        let object = json!({"a": {"b": "s", "l": [1], "n": null}});
        assert_eq!(FieldPath::from("a.b").resolve(&object), Some(&json!("s")));
        for dotted in ["a.b.c", "a.l.0", "a.n", "a.n.x", "x", "a.x.y"] {
            assert_eq!(FieldPath::from(dotted).resolve(&object), None, "{dotted}");
        }
    }

    #[test]
    fn the_empty_path_is_the_whole_value() {
        assert_eq!(FieldPath::from("").resolve(&json!(1)), Some(&json!(1)));
    }

    // H-16
    #[test]
    fn lists_of_keys_allow_dots_in_keys() {
        let object = json!({"metadata": {"labels": {"a.b/c": "x"}}});
        assert_eq!(
            FieldPath::from(["metadata", "labels", "a.b/c"]).resolve(&object),
            Some(&json!("x"))
        );
        assert_eq!(FieldPath::from("metadata.labels.a.b/c").resolve(&object), None);
        assert_eq!(
            FieldPath::from("metadata.labels").resolve(&object),
            Some(&json!({"a.b/c": "x"}))
        );
    }

    #[test]
    fn inserting_makes_the_way_and_removing_clears_it() {
        let mut value = json!({"a": 1});
        let path = FieldPath::from("a.b.c");
        path.insert(&mut value, json!(2));
        assert_eq!(value, json!({"a": {"b": {"c": 2}}}));
        path.remove(&mut value);
        assert_eq!(value, json!({}));
    }

    #[test]
    fn removing_keeps_what_was_empty_before() {
        let mut value = json!({"a": {}, "b": {"c": 1, "d": 2}});
        FieldPath::from("a.x").remove(&mut value);
        FieldPath::from("b.c").remove(&mut value);
        FieldPath::from("b.d.e").remove(&mut value);
        assert_eq!(value, json!({"a": {}, "b": {"d": 2}}));
    }
}
