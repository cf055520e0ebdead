//! Gives an object the form of its schema: defaults come, nulls that mean absence and unknown fields go.

use serde_json::{Value, json};

use crate::schema::embedded::{coerce, prune_metadata};
use crate::schema::{META, is_embedded, is_open, join, properties, schema_of_field, values};
use crate::status::Cause;

/// Decodes a resource; what comes back are the paths of the fields that are gone. It fails on metadata of embedded
/// resources that cannot be read.
pub(crate) fn decode(schema: &Value, object: &mut Value) -> Result<Vec<String>, Cause> {
    whole_numbers(object);
    set_defaults(schema, object);
    let mut unknown = Vec::new();
    prune_metadata(object, &mut unknown);
    prune(schema, object, true, &mut unknown);
    drop_nulls(schema, object);
    let mut of_metadata = Vec::new();
    coerce(schema, object, "", &mut of_metadata)?;
    unknown.append(&mut of_metadata);
    Ok(unknown)
}

/// Gives an object that was stored under another schema the form of this one.
pub(crate) fn complete(schema: &Value, object: &mut Value) {
    set_defaults(schema, object);
    strip(schema, object);
}

/// Removes what a schema does not know, and nulls that mean absence.
pub(crate) fn strip(schema: &Value, object: &mut Value) {
    prune(schema, object, true, &mut Vec::new());
    drop_nulls(schema, object);
}

/// Sets defaults, in what has come by a default too.
fn set_defaults(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (key, schema) in properties(schema).into_iter().flatten() {
                let absent = fields.get(key).is_none_or(|value| is_absent(schema, value));
                if let Some(default) = schema.get("default").filter(|_| absent) {
                    fields.insert(key.clone(), default.clone());
                }
            }
            for (key, value) in fields {
                let own = properties(schema).and_then(|properties| properties.get(key));
                if let Some(schema) = own {
                    set_defaults(schema, value);
                } else if let Some(schema) = values(schema) {
                    set_default(schema, value);
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                set_default(&schema["items"], item);
            }
        }
        _ => {}
    }
}

fn set_default(schema: &Value, value: &mut Value) {
    if let Some(default) = schema.get("default").filter(|_| is_absent(schema, value)) {
        value.clone_from(default);
    }
    set_defaults(schema, value);
}

/// Whether a value means that there is none.
fn is_absent(schema: &Value, value: &Value) -> bool {
    value.is_null() && schema["nullable"] != true
}

/// Removes the fields that a schema does not know, and notes their paths in their order. A resource keeps what every
/// resource has.
pub(crate) fn prune(schema: &Value, value: &mut Value, resource: bool, unknown: &mut Vec<String>) {
    let mut found = Vec::new();
    let open = is_open(schema);
    prune_value(Some(schema), value, open, resource, "", &mut found);
    found.sort();
    unknown.append(&mut found);
}

fn prune_value(
    schema: Option<&Value>,
    value: &mut Value,
    open: bool,
    resource: bool,
    path: &str,
    unknown: &mut Vec<String>,
) {
    let descend = |schema: Option<&Value>, value: &mut Value, open: bool, path: &str, unknown: &mut Vec<String>| {
        let open = open || schema.is_some_and(is_open);
        prune_value(schema, value, open, schema.is_some_and(is_embedded), path, unknown);
    };
    match value {
        Value::Object(fields) => fields.retain(|key, value| {
            let is_meta = META.contains(&key.as_str());
            if resource && is_meta {
                return true;
            }
            let schema = schema.unwrap_or(&Value::Null);
            let own = properties(schema).and_then(|properties| properties.get(key));
            if own.is_some() || schema.get("additionalProperties").is_some() {
                // Whether other fields are allowed at all is no question of pruning.
                descend(own.or_else(|| values(schema)), value, false, &join(path, key), unknown);
                return true;
            }
            if !open && (!is_meta || !path.is_empty()) {
                unknown.push(join(path, key));
            }
            open
        }),
        Value::Array(items) => {
            let schema = schema.map(|schema| &schema["items"]).filter(|items| items.is_object());
            // In an open list only what its items' schema names is looked at.
            if !open || schema.is_some() {
                for (index, item) in items.iter_mut().enumerate() {
                    descend(schema, item, open, &format!("{path}[{index}]"), unknown);
                }
            }
        }
        _ => {}
    }
}

/// Removes the nulls of fields that may not be null: they mean that there is nothing.
fn drop_nulls(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|key, value| schema_of_field(schema, key).is_none_or(|schema| !is_absent(schema, value)));
            for (key, value) in fields {
                if let Some(schema) = schema_of_field(schema, key) {
                    drop_nulls(schema, value);
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                drop_nulls(&schema["items"], item);
            }
        }
        _ => {}
    }
}

/// Numbers without a fraction are whole, however they were written.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let float = number.as_f64().unwrap_or_default();
            if float.fract() == 0.0 && float.abs() < 1e15 {
                #[expect(clippy::cast_possible_truncation, reason = "it is whole and small")]
                let whole = float as i64;
                *value = json!(whole);
            }
        }
        Value::Object(fields) => fields.values_mut().for_each(whole_numbers),
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(schema: &Value, mut object: Value) -> (Value, Vec<String>) {
        let unknown = decode(schema, &mut object).unwrap();
        (object, unknown)
    }

    #[test]
    fn defaults_come_in_fields_items_and_values() {
        let part = json!({"type": "object", "default": {}, "properties": {"a": {"type": "integer", "default": 1}}});
        let schema = json!({"type": "object", "properties": {
            "field": part, "list": {"type": "array", "items": part},
            "map": {"type": "object", "additionalProperties": part},
        }});
        let (object, _) = decoded(&schema, json!({"list": [null, {"a": 2}], "map": {"x": null, "y": {}}}));
        let one = json!({"a": 1});
        assert_eq!(
            object,
            json!({"field": one, "list": [one, {"a": 2}], "map": {"x": one, "y": one}})
        );
    }

    #[test]
    fn nulls_stay_where_they_are_allowed() {
        let schema = json!({"type": "object", "properties": {
            "a": {"type": "string"}, "b": {"type": "string", "nullable": true, "default": "x"},
            "c": {"type": "object", "additionalProperties": {"type": "string"}},
            "d": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        }});
        let (object, _) = decoded(
            &schema,
            json!({"a": null, "b": null, "c": {"x": null}, "d": {"x": null}}),
        );
        assert_eq!(object, json!({"b": null, "c": {}, "d": {"x": null}}));
    }

    #[test]
    fn unknown_fields_are_told_in_their_order() {
        let schema = json!({"type": "object", "properties": {
            "list": {"type": "array", "items": {"type": "object"}},
            "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
                "shut": {"type": "object"},
            }},
            "any": {"type": "object", "additionalProperties": true},
        }});
        let (object, unknown) = decoded(
            &schema,
            json!({
                "kind": "A", "z": 1, "list": [{"a": 1}, {}], "open": {"x": {"y": 1}, "shut": {"b": 1}},
                "any": {"x": {"y": 1}, "z": 1},
            }),
        );
        assert_eq!(
            object,
            json!({"kind": "A", "list": [{}, {}], "open": {"x": {"y": 1}, "shut": {}}, "any": {"x": {}, "z": 1}})
        );
        assert_eq!(unknown, ["any.x.y", "list[0].a", "open.shut.b", "z"]);
    }

    #[test]
    fn whole_numbers_lose_their_point() {
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        assert_eq!(
            decoded(&schema, json!({"a": 2.0, "b": 2.5})).0.to_string(),
            r#"{"a":2,"b":2.5}"#
        );
    }
}
