//! Nobody may grant what they do not have themselves, unless a verb says that they may.

use serde_json::{Value, json};

use crate::access::policy::{Held, rules_of};
use crate::access::rules::{Rule, missing, quoted};
use crate::access::{Attributes, RBAC, User, policy};
use crate::cluster::Cluster;
use crate::objects::writing::Draft;
use crate::status::Status;

/// Refuses a role or a binding that would give away more than its author has.
pub(crate) fn check(cluster: &Cluster, user: &User, draft: &Draft) -> Result<(), Status> {
    let kind = &draft.place.kind;
    if kind.group != RBAC || user.is_master() || only_for_collector(draft) {
        return Ok(());
    }
    let refused = |why: &str| Status::forbidden(kind, &draft.name, why);
    let namespace = draft.place.namespace.as_str();
    if kind.plural.ends_with("bindings") {
        let reference = &draft.object["roleRef"];
        if may(
            cluster,
            user,
            "bind",
            role_plural(reference),
            namespace,
            text(&reference["name"]),
        ) {
            return Ok(());
        }
        let granted = granted(cluster, namespace, reference)?;
        return confirm(cluster, user, namespace, &granted).map_err(|why| refused(&why));
    }
    if may(cluster, user, "escalate", &kind.plural, namespace, &draft.name) {
        return Ok(());
    }
    confirm(cluster, user, namespace, &rules_of(&draft.object)).map_err(|why| refused(&why))?;
    let aggregated = |role: &Value| role["aggregationRule"].is_object();
    if aggregated(&draft.object) || draft.current.as_deref().is_some_and(aggregated) {
        confirm(cluster, user, "", &everything())
            .map_err(|_| refused("must have cluster-admin privileges to use the aggregationRule"))?;
    }
    Ok(())
}

/// Whether nothing changes but what garbage collection needs, or nothing at all.
fn only_for_collector(draft: &Draft) -> bool {
    let Some(current) = &draft.current else {
        return false;
    };
    let strip = |object: &Value| {
        let mut object = object.clone();
        for field in ["ownerReferences", "finalizers", "managedFields", "resourceVersion"] {
            if let Some(metadata) = object["metadata"].as_object_mut() {
                metadata.remove(field);
            }
        }
        object
    };
    strip(current) == strip(&draft.object)
}

fn may(cluster: &Cluster, user: &User, verb: &str, plural: &str, namespace: &str, name: &str) -> bool {
    let wanted = Attributes {
        verb: verb.into(),
        group: RBAC.into(),
        version: "*".into(),
        resource: plural.into(),
        namespace: namespace.into(),
        name: name.into(),
        ..Attributes::default()
    };
    policy(cluster).decide(user, &wanted).allowed
}

fn role_plural(reference: &Value) -> &'static str {
    if reference["kind"] == "Role" {
        "roles"
    } else {
        "clusterroles"
    }
}

/// What a binding to this role would grant.
fn granted(cluster: &Cluster, namespace: &str, reference: &Value) -> Result<Vec<Rule>, Status> {
    let plural = role_plural(reference);
    let namespace = if plural == "roles" { namespace } else { "" };
    let place = cluster.place(RBAC, "v1", plural, Some(namespace).filter(|text| !text.is_empty()))?;
    let name = text(&reference["name"]);
    let role = cluster.store.get(&place.kind.key(), namespace, name);
    role.map(|role| rules_of(role))
        .ok_or_else(|| Status::not_found(&place.kind, name))
}

fn confirm(cluster: &Cluster, user: &User, namespace: &str, granted: &[Rule]) -> Result<(), String> {
    let held = policy(cluster).held(user, namespace);
    let mut missing: Vec<_> = missing(&held.rules, granted).iter().map(Rule::to_string).collect();
    if missing.is_empty() {
        return Ok(());
    }
    missing.sort();
    missing.dedup();
    Err(format!(
        "user {:?} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}{}",
        user.name,
        quoted(&user.groups),
        missing.join("\n"),
        unresolved(&held)
    ))
}

fn unresolved(held: &Held) -> String {
    held.errors(true)
        .map_or(String::new(), |errors| format!("; resolution errors: [{errors}]"))
}

fn everything() -> [Rule; 2] {
    let rule = |value: Value| serde_json::from_value(value).expect("this is a rule");
    [
        rule(json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]})),
        rule(json!({"verbs": ["*"], "nonResourceURLs": ["*"]})),
    ]
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
