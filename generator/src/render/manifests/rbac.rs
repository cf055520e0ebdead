//! The operator's rights, each rule with a word on whom it is for.

use super::{add, metadata};
use crate::fileset::FileSet;
use crate::model::{DiffBaseStorage, Operator, Origin, Peering, ProgressStorage, Resource};
use crate::render::yaml::{Yaml, list, map};

const API_VERSION: &str = "rbac.authorization.k8s.io/v1";
const API_GROUP: &str = "rbac.authorization.k8s.io";

/// Adds the role and its binding.
pub(super) fn render(operator: &Operator, files: &mut FileSet) {
    let role = map! {
        "apiVersion" => API_VERSION,
        "kind" => "ClusterRole",
        "metadata" => metadata(operator, &operator.name, None),
        "rules" => rules(operator),
    };
    let binding = map! {
        "apiVersion" => API_VERSION,
        "kind" => "ClusterRoleBinding",
        "metadata" => metadata(operator, &operator.name, None),
        "roleRef" => map! { "apiGroup" => API_GROUP, "kind" => "ClusterRole", "name" => &operator.name },
        "subjects" => list![map! {
            "kind" => "ServiceAccount",
            "name" => &operator.name,
            "namespace" => &operator.deploy.namespace,
        }],
    };
    add(files, "operator/rbac.yaml", &[role, binding]);
}

fn rules(operator: &Operator) -> Vec<Yaml> {
    let mut rules = Vec::new();
    for resource in &operator.resources {
        if has_handlers(resource) {
            rules.extend(of_kind(operator, resource));
        } else if !resource.indexes.is_empty() {
            rules.push(of_indexed(resource));
        }
    }
    if operator.posting.enabled {
        rules.push(rule("", &["events"], &["create"]).comment("Kubernetes events about the objects"));
    }
    if let Some(peering) = &operator.peering {
        rules.push(of_peering(peering));
    }
    rules
}

/// Whether anything is called that may write to the objects.
fn has_handlers(resource: &Resource) -> bool {
    !resource.handlers.is_empty() || !resource.timers.is_empty() || !resource.daemons.is_empty()
}

/// What only indexes look at is never written.
fn of_indexed(resource: &Resource) -> Yaml {
    rule(
        &resource.reference.group,
        &[&resource.reference.plural],
        &["get", "list", "watch"],
    )
    .comment(format!("{}: {}", resource.reference.kind, functions(resource)))
}

fn functions(resource: &Resource) -> String {
    let functions = resource.functions.iter().map(|function| function.name.as_str());
    functions.collect::<Vec<_>>().join(", ")
}

fn of_kind(operator: &Operator, resource: &Resource) -> Vec<Yaml> {
    let reference = &resource.reference;
    let (kind, plural) = (&reference.kind, &reference.plural);
    let mut rules = vec![
        rule(&reference.group, &[plural], &["get", "list", "watch", "patch"])
            .comment(format!("{kind}: {}", functions(resource))),
    ];
    let is_own = matches!(resource.origin, Origin::Own(_));
    if reference.status_subresource && (is_own || keeps_state_in_status(operator)) {
        let status = format!("{plural}/status");
        let what = if is_own {
            "results of the handlers"
        } else {
            "state of the handlers"
        };
        rules.push(rule(&reference.group, &[&status], &["patch"]).comment(format!("{kind}: {what}")));
    }
    rules
}

/// Such storages are written for all kinds.
fn keeps_state_in_status(operator: &Operator) -> bool {
    let persistence = &operator.persistence;
    let is_progress = |storage: &ProgressStorage| matches!(storage, ProgressStorage::Status { .. });
    let is_diffbase = |storage: &DiffBaseStorage| matches!(storage, DiffBaseStorage::Status { .. });
    persistence.progress.iter().any(is_progress) || persistence.diffbase.iter().any(is_diffbase)
}

fn of_peering(peering: &Peering) -> Yaml {
    let plural = super::peering::plural(peering);
    rule("kopf.dev", &[plural], &["get", "list", "watch", "create", "patch"])
        .with("resourceNames", list![&peering.name])
        .comment("peering with other operators, on its one object")
}

fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> Yaml {
    map! { "apiGroups" => list![group], "resources" => resources.to_vec(), "verbs" => verbs.to_vec() }
}
