//! Who asks, and what they may do.

pub(crate) mod reviews;

use http::HeaderMap;

use crate::cluster::Cluster;
use crate::status::Status;

/// A caller, as the server knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The name, such as `system:serviceaccount:default:operator`.
    pub name: String,
    /// The unique id; empty where there is none.
    pub uid: String,
    /// The groups that the caller belongs to.
    pub groups: Vec<String>,
}

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

impl User {
    /// The administrator, who may do everything.
    pub fn admin() -> Self {
        Self {
            name: "admin".into(),
            uid: String::new(),
            groups: vec!["system:masters".into(), "system:authenticated".into()],
        }
    }

    /// A service account. It need not exist yet.
    pub fn service_account(namespace: &str, name: &str) -> Self {
        Self {
            name: format!("system:serviceaccount:{namespace}:{name}"),
            uid: String::new(),
            groups: vec![
                "system:serviceaccounts".into(),
                format!("system:serviceaccounts:{namespace}"),
                "system:authenticated".into(),
            ],
        }
    }
}

/// Finds out who asks. A request without credentials is of the caller that the connection was made for.
pub(crate) fn authenticate(_cluster: &Cluster, connection: &User, _headers: &HeaderMap) -> Result<User, Status> {
    Ok(connection.clone())
}

/// Refuses what the caller may not do.
pub(crate) fn authorize(_cluster: &Cluster, _user: &User, _attributes: &Attributes) -> Result<(), Status> {
    Ok(())
}
