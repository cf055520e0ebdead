//! Other shapes of an answer: tables, as `kubectl get` asks for them, and metadata alone.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::cluster::Place;
use crate::kinds::Column;

/// The shape that the `Accept` header asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Whole,
    Table,
    Metadata,
}

impl Shape {
    /// The first known shape of the header; anything else is answered with whole JSON.
    pub(crate) fn of(accept: &str) -> Self {
        for option in accept.split(',') {
            let has = |wanted: &str| option.split(';').any(|part| part.trim() == wanted);
            // Tables in the beta version look the same; their name would differ.
            if has("as=Table") && has("v=v1") {
                return Self::Table;
            }
            if has("as=PartialObjectMetadata") || has("as=PartialObjectMetadataList") {
                return Self::Metadata;
            }
            if option.trim().starts_with("application/json") && !option.contains("as=") {
                return Self::Whole;
            }
        }
        Self::Whole
    }
}

/// An object's metadata, as an object of its own.
pub(crate) fn metadata_only(object: &Value) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"]})
}

/// A table of objects; `include` is what each row carries of its object: `None`, `Metadata` or `Object`.
pub(crate) fn table<'a>(
    place: &Place,
    objects: impl Iterator<Item = &'a Value>,
    metadata: &Value,
    include: &str,
    now: Timestamp,
) -> Value {
    let none = Vec::new();
    let columns = place.version().map_or(&none, |version| &version.columns);
    let ages = columns
        .iter()
        .any(|column| column.kind == "date" && column.name == "Age");
    let mut definitions = vec![definition("Name", "string", "name", 0)];
    definitions.extend(
        columns
            .iter()
            .map(|column| definition(&column.name, &column.kind, "", column.priority)),
    );
    if !ages {
        definitions.push(definition("Age", "string", "", 0));
    }
    let rows: Vec<_> = objects
        .map(|object| {
            let mut cells = vec![object["metadata"]["name"].clone()];
            cells.extend(columns.iter().map(|column| cell(column, object, now)));
            if !ages {
                cells.push(json!(age(object["metadata"]["creationTimestamp"].as_str(), now)));
            }
            let mut row = json!({"cells": cells});
            match include {
                "None" => {}
                "Object" => row["object"] = object.clone(),
                _ => row["object"] = metadata_only(object),
            }
            row
        })
        .collect();
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
        "columnDefinitions": definitions, "rows": rows,
    })
}

fn definition(name: &str, kind: &str, format: &str, priority: i64) -> Value {
    json!({"name": name, "type": kind, "format": format, "description": "", "priority": priority})
}

fn cell(column: &Column, object: &Value, now: Timestamp) -> Value {
    let value = find(object, &column.path);
    match (column.kind.as_str(), value) {
        ("date", value) => json!(age(value.as_str(), now)),
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

fn age(since: Option<&str>, now: Timestamp) -> String {
    let Some(since) = since.and_then(|text| text.parse::<Timestamp>().ok()) else {
        return "<unknown>".into();
    };
    let seconds = now.duration_since(since).max(SignedDuration::ZERO).as_secs();
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7_200 => format!("{}m", seconds / 60),
        7_200..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
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

    #[test]
    fn ages_are_short() {
        let now = "2020-01-03T00:00:00Z".parse().unwrap();
        for (since, text) in [
            ("2020-01-02T23:59:50Z", "10s"),
            ("2020-01-02T23:50:00Z", "10m"),
            ("2020-01-02T14:00:00Z", "10h"),
            ("2019-12-24T00:00:00Z", "10d"),
            ("2020-01-04T00:00:00Z", "0s"),
            ("nonsense", "<unknown>"),
        ] {
            assert_eq!(age(Some(since), now), text);
        }
    }
}
