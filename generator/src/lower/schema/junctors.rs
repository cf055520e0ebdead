//! `allOf`, `anyOf`, `oneOf` and `not` of passed-through schemas.

use super::super::Faults;
use super::structural::fault;
use crate::diagnostic::Code;
use crate::spec::{Mapping, Node};

const JUNCTORS: &[&str] = &["allOf", "anyOf", "oneOf"];
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

/// Below a junctor there are value checks only, on properties that are declared outside.
pub(super) fn check(outer: &Mapping, mapping: &Mapping, int_or_string: bool, faults: &mut Faults) {
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
    check(outer, mapping, false, faults);
}
