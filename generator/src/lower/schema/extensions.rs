//! The `x-kubernetes-…` keywords of passed-through schemas.

use super::super::Faults;
use super::structural::{EMBEDDED, INT_OR_STRING, PRESERVE, fault, is_true, key_span, text};
use crate::diagnostic::{Code, Span};
use crate::spec::{Mapping, Node};

pub(super) fn check(mapping: &Mapping, span: Span, faults: &mut Faults) {
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
