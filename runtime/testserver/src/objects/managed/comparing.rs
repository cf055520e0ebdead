//! What a write adds, removes and modifies, field by field; and which fields a configuration has.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::objects::managed::fields::{Fields, named};
use crate::objects::shapes::{Field, Shape};

/// The difference between two states of an object.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Changes {
    pub(crate) added: Fields,
    pub(crate) removed: Fields,
    pub(crate) modified: Fields,
}

impl Changes {
    pub(crate) fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.modified.is_empty()
    }

    fn add(&mut self, element: &str, below: Self) {
        self.added.add(element.to_owned(), below.added);
        self.removed.add(element.to_owned(), below.removed);
        self.modified.add(element.to_owned(), below.modified);
    }
}

/// Compares two states of a value, of which at least one exists.
pub(crate) fn compare(old: Option<&Value>, new: Option<&Value>, shape: Shape<'_>) -> Changes {
    let mut changes = Changes::default();
    let empty = |value: Option<&Value>| match value {
        None | Some(Value::Null) => true,
        Some(Value::Object(fields)) => fields.is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        Some(_) => false,
    };
    let (was_empty, is_empty) = (empty(old), empty(new));
    match (old, new) {
        // The difference between null and empty is that of leaves.
        _ if was_empty && is_empty => return leaf(old, new),
        (None | Some(Value::Null), Some(Value::Object(new))) if !shape.is_atomic_map() => {
            compare_fields(old.map(|_| Map::new()).as_ref(), Some(new), shape, &mut changes);
        }
        (Some(Value::Object(old)), None | Some(Value::Null)) if !shape.is_atomic_map() => {
            compare_fields(Some(old), new.map(|_| Map::new()).as_ref(), shape, &mut changes);
        }
        (Some(Value::Object(old)), Some(Value::Object(new))) if !shape.is_atomic_map() => {
            compare_fields(Some(old), Some(new), shape, &mut changes);
        }
        (None | Some(Value::Null | Value::Array(_)), None | Some(Value::Null | Value::Array(_)))
            if shape.is_associative() =>
        {
            let (Some(before), Some(after)) = (elements(old, shape), elements(new, shape)) else {
                return leaf(old, new);
            };
            compare_elements(&before, &after, shape, &mut changes);
        }
        _ => return leaf(old, new),
    }
    changes.added.owned = old.is_none();
    changes.removed.owned = new.is_none();
    changes
}

fn leaf(old: Option<&Value>, new: Option<&Value>) -> Changes {
    let mut changes = Changes::default();
    match (old, new) {
        (None, Some(_)) => changes.added.owned = true,
        (Some(_), None) => changes.removed.owned = true,
        (old, new) => changes.modified.owned = old != new,
    }
    changes
}

fn compare_fields(
    old: Option<&Map<String, Value>>,
    new: Option<&Map<String, Value>>,
    shape: Shape<'_>,
    changes: &mut Changes,
) {
    let lookup = |name: &str| {
        let open = Field {
            shape: Shape::Open,
            named: false,
            present: false,
        };
        shape.field(name).unwrap_or(open)
    };
    // A missing field is there nevertheless if its parent is, and objects always have it.
    let missing = |parent: Option<&Map<String, Value>>, field: Field<'_>, other: &Value| {
        parent.filter(|_| field.present).map(|_| nothing_like(other))
    };
    for (name, after) in new.into_iter().flatten() {
        let field = lookup(name);
        let below = match old.and_then(|old| old.get(name)) {
            Some(before) if before == after => continue,
            Some(before) => compare(Some(before), Some(after), field.shape),
            None => compare(missing(old, field, after).as_ref(), Some(after), field.shape),
        };
        changes.add(&named(name), below);
    }
    for (name, before) in old.into_iter().flatten() {
        if new.is_some_and(|new| new.contains_key(name)) {
            continue;
        }
        let field = lookup(name);
        let after = missing(new, field, before);
        changes.add(&named(name), compare(Some(before), after.as_ref(), field.shape));
    }
}

/// What stands for a field that is in every object, where it is not written.
fn nothing_like(value: &Value) -> Value {
    match value {
        Value::Object(_) => Value::Object(Map::new()),
        Value::Array(_) => Value::Array(Vec::new()),
        _ => Value::Null,
    }
}

type Elements<'a> = BTreeMap<String, Vec<&'a Value>>;

/// The elements by what tells them apart; nothing if something does not tell.
fn elements<'a>(list: Option<&'a Value>, shape: Shape<'_>) -> Option<Elements<'a>> {
    let mut elements = Elements::new();
    for item in list.and_then(Value::as_array).into_iter().flatten() {
        elements.entry(shape.element(item).ok()?).or_default().push(item);
    }
    Some(elements)
}

fn compare_elements(old: &Elements<'_>, new: &Elements<'_>, shape: Shape<'_>, changes: &mut Changes) {
    for (element, after) in new {
        let below = match (old.get(element).map(Vec::as_slice), after.as_slice()) {
            (None, [after]) => compare(None, Some(after), shape.item()),
            (Some([before]), [after]) => compare(Some(before), Some(after), shape.item()),
            (None, _) => leaf(None, Some(&Value::Null)),
            // Of duplicates nobody can tell which is which.
            (Some(before), after) if before == after => continue,
            _ => leaf(Some(&Value::Null), Some(&Value::Bool(true))),
        };
        changes.add(element, below);
    }
    for (element, before) in old.iter().filter(|(element, _)| !new.contains_key(*element)) {
        let below = match before.as_slice() {
            [before] => compare(Some(before), None, shape.item()),
            _ => leaf(Some(&Value::Null), None),
        };
        changes.add(element, below);
    }
}

