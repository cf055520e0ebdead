//! The stored roles and bindings, compiled for quick decisions.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::access::rules::Rule;
use crate::access::{Attributes, RBAC, User};
use crate::kinds::Key;
use crate::store::Store;

/// Whether something is allowed, and by what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) allowed: bool,
    /// The binding that allows it, or the roles that bindings of the caller name in vain.
    pub(crate) reason: String,
}

/// Who may do what.
#[derive(Debug, Default)]
pub(crate) struct Policy {
    everywhere: Vec<Binding>,
    within: BTreeMap<String, Vec<Binding>>,
}

#[derive(Debug)]
struct Binding {
    /// Such as `ClusterRoleBinding "x" of ClusterRole "y"`.
    title: String,
    subjects: Vec<Subject>,
    role: Role,
}

#[derive(Debug)]
enum Role {
    Found(Arc<[Rule]>),
    Missing { plural: &'static str, name: String },
}

#[derive(Debug, PartialEq, Eq)]
enum Subject {
    User(String),
    Group(String),
    ServiceAccount { namespace: String, name: String },
}

/// What a caller may do in a place.
#[derive(Debug, Default)]
pub(crate) struct Held {
    pub(crate) rules: Vec<Rule>,
    /// The roles that bindings of the caller name in vain: plural and name.
    pub(crate) missing: Vec<(&'static str, String)>,
}

impl Policy {
    pub(crate) fn compile(store: &Store) -> Self {
        let mut roles = Roles {
            store,
            known: BTreeMap::new(),
        };
        let mut policy = Self::default();
        for object in store.list(&key("clusterrolebindings"), None) {
            policy.everywhere.push(Binding::compile(object, "", &mut roles));
        }
        for object in store.list(&key("rolebindings"), None) {
            let namespace = text(&object["metadata"]["namespace"]);
            let binding = Binding::compile(object, &namespace, &mut roles);
            policy.within.entry(namespace).or_default().push(binding);
        }
        policy
    }

    pub(crate) fn decide(&self, user: &User, wanted: &Attributes) -> Decision {
        if user.is_master() {
            return Decision {
                allowed: true,
                reason: String::new(),
            };
        }
        let mut missing = Vec::new();
        for (binding, subject) in self.bindings(user, &wanted.namespace) {
            match &binding.role {
                Role::Found(rules) if rules.iter().any(|rule| rule.allows(wanted)) => {
                    return Decision {
                        allowed: true,
                        reason: format!("RBAC: allowed by {} to {}", binding.title, subject.describe()),
                    };
                }
                Role::Found(_) => {}
                Role::Missing { plural, name } => missing.push((*plural, name.clone())),
            }
        }
        let reason = not_found(&missing, false).map(|text| format!("RBAC: {text}"));
        Decision {
            allowed: false,
            reason: reason.unwrap_or_default(),
        }
    }

    /// What a user may do in a namespace, or at the cluster scope.
    pub(crate) fn held(&self, user: &User, namespace: &str) -> Held {
        let mut held = Held::default();
        for (binding, _) in self.bindings(user, namespace) {
            match &binding.role {
                Role::Found(rules) => held.rules.extend(rules.iter().cloned()),
                Role::Missing { plural, name } => held.missing.push((*plural, name.clone())),
            }
        }
        held
    }

    fn bindings<'a>(&'a self, user: &'a User, namespace: &str) -> impl Iterator<Item = (&'a Binding, &'a Subject)> {
        let within = self.within.get(namespace).filter(|_| !namespace.is_empty());
        let all = self.everywhere.iter().chain(within.into_iter().flatten());
        all.filter_map(|binding| {
            let subject = binding.subjects.iter().find(|subject| subject.is(user))?;
            Some((binding, subject))
        })
    }
}

impl Held {
    /// What is said of missing roles, in the words of the authorizer or of the storage.
    pub(crate) fn errors(&self, plural: bool) -> Option<String> {
        not_found(&self.missing, plural)
    }
}

impl Binding {
    fn compile(object: &Value, namespace: &str, roles: &mut Roles<'_>) -> Self {
        let reference = &object["roleRef"];
        let (kind, role, name) = (
            text(&reference["kind"]),
            text(&reference["name"]),
            text(&object["metadata"]["name"]),
        );
        let title = if namespace.is_empty() {
            format!("ClusterRoleBinding {name:?} of {kind} {role:?}")
        } else {
            format!("RoleBinding {:?} of {kind} {role:?}", format!("{name}/{namespace}"))
        };
        let subjects = object["subjects"].as_array().into_iter().flatten();
        Self {
            title,
            subjects: subjects
                .filter_map(|subject| Subject::parse(subject, namespace))
                .collect(),
            role: if kind == "Role" {
                roles.get("roles", namespace, &role)
            } else {
                roles.get("clusterroles", "", &role)
            },
        }
    }
}

impl Subject {
    fn parse(subject: &Value, namespace: &str) -> Option<Self> {
        let name = text(&subject["name"]);
        match subject["kind"].as_str()? {
            "User" => Some(Self::User(name)),
            "Group" => Some(Self::Group(name)),
            "ServiceAccount" => {
                let given = text(&subject["namespace"]);
                let namespace = if given.is_empty() { namespace.to_owned() } else { given };
                Some(Self::ServiceAccount { namespace, name })
            }
            _ => None,
        }
    }

