//! Validates a value against its schema, and counts how well it fits.

use serde_json::{Value, json};

use crate::go;
use crate::schema::formats::{self, known_format};
use crate::schema::junctors::check_junctors;
use crate::schema::lists::keys_of;
use crate::schema::numbers::check_number;
use crate::schema::{patterns, properties, schema_of_field, values};
use crate::status::Cause;

/// The faults of a value; `prefix` is where it lies, which its messages do not say.
pub(crate) fn validate(schema: &Value, value: &Value, prefix: &str) -> Vec<Cause> {
    validate_change(schema, value, None, prefix)
}

/// The faults of a value that replaces another one: what did not change is tolerated.
pub(crate) fn validate_change(schema: &Value, value: &Value, old: Option<&Value>, prefix: &str) -> Vec<Cause> {
    let causes = check(schema, value, old, "").causes.into_iter();
    causes
        .map(|cause| Cause {
            field: match (prefix, cause.field.trim_start_matches('.')) {
                ("", "") => "<nil>".into(),
                ("", field) | (field, "") => field.into(),
                (prefix, field) => format!("{prefix}.{field}"),
            },
            ..cause
        })
        .collect()
}

/// What a schema says about a value.
#[derive(Debug, Default, Clone)]
pub(super) struct Outcome {
    pub(super) causes: Vec<Cause>,
    /// How many checks were made; among alternatives, the one with most of them is told about.
    pub(super) matches: usize,
}

impl Outcome {
    pub(super) fn add(&mut self, cause: Cause) {
        if !self.causes.contains(&cause) {
            self.causes.push(cause);
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        for cause in other.causes {
            self.add(cause);
        }
        self.matches += other.matches;
    }

    /// Notes one more check, with its outcome.
    fn step(&mut self, other: Self) {
        self.merge(other);
        self.matches += 1;
    }

    pub(super) fn is_valid(&self) -> bool {
        self.causes.is_empty()
    }
}

/// Checks a value, which is tolerated as it is if it was so before.
fn check(schema: &Value, value: &Value, old: Option<&Value>, path: &str) -> Outcome {
    let mut outcome = check_strictly(schema, value, old, path);
    if old == Some(value) {
        outcome.causes.clear();
    }
    outcome
}

/// Checks a value; only in its parts something may be tolerated.
pub(super) fn check_strictly(schema: &Value, value: &Value, old: Option<&Value>, path: &str) -> Outcome {
    let mut outcome = Outcome::default();
    if value.is_null() {
        outcome.merge(check_type(schema, value, path));
        outcome.merge(check_options(schema, value, path));
        return outcome;
    }
    let format = known_format(schema);
    if !types(schema).is_empty() || format.is_some() {
        outcome.step(check_type(schema, value, path));
    }
    outcome.step(check_junctors(schema, value, old, path));
    match value {
        Value::String(text) => {
            outcome.step(check_text(schema, text, path));
            if let Some(format) = format {
                outcome.step(check_format(&format, text, path));
            }
        }
        Value::Number(number) => outcome.step(check_number(schema, number, path)),
        Value::Array(items) => outcome.step(check_items(schema, items, old, path)),
        _ => {}
    }
    outcome.step(check_options(schema, value, path));
    if value.is_object() {
        outcome.step(check_fields(schema, value, old, path));
    }
    outcome.matches += 1;
    outcome
}

/// The types that a schema allows.
fn types(schema: &Value) -> Vec<&str> {
    if schema["x-kubernetes-int-or-string"] == true {
        return vec!["integer", "string"];
    }
    schema["type"]
        .as_str()
        .filter(|text| !text.is_empty())
        .into_iter()
        .collect()
}

/// The type of a value, and the format that it has by nature.
fn type_of(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::Number(number) if number.is_f64() => ("number", "float64"),
        Value::Number(_) => ("integer", "int64"),
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
    }
}

