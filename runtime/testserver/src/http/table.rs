//! Other shapes of an answer: tables, as `kubectl get` asks for them, and metadata alone.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::cluster::Place;
use crate::kinds::{Column, columns};
use crate::status::Status;

/// What each row of a table carries of its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Include {
    Nothing,
    Metadata,
    Object,
}

impl Include {
    pub(crate) fn parse(text: &str) -> Result<Self, Status> {
        match text {
            "None" => Ok(Self::Nothing),
            "" | "Metadata" => Ok(Self::Metadata),
            "Object" => Ok(Self::Object),
            other => Err(Status::bad_request(format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: {other:?}: must be 'Metadata', \
                 'Object', 'None', or empty"
            ))),
        }
    }
}

/// An object's metadata, as an object of its own.
pub(crate) fn metadata_only(object: &Value, api_version: &str) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": api_version, "metadata": object["metadata"]})
}

/// A table of objects.
pub(crate) fn table<'a>(
    place: &Place,
    objects: impl Iterator<Item = &'a Value>,
    metadata: &Value,
    (api_version, include): (&str, Include),
    now: Timestamp,
) -> Value {
    let columns = Columns::of(place);
    let row = |object: &Value| {
        let object_shown = match include {
            Include::Nothing => Value::Null,
            Include::Metadata => metadata_only(object, api_version),
            Include::Object => object.clone(),
        };
        json!({"cells": columns.cells(object, now), "object": object_shown})
    };
    let rows: Vec<_> = objects.map(row).collect();
    json!({
        "kind": "Table", "apiVersion": api_version, "metadata": metadata,
        "columnDefinitions": columns.definitions(), "rows": rows,
    })
}

/// A table that goes on: the columns are known from the one before.
pub(crate) fn without_header(mut table: Value) -> Value {
    table["columnDefinitions"] = Value::Null;
    table
}

enum Columns<'a> {
    BuiltIn(&'static [columns::Column]),
    Custom(&'a [Column]),
}

impl<'a> Columns<'a> {
    fn of(place: &'a Place) -> Self {
        if place.kind.custom {
            Self::Custom(place.version().map_or(&[], |version| version.columns.as_slice()))
        } else {
            Self::BuiltIn(columns::of(&place.kind))
        }
    }

    fn definitions(&self) -> Vec<Value> {
        match self {
            Self::BuiltIn(columns) => columns
                .iter()
                .map(|column| definition(column.name, column.kind, column.format(), "", column.priority))
                .collect(),
            Self::Custom(columns) => {
                let mut all = vec![definition("Name", "string", "name", "", 0)];
                all.extend(columns.iter().map(custom_definition));
                if columns.is_empty() {
                    all.push(definition("Created At", "date", "", "", 0));
                }
                all
            }
        }
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        match self {
            Self::BuiltIn(columns) => columns.iter().map(|column| column.cell(object, now)).collect(),
            Self::Custom(columns) => {
                let mut all = vec![object["metadata"]["name"].clone()];
                all.extend(columns.iter().map(|column| custom_cell(column, object, now)));
                if columns.is_empty() {
                    all.push(object["metadata"]["creationTimestamp"].clone());
                }
                all
            }
        }
    }
}

fn definition(name: &str, kind: &str, format: &str, description: &str, priority: i64) -> Value {
    json!({"name": name, "type": kind, "format": format, "description": description, "priority": priority})
}

fn custom_definition(column: &Column) -> Value {
    let description = format!(
        "Custom resource definition column (in JSONPath format): {}",
        column.path
    );
    definition(&column.name, &column.kind, "", &description, column.priority)
}

fn custom_cell(column: &Column, object: &Value, now: Timestamp) -> Value {
    let value = find(object, &column.path);
    match (column.kind.as_str(), value) {
        (_, Value::Null) => Value::Null,
        ("date", value) => json!(columns::age(value, now)),
        ("string", Value::Object(_) | Value::Array(_) | Value::Bool(_) | Value::Number(_)) => {
            json!(value.to_string())
        }
        _ => value.clone(),
    }
}

/// Follows a path such as `.status.conditions[0].type`; filters and wildcards find nothing.
fn find<'a>(object: &'a Value, path: &str) -> &'a Value {
    static NOTHING: Value = Value::Null;
    let path = path.trim_start_matches('.').replace("\\.", "\u{0}");
    let mut value = object;
    for step in path.split('.') {
        let step = step.replace('\u{0}', ".");
        let (key, index) = match step.strip_suffix(']').and_then(|step| step.split_once('[')) {
            Some((key, index)) => (key, Some(index)),
            None => (step.as_str(), None),
        };
        value = value.get(key).unwrap_or(&NOTHING);
        if let Some(index) = index {
            value = index
                .parse()
                .ok()
                .and_then(|index: usize| value.get(index))
                .unwrap_or(&NOTHING);
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_paths_are_followed() {
        let object = json!({"a": {"b.c": [{"d": 1}]}});
        assert_eq!(find(&object, ".a.b\\.c[0].d"), &json!(1));
        assert_eq!(find(&object, ".a.x"), &Value::Null);
        assert_eq!(find(&object, ".a[?(@.x==1)].y"), &Value::Null);
    }
}