/// The fields that a configuration has, as its applier will own them.
pub(crate) fn fields_of(value: &Value, shape: Shape<'_>) -> Fields {
    let mut fields = Fields::default();
    match value {
        Value::Object(map) if !shape.is_atomic_map() => {
            for (name, value) in map {
                let field = shape.field(name);
                let mut below = fields_of(value, field.map_or(Shape::Open, |field| field.shape));
                let empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
                below.owned |= empty || !field.is_some_and(|field| field.named);
                fields.add(named(name), below);
            }
        }
        Value::Array(items) if shape.is_associative() => {
            for item in items {
                if let Ok(element) = shape.element(item) {
                    let mut below = fields_of(item, shape.item());
                    below.owned = true;
                    fields.add(element, below);
                }
            }
        }
        _ => fields.owned = true,
    }
    fields
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::cluster::Cluster;

    fn schema() -> Value {
        json!({"type": "object", "properties": {
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
            "struct": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
            "atomic": {"type": "array", "items": {"type": "string"}},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "list": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "object", "properties": {"name": {"type": "string"}, "x": {"type": "integer"}}},
            },
        }})
    }

    #[track_caller]
    fn differ(old: &Value, new: &Value, added: &Value, removed: &Value, modified: &Value) {
        let schema = schema();
        let changes = compare(Some(old), Some(new), Shape::Schema(&schema, false));
        let found = [&changes.added, &changes.removed, &changes.modified].map(Fields::to_value);
        assert_eq!(found, [added.clone(), removed.clone(), modified.clone()]);
    }

    #[test]
    fn added_maps_and_lists_are_owned_themselves() {
        let new = json!({"map": {"k": "v"}, "list": [{"name": "a"}], "atomic": ["x"], "set": ["y"], "struct": {}});
        let added = json!({
            "f:map": {".": {}, "f:k": {}},
            "f:list": {".": {}, "k:{\"name\":\"a\"}": {".": {}, "f:name": {}}},
            "f:atomic": {},
            "f:set": {".": {}, "v:\"y\"": {}},
            "f:struct": {},
        });
        differ(&json!({}), &new, &added, &json!({}), &json!({}));
        differ(&new, &json!({}), &json!({}), &added, &json!({}));
    }

    #[test]
    fn only_what_differs_counts() {
        let old = json!({"map": {"k": "v"}, "list": [{"name": "a", "x": 1}, {"name": "b"}], "atomic": ["x"]});
        let new = json!({"map": {"k": "w", "l": "v"}, "list": [{"name": "b"}, {"name": "a", "x": 2}], "atomic": []});
        let modified = json!({"f:map": {"f:k": {}}, "f:list": {"k:{\"name\":\"a\"}": {"f:x": {}}}, "f:atomic": {}});
        differ(&old, &new, &json!({"f:map": {"f:l": {}}}), &json!({}), &modified);
        differ(&old, &old, &json!({}), &json!({}), &json!({}));
    }

    #[test]
    fn duplicates_are_compared_as_one() {
        let old = json!({"list": [{"name": "a", "x": 1}, {"name": "a", "x": 2}]});
        let new = json!({"list": [{"name": "a", "x": 1}, {"name": "a", "x": 3}]});
        differ(
            &old,
            &new,
            &json!({}),
            &json!({}),
            &json!({"f:list": {"k:{\"name\":\"a\"}": {}}}),
        );
        differ(&old, &old, &json!({}), &json!({}), &json!({}));
    }

    #[test]
    fn what_is_always_present_is_not_added_itself() {
        let cluster = Cluster::new(Arc::new(jiff::Timestamp::now));
        let place = cluster
            .place("apps", "v1", "deployments", Some("default"))
            .expect("a kind");
        let new = json!({"spec": {"strategy": {"rollingUpdate": {"maxSurge": 1}}}, "status": {}});
        let changes = compare(Some(&json!({})), Some(&new), Shape::of(&place));
        let added = json!({"f:spec": {"f:strategy": {"f:rollingUpdate": {".": {}, "f:maxSurge": {}}}}});
        assert_eq!(changes.added.to_value(), added);
    }

    #[test]
    fn applied_structs_are_owned_by_their_fields() {
        let schema = schema();
        let applied = json!({
            "struct": {"a": "x"}, "map": {"k": "v"}, "list": [{"name": "a"}], "set": ["y", "z"], "atomic": [],
        });
        let fields = fields_of(&applied, Shape::Schema(&schema, false)).to_value();
        let wanted = json!({
            "f:struct": {"f:a": {}},
            "f:map": {"f:k": {}},
            "f:list": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}}},
            "f:set": {"v:\"y\"": {}, "v:\"z\"": {}},
            "f:atomic": {},
        });
        assert_eq!(fields, wanted);
        assert_eq!(
            fields_of(&json!({"struct": {}, "map": {}}), Shape::Schema(&schema, false)).paths(),
            [".map", ".struct"]
        );
    }
}
