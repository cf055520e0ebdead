//! Whether a schema is a structure: it says of everything what it is, and only restricts that in its junctors.

use serde_json::{Value, json};

use crate::kinds::crds::keywords::{has_default, is_zero};
use crate::kinds::crds::list;
use crate::schema::{is_embedded, is_open, pattern, properties};
use crate::status::Cause;

/// Where a schema lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// The faults of a schema, in the order of their texts.
pub(super) fn faults(schema: &Value, path: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    check(schema, Level::Root, path, &mut causes);
    check_complete(schema, Some(schema), path, path, &mut causes);
    causes.sort_by_cached_key(ToString::to_string);
    causes
}

fn check(schema: &Value, level: Level, path: &str, causes: &mut Vec<Cause>) {
    let kind = schema["type"].as_str().unwrap_or_default();
    let items = schema.get("items").filter(|items| items.is_object());
    let required = |field: &str, detail: &str| Cause::required(format!("{path}.{field}"), detail);
    let forbidden = |field: &str, detail: &str| Cause::forbidden(format!("{path}.{field}"), detail);
    if kind == "array" && items.is_none() {
        causes.push(required("items", "must be specified"));
    }
    if let Some(items) = items {
        check(items, Level::Item, &format!("{path}.items"), causes);
    }
    for (name, property) in properties(schema).into_iter().flatten() {
        check(property, Level::Field, &format!("{path}.properties[{name}]"), causes);
    }
    let additional = schema.get("additionalProperties");
    if let Some(additional) = additional {
        if level == Level::Root {
            causes.push(forbidden("additionalProperties", "must not be used at the root"));
        }
        if additional.is_object() {
            check(
                additional,
                Level::Field,
                &format!("{path}.additionalProperties"),
                causes,
            );
        }
    }
    let int_or_string = schema["x-kubernetes-int-or-string"] == true;
    let flag = |field: &str| {
        Cause::invalid(
            format!("{path}.{field}"),
            &json!(true),
            "must be false if x-kubernetes-int-or-string is true",
        )
    };
    if int_or_string && is_open(schema) {
        causes.push(flag("x-kubernetes-preserve-unknown-fields"));
    }
    if int_or_string && is_embedded(schema) {
        causes.push(flag("x-kubernetes-embedded-resource"));
    }
    check_restrictions(schema, path, causes);
    if is_embedded(schema) && kind != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        causes.push(if kind.is_empty() {
            required("type", detail)
        } else {
            Cause::invalid(format!("{path}.type"), &schema["type"], detail)
        });
    } else if kind.is_empty() && !int_or_string && !is_open(schema) {
        causes.push(required(
            "type",
            match level {
                Level::Root => "must not be empty at the root",
                Level::Item => "must not be empty for specified array items",
                Level::Field => "must not be empty for specified object fields",
            },
        ));
    }
    if is_embedded(schema) && additional.is_some() {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        causes.push(forbidden("additionalProperties", detail));
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        causes.push(Cause::invalid(
            format!("{path}.type"),
            &schema["type"],
            "must be object at the root",
        ));
    }
    check_meta(schema, level, path, causes);
    let empty = properties(schema).is_none_or(serde_json::Map::is_empty);
    if is_embedded(schema) && !is_open(schema) && empty {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
                      x-kubernetes-preserve-unknown-fields";
        causes.push(required("properties", detail));
    }
}

/// Resources have the metadata that all have; only names may be restricted.
fn check_meta(schema: &Value, level: Level, path: &str, causes: &mut Vec<Cause>) {
    let resource = level == Level::Root || is_embedded(schema);
    let property = |name: &str| {
        properties(schema)
            .and_then(|properties| properties.get(name))
            .filter(|_| resource)
    };
    let wrong = |name: &str, schema: &Value, wanted: &str| {
        let kind = json!(schema["type"].as_str().unwrap_or_default());
        Cause::invalid(format!("{path}.properties[{name}].type"), &kind, wanted)
    };
    for name in ["kind", "apiVersion"] {
        if let Some(schema) = property(name).filter(|schema| schema["type"] != "string") {
            causes.push(wrong(name, schema, "must be string"));
        }
    }
    let Some(metadata) = property("metadata") else {
        return;
    };
    if metadata["type"] != "object" {
        causes.push(wrong("metadata", metadata, "must be object"));
    }
    let fields = metadata.as_object().into_iter().flatten();
    let others =
        fields.filter(|(key, value)| !matches!(key.as_str(), "type" | "default" | "properties") && !is_zero(value));
    let named = properties(metadata)
        .into_iter()
        .flatten()
        .all(|(name, _)| matches!(name.as_str(), "name" | "generateName"));
    if level == Level::Root && (others.count() > 0 || !named) {
        let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        causes.push(Cause::forbidden(format!("{path}.properties[metadata]"), detail));
    }
}

/// Either a number or a text, in the only words in which junctors may speak of types.
fn is_int_or_string(branches: &Value) -> bool {
    *branches == json!([{"type": "integer"}, {"type": "string"}])
}

