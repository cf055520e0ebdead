//! Which entries are for an object, as far as that follows from the spec and from functions that are still stubs.

mod sub_handlers;

pub use sub_handlers::sub_handlers;

use kube_cel::KubeCelExt as _;
use kube_cel::cel::{self, Context, Program};
use serde_json::Value;

use crate::model::{Condition, Criterion, DiffBaseStorage, Entry, Filters, Operator};

/// Whether an entry is registered and for an object: its `sides` are the object as it is, and as it was before, if there
/// was a change.
///
/// Labels, annotations and conditions are about the object as it is; for `field` and `value` one side is enough. How
/// the field changes is not asked.
#[must_use]
pub fn is_for(entry: &Entry, sides: &[&Value]) -> bool {
    entry.is_enabled() && fits(&entry.filters, entry.field.as_deref(), sides)
}

fn fits(filters: &Filters, field: Option<&[String]>, sides: &[&Value]) -> bool {
    let Some(object) = sides.first() else { return false };
    let metadata = &object["metadata"];
    let all = |criteria: &[(String, Criterion)], values: &Value| {
        criteria
            .iter()
            .all(|(key, criterion)| is_met(criterion, values.get(key)))
    };
    let is_there = |path: &[String]| {
        let criterion = filters.value.as_ref().unwrap_or(&Criterion::Present);
        sides.iter().any(|side| is_met(criterion, at(side, path)))
    };
    all(&filters.labels, &metadata["labels"])
        && all(&filters.annotations, &metadata["annotations"])
        && field.is_none_or(is_there)
        && filters.when.as_ref().is_none_or(|condition| holds(condition, sides))
}

/// A field that is null counts as absent.
fn at<'v>(object: &'v Value, path: &[String]) -> Option<&'v Value> {
    let value = path.iter().try_fold(object, |value, key| value.get(key))?;
    (!value.is_null()).then_some(value)
}

fn is_met(criterion: &Criterion, value: Option<&Value>) -> bool {
    match criterion {
        Criterion::Equals(wanted) => value == Some(wanted),
        Criterion::Environment { default, .. } => {
            default.is_some() && value.and_then(Value::as_str) == default.as_deref()
        }
        // The stub of a value filter takes whatever is there.
        Criterion::Present | Criterion::By(_) => value.is_some(),
        Criterion::Absent => value.is_none(),
    }
}

fn holds(condition: &Condition, sides: &[&Value]) -> bool {
    match condition {
        // The stub of a filter takes everything.
        Condition::By(_) => true,
        Condition::Cel(expression) => evaluate(expression, sides).unwrap_or(false),
        Condition::All(parts) => parts.iter().all(|part| holds(part, sides)),
        Condition::Any(parts) => parts.iter().any(|part| holds(part, sides)),
        Condition::None(parts) => !parts.iter().any(|part| holds(part, sides)),
        Condition::Not(part) => !holds(part, sides),
    }
}

fn evaluate(expression: &str, sides: &[&Value]) -> Option<bool> {
    let mut context = Context::default();
    context.register_all();
    for (at, name) in ["object", "oldObject"].into_iter().enumerate() {
        let side = sides.get(at).copied().unwrap_or(&Value::Null);
        context.add_variable(name, side).ok()?;
    }
    match Program::compile(expression).ok()?.execute(&context).ok()? {
        cel::Value::Bool(holds) => Some(holds),
        _ => None,
    }
}

/// The annotation in which the operator keeps what it handled last; `None` if it keeps that elsewhere.
#[must_use]
pub fn last_handled(operator: &Operator) -> Option<String> {
    let persistence = &operator.persistence;
    let (prefix, key) = if persistence.diffbase.is_empty() {
        (&persistence.prefix, None)
    } else {
        persistence.diffbase.iter().find_map(|storage| match storage {
            DiffBaseStorage::Annotations { prefix, key, .. } => Some((prefix, key.as_deref())),
            DiffBaseStorage::Status { .. } => None,
        })?
    };
    Some(format!("{prefix}/{}", key.unwrap_or("last-handled-configuration")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn is_for_it(filters: &Filters, field: Option<&str>, object: &Value) -> bool {
        let field: Option<Vec<String>> = field.map(|path| path.split('.').map(str::to_owned).collect());
        fits(filters, field.as_deref(), &[object])
    }

    #[test]
    fn all_criteria_must_be_met() {
        let object = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"size": 3, "gone": null}});
        let label = |criterion: Criterion| Filters {
            labels: vec![("app".into(), criterion)],
            ..Filters::default()
        };
        let set = |default: Option<&str>| Criterion::Environment {
            name: "APP".into(),
            default: default.map(str::to_owned),
        };
        for (criterion, met) in [
            (Criterion::Equals("web".into()), true),
            (Criterion::Equals("db".into()), false),
            (Criterion::Present, true),
            (Criterion::Absent, false),
            (Criterion::By("is_ours".into()), true),
            (set(Some("web")), true),
            (set(Some("db")), false),
            (set(None), false),
        ] {
            assert_eq!(
                is_for_it(&label(criterion.clone()), None, &object),
                met,
                "{criterion:?}"
            );
        }
        let value = |criterion: Criterion| Filters {
            value: Some(criterion),
            ..Filters::default()
        };
        assert!(is_for_it(
            &value(Criterion::Equals(json!(3))),
            Some("spec.size"),
            &object
        ));
        assert!(!is_for_it(
            &value(Criterion::Equals(json!("3"))),
            Some("spec.size"),
            &object
        ));
        assert!(is_for_it(&value(Criterion::Absent), Some("spec.gone"), &object));
        assert!(!is_for_it(&Filters::default(), Some("spec.gone"), &object));
    }

    #[test]
    fn conditions_combine_and_expressions_are_evaluated() {
        let object = json!({"spec": {"size": 3}});
        let cel = |text: &str| Condition::Cel(text.into());
        let (big, small) = (cel("object.spec.size > 2"), cel("object.spec.size < 2"));
        for (condition, met) in [
            (Condition::By("any".into()), true),
            (big.clone(), true),
            (small.clone(), false),
            (cel("object.spec.none > 1"), false),
            (cel("oldObject == null"), true),
            (Condition::All(vec![big.clone(), small.clone()]), false),
            (Condition::Any(vec![big.clone(), small.clone()]), true),
            (Condition::None(vec![small.clone()]), true),
            (Condition::Not(Box::new(big)), false),
        ] {
            let filters = Filters {
                when: Some(condition.clone()),
                ..Filters::default()
            };
            assert_eq!(is_for_it(&filters, None, &object), met, "{condition:?}");
        }
    }
}
