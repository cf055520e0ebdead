//! What an operator is sure to do with a sample, so that a test can wait for it.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::types;
use crate::matching::{self, is_for};
use crate::model::{ChangeType, Handler, HandlerType, Operator, Origin, Resource, Sample, Timer, unset};

/// The test server waits for a minute; what comes later is not waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// What becomes of a sample.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Expectation {
    /// The operator keeps its last handled state.
    pub(super) is_recorded: bool,
    /// The status key where the first result is stored.
    pub(super) result: Option<String>,
    /// The edits that the operator handles.
    pub(super) edits: Vec<Value>,
    /// Nobody but the operator holds it up when it is deleted.
    pub(super) goes_away: bool,
}

/// What becomes of the first sample of a kind.
pub(super) fn expectation(operator: &Operator, resource: &Resource, sample: &Sample) -> Expectation {
    let stored = |object: &Value| with_defaults(resource, object);
    let object = stored(&sample.object);
    let is_recorded = matching::last_handled(operator).is_some() && is_watched(resource, &[&object]);
    let mut current = object.clone();
    let mut edits = Vec::new();
    for patch in sample.then.iter().filter(|_| is_recorded) {
        let mut edited = current.clone();
        json_patch::merge(&mut edited, patch);
        let edited = stored(&edited);
        if essence(operator, &edited) == essence(operator, &current) {
            continue;
        }
        // An object that is nobody's any more is never noted again.
        if !is_watched(resource, &[&edited, &current]) {
            break;
        }
        edits.push(patch.clone());
        current = edited;
    }
    let is_free = |object: &Value| object["metadata"]["finalizers"].as_array().is_none_or(Vec::is_empty);
    Expectation {
        is_recorded,
        result: first_result(resource, &object),
        edits,
        goes_away: is_free(&object) && is_free(&current),
    }
}

/// Where the result of a function is stored that is called for the new object.
fn first_result(resource: &Resource, object: &Value) -> Option<String> {
    let Origin::Own(own) = &resource.origin else {
        return None;
    };
    let returns = |name: &str| {
        let function = resource.functions.iter().find(|function| function.name == name)?;
        // The stub of a nullable result returns nothing.
        let returns = function.returns.as_ref().filter(|returns| !returns.nullable)?;
        types::result_place(own, returns).map(str::to_owned)
    };
    let is_created = |handler: &&Handler| {
        handler.handler_type == HandlerType::Change(ChangeType::Create) && is_for(&handler.entry, &[object])
    };
    let is_soon = |timer: &&Timer| {
        let delay = timer.life.longest_delay();
        delay.is_some_and(|delay| unset(&timer.idle).unwrap_or_default().max(delay) <= PATIENCE)
            && is_for(&timer.entry, &[object])
    };
    let handlers = resource.handlers.iter().filter(is_created);
    let timers = resource.timers.iter().filter(is_soon);
    handlers
        .map(|handler| handler.entry.function.as_str())
        .chain(timers.map(|timer| timer.entry.function.as_str()))
        .find_map(returns)
}

/// Whether any handler of changes is for the object as it is or as it was.
fn is_watched(resource: &Resource, sides: &[&Value]) -> bool {
    resource
        .handlers
        .iter()
        .any(|handler| matches!(handler.handler_type, HandlerType::Change(_)) && is_for(&handler.entry, sides))
}

/// What the operator compares of an object: neither status nor the system's metadata nor its own annotations.
fn essence(operator: &Operator, object: &Value) -> Value {
    let mut essence = object.clone();
    let own = format!("{}/", operator.persistence.prefix);
    let mut metadata = Map::new();
    for part in ["labels", "annotations"] {
        let entries = object["metadata"][part].as_object().into_iter().flatten();
        let entries: Map<String, Value> = entries
            .filter(|(key, _)| part == "labels" || !key.starts_with(&own))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        metadata.insert(part.to_owned(), Value::Object(entries));
    }
    if let Some(essence) = essence.as_object_mut() {
        essence.remove("status");
        essence.insert("metadata".to_owned(), Value::Object(metadata));
    }
    with_plain_numbers(essence)
}

/// `1` and `1.0` are the same value.
fn with_plain_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(items) => items.into_iter().map(with_plain_numbers).collect(),
        Value::Object(entries) => {
            let plain = |(key, value)| (key, with_plain_numbers(value));
            Value::Object(entries.into_iter().map(plain).collect())
        }
        other => other,
    }
}

/// The object as the API server stores it.
fn with_defaults(resource: &Resource, object: &Value) -> Value {
    let mut object = object.clone();
    if let Origin::Own(own) = &resource.origin
        && let Some(spec) = object.get_mut("spec")
    {
        fill_in(&own.spec.openapi(), spec);
    }
    object
}

