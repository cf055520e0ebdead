//! What the server says about what it serves.

pub(crate) mod aggregated;
pub(crate) mod openapi;

use serde_json::{Value, json};

use crate::kinds::{Kind, Kinds, crds, unserved};
use crate::status::Status;

/// Built-in groups in the order of their priority; custom ones follow.
pub(crate) const GROUPS: [&str; 19] = [
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "flowcontrol.apiserver.k8s.io",
];

/// `/api`.
pub(crate) fn core() -> Value {
    let addresses = json!([{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:443"}]);
    json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses})
}

/// `/apis`.
pub(crate) fn groups(kinds: &Kinds) -> Value {
    let groups: Vec<_> = group_names(kinds)
        .into_iter()
        .map(|name| describe_group(kinds, name))
        .collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/apis/GROUP`.
pub(crate) fn group(kinds: &Kinds, name: &str) -> Result<Value, Status> {
    if name.is_empty() || versions_of(kinds, name).is_empty() {
        return Err(unserved::group(name, ""));
    }
    let mut group = describe_group(kinds, name);
    group["kind"] = json!("APIGroup");
    group["apiVersion"] = json!("v1");
    Ok(group)
}

/// `/api/v1` and `/apis/GROUP/VERSION`.
pub(crate) fn resources(kinds: &Kinds, group: &str, version: &str) -> Result<Value, Status> {
    let mut resources = Vec::new();
    for kind in served_in(kinds, group, version) {
        resources.push(describe_kind(kind));
        for subresource in subresources(kind, version) {
            let mut described = json!({
                "name": format!("{}/{}", kind.plural, subresource.name), "singularName": "",
                "namespaced": kind.namespaced, "kind": subresource.kind, "verbs": subresource.verbs,
            });
            if let Some((group, version)) = subresource.of {
                described["group"] = json!(group);
                described["version"] = json!(version);
            }
            resources.push(described);
        }
    }
    if resources.is_empty() {
        return Err(unserved::group(group, version));
    }
    let group_version = if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    };
    let mut list = json!({"kind": "APIResourceList", "groupVersion": group_version, "resources": resources});
    if !group.is_empty() {
        // The list of the core group is the oldest, and has none.
        list["apiVersion"] = json!("v1");
    }
    Ok(list)
}

/// `/`.
pub(crate) fn paths(kinds: &Kinds) -> Value {
    let apart = [
        "/healthz",
        "/livez",
        "/openapi/v2",
        "/openapi/v3",
        "/readyz",
        "/version",
    ];
    let mut paths: Vec<String> = ["/api", "/api/v1", "/apis"]
        .into_iter()
        .chain(apart)
        .map(String::from)
        .collect();
    for name in group_names(kinds) {
        paths.push(format!("/apis/{name}"));
        paths.extend(
            versions_of(kinds, name)
                .iter()
                .map(|version| format!("/apis/{name}/{version}")),
        );
    }
    paths.sort();
    json!({"paths": paths})
}

/// `/version`.
pub(crate) fn version() -> Value {
    // The release whose habits are followed where releases differ.
    json!({
        "major": "1", "minor": "32", "gitVersion": "v1.32.0-kopf-testserver", "gitCommit": "", "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "rustc", "platform": "",
    })
}

/// A path below an object.
struct Subresource {
    name: &'static str,
    kind: String,
    /// Group and version of its kind, if they are not those of the object.
    of: Option<(&'static str, &'static str)>,
    verbs: &'static [&'static str],
}

fn subresources(kind: &Kind, version: &str) -> Vec<Subresource> {
    let mut all = Vec::new();
    let Some(served) = kind.version(version) else {
        return all;
    };
    let changed = &["get", "patch", "update"];
    if served.status {
        all.push(Subresource {
            name: "status",
            kind: kind.kind.clone(),
            of: None,
            verbs: changed,
        });
    }
    if served.scale.is_some() {
        all.push(Subresource {
            name: "scale",
            kind: "Scale".into(),
            of: Some(("autoscaling", "v1")),
            verbs: changed,
        });
    }
    if !kind.custom {
        all.sort_by_key(|subresource| subresource.name);
    }
    if kind.group.is_empty() && kind.plural == "serviceaccounts" {
        all.push(Subresource {
            name: "token",
            kind: "TokenRequest".into(),
            of: Some(("authentication.k8s.io", "v1")),
            verbs: &["create"],
        });
    }
    all
}

/// Group names in order, less the core group.
fn group_names(kinds: &Kinds) -> Vec<&str> {
    let mut names: Vec<&str> = kinds
        .all()
        .map(|kind| kind.group.as_str())
        .filter(|name| !name.is_empty())
        .collect();
    let rank = |name: &str| GROUPS.iter().position(|each| *each == name).unwrap_or(GROUPS.len());
    names.sort_by_key(|name| (rank(name), *name));
    names.dedup();
    names
}

/// The versions of a group, the preferred one first.
fn versions_of<'a>(kinds: &'a Kinds, group: &str) -> Vec<&'a str> {
    let mut versions: Vec<&str> = kinds
        .all()
        .filter(|kind| kind.group == group)
        .flat_map(|kind| kind.versions.iter().map(|version| version.name.as_str()))
        .collect();
    versions.sort_by_cached_key(|version| std::cmp::Reverse(crds::priority(version)));
    versions.dedup();
    versions
}

fn served_in<'a>(kinds: &'a Kinds, group: &'a str, version: &'a str) -> impl Iterator<Item = &'a Kind> {
    let kinds = kinds.all().map(AsRef::as_ref);
    kinds.filter(move |kind: &&Kind| kind.group == group && kind.version(version).is_some())
}

fn describe_group(kinds: &Kinds, name: &str) -> Value {
    let versions: Vec<_> = versions_of(kinds, name)
        .iter()
        .map(|version| json!({"groupVersion": format!("{name}/{version}"), "version": version}))
        .collect();
    json!({"name": name, "versions": versions, "preferredVersion": versions.first()})
}

fn describe_kind(kind: &Kind) -> Value {
    let mut resource = json!({
        "name": kind.plural, "singularName": kind.singular, "namespaced": kind.namespaced, "kind": kind.kind,
        "verbs": kind.verbs,
    });
    if !kind.short_names.is_empty() {
        resource["shortNames"] = json!(kind.short_names);
    }
    if !kind.categories.is_empty() {
        resource["categories"] = json!(kind.categories);
    }
    resource
}
