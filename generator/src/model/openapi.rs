//! A schema as it stands in a CRD.

use serde_json::{Map, Value, json};

use super::{Field, ObjectSchema, Presence, Scalar, Schema, Shape};

const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";

impl Schema {
    /// The `OpenAPI` v3 schema, with everything that the API server is told.
    #[must_use]
    pub fn openapi(&self) -> Map<String, Value> {
        let mut schema = match &self.shape {
            Shape::Scalar(scalar) => typed(scalar.openapi_type()),
            Shape::Enum { variants, .. } => {
                let mut schema = typed("string");
                schema.insert(
                    "enum".into(),
                    variants.iter().map(|(value, _)| value.as_str()).collect(),
                );
                schema
            }
            Shape::Object(object) => object.openapi(),
            Shape::List(item) => {
                let mut schema = typed("array");
                schema.insert("items".into(), Value::Object(item.openapi()));
                schema
            }
            Shape::Map(value) => {
                let mut schema = typed("object");
                schema.insert("additionalProperties".into(), Value::Object(value.openapi()));
                schema
            }
            Shape::Any => Map::from_iter([(PRESERVE.to_string(), Value::Bool(true))]),
            Shape::Raw(schema) | Shape::Known { schema, .. } => schema.clone(),
        };
        if let Some(description) = &self.description {
            schema.insert("description".into(), json!(description));
        }
        if self.nullable {
            schema.insert("nullable".into(), json!(true));
        }
        if let Some(default) = &self.default {
            schema.insert("default".into(), default.clone());
        }
        schema.extend(self.keywords.clone());
        schema
    }
}

impl Scalar {
    /// The value of `type`.
    #[must_use]
    pub fn openapi_type(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer | Self::Int32 => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }
}

impl ObjectSchema {
    fn openapi(&self) -> Map<String, Value> {
        let mut schema = typed("object");
        let property = |field: &Field| (field.wire_name.clone(), Value::Object(field.schema.openapi()));
        let properties: Map<String, Value> = self.fields.iter().map(property).collect();
        let required: Vec<&str> = self
            .fields
            .iter()
            .filter(|field| field.presence == Presence::Required)
            .map(|field| field.wire_name.as_str())
            .collect();
        if !properties.is_empty() {
            schema.insert("properties".into(), Value::Object(properties));
        }
        if !required.is_empty() {
            schema.insert("required".into(), json!(required));
        }
        if self.open {
            schema.insert(PRESERVE.into(), json!(true));
        }
        schema
    }
}

fn typed(name: &str) -> Map<String, Value> {
    Map::from_iter([("type".to_string(), json!(name))])
}
