//! Paths and queries of the API.

use http::Method;
use percent_encoding::percent_decode_str;

use crate::access::Attributes;
use crate::status::Status;

/// What a path leads to.
#[derive(Debug, PartialEq)]
pub(crate) enum Route {
    Health,
    Version,
    Core,
    Groups,
    Group(String),
    Resources { group: String, version: String },
    OldDocument,
    Documents,
    Document { group: String, version: String },
    Objects(Target),
}

/// A collection, an object or a subresource.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Target {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<String>,
    /// Whether the path is one of those, older than the parameter, that ask for a watch.
    pub(crate) watch: bool,
}

pub(crate) fn route(path: &str) -> Option<Route> {
    let segments: Vec<String> = path
        .trim_matches('/')
        .split('/')
        .map(|segment| percent_decode_str(segment).decode_utf8_lossy().into_owned())
        .collect();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    Some(match segments[..] {
        ["healthz" | "readyz" | "livez", ..] => Route::Health,
        ["version"] => Route::Version,
        ["openapi", "v2"] => Route::OldDocument,
        ["openapi", "v3"] => Route::Documents,
        ["openapi", "v3", "api", version] => Route::Document {
            group: String::new(),
            version: version.into(),
        },
        ["openapi", "v3", "apis", group, version] => Route::Document {
            group: group.into(),
            version: version.into(),
        },
        ["api"] => Route::Core,
        ["apis"] => Route::Groups,
        ["apis", group] => Route::Group(group.into()),
        ["api", version] => Route::Resources {
            group: String::new(),
            version: version.into(),
        },
        ["apis", group, version] => Route::Resources {
            group: group.into(),
            version: version.into(),
        },
        ["api", version, "watch", ref rest @ ..] => Route::Objects(watched(target("", version, rest)?)),
        ["apis", group, version, "watch", ref rest @ ..] => Route::Objects(watched(target(group, version, rest)?)),
        ["api", version, ref rest @ ..] => Route::Objects(target("", version, rest)?),
        ["apis", group, version, ref rest @ ..] => Route::Objects(target(group, version, rest)?),
        _ => return None,
    })
}

fn watched(target: Target) -> Target {
    Target { watch: true, ..target }
}

fn target(group: &str, version: &str, rest: &[&str]) -> Option<Target> {
    let of = |plural: &str| Target {
        group: group.into(),
        version: version.into(),
        plural: plural.into(),
        ..Target::default()
    };
    let (mut target, tail) = match *rest {
        // A namespace is an object too; its subresources look like resources inside of it.
        ["namespaces", _, "status" | "finalize"] | ["namespaces"] | ["namespaces", _] => (of("namespaces"), &rest[1..]),
        ["namespaces", namespace, plural, ..] => (
            Target {
                namespace: Some(namespace.into()),
                ..of(plural)
            },
            &rest[3..],
        ),
        [plural, ..] => (of(plural), &rest[1..]),
        [] => return None,
    };
    target.name = tail.first().map(|&name| name.to_owned());
    target.subresource = (tail.len() > 1).then(|| tail[1..].join("/"));
    Some(target)
}

/// What a request wants to do, for the decision whether its caller may.
pub(crate) fn attributes(route: Option<&Route>, method: &Method, path: &str, query: &Query) -> Attributes {
    let Some(Route::Objects(target)) = route else {
        return Attributes {
            verb: method.as_str().to_lowercase(),
            path: path.into(),
            ..Attributes::default()
        };
    };
    let mut name = target.name.clone().unwrap_or_default();
    let verb = match *method {
        Method::GET if target.watch || (name.is_empty() && query.flag("watch")) => "watch",
        Method::GET if name.is_empty() => "list",
        Method::GET => "get",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE if name.is_empty() => "deletecollection",
        Method::DELETE => "delete",
        _ => method.as_str(),
    };
    if name.is_empty() && matches!(verb, "list" | "watch" | "deletecollection") {
        // A collection that is limited to one name counts as that object.
        let fields = query.get("fieldSelector").split(',');
        let named = fields.filter_map(|field| field.strip_prefix("metadata.name="));
        let mut named = named.map(|name| name.trim_start_matches('='));
        named.next().unwrap_or_default().clone_into(&mut name);
    }
    let is_namespace = target.group.is_empty() && target.plural == "namespaces";
    Attributes {
        verb: verb.to_lowercase(),
        group: target.group.clone(),
        version: target.version.clone(),
        resource: target.plural.clone(),
        subresource: target.subresource.clone().unwrap_or_default(),
        // A namespace as an object lies in itself.
        namespace: target
            .namespace
            .clone()
            .unwrap_or_else(|| if is_namespace { name.clone() } else { String::new() }),
        name,
        path: String::new(),
    }
}

/// The parameters of a query.
#[derive(Debug)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(text: &str) -> Self {
        Self(form_urlencoded::parse(text.as_bytes()).into_owned().collect())
    }

    /// The first value of a parameter; empty if it is absent.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map_or("", |(_, value)| value)
    }

    /// All values of a parameter.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0
            .iter()
            .filter(move |(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        // Whatever does not say no says yes, even a name without a value.
        let value = self.0.iter().find(|(key, _)| key == name);
        value.is_some_and(|(_, value)| value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    /// Whether a parameter is there at all.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }

    /// The number in a parameter; nothing if it is absent or empty.
    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>, Status> {
        let text = self.get(name);
        if text.is_empty() {
            return Ok(None);
        }
        text.parse()
            .map(Some)
            .map_err(|_| Status::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(path: &str) -> Target {
        match route(path) {
            Some(Route::Objects(target)) => target,
            other => panic!("{path}: {other:?}"),
        }
    }

    #[test]
    fn namespaces_are_objects_and_places() {
        assert_eq!(objects("/api/v1/namespaces/a").name.as_deref(), Some("a"));
        assert_eq!(
            objects("/api/v1/namespaces/a/status").subresource.as_deref(),
            Some("status")
        );
        let pods = objects("/api/v1/namespaces/a/pods");
        assert_eq!(
            (pods.plural.as_str(), pods.namespace.as_deref(), pods.name),
            ("pods", Some("a"), None)
        );
    }

    #[test]
    fn names_are_decoded() {
        let role = objects("/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Aview");
        assert_eq!(role.name.as_deref(), Some("system:view"));
    }

    #[test]
    fn subresources_are_kept_apart() {
        let status = objects("/apis/demo.example.com/v1/namespaces/default/greetings/hello/status");
        assert_eq!(
            (status.name.as_deref(), status.subresource.as_deref()),
            (Some("hello"), Some("status"))
        );
    }
}
