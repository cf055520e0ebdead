//! How values merge: which maps and lists are owned and changed as a whole, and what tells list elements apart.

mod built_in;

use serde_json::{Map, Value, json};

use crate::cluster::Place;
use crate::objects::shapes::built_in::{Elements, Type};

/// How a value merges.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape<'a> {
    /// No schema tells: maps merge by key, lists are replaced.
    Open,
    /// The same for a value of the built-in API, whose fields have names nevertheless.
    Plain,
    /// Replaced as a whole.
    Atomic,
    /// A struct of the built-in API.
    Struct(&'static Type),
    /// A list of the built-in API whose elements are told apart.
    Elements(&'static Elements),
    /// A value under a structural schema, and whether it is an object of the API itself.
    Schema(&'a Value, bool),
}

/// How a field of a map or struct merges.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field<'a> {
    pub(crate) shape: Shape<'a>,
    /// Whether the schema names it, which entries of maps are not.
    pub(crate) named: bool,
    /// Whether it is never missing, if only empty.
    pub(crate) present: bool,
}

impl<'a> Field<'a> {
    fn named(shape: Shape<'a>) -> Self {
        Self {
            shape,
            named: true,
            present: false,
        }
    }
}

impl<'a> Shape<'a> {
    /// The shape of whole objects.
    pub(crate) fn of(place: &'a Place) -> Self {
        let schema = place.version().ok().and_then(|version| version.schema.as_ref());
        match schema {
            Some(schema) if place.kind.custom => Self::Schema(schema, true),
            _ => Self::Struct(built_in::kind(&place.kind.kind)),
        }
    }

    /// What the shape is for this field; nothing if the schema does not know such a field.
    pub(crate) fn field(self, name: &str) -> Option<Field<'a>> {
        match self {
            Self::Struct(of) => Some(of.fields.get(name).map_or(Field::named(Self::Plain), |field| Field {
                shape: field.shape,
                named: true,
                present: field.present,
            })),
            Self::Plain => Some(Field::named(Self::Plain)),
            Self::Schema(schema, resource) => schema_field(schema, resource, name),
            Self::Open | Self::Atomic | Self::Elements(_) => Some(Field {
                shape: self,
                named: false,
                present: false,
            }),
        }
    }

    /// The shape of a list's elements.
    pub(crate) fn item(self) -> Shape<'a> {
        match self {
            Self::Elements(elements) => elements.item,
            Self::Schema(schema, _) => schema.get("items").map_or(Self::Open, of_schema),
            _ => Self::Open,
        }
    }

    /// Whether the elements of a list are told apart.
    pub(crate) fn is_associative(self) -> bool {
        match self {
            Self::Elements(_) => true,
            Self::Schema(schema, _) => matches!(schema["x-kubernetes-list-type"].as_str(), Some("set" | "map")),
            _ => false,
        }
    }

    /// Whether a map is owned and replaced as a whole.
    pub(crate) fn is_atomic_map(self) -> bool {
        match self {
            Self::Atomic => true,
            Self::Schema(schema, _) => schema["x-kubernetes-map-type"] == "atomic",
            _ => false,
        }
    }

    /// What tells an element of an associative list apart, as a path element.
    pub(crate) fn element(self, item: &Value) -> Result<String, String> {
        let keys: Vec<(&str, Option<Value>)> = match self {
            Self::Elements(elements) => elements
                .keys
                .iter()
                .map(|(key, default)| (*key, Some(default.clone())))
                .collect(),
            Self::Schema(schema, _) if schema["x-kubernetes-list-type"] == "map" => {
                let keys = schema["x-kubernetes-list-map-keys"]
                    .as_array()
                    .map_or(&[][..], Vec::as_slice);
                let default = |key: &str| schema["items"]["properties"][key].get("default").cloned();
                keys.iter()
                    .filter_map(Value::as_str)
                    .map(|key| (key, default(key)))
                    .collect()
            }
            _ => Vec::new(),
        };
        if keys.is_empty() {
            return match item {
                Value::Null => Err("associative list without keys has an element that's a null type".into()),
                Value::Object(_) => Err("associative list without keys has an element that's a map type".into()),
                Value::Array(_) => Err("not supported: associative list with lists as elements".into()),
                scalar => Ok(format!("v:{scalar}")),
            };
        }
        let fields = match item {
            Value::Object(fields) => fields,
            Value::Null => return Err("associative list with keys may not have a null element".into()),
            _ => return Err("associative list with keys may not have non-map elements".into()),
        };
        let mut found = Map::new();
        for (key, default) in keys {
            let value = fields.get(key).cloned().or(default).ok_or_else(|| {
                format!(
                    "associative list with keys has an element that omits key field {key:?} (and doesn't have default value)"
                )
            })?;
            found.insert(key.into(), value);
        }
        Ok(format!("k:{}", json!(found)))
    }

    /// What the schema wants a value to be, in words; nothing if it may be anything.
    pub(crate) fn wanted(self) -> Option<&'static str> {
        match self {
            Self::Schema(schema, _) => match schema["type"].as_str()? {
                "object" => Some("map"),
                "array" => Some("list"),
                "string" => Some("string"),
                "boolean" => Some("boolean"),
                "integer" | "number" => Some("numeric (int or float)"),
                _ => None,
            },
            Self::Struct(_) => Some("map"),
            Self::Elements(_) => Some("list"),
            Self::Open | Self::Plain | Self::Atomic => None,
        }
    }

    /// The key by which a strategic merge patch merges a list of the built-in API, and whether it merges it at all.
    pub(crate) fn patched(self, name: &str) -> Patched<'a> {
        let field = match self {
            Self::Struct(of) => of.fields.get(name),
            _ => None,
        };
        let Some(field) = field else {
            let shape = self.field(name).map_or(Shape::Open, |field| field.shape);
            return Patched {
                shape,
                merges: false,
                key: None,
            };
        };
        let key = field.patched.and_then(|elements| elements.keys.first());
        Patched {
            shape: field.patched.map_or(field.shape, |elements| elements.item),
            merges: field.patched.is_some(),
            key: key.map(|(key, _)| *key),
        }
    }
}

