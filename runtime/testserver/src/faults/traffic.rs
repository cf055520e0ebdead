//! Which requests a fault is for.

use crate::access::Attributes;

/// A choice of requests; each word narrows it.
///
/// ```
/// use kopf_testserver::Traffic;
///
/// let status_patches = Traffic::any().verb("patch").resource("widgets").subresource("status");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct Traffic {
    verb: Option<String>,
    resource: Option<String>,
    subresource: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    caller: Option<String>,
    query: Option<String>,
}

impl Traffic {
    /// All requests.
    pub fn any() -> Self {
        Self::default()
    }

    /// By what is done, in the words of RBAC: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`,
    /// `deletecollection`; for paths that are no resources, the HTTP method in lower case.
    pub fn verb(mut self, verb: &str) -> Self {
        self.verb = Some(verb.into());
        self
    }

    /// By the plural of a kind, such as `widgets`.
    pub fn resource(mut self, plural: &str) -> Self {
        self.resource = Some(plural.into());
        self
    }

    /// By the part of an object, such as `status`; empty for the object itself.
    pub fn subresource(mut self, subresource: &str) -> Self {
        self.subresource = Some(subresource.into());
        self
    }

    /// By the namespace.
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// By the name of an object.
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.into());
        self
    }

    /// By the name of the caller, such as `system:serviceaccount:default:operator`.
    pub fn caller(mut self, user: &str) -> Self {
        self.caller = Some(user.into());
        self
    }

    /// By a part of the query, such as `continue=`.
    pub fn query(mut self, part: &str) -> Self {
        self.query = Some(part.into());
        self
    }

    pub(crate) fn includes(&self, wanted: &Attributes, caller: &str, query: &str) -> bool {
        let is = |chosen: &Option<String>, found: &str| chosen.as_deref().is_none_or(|chosen| chosen == found);
        is(&self.verb, &wanted.verb)
            && is(&self.resource, &wanted.resource)
            && is(&self.subresource, &wanted.subresource)
            && is(&self.namespace, &wanted.namespace)
            && is(&self.name, &wanted.name)
            && is(&self.caller, caller)
            && self.query.as_deref().is_none_or(|part| query.contains(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_narrows_the_choice() {
        let wanted = Attributes {
            verb: "patch".into(),
            resource: "widgets".into(),
            subresource: "status".into(),
            namespace: "default".into(),
            name: "first".into(),
            ..Attributes::default()
        };
        let includes = |traffic: Traffic| traffic.includes(&wanted, "operator", "dryRun=All");
        assert!(includes(Traffic::any()));
        assert!(includes(
            Traffic::any()
                .verb("patch")
                .resource("widgets")
                .subresource("status")
                .namespace("default")
                .name("first")
                .caller("operator")
                .query("dryRun")
        ));
        for other in [
            Traffic::any().verb("get"),
            Traffic::any().resource("gadgets"),
            Traffic::any().subresource(""),
            Traffic::any().namespace(""),
            Traffic::any().name("second"),
            Traffic::any().caller("admin"),
            Traffic::any().query("watch"),
        ] {
            assert!(!includes(other.clone()), "{other:?}");
        }
    }
}
