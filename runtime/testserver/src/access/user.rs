//! Callers, as the server knows them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

const AUTHENTICATED: &str = "system:authenticated";
const ANONYMOUS: &str = "system:anonymous";
const UNAUTHENTICATED: &str = "system:unauthenticated";
const MASTERS: &str = "system:masters";
const ACCOUNT: &str = "system:serviceaccount:";

/// A caller, as the server knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct User {
    /// The name, such as `system:serviceaccount:default:operator`.
    pub name: String,
    /// The unique id; empty where there is none.
    pub uid: String,
    /// The groups that the caller belongs to.
    pub groups: Vec<String>,
    /// What else is known, such as the pod that a token was made for.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// The administrator, who may do everything.
    pub fn admin() -> Self {
        Self {
            name: "admin".into(),
            groups: vec![MASTERS.into(), AUTHENTICATED.into()],
            ..Self::default()
        }
    }

    /// Somebody with this name, who has no rights but those of everybody.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.into(),
            groups: vec![AUTHENTICATED.into()],
            ..Self::default()
        }
    }

    /// A service account. It need not exist yet.
    pub fn service_account(namespace: &str, name: &str) -> Self {
        Self {
            name: format!("{ACCOUNT}{namespace}:{name}"),
            groups: account_groups(namespace)
                .into_iter()
                .chain([AUTHENTICATED.into()])
                .collect(),
            ..Self::default()
        }
    }

    /// Somebody without credentials.
    pub fn anonymous() -> Self {
        Self {
            name: ANONYMOUS.into(),
            groups: vec![UNAUTHENTICATED.into()],
            ..Self::default()
        }
    }

    /// Somebody whom another one speaks for, as they say: with the groups that such a name has anyway.
    pub(crate) fn impersonated(name: &str, groups: Vec<String>) -> Self {
        let mut user = Self {
            name: name.into(),
            groups,
            ..Self::default()
        };
        if user.groups.is_empty()
            && let Some((namespace, _)) = user.service_account_name()
        {
            user.groups = account_groups(namespace).into();
        }
        let common = if name == ANONYMOUS {
            UNAUTHENTICATED
        } else {
            AUTHENTICATED
        };
        let marked = |group: &String| group == AUTHENTICATED || group == UNAUTHENTICATED;
        if !user.groups.iter().any(marked) {
            user.groups.push(common.into());
        }
        user
    }

    /// Whether everything is allowed.
    pub(crate) fn is_master(&self) -> bool {
        self.groups.iter().any(|group| group == MASTERS)
    }

    /// Namespace and name, if this is a service account.
    pub(crate) fn service_account_name(&self) -> Option<(&str, &str)> {
        self.name.strip_prefix(ACCOUNT)?.split_once(':')
    }

    /// The form in which reviews tell of a caller.
    pub(crate) fn to_value(&self) -> Value {
        let mut value = json!({"username": self.name});
        if !self.uid.is_empty() {
            value["uid"] = json!(self.uid);
        }
        if !self.groups.is_empty() {
            value["groups"] = json!(self.groups);
        }
        if !self.extra.is_empty() {
            value["extra"] = json!(self.extra);
        }
        value
    }
}

fn account_groups(namespace: &str) -> [String; 2] {
    [
        "system:serviceaccounts".into(),
        format!("system:serviceaccounts:{namespace}"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impersonated_accounts_have_their_groups_unless_others_are_given() {
        let name = "system:serviceaccount:a:op";
        assert_eq!(User::impersonated(name, Vec::new()), User::service_account("a", "op"));
        let with = User::impersonated(name, vec!["g".into()]);
        assert_eq!(with.groups, ["g", AUTHENTICATED]);
        assert_eq!(User::impersonated(ANONYMOUS, Vec::new()), User::anonymous());
    }
}
