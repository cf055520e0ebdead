//! Sample objects: given ones are checked, a missing one is derived.

use serde_json::{Map, Value, json};

use super::Faults;
use super::conformance::misfits;
use super::derivation::example;
use crate::diagnostic::{Code, Diagnostic, unknown_key};
use crate::model::{OwnKind, Reference, Sample, Schema};
use crate::naming;
use crate::spec::{Node, ResourceSpec, SampleSpec};

pub(super) fn samples(
    spec: &ResourceSpec,
    reference: &Reference,
    own: Option<&OwnKind>,
    faults: &mut Faults,
) -> Vec<Sample> {
    let mut names: Vec<(String, String)> = Vec::new();
    let mut samples = Vec::new();
    for given in &spec.samples {
        let Some(sample) = sample(given, reference, own, faults) else {
            continue;
        };
        let text = |key: &str| sample.object["metadata"][key].as_str().unwrap_or_default().to_string();
        let name = (text("namespace"), text("name"));
        if names.contains(&name) {
            let place = given.node.nearest(&["metadata".into(), "name".into()]).span;
            faults.push(Diagnostic::error(
                Code::Duplicate,
                place,
                format!("a second sample is named `{}`", name.1),
            ));
        }
        names.push(name);
        samples.push(sample);
    }
    match own {
        Some(own) if spec.samples.is_empty() => samples.extend(derived(spec, reference, own, faults)),
        _ => {}
    }
    samples
}

fn sample(given: &SampleSpec, reference: &Reference, own: Option<&OwnKind>, faults: &mut Faults) -> Option<Sample> {
    let node = &given.node;
    let before = faults.len();
    let Value::Object(mut object) = node.to_json(faults) else {
        return None;
    };
    object.remove("then");
    if own.is_some() {
        check_keys(node, faults);
    }
    check_metadata(node, reference, faults);
    for (key, value) in [
        ("apiVersion", reference.api_version()),
        ("kind", reference.kind.clone()),
    ] {
        object.insert(key.into(), Value::String(value));
    }
    let then: Vec<Value> = given.then.iter().map(|patch| patch.to_json(faults)).collect();
    if faults.len() > before {
        return None;
    }
    let mut object = Value::Object(object);
    if let Some(own) = own {
        let spec = object.get("spec").cloned().unwrap_or_else(|| json!({}));
        report(node, &own.spec, &spec, "the sample", faults);
        object["spec"] = spec;
    }
    check_edits(given, &object, &then, own, faults);
    Some(Sample { object, then })
}

fn check_keys(node: &Node, faults: &mut Faults) {
    let known = ["metadata", "spec", "then"];
    for entry in node.as_mapping().into_iter().flat_map(|mapping| &mapping.entries) {
        if !known.contains(&entry.key.value.as_str()) {
            faults.push(unknown_key(entry.key.span, &entry.key.value, "a sample", &known));
        }
    }
}

fn check_metadata(node: &Node, reference: &Reference, faults: &mut Faults) {
    let metadata = node.as_mapping().and_then(|mapping| mapping.get("metadata"));
    let name = metadata
        .and_then(Node::as_mapping)
        .and_then(|metadata| metadata.get("name"));
    match name {
        None => {
            let place = metadata.unwrap_or(node);
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
    let namespace = metadata
        .and_then(Node::as_mapping)
        .and_then(|metadata| metadata.get("namespace"));
    if let Some(namespace) = namespace.filter(|_| !reference.namespaced) {
        let message = format!("`{}` is cluster-scoped and has no namespace", reference.kind);
        faults.push(Diagnostic::error(Code::Sample, namespace.span, message));
    }
}

/// Each edit is held against the object that the edits before it have made.
fn check_edits(given: &SampleSpec, object: &Value, then: &[Value], own: Option<&OwnKind>, faults: &mut Faults) {
    let mut object = object.clone();
    for (node, patch) in given.then.iter().zip(then) {
        let Some(patch_object) = patch.as_object() else {
            continue;
        };
        if patch_object.is_empty() {
            faults.push(Diagnostic::error(
                Code::Empty,
                node.span,
                "an edit that changes nothing",
            ));
        }
        json_patch::merge(&mut object, patch);
        if let Some(own) = own {
            let spec = object.get("spec").cloned().unwrap_or_else(|| json!({}));
            report(node, &own.spec, &spec, "the edited sample", faults);
        }
    }
}

fn report(node: &Node, schema: &Schema, spec: &Value, what: &str, faults: &mut Faults) {
    for misfit in misfits(&schema.openapi(), spec) {
        let mut path = vec!["spec".to_string()];
        path.extend(misfit.path);
        let place = node.nearest(&path);
        let span = place
            .as_mapping()
            .and_then(|mapping| mapping.entries.first())
            .map_or(place.span, |entry| entry.key.span);
        let message = format!("`{}` of {what} {}", path.join("."), misfit.message);
        faults.push(Diagnostic::error(Code::Sample, span, message));
    }
}

fn derived(spec: &ResourceSpec, reference: &Reference, own: &OwnKind, faults: &mut Faults) -> Option<Sample> {
    let schema: Map<String, Value> = own.spec.openapi();
    let Some(value) = example(&schema).filter(|value| misfits(&schema, value).is_empty()) else {
        let message = format!("no sample of `{}` can be derived from its schema", reference.kind);
        let help = "give required fields an example=…, or write one: samples: [{metadata: {name: …}, spec: {…}}]";
        let has_errors = faults
            .iter()
            .any(|fault| fault.severity == crate::diagnostic::Severity::Error);
        if !has_errors {
            faults.push(Diagnostic::error(Code::Sample, spec.kind.span, message).help(help));
        }
        return None;
    };
    let object = json!({
        "apiVersion": reference.api_version(),
        "kind": reference.kind,
        "metadata": {"name": format!("{}-sample", reference.singular)},
        "spec": value,
    });
    Some(Sample {
        object,
        then: Vec::new(),
    })
}
