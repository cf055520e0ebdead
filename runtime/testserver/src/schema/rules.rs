//! Rules of schemas, `x-kubernetes-validations`, in the Common Expression Language.

use kube_cel::{ErrorKind, Validator, compile_schema};
use serde_json::{Value, json};

use crate::schema::validate::counterpart;
use crate::schema::{is_embedded, is_transition, pattern, properties, schema_of_field, values};
use crate::status::Cause;

/// What is known of the value that was there before.
#[derive(Debug, Clone, Copy)]
pub(super) enum Before<'a> {
    /// It can be told what the value was, or that there was none.
    Told(Option<&'a Value>),
    /// It cannot be told; `unchanged` is whether the nearest part that can be told is as it was.
    Lost { unchanged: bool },
}

/// Adds the faults that rules find in an object, if it is sound enough for them.
pub(super) fn append(schema: &Value, object: &Value, old: Option<&Value>, ratcheting: bool, causes: &mut Vec<Cause>) {
    if !has_rules(schema) {
        return;
    }
    let blocks = |cause: &Cause| {
        matches!(
            cause.reason,
            "FieldValueNotSupported"
                | "FieldValueRequired"
                | "FieldValueTooLong"
                | "FieldValueTooMany"
                | "FieldValueTypeInvalid"
        )
    };
    if causes.iter().any(blocks) {
        let detail = "some validation rules were not checked because the object was invalid; correct the existing \
                      errors to complete validation";
        return causes.push(Cause::invalid("<nil>", &Value::Null, detail));
    }
    let walk = Walk {
        validator: Validator::new(),
        ratcheting,
    };
    walk.check(&as_resource(schema), object, Before::Told(old), "", causes);
}

/// Why an expression cannot be compiled, if so.
pub(crate) fn compile_fault(expression: &str) -> Option<String> {
    let compiled = compile_schema(&json!({"x-kubernetes-validations": [{"rule": expression}]}));
    let faults = compiled.compilation_errors();
    Some(format!("compilation failed: {}", faults.first()?))
}

fn has_rules(schema: &Value) -> bool {
    let rules = schema["x-kubernetes-validations"]
        .as_array()
        .is_some_and(|rules| !rules.is_empty());
    let mut fields = properties(schema).into_iter().flatten().map(|(_, property)| property);
    rules
        || fields.any(has_rules)
        || values(schema).is_some_and(has_rules)
        || schema.get("items").is_some_and(has_rules)
}

/// A schema of a resource with what rules may use of every resource.
fn as_resource(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if !schema["properties"].is_object() {
        schema["properties"] = json!({});
    }
    let text = json!({"type": "string"});
    schema["properties"]["apiVersion"] = text.clone();
    schema["properties"]["kind"] = text.clone();
    schema["properties"]["metadata"] = json!({"type": "object", "properties": {"name": text, "generateName": text}});
    schema
}

/// A schema without any rules, for the types of its parts.
fn without_rules(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => fields
            .iter()
            .filter(|(key, _)| *key != "x-kubernetes-validations")
            .map(|(key, value)| (key.clone(), without_rules(value)))
            .collect(),
        Value::Array(items) => items.iter().map(without_rules).collect(),
        other => other.clone(),
    }
}

struct Walk {
    validator: Validator,
    /// Whether what did not change is tolerated.
    ratcheting: bool,
}

