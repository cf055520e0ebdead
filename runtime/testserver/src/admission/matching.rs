//! Which webhooks a request concerns.

use serde_json::Value;

use crate::admission::Operation;
use crate::admission::hooks::{Hook, Rule};

/// A request in the words of rules.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) operation: Operation,
    pub(super) group: &'a str,
    pub(super) version: &'a str,
    pub(super) plural: &'a str,
    /// Such as `status`; empty for the object itself.
    pub(super) subresource: &'a str,
    /// Empty for what is outside of namespaces; a namespace is in itself.
    pub(super) namespace: &'a str,
}

impl Subject<'_> {
    fn is_namespace(&self) -> bool {
        (self.group, self.version, self.plural) == ("", "v1", "namespaces")
    }
}

/// A resource under one of its names: group, version and plural.
pub(super) type Name<'a> = (&'a str, &'a str, &'a str);

/// The name under which a webhook wants to see the request, if at all: its own, or one of its equivalents.
pub(super) fn name_for<'a>(hook: &Hook, subject: Subject<'a>, equivalents: &[Name<'a>]) -> Option<Name<'a>> {
    let own = (subject.group, subject.version, subject.plural);
    if hook.rules.iter().any(|rule| concerns(rule, &subject)) {
        return Some(own);
    }
    if hook.match_policy.as_deref() == Some("Exact") {
        return None;
    }
    // Earlier rules go first, whichever name they fit.
    let mut candidates = hook
        .rules
        .iter()
        .flat_map(|rule| equivalents.iter().map(move |&name| (rule, name)));
    let found = candidates.find(|(rule, (group, version, plural))| {
        let subject = Subject {
            group,
            version,
            plural,
            ..subject
        };
        concerns(rule, &subject)
    });
    found.map(|(_, name)| name)
}

/// Whether the selector of objects accepts what is written or what was there before.
pub(super) fn selects_object(hook: &Hook, old: Option<&Value>, new: &Value) -> bool {
    let Some(selector) = hook.object_selector.as_ref().filter(|selector| !selector.is_empty()) else {
        return true;
    };
    let accepts = |object: &Value| selector.selects(&object["metadata"]["labels"]);
    (new.is_object() && accepts(new)) || old.is_some_and(accepts)
}

fn concerns(rule: &Rule, subject: &Subject<'_>) -> bool {
    let any = |wanted: &[String], found: &str| wanted.iter().any(|each| each == "*" || each == found);
    let resource = |wanted: &String| {
        let (plural, subresource) = wanted.split_once('/').unwrap_or((wanted, ""));
        (plural == "*" || plural == subject.plural) && (subresource == "*" || subresource == subject.subresource)
    };
    let outside = subject.is_namespace() || subject.namespace.is_empty();
    let scope = match rule.scope.as_deref() {
        Some("Namespaced") => !outside,
        Some("Cluster") => outside,
        _ => true,
    };
    scope
        && any(&rule.operations, subject.operation.name())
        && any(&rule.api_groups, subject.group)
        && any(&rule.api_versions, subject.version)
        && rule.resources.iter().any(resource)
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    const POD: Subject = Subject {
        operation: Operation::Create,
        group: "",
        version: "v1",
        plural: "pods",
        subresource: "",
        namespace: "default",
    };

    fn hook(rules: &Value, policy: &str) -> Hook {
        from_value(json!({"rules": rules, "matchPolicy": policy})).unwrap()
    }

    fn rule(operations: &str, group: &str, version: &str, resources: &[&str], scope: &str) -> Value {
        json!({
            "operations": [operations], "apiGroups": [group], "apiVersions": [version], "resources": resources,
            "scope": scope,
        })
    }

    #[test]
    fn rules_concern_what_they_name() {
        let status = Subject {
            subresource: "status",
            ..POD
        };
        let deployment = Subject {
            group: "apps",
            plural: "deployments",
            ..POD
        };
        let node = Subject {
            plural: "nodes",
            namespace: "",
            ..POD
        };
        let namespace = Subject {
            plural: "namespaces",
            namespace: "web",
            ..POD
        };
        let rows = [
            (rule("CREATE", "", "v1", &["pods"], "*"), POD, true),
            (rule("*", "*", "*", &["*"], "*"), POD, true),
            (rule("UPDATE", "", "v1", &["pods"], "*"), POD, false),
            (rule("CREATE", "apps", "v1", &["pods"], "*"), POD, false),
            (rule("CREATE", "", "v2", &["pods"], "*"), POD, false),
            (rule("CREATE", "", "v1", &["services", "pods"], "*"), POD, true),
            (rule("CREATE", "", "v1", &["pods"], "*"), status, false),
            (rule("CREATE", "", "v1", &["*"], "*"), status, false),
            (rule("CREATE", "", "v1", &["pods/status"], "*"), status, true),
            (rule("CREATE", "", "v1", &["pods/status"], "*"), POD, false),
            (rule("CREATE", "", "v1", &["pods/*"], "*"), status, true),
            (rule("CREATE", "", "v1", &["pods/*"], "*"), POD, true),
            (rule("CREATE", "", "v1", &["*/status"], "*"), status, true),
            (rule("CREATE", "", "v1", &["*/scale"], "*"), status, false),
            (rule("CREATE", "", "v1", &["*/*"], "*"), status, true),
            (rule("CREATE", "*", "v1", &["*/*"], "*"), deployment, true),
            (rule("*", "*", "*", &["*/*"], "Namespaced"), POD, true),
            (rule("*", "*", "*", &["*/*"], "Cluster"), POD, false),
            (rule("*", "*", "*", &["*/*"], "Namespaced"), node, false),
            (rule("*", "*", "*", &["*/*"], "Cluster"), node, true),
            (rule("*", "*", "*", &["*/*"], "Namespaced"), namespace, false),
            (rule("*", "*", "*", &["*/*"], "Cluster"), namespace, true),
        ];
        for (rule, subject, wanted) in rows {
            let found = name_for(&hook(&json!([rule]), "Exact"), subject, &[]);
            assert_eq!(found.is_some(), wanted, "{rule} {subject:?}");
        }
    }

    #[test]
    fn equivalents_are_for_policies_that_want_them_and_for_rules_that_nothing_else_fits() {
        let other = ("other.example.com", "v2", "pods");
        let old = ("", "v1beta1", "pods");
        let of_other = rule("*", "other.example.com", "v2", &["pods"], "*");
        let of_old = rule("*", "", "v1beta1", &["pods"], "*");
        let of_own = rule("*", "", "v1", &["pods"], "*");
        let found = |rules: &Value, policy| name_for(&hook(rules, policy), POD, &[old, other]);
        assert_eq!(found(&json!([of_other]), "Exact"), None);
        assert_eq!(found(&json!([of_other]), "Equivalent"), Some(other));
        assert_eq!(found(&json!([of_other, of_old]), "Equivalent"), Some(other));
        assert_eq!(
            found(&json!([of_other, of_own]), "Equivalent"),
            Some(("", "v1", "pods"))
        );
        assert_eq!(
            found(&json!([rule("*", "x", "v2", &["pods"], "*")]), "Equivalent"),
            None
        );
    }

    #[test]
    fn either_the_old_or_the_new_object_is_selected() {
        let hook: Hook = from_value(json!({"objectSelector": {"matchLabels": {"a": "1"}}})).unwrap();
        let with = json!({"metadata": {"labels": {"a": "1"}}});
        let without = json!({"metadata": {}});
        assert!(selects_object(&hook, None, &with));
        assert!(!selects_object(&hook, None, &without));
        assert!(selects_object(&hook, Some(&with), &without));
        assert!(selects_object(&hook, Some(&without), &with));
        assert!(!selects_object(&hook, Some(&without), &Value::Null));
        assert!(selects_object(&hook, Some(&with), &Value::Null));
    }

    #[test]
    fn an_object_that_is_gone_is_not_one_without_labels() {
        let hook: Hook = from_value(json!({
            "objectSelector": {"matchExpressions": [{"key": "skip", "operator": "DoesNotExist"}]},
        }))
        .unwrap();
        let skipped = json!({"metadata": {"labels": {"skip": ""}}});
        assert!(!selects_object(&hook, Some(&skipped), &Value::Null));
    }
}
