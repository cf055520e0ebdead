//! Structs and enums out of schemas.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::quote;

use super::defaults::{can_default, default_value, is_rust_default};
use super::serde_derives;
use crate::model::{Field, ObjectSchema, Presence, Scalar, Schema, Shape};
use crate::render::lints::{allow_complex, allow_constants};
use crate::render::rust::{doc, ident, path};
use crate::render::scope::Scope;

/// The types of one module, each defined once.
pub(super) struct Types<'a> {
    scope: &'a mut Scope,
    defined: BTreeSet<String>,
    blocks: Vec<TokenStream>,
}

impl<'a> Types<'a> {
    pub(super) fn new(scope: &'a mut Scope) -> Self {
        Self {
            scope,
            defined: BTreeSet::new(),
            blocks: Vec::new(),
        }
    }

    /// The type of a spec, a status or a result; `about` documents a struct that has no description.
    pub(super) fn part(&mut self, schema: &Schema, about: &str) -> TokenStream {
        if let Shape::Object(object) = &schema.shape {
            self.define_struct(object, schema.description.as_deref().or(Some(about)));
            let name = ident(&object.type_name);
            return quote!(#name);
        }
        self.define(schema);
        self.type_of(schema)
    }

    pub(super) fn finish(self) -> Vec<TokenStream> {
        self.blocks
    }

    /// Defines what a schema names.
    fn define(&mut self, schema: &Schema) {
        match &schema.shape {
            Shape::Object(object) => self.define_struct(object, schema.description.as_deref()),
            Shape::Enum { type_name, variants } => self.define_enum(type_name, variants, schema.description.as_deref()),
            Shape::List(items) | Shape::Map(items) => self.define(items),
            Shape::Scalar(_) | Shape::Any | Shape::Raw(_) | Shape::Known { .. } => {}
        }
    }

    fn define_struct(&mut self, object: &ObjectSchema, description: Option<&str>) {
        if !self.defined.insert(object.type_name.clone()) {
            return;
        }
        let name = ident(&object.type_name);
        let about = doc(description);
        let derives = serde_derives(self.scope);
        let sound = can_default(object);
        let is_derived = sound && object.fields.iter().all(has_rust_default);
        let default = is_derived.then(|| quote!(Default,));
        let fields: Vec<_> = object.fields.iter().map(|field| self.field(object, field)).collect();
        let others = object.open.then(|| self.others(object));
        self.blocks.push(quote! {
            #about
            #[derive(Clone, Debug, #default PartialEq, #derives)]
            #[serde(rename_all = "camelCase")]
            pub struct #name { #(#fields,)* #others }
        });
        self.default_functions(object);
        if sound && !is_derived {
            self.implement_default(object);
        }
        object.fields.iter().for_each(|field| self.define(&field.schema));
    }

    fn field(&mut self, object: &ObjectSchema, field: &Field) -> TokenStream {
        let about = doc(field.schema.description.as_deref());
        let name = ident(&field.rust_name);
        let mut options = Vec::new();
        if camel_case(&field.rust_name) != field.wire_name {
            let wire_name = &field.wire_name;
            options.push(quote!(rename = #wire_name));
        }
        let mut rust = self.type_of(&field.schema);
        match field.presence {
            Presence::Required => {}
            Presence::Optional => {
                options.push(quote!(default));
                options.push(quote!(skip_serializing_if = "Option::is_none"));
                if !field.schema.nullable {
                    rust = quote!(Option<#rust>);
                }
            }
            Presence::Defaulted if has_rust_default(field) => options.push(quote!(default)),
            Presence::Defaulted => {
                let function = format!("{}::{}", object.type_name, default_function(field));
                options.push(quote!(default = #function));
            }
        }
        let attribute = (!options.is_empty()).then(|| quote!(#[serde(#(#options),*)]));
        let allowed = allow_complex(&rust);
        quote!(#about #attribute #allowed pub #name: #rust)
    }

    /// The map of an open object, under a name that no field has.
    fn others(&mut self, object: &ObjectSchema) -> TokenStream {
        let name = ident(&others_name(object));
        let map = path(&self.scope.name("std::collections", "BTreeMap"));
        quote! {
            /// Keys that the schema does not name.
            #[serde(flatten)]
            pub #name: #map<String, serde_json::Value>,
        }
    }

    fn default_functions(&mut self, object: &ObjectSchema) {
        let name = ident(&object.type_name);
        let fields: Vec<_> = object
            .fields
            .iter()
            .filter(|field| field.presence == Presence::Defaulted && !has_rust_default(field))
            .collect();
        if fields.is_empty() {
            return;
        }
        let functions = fields.into_iter().map(|field| {
            let function = ident(&default_function(field));
            let rust = self.type_of(&field.schema);
            let value = default_value(&field.schema, self.scope);
            let allowed = [allow_complex(&rust), allow_constants(&value)];
            quote!(#(#allowed)* fn #function() -> #rust { #value })
        });
        let functions: Vec<_> = functions.collect();
        self.blocks.push(quote!(impl #name { #(#functions)* }));
    }

    fn implement_default(&mut self, object: &ObjectSchema) {
        let name = ident(&object.type_name);
        let mut fields: Vec<_> = object
            .fields
            .iter()
            .map(|field| {
                let name = ident(&field.rust_name);
                if field.presence == Presence::Optional {
                    quote!(#name: None)
                } else if has_rust_default(field) {
                    quote!(#name: Default::default())
                } else {
                    let function = ident(&default_function(field));
                    quote!(#name: Self::#function())
                }
            })
            .collect();
        if object.open {
            let name = ident(&others_name(object));
            fields.push(quote!(#name: Default::default()));
        }
        self.blocks.push(quote! {
            impl Default for #name {
                fn default() -> Self {
                    Self { #(#fields),* }
                }
            }
        });
    }

    fn define_enum(&mut self, type_name: &str, variants: &[(String, String)], description: Option<&str>) {
        if !self.defined.insert(type_name.to_owned()) {
            return;
        }
        let name = ident(type_name);
        let about = doc(description);
        let derives = serde_derives(self.scope);
        let rule = RULES
            .iter()
            .find(|(_, rule)| variants.iter().all(|(wire, variant)| rule(variant) == *wire));
        let rename_all = rule.map(|(rule, _)| quote!(#[serde(rename_all = #rule)]));
        let variants = variants.iter().map(|(wire, variant)| {
            let name = ident(variant);
            let renamed = rule.is_none() && wire != variant;
            let rename = renamed.then(|| quote!(#[serde(rename = #wire)]));
            quote!(#rename #name)
        });
        self.blocks.push(quote! {
            #about
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, #derives)]
            #rename_all
            pub enum #name { #(#variants),* }
        });
    }

    /// A schema's type; only what is nullable is optional here.
    fn type_of(&mut self, schema: &Schema) -> TokenStream {
        let rust = match &schema.shape {
            Shape::Scalar(Scalar::String) => quote!(String),
            Shape::Scalar(Scalar::Integer) => quote!(i64),
            Shape::Scalar(Scalar::Int32) => quote!(i32),
            Shape::Scalar(Scalar::Number) => quote!(f64),
            Shape::Scalar(Scalar::Boolean) => quote!(bool),
            Shape::Enum { type_name, .. } => path(type_name),
            Shape::Object(object) => path(&object.type_name),
            Shape::List(items) => {
                let items = self.type_of(items);
                quote!(Vec<#items>)
            }
            Shape::Map(items) => {
                let items = self.type_of(items);
                let map = path(&self.scope.name("std::collections", "BTreeMap"));
                quote!(#map<String, #items>)
            }
            Shape::Any | Shape::Raw(_) => quote!(serde_json::Value),
            Shape::Known { rust, .. } => path(&self.known(rust)),
        };
        if schema.nullable { quote!(Option<#rust>) } else { rust }
    }

    /// A well-known type, imported if it is a path without type arguments.
    fn known(&mut self, rust: &str) -> String {
        match rust.rsplit_once("::") {
            Some((module, name)) if !rust.contains('<') && !module.starts_with("serde_json") => {
                self.scope.name(module, name)
            }
            _ => rust.to_owned(),
        }
    }
}

/// The attribute of a `spec` that may be absent.
pub(super) fn attribute_of_spec(spec: &Schema) -> Option<TokenStream> {
    match &spec.shape {
        Shape::Object(object) => can_default(object).then(|| quote!(#[serde(default)])),
        _ => Some(quote!(#[serde(default, skip_serializing_if = "serde_json::Value::is_null")])),
    }
}

fn has_rust_default(field: &Field) -> bool {
    field.presence != Presence::Defaulted || is_rust_default(&field.schema)
}

fn default_function(field: &Field) -> String {
    format!("default_{}", field.rust_name.trim_start_matches("r#"))
}

/// The field for unknown keys.
pub(in crate::render) fn others_name(object: &ObjectSchema) -> String {
    let mut name = String::from("others");
    while object.fields.iter().any(|field| field.rust_name == name) {
        name.insert_str(0, "all_");
    }
    name
}

/// What serde's `camelCase` makes of a field.
fn camel_case(field: &str) -> String {
    let mut out = String::new();
    let mut upper = false;
    for c in field.trim_start_matches("r#").chars() {
        match c {
            '_' => upper = !out.is_empty(),
            c if upper => {
                out.push(c.to_ascii_uppercase());
                upper = false;
            }
            c if out.is_empty() => out.push(c.to_ascii_lowercase()),
            c => out.push(c),
        }
    }
    out
}

type Rule = fn(&str) -> String;

/// serde's rules for variants.
const RULES: [(&str, Rule); 6] = [
    ("lowercase", |variant| variant.to_ascii_lowercase()),
    ("UPPERCASE", |variant| variant.to_ascii_uppercase()),
    ("camelCase", |variant| variant[..1].to_ascii_lowercase() + &variant[1..]),
    ("kebab-case", |variant| snake_case(variant).replace('_', "-")),
    ("snake_case", snake_case),
    ("SCREAMING_SNAKE_CASE", |variant| {
        snake_case(variant).to_ascii_uppercase()
    }),
];

fn snake_case(variant: &str) -> String {
    let mut out = String::new();
    for (at, c) in variant.char_indices() {
        if at > 0 && c.is_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::camel_case;

    #[test]
    fn camel_case_is_serdes() {
        let cases = [
            ("who", "who"),
            ("r#type", "type"),
            ("expire_after_days", "expireAfterDays"),
            ("ip_v4", "ipV4"),
            ("a_b", "aB"),
        ];
        for (rust, wire) in cases {
            assert_eq!(camel_case(rust), wire);
        }
    }
}