impl Walk {
    fn check(&self, schema: &Value, value: &Value, before: Before<'_>, path: &str, causes: &mut Vec<Cause>) {
        if value.is_null() {
            return;
        }
        let unchanged = match before {
            Before::Told(old) => old == Some(value),
            Before::Lost { unchanged } => unchanged,
        };
        let rules = schema["x-kubernetes-validations"].as_array().into_iter().flatten();
        for rule in rules {
            let old = match before {
                Before::Told(old) => old.filter(|old| !old.is_null()),
                Before::Lost { .. } => None,
            };
            let tolerated = self.ratcheting && unchanged && !is_transition(rule["rule"].as_str().unwrap_or_default());
            if !tolerated {
                causes.extend(self.check_rule(schema, rule, value, old, path));
            }
        }
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    let Some(of_field) = schema_of_field(schema, key) else {
                        continue;
                    };
                    let before = match before {
                        Before::Told(old) if schema["x-kubernetes-map-type"] != "atomic" => {
                            Before::Told(old.and_then(|old| old.get(key)))
                        }
                        _ => Before::Lost { unchanged },
                    };
                    let path = crate::schema::field_path(schema, path, key);
                    if is_embedded(of_field) {
                        self.check(&as_resource(of_field), value, before, &path, causes);
                    } else {
                        self.check(of_field, value, before, &path, causes);
                    }
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let before = match before {
                        Before::Told(old) if schema["x-kubernetes-list-type"] == "map" => {
                            Before::Told(old.and_then(|old| counterpart(schema, item, old)))
                        }
                        _ => Before::Lost { unchanged },
                    };
                    self.check(&schema["items"], item, before, &format!("{path}[{index}]"), causes);
                }
            }
            _ => {}
        }
    }

    fn check_rule(
        &self,
        schema: &Value,
        rule: &Value,
        value: &Value,
        old: Option<&Value>,
        path: &str,
    ) -> Option<Cause> {
        let text = rule["rule"].as_str().unwrap_or_default();
        let optional = rule["optionalOldSelf"] == true;
        if is_transition(text) && old.is_none() && !optional {
            return None;
        }
        let mut alone = without_rules(schema);
        alone["x-kubernetes-validations"] = json!([{
            "rule": if optional { with_optional(text, old.is_some()) } else { text.to_owned() },
            "message": rule["message"], "messageExpression": rule["messageExpression"],
        }]);
        let failures = self.validator.validate(&alone, value, old).err()?;
        let failure = failures.iter().next()?;
        let kind = json!(schema["type"].as_str().unwrap_or_default());
        let path = match (path, rule["fieldPath"].as_str().unwrap_or_default()) {
            ("", "") => "<nil>".into(),
            (path, field) => {
                let field = field.replace("['", ".").replace("']", "");
                format!(
                    "{path}{}{}",
                    if field.is_empty() || field.starts_with('.') {
                        ""
                    } else {
                        "."
                    },
                    field
                )
                .trim_start_matches('.')
                .to_owned()
            }
        };
        if failure.kind != ErrorKind::ValidationFailure {
            let named = rule["message"].as_str().map_or(text, str::trim);
            let why = failure.message.trim_start_matches("rule evaluation error: ");
            return Some(Cause::invalid(path, &kind, &format!("{why} evaluating rule: {named}")));
        }
        let message = match rule["message"]
            .as_str()
            .map(str::trim)
            .filter(|message| !message.is_empty())
        {
            Some(message) if rule["messageExpression"].is_null() => message.to_owned(),
            None if rule["messageExpression"].is_null() => format!("failed rule: {}", text.trim()),
            _ => failure.message.clone(),
        };
        Some(match rule["reason"].as_str() {
            Some("FieldValueRequired") => Cause::required(path, &message),
            Some("FieldValueForbidden") => Cause::forbidden(path, &message),
            Some("FieldValueDuplicate") => Cause {
                message: format!("Duplicate value: {kind}: {message}"),
                ..Cause::duplicate(path, &kind)
            },
            _ => Cause::invalid(path, &kind, &message),
        })
    }
}

