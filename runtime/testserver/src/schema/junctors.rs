//! `allOf`, `anyOf`, `oneOf` and `not`.

use serde_json::{Value, json};

use crate::go;
use crate::schema::validate::{Outcome, check_strictly};
use crate::status::Cause;

pub(super) fn check_junctors(schema: &Value, value: &Value, old: Option<&Value>, path: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let outcomes = |junctor: &str| {
        let branches = schema[junctor].as_array().into_iter().flatten();
        branches
            .map(|branch| check_strictly(branch, value, old, path))
            .collect::<Vec<_>>()
    };
    let fault = |text: &str| Cause::invalid("", &json!(""), &format!("{} {text}", go::quoted(path)));
    any_of(outcomes("anyOf"), &fault, &mut outcome);
    one_of(outcomes("oneOf"), &fault, &mut outcome);
    all_of(outcomes("allOf"), &fault, &mut outcome);
    if let Some(not) = schema.get("not").filter(|not| not.is_object())
        && check_strictly(not, value, old, path).is_valid()
    {
        outcome.add(fault("must not validate the schema (not)"));
    }
    outcome.matches += 1;
    outcome
}

fn any_of(branches: Vec<Outcome>, fault: &impl Fn(&str) -> Cause, outcome: &mut Outcome) {
    if branches.is_empty() {
        return;
    }
    let valid = branches.iter().find(|branch| branch.is_valid()).cloned();
    if valid.is_none() {
        outcome.add(fault("must validate at least one schema (anyOf)"));
    }
    if let Some(told) = valid.or_else(|| closest(branches)) {
        outcome.merge(told);
    }
}

fn one_of(branches: Vec<Outcome>, fault: &impl Fn(&str) -> Cause, outcome: &mut Outcome) {
    if branches.is_empty() {
        return;
    }
    let valid = branches.iter().filter(|branch| branch.is_valid()).count();
    let found = match valid {
        0 => "Found none valid".into(),
        several => format!("Found {several} valid alternatives"),
    };
    if valid != 1 {
        outcome.add(fault(&format!(
            "must validate one and only one schema (oneOf). {found}"
        )));
    }
    let told = match valid {
        0 => closest(branches),
        1 => branches.into_iter().find(Outcome::is_valid),
        _ => None,
    };
    if let Some(told) = told {
        outcome.merge(told);
    }
}

fn all_of(branches: Vec<Outcome>, fault: &impl Fn(&str) -> Cause, outcome: &mut Outcome) {
    let valid = branches.iter().filter(|branch| branch.is_valid()).count();
    let incomplete = valid < branches.len();
    for branch in branches {
        outcome.merge(branch);
    }
    if incomplete {
        let none = if valid == 0 { ". None validated" } else { "" };
        outcome.add(fault(&format!("must validate all the schemas (allOf){none}")));
    }
}

/// Of several failures, the first one that got furthest.
fn closest(branches: Vec<Outcome>) -> Option<Outcome> {
    branches
        .into_iter()
        .reduce(|best, next| if next.matches > best.matches { next } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(schema: &Value, value: &Value) -> Vec<String> {
        let causes = check_junctors(schema, value, None, "x").causes.into_iter();
        causes
            .map(|cause| format!("{}|{}", cause.field, cause.message))
            .collect()
    }

    #[test]
    fn alternatives_that_fail_are_told_with_the_closest_one() {
        let schema = json!({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]});
        assert_eq!(faults(&schema, &json!({"b": 1})), Vec::<String>::new());
        assert_eq!(
            faults(&schema, &json!({})),
            [
                "|Invalid value: \"\": \"x\" must validate at least one schema (anyOf)",
                "x.a|Required value"
            ]
        );
    }

    #[test]
    fn exactly_one_alternative_is_to_fit() {
        let schema = json!({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]});
        assert_eq!(faults(&schema, &json!({"b": 1})), Vec::<String>::new());
        assert_eq!(
            faults(&schema, &json!({"a": 1, "b": 1})),
            ["|Invalid value: \"\": \"x\" must validate one and only one schema (oneOf). Found 2 valid alternatives"]
        );
    }

    #[test]
    fn all_parts_are_to_fit_and_the_excluded_one_not() {
        let schema = json!({"allOf": [{"minimum": 1}, {"minimum": 2}], "not": {"enum": [5]}});
        assert_eq!(faults(&schema, &json!(3)), Vec::<String>::new());
        assert_eq!(faults(&schema, &json!(1)).len(), 2);
        assert_eq!(
            faults(&schema, &json!(5)),
            ["|Invalid value: \"\": \"x\" must not validate the schema (not)"]
        );
    }
}
