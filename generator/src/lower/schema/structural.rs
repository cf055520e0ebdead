//! The rules of structural schemas, for what `openAPIV3Schema` passes through.

use serde_json::{Map, Value};

use super::super::Faults;
use super::super::conformance::misfits;
use super::super::patterns::pattern_fault;
use crate::diagnostic::{Code, Diagnostic, Span, did_you_mean, unknown_key, wrong_type};
use crate::spec::{Mapping, Node, Reading};

const TYPES: &[&str] = &["string", "number", "integer", "boolean", "array", "object"];
const JUNCTORS: &[&str] = &["allOf", "anyOf", "oneOf"];
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
/// Keywords that say what a value is rather than check it.
const NOT_IN_JUNCTORS: &[&str] = &[
    "type",
    "default",
    "title",
    "description",
    "nullable",
    "additionalProperties",
    "metadata",
];
const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";
const EMBEDDED: &str = "x-kubernetes-embedded-resource";

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

fn fault(code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(code, span, message)
}

fn is_true(mapping: &Mapping, key: &str) -> bool {
    reading(mapping, key) == Some(Reading::Boolean(true))
}

fn reading(mapping: &Mapping, key: &str) -> Option<Reading> {
    mapping.get(key)?.as_scalar().map(crate::spec::Scalar::reading)
}

fn text<'m>(mapping: &'m Mapping, key: &str) -> Option<&'m str> {
    mapping.get(key)?.as_scalar().map(|scalar| scalar.text.as_str())
}

fn key_span(mapping: &Mapping, key: &str, otherwise: Span) -> Span {
    mapping
        .entries
        .iter()
        .find(|entry| entry.key.value == key)
        .map_or(otherwise, |entry| entry.key.span)
}

