//! Custom resource definitions: what the server completes in them, and the kinds they make.

pub(crate) mod labels;

use serde_json::{Value, json};

use crate::kinds::{Column, Kind, STORED, Traits, Version};
use crate::status::Cause;

pub(crate) const GROUP: &str = "apiextensions.k8s.io";
pub(crate) const PLURAL: &str = "customresourcedefinitions";

pub(crate) fn is_crd(kind: &Kind) -> bool {
    kind.group == GROUP && kind.plural == PLURAL
}

/// Fills in what the server decides in a CRD, after checking what it rests on.
pub(crate) fn complete(crd: &mut Value, current: Option<&Value>, now: &str) -> Vec<Cause> {
    let causes = validate(crd);
    if !causes.is_empty() {
        return causes;
    }
    let names = &mut crd["spec"]["names"];
    let kind = names["kind"].as_str().unwrap_or_default().to_owned();
    set_if_missing(names, "singular", json!(kind.to_lowercase()));
    set_if_missing(names, "listKind", json!(format!("{kind}List")));
    let names = names.clone();
    set_if_missing(&mut crd["spec"], "conversion", json!({"strategy": "None"}));
    let storage = list(&crd["spec"]["versions"])
        .iter()
        .find(|version| version["storage"] == true);
    let storage = storage.map(|version| version["name"].clone()).unwrap_or_default();

    let mut status = crd.get("status").cloned().unwrap_or_else(|| json!({}));
    if current.is_none() {
        status = json!({"conditions": [
            condition("NamesAccepted", "True", "NoConflicts", "no conflicts found", now),
            condition("Established", "True", "InitialNamesAccepted", "the initial names have been accepted", now),
        ]});
    }
    status["acceptedNames"] = names;
    let mut stored = list(&status["storedVersions"]).to_vec();
    if !stored.contains(&storage) {
        stored.push(storage);
    }
    status["storedVersions"] = json!(stored);
    crd["status"] = status;
    causes
}

/// Notes in a CRD that its objects are being deleted.
pub(crate) fn terminating(crd: &mut Value, now: &str) {
    if let Some(conditions) = crd["status"]["conditions"].as_array_mut() {
        let message = "CustomResource deletion is in progress";
        conditions.push(condition(
            "Terminating",
            "True",
            "InstanceDeletionInProgress",
            message,
            now,
        ));
    }
}

/// The kind that a complete CRD defines.
pub(crate) fn kind_of(crd: &Value) -> Kind {
    let spec = &crd["spec"];
    let names = &spec["names"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let texts = |value: &Value| list(value).iter().map(&text).collect::<Vec<_>>();
    let served = list(&spec["versions"])
        .iter()
        .filter(|version| version["served"] == true);
    let mut versions: Vec<_> = served.map(version_of).collect();
    versions.sort_by_cached_key(|version| std::cmp::Reverse(priority(&version.name)));
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
        versions,
        storage: storage.map(|version| text(&version["name"])).unwrap_or_default(),
        custom: true,
        verbs: STORED,
        traits: Traits::CUSTOM,
    }
}

fn version_of(version: &Value) -> Version {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let columns = list(&version["additionalPrinterColumns"]).iter().map(|column| Column {
        name: text(&column["name"]),
        kind: text(&column["type"]),
        path: text(&column["jsonPath"]),
        priority: column["priority"].as_i64().unwrap_or_default(),
    });
    Version {
        name: text(&version["name"]),
        status: version["subresources"].get("status").is_some(),
        schema: version["schema"].get("openAPIV3Schema").cloned(),
        columns: columns.collect(),
    }
}

/// Orders versions as the server prefers them: `v2`, `v1`, `v1beta1`, `v1alpha1`, then all other words.
pub(crate) fn priority(name: &str) -> (u8, u64, u64, std::cmp::Reverse<String>) {
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
    (rank, major, minor, std::cmp::Reverse(name.to_owned()))
}

fn validate(crd: &Value) -> Vec<Cause> {
    let spec = &crd["spec"];
    let mut causes = Vec::new();
    for (path, field) in [
        ("spec.group", &spec["group"]),
        ("spec.scope", &spec["scope"]),
        ("spec.names.plural", &spec["names"]["plural"]),
        ("spec.names.kind", &spec["names"]["kind"]),
    ] {
        if field.as_str().is_none_or(str::is_empty) {
            causes.push(Cause::required(path, ""));
        }
    }
    if !matches!(spec["scope"].as_str(), None | Some("Namespaced" | "Cluster")) {
        causes.push(Cause::unsupported(
            "spec.scope",
            &spec["scope"],
            &[json!("Cluster"), json!("Namespaced")],
        ));
    }
    let (group, plural) = (
        spec["group"].as_str().unwrap_or_default(),
        spec["names"]["plural"].as_str(),
    );
    let wanted = format!("{}.{group}", plural.unwrap_or_default());
    if causes.is_empty() && crd["metadata"]["name"] != *wanted {
        let detail = "must be spec.names.plural+\".\"+spec.group";
        causes.push(Cause::invalid("metadata.name", &crd["metadata"]["name"], detail));
    }
    let versions = list(&spec["versions"]);
    if versions.iter().filter(|version| version["storage"] == true).count() != 1 {
        let detail = "must have exactly one version marked as storage version";
        causes.push(Cause::invalid("spec.versions", &spec["versions"], detail));
    }
    for (index, version) in versions.iter().enumerate() {
        if !version["schema"]["openAPIV3Schema"].is_object() {
            let path = format!("spec.versions[{index}].schema.openAPIV3Schema");
            causes.push(Cause::required(path, "schemas are required"));
        }
    }
    causes
}

fn condition(kind: &str, status: &str, reason: &str, message: &str, now: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": now})
}

fn set_if_missing(object: &mut Value, field: &str, value: Value) {
    if object.get(field).is_none_or(Value::is_null) {
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
        names.sort_by_cached_key(|name| std::cmp::Reverse(priority(name)));
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
