//! Sets and map lists of passed-through schemas.

use super::super::Faults;
use super::structural::{fault, is_true, key_span, text};
use crate::diagnostic::{Code, Span};
use crate::spec::{Mapping, Node};

const LIST_TYPE: &str = "x-kubernetes-list-type";
const MAP_TYPE: &str = "x-kubernetes-map-type";
const KEYS: &str = "x-kubernetes-list-map-keys";

pub(super) fn check(mapping: &Mapping, span: Span, faults: &mut Faults) {
    let list_type = text(mapping, LIST_TYPE);
    let place = key_span(mapping, LIST_TYPE, span);
    let item = mapping.get("items").and_then(Node::as_mapping);
    if let Some(item) = item.filter(|_| matches!(list_type, Some("set" | "map"))) {
        if is_true(item, "nullable") {
            faults.push(fault(
                Code::MapKeyPresence,
                place,
                "items of a set or a map list cannot be null",
            ));
        }
        if list_type == Some("set") && !fits_a_set(item) {
            faults.push(fault(Code::SetItems, place, "items of a set are scalars or atomic"));
        }
    }
    match (list_type, mapping.get(KEYS)) {
        (Some("map"), Some(keys)) => map_keys(item, keys, faults),
        (Some("map"), None) => faults.push(fault(
            Code::MapKeys,
            place,
            format!("a list of type map needs `{KEYS}`"),
        )),
        (_, Some(keys)) => faults.push(fault(
            Code::MapKeys,
            keys.span,
            format!("`{KEYS}` without list type map"),
        )),
        (_, None) => {}
    }
}

fn fits_a_set(item: &Mapping) -> bool {
    match text(item, "type") {
        Some("object") => text(item, MAP_TYPE) == Some("atomic"),
        Some("array") => matches!(text(item, LIST_TYPE), None | Some("atomic")),
        _ => true,
    }
}

fn map_keys(item: Option<&Mapping>, keys: &Node, faults: &mut Faults) {
    let properties = item.and_then(|item| item.get("properties")).and_then(Node::as_mapping);
    let required = item
        .and_then(|item| item.get("required"))
        .and_then(Node::as_sequence)
        .unwrap_or_default();
    let is_named = |nodes: &[Node], name: &str| {
        nodes
            .iter()
            .any(|node| node.as_scalar().is_some_and(|scalar| scalar.text == name))
    };
    let names = keys.as_sequence().unwrap_or_default();
    for (index, key) in names.iter().enumerate() {
        let Some(name) = key.as_scalar().map(|scalar| scalar.text.as_str()) else {
            continue;
        };
        if is_named(&names[..index], name) {
            faults.push(fault(Code::MapKeys, key.span, format!("`{name}` is listed twice")));
        }
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
        if matches!(text(property, "type"), Some("object" | "array")) {
            faults.push(fault(Code::MapKeys, key.span, format!("key `{name}` is no scalar")));
        } else if is_true(property, "nullable") {
            faults.push(fault(
                Code::MapKeyPresence,
                key.span,
                format!("key `{name}` cannot be nullable"),
            ));
        } else if !is_named(required, name) && property.get("default").is_none() {
            let message = format!("key `{name}` is neither required nor defaulted");
            faults.push(fault(Code::MapKeyPresence, key.span, message));
        }
    }
}
