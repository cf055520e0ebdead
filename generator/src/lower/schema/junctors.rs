//! `allOf`, `anyOf`, `oneOf` and `not` of passed-through schemas.

use super::super::Faults;
use super::super::patterns::pattern_fault;
use super::keywords::check_value;
use super::structural::{fault, text};
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
            let alternatives = int_or_string && *key == "anyOf" && are_the_alternatives(mapping);
            if int_or_string && *key == "allOf" && holds_the_alternatives(mapping, branch) {
                continue;
            }
            inside(outer, branch, alternatives, faults);
        }
    }
    if let Some(branch) = mapping.get("not") {
        inside(outer, branch, false, faults);
    }
}

/// The one shape in which types are allowed: `anyOf: [{type: integer}, {type: string}]`.
fn are_the_alternatives(mapping: &Mapping) -> bool {
    let branches = mapping.get("anyOf").and_then(Node::as_sequence).unwrap_or_default();
    let is = |branch: &Node, name: &str| {
        branch
            .as_mapping()
            .is_some_and(|keys| keys.entries.len() == 1 && text(keys, "type") == Some(name))
    };
    matches!(branches, [first, second] if is(first, "integer") && is(second, "string"))
}

/// The same shape as the first entry of `allOf`.
fn holds_the_alternatives(mapping: &Mapping, branch: &Node) -> bool {
    let first = mapping
        .get("allOf")
        .and_then(Node::as_sequence)
        .and_then(<[Node]>::first);
    first.is_some_and(|first| first.span == branch.span)
        && branch
            .as_mapping()
            .is_some_and(|keys| keys.entries.len() == 1 && are_the_alternatives(keys))
}

fn inside(outer: &Mapping, branch: &Node, may_have_type: bool, faults: &mut Faults) {
    let Some(mapping) = branch.as_mapping() else { return };
    for entry in &mapping.entries {
        check_value(entry, faults);
        let key = entry.key.value.as_str();
        let forbidden = NOT_IN_JUNCTORS.contains(&key) || key.starts_with("x-kubernetes-");
        if forbidden && !(may_have_type && key == "type") {
            let message = format!("`{key}` within allOf, anyOf, oneOf or not");
            faults.push(
                fault(Code::JunctorKeyword, entry.key.span, message).help("declare it outside, beside the junctor"),
            );
        }
    }
    if let Some((pattern, reason)) = mapping
        .get("pattern")
        .zip(text(mapping, "pattern").and_then(pattern_fault))
    {
        faults.push(fault(
            Code::Pattern,
            pattern.span,
            format!("this is no RE2 pattern: {reason}"),
        ));
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
