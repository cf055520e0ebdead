//! What has to hold of roles and bindings before they are stored.

use serde_json::{Value, json};

use crate::access::RBAC;
use crate::access::rules::Rule;
use crate::kinds::{Kind, Naming};
use crate::objects::metadata;
use crate::status::Cause;

/// The faults of a role or a binding; of other kinds there are none.
pub(crate) fn faults(kind: &Kind, object: &Value, current: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    if kind.group != RBAC {
        return causes;
    }
    if kind.plural.ends_with("roles") {
        for (index, rule) in list(object, "rules").iter().enumerate() {
            check_rule(rule, kind.namespaced, &format!("rules[{index}]"), &mut causes);
        }
        if object["aggregationRule"].is_object() {
            check_selectors(&object["aggregationRule"], &mut causes);
        }
        return causes;
    }
    let roles: &[Value] = if kind.namespaced {
        &[json!("Role"), json!("ClusterRole")]
    } else {
        &[json!("ClusterRole")]
    };
    check_reference(&object["roleRef"], roles, &mut causes);
    for (index, subject) in list(object, "subjects").iter().enumerate() {
        check_subject(subject, kind.namespaced, &format!("subjects[{index}]"), &mut causes);
    }
    if let Some(current) = current.filter(|current| current["roleRef"] != object["roleRef"]) {
        causes.extend(changed_reference(&current["roleRef"], &object["roleRef"]));
    }
    causes
}

fn list<'a>(object: &'a Value, field: &str) -> &'a [Value] {
    object[field].as_array().map_or(&[], Vec::as_slice)
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

fn check_rule(rule: &Value, namespaced: bool, path: &str, causes: &mut Vec<Cause>) {
    let rule: Rule = match serde_json::from_value(rule.clone()) {
        Ok(rule) => rule,
        Err(error) => {
            causes.push(Cause::wrong_type(path, rule, &error.to_string()));
            return;
        }
    };
    let required = |field: &str, detail: &str| Cause::required(format!("{path}.{field}"), detail);
    if rule.verbs.is_empty() {
        causes.push(required("verbs", "verbs must contain at least one value"));
    }
    if !rule.non_resource_urls.is_empty() {
        let urls = format!("[]string{{{}}}", quoted_with_commas(&rule.non_resource_urls));
        let invalid = |detail: &str| Cause {
            field: format!("{path}.nonResourceURLs"),
            reason: "FieldValueInvalid",
            message: format!("Invalid value: {urls}: {detail}"),
        };
        if namespaced {
            causes.push(invalid("namespaced rules cannot apply to non-resource URLs"));
        }
        if !rule.api_groups.is_empty() || !rule.resources.is_empty() || !rule.resource_names.is_empty() {
            causes.push(invalid(
                "rules cannot apply to both regular resources and non-resource URLs",
            ));
        }
        return;
    }
    if rule.api_groups.is_empty() {
        causes.push(required(
            "apiGroups",
            "resource rules must supply at least one api group",
        ));
    }
    if rule.resources.is_empty() {
        causes.push(required(
            "resources",
            "resource rules must supply at least one resource",
        ));
    }
}

fn quoted_with_commas(texts: &[String]) -> String {
    let texts: Vec<_> = texts.iter().map(|text| format!("{text:?}")).collect();
    texts.join(", ")
}

fn check_selectors(rule: &Value, causes: &mut Vec<Cause>) {
    let path = "aggregationRule.clusterRoleSelectors";
    let selectors = list(rule, "clusterRoleSelectors");
    if selectors.is_empty() {
        let detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        causes.push(Cause::required(path, detail));
    }
    for (index, selector) in selectors.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let before = causes.len();
        for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
            let place = format!("{path}.matchLabels");
            causes.extend(metadata::check_qualified(key).map(|why| Cause::invalid(&place, &json!(key), &why)));
            let text = value.as_str().unwrap_or_default();
            causes.extend(metadata::check_label_value(text).map(|why| Cause::invalid(&place, value, &why)));
        }
        for (number, each) in list(selector, "matchExpressions").iter().enumerate() {
            check_expression(each, &format!("{path}.matchExpressions[{number}]"), causes);
        }
        if causes.len() > before {
            causes.push(Cause::invalid(path, &json!("null"), "invalid label selector."));
        }
    }
}

