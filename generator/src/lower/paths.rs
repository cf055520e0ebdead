//! Where paths lead in the schema of a kind.

use serde_json::{Map, Value};

use super::Faults;
use super::functions::entries;
use crate::diagnostic::{Code, Diagnostic, did_you_mean, listed};
use crate::model::{OwnKind, Schema, Shape};
use crate::spec::{ResourceSpec, Spanned};

/// Whether each `field` leads through the schema.
pub(super) fn check(spec: &ResourceSpec, own: Option<&OwnKind>, faults: &mut Faults) {
    for path in entries(spec).filter_map(|entry| entry.field.as_ref()) {
        faults.extend(from_root(own, path).err());
    }
}

/// What stands at a path from the root of an object.
pub(super) fn from_root<'k>(own: Option<&'k OwnKind>, path: &Spanned<Vec<String>>) -> Result<Place<'k>, Diagnostic> {
    let (Some(own), Some((first, rest))) = (own, path.value.split_first()) else {
        return Ok(Place::Open);
    };
    let part = match first.as_str() {
        "metadata" => return Ok(Place::Open),
        "spec" => &own.spec,
        "status" => &own.status,
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
            return Err(Diagnostic::error(Code::UnknownFieldPath, path.span, message).help(help));
        }
    };
    within(Place::Schema(part), first, &Spanned::new(rest.to_vec(), path.span))
}

/// What stands at a path from another place, which is called `name`.
pub(super) fn within<'k>(place: Place<'k>, name: &str, path: &Spanned<Vec<String>>) -> Result<Place<'k>, Diagnostic> {
    place.find(&path.value, name.to_string()).map_err(|missing| {
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
        Diagnostic::error(Code::UnknownFieldPath, path.span, message).maybe_help(help)
    })
}

/// Whether an object of this kind has room for something at a path that starts with `status`.
pub(super) fn has_room(own: &OwnKind, path: &str) -> bool {
    let keys: Vec<String> = path.split('.').skip(1).map(str::to_string).collect();
    Place::Schema(&own.status).find(&keys, "status".to_string()).is_ok()
}

/// What is known of the values at a place.
#[derive(Clone, Copy)]
pub(super) enum Place<'k> {
    Schema(&'k Schema),
    /// As the CRD has it.
    Raw(&'k Map<String, Value>),
    /// Nothing: all paths lead on.
    Open,
}

/// What the values at a place hold.
pub(super) enum Contents<'k> {
    /// Items.
    List(Place<'k>),
    /// Values under keys that the author of an object chooses.
    Map(Place<'k>),
    /// Nothing: a value is a whole.
    Scalar,
    /// Fields with these names.
    Fields(Vec<String>),
    /// Anything.
    Unknown,
}

/// How the API server keeps items of a list apart.
pub(super) enum Distinct {
    /// Not at all.
    No,
    /// No two items are equal.
    Whole,
    /// No two items agree in all of these fields.
    By(Vec<String>),
}

struct Missing {
    parent: String,
    key: String,
    known: Vec<String>,
}

impl<'k> Place<'k> {
    fn find(self, path: &[String], parent: String) -> Result<Self, Missing> {
        let Some((key, rest)) = path.split_first() else {
            return Ok(self);
        };
        match self.step(key) {
            Ok(next) => next.find(rest, format!("{parent}.{key}")),
            Err(known) => Err(Missing {
                parent,
                key: key.clone(),
                known,
            }),
        }
    }

    /// What stands under a key, or the keys that are known where this one is not.
    fn step(self, key: &str) -> Result<Self, Vec<String>> {
        let schema = match self {
            Self::Open => return Ok(Self::Open),
            Self::Raw(raw) => return step_in(raw, key),
            Self::Schema(schema) => schema,
        };
        match &schema.shape {
            Shape::Object(object) => match object.fields.iter().find(|field| field.wire_name == key) {
                Some(field) => Ok(Self::Schema(&field.schema)),
                None if object.open => Ok(Self::Open),
                None => Err(object.fields.iter().map(|field| field.wire_name.clone()).collect()),
            },
            Shape::Map(value) => Ok(Self::Schema(value)),
            Shape::Any => Ok(Self::Open),
            Shape::Raw(raw) | Shape::Known { schema: raw, .. } => step_in(raw, key),
            Shape::Scalar(_) | Shape::Enum { .. } | Shape::List(_) => Err(Vec::new()),
        }
    }

    pub(super) fn contents(self) -> Contents<'k> {
        let schema = match self {
            Self::Open => return Contents::Unknown,
            Self::Raw(raw) => return contents_of(raw),
            Self::Schema(schema) => schema,
        };
        match &schema.shape {
            Shape::Scalar(_) | Shape::Enum { .. } => Contents::Scalar,
            Shape::List(item) => Contents::List(Self::Schema(item)),
            Shape::Map(value) => Contents::Map(Self::Schema(value)),
            Shape::Object(object) if object.open && object.fields.is_empty() => Contents::Unknown,
            Shape::Object(object) => {
                Contents::Fields(object.fields.iter().map(|field| field.wire_name.clone()).collect())
            }
            Shape::Any => Contents::Unknown,
            Shape::Raw(raw) | Shape::Known { schema: raw, .. } => contents_of(raw),
        }
    }

    /// Of the items of a list.
    pub(super) fn distinct(self) -> Distinct {
        let keywords = match self {
            Self::Open => return Distinct::No,
            Self::Raw(raw) => raw,
            Self::Schema(schema) => match &schema.shape {
                Shape::Raw(raw) | Shape::Known { schema: raw, .. } => raw,
                _ => &schema.keywords,
            },
        };
        match keywords.get("x-kubernetes-list-type").and_then(Value::as_str) {
            Some("set") => Distinct::Whole,
            Some("map") => {
                let keys = keywords.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
                let keys = keys.into_iter().flatten().filter_map(Value::as_str);
                Distinct::By(keys.map(str::to_string).collect())
            }
            _ => Distinct::No,
        }
    }
}

fn is_open(schema: &Map<String, Value>) -> bool {
    schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true))
}

fn step_in<'k>(schema: &'k Map<String, Value>, key: &str) -> Result<Place<'k>, Vec<String>> {
    if let Some(Value::Object(value)) = schema.get("additionalProperties") {
        return Ok(Place::Raw(value));
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    match properties.and_then(|properties| properties.get(key)) {
        Some(Value::Object(property)) => Ok(Place::Raw(property)),
        _ if is_open(schema) => Ok(Place::Open),
        _ => Err(properties
            .map(|properties| properties.keys().cloned().collect())
            .unwrap_or_default()),
    }
}

fn contents_of(schema: &Map<String, Value>) -> Contents<'_> {
    let part = |key: &str| schema.get(key).and_then(Value::as_object);
    match schema.get("type").and_then(Value::as_str) {
        Some("array") => Contents::List(part("items").map_or(Place::Open, Place::Raw)),
        Some("string" | "integer" | "number" | "boolean") => Contents::Scalar,
        _ if schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) => Contents::Scalar,
        Some("object") => match (part("additionalProperties"), part("properties")) {
            (Some(value), _) => Contents::Map(Place::Raw(value)),
            (None, Some(properties)) => Contents::Fields(properties.keys().cloned().collect()),
            (None, None) => Contents::Unknown,
        },
        _ => Contents::Unknown,
    }
}
