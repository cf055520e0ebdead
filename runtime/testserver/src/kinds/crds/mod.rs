//! Custom resource definitions: what the server completes in them, and the kinds they make.

mod cells;
mod defaults;
mod definition;
mod keywords;
pub(crate) mod labels;
mod names;
mod reading;
mod rules;
mod serving;
mod structural;
mod subresources;

use std::cmp::Reverse;

use serde_json::{Value, json};

use crate::kinds::{CUSTOM, Column, ENDING, Kind, Scale, Traits, Version, jsonpath};
use crate::status::Status;

pub(crate) use cells::cell;
pub(crate) use definition::faults;
pub(crate) use names::{accept, are_accepted};
pub(crate) use reading::{as_stored, read};

pub(crate) const GROUP: &str = "apiextensions.k8s.io";
pub(crate) const PLURAL: &str = "customresourcedefinitions";

pub(crate) fn is_crd(kind: &Kind) -> bool {
    kind.group == GROUP && kind.plural == PLURAL
}

/// Fills in what a definition may leave out.
pub(crate) fn set_defaults(crd: &mut Value) {
    let names = &mut crd["spec"]["names"];
    if !names.is_object() {
        *names = json!({});
    }
    let kind = names["kind"].as_str().unwrap_or_default().to_owned();
    set_if_missing(names, "singular", json!(kind.to_lowercase()));
    if !kind.is_empty() {
        set_if_missing(names, "listKind", json!(format!("{kind}List")));
    }
    set_if_missing(&mut crd["spec"], "conversion", json!({"strategy": "None"}));
    let storage = list(&crd["spec"]["versions"])
        .iter()
        .find(|version| version["storage"] == true);
    let storage = storage.map(|version| version["name"].clone());
    if !crd["status"].is_object() {
        crd["status"] = json!({});
    }
    set_if_missing(&mut crd["status"], "acceptedNames", json!({"kind": "", "plural": ""}));
    set_if_missing(&mut crd["status"], "conditions", json!([]));
    let mut stored = list(&crd["status"]["storedVersions"]).to_vec();
    if let Some(storage) = storage.filter(|storage| !stored.contains(storage)) {
        stored.push(storage);
    }
    crd["status"]["storedVersions"] = json!(stored);
}

/// Refuses a sound definition that asks for what is not served.
pub(crate) fn check_served(crd: &Value) -> Result<(), Status> {
    if crd["spec"]["conversion"]["strategy"] == "Webhook" {
        return Err(Status::not_implemented("conversion webhooks"));
    }
    if cfg!(not(feature = "cel")) && rules::has_rules(&crd["spec"]["versions"]) {
        let what = "rules in schemas (x-kubernetes-validations) without its feature `cel`";
        return Err(Status::not_implemented(what));
    }
    Ok(())
}