/// How a strategic merge patch treats a field.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patched<'a> {
    /// Of the field, or of its elements if it is a list that merges.
    pub(crate) shape: Shape<'a>,
    /// Whether a list is merged and not replaced.
    pub(crate) merges: bool,
    /// What tells the elements of the list apart; nothing for scalars.
    pub(crate) key: Option<&'static str>,
}

fn of_schema(schema: &Value) -> Shape<'_> {
    Shape::Schema(schema, schema["x-kubernetes-embedded-resource"] == true)
}

fn schema_field<'a>(schema: &'a Value, resource: bool, name: &str) -> Option<Field<'a>> {
    if resource {
        match name {
            "metadata" => return Some(Field::named(Shape::Struct(built_in::metadata()))),
            "apiVersion" | "kind" => return Some(Field::named(Shape::Plain)),
            _ => {}
        }
    }
    if let Some(property) = schema["properties"].get(name) {
        return Some(Field::named(of_schema(property)));
    }
    let entry = |shape| Field {
        shape,
        named: false,
        present: false,
    };
    match schema.get("additionalProperties") {
        Some(Value::Bool(false)) | None => {}
        Some(Value::Bool(true)) => return Some(entry(Shape::Open)),
        Some(additional) => return Some(entry(of_schema(additional))),
    }
    // Where the schema does not even tell a type there is nothing that it could miss.
    let open = schema["x-kubernetes-preserve-unknown-fields"] == true || schema.get("type").is_none();
    open.then(|| entry(Shape::Open))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_told_apart_by_their_keys() {
        let schema = json!({
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"],
            "items": {"type": "object", "properties": {"protocol": {"default": "TCP"}}},
        });
        let shape = Shape::Schema(&schema, false);
        assert_eq!(
            shape.element(&json!({"port": 1})).unwrap(),
            r#"k:{"port":1,"protocol":"TCP"}"#
        );
        let fault = shape.element(&json!({"protocol": "UDP"})).unwrap_err();
        assert!(fault.contains("omits key field \"port\""), "{fault}");
        assert!(shape.element(&json!(1)).is_err());
    }

    #[test]
    fn elements_of_sets_are_their_values() {
        let schema = json!({"x-kubernetes-list-type": "set", "items": {"type": "string"}});
        let shape = Shape::Schema(&schema, false);
        assert_eq!(shape.element(&json!("a")).unwrap(), r#"v:"a""#);
        assert!(shape.element(&json!({})).is_err());
    }

    #[test]
    fn unknown_fields_are_told_from_open_ones() {
        let schema = json!({"type": "object", "properties": {
            "closed": {"type": "object", "properties": {"a": {"type": "string"}}},
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
            "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        }});
        let root = Shape::Schema(&schema, true);
        let below = |field: &str, name: &str| root.field(field).and_then(|field| field.shape.field(name));
        assert!(root.field("other").is_none());
        assert!(below("closed", "b").is_none());
        assert!(below("closed", "a").is_some_and(|field| field.named));
        assert!(below("map", "b").is_some_and(|field| !field.named));
        assert!(below("open", "b").is_some_and(|field| !field.named));
        assert!(below("metadata", "labels").is_some_and(|field| field.named));
    }
}
