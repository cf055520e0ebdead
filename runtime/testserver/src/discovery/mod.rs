//! What the server says about what it serves.

pub(crate) mod openapi;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::kinds::{Kind, Kinds};
use crate::status::Status;

/// `/api`.
pub(crate) fn core() -> Value {
    json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})
}

/// `/apis`.
pub(crate) fn groups(kinds: &Kinds) -> Value {
    let mut names = BTreeMap::new();
    for kind in kinds.all().filter(|kind| !kind.group.is_empty()) {
        names
            .entry(kind.group.as_str())
            .or_insert_with(|| describe_group(kinds, &kind.group));
    }
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": names.values().collect::<Vec<_>>()})
}

/// `/apis/GROUP`.
pub(crate) fn group(kinds: &Kinds, name: &str) -> Result<Value, Status> {
    if kinds.all().all(|kind| kind.group != name || kind.group.is_empty()) {
        return Err(Status::no_such_path());
    }
    let mut group = describe_group(kinds, name);
    group["kind"] = json!("APIGroup");
    group["apiVersion"] = json!("v1");
    Ok(group)
}

/// `/api/v1` and `/apis/GROUP/VERSION`.
pub(crate) fn resources(kinds: &Kinds, group: &str, version: &str) -> Result<Value, Status> {
    let mut resources = Vec::new();
    let mut group_version = None;
    for kind in kinds.all().filter(|kind| kind.group == group) {
        let Some(served) = kind.version(version) else {
            continue;
        };
        group_version = Some(kind.api_version(version));
        resources.push(describe_kind(kind));
        if served.status {
            resources.push(json!({
                "name": format!("{}/status", kind.plural), "singularName": "", "namespaced": kind.namespaced,
                "kind": kind.kind, "verbs": ["get", "patch", "update"],
            }));
        }
    }
    let group_version = group_version.ok_or_else(Status::no_such_path)?;
    Ok(json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources,
    }))
}

/// `/version`.
pub(crate) fn version() -> Value {
    // The release whose habits are followed where releases differ.
    json!({
        "major": "1", "minor": "32", "gitVersion": "v1.32.0-kopf-testserver", "gitCommit": "", "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "rustc", "platform": "",
    })
}

fn describe_group(kinds: &Kinds, name: &str) -> Value {
    let mut versions: Vec<&str> = Vec::new();
    for kind in kinds.all().filter(|kind| kind.group == name) {
        for version in &kind.versions {
            if !versions.contains(&version.name.as_str()) {
                versions.push(&version.name);
            }
        }
    }
    versions.sort_by_cached_key(|version| std::cmp::Reverse(crate::kinds::crds::priority(version)));
    let versions: Vec<_> = versions
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