fn schema(mapping: &Mapping, span: Span, faults: &mut Faults) {
    keywords(mapping, faults);
    types(mapping, span, faults);
    extensions(mapping, span, faults);
    junctors(mapping, mapping, is_true(mapping, INT_OR_STRING), faults);
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

fn extensions(mapping: &Mapping, span: Span, faults: &mut Faults) {
    if let Some(value) = mapping.get(PRESERVE).filter(|_| !is_true(mapping, PRESERVE)) {
        faults.push(fault(
            Code::PreserveFalse,
            value.span,
            format!("`{PRESERVE}` is true or absent"),
        ));
    }
    if is_true(mapping, INT_OR_STRING) {
        for other in [PRESERVE, EMBEDDED, "type"] {
            if mapping.get(other).is_some() {
                let message = format!("`{other}` beside `{INT_OR_STRING}`");
                faults.push(fault(Code::IntOrString, key_span(mapping, other, span), message));
            }
        }
    }
    if is_true(mapping, EMBEDDED) {
        let place = key_span(mapping, EMBEDDED, span);
        if text(mapping, "type").is_some_and(|name| name != "object") || mapping.get("additionalProperties").is_some() {
            faults.push(fault(
                Code::EmbeddedResource,
                place,
                "an embedded resource is an object with named fields",
            ));
        } else if mapping.get("properties").is_none() && !is_true(mapping, PRESERVE) {
            let message = "an embedded resource without `properties` loses all its fields";
            faults.push(fault(Code::EmbeddedResource, place, message).help(format!("add {PRESERVE}: true")));
        }
    }
    merge_keyword(
        mapping,
        "x-kubernetes-list-type",
        "array",
        &["atomic", "set", "map"],
        faults,
    );
    merge_keyword(
        mapping,
        "x-kubernetes-map-type",
        "object",
        &["atomic", "granular"],
        faults,
    );
    list_keys(mapping, span, faults);
}

fn merge_keyword(mapping: &Mapping, key: &str, owner: &str, choices: &[&str], faults: &mut Faults) {
    let Some(node) = mapping.get(key) else { return };
    if text(mapping, "type") != Some(owner) {
        faults.push(fault(
            Code::MergeKeyword,
            node.span,
            format!("`{key}` stands on an {owner} only"),
        ));
    } else if !text(mapping, key).is_some_and(|name| choices.contains(&name)) {
        faults.push(fault(
            Code::MergeKeyword,
            node.span,
            format!("`{key}` is one of {}", choices.join(", ")),
        ));
    }
}

fn list_keys(mapping: &Mapping, span: Span, faults: &mut Faults) {
    const KEYS: &str = "x-kubernetes-list-map-keys";
    let is_map = text(mapping, "x-kubernetes-list-type") == Some("map");
    let Some(keys) = mapping.get(KEYS) else {
        if is_map {
            let place = key_span(mapping, "x-kubernetes-list-type", span);
            faults.push(fault(
                Code::MapKeys,
                place,
                format!("a list of type map needs `{KEYS}`"),
            ));
        }
        return;
    };
    if !is_map {
        faults.push(fault(
            Code::MapKeys,
            keys.span,
            format!("`{KEYS}` without list type map"),
        ));
    }
    let item = mapping.get("items").and_then(Node::as_mapping);
    let properties = item.and_then(|item| item.get("properties")).and_then(Node::as_mapping);
    let required = item
        .and_then(|item| item.get("required"))
        .and_then(Node::as_sequence)
        .unwrap_or_default();
    for key in keys.as_sequence().unwrap_or_default() {
        let Some(name) = key.as_scalar().map(|scalar| scalar.text.as_str()) else {
            continue;
        };
        let Some(property) = properties
            .and_then(|properties| properties.get(name))
            .and_then(Node::as_mapping)
        else {
            faults.push(fault(
                Code::MapKeys,
                key.span,
                format!("items have no property `{name}`"),
            ));
            continue;
        };
        let is_required = required
            .iter()
            .any(|node| node.as_scalar().is_some_and(|scalar| scalar.text == name));
        if !is_required && property.get("default").is_none() {
            faults.push(fault(
                Code::MapKeyPresence,
                key.span,
                format!("key `{name}` is neither required nor defaulted"),
            ));
        }
    }
}

/// Below a junctor there are value checks only, on properties that are declared outside.
fn junctors(outer: &Mapping, mapping: &Mapping, int_or_string: bool, faults: &mut Faults) {
    for key in JUNCTORS {
        for branch in mapping.get(key).and_then(Node::as_sequence).unwrap_or_default() {
            inside(outer, branch, int_or_string && *key == "anyOf", faults);
        }
    }
    if let Some(branch) = mapping.get("not") {
        inside(outer, branch, false, faults);
    }
}

fn inside(outer: &Mapping, branch: &Node, may_have_type: bool, faults: &mut Faults) {
    let Some(mapping) = branch.as_mapping() else { return };
    for entry in &mapping.entries {
        let key = entry.key.value.as_str();
        let forbidden = NOT_IN_JUNCTORS.contains(&key) || key.starts_with("x-kubernetes-");
        if forbidden && !(may_have_type && key == "type") {
            let message = format!("`{key}` within allOf, anyOf, oneOf or not");
            faults.push(
                fault(Code::JunctorKeyword, entry.key.span, message).help("declare it outside, beside the junctor"),
            );
        }
    }
    let declared = outer.get("properties").and_then(Node::as_mapping);
    for property in mapping
        .get("properties")
        .and_then(Node::as_mapping)
        .into_iter()
        .flat_map(|inner| &inner.entries)
    {
        let name = property.key.value.as_str();
        if let Some(outer) = declared
            .and_then(|declared| declared.get(name))
            .and_then(Node::as_mapping)
        {
            inside(outer, &property.value, false, faults);
        } else {
            let message = format!("property `{name}` is named here but not declared outside the junctor");
            faults.push(fault(Code::JunctorProperty, property.key.span, message));
        }
    }
    junctors(outer, mapping, false, faults);
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
            && !(key == "additionalProperties" && inner.entries.is_empty())
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
    if let Some(default) = property.get("default") {
        faults.push(fault(
            Code::DefaultPlace,
            default.span,
            format!("`{name}` of an embedded resource has no default"),
        ));
    }
    if text(property, "type") != Some(wanted) {
        faults.push(fault(
            Code::EmbeddedNames,
            span,
            format!("`{name}` of an embedded resource has `type: {wanted}`"),
        ));
    }
}
