//! One walk along a structural schema: prunes unknown fields, sets defaults, checks values.
//!
//! Checked are `type`, `nullable`, `required`, `enum`, the bounds of numbers, texts, lists and maps, and
//! `x-kubernetes-int-or-string`. Not checked are `pattern`, `format`, `multipleOf`, `allOf`/`anyOf`/`oneOf`/`not`,
//! `x-kubernetes-validations` and the uniqueness of `x-kubernetes-list-type`.

use serde_json::{Map, Value, json};

use crate::status::Cause;

/// What the walk came across.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) causes: Vec<Cause>,
    /// Paths of the fields that were pruned.
    pub(crate) unknown: Vec<String>,
}

/// Makes an object what would be stored under the schema.
pub(crate) fn admit(schema: &Value, object: &mut Value) -> Findings {
    let mut found = Findings::default();
    walk(schema, object, "", true, &mut found);
    found
}

fn walk(schema: &Value, value: &mut Value, path: &str, resource: bool, found: &mut Findings) {
    if value.is_null() && schema["nullable"] == true {
        return;
    }
    if !has_type(schema, value) {
        let wanted = if schema["x-kubernetes-int-or-string"] == true {
            "integer,string"
        } else {
            schema["type"].as_str().unwrap_or_default()
        };
        let actual = json!(type_name(value));
        found.causes.push(Cause::wrong_type(
            path,
            &actual,
            &format!("{path} in body must be of type {wanted}: {actual}"),
        ));
        return;
    }
    match value {
        Value::Object(fields) => walk_fields(schema, fields, path, resource, found),
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                if let Some(schema) = schema.get("items") {
                    walk(schema, item, &format!("{path}[{index}]"), is_resource(schema), found);
                }
            }
        }
        _ => {}
    }
    check(schema, value, path, &mut found.causes);
}

fn walk_fields(schema: &Value, fields: &mut Map<String, Value>, path: &str, resource: bool, found: &mut Findings) {
    let properties = schema["properties"].as_object();
    let property = |key: &str| properties.and_then(|properties| properties.get(key));
    let additional = schema
        .get("additionalProperties")
        .filter(|additional| **additional != false);
    let preserve = schema["x-kubernetes-preserve-unknown-fields"] == true;
    let own = |key: &str| resource && matches!(key, "apiVersion" | "kind" | "metadata");
    fields.retain(|key, _| {
        let known = preserve || additional.is_some() || property(key).is_some() || own(key);
        if !known {
            found.unknown.push(join(path, key));
        }
        known
    });
    fields.retain(|key, value| {
        let schema = property(key).or(additional.filter(|additional| additional.is_object()));
        // A null means absence where the schema does not allow it.
        !value.is_null() || schema.is_none_or(|schema| schema["nullable"] == true)
    });
    for (key, schema) in properties.into_iter().flatten() {
        if let Some(default) = schema.get("default").filter(|_| !fields.contains_key(key)) {
            fields.insert(key.clone(), default.clone());
        }
    }
    for key in schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        if !fields.contains_key(key) {
            found.causes.push(Cause::required(join(path, key), ""));
        }
    }
    for (key, value) in fields {
        // The metadata of a resource has rules of its own, whatever the schema says of it.
        let schema = property(key).or(additional.filter(|additional| additional.is_object()));
        if let Some(schema) = schema.filter(|_| !own(key)) {
            walk(schema, value, &join(path, key), is_resource(schema), found);
        }
    }
}

fn check(schema: &Value, value: &Value, path: &str, causes: &mut Vec<Cause>) {
    let mut add = |cause| causes.push(cause);
    let limit = |name: &str| schema[name].as_u64();
    if let Some(options) = schema["enum"].as_array().filter(|options| !options.contains(value)) {
        add(Cause::unsupported(path, value, options));
    }
    match value {
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or_default();
            for (name, exclusive, word, sign) in [
                ("minimum", "exclusiveMinimum", "greater", 1.0),
                ("maximum", "exclusiveMaximum", "less", -1.0),
            ] {
                let Some(bound) = schema[name].as_f64() else {
                    continue;
                };
                let strict = schema[exclusive] == true;
                let distance = (number - bound) * sign;
                if distance < 0.0 || (strict && distance <= 0.0) {
                    let or_equal = if strict { "" } else { " or equal to" };
                    let detail = format!("{path} in body should be {word} than{or_equal} {}", schema[name]);
                    add(Cause::invalid(path, value, &detail));
                }
            }
        }
        Value::String(text) => {
            let length = text.chars().count() as u64;
            if let Some(least) = limit("minLength").filter(|&least| length < least) {
                add(Cause::invalid(
                    path,
                    value,
                    &format!("{path} in body should be at least {least} chars long"),
                ));
            }
            if let Some(most) = limit("maxLength").filter(|&most| length > most) {
                add(Cause::too_long(path, most));
            }
        }
        Value::Array(items) => {
            let length = items.len() as u64;
            if let Some(least) = limit("minItems").filter(|&least| length < least) {
                let detail = format!("{path} in body should have at least {least} items");
                add(Cause::invalid(path, &json!(length), &detail));
            }
            if let Some(most) = limit("maxItems").filter(|&most| length > most) {
                add(Cause::too_many(path, length, most));
            }
        }
        Value::Object(fields) => {
            let length = fields.len() as u64;
            if let Some(least) = limit("minProperties").filter(|&least| length < least) {
                let detail = format!("{path} in body should have at least {least} properties");
                add(Cause::invalid(path, &json!(length), &detail));
            }
            if let Some(most) = limit("maxProperties").filter(|&most| length > most) {
                add(Cause::too_many(path, length, most));
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

fn has_type(schema: &Value, value: &Value) -> bool {
    let whole = || value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0);
    if schema["x-kubernetes-int-or-string"] == true {
        return value.is_string() || whole();
    }
    match schema["type"].as_str() {
        Some("integer") => whole(),
        Some("number") => value.is_number(),
        Some(wanted) => type_name(value) == wanted,
        None => true,
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn is_resource(schema: &Value) -> bool {
    schema["x-kubernetes-embedded-resource"] == true
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}
