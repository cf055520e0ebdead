//! Subresources, columns and selectable fields of a definition: paths that lead into its objects.

use serde_json::{Value, json};

use crate::schema::{properties, values};
use crate::status::Cause;

/// Whether a version has a status of its own.
pub(crate) fn has_status(version: &Value) -> bool {
    version["subresources"]["status"].is_object()
}

pub(super) fn check(subresources: &Value, path: &str, causes: &mut Vec<Cause>) {
    let scale = &subresources["scale"];
    if !scale.is_object() {
        return;
    }
    for (field, roots, place, required) in [
        ("specReplicasPath", &[".spec."][..], ".spec", true),
        ("statusReplicasPath", &[".status."], ".status", true),
        (
            "labelSelectorPath",
            &[".spec.", ".status."],
            "either .spec or .status",
            false,
        ),
    ] {
        let path = format!("{path}.scale.{field}");
        let given = scale[field].as_str().unwrap_or_default();
        if given.is_empty() {
            if required {
                causes.push(Cause::required(path, ""));
            }
        } else if !given.starts_with('.') {
            causes.push(not_simple(path, given));
        } else if !roots.iter().any(|root| given.starts_with(root)) {
            let detail = format!("should be a json path under {place}");
            causes.push(Cause::invalid(path, &json!(given), &detail));
        }
    }
}

pub(super) fn check_column(column: &Value, path: &str, causes: &mut Vec<Cause>) {
    const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
    const FORMATS: [&str; 8] = [
        "byte",
        "date",
        "date-time",
        "double",
        "float",
        "int32",
        "int64",
        "password",
    ];
    let text = |field: &str| column[field].as_str().unwrap_or_default();
    if text("name").is_empty() {
        causes.push(Cause::required(format!("{path}.name"), ""));
    }
    let detail = format!("must be one of {}", TYPES.join(","));
    match text("type") {
        "" => causes.push(Cause::required(format!("{path}.type"), &detail)),
        given if !TYPES.contains(&given) => {
            causes.push(Cause::invalid(format!("{path}.type"), &json!(given), &detail));
        }
        _ => {}
    }
    let format = text("format");
    if !format.is_empty() && !FORMATS.contains(&format) {
        let detail = format!("must be one of {}", FORMATS.join(","));
        causes.push(Cause::invalid(format!("{path}.format"), &json!(format), &detail));
    }
    match text("jsonPath") {
        "" => causes.push(Cause::required(format!("{path}.JSONPath"), "")),
        given if !given.starts_with('.') => causes.push(not_simple(format!("{path}.JSONPath"), given)),
        // A path that cannot be read leaves the table without columns.
        _ => {}
    }
}

fn not_simple(path: String, given: &str) -> Cause {
    Cause::invalid(path, &json!(given), "must be a simple json path starting with .")
}

pub(super) fn check_selectable(fields: &[Value], schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    const MOST: u64 = 8;
    let mut known: Vec<&str> = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        let path = format!("{path}[{index}].jsonPath");
        let given = field["jsonPath"].as_str().unwrap_or_default();
        if given.is_empty() {
            causes.push(Cause::required(path, ""));
            continue;
        }
        let mut fail = |detail: &str| causes.push(Cause::invalid(path.clone(), &json!(given), detail));
        let found = match find(given, schema) {
            Ok(found) => found,
            Err(why) => {
                fail(&format!("is an invalid path: {why}"));
                continue;
            }
        };
        if given == ".metadata" || given.starts_with(".metadata.") {
            fail("must not point to fields in metadata");
        }
        if !matches!(found["type"].as_str(), Some("string" | "boolean" | "integer")) {
            fail(
                "must point to a field of type string, boolean or integer. Enum string fields and strings with formats \
                 are allowed.",
            );
        }
        if known.contains(&given) {
            causes.push(Cause::duplicate(path, &json!(given)));
        } else {
            known.push(given);
        }
    }
    let count = known.len() as u64;
    if count > MOST {
        causes.push(Cause::too_many(path, count, MOST));
    }
}

/// The schema that a path of named fields leads to.
pub(super) fn find<'a>(path: &str, schema: &'a Value) -> Result<&'a Value, String> {
    let mut found = schema;
    for name in path.trim_start_matches('.').split('.') {
        if name.contains(['[', ']', '\'', '"']) {
            return Err("expected the path to be of names only".into());
        }
        let own = properties(found).and_then(|properties| properties.get(name));
        found = own
            .or_else(|| values(found))
            .ok_or_else(|| format!("does not refer to a valid field: {name}"))?;
    }
    Ok(found)
}
