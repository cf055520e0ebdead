//! Rules in the schemas of a definition.

use serde_json::{Value, json};

use crate::kinds::crds::{list, subresources};
use crate::status::Cause;

/// Whether there is a rule anywhere in a definition.
pub(crate) fn has_rules(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.iter().any(|(key, value)| {
            let rules = key == "x-kubernetes-validations" && value.as_array().is_some_and(|rules| !rules.is_empty());
            rules || has_rules(value)
        }),
        Value::Array(items) => items.iter().any(has_rules),
        _ => false,
    }
}

/// The faults of the rules of one schema; they are compiled only if nothing else is wrong there.
pub(super) fn check(schema: &Value, path: &str, sound: bool, uncorrelatable: Option<&str>, causes: &mut Vec<Cause>) {
    let before = causes.len();
    let rules = list(&schema["x-kubernetes-validations"]);
    let place = |index: usize| format!("{path}.x-kubernetes-validations[{index}]");
    for (index, rule) in rules.iter().enumerate() {
        check_texts(schema, rule, &place(index), causes);
    }
    if sound && causes.len() == before {
        for (index, rule) in rules.iter().enumerate() {
            check_expressions(rule, &place(index), uncorrelatable, causes);
        }
    }
}

fn check_texts(schema: &Value, rule: &Value, path: &str, causes: &mut Vec<Cause>) {
    const REASONS: [&str; 4] = [
        "FieldValueDuplicate",
        "FieldValueForbidden",
        "FieldValueInvalid",
        "FieldValueRequired",
    ];
    let text = |field: &str| rule[field].as_str().unwrap_or_default();
    let blank = |field: &str| !text(field).is_empty() && text(field).trim().is_empty();
    let broken = |text: &str| text.contains(['\n', '\r']);
    let invalid = |field: &str, detail: &str| Cause::invalid(format!("{path}.{field}"), &rule[field], detail);
    if text("rule").trim().is_empty() {
        causes.push(Cause::required(format!("{path}.rule"), "rule is not specified"));
    } else if blank("message") {
        causes.push(invalid("message", "message must be non-empty if specified"));
    } else if broken(text("message").trim()) {
        causes.push(invalid("message", "message must not contain line breaks"));
    } else if broken(text("rule").trim()) && text("message").trim().is_empty() {
        let detail = "message must be specified if rule contains line breaks";
        causes.push(Cause::required(format!("{path}.message"), detail));
    }
    if blank("messageExpression") {
        let detail = "messageExpression must be non-empty if specified";
        causes.push(Cause::required(format!("{path}.messageExpression"), detail));
    }
    if rule["reason"].is_string() && !REASONS.contains(&text("reason")) {
        let reasons: Vec<_> = REASONS.iter().map(|&reason| json!(reason)).collect();
        causes.push(Cause::unsupported(format!("{path}.reason"), &rule["reason"], &reasons));
    }
    let field_path = text("fieldPath");
    if blank("fieldPath") {
        causes.push(invalid("fieldPath", "fieldPath must be non-empty if specified"));
    }
    if broken(field_path) {
        causes.push(invalid("fieldPath", "fieldPath must not contain line breaks"));
    }
    if !field_path.is_empty() && (!field_path.starts_with(['.', '[']) || !leads_somewhere(field_path, schema)) {
        causes.push(invalid("fieldPath", "fieldPath must be a valid path"));
    }
}

fn leads_somewhere(path: &str, schema: &Value) -> bool {
    // Names in brackets are names like others.
    let plain = path.replace("['", ".").replace("']", "");
    subresources::find(&plain, schema).is_ok()
}

fn check_expressions(rule: &Value, path: &str, uncorrelatable: Option<&str>, causes: &mut Vec<Cause>) {
    #[cfg(feature = "cel")]
    for field in ["rule", "messageExpression"] {
        if let Some(why) = rule[field].as_str().and_then(crate::schema::compile_fault) {
            causes.push(Cause::invalid(format!("{path}.{field}"), rule, &why));
        }
    }
    let transition = rule["rule"].as_str().is_some_and(crate::schema::is_transition);
    if let Some(part) = uncorrelatable.filter(|_| transition) {
        let detail = format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {part}");
        causes.push(Cause::invalid(format!("{path}.rule"), &rule["rule"], &detail));
    }
    if !transition && rule["optionalOldSelf"].is_boolean() {
        let detail = "may not be set if oldSelf is not used in rule";
        causes.push(Cause::invalid(
            format!("{path}.optionalOldSelf"),
            &rule["optionalOldSelf"],
            detail,
        ));
    }
}