fn check_type(schema: &Value, value: &Value, path: &str) -> Outcome {
    let types = types(schema);
    let (found, nature) = type_of(value);
    let wrong = |wanted: &str, found: &str| Outcome {
        causes: vec![Cause::wrong_type(
            path,
            &json!(found),
            &format!("{path} in body must be of type {wanted}: {}", go::quoted(found)),
        )],
        matches: 0,
    };
    let right = Outcome {
        causes: Vec::new(),
        matches: 1,
    };
    if value.is_null() {
        let fits = types.is_empty() || schema["nullable"] == true;
        return if fits { right } else { wrong(&types.join(","), found) };
    }
    let whole = value.as_f64().is_some_and(|number| number.fract() == 0.0);
    let fits = types.contains(&found)
        || (found == "number" && whole && types.contains(&"integer"))
        || (found == "integer" && types.contains(&"number"));
    let format = known_format(schema).unwrap_or_default();
    let textual = value.is_string() || value.is_array();
    let numeric = types.contains(&"number") || types.contains(&"integer");
    match (format.as_str(), textual) {
        (format, false) if !format.is_empty() && !fits && format != nature => wrong(format, nature),
        // Of texts with a format, and of lists in their place, only the format counts.
        (format, true) if !format.is_empty() && !numeric => right,
        _ if fits => right,
        _ => wrong(&types.join(","), found),
    }
}

fn check_options(schema: &Value, value: &Value, path: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let same = |option: &Value| {
        let numbers = option.as_f64().zip(value.as_f64());
        // Null is never one of the options, even if it is listed.
        !value.is_null() && (option == value || numbers.is_some_and(|(option, value)| option.total_cmp(&value).is_eq()))
    };
    let options = schema["enum"].as_array().filter(|options| !options.is_empty());
    if let Some(options) = options.filter(|options| !options.iter().any(same)) {
        outcome.add(Cause::unsupported(path, value, options));
    }
    outcome
}

fn check_text(schema: &Value, text: &str, path: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let length = text.chars().count() as u64;
    let limit = |name: &str| schema[name].as_u64();
    let invalid = |detail: &str| Cause::invalid(path, &json!(text), &format!("{path} in body {detail}"));
    // The first fault is enough.
    if let Some(most) = limit("maxLength").filter(|&most| length > most) {
        outcome.add(Cause::too_long(path, most));
    } else if let Some(least) = limit("minLength").filter(|&least| length < least) {
        outcome.add(invalid(&format!("should be at least {least} chars long")));
    } else if let Some(pattern) = schema["pattern"].as_str().filter(|pattern| !pattern.is_empty()) {
        match patterns::pattern(pattern).as_ref() {
            Ok(compiled) if compiled.is_match(text) => {}
            Ok(_) => outcome.add(invalid(&format!("should match '{pattern}'"))),
            Err(error) => {
                outcome.add(invalid(&format!(
                    "should match '{pattern}, but pattern is invalid: {error}'"
                )));
            }
        }
    }
    outcome
}

fn check_format(format: &str, text: &str, path: &str) -> Outcome {
    let mut outcome = Outcome::default();
    if !formats::has_format(format, text) {
        let detail = format!("{path} in body must be of type {format}: {}", go::quoted(text));
        outcome.add(Cause::wrong_type(path, &json!(text), &detail));
    }
    outcome
}

fn check_items(schema: &Value, items: &[Value], old: Option<&Value>, path: &str) -> Outcome {
    let mut outcome = Outcome::default();
    if let Some(of_items) = schema.get("items") {
        for (index, item) in items.iter().enumerate() {
            let old = old.and_then(|old| counterpart(schema, item, old));
            outcome.merge(check(of_items, item, old, &format!("{path}[{index}]")));
        }
    }
    let length = items.len() as u64;
    if let Some(least) = schema["minItems"].as_u64().filter(|&least| length < least) {
        let detail = format!("{path} in body should have at least {least} items");
        outcome.add(Cause::invalid(path, &json!(length), &detail));
    }
    if let Some(most) = schema["maxItems"].as_u64().filter(|&most| length > most) {
        outcome.add(Cause::too_many(path, length, most));
    }
    outcome.matches += 1;
    outcome
}

/// What an item was before; only in lists that are maps this can be known.
pub(super) fn counterpart<'a>(schema: &Value, item: &Value, old: &'a Value) -> Option<&'a Value> {
    if schema["x-kubernetes-list-type"] != "map" {
        return None;
    }
    let keys = keys_of(schema, item);
    old.as_array()?.iter().find(|old| keys_of(schema, old) == keys)
}