fn fill_in(schema: &Map<String, Value>, value: &mut Value) {
    let part = |key: &str| schema.get(key).and_then(Value::as_object);
    match value {
        Value::Object(entries) => {
            for (key, property) in part("properties").into_iter().flatten() {
                let Some(property) = property.as_object() else { continue };
                if let Some(default) = property.get("default")
                    && entries
                        .get(key)
                        .is_none_or(|value| value.is_null() && !default.is_null())
                {
                    entries.insert(key.clone(), default.clone());
                }
                if let Some(value) = entries.get_mut(key) {
                    fill_in(property, value);
                }
            }
            if let Some(values) = part("additionalProperties") {
                for value in entries.values_mut() {
                    fill_in(values, value);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = part("items") {
                for item in items {
                    fill_in(schema, item);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::{Expectation, expectation};

    fn expected(resource: &str) -> Expectation {
        let spec = format!(
            "apiVersion: kopf-gen.dev/v1alpha1\nkind: OperatorSpec\nmetadata: {{name: op}}\nresources:\n\
             \x20 - apiVersion: demo.example.com/v1\n    kind: Cart\n    spec: {{a: string, n: 'integer | default=3'}}\n{resource}"
        );
        let generated = crate::generate("operator.yaml", &spec, &crate::Options::default())
            .unwrap_or_else(|faults| panic!("{faults}"));
        let resource = &generated.operator.resources[0];
        expectation(&generated.operator, resource, &resource.samples[0])
    }

    const SAMPLE: &str = "    samples:\n      - metadata: {name: c, labels: {app: web}}\n        spec: {a: x}\n";

    fn with_handler(handler: &str) -> Expectation {
        expected(&format!("    handlers: [{{{handler}}}]\n{SAMPLE}"))
    }

    #[test]
    fn only_objects_of_some_handler_are_recorded() {
        for (handler, is_recorded) in [
            ("type: create, fn: go", true),
            ("type: delete, fn: go", true),
            ("type: event, fn: go", false),
            ("type: create, fn: go, labels: {app: web}", true),
            ("type: create, fn: go, labels: {app: db}", false),
            ("type: create, fn: go, annotations: {app: {present: true}}", false),
            ("type: create, fn: go, annotations: {app: {absent: true}}", true),
            ("type: field, fn: go, field: spec.a", true),
            ("type: field, fn: go, field: spec.n", true),
            ("type: create, fn: go, field: metadata.annotations.x", false),
        ] {
            assert_eq!(with_handler(handler).is_recorded, is_recorded, "{handler}");
        }
    }

    #[test]
    fn results_are_awaited_of_what_is_called_soon_and_returns_something() {
        let returns = "returns: {x: string}";
        for (handler, result) in [
            (format!("type: create, fn: go, {returns}"), Some("go")),
            (
                "type: create, fn: go, returns: {$nullable: true, x: string}".to_owned(),
                None,
            ),
            (format!("type: create, fn: go, labels: {{app: db}}, {returns}"), None),
            (format!("type: update, fn: go, {returns}"), None),
        ] {
            assert_eq!(with_handler(&handler).result.as_deref(), result, "{handler}");
        }
        for (timer, result) in [
            ("interval: 1s", Some("look")),
            ("idle: 10m", None),
            ("interval: 1s, initialDelay: 1h", None),
            ("interval: 1s, labels: {app: db}", None),
        ] {
            let expected = expected(&format!("    timers: [{{fn: look, {returns}, {timer}}}]\n{SAMPLE}"));
            assert_eq!(expected.result.as_deref(), result, "{timer}");
        }
    }

    fn edits(handler: &str, then: &str) -> usize {
        expected(&format!(
            "    handlers: [{{{handler}}}]\n{SAMPLE}        then: [{then}]\n"
        ))
        .edits
        .len()
    }

    #[test]
    fn edits_are_awaited_that_the_operator_handles() {
        let any = "type: update, fn: go";
        for (then, count) in [
            ("{spec: {a: y}}", 1),
            ("{spec: {a: x}}", 0),
            ("{spec: {n: 3}}", 0),
            ("{spec: {n: 4}}, {spec: {n: 4}}, {spec: {n: null}}", 2),
            ("{metadata: {labels: {app: web}}}", 0),
            ("{metadata: {annotations: {note: new}}}", 1),
        ] {
            assert_eq!(edits(any, then), count, "{then}");
        }
        let web = "type: update, fn: go, labels: {app: web}";
        assert_eq!(edits(web, "{metadata: {labels: {app: db}}}, {spec: {a: y}}"), 0);
        assert_eq!(edits("type: field, fn: go, field: spec.a", "{spec: {a: null}}"), 1);
    }

    #[test]
    fn what_others_hold_up_does_not_go_away() {
        let held = SAMPLE.replace("name: c,", "name: c, finalizers: [example.com/keep],");
        let handler = "    handlers: [{type: create, fn: go}]\n";
        assert!(expected(&format!("{handler}{SAMPLE}")).goes_away);
        assert!(!expected(&format!("{handler}{held}")).goes_away);
    }
}
