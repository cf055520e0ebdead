//! Which sub-handlers a change of an object has, as far as that follows from the spec.

use serde_json::Value;

use super::{at, fits, is_for};
use crate::model::{ChangeType, Entry, Handler, HandlerType, Resource, SubHandler};

/// The full ids of the sub-handlers that are called when an object is created, or when it has changed from the second of
/// its `sides` to the first. What depends on more than the spec tells is left out.
#[must_use]
pub fn sub_handlers(resource: &Resource, sides: &[&Value]) -> Vec<String> {
    let called = resource.handlers.iter().filter(|handler| is_called(handler, sides));
    let mut ids: Vec<String> = called.flat_map(|handler| those_of(handler, sides)).collect();
    ids.sort();
    ids.dedup();
    ids
}

fn is_called(handler: &Handler, sides: &[&Value]) -> bool {
    let entry = &handler.entry;
    let field = entry.field.as_deref();
    let reacts = match (handler.handler_type, sides) {
        (HandlerType::Change(ChangeType::Create), [_]) => true,
        (HandlerType::Change(ChangeType::Field), [object]) => field.is_some_and(|path| at(object, path).is_some()),
        (HandlerType::Change(ChangeType::Update | ChangeType::Field), [new, old]) => match field {
            Some(path) => at(new, path) != at(old, path),
            None => new["spec"] != old["spec"],
        },
        _ => false,
    };
    reacts && is_for(entry, sides) && !compares(entry)
}

/// Whether it asks how its field changes.
fn compares(entry: &Entry) -> bool {
    entry.filters.old.is_some() || entry.filters.new.is_some()
}

fn those_of(handler: &Handler, sides: &[&Value]) -> Vec<String> {
    let Some(object) = sides.first() else {
        return Vec::new();
    };
    let walk = Walk {
        sides,
        found: Vec::new(),
    };
    walk.from(handler, object)
}

struct Walk<'w> {
    sides: &'w [&'w Value],
    found: Vec<String>,
}

impl Walk<'_> {
    fn from(mut self, handler: &Handler, object: &Value) -> Vec<String> {
        let field = handler.entry.field.clone().unwrap_or_default();
        self.all(&handler.for_each, object, &handler.entry.full_id, &field);
        self.found
    }

    /// The sub-handlers of the handler with this id, which watches this field.
    fn all(&mut self, subs: &[SubHandler], place: &Value, id: &str, field: &[String]) {
        for sub in subs {
            let entry = &sub.entry;
            let own = entry.field.as_ref().map(|own| [field, own].concat());
            let is_for_it = entry.is_enabled() && !compares(entry) && fits(&entry.filters, own.as_deref(), self.sides);
            if !is_for_it {
                continue;
            }
            for (key, item) in items(at(place, &sub.path), sub.key.as_deref()) {
                let id = format!("{id}/{key}");
                self.all(&sub.for_each, item, &id, own.as_deref().unwrap_or(field));
                self.found.push(id);
            }
        }
    }
}

/// The items of a place with their keys; those without one are left out.
fn items<'v>(place: Option<&'v Value>, key: Option<&[String]>) -> Vec<(String, &'v Value)> {
    let entries: Vec<(String, &Value)> = match place {
        Some(Value::Object(map)) => map.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Some(Value::Array(list)) => {
            let natural = |(index, item): (usize, _)| (scalar(item).unwrap_or_else(|| index.to_string()), item);
            list.iter().enumerate().map(natural).collect()
        }
        Some(value) => scalar(value).map(|key| (key, value)).into_iter().collect(),
        None => Vec::new(),
    };
    let named = |(natural, item): (String, &'v Value)| match key {
        None => Some((natural, item)),
        Some(path) => Some((scalar(at(item, path)?)?, item)),
    };
    entries.into_iter().filter_map(named).collect()
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ids(handlers: &str, sides: &[&Value]) -> Vec<String> {
        let spec = format!(
            "apiVersion: kopf-gen.dev/v1alpha1\nkind: OperatorSpec\nmetadata: {{name: op}}\nresources:\n\
             - apiVersion: demo.example.com/v1\n  kind: Cart\n  spec: any\n  handlers: [{handlers}]\n"
        );
        let generated = crate::generate("operator.yaml", &spec, &crate::Options::default());
        let operator = generated.unwrap_or_else(|faults| panic!("{faults}")).operator;
        sub_handlers(&operator.resources[0], sides)
    }

    #[test]
    fn items_of_lists_maps_and_scalars_have_keys() {
        let cart = json!({"spec": {
            "users": [{"name": "ada", "grants": ["read", "write"]}, {"name": "bob"}, {"nick": "eve"}],
            "sizes": {"small": 1, "large": {"at": "top"}},
            "tags": ["a", 2, true, {}],
            "one": "it",
            "none": null,
        }});
        let fill = |each: &str| ids(&format!("{{type: create, fn: fill, forEach: [{each}]}}"), &[&cart]);
        let grants = "forEach: [{path: grants, fn: grant}]";
        for (each, found) in [
            ("path: spec.users, key: name, fn: add", &["fill/ada", "fill/bob"][..]),
            (
                &format!("path: spec.users, key: name, fn: add, {grants}"),
                &["fill/ada", "fill/ada/read", "fill/ada/write", "fill/bob"],
            ),
            ("path: spec.sizes, fn: add", &["fill/large", "fill/small"]),
            ("path: spec.sizes, key: at, fn: add", &["fill/top"]),
            ("path: spec.tags, fn: add", &["fill/2", "fill/3", "fill/a", "fill/true"]),
            ("path: spec.one, fn: add", &["fill/it"]),
            ("path: spec.none, fn: add", &[]),
            ("path: spec.tags, fn: add, enabled: false", &[]),
            ("path: spec.one, fn: add, when: {cel: 'object.spec.one == \"no\"'}", &[]),
            ("path: spec.one, fn: add, field: spec.one, value: it", &["fill/it"]),
            ("path: spec.one, fn: add, field: spec.one, value: no it", &[]),
        ] {
            assert_eq!(fill(&format!("{{{each}}}")), found, "{each}");
        }
    }

    #[test]
    fn only_handlers_that_react_have_sub_handlers() {
        let (old, new) = (
            json!({"spec": {"a": [1], "b": 1}}),
            json!({"spec": {"a": [1, 2], "b": 1}}),
        );
        for (handler, created, changed) in [
            ("type: create, fn: go", 2, 0),
            ("type: update, fn: go", 0, 2),
            ("type: update, fn: go, field: spec.a", 0, 2),
            ("type: update, fn: go, field: spec.b", 0, 0),
            ("type: update, fn: go, field: spec.a, old: {present: true}", 0, 0),
            ("type: field, fn: go, field: spec.a", 2, 2),
            ("type: field, fn: go, field: spec.b", 2, 0),
            ("type: field, fn: go, field: spec.c", 0, 0),
            ("type: create, fn: go, labels: {app: web}", 0, 0),
            ("type: delete, fn: go", 0, 0),
            ("type: resume, fn: go", 0, 0),
        ] {
            let handler = format!("{{{handler}, forEach: [{{path: spec.a, fn: add}}]}}");
            assert_eq!(ids(&handler, &[&new]).len(), created, "{handler} at creation");
            assert_eq!(ids(&handler, &[&new, &old]).len(), changed, "{handler} at a change");
        }
        // Below the field of its handler.
        let below = "{type: field, fn: go, field: spec, forEach: [{path: spec.a, fn: add, field: b, value: 1}]}";
        assert_eq!(ids(below, &[&new]), ["go/spec/1", "go/spec/2"]);
    }
}
