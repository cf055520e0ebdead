//! `metadata` of samples, and what their edits may do to it.

use serde_json::Value;

use super::Faults;
use super::operator::{check_key, check_label_value};
use crate::diagnostic::{Code, Diagnostic, unknown_key, wrong_type};
use crate::model::Reference;
use crate::naming;
use crate::spec::{Entry, Mapping, Node, Reading, Scalar};

/// The parts that are not the server's own.
const KEYS: &[&str] = &[
    "name",
    "namespace",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
];

fn metadata(node: &Node) -> Option<&Node> {
    node.as_mapping().and_then(|mapping| mapping.get("metadata"))
}

fn is_null(node: &Node) -> bool {
    node.as_scalar().map(Scalar::reading) == Some(Reading::Null)
}

pub(super) fn check(node: &Node, reference: &Reference, faults: &mut Faults) {
    let place = metadata(node).unwrap_or(node);
    let metadata = metadata(node).and_then(Node::as_mapping);
    match metadata.and_then(|metadata| metadata.get("name")) {
        None => {
            let fault = Diagnostic::error(Code::Sample, place.span, "the sample has no `metadata.name`");
            faults.push(fault.help(format!("write metadata: {{name: my-{}}}", reference.singular)));
        }
        Some(name) => {
            let text = name.to_text("`metadata.name`", faults);
            if let Some(text) = text.filter(|text| !naming::is_dns_subdomain(text)) {
                let message = format!("`{text}` cannot name an object");
                let fault = Diagnostic::error(Code::Sample, name.span, message);
                faults.push(fault.help("use lower case letters, digits, dashes and dots"));
            }
        }
    }
    let Some(metadata) = metadata else { return };
    if let Some(namespace) = metadata.get("namespace") {
        check_namespace(namespace, reference, faults);
    }
    parts(metadata, faults);
}

fn check_namespace(node: &Node, reference: &Reference, faults: &mut Faults) {
    if !reference.namespaced {
        let message = format!("`{}` is cluster-scoped and has no namespace", reference.kind);
        faults.push(Diagnostic::error(Code::Sample, node.span, message));
        return;
    }
    let text = node.to_text("`metadata.namespace`", faults);
    if let Some(text) = text.filter(|text| !naming::is_dns_label(text)) {
        let message = format!("`{text}` cannot name a namespace");
        let help = "a namespace is at most 63 lower case letters, digits and dashes";
        faults.push(Diagnostic::error(Code::Sample, node.span, message).help(help));
    }
}

/// An edit leaves the object the one that it is.
pub(super) fn check_edit(node: &Node, object: &Value, faults: &mut Faults) {
    let fixed = |entry: &Entry, path: &str, value: &Value, faults: &mut Faults| {
        let same = entry.value.to_json(&mut Vec::new()) == *value;
        if !same {
            let message = format!("an edit cannot change `{path}`");
            faults.push(Diagnostic::error(Code::Sample, entry.value.span, message));
        }
    };
    for entry in node.as_mapping().into_iter().flat_map(|mapping| &mapping.entries) {
        let key = entry.key.value.as_str();
        if matches!(key, "apiVersion" | "kind") {
            fixed(entry, key, &object[key], faults);
        }
    }
    let Some(node) = metadata(node) else { return };
    let Some(metadata) = node.as_mapping() else {
        faults.push(wrong_type(node.span, "`metadata` of an edit", "a mapping", node.kind()));
        return;
    };
    for entry in &metadata.entries {
        let key = entry.key.value.as_str();
        if matches!(key, "name" | "namespace") {
            fixed(entry, &format!("metadata.{key}"), &object["metadata"][key], faults);
        }
    }
    parts(metadata, faults);
}

fn parts(metadata: &Mapping, faults: &mut Faults) {
    for entry in &metadata.entries {
        let key = entry.key.value.as_str();
        if !KEYS.contains(&key) {
            faults.push(unknown_key(entry.key.span, key, "`metadata` of a sample", KEYS));
        } else if matches!(key, "labels" | "annotations") && !is_null(&entry.value) {
            pairs(entry, key == "labels", faults);
        } else if matches!(key, "finalizers" | "ownerReferences")
            && !is_null(&entry.value)
            && entry.value.as_sequence().is_none()
        {
            let what = format!("`metadata.{key}`");
            faults.push(wrong_type(entry.value.span, &what, "a list", entry.value.kind()));
        }
    }
}

/// `null` removes a pair.
fn pairs(owner: &Entry, are_labels: bool, faults: &mut Faults) {
    let Some(pairs) = owner.value.as_mapping() else {
        let what = format!("`metadata.{}`", owner.key.value);
        faults.push(wrong_type(owner.value.span, &what, "a mapping", owner.value.kind()));
        return;
    };
    for entry in &pairs.entries {
        check_key(&entry.key, faults);
        if is_null(&entry.value) {
            continue;
        }
        let text = entry.value.to_text(&format!("`{}`", entry.key.value), faults);
        if let Some(text) = text.filter(|_| are_labels) {
            check_label_value(&text, entry.value.span, faults);
        }
    }
}
