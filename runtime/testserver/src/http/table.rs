//! Other shapes of an answer: tables, as `kubectl get` asks for them, and metadata alone.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::cluster::Place;
use crate::kinds::{Column, columns, crds};
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
                    all.push(definition("Age", "date", "", "", 0));
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
                all.extend(columns.iter().map(|column| crds::cell(column, object, now)));
                if columns.is_empty() {
                    all.push(json!(columns::age(&object["metadata"]["creationTimestamp"], now)));
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
    let plain = format!(
        "Custom resource definition column (in JSONPath format): {}",
        column.path
    );
    let description = if column.description.is_empty() {
        &plain
    } else {
        &column.description
    };
    definition(&column.name, &column.kind, &column.format, description, column.priority)
}
