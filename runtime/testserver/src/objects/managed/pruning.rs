//! Removes what a manager had applied earlier and has now given up.

use serde_json::Value;

use crate::objects::managed::comparing::fields_of;
use crate::objects::managed::fields::Fields;
use crate::objects::shapes::Shape;

/// The merged object without what was in the last configuration, unless somebody still owns it.
pub(crate) fn prune(merged: Value, last: &Fields, owned: &Fields, shape: Shape<'_>) -> Value {
    if last.is_empty() {
        return merged;
    }
    let everything = |value: &Value| with_structs(&fields_of(value, shape), shape);
    let last = with_structs(last, shape);
    let owned = with_structs(owned, shape);
    let all = everything(&merged);
    let mut kept = everything(&remove(&merged, &last, shape));
    kept.unite(owned);
    // What goes along with its parent though nobody had applied it: it stays if the parent does.
    let lost = all.without(&kept);
    let left = everything(&remove(&merged, &lost, shape));
    remove(&merged, &all.without(&left).common(&last), shape)
}

/// The set with the structs whose fields are in it: they come and go with them.
fn with_structs(fields: &Fields, shape: Shape<'_>) -> Fields {
    let below = fields.below.iter().map(|(element, fields)| {
        let (of, is_struct) = match element.strip_prefix("f:").map(|name| shape.field(name)) {
            Some(field) => (
                field.map_or(Shape::Open, |field| field.shape),
                field.is_some_and(|field| field.named),
            ),
            None => (shape.item(), false),
        };
        let mut fields = with_structs(fields, of);
        fields.owned |= is_struct;
        (element.clone(), fields)
    });
    Fields {
        owned: fields.owned,
        below: below.collect(),
    }
}

/// The value without the fields, and without what is below them; null if nothing is left.
fn remove(value: &Value, fields: &Fields, shape: Shape<'_>) -> Value {
    if fields.below.is_empty() {
        return value.clone();
    }
    match value {
        Value::Object(map) if !map.is_empty() && !shape.is_atomic_map() => {
            let rest = map.iter().filter_map(|(name, value)| {
                let gone = fields.below.get(&format!("f:{name}"));
                let below = || shape.field(name).map_or(Shape::Open, |field| field.shape);
                Some((name.clone(), rest_of(value, gone, below)?))
            });
            let rest: serde_json::Map<_, _> = rest.collect();
            if rest.is_empty() {
                Value::Null
            } else {
                Value::Object(rest)
            }
        }
        Value::Array(items) if !items.is_empty() && shape.is_associative() => {
            let rest = items.iter().filter_map(|item| {
                let element = shape.element(item).unwrap_or_default();
                rest_of(item, fields.below.get(&element), || shape.item())
            });
            let rest: Vec<_> = rest.collect();
            if rest.is_empty() {
                Value::Null
            } else {
                Value::Array(rest)
            }
        }
        _ => value.clone(),
    }
}

fn rest_of<'a>(value: &Value, gone: Option<&Fields>, shape: impl Fn() -> Shape<'a>) -> Option<Value> {
    match gone {
        Some(gone) if gone.owned => None,
        Some(gone) => Some(remove(value, gone, shape())),
        None => Some(value.clone()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {
                "a": {"type": "string"}, "b": {"type": "string"},
                "list": {
                    "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                    "items": {"type": "object", "properties": {"name": {"type": "string"}, "x": {"type": "integer"}}},
                },
            }},
        }})
    }

    #[track_caller]
    fn left(merged: Value, last: &Value, owned: &Value) -> Value {
        let schema = schema();
        let parse = |value: &Value| Fields::parse(value).expect("the test wrote fields");
        prune(merged, &parse(last), &parse(owned), Shape::Schema(&schema, false))
    }

    #[test]
    fn what_nobody_else_owns_goes() {
        let merged = json!({"spec": {"a": "x", "b": "y"}});
        let last = json!({"f:spec": {"f:a": {}, "f:b": {}}});
        assert_eq!(
            left(merged.clone(), &last, &json!({"f:spec": {"f:b": {}}})),
            json!({"spec": {"b": "y"}})
        );
        assert_eq!(left(merged.clone(), &last, &last), merged);
    }

    #[test]
    fn what_nobody_had_applied_stays_with_its_parent() {
        let merged = json!({"spec": {"a": "x", "b": "y"}});
        let last = json!({"f:spec": {"f:a": {}}});
        assert_eq!(
            left(merged.clone(), &last, &json!({"f:spec": {}})),
            json!({"spec": {"b": "y"}})
        );
        assert_eq!(left(merged, &last, &json!({})), Value::Null);
    }

    #[test]
    fn elements_go_as_a_whole() {
        let merged = json!({"spec": {"list": [{"name": "a", "x": 1}, {"name": "b", "x": 2}]}});
        let item = |name: &str| {
            json!({".": {}, "f:name": {}})
                .as_object()
                .map(|set| (format!("k:{{\"name\":\"{name}\"}}"), json!(set)))
        };
        let list = |items: [Option<(String, Value)>; 2]| {
            let items: serde_json::Map<String, Value> = items.into_iter().flatten().collect();
            json!({"f:spec": {"f:list": items}})
        };
        let rest = left(merged, &list([item("a"), item("b")]), &list([None, item("b")]));
        assert_eq!(rest, json!({"spec": {"list": [{"name": "b", "x": 2}]}}));
    }
}
