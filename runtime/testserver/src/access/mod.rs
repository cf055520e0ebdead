//! Who asks, and what they may do.

pub(crate) mod accounts;
pub(crate) mod aggregation;
mod authentication;
mod built_in;
pub(crate) mod escalation;
mod policy;
pub(crate) mod reviews;
mod rules;
pub(crate) mod tokens;
mod user;
pub(crate) mod validation;

use std::cell::OnceCell;
use std::sync::Arc;

use serde_json::{Value, json};

pub use crate::access::user::User;

pub(crate) use crate::access::authentication::authenticate;
pub(crate) use crate::access::built_in::install;

use crate::access::policy::Policy;
use crate::access::tokens::Issuer;
use crate::cluster::{Cluster, Place};
use crate::kinds::Kind;
use crate::status::Status;

/// The group of roles and their bindings.
pub(crate) const RBAC: &str = "rbac.authorization.k8s.io";

/// What a request wants to do: to a resource, or to a path that is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Attributes {
    /// Such as `get`, `list`, `watch`, `create`, `deletecollection`.
    pub(crate) verb: String,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) resource: String,
    pub(crate) subresource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// The path of a request that is not for a resource; empty otherwise.
    pub(crate) path: String,
}

/// What a cluster knows of access beside its objects.
#[derive(Debug, Default)]
pub(crate) struct Access {
    pub(crate) issuer: Issuer,
    /// Compiled when it is asked for the first time after a change.
    policy: OnceCell<Arc<Policy>>,
}

impl Attributes {
    /// Whether this is about a path that is no resource.
    pub(crate) fn is_path(&self) -> bool {
        !self.path.is_empty()
    }
}

/// Refuses what the caller may not do.
pub(crate) fn authorize(cluster: &Cluster, user: &User, wanted: &Attributes) -> Result<(), Status> {
    if user.is_master() {
        return Ok(());
    }
    let decision = policy(cluster).decide(user, wanted);
    if decision.allowed {
        Ok(())
    } else {
        Err(forbidden(user, wanted, &decision.reason))
    }
}

/// Refuses an update that creates its object to those who may not create it. The real server gives no more than the
/// authorizer's reason here, which is mostly none.
pub(crate) fn authorize_creation(cluster: &Cluster, user: &User, place: &Place, name: &str) -> Result<(), Status> {
    let wanted = Attributes {
        verb: "create".into(),
        group: place.kind.group.clone(),
        version: place.version.clone(),
        resource: place.kind.plural.clone(),
        namespace: place.namespace.clone(),
        name: name.into(),
        ..Attributes::default()
    };
    let decision = policy(cluster).decide(user, &wanted);
    if decision.allowed {
        Ok(())
    } else {
        Err(Status::forbidden(&place.kind, name, &decision.reason))
    }
}

/// The roles and bindings as they are now.
fn policy(cluster: &Cluster) -> &Arc<Policy> {
    let compile = || Arc::new(Policy::compile(&cluster.store));
    cluster.access.policy.get_or_init(compile)
}

/// Follows a change of a stored object, as the controllers of a cluster do, though at once.
pub(crate) fn changed(cluster: &mut Cluster, kind: &Kind, object: &Value) {
    match (kind.group.as_str(), kind.plural.as_str()) {
        (RBAC, plural) => {
            cluster.access.policy.take();
            if plural == "clusterroles" {
                aggregation::follow(cluster);
            }
        }
        ("", "namespaces" | "serviceaccounts" | "configmaps") => accounts::follow(cluster, kind, object),
        _ => {}
    }
}

fn forbidden(user: &User, wanted: &Attributes, reason: &str) -> Status {
    let (name, verb) = (&user.name, &wanted.verb);
    let mut message = if wanted.is_path() {
        format!("forbidden: User {name:?} cannot {verb} path {:?}", wanted.path)
    } else {
        let Attributes {
            group,
            resource,
            subresource,
            namespace,
            ..
        } = wanted;
        let what = if subresource.is_empty() {
            resource.clone()
        } else {
            format!("{resource}/{subresource}")
        };
        let object = match (group.as_str(), wanted.name.as_str()) {
            ("", "") => resource.clone(),
            (_, "") => format!("{resource}.{group}"),
            ("", object) => format!("{resource} {object:?}"),
            (_, object) => format!("{resource}.{group} {object:?}"),
        };
        let place = if namespace.is_empty() {
            "at the cluster scope".into()
        } else {
            format!("in the namespace {namespace:?}")
        };
        format!("{object} is forbidden: User {name:?} cannot {verb} resource {what:?} in API group {group:?} {place}")
    };
    if !reason.is_empty() {
        message = format!("{message}: {reason}");
    }
    let mut status = Status::new(403, "Forbidden", message);
    status.details = json!({});
    for (field, value) in [
        ("name", &wanted.name),
        ("group", &wanted.group),
        ("kind", &wanted.resource),
    ] {
        if !value.is_empty() {
            status.details[field] = json!(value);
        }
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(wanted: &Attributes, reason: &str) -> (String, Value) {
        let status = forbidden(&User::named("u"), wanted, reason);
        (status.message, status.details)
    }

    #[test]
    fn refusals_name_object_subresource_and_place() {
        let mut wanted = Attributes {
            verb: "get".into(),
            resource: "pods".into(),
            subresource: "log".into(),
            namespace: "ns".into(),
            name: "a".into(),
            ..Attributes::default()
        };
        assert_eq!(
            message(&wanted, "").0,
            r#"pods "a" is forbidden: User "u" cannot get resource "pods/log" in API group "" in the namespace "ns""#
        );
        wanted = Attributes {
            verb: "list".into(),
            group: "apps".into(),
            resource: "deployments".into(),
            ..Attributes::default()
        };
        assert_eq!(
            message(&wanted, "RBAC: x"),
            (
                r#"deployments.apps is forbidden: User "u" cannot list resource "deployments" in API group "apps" at the cluster scope: RBAC: x"#
                    .into(),
                json!({"group": "apps", "kind": "deployments"})
            )
        );
    }

    #[test]
    fn refusals_of_paths_name_the_path() {
        let wanted = Attributes {
            verb: "get".into(),
            path: "/metrics".into(),
            ..Attributes::default()
        };
        assert_eq!(
            message(&wanted, ""),
            (r#"forbidden: User "u" cannot get path "/metrics""#.into(), json!({}))
        );
    }
}