/// A rule whose `oldSelf` is there or not, and can be asked for that.
fn with_optional(rule: &str, is_there: bool) -> String {
    let old = if is_there {
        "optional.of(oldSelf)"
    } else {
        "optional.none()"
    };
    match pattern(r"\boldSelf\b").as_ref() {
        Ok(name) => name.replace_all(rule, old).into_owned(),
        Err(_) => rule.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(schema: &Value, object: &Value, old: Option<&Value>) -> Vec<String> {
        let mut causes = Vec::new();
        append(schema, object, old, old.is_some(), &mut causes);
        causes.into_iter().map(|cause| cause.to_string()).collect()
    }

    fn spec(rules: &Value) -> Value {
        json!({"type": "object", "properties": {"spec": {
            "type": "object", "x-kubernetes-validations": rules,
            "properties": {"min": {"type": "integer"}, "max": {"type": "integer"}, "name": {"type": "string"}},
        }}})
    }

    #[test]
    fn rules_tell_what_they_found() {
        let object = json!({"spec": {"min": 2, "max": 1}});
        for (rule, told) in [
            (
                json!({"rule": "self.min <= self.max"}),
                "spec: Invalid value: \"object\": failed rule: self.min <= self.max",
            ),
            (
                json!({"rule": "self.min <= self.max", "message": "too big"}),
                "spec: Invalid value: \"object\": too big",
            ),
            (
                json!({"rule": "self.min <= self.max", "messageExpression": "'over ' + string(self.max)"}),
                "spec: Invalid value: \"object\": over 1",
            ),
            (
                json!({"rule": "self.min <= self.max", "message": "m", "reason": "FieldValueForbidden", "fieldPath": ".min"}),
                "spec.min: Forbidden: m",
            ),
            (
                json!({"rule": "has(self.name)", "message": "m", "reason": "FieldValueRequired"}),
                "spec: Required value: m",
            ),
        ] {
            assert_eq!(faults(&spec(&json!([rule])), &object, None), [told]);
        }
    }

    #[test]
    fn transitions_need_something_before() {
        let schema = spec(&json!([{"rule": "self.min >= oldSelf.min", "message": "must grow"}]));
        let object = |min: i64| json!({"spec": {"min": min}});
        assert_eq!(faults(&schema, &object(1), None), Vec::<String>::new());
        assert_eq!(faults(&schema, &object(2), Some(&object(1))), Vec::<String>::new());
        assert_eq!(
            faults(&schema, &object(1), Some(&object(2))),
            ["spec: Invalid value: \"object\": must grow"]
        );
    }

    #[test]
    fn what_was_before_may_be_asked_for() {
        let rule = json!([{
            "rule": "!oldSelf.hasValue() || oldSelf.value().min == self.min", "message": "fixed", "optionalOldSelf": true,
        }]);
        let schema = spec(&rule);
        let object = |min: i64| json!({"spec": {"min": min}});
        assert_eq!(faults(&schema, &object(1), None), Vec::<String>::new());
        assert_eq!(faults(&schema, &object(1), Some(&object(1))), Vec::<String>::new());
        assert_eq!(
            faults(&schema, &object(1), Some(&object(2))),
            ["spec: Invalid value: \"object\": fixed"]
        );
        let first = spec(&json!([{"rule": "oldSelf.hasValue()", "message": "not new", "optionalOldSelf": true}]));
        assert_eq!(
            faults(&first, &object(1), None),
            ["spec: Invalid value: \"object\": not new"]
        );
    }

    #[test]
    fn what_did_not_change_is_tolerated() {
        let schema = spec(&json!([{"rule": "self.min <= self.max", "message": "too big"}]));
        let old = json!({"spec": {"min": 2, "max": 1}, "other": 1});
        assert_eq!(
            faults(&schema, &json!({"spec": {"min": 2, "max": 1}}), Some(&old)),
            Vec::<String>::new()
        );
        assert_eq!(
            faults(&schema, &json!({"spec": {"min": 3, "max": 1}}), Some(&old)).len(),
            1
        );
    }

    #[test]
    fn rules_of_parts_have_their_paths() {
        let part =
            json!({"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0", "message": "be positive"}]});
        let schema = json!({"type": "object", "properties": {
            "list": {"type": "array", "items": part}, "map": {"type": "object", "additionalProperties": part},
        }});
        assert_eq!(
            faults(&schema, &json!({"list": [1, 0], "map": {"k": -1}}), None),
            [
                "list[1]: Invalid value: \"integer\": be positive",
                "map[k]: Invalid value: \"integer\": be positive"
            ]
        );
    }

    #[test]
    fn rules_of_the_root_know_the_name() {
        let schema = json!({"type": "object", "x-kubernetes-validations": [
            {"rule": "self.metadata.name.startsWith('a')", "message": "begin with a"},
        ]});
        let object = |name: &str| json!({"apiVersion": "x/v1", "kind": "X", "metadata": {"name": name}});
        assert_eq!(faults(&schema, &object("ab"), None), Vec::<String>::new());
        assert_eq!(
            faults(&schema, &object("b"), None),
            ["<nil>: Invalid value: \"object\": begin with a"]
        );
    }

    #[test]
    fn other_faults_come_first() {
        let schema = spec(&json!([{"rule": "self.min <= self.max"}]));
        let mut causes = vec![Cause::required("spec.min", "")];
        append(&schema, &json!({"spec": {}}), None, false, &mut causes);
        assert_eq!(causes[1].field, "<nil>");
        assert!(
            causes[1]
                .message
                .starts_with("Invalid value: \"null\": some validation rules were not checked")
        );
    }

    #[test]
    fn expressions_are_compiled() {
        assert_eq!(compile_fault("self.a > 1"), None);
        assert!(compile_fault("self.a >").is_some_and(|why| why.starts_with("compilation failed")));
    }
}
