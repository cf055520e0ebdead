//! Lists that are sets or maps: nothing may be in them twice.

use serde_json::{Map, Value};

use crate::schema::{field_path, schema_of_field};
use crate::status::Cause;

/// The repetitions in the lists of an object.
pub(crate) fn check_lists(schema: &Value, value: &Value, path: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                if let Some(of_field) = schema_of_field(schema, key) {
                    causes.extend(check_lists(of_field, value, &field_path(schema, path, key)));
                }
            }
        }
        Value::Array(items) => {
            causes.extend(match schema["x-kubernetes-list-type"].as_str() {
                Some("set") => check_unique(items, path),
                Some("map") => check_map(schema, items, path),
                _ => Vec::new(),
            });
            for (index, item) in items.iter().enumerate() {
                causes.extend(check_lists(&schema["items"], item, &format!("{path}[{index}]")));
            }
        }
        _ => {}
    }
    causes
}

fn check_map(schema: &Value, items: &[Value], path: &str) -> Vec<Cause> {
    let odd = items.iter().position(|item| !item.is_null() && !item.is_object());
    if let Some(index) = odd {
        let detail = "must be an object for an array of list-type map";
        return vec![Cause::invalid(format!("{path}[{index}]"), &items[index], detail)];
    }
    let keys: Vec<_> = items.iter().map(|item| Value::Object(keys_of(schema, item))).collect();
    check_unique(&keys, path)
}

/// What sets an item of a list apart that is a map.
pub(crate) fn keys_of(schema: &Value, item: &Value) -> Map<String, Value> {
    let keys = schema["x-kubernetes-list-map-keys"].as_array().into_iter().flatten();
    let keys = keys.filter_map(Value::as_str);
    keys.filter_map(|key| Some((key.to_owned(), item.get(key)?.clone())))
        .collect()
}

/// The second appearance of each item; later ones say nothing new.
fn check_unique(items: &[Value], path: &str) -> Vec<Cause> {
    let again = |index: usize| items[..index].iter().filter(|item| **item == items[index]).count() == 1;
    let again = (1..items.len()).filter(|&index| again(index));
    again
        .map(|index| Cause::duplicate(format!("{path}[{index}]"), &items[index]))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn faults(list: &Value, value: &Value) -> Vec<(String, String)> {
        let schema = json!({"type": "object", "properties": {"list": list}});
        let causes = check_lists(&schema, &json!({"list": value}), "").into_iter();
        causes.map(|cause| (cause.field, cause.message)).collect()
    }

    fn fault(field: &str, message: &str) -> (String, String) {
        (field.into(), message.into())
    }

    #[test]
    fn repetitions_in_sets_are_told_once() {
        let set = json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}});
        assert_eq!(
            faults(&set, &json!(["a", "b", "a", "a", "b"])),
            [
                fault("list[2]", "Duplicate value: \"a\""),
                fault("list[4]", "Duplicate value: \"b\"")
            ]
        );
    }

    #[test]
    fn items_of_maps_differ_in_their_keys() {
        let map = json!({
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"],
            "items": {"type": "object"},
        });
        assert_eq!(faults(&map, &json!([{"a": 1, "b": 1}, {"a": 1, "b": 2}, {"a": 1}])), []);
        assert_eq!(
            faults(&map, &json!([{"a": 1, "c": 1}, {"a": 1, "c": 2}])),
            [fault("list[1]", "Duplicate value: map[string]interface {}{\"a\":1}")]
        );
        assert_eq!(faults(&map, &json!([1])).len(), 1);
    }

    #[test]
    fn keys_of_maps_stand_in_brackets() {
        let set = json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}});
        let schema = json!({"type": "object", "additionalProperties": set});
        let causes = check_lists(&schema, &json!({"k": ["a", "a"]}), "spec");
        assert_eq!(causes[0].field, "spec[k][1]");
    }
}