/// The kind that a complete CRD defines.
pub(crate) fn kind_of(crd: &Value) -> Kind {
    let spec = &crd["spec"];
    // A name that another kind has is not taken, whatever the definition wants.
    let names = &crd["status"]["acceptedNames"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let texts = |value: &Value| list(value).iter().map(&text).collect::<Vec<_>>();
    let (mut versions, unserved): (Vec<_>, Vec<_>) = list(&spec["versions"])
        .iter()
        .partition(|version| version["served"] == true);
    versions.sort_by_cached_key(|version| Reverse(priority(version["name"].as_str().unwrap_or_default())));
    let version_of = |version: &&Value| version_of(crd, version);
    let storage = list(&spec["versions"])
        .iter()
        .find(|version| version["storage"] == true);
    Kind {
        group: text(&spec["group"]),
        plural: text(&names["plural"]),
        singular: text(&names["singular"]),
        kind: text(&names["kind"]),
        list_kind: text(&names["listKind"]),
        short_names: texts(&names["shortNames"]),
        categories: texts(&names["categories"]),
        namespaced: spec["scope"] == "Namespaced",
        versions: versions.iter().map(version_of).collect(),
        unserved: unserved.iter().map(version_of).collect(),
        revised: false,
        storage: storage.map(|version| text(&version["name"])).unwrap_or_default(),
        custom: true,
        verbs: if is_ending(crd) { ENDING } else { CUSTOM },
        traits: Traits::CUSTOM,
    }
}

fn is_ending(crd: &Value) -> bool {
    let mut conditions = list(&crd["status"]["conditions"]).iter();
    conditions.any(|condition| condition["type"] == "Terminating" && condition["status"] == "True")
}

fn version_of(crd: &Value, version: &Value) -> Version {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let columns = list(&version["additionalPrinterColumns"]).iter().map(|column| Column {
        name: text(&column["name"]),
        kind: text(&column["type"]),
        path: text(&column["jsonPath"]),
        format: text(&column["format"]),
        description: text(&column["description"]),
        priority: column["priority"].as_i64().unwrap_or_default(),
    });
    let name = text(&version["name"]);
    let deprecation = || {
        let given = version["deprecationWarning"].as_str();
        given.map_or_else(|| deprecation(&crd["spec"], &name), str::to_owned)
    };
    let scale = &version["subresources"]["scale"];
    Version {
        status: subresources::has_status(version),
        schema: version["schema"].get("openAPIV3Schema").cloned(),
        // What follows a path that cannot be read is not shown either.
        columns: columns
            .take_while(|column| jsonpath::parse(&column.path).is_ok())
            .collect(),
        scale: scale.is_object().then(|| Scale {
            wanted: text(&scale["specReplicasPath"]),
            found: text(&scale["statusReplicasPath"]),
            selector: scale["labelSelectorPath"]
                .as_str()
                .filter(|path| !path.is_empty())
                .map(str::to_owned),
        }),
        selectable: list(&version["selectableFields"])
            .iter()
            .map(|field| text(&field["jsonPath"]).trim_start_matches('.').to_owned())
            .collect(),
        deprecation: (version["deprecated"] == true).then(deprecation),
        name,
    }
}

/// What is said of a version if its definition does not say it: which one should be used instead.
fn deprecation(spec: &Value, name: &str) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (group, kind) = (text(&spec["group"]), text(&spec["names"]["kind"]));
    let usable = list(&spec["versions"])
        .iter()
        .filter(|version| version["served"] == true && version["deprecated"] != true)
        .map(|version| text(&version["name"]))
        .filter(|other| priority(other) > priority(name));
    let better = usable.max_by_key(|other| priority(other));
    let instead = better.map_or_else(String::new, |better| format!("; use {group}/{better} {kind}"));
    format!("{group}/{name} {kind} is deprecated{instead}")
}

/// Orders versions as the server prefers them: `v2`, `v1`, `v1beta1`, `v1alpha1`, then all other words.
pub(crate) fn priority(name: &str) -> (u8, u64, u64, Reverse<String>) {
    let parse = || {
        let rest = name.strip_prefix('v')?;
        let split = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let major = rest[..split].parse().ok()?;
        let (rank, minor) = match &rest[split..] {
            "" => (3, 0),
            tail => {
                let (rank, minor) = tail
                    .strip_prefix("beta")
                    .map(|n| (2, n))
                    .or_else(|| tail.strip_prefix("alpha").map(|n| (1, n)))?;
                (rank, minor.parse().ok()?)
            }
        };
        Some((rank, major, minor))
    };
    let (rank, major, minor) = parse().unwrap_or_default();
    (rank, major, minor, Reverse(name.to_owned()))
}

fn condition(kind: &str, status: &str, reason: &str, message: &str, now: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": now})
}

fn set_if_missing(object: &mut Value, field: &str, value: Value) {
    if object.get(field).is_none_or(|value| value.is_null() || value == "") {
        object[field] = value;
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_versions_are_preferred_to_young_ones() {
        let mut names = [
            "foo",
            "v1alpha2",
            "v2",
            "v1",
            "v10beta3",
            "bar",
            "v1beta1",
            "v11beta2",
            "v1alpha10",
        ];
        names.sort_by_cached_key(|name| Reverse(priority(name)));
        assert_eq!(
            names,
            [
                "v2",
                "v1",
                "v11beta2",
                "v10beta3",
                "v1beta1",
                "v1alpha10",
                "v1alpha2",
                "bar",
                "foo"
            ]
        );
    }
}
