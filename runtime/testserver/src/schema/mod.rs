//! Structural schemas: what they make of an object, and what they say against it.
//!
//! Decoding gives an object the form of its kind and happens to everything that comes in; validating looks at the
//! result. Schemas are walked as they stand in the definition.

mod decode;
mod embedded;
mod formats;
mod junctors;
mod lists;
mod numbers;
mod patterns;
#[cfg(feature = "cel")]
mod rules;
mod validate;

use serde_json::{Map, Value};

pub(crate) use decode::{complete, decode, prune, strip};
pub(crate) use embedded::{check_embedded, coerce};
use lists::check_lists;
pub(crate) use patterns::pattern;
#[cfg(feature = "cel")]
pub(crate) use rules::compile_fault;
pub(crate) use validate::validate;
use validate::validate_change;

use crate::status::Cause;

/// The fields of a resource that have rules of their own, whatever its schema says.
pub(crate) const META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Everything that is wrong with a decoded object, given the one that it replaces.
pub(crate) fn check(schema: &Value, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = validate_change(schema, object, old, "");
    causes.extend(check_embedded(schema, object, ""));
    causes.extend(check_list_change(schema, object, old));
    #[cfg(feature = "cel")]
    rules::append(schema, object, old, true, &mut causes);
    causes
}

/// Everything that is wrong with an object of which only the status was written.
pub(crate) fn check_status(schema: &Value, object: &Value, old: &Value) -> Vec<Cause> {
    // What did not change is not tolerated here.
    let status = object.get("status");
    let mut causes = status.map_or_else(Vec::new, |status| {
        validate(&schema["properties"]["status"], status, "status")
    });
    causes.extend(check_list_change(schema, object, Some(old)));
    #[cfg(feature = "cel")]
    rules::append(schema, object, Some(old), false, &mut causes);
    causes
}

/// Repetitions in lists are tolerated where there have been some before.
fn check_list_change(schema: &Value, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let causes = check_lists(schema, object, "");
    let tolerated = !causes.is_empty() && old.is_some_and(|old| !check_lists(schema, old, "").is_empty());
    if tolerated { Vec::new() } else { causes }
}

/// Whether a rule looks at what was there before.
pub(crate) fn is_transition(rule: &str) -> bool {
    pattern(r"\boldSelf\b")
        .as_ref()
        .as_ref()
        .is_ok_and(|old| old.is_match(rule))
}

/// Whether a schema is one of whole resources inside of an object.
pub(crate) fn is_embedded(schema: &Value) -> bool {
    schema["x-kubernetes-embedded-resource"] == true
}

/// Whether fields are kept that a schema does not know.
pub(crate) fn is_open(schema: &Value) -> bool {
    schema["x-kubernetes-preserve-unknown-fields"] == true
}

/// The schemas of the named fields.
pub(crate) fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema["properties"].as_object()
}

/// The schema of a map's values, if it has one.
pub(crate) fn values(schema: &Value) -> Option<&Value> {
    schema
        .get("additionalProperties")
        .filter(|additional| additional.is_object())
}

/// The schema of a field: its own, or that of all others.
pub(crate) fn schema_of_field<'a>(schema: &'a Value, key: &str) -> Option<&'a Value> {
    properties(schema)
        .and_then(|properties| properties.get(key))
        .or_else(|| values(schema))
}

/// The path of a named field.
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

/// The path of a field: named ones follow a dot, keys of maps stand in brackets.
pub(crate) fn field_path(schema: &Value, path: &str, key: &str) -> String {
    if properties(schema).is_some_and(|properties| properties.contains_key(key)) {
        join(path, key)
    } else {
        format!("{path}[{key}]")
    }
}
