//! Sample objects: given ones are checked, a missing one is derived.

use serde_json::{Map, Value, json};

use super::conformance::{Misfit, misfits};
use super::derivation::{example, with_field};
use super::sample_metadata;
use super::{Faults, functions};
use crate::diagnostic::{Code, Diagnostic, unknown_key};
use crate::model::{Criterion, OwnKind, Reference, Sample};
use crate::spec::{CriterionSpec, EntrySpec, Node, ResourceSpec, SampleSpec};

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
    sample_metadata::check(node, reference, faults);
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
        if object.get("spec").is_none() {
            object["spec"] = json!({});
        }
        report(node, &misfits_in(own, &object), "the sample", faults);
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

/// Each edit is held against the object that the edits before it have made.
fn check_edits(given: &SampleSpec, object: &Value, then: &[Value], own: Option<&OwnKind>, faults: &mut Faults) {
    let mut object = object.clone();
    let misfits_of = |object: &Value| own.map(|own| misfits_in(own, object)).unwrap_or_default();
    let mut known = misfits_of(&object);
    for (node, patch) in given.then.iter().zip(then) {
        let Some(keys) = patch.as_object() else { continue };
        if keys.is_empty() {
            faults.push(Diagnostic::error(Code::Empty, node.span, "the edit is empty"));
            continue;
        }
        let faults_before = faults.len();
        if own.is_some() {
            check_edited_keys(node, faults);
        }
        sample_metadata::check_edit(node, &object, faults);
        if faults.len() > faults_before {
            continue;
        }
        let before = object.clone();
        json_patch::merge(&mut object, patch);
        if object == before {
            let place = node.as_mapping().and_then(|mapping| mapping.entries.first());
            let span = place.map_or(node.span, |entry| entry.key.span);
            let fault = Diagnostic::warning(Code::Sample, span, "this edit changes nothing");
            faults.push(fault.help("no handler will see it: write another value, or remove the edit"));
        }
        let now = misfits_of(&object);
        report(
            node,
            now.iter().filter(|misfit| !known.contains(misfit)),
            "the edited sample",
            faults,
        );
        known = now;
    }
}

fn check_edited_keys(node: &Node, faults: &mut Faults) {
    // Changes of the identity have words of their own.
    let known = ["metadata", "spec", "status", "apiVersion", "kind"];
    for entry in node.as_mapping().into_iter().flat_map(|mapping| &mapping.entries) {
        let key = entry.key.value.as_str();
        if !known.contains(&key) {
            faults.push(unknown_key(entry.key.span, key, "an edit", &known[..3]));
        }
    }
}

fn misfits_in(own: &OwnKind, object: &Value) -> Vec<Misfit> {
    let spec = object.get("spec").cloned().unwrap_or_else(|| json!({}));
    misfits(&own.spec.openapi(), &spec)
}

