//! What the values of OpenAPI's keywords are.

use super::super::Faults;
use crate::diagnostic::wrong_type;
use crate::spec::{Entry, Node, Reading, Scalar};

/// The keyword's value has the JSON type that the API server reads.
pub(super) fn check_value(entry: &Entry, faults: &mut Faults) {
    let node = &entry.value;
    let reading = node.as_scalar().map(Scalar::reading);
    let is_mapping = |node: &Node| node.as_mapping().is_some();
    let is_text = |node: &Node| node.as_scalar().map(Scalar::reading) == Some(Reading::Text);
    let items = |fits: &dyn Fn(&Node) -> bool| node.as_sequence().is_some_and(|items| items.iter().all(fits));
    let (fits, wanted) = match entry.key.value.as_str() {
        "description" | "title" | "format" | "pattern" => (is_text(node), "text"),
        "nullable"
        | "exclusiveMinimum"
        | "exclusiveMaximum"
        | "uniqueItems"
        | "x-kubernetes-int-or-string"
        | "x-kubernetes-embedded-resource" => (matches!(reading, Some(Reading::Boolean(_))), "true or false"),
        "minimum" | "maximum" | "multipleOf" => (
            matches!(reading, Some(Reading::Integer(_) | Reading::Float(_))),
            "a number",
        ),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => (
            matches!(reading, Some(Reading::Integer(count)) if count >= 0),
            "a whole number, at least 0",
        ),
        "required" | "x-kubernetes-list-map-keys" => (items(&is_text), "a list of names"),
        "enum" => (items(&|_| true), "a list of values"),
        "allOf" | "anyOf" | "oneOf" => (items(&is_mapping), "a list of schemas"),
        "x-kubernetes-validations" => (node.as_sequence().is_some(), "a list of rules"),
        "properties" => (is_mapping(node), "a mapping of fields to schemas"),
        "not" => (is_mapping(node), "a schema"),
        "externalDocs" => (is_mapping(node), "a mapping"),
        "additionalProperties" => (
            is_mapping(node) || matches!(reading, Some(Reading::Boolean(_))),
            "a schema, true or false",
        ),
        _ => return,
    };
    if !fits {
        let found = match (&reading, node.as_scalar()) {
            (Some(Reading::Null), _) | (_, None) => node.kind().to_string(),
            (Some(Reading::Text), Some(scalar)) => format!("the text \"{}\"", scalar.text),
            (_, Some(scalar)) => format!("`{}`", scalar.text),
        };
        let what = format!("`{}`", entry.key.value);
        faults.push(wrong_type(node.span, &what, wanted, &found));
    }
}