fn check_fields(schema: &Value, object: &Value, old: Option<&Value>, path: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let fields = object.as_object().into_iter().flatten();
    let length = fields.clone().count() as u64;
    if let Some(least) = schema["minProperties"].as_u64().filter(|&least| length < least) {
        let detail = format!("{path} in body should have at least {least} properties");
        outcome.add(Cause::invalid(path, &json!(length), &detail));
    }
    if let Some(most) = schema["maxProperties"].as_u64().filter(|&most| length > most) {
        outcome.add(Cause::too_many(path, length, most));
    }
    let named = |key: &str| properties(schema).and_then(|properties| properties.get(key));
    let closed = schema["additionalProperties"] == false;
    let (own, others): (Vec<_>, Vec<_>) = fields.partition(|(key, _)| named(key).is_some());
    for (key, value) in others {
        if closed {
            let detail = format!("{path}.{key} in body is a forbidden property");
            outcome.add(Cause::invalid(path, &json!(key), &detail));
        } else if let Some(of_value) = values(schema) {
            let old = old.and_then(|old| old.get(key));
            outcome.merge(check(of_value, value, old, &format!("{path}.{key}")));
        }
    }
    for (key, value) in own {
        if let Some(of_field) = schema_of_field(schema, key) {
            // Versions are converted, so that they never change.
            let old = old.filter(|_| !path.is_empty() || !matches!(key.as_str(), "apiVersion" | "kind"));
            let path = super::join(path, key);
            outcome.merge(check(of_field, value, old.and_then(|old| old.get(key)), &path));
        }
    }
    let required = schema["required"].as_array().into_iter().flatten();
    for key in required.filter_map(Value::as_str) {
        if object.get(key).is_none() {
            outcome.add(Cause::required(format!("{path}.{key}"), ""));
        }
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(causes: Vec<Cause>) -> Vec<String> {
        causes
            .into_iter()
            .map(|cause| format!("{}: {}", cause.field, cause.message))
            .collect()
    }

    #[test]
    fn faults_have_paths_through_lists_and_maps() {
        let schema = json!({"type": "object", "properties": {
            "list": {"type": "array", "items": {"type": "object", "required": ["a"]}},
            "map": {"type": "object", "additionalProperties": {"type": "integer"}},
        }});
        assert_eq!(
            told(validate(
                &schema,
                &json!({"list": [{"a": 1}, {}], "map": {"k": "x"}}),
                ""
            )),
            [
                "list[1].a: Required value",
                "map.k: Invalid value: \"string\": map.k in body must be of type integer: \"string\"",
            ]
        );
    }

    #[test]
    fn a_part_does_not_know_where_it_lies() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        assert_eq!(
            told(validate(&schema, &json!({"a": 1}), "status")),
            ["status.a: Invalid value: \"integer\": a in body must be of type string: \"integer\""]
        );
        assert_eq!(
            told(validate(&schema, &json!(1), "status")),
            ["status: Invalid value: \"integer\":  in body must be of type object: \"integer\""]
        );
    }

    #[test]
    fn what_did_not_change_is_tolerated() {
        let item = json!({"type": "object", "properties": {"name": {"type": "string"}, "n": {"type": "integer", "maximum": 1}}});
        let list = |kind: &str| {
            json!({"type": "object", "properties": {
                "x": {"type": "string", "maxLength": 1},
                "list": {"type": "array", "x-kubernetes-list-type": kind, "x-kubernetes-list-map-keys": ["name"], "items": item},
            }})
        };
        let old = json!({"x": "abc", "list": [{"name": "a", "n": 5}]});
        let new = json!({"x": "abc", "list": [{"name": "b", "n": 1}, {"name": "a", "n": 5}]});
        let fields = |schema: &Value, new: &Value| {
            let causes = validate_change(schema, new, Some(&old), "").into_iter();
            causes.map(|cause| cause.field).collect::<Vec<_>>()
        };
        assert_eq!(fields(&list("map"), &new), Vec::<String>::new());
        assert_eq!(fields(&list("atomic"), &new), ["list[1].n"]);
        assert_eq!(fields(&list("map"), &json!({"x": "abcd"})), ["x"]);
        assert_eq!(fields(&list("map"), &old), Vec::<String>::new());
    }

    #[test]
    fn null_is_never_an_option() {
        let schema = json!({"type": "string", "nullable": true, "enum": ["a", null]});
        assert_eq!(validate(&schema, &json!("a"), "").len(), 0);
        assert_eq!(validate(&schema, &Value::Null, "")[0].reason, "FieldValueNotSupported");
    }

    #[test]
    fn lists_pass_for_texts_with_a_format() {
        let schema = json!({"type": "string", "format": "date"});
        assert_eq!(validate(&schema, &json!(["x"]), ""), []);
        assert_eq!(
            validate(&schema, &json!(5), "")[0].message,
            "Invalid value: \"int64\":  in body must be of type date: \"int64\""
        );
    }
}
