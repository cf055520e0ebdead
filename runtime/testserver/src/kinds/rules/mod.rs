//! What must hold of objects of built-in kinds: required fields, permitted values, what may not change.

mod pods;
mod special;
mod table;

use serde_json::{Value, json};

use crate::cluster::Place;
use crate::kinds::paths::{at, each, join};
use crate::status::Cause;

/// The faults of an object whose defaults are filled in.
pub(crate) fn validate(place: &Place, current: Option<&Value>, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    if place.kind.custom {
        return causes;
    }
    let id = format!("{} {}", place.api_version(), place.kind.kind);
    if let Some((_, rules)) = table::KINDS.iter().find(|(kind, _)| *kind == id) {
        check_all(rules, "", current, object, &mut causes);
    }
    causes
}

/// One rule: where it applies, and what it asks for.
struct Rule {
    path: &'static str,
    check: Check,
}

const fn rule(path: &'static str, check: Check) -> Rule {
    Rule { path, check }
}

enum Check {
    /// Neither missing nor empty; the text says more.
    Required(&'static str),
    /// Not missing, though it may be empty.
    Present,
    OneOf(&'static [&'static str]),
    AtLeast(i64),
    AtMost(i64),
    Port,
    Label,
    /// Items of a list have a field of their own value each.
    Unique(&'static str),
    /// The same as before.
    Immutable,
    /// The same as before; otherwise the text says why not.
    Frozen(&'static str),
    /// The rules of a part.
    Part(&'static [Rule]),
    /// Gets the path and the value, which may be null, and reports faults.
    Also(fn(&str, &Value, &mut Vec<Cause>)),
    /// Gets the path and the old and the new value, and reports faults of the change.
    Change(fn(&str, &Value, &Value, &mut Vec<Cause>)),
}

fn check_all(rules: &[Rule], base: &str, current: Option<&Value>, value: &Value, causes: &mut Vec<Cause>) {
    for rule in rules {
        rule.apply(base, current, value, causes);
    }
}

impl Rule {
    fn apply(&self, base: &str, current: Option<&Value>, object: &Value, causes: &mut Vec<Cause>) {
        match self.check {
            Check::Immutable | Check::Frozen(_) | Check::Change(_) => {
                if let Some(current) = current {
                    let (old, new) = (at(current, self.path), at(object, self.path));
                    self.compare(&join(base, self.path), old, new, causes);
                }
            }
            _ => {
                // What is missing can be at fault too, though not in lists that have no items.
                let Some(end) = self.path.rfind("[]") else {
                    return self.check(&join(base, self.path), at(object, self.path), causes);
                };
                let (lists, rest) = self.path.split_at(end + 2);
                let rest = rest.trim_start_matches('.');
                each(object, lists, &mut |path, item| {
                    let path = join(base, &join(path, rest));
                    self.check(&path, at(item, rest), causes);
                });
            }
        }
    }

    fn compare(&self, path: &str, old: &Value, new: &Value, causes: &mut Vec<Cause>) {
        match self.check {
            Check::Change(check) => check(path, old, new, causes),
            _ if old == new => {}
            Check::Frozen(why) => causes.push(Cause::forbidden(path, why)),
            _ => causes.push(invalid(path, &shown(new), "field is immutable")),
        }
    }

    fn check(&self, path: &str, value: &Value, causes: &mut Vec<Cause>) {
        match self.check {
            Check::Required(detail) if is_empty(value) => causes.push(Cause::required(path, detail)),
            Check::Present if value.is_null() => causes.push(Cause::required(path, "")),
            Check::OneOf(known) if !value.is_null() && !known.iter().any(|each| value == each) => {
                let known: Vec<_> = known.iter().map(|each| json!(each)).collect();
                causes.push(Cause::unsupported(path, value, &known));
            }
            Check::AtLeast(least) if value.as_i64().is_some_and(|number| number < least) => {
                let detail = if least == 1 {
                    "must be greater than 0".to_owned()
                } else {
                    format!("must be greater than or equal to {least}")
                };
                causes.push(Cause::invalid(path, value, &detail));
            }
            Check::AtMost(most) if value.as_i64().is_some_and(|number| number > most) => {
                causes.push(Cause::invalid(
                    path,
                    value,
                    &format!("must be less than or equal to {most}"),
                ));
            }
            Check::Port if value.as_i64().is_some_and(|port| !(1..=65535).contains(&port)) => {
                causes.push(Cause::invalid(path, value, "must be between 1 and 65535, inclusive"));
            }
            Check::Label => {
                let fault = value.as_str().and_then(crate::objects::metadata::check_label);
                causes.extend(fault.map(|why| Cause::invalid(path, value, &why)));
            }
            Check::Unique(key) => {
                let mut seen = Vec::new();
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    let name = &item[key];
                    if seen.contains(&name) {
                        causes.push(duplicate(format!("{path}[{index}].{key}"), name));
                    } else if !is_empty(name) {
                        seen.push(name);
                    }
                }
            }
            Check::Part(rules) => check_all(rules, path, None, value, causes),
            Check::Also(check) => check(path, value, causes),
            _ => {}
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// An invalid value in the notation that the message has for it.
fn invalid(path: impl Into<String>, shown: &str, detail: &str) -> Cause {
    Cause {
        field: path.into(),
        reason: "FieldValueInvalid",
        message: format!("Invalid value: {shown}: {detail}"),
    }
}

fn duplicate(path: impl Into<String>, value: &Value) -> Cause {
    Cause {
        field: path.into(),
        reason: "FieldValueDuplicate",
        message: format!("Duplicate value: {value}"),
    }
}

fn not_found(path: impl Into<String>, value: &Value) -> Cause {
    Cause {
        field: path.into(),
        reason: "FieldValueNotFound",
        message: format!("Not found: {value}"),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "\"null\"".into(),
        Value::Object(fields)
            if fields
                .keys()
                .all(|key| matches!(key.as_str(), "matchLabels" | "matchExpressions")) =>
        {
            special::shown_selector(value)
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Kinds;

    #[test]
    fn the_rules_are_of_known_kinds() {
        let kinds = Kinds::built_in();
        for (id, _) in table::KINDS {
            let (api_version, kind) = id.split_once(' ').unwrap();
            let object = json!({"apiVersion": api_version, "kind": kind});
            assert!(kinds.of_object(&object).is_some(), "{id}");
        }
    }

    #[test]
    fn faults_name_the_item_of_a_list() {
        let rules = [
            rule("a[].b.c", Check::Required("")),
            rule("a[].d", Check::OneOf(&["x", "y"])),
            rule("e", Check::AtLeast(0)),
        ];
        let mut causes = Vec::new();
        let object = json!({"a": [{"b": {"c": "1"}}, {"d": "z"}], "e": -1});
        check_all(&rules, "", None, &object, &mut causes);
        let fields: Vec<_> = causes
            .iter()
            .map(|cause| (cause.field.as_str(), cause.reason))
            .collect();
        assert_eq!(
            fields,
            [
                ("a[1].b.c", "FieldValueRequired"),
                ("a[1].d", "FieldValueNotSupported"),
                ("e", "FieldValueInvalid")
            ]
        );
    }

    #[test]
    fn what_may_not_change_is_compared() {
        let rules = [rule("a", Check::Immutable), rule("b", Check::Frozen("no"))];
        let mut causes = Vec::new();
        let (old, new) = (json!({"a": "x", "b": 1}), json!({"a": "y"}));
        check_all(&rules, "", Some(&old), &new, &mut causes);
        let texts: Vec<_> = causes.iter().map(|cause| cause.message.as_str()).collect();
        assert_eq!(texts, ["Invalid value: \"y\": field is immutable", "Forbidden: no"]);
    }
}
