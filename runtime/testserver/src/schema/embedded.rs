//! Whole resources inside of an object: their metadata is read and checked as such.

use serde_json::{Map, Value, json};

use crate::kinds::Naming;
use crate::kinds::crds::labels;
use crate::objects::metadata;
use crate::schema::{field_path, is_embedded, join, schema_of_field};
use crate::status::Cause;

/// What metadata may have.
const FIELDS: [&str; 15] = [
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
];

/// Removes unknown fields from the metadata of embedded resources. It fails if that cannot be read.
pub(crate) fn coerce(schema: &Value, value: &mut Value, path: &str, unknown: &mut Vec<String>) -> Result<(), Cause> {
    match value {
        Value::Object(fields) => {
            if is_embedded(schema) {
                for key in ["apiVersion", "kind"] {
                    if let Some(value) = fields.get(key).filter(|value| !value.is_string()) {
                        return Err(Cause::invalid(join(path, key), value, "must be a string"));
                    }
                }
                coerce_metadata(fields, path, unknown)?;
            }
            for (key, value) in fields {
                if let Some(of_field) = schema_of_field(schema, key) {
                    coerce(of_field, value, &field_path(schema, path, key), unknown)?;
                }
            }
            Ok(())
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                coerce(&schema["items"], item, &format!("{path}[{index}]"), unknown)?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn coerce_metadata(resource: &mut Map<String, Value>, path: &str, unknown: &mut Vec<String>) -> Result<(), Cause> {
    let Some(given) = resource.get("metadata") else {
        return Ok(());
    };
    let path = join(path, "metadata");
    if let Err(status) = metadata::check_shape(&json!({"metadata": given})) {
        return Err(Cause::invalid(path, given, &status.message));
    }
    let mut known = Map::new();
    for (key, value) in given.as_object().into_iter().flatten() {
        if !FIELDS.contains(&key.as_str()) {
            unknown.push(join(&path, key));
        } else if !is_empty(value) {
            known.insert(key.clone(), value.clone());
        }
    }
    resource.insert("metadata".into(), Value::Object(known));
    Ok(())
}

/// Removes unknown fields from an object's own metadata.
pub(crate) fn prune_metadata(object: &mut Value, unknown: &mut Vec<String>) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|key, _| {
            let known = FIELDS.contains(&key.as_str());
            if !known {
                unknown.push(join("metadata", key));
            }
            known
        });
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// The faults of embedded resources: each needs a version and a kind, and sound metadata if it has any.
pub(crate) fn check_embedded(schema: &Value, value: &Value, path: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    match value {
        Value::Object(fields) => {
            if is_embedded(schema) {
                check_resource(fields, path, &mut causes);
            }
            for (key, value) in fields {
                if let Some(of_field) = schema_of_field(schema, key) {
                    causes.extend(check_embedded(of_field, value, &field_path(schema, path, key)));
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                causes.extend(check_embedded(&schema["items"], item, &format!("{path}[{index}]")));
            }
        }
        _ => {}
    }
    causes
}

fn check_resource(resource: &Map<String, Value>, path: &str, causes: &mut Vec<Cause>) {
    for key in ["apiVersion", "kind"] {
        let path = join(path, key);
        let Some(value) = resource.get(key) else {
            causes.push(Cause::required(path, "must not be empty"));
            continue;
        };
        let text = value.as_str().unwrap_or_default();
        if text.is_empty() {
            causes.push(Cause::invalid(path, value, "must not be empty"));
        } else if key == "kind" {
            let fault = labels::fault(&text.to_lowercase());
            causes.extend(fault.map(|why| {
                Cause::invalid(
                    path,
                    value,
                    &format!("may have mixed case, but should otherwise match: {why}"),
                )
            }));
        } else if text.matches('/').count() > 1 {
            causes.push(Cause::invalid(
                path,
                value,
                &format!("unexpected GroupVersion string: {text}"),
            ));
        }
    }
    let Some(given) = resource.get("metadata").and_then(Value::as_object) else {
        return;
    };
    let mut given = given.clone();
    // It may go without a name, which no other metadata may.
    given.entry("name").or_insert_with(|| json!("nameless"));
    causes.extend(
        metadata::validate(&given, Naming::PathSegment, false)
            .into_iter()
            .map(|cause| Cause {
                field: join(path, &cause.field),
                ..cause
            }),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Value {
        json!({"type": "object", "properties": {"part": {
            "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
        }}})
    }

    #[test]
    fn embedded_metadata_is_pruned() {
        let mut object = json!({"part": {"metadata": {"name": "a", "junk": 1, "labels": {}}}});
        let mut unknown = Vec::new();
        coerce(&schema(), &mut object, "", &mut unknown).unwrap();
        assert_eq!(object, json!({"part": {"metadata": {"name": "a"}}}));
        assert_eq!(unknown, ["part.metadata.junk"]);
    }

    #[test]
    fn unreadable_metadata_is_refused() {
        let mut object = json!({"part": {"metadata": {"labels": {"a": 1}}}});
        let cause = coerce(&schema(), &mut object, "", &mut Vec::new()).unwrap_err();
        assert_eq!(cause.field, "part.metadata");
    }

    #[test]
    fn embedded_resources_say_what_they_are() {
        let fields = |part: Value| {
            let causes = check_embedded(&schema(), &json!({"part": part}), "").into_iter();
            causes.map(|cause| cause.field).collect::<Vec<_>>()
        };
        assert_eq!(fields(json!({})), ["part.apiVersion", "part.kind"]);
        assert_eq!(fields(json!({"apiVersion": "v1", "kind": "A_B"})), ["part.kind"]);
        assert_eq!(fields(json!({"apiVersion": "a/b/c", "kind": "A"})), ["part.apiVersion"]);
        let metadata = json!({"labels": {"a": "!"}});
        assert_eq!(
            fields(json!({"apiVersion": "v1", "kind": "A", "metadata": metadata})),
            ["part.metadata.labels"]
        );
    }
}
