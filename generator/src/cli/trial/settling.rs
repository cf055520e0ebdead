//! Whether an object is as the operator leaves it: a pure function of the object.

use kopf_gen::matching::{self, is_for};
use kopf_gen::model::{HandlerType, Operator, Resource};
use serde_json::Value;

/// The annotation with what was handled last.
const LAST_HANDLED: &str = "last-handled-configuration";

/// The beginning of what the runtime puts in the place of values that it must not or cannot copy.
const DIGEST: &str = "\"sha256:";

/// What the operator has still to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nothing.
    Settled,
    /// This.
    Waiting(String),
}

/// How an object stands to an operator.
pub(super) fn standing(operator: &Operator, resource: &Resource, object: &Value) -> Standing {
    let prefix = &operator.persistence.prefix;
    let unfinished = unfinished(object, prefix);
    if !unfinished.is_empty() {
        return Standing::Waiting(format!("not finished: {}", unfinished.join(", ")));
    }
    if !expects_change_handlers(resource, object) {
        return Standing::Settled;
    }
    // What is kept elsewhere is not looked for.
    let Some(name) = matching::last_handled(operator) else {
        return Standing::Settled;
    };
    match last_handled(object, &name) {
        None => Standing::Waiting("its handlers were not called yet".into()),
        Some(text) if is_behind(text, object) => Standing::Waiting("its last change was not handled yet".into()),
        Some(_) => Standing::Settled,
    }
}

/// The annotations of the operator, without the prefix.
fn annotations<'a>(object: &'a Value, prefix: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let all = object["metadata"]["annotations"].as_object().into_iter().flatten();
    all.filter_map(move |(key, value)| Some((key.strip_prefix(prefix)?.strip_prefix('/')?, value.as_str()?)))
}

/// The handlers that will be called again, by the names of their records.
fn unfinished(object: &Value, prefix: &str) -> Vec<String> {
    let is_unfinished = |text: &str| {
        let record: Value = serde_json::from_str(text).unwrap_or_default();
        record["retries"].is_number() && record["success"] == false && record["failure"] == false
    };
    annotations(object, prefix)
        .filter(|(name, text)| *name != LAST_HANDLED && is_unfinished(text))
        .map(|(name, _)| name.to_owned())
        .collect()
}

/// Under a name of its own where annotations are inherited from an owner.
fn last_handled<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    let mut all = object["metadata"]["annotations"].as_object().into_iter().flatten();
    all.find(|(key, _)| key.starts_with(name))
        .and_then(|(_, value)| value.as_str())
}

/// Whether spec or labels have changed since; annotations are many operators' and left out.
fn is_behind(last_handled: &str, object: &Value) -> bool {
    if last_handled.contains(DIGEST) {
        return false;
    }
    let Ok(handled) = serde_json::from_str::<Value>(last_handled) else {
        return false;
    };
    let or_empty = |value: &Value| value.as_object().cloned().unwrap_or_default();
    or_empty(&handled["spec"]) != or_empty(&object["spec"])
        || or_empty(&handled["metadata"]["labels"]) != or_empty(&object["metadata"]["labels"])
}

/// Whether any handler of changes is for this object, so that the operator keeps state on it.
fn expects_change_handlers(resource: &Resource, object: &Value) -> bool {
    resource
        .handlers
        .iter()
        .any(|handler| matches!(handler.handler_type, HandlerType::Change(_)) && is_for(&handler.entry, &[object]))
}

/// The finalizers that hold an object up besides the operator's own.
pub(super) fn foreign_finalizers<'a>(object: &'a Value, own: &str) -> Option<Vec<&'a str>> {
    let all = object["metadata"]["finalizers"].as_array()?;
    let all: Vec<&str> = all.iter().filter_map(Value::as_str).collect();
    (!all.is_empty() && !all.contains(&own)).then_some(all)
}

#[cfg(test)]
mod tests {
    use kopf_gen::{Options, generate};
    use serde_json::json;

    use super::*;

    const PREFIX: &str = "op.demo.example.com";

    fn operator(handlers: &str) -> Operator {
        let spec = format!(
            "apiVersion: kopf-gen.dev/v1alpha1\nkind: OperatorSpec\nmetadata: {{name: op}}\nresources:\n\
             - apiVersion: demo.example.com/v1\n  kind: Cart\n  spec: {{size: integer}}\n  handlers:\n{handlers}"
        );
        let generated =
            generate("operator.yaml", &spec, &Options::default()).unwrap_or_else(|faults| panic!("{faults}"));
        generated.operator
    }

    fn cart(annotations: &Value) -> Value {
        json!({"metadata": {"name": "c", "annotations": annotations}, "spec": {"size": 1}})
    }

    fn waits(operator: &Operator, annotations: &Value) -> Option<String> {
        match standing(operator, &operator.resources[0], &cart(annotations)) {
            Standing::Settled => None,
            Standing::Waiting(why) => Some(why),
        }
    }

    #[test]
    fn an_object_is_settled_once_its_present_state_was_handled() {
        let create = operator("    - {type: create, fn: fill}\n");
        let key = format!("{PREFIX}/{LAST_HANDLED}");
        assert!(waits(&create, &json!({})).is_some_and(|why| why.contains("not called")));
        assert!(
            waits(&create, &json!({&key: "{\"spec\":{\"size\":2}}\n"})).is_some_and(|why| why.contains("last change"))
        );
        assert_eq!(waits(&create, &json!({&key: "{\"spec\":{\"size\":1}}\n"})), None);
        assert_eq!(waits(&create, &json!({&key: "{\"spec\":\"sha256:00\"}\n"})), None);
    }

    #[test]
    fn unfinished_records_are_waited_for_and_other_annotations_are_not() {
        let event = operator("    - {type: event, fn: look}\n");
        assert_eq!(waits(&event, &json!({})), None);
        let record = |success: bool| format!("{{\"retries\":1,\"success\":{success},\"failure\":false}}");
        assert_eq!(waits(&event, &json!({"op.demo.example.com/fill": record(true)})), None);
        assert_eq!(
            waits(
                &event,
                &json!({"op.demo.example.com/skip": "yes", "other/fill": record(false)})
            ),
            None
        );
        let why = waits(&event, &json!({"op.demo.example.com/fill": record(false)}));
        assert_eq!(why.as_deref(), Some("not finished: fill"));
    }

    #[test]
    fn handlers_of_other_objects_are_not_waited_for() {
        let filtered = operator("    - {type: create, fn: fill, labels: {shop: {present: true}}}\n");
        assert_eq!(waits(&filtered, &json!({})), None);
        let field = operator("    - {type: field, fn: fill, field: spec.size}\n");
        assert!(waits(&field, &json!({})).is_some());
    }

    #[test]
    fn only_other_peoples_finalizers_hold_up_for_good() {
        let with = |finalizers: &[&str]| json!({"metadata": {"finalizers": finalizers}});
        assert_eq!(foreign_finalizers(&with(&["a/b"]), "own"), Some(vec!["a/b"]));
        assert_eq!(foreign_finalizers(&with(&["a/b", "own"]), "own"), None);
        assert_eq!(foreign_finalizers(&with(&[]), "own"), None);
    }
}
