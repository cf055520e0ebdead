//! Whether `field` leads through the schema.

use serde_json::{Map, Value};

use super::Faults;
use super::functions::entries;
use crate::diagnostic::{Code, Diagnostic, did_you_mean, listed};
use crate::model::{OwnKind, Schema, Shape};
use crate::spec::{ResourceSpec, Spanned};

pub(super) fn check(spec: &ResourceSpec, own: Option<&OwnKind>, faults: &mut Faults) {
    for path in entries(spec).filter_map(|entry| entry.field.as_ref()) {
        faults.extend(fault(path, own));
    }
}

fn fault(path: &Spanned<Vec<String>>, own: Option<&OwnKind>) -> Option<Diagnostic> {
    let (first, rest) = path.value.split_first()?;
    let own = own?;
    let missing = match first.as_str() {
        "metadata" => return None,
        "spec" => missing(&own.spec, rest, "spec".to_string()),
        "status" => missing(&own.status, rest, "status".to_string()),
        other => {
            let parts = ["spec", "status", "metadata"];
            let help = did_you_mean(other, parts).map_or_else(
                || {
                    format!(
                        "a path starts with `spec`, `status` or `metadata`: spec.{}",
                        path.value.join(".")
                    )
                },
                |name| format!("did you mean `{name}`?"),
            );
            let message = format!("objects have no `{other}`");
            return Some(Diagnostic::error(Code::UnknownFieldPath, path.span, message).help(help));
        }
    }?;
    let message = format!("`{}` has no field `{}`", missing.parent, missing.key);
    let meant = did_you_mean(&missing.key, missing.known.iter().map(String::as_str));
    let help = match meant {
        Some(name) => Some(format!("did you mean `{name}`?")),
        None if missing.known.is_empty() => None,
        None => Some(format!(
            "its fields are {}",
            listed(missing.known.iter().map(String::as_str))
        )),
    };
    Some(Diagnostic::error(Code::UnknownFieldPath, path.span, message).maybe_help(help))
}

/// Whether an object of this kind has room for something at a path that starts with `status`.
pub(super) fn has_room(own: &OwnKind, path: &str) -> bool {
    let keys: Vec<String> = path.split('.').skip(1).map(str::to_string).collect();
    missing(&own.status, &keys, "status".to_string()).is_none()
}

struct Missing {
    parent: String,
    key: String,
    known: Vec<String>,
}

fn missing(schema: &Schema, path: &[String], parent: String) -> Option<Missing> {
    let (key, rest) = path.split_first()?;
    let deeper = format!("{parent}.{key}");
    match &schema.shape {
        Shape::Object(object) => match object.fields.iter().find(|field| field.wire_name == *key) {
            Some(field) => missing(&field.schema, rest, deeper),
            None if object.open => None,
            None => {
                let known = object.fields.iter().map(|field| field.wire_name.clone()).collect();
                Some(Missing {
                    parent,
                    key: key.clone(),
                    known,
                })
            }
        },
        Shape::Map(value) => missing(value, rest, deeper),
        Shape::Any => None,
        Shape::Raw(raw) | Shape::Known { schema: raw, .. } => missing_in(raw, path, parent),
        Shape::Scalar(_) | Shape::Enum { .. } | Shape::List(_) => Some(Missing {
            parent,
            key: key.clone(),
            known: Vec::new(),
        }),
    }
}

fn missing_in(schema: &Map<String, Value>, path: &[String], parent: String) -> Option<Missing> {
    let (key, rest) = path.split_first()?;
    let deeper = format!("{parent}.{key}");
    if let Some(Value::Object(value)) = schema.get("additionalProperties") {
        return missing_in(value, rest, deeper);
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    match properties.and_then(|properties| properties.get(key)) {
        Some(Value::Object(property)) => missing_in(property, rest, deeper),
        _ if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true)) => None,
        _ => {
            let known = properties
                .map(|properties| properties.keys().cloned().collect())
                .unwrap_or_default();
            Some(Missing {
                parent,
                key: key.clone(),
                known,
            })
        }
    }
}