fn check_expression(rule: &Value, path: &str, causes: &mut Vec<Cause>) {
    let values = !list(rule, "values").is_empty();
    match text(rule, "operator") {
        "In" | "NotIn" if !values => {
            let detail = "must be specified when `operator` is 'In' or 'NotIn'";
            causes.push(Cause::required(format!("{path}.values"), detail));
        }
        "Exists" | "DoesNotExist" if values => {
            let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            causes.push(Cause::forbidden(format!("{path}.values"), detail));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        other => {
            let detail = "not a valid selector operator";
            causes.push(Cause::invalid(format!("{path}.operator"), &json!(other), detail));
        }
    }
    let key = text(rule, "key");
    causes.extend(metadata::check_qualified(key).map(|why| Cause::invalid(format!("{path}.key"), &json!(key), &why)));
}

fn check_reference(reference: &Value, kinds: &[Value], causes: &mut Vec<Cause>) {
    let (group, kind, name) = (
        text(reference, "apiGroup"),
        text(reference, "kind"),
        text(reference, "name"),
    );
    // The group has a default.
    if !matches!(group, "" | RBAC) {
        causes.push(Cause::unsupported("roleRef.apiGroup", &json!(group), &[json!(RBAC)]));
    }
    if !kinds.contains(&json!(kind)) {
        causes.push(Cause::unsupported("roleRef.kind", &json!(kind), kinds));
    }
    if name.is_empty() {
        causes.push(Cause::required("roleRef.name", ""));
    } else {
        let why = metadata::check_name(name, Naming::PathSegment);
        causes.extend(why.map(|why| Cause::invalid("roleRef.name", &json!(name), &why)));
    }
}

fn check_subject(subject: &Value, namespaced: bool, path: &str, causes: &mut Vec<Cause>) {
    let (group, name) = (text(subject, "apiGroup"), text(subject, "name"));
    let field = |field: &str| format!("{path}.{field}");
    if name.is_empty() {
        causes.push(Cause::required(field("name"), ""));
    }
    match text(subject, "kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                let why = metadata::check_name(name, Naming::Subdomain);
                causes.extend(why.map(|why| Cause::invalid(field("name"), &json!(name), &why)));
            }
            if !group.is_empty() {
                causes.push(Cause::unsupported(field("apiGroup"), &json!(group), &[json!("")]));
            }
            if !namespaced && text(subject, "namespace").is_empty() {
                causes.push(Cause::required(field("namespace"), ""));
            }
        }
        "User" | "Group" => {
            if !matches!(group, "" | RBAC) {
                causes.push(Cause::unsupported(field("apiGroup"), &json!(group), &[json!(RBAC)]));
            }
        }
        other => {
            let kinds = ["ServiceAccount", "User", "Group"].map(|kind| json!(kind));
            causes.push(Cause::unsupported(field("kind"), &json!(other), &kinds));
        }
    }
}

/// The fault of binding another role; which group is the default does not matter.
fn changed_reference(old: &Value, new: &Value) -> Option<Cause> {
    let of = |reference: &Value| {
        let group = text(reference, "apiGroup");
        let group = if group.is_empty() { RBAC } else { group };
        format!(
            "rbac.RoleRef{{APIGroup:{group:?}, Kind:{:?}, Name:{:?}}}",
            text(reference, "kind"),
            text(reference, "name")
        )
    };
    let new = of(new);
    (of(old) != new).then(|| Cause {
        field: "roleRef".into(),
        reason: "FieldValueInvalid",
        message: format!("Invalid value: {new}: cannot change roleRef"),
    })
}
