//! Defaults of the schema as Rust values.

use proc_macro2::{Literal, TokenStream};
use quote::quote;
use serde_json::{Number, Value};

use super::schema::others_name;
use crate::model::{ObjectSchema, Presence, Scalar, Schema, Shape};
use crate::render::rust::{ident, path};
use crate::render::scope::Scope;

/// Whether a struct has a `Default` that nobody had to make up: no field is required.
pub(in crate::render) fn can_default(object: &ObjectSchema) -> bool {
    object.fields.iter().all(|field| field.presence != Presence::Required)
}

/// Whether the schema's default is what `Default` gives in Rust.
pub(super) fn is_rust_default(schema: &Schema) -> bool {
    let Some(value) = &schema.default else { return true };
    if schema.nullable {
        return value.is_null();
    }
    match (&schema.shape, value) {
        (Shape::Scalar(Scalar::String), Value::String(text)) => text.is_empty(),
        (Shape::Scalar(Scalar::Boolean), Value::Bool(value)) => !value,
        (Shape::Scalar(_), Value::Number(number)) => number.as_f64() == Some(0.0),
        (Shape::List(_), Value::Array(items)) => items.is_empty(),
        (Shape::Map(_), Value::Object(entries)) => entries.is_empty(),
        (Shape::Object(object), Value::Object(entries)) => entries.is_empty() && can_default(object),
        (Shape::Any | Shape::Raw(_), Value::Null) => true,
        _ => false,
    }
}

/// The schema's default as an expression of the field's type.
pub(super) fn default_value(schema: &Schema, scope: &mut Scope) -> TokenStream {
    value_of(schema, schema.default.as_ref().unwrap_or(&Value::Null), scope)
}

fn value_of(schema: &Schema, value: &Value, scope: &mut Scope) -> TokenStream {
    if !schema.nullable {
        return present(schema, value, scope);
    }
    if value.is_null() {
        return quote!(None);
    }
    let value = present(schema, value, scope);
    quote!(Some(#value))
}

fn present(schema: &Schema, value: &Value, scope: &mut Scope) -> TokenStream {
    match (&schema.shape, value) {
        (Shape::Scalar(Scalar::String), Value::String(text)) => quote!(#text.to_owned()),
        (Shape::Scalar(Scalar::Boolean), Value::Bool(value)) => quote!(#value),
        (Shape::Scalar(Scalar::Number), Value::Number(number)) => float(number),
        (Shape::Scalar(_), Value::Number(number)) => path(&number.as_i64().unwrap_or_default().to_string()),
        (Shape::Enum { type_name, variants }, Value::String(text)) => {
            let variant = variants.iter().find(|(wire, _)| wire == text).or(variants.first());
            let variant = variant.map(|(_, variant)| ident(variant));
            let name = ident(type_name);
            quote!(#name::#variant)
        }
        (Shape::List(items), Value::Array(values)) => {
            let values = values.iter().map(|value| value_of(items, value, scope));
            let values: Vec<_> = values.collect();
            quote!(vec![#(#values),*])
        }
        (Shape::Map(items), Value::Object(entries)) => {
            let entries: Vec<_> = entries
                .iter()
                .map(|(key, value)| {
                    let value = value_of(items, value, scope);
                    quote!((#key.to_owned(), #value))
                })
                .collect();
            let map = path(&scope.name("std::collections", "BTreeMap"));
            quote!(#map::from([#(#entries),*]))
        }
        (Shape::Object(object), Value::Object(entries)) => literal(object, entries, scope),
        (Shape::Any | Shape::Raw(_), value) => json(value),
        (Shape::Known { rust, .. }, value) => known(rust, value, scope),
        // `lower` lets no other default through.
        _ => quote!(Default::default()),
    }
}

fn literal(object: &ObjectSchema, entries: &serde_json::Map<String, Value>, scope: &mut Scope) -> TokenStream {
    let name = ident(&object.type_name);
    if entries.is_empty() && can_default(object) {
        return quote!(#name::default());
    }
    let mut fields: Vec<_> = object
        .fields
        .iter()
        .map(|field| {
            let name = ident(&field.rust_name);
            let value = match (entries.get(&field.wire_name), field.presence) {
                (Some(value), Presence::Optional) if !field.schema.nullable => {
                    let value = value_of(&field.schema, value, scope);
                    quote!(Some(#value))
                }
                (Some(value), _) => value_of(&field.schema, value, scope),
                (None, Presence::Optional) => quote!(None),
                (None, _) => default_value(&field.schema, scope),
            };
            quote!(#name: #value)
        })
        .collect();
    if object.open {
        let others = ident(&others_name(object));
        fields.push(quote!(#others: Default::default()));
    }
    quote!(#name { #(#fields),* })
}

fn json(value: &Value) -> TokenStream {
    let tokens = json_tokens(value);
    quote!(serde_json::json!(#tokens))
}

/// What `json!` takes; numbers say their type, since plain ones are at most an `i32`.
fn json_tokens(value: &Value) -> TokenStream {
    match value {
        Value::Null => quote!(null),
        Value::Bool(value) => quote!(#value),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) if i32::try_from(number).is_ok() => path(&number.to_string()),
            (Some(number), _) => path(&format!("{number}_i64")),
            (None, Some(number)) => path(&format!("{number}_u64")),
            (None, None) => float(number),
        },
        Value::String(text) => quote!(#text),
        Value::Array(items) => {
            let items = items.iter().map(json_tokens);
            quote!([#(#items),*])
        }
        Value::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| {
                let value = json_tokens(value);
                quote!(#key: #value)
            });
            quote!({#(#entries),*})
        }
    }
}

fn float(number: &Number) -> TokenStream {
    let number = Literal::f64_unsuffixed(number.as_f64().unwrap_or_default());
    quote!(#number)
}

fn known(rust: &str, value: &Value, scope: &mut Scope) -> TokenStream {
    let name = match rust.rsplit_once("::") {
        Some((module, name)) => path(&scope.name(module, name)),
        None => path(rust),
    };
    match (rust.rsplit("::").next(), value) {
        (Some("String"), Value::String(text)) => quote!(#text.to_owned()),
        (Some("Quantity"), Value::String(text)) => quote!(#name(#text.to_owned())),
        (Some("IntOrString"), Value::String(text)) => quote!(#name::String(#text.to_owned())),
        (Some("IntOrString"), Value::Number(number)) => {
            let number = path(&number.to_string());
            quote!(#name::Int(#number))
        }
        _ => {
            let value = json(value);
            quote!(serde_json::from_value(#value).expect("the default fits its type"))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::json_tokens;

    #[test]
    fn json_of_any_value_is_rust() {
        let value =
            json!({"a\u{7}\n\"b": ["\u{2028}{x}", -5_000_000_000_i64, u64::MAX, 1, 1e300, -2.5, null, true, {}, []]});
        let tokens = json_tokens(&value).to_string();
        for part in ["5000000000_i64", "18446744073709551615_u64", "null", "{ }"] {
            assert!(tokens.contains(part), "{part}: {tokens}");
        }
        let macro_call: syn::Result<syn::Expr> = syn::parse_str(&format!("json!({tokens})"));
        assert!(macro_call.is_ok());
        assert_eq!(json_tokens(&Value::Null).to_string(), "null");
    }
}