/// Restrictions of a structure: junctors, and the pattern.
fn check_restrictions(schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    for (place, junctor) in [("anyOf", "anyOf"), ("allOf", "allOf"), ("oneOf", "oneOf")] {
        if junctor == "anyOf" && is_int_or_string(&schema["anyOf"]) {
            continue;
        }
        for (index, branch) in list(&schema[junctor]).iter().enumerate() {
            let exempt = junctor == "allOf" && index == 0 && is_int_or_string(&branch["anyOf"]);
            check_nested(branch, exempt, &format!("{path}.{place}[{index}]"), causes);
        }
    }
    if schema["not"].is_object() {
        check_nested(&schema["not"], false, &format!("{path}.not"), causes);
    }
    check_pattern(schema, path, causes);
}

fn check_pattern(schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    if let Some(text) = schema["pattern"].as_str()
        && let Err(error) = pattern(text).as_ref()
    {
        let detail = format!("must be a valid regular expression, but isn't: {error}");
        causes.push(Cause::invalid(format!("{path}.pattern"), &schema["pattern"], &detail));
    }
}

/// A schema in a junctor: it restricts, and says nothing new.
fn check_nested(schema: &Value, exempt: bool, path: &str, causes: &mut Vec<Cause>) {
    if exempt {
        let mut rest = schema.clone();
        rest["anyOf"] = json!([]);
        check_restrictions(&rest, path, causes);
    } else {
        for junctor in ["anyOf", "allOf", "oneOf"] {
            for (index, branch) in list(&schema[junctor]).iter().enumerate() {
                check_nested(branch, false, &format!("{path}.{junctor}[{index}]"), causes);
            }
        }
        if schema["not"].is_object() {
            check_nested(&schema["not"], false, &format!("{path}.not"), causes);
        }
        check_pattern(schema, path, causes);
    }
    if schema["items"].is_object() {
        check_nested(&schema["items"], false, &format!("{path}.items"), causes);
    }
    for (name, property) in properties(schema).into_iter().flatten() {
        check_nested(property, false, &format!("{path}.properties[{name}]"), causes);
    }
    let mut forbid = |field: &str, word: &str| {
        causes.push(Cause::forbidden(
            format!("{path}.{field}"),
            &format!("must be {word} to be structural"),
        ));
    };
    for (field, word) in [
        ("type", "empty"),
        ("title", "empty"),
        ("description", "empty"),
        ("nullable", "false"),
        ("x-kubernetes-preserve-unknown-fields", "false"),
        ("x-kubernetes-embedded-resource", "false"),
        ("x-kubernetes-int-or-string", "false"),
        ("x-kubernetes-list-map-keys", "empty"),
        ("x-kubernetes-list-type", "undefined"),
        ("x-kubernetes-map-type", "undefined"),
        ("x-kubernetes-validations", "empty"),
    ] {
        if !is_zero(&schema[field]) {
            forbid(field, word);
        }
    }
    if schema
        .get("additionalProperties")
        .is_some_and(|additional| *additional != false)
    {
        forbid("additionalProperties", "undefined");
    }
    if has_default(schema) {
        forbid("default", "undefined");
    }
    if properties(schema).is_some_and(|properties| properties.contains_key("metadata")) {
        let path = format!("{path}.properties[metadata]");
        causes.push(Cause::forbidden(path, "must not be specified in a nested context"));
    }
}

/// Whatever junctors restrict is there in the structure.
fn check_complete(rules: &Value, structure: Option<&Value>, place: &str, path: &str, causes: &mut Vec<Cause>) {
    for junctor in ["allOf", "anyOf", "oneOf"] {
        for (index, branch) in list(&rules[junctor]).iter().enumerate() {
            check_counterparts(branch, structure, place, &format!("{path}.{junctor}[{index}]"), causes);
        }
    }
    if rules["not"].is_object() {
        check_counterparts(&rules["not"], structure, place, &format!("{path}.not"), causes);
    }
}

fn check_counterparts(rules: &Value, structure: Option<&Value>, place: &str, path: &str, causes: &mut Vec<Cause>) {
    let Some(structure) = structure else {
        causes.push(Cause::required(place, &format!("because it is defined in {path}")));
        return;
    };
    check_complete(rules, Some(structure), place, path, causes);
    if rules["items"].is_object() {
        let items = structure.get("items").filter(|items| items.is_object());
        check_counterparts(
            &rules["items"],
            items,
            &format!("{place}.items"),
            &format!("{path}.items"),
            causes,
        );
    }
    for (name, rules) in properties(rules).into_iter().flatten() {
        let structure = properties(structure).and_then(|properties| properties.get(name));
        let (place, path) = (
            format!("{place}.properties[{name}]"),
            format!("{path}.properties[{name}]"),
        );
        check_counterparts(rules, structure, &place, &path, causes);
    }
}