    fn is(&self, user: &User) -> bool {
        match self {
            Self::User(name) => user.name == *name,
            Self::Group(name) => user.groups.contains(name),
            Self::ServiceAccount { namespace, name } => user
                .service_account_name()
                .is_some_and(|(of, account)| of == namespace && account == name),
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::User(name) => format!("User {name:?}"),
            Self::Group(name) => format!("Group {name:?}"),
            Self::ServiceAccount { namespace, name } => format!("ServiceAccount {:?}", format!("{name}/{namespace}")),
        }
    }
}

struct Roles<'a> {
    store: &'a Store,
    known: BTreeMap<(&'static str, String, String), Arc<[Rule]>>,
}

impl Roles<'_> {
    fn get(&mut self, plural: &'static str, namespace: &str, name: &str) -> Role {
        let place = (plural, namespace.to_owned(), name.to_owned());
        if let Some(rules) = self.known.get(&place) {
            return Role::Found(Arc::clone(rules));
        }
        let Some(object) = self.store.get(&key(plural), namespace, name) else {
            let name = name.to_owned();
            return Role::Missing { plural, name };
        };
        let rules: Arc<[Rule]> = rules_of(object).into();
        self.known.insert(place, Arc::clone(&rules));
        Role::Found(rules)
    }
}

/// The rules of a role; those that are no rules allow nothing.
pub(crate) fn rules_of(role: &Value) -> Vec<Rule> {
    let rules = role["rules"].as_array().into_iter().flatten();
    rules
        .filter_map(|rule| serde_json::from_value(rule.clone()).ok())
        .collect()
}

pub(crate) fn key(plural: &str) -> Key {
    (RBAC.to_owned(), plural.to_owned())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn not_found(missing: &[(&'static str, String)], plural: bool) -> Option<String> {
    let texts = missing.iter().map(|(kind, name)| {
        let kind = if plural { kind } else { kind.trim_end_matches('s') };
        format!("{kind}.{RBAC} {name:?} not found")
    });
    let texts: Vec<_> = texts.collect();
    match &texts[..] {
        [] => None,
        [text] => Some(text.clone()),
        texts => Some(format!("[{}]", texts.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn policy(objects: &[(&str, Value)]) -> Policy {
        let mut store = Store::new();
        for (plural, object) in objects {
            store.put(&key(plural), object.clone());
        }
        Policy::compile(&store)
    }

    fn role(name: &str, namespace: &str, resource: &str) -> Value {
        json!({
            "metadata": {"name": name, "namespace": namespace},
            "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": [resource]}],
        })
    }

    fn binding(namespace: &str, kind: &str, role: &str, subjects: &Value) -> Value {
        json!({
            "metadata": {"name": "b", "namespace": namespace},
            "roleRef": {"kind": kind, "name": role},
            "subjects": subjects,
        })
    }

    fn get(resource: &str, namespace: &str) -> Attributes {
        Attributes {
            verb: "get".into(),
            resource: resource.into(),
            namespace: namespace.into(),
            ..Attributes::default()
        }
    }

    #[test]
    fn a_cluster_role_bound_in_a_namespace_counts_there_only() {
        let policy = policy(&[
            ("clusterroles", role("r", "", "pods")),
            (
                "rolebindings",
                binding("a", "ClusterRole", "r", &json!([{"kind": "Group", "name": "g"}])),
            ),
        ]);
        let mut user = User::named("u");
        assert!(!policy.decide(&user, &get("pods", "a")).allowed);
        user.groups.push("g".into());
        assert_eq!(
            policy.decide(&user, &get("pods", "a")).reason,
            r#"RBAC: allowed by RoleBinding "b/a" of ClusterRole "r" to Group "g""#
        );
        assert!(!policy.decide(&user, &get("pods", "b")).allowed);
        assert!(!policy.decide(&user, &get("pods", "")).allowed);
    }

    #[test]
    fn a_service_account_is_looked_for_in_the_namespace_of_the_binding() {
        let policy = policy(&[
            ("roles", role("r", "a", "pods")),
            (
                "rolebindings",
                binding("a", "Role", "r", &json!([{"kind": "ServiceAccount", "name": "op"}])),
            ),
        ]);
        let decide = |namespace: &str| policy.decide(&User::service_account(namespace, "op"), &get("pods", "a"));
        assert_eq!(
            decide("a").reason,
            r#"RBAC: allowed by RoleBinding "b/a" of Role "r" to ServiceAccount "op/a""#
        );
        assert!(!decide("b").allowed);
    }

    #[test]
    fn roles_that_are_not_there_are_told() {
        let subjects = json!([{"kind": "User", "name": "u"}]);
        let policy = policy(&[
            ("clusterrolebindings", binding("", "ClusterRole", "x", &subjects)),
            ("rolebindings", binding("a", "Role", "y", &subjects)),
        ]);
        let user = User::named("u");
        assert_eq!(
            policy.decide(&user, &get("pods", "")).reason,
            r#"RBAC: clusterrole.rbac.authorization.k8s.io "x" not found"#
        );
        assert_eq!(
            policy.held(&user, "a").errors(true).unwrap(),
            r#"[clusterroles.rbac.authorization.k8s.io "x" not found, roles.rbac.authorization.k8s.io "y" not found]"#
        );
    }

    #[test]
    fn masters_need_no_role() {
        let decision = Policy::default().decide(&User::admin(), &get("pods", ""));
        assert!(decision.allowed && decision.reason.is_empty());
    }
}
