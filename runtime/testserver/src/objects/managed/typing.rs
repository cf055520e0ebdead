//! Whether a configuration is of the type that the schema describes, as far as ownership depends on it.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::objects::managed::fields::in_words;
use crate::objects::shapes::Shape;

/// What is wrong with a configuration, in the words of the real server.
pub(crate) fn check(configuration: &Value, shape: Shape<'_>) -> Result<(), String> {
    let mut faults = Vec::new();
    walk(configuration, shape, "", &mut faults);
    match faults.as_slice() {
        [] => Ok(()),
        [fault] => Err(fault.clone()),
        faults => Err(format!("errors:\n  {}", faults.join("\n  "))),
    }
}

fn walk(value: &Value, shape: Shape<'_>, path: &str, faults: &mut Vec<String>) {
    if let Some(wanted) = shape.wanted().filter(|wanted| !value.is_null() && !is(value, wanted)) {
        faults.push(format!("{path}: expected {wanted}, got &{{{}}}", shown(value)));
        return;
    }
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = format!("{path}.{name}");
                match shape.field(name) {
                    Some(field) => walk(value, field.shape, &path, faults),
                    None => faults.push(format!("{path}: field not declared in schema")),
                }
            }
        }
        Value::Array(items) if shape.is_associative() => {
            let mut seen = BTreeSet::new();
            for (index, item) in items.iter().enumerate() {
                match shape.element(item) {
                    Err(fault) => faults.push(format!("{path}: element {index}: {fault}")),
                    Ok(element) => {
                        let words = in_words(&element);
                        walk(item, shape.item(), &format!("{path}{words}"), faults);
                        if !seen.insert(element) {
                            faults.push(format!("{path}: duplicate entries for key {words}"));
                        }
                    }
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                walk(item, shape.item(), &format!("{path}[{index}]"), faults);
            }
        }
        _ => {}
    }
}

fn is(value: &Value, wanted: &str) -> bool {
    match value {
        Value::Object(_) => wanted == "map",
        Value::Array(_) => wanted == "list",
        Value::String(_) => wanted == "string",
        Value::Bool(_) => wanted == "boolean",
        Value::Number(_) => wanted.starts_with("numeric"),
        Value::Null => true,
    }
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn faulty(value: &Value, wanted: &str) {
        let schema = json!({"type": "object", "properties": {
            "text": {"type": "string"},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}}}},
        }});
        assert_eq!(check(value, Shape::Schema(&schema, false)).unwrap_err(), wanted);
    }

    #[test]
    fn faults_have_their_paths() {
        faulty(&json!({"other": 1}), ".other: field not declared in schema");
        faulty(&json!({"text": 1}), ".text: expected string, got &{1}");
        faulty(&json!({"set": ["a", "a"]}), ".set: duplicate entries for key [=\"a\"]");
        faulty(&json!({"list": [{"b": 1}]}), ".list[0].b: field not declared in schema");
    }

    #[test]
    fn several_faults_are_told_together() {
        let wanted =
            "errors:\n  .list[0].a: expected numeric (int or float), got &{x}\n  .x: field not declared in schema";
        faulty(&json!({"x": 1, "list": [{"a": "x"}]}), wanted);
    }
}
