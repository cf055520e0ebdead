//! Schemas: one tree serves both the CRD and the Rust types.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// A value's schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    /// What it is.
    pub shape: Shape,
    /// Shown in the CRD and as doc comment, word for word.
    pub description: Option<String>,
    /// `nullable: true`.
    pub nullable: bool,
    /// A default that fits the schema.
    pub default: Option<Value>,
    /// All other CRD keywords, as they go into the output: limits, `format`, `pattern`, `enum`, `x-kubernetes-…`, `example`;
    /// `type` only beside `Shape::Any`.
    pub keywords: Map<String, Value>,
}

/// The names of generated types.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchemaTypes {
    /// Of objects.
    pub structs: BTreeSet<String>,
    /// Of strings of a closed set.
    pub enums: BTreeSet<String>,
}

impl Schema {
    pub(super) fn collect_types(&self, types: &mut SchemaTypes) {
        match &self.shape {
            Shape::Enum { type_name, .. } => {
                types.enums.insert(type_name.clone());
            }
            Shape::Object(object) => {
                types.structs.insert(object.type_name.clone());
                object.fields.iter().for_each(|field| field.schema.collect_types(types));
            }
            Shape::List(items) | Shape::Map(items) => items.collect_types(types),
            Shape::Scalar(_) | Shape::Any | Shape::Raw(_) | Shape::Known { .. } => {}
        }
    }
}

/// The shapes that differ in Rust.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A single value.
    Scalar(Scalar),
    /// A string of a closed set: a Rust enum of this name.
    Enum {
        /// The Rust type.
        type_name: String,
        /// The wire value and its Rust variant, in the order of the spec.
        variants: Vec<(String, String)>,
    },
    /// Named fields: a Rust struct.
    Object(ObjectSchema),
    /// `[]T`.
    List(Box<Schema>),
    /// `map[string]T`.
    Map(Box<Schema>),
    /// Free-form: `serde_json::Value`, preserve-unknown-fields in the CRD.
    Any,
    /// `openAPIV3Schema`: passed through to the CRD as it is; `serde_json::Value` in Rust.
    Raw(Map<String, Value>),
    /// A self-contained CRD schema given by a well-known type name, with its own Rust type path.
    Known {
        /// The CRD schema, whole.
        schema: Map<String, Value>,
        /// The Rust type, such as `kopf_runtime::k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition`.
        rust: String,
    },
}

/// A single value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// `String`.
    String,
    /// `i64`.
    Integer,
    /// `i32`.
    Int32,
    /// `f64`.
    Number,
    /// `bool`.
    Boolean,
}

/// A struct.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectSchema {
    /// The Rust type, allotted by schema path: `DatabaseSpec`, `DatabaseSpecBackup`.
    pub type_name: String,
    /// In the order of the spec.
    pub fields: Fields,
    /// Unknown keys are kept: preserve-unknown-fields in the CRD, a flattened map in Rust.
    pub open: bool,
}

/// The fields of a struct.
pub type Fields = Vec<Field>;

/// One field.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// On the wire.
    pub wire_name: String,
    /// In Rust; a raw identifier where it must be (`r#type`).
    pub rust_name: String,
    /// Whether it can be absent.
    pub presence: Presence,
    /// Its schema.
    pub schema: Schema,
}

/// Whether a field can be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Listed in `required`.
    Required,
    /// Absent reads as its default.
    Defaulted,
    /// An `Option`.
    Optional,
}