fn report<'m>(node: &Node, misfits: impl IntoIterator<Item = &'m Misfit>, what: &str, faults: &mut Faults) {
    for misfit in misfits {
        let mut path = vec!["spec".to_string()];
        path.extend(misfit.path.iter().cloned());
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
    let mut object = json!({
        "apiVersion": reference.api_version(),
        "kind": reference.kind,
        "metadata": {"name": format!("{}-sample", reference.singular)},
        "spec": value,
    });
    if let Some(entry) = first_handler(spec) {
        fit(&mut object, &schema, entry);
    }
    Some(Sample {
        object,
        then: Vec::new(),
    })
}

/// The one that a sample is made for: the first handler of changes, or whatever comes first.
fn first_handler(spec: &ResourceSpec) -> Option<&EntrySpec> {
    let of_changes = |types: &[crate::spec::Spanned<String>]| types.iter().all(|name| name.value != "event");
    spec.handlers
        .iter()
        .find(|handler| of_changes(&handler.types))
        .map(|handler| &handler.entry)
        .or_else(|| spec.timers.first().map(|timer| &timer.entry))
        .or_else(|| spec.daemons.first().map(|daemon| &daemon.entry))
        .or_else(|| functions::entries(spec).next())
}

/// Gives the object the labels, the annotations and the field that the handler asks for.
fn fit(object: &mut Value, schema: &Map<String, Value>, entry: &EntrySpec) {
    let filters = &entry.filters;
    for (part, criteria) in [("labels", &filters.labels), ("annotations", &filters.annotations)] {
        for CriterionSpec { key, criterion, .. } in criteria {
            object["metadata"][part][&key.value] = match criterion {
                Criterion::Equals(text) => text.clone(),
                Criterion::Environment {
                    default: Some(text), ..
                } => json!(text),
                Criterion::Present | Criterion::By(_) => json!("example"),
                Criterion::Absent | Criterion::Environment { default: None, .. } => continue,
            };
        }
    }
    let wanted = filters
        .value
        .as_ref()
        .or(filters.new.as_ref())
        .map(|criterion| &criterion.value);
    if wanted == Some(&Criterion::Absent) {
        return;
    }
    let path: Vec<&str> = entry
        .field
        .iter()
        .flat_map(|field| field.value.iter().map(String::as_str))
        .collect();
    match path.as_slice() {
        ["spec", inner @ ..] => {
            let fits = |spec: &Value| misfits(schema, spec).is_empty();
            if let Some(spec) = with_field(schema, &object["spec"], inner).filter(fits) {
                object["spec"] = spec;
            }
            if let Some(Criterion::Equals(value)) = wanted {
                let keys = inner.iter().map(|key| key.replace('~', "~0").replace('/', "~1"));
                let pointer = keys.fold(String::new(), |pointer, key| pointer + "/" + &key);
                let mut spec = object["spec"].clone();
                if let Some(place) = spec.pointer_mut(&pointer) {
                    place.clone_from(value);
                }
                if fits(&spec) {
                    object["spec"] = spec;
                }
            }
        }
        ["metadata", part @ ("labels" | "annotations"), key] => {
            let values = &mut object["metadata"][*part];
            if values.get(*key).is_none() {
                values[*key] = json!("example");
            }
        }
        ["metadata", part @ ("labels" | "annotations")] if object["metadata"].get(*part).is_none() => {
            object["metadata"][*part] = json!({"example": "example"});
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::load::load;
    use crate::lower::lower;

    fn derived(entries: &str) -> Value {
        let text = format!(
            "apiVersion: kopf-gen.dev/v1alpha1\nkind: OperatorSpec\nmetadata: {{name: op}}\nresources:\n  \
             - apiVersion: demo.example.com/v1\n    kind: Cart\n    spec:\n      who: string | required=true\n      \
             size: integer | minimum=3\n      more: map[string]integer\n      any: any\n      \
             deep: {{must: string | required=true, list: '[]string'}}\n    status: {{b: string}}\n    {entries}\n"
        );
        let document = load("operator.yaml", &text).unwrap_or_else(|faults| panic!("{faults}"));
        let (operator, _) = lower(&document).unwrap_or_else(|faults| panic!("{faults}"));
        operator.resources[0].samples[0].object.clone()
    }

    #[test]
    fn a_derived_sample_is_for_the_first_handler_of_changes() {
        for (entry, labels, annotations) in [
            ("labels: {app: web}", json!({"app": "web"}), Value::Null),
            (
                "annotations: {app: {present: true}}",
                Value::Null,
                json!({"app": "example"}),
            ),
            ("labels: {app: {absent: true}}", Value::Null, Value::Null),
            ("field: metadata.labels.team", json!({"team": "example"}), Value::Null),
            (
                "field: metadata.labels.app, labels: {app: web}",
                json!({"app": "web"}),
                Value::Null,
            ),
            (
                "field: metadata.annotations",
                Value::Null,
                json!({"example": "example"}),
            ),
        ] {
            let object = derived(&format!("handlers: [{{type: create, fn: go, {entry}}}]"));
            assert_eq!(object["metadata"]["labels"], labels, "{entry}");
            assert_eq!(object["metadata"]["annotations"], annotations, "{entry}");
        }
        let object = derived(
            "handlers: [{type: event, fn: see, labels: {a: b}}, {type: delete, fn: go, labels: {app: web}}, {type: create, fn: set, labels: {app: db}}]",
        );
        assert_eq!(object["metadata"]["labels"], json!({"app": "web"}));
        let object = derived("timers: [{fn: tick, idle: 10m, labels: {app: web}}]");
        assert_eq!(object["metadata"]["labels"], json!({"app": "web"}));
    }

    #[test]
    fn a_derived_sample_has_the_field_of_its_handler() {
        for (field, spec) in [
            ("spec", json!({"who": "example"})),
            ("spec.who", json!({"who": "example"})),
            ("spec.size", json!({"who": "example", "size": 3})),
            ("spec.more.x", json!({"who": "example", "more": {"x": 1}})),
            (
                "spec.any.x.y",
                json!({"who": "example", "any": {"x": {"y": "example"}}}),
            ),
            ("spec.deep", json!({"who": "example", "deep": {"must": "example"}})),
            (
                "spec.deep.list",
                json!({"who": "example", "deep": {"must": "example", "list": []}}),
            ),
            ("status.b", json!({"who": "example"})),
        ] {
            for kind in ["create", "field"] {
                let object = derived(&format!("handlers: [{{type: {kind}, fn: go, field: {field}}}]"));
                assert_eq!(object["spec"], spec, "{kind} {field}");
            }
        }
    }
}
