//! The rules of structural schemas, for what `openAPIV3Schema` passes through.

use serde_json::{Map, Value};

use super::super::Faults;
use super::super::conformance::misfits;
use super::super::patterns::pattern_fault;
use super::keywords::check_value;
use super::{extensions, junctors};
use crate::diagnostic::{Code, Diagnostic, Span, did_you_mean, unknown_key, wrong_type};
use crate::spec::{Mapping, Node, Reading};

const TYPES: &[&str] = &["string", "number", "integer", "boolean", "array", "object"];
const FORBIDDEN: &[&str] = &[
    "$ref",
    "definitions",
    "dependencies",
    "patternProperties",
    "additionalItems",
    "id",
    "$schema",
    "deprecated",
];
const KEYWORDS: &[&str] = &[
    "type",
    "properties",
    "items",
    "additionalProperties",
    "required",
    "description",
    "title",
    "default",
    "example",
    "nullable",
    "enum",
    "format",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "uniqueItems",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "externalDocs",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-int-or-string",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-validations",
];
pub(super) const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
pub(super) const INT_OR_STRING: &str = "x-kubernetes-int-or-string";
pub(super) const EMBEDDED: &str = "x-kubernetes-embedded-resource";

/// The schema as JSON, its faults reported where they stand.
pub(in super::super) fn raw(node: &Node, faults: &mut Faults) -> Map<String, Value> {
    let Some(mapping) = node.as_mapping() else {
        faults.push(wrong_type(node.span, "`openAPIV3Schema`", "a mapping", node.kind()));
        return Map::new();
    };
    schema(mapping, node.span, faults);
    match node.to_json(faults) {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

pub(super) fn fault(code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(code, span, message)
}

pub(super) fn is_true(mapping: &Mapping, key: &str) -> bool {
    reading(mapping, key) == Some(Reading::Boolean(true))
}

fn reading(mapping: &Mapping, key: &str) -> Option<Reading> {
    mapping.get(key)?.as_scalar().map(crate::spec::Scalar::reading)
}

pub(super) fn text<'m>(mapping: &'m Mapping, key: &str) -> Option<&'m str> {
    mapping.get(key)?.as_scalar().map(|scalar| scalar.text.as_str())
}

pub(super) fn key_span(mapping: &Mapping, key: &str, otherwise: Span) -> Span {
    mapping
        .entries
        .iter()
        .find(|entry| entry.key.value == key)
        .map_or(otherwise, |entry| entry.key.span)
}

fn schema(mapping: &Mapping, span: Span, faults: &mut Faults) {
    keywords(mapping, faults);
    types(mapping, span, faults);
    extensions::check(mapping, span, faults);
    junctors::check(mapping, mapping, is_true(mapping, INT_OR_STRING), faults);
    default(mapping, faults);
    if let Some(pattern) = mapping.get("pattern")
        && let Some(reason) = text(mapping, "pattern").and_then(pattern_fault)
    {
        faults.push(fault(
            Code::Pattern,
            pattern.span,
            format!("this is no RE2 pattern: {reason}"),
        ));
    }
    children(mapping, faults);
}

fn keywords(mapping: &Mapping, faults: &mut Faults) {
    for entry in &mapping.entries {
        check_value(entry, faults);
        let key = entry.key.value.as_str();
        if FORBIDDEN.contains(&key) {
            faults.push(fault(
                Code::ForbiddenKeyword,
                entry.key.span,
                format!("`{key}` has no place in a CRD's schema"),
            ));
        } else if !KEYWORDS.contains(&key) {
            faults.push(unknown_key(
                entry.key.span,
                key,
                "an OpenAPI schema",
                if did_you_mean(key, KEYWORDS.iter().copied()).is_some() {
                    KEYWORDS
                } else {
                    &["type", "properties", "items"]
                },
            ));
        }
    }
    if is_true(mapping, "uniqueItems") {
        let span = key_span(mapping, "uniqueItems", Span::default());
        let message = "`uniqueItems: true` is refused by the API server";
        faults.push(fault(Code::ForbiddenKeyword, span, message).help("write x-kubernetes-list-type: set"));
    }
}

