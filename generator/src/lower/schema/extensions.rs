//! The `x-kubernetes-…` keywords of passed-through schemas.

use super::super::Faults;
use super::list_keywords;
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
        for other in [PRESERVE, EMBEDDED] {
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
    list_keywords::check(mapping, span, faults);
    rules(mapping, faults);
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

const REASONS: &[&str] = &[
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
];

fn rules(mapping: &Mapping, faults: &mut Faults) {
    for rule in mapping
        .get("x-kubernetes-validations")
        .and_then(Node::as_sequence)
        .unwrap_or_default()
    {
        let Some(keys) = rule.as_mapping() else {
            faults.push(fault(Code::Rule, rule.span, "a validation is a mapping with a `rule`"));
            continue;
        };
        if text(keys, "rule").is_none_or(|rule| rule.trim().is_empty()) {
            faults.push(fault(Code::Rule, rule.span, "the rule is empty"));
        }
        if let Some(message) = keys.get("message") {
            if text(keys, "message").is_none_or(|words| words.trim().is_empty() || words.contains('\n')) {
                let words = "the message of a rule is one line and says something";
                faults.push(fault(Code::Rule, message.span, words));
            }
        } else if text(keys, "rule").is_some_and(|rule| rule.trim().contains('\n')) {
            faults.push(fault(
                Code::Rule,
                rule.span,
                "a rule of several lines needs a `message`",
            ));
        }
        if let Some(reason) = keys
            .get("reason")
            .filter(|_| !text(keys, "reason").is_some_and(|one| REASONS.contains(&one)))
        {
            faults.push(fault(
                Code::RuleReason,
                reason.span,
                format!("`reason` is one of {}", REASONS.join(", ")),
            ));
        }
    }
}
