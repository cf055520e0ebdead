//! The types of the format that stand for more than a scalar.

use serde_json::{Map, Value, json};

use super::super::patterns::{DURATION, QUANTITY};
use crate::model::{Scalar, Schema, Shape};

/// All type names of the format.
pub(super) const TYPES: &[&str] = &[
    "string",
    "integer",
    "int32",
    "number",
    "boolean",
    "quantity",
    "int-or-string",
    "duration",
    "datetime",
    "bytes",
    "object",
    "any",
    "embedded",
    "labelSelector",
    "objectReference",
    "secretKeyRef",
    "conditions",
];

const K8S: &str = "kopf_runtime::k8s_openapi";

/// Ours: k8s-openapi's holds 32 bits, and quantities are larger.
const INT_OR_STRING: &str = "kopf_runtime::IntOrString";

/// A schema of one of the types; `None` if the name is not of the format.
pub(super) fn schema(name: &str) -> Option<Schema> {
    Some(match name {
        "string" => plain(Shape::Scalar(Scalar::String), json!({})),
        "integer" => plain(Shape::Scalar(Scalar::Integer), json!({"format": "int64"})),
        "int32" => plain(Shape::Scalar(Scalar::Int32), json!({"format": "int32"})),
        "number" => plain(Shape::Scalar(Scalar::Number), json!({})),
        "boolean" => plain(Shape::Scalar(Scalar::Boolean), json!({})),
        "duration" => plain(Shape::Scalar(Scalar::String), json!({"pattern": DURATION})),
        "datetime" => plain(Shape::Scalar(Scalar::String), json!({"format": "date-time"})),
        "bytes" => known("ByteString", json!({"type": "string", "format": "byte"})),
        "quantity" => at(INT_OR_STRING, int_or_string(Some(QUANTITY))),
        "int-or-string" => at(INT_OR_STRING, int_or_string(None)),
        "object" => plain(Shape::Any, json!({"type": "object"})),
        "any" => plain(Shape::Any, json!({})),
        "embedded" => plain(
            Shape::Any,
            json!({"type": "object", "x-kubernetes-embedded-resource": true}),
        ),
        "labelSelector" => known("apimachinery::pkg::apis::meta::v1::LabelSelector", label_selector()),
        "objectReference" => known("api::core::v1::ObjectReference", object_reference()),
        "secretKeyRef" => known("api::core::v1::SecretKeySelector", secret_key()),
        "conditions" => {
            let item = known("apimachinery::pkg::apis::meta::v1::Condition", condition());
            let merge = json!({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]});
            plain(Shape::List(Box::new(item)), merge)
        }
        _ => return None,
    })
}

pub(super) fn plain(shape: Shape, keywords: Value) -> Schema {
    Schema {
        shape,
        description: None,
        nullable: false,
        default: None,
        keywords: object(keywords),
    }
}

/// A type of k8s-openapi.
fn known(rust: &str, schema: Value) -> Schema {
    at(&format!("{K8S}::{rust}"), schema)
}

fn at(rust: &str, schema: Value) -> Schema {
    plain(
        Shape::Known {
            schema: object(schema),
            rust: rust.to_owned(),
        },
        json!({}),
    )
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

fn int_or_string(pattern: Option<&str>) -> Value {
    let mut schema = json!({"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": true});
    if let Some(pattern) = pattern {
        schema["pattern"] = json!(pattern);
    }
    schema
}

fn label_selector() -> Value {
    json!({
        "type": "object",
        "properties": {
            "matchExpressions": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "key": {"type": "string"},
                        "operator": {"type": "string"},
                        "values": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic"},
                    },
                    "required": ["key", "operator"],
                },
                "x-kubernetes-list-type": "atomic",
            },
            "matchLabels": {"type": "object", "additionalProperties": {"type": "string"}},
        },
        "x-kubernetes-map-type": "atomic",
    })
}

fn object_reference() -> Value {
    let keys = [
        "apiVersion",
        "fieldPath",
        "kind",
        "name",
        "namespace",
        "resourceVersion",
        "uid",
    ];
    let properties: Map<String, Value> = keys
        .iter()
        .map(|key| ((*key).to_string(), json!({"type": "string"})))
        .collect();
    json!({"type": "object", "properties": properties, "x-kubernetes-map-type": "atomic"})
}

fn secret_key() -> Value {
    json!({
        "type": "object",
        "properties": {
            "key": {"type": "string"},
            "name": {"type": "string"},
            "optional": {"type": "boolean"},
        },
        "required": ["key"],
        "x-kubernetes-map-type": "atomic",
    })
}

/// The limits are those of `metav1.Condition`.
fn condition() -> Value {
    json!({
        "type": "object",
        "properties": {
            "lastTransitionTime": {"type": "string", "format": "date-time"},
            "message": {"type": "string", "maxLength": 32768},
            "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
            "reason": {
                "type": "string",
                "maxLength": 1024,
                "minLength": 1,
                "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
            },
            "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
            "type": {
                "type": "string",
                "maxLength": 316,
                "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
            },
        },
        "required": ["lastTransitionTime", "message", "reason", "status", "type"],
    })
}