fn types(mapping: &Mapping, span: Span, faults: &mut Faults) {
    match (mapping.get("type"), text(mapping, "type")) {
        (None, _) if is_true(mapping, INT_OR_STRING) || is_true(mapping, PRESERVE) => {}
        (None, _) if mapping.get("$ref").is_some() => {}
        (None, _) => {
            let place = mapping.entries.first().map_or(span, |entry| entry.key.span);
            faults.push(fault(Code::SchemaType, place, "this schema has no `type`"));
        }
        (Some(node), Some(name)) if !TYPES.contains(&name) => {
            let meant = did_you_mean(name, TYPES.iter().copied()).map(|name| format!("did you mean `{name}`?"));
            faults
                .push(fault(Code::SchemaType, node.span, format!("`{name}` is no type of OpenAPI")).maybe_help(meant));
        }
        (Some(node), None) => faults.push(wrong_type(node.span, "`type`", "text", node.kind())),
        _ => {}
    }
    if text(mapping, "type") == Some("array") {
        match mapping.get("items") {
            None => faults.push(fault(
                Code::SchemaItems,
                key_span(mapping, "type", span),
                "an array without `items`",
            )),
            Some(items) if items.as_mapping().is_none() => {
                faults.push(fault(Code::SchemaItems, items.span, "`items` is one schema"));
            }
            Some(_) => {}
        }
    }
    if mapping.get("properties").is_some() && mapping.get("additionalProperties").is_some() {
        let message = "`properties` and `additionalProperties` exclude each other";
        faults.push(fault(
            Code::PropertiesAndMap,
            key_span(mapping, "additionalProperties", span),
            message,
        ));
    }
}

fn default(mapping: &Mapping, faults: &mut Faults) {
    let Some(default) = mapping.get("default") else { return };
    let value = default.to_json(faults);
    let json = |mapping: &Mapping| -> Map<String, Value> {
        mapping
            .entries
            .iter()
            .map(|entry| (entry.key.value.clone(), entry.value.to_json(&mut Vec::new())))
            .collect()
    };
    for misfit in misfits(&json(mapping), &value) {
        let code = if misfit.pruned {
            Code::DefaultPruned
        } else {
            Code::DefaultValue
        };
        let place = default.nearest(&misfit.path).span;
        let name = misfit
            .path
            .last()
            .map_or("`default`".to_string(), |key| format!("`{key}` of the default"));
        faults.push(fault(code, place, format!("{name} {}", misfit.message)));
    }
}

fn children(mapping: &Mapping, faults: &mut Faults) {
    let embedded = is_true(mapping, EMBEDDED);
    for entry in mapping
        .get("properties")
        .and_then(Node::as_mapping)
        .into_iter()
        .flat_map(|inner| &inner.entries)
    {
        match entry.value.as_mapping() {
            Some(property) => {
                schema(property, entry.key.span, faults);
                if embedded {
                    embedded_field(&entry.key.value, property, entry.key.span, faults);
                }
            }
            None => faults.push(wrong_type(
                entry.value.span,
                &format!("`{}`", entry.key.value),
                "a schema",
                entry.value.kind(),
            )),
        }
    }
    for key in ["items", "additionalProperties"] {
        if let Some((node, inner)) = mapping
            .get(key)
            .and_then(|node| node.as_mapping().map(|inner| (node, inner)))
        {
            schema(inner, node.span, faults);
        }
    }
}

fn embedded_field(name: &str, property: &Mapping, span: Span, faults: &mut Faults) {
    let wanted = match name {
        "apiVersion" | "kind" => "string",
        "metadata" => "object",
        _ => return,
    };
    if text(property, "type") != Some(wanted) {
        faults.push(fault(
            Code::EmbeddedNames,
            span,
            format!("`{name}` of an embedded resource has `type: {wanted}`"),
        ));
    }
}
