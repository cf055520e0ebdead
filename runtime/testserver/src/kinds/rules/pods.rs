//! Rules of pods and of their templates.

use serde_json::Value;

use super::{Check, Rule, duplicate, not_found, rule};
use crate::kinds::paths::at;
use crate::status::Cause;

const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];

const HANDLER: &str = "must specify a handler type";

static CONTAINER: &[Rule] = &[
    rule("livenessProbe", Check::Also(handler)),
    rule("readinessProbe", Check::Also(handler)),
    rule("startupProbe", Check::Also(handler)),
    rule("name", Check::Required("")),
    rule("name", Check::Label),
    rule("image", Check::Required("")),
    rule("image", Check::Also(untrimmed)),
    rule("ports", Check::Unique("name")),
    rule("ports[].containerPort", Check::Required("")),
    rule("ports[].containerPort", Check::Port),
    rule("ports[].hostPort", Check::Port),
    rule("ports[].protocol", Check::OneOf(PROTOCOLS)),
    rule("env[].name", Check::Required("")),
    rule("env[]", Check::Also(environment)),
    rule("volumeMounts[].name", Check::Required("")),
    rule("volumeMounts[].mountPath", Check::Required("")),
    rule("imagePullPolicy", Check::OneOf(&["Always", "IfNotPresent", "Never"])),
];

pub(super) static SPEC: &[Rule] = &[
    rule("volumes[].name", Check::Required("")),
    rule("volumes[].name", Check::Label),
    rule("volumes", Check::Unique("name")),
    rule("volumes[]", Check::Also(one_source)),
    rule("containers", Check::Required("")),
    rule("containers[]", Check::Part(CONTAINER)),
    rule("containers", Check::Unique("name")),
    rule("initContainers[]", Check::Part(CONTAINER)),
    rule("", Check::Also(names_of_containers)),
    rule("", Check::Also(mounts)),
    rule("restartPolicy", Check::OneOf(&["Always", "OnFailure", "Never"])),
    rule(
        "dnsPolicy",
        Check::OneOf(&["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"]),
    ),
    rule("terminationGracePeriodSeconds", Check::AtLeast(0)),
    rule("activeDeadlineSeconds", Check::AtLeast(1)),
];

fn handler(path: &str, probe: &Value, causes: &mut Vec<Cause>) {
    let kinds = ["exec", "grpc", "httpGet", "tcpSocket"];
    if probe.is_object() && kinds.iter().all(|kind| probe.get(kind).is_none()) {
        causes.push(Cause::required(path, HANDLER));
    }
}

fn untrimmed(path: &str, image: &Value, causes: &mut Vec<Cause>) {
    if image.as_str().is_some_and(|text| text.trim() != text) {
        causes.push(Cause::invalid(
            path,
            image,
            "must not have leading or trailing whitespace",
        ));
    }
}

fn environment(path: &str, variable: &Value, causes: &mut Vec<Cause>) {
    let has_value = variable["value"].as_str().is_some_and(|text| !text.is_empty());
    if has_value && variable.get("valueFrom").is_some() {
        let path = format!("{path}.valueFrom");
        let detail = "may not be specified when `value` is not empty";
        causes.push(Cause::invalid(path, &Value::String(String::new()), detail));
    }
}

fn one_source(path: &str, volume: &Value, causes: &mut Vec<Cause>) {
    let sources = volume.as_object().into_iter().flatten();
    for (source, _) in sources.filter(|(key, _)| *key != "name").skip(1) {
        causes.push(Cause::forbidden(
            format!("{path}.{source}"),
            "may not specify more than 1 volume type",
        ));
    }
}

/// No container is named like one of the others of its pod.
fn names_of_containers(path: &str, spec: &Value, causes: &mut Vec<Cause>) {
    let names = |field: &str| spec[field].as_array().into_iter().flatten().map(|each| &each["name"]);
    let first: Vec<_> = names("containers").collect();
    for (index, name) in names("initContainers").enumerate() {
        if first.contains(&name) {
            causes.push(duplicate(format!("{path}.initContainers[{index}].name"), name));
        }
    }
}

/// What is mounted is there.
fn mounts(path: &str, spec: &Value, causes: &mut Vec<Cause>) {
    let list = |value: &'_ Value| value.as_array().cloned().unwrap_or_default();
    let mut known: Vec<Value> = list(&spec["volumes"])
        .iter()
        .map(|volume| volume["name"].clone())
        .collect();
    known.extend(
        list(&spec["volumeClaimTemplates"])
            .iter()
            .map(|claim| at(claim, "metadata.name").clone()),
    );
    for containers in ["containers", "initContainers"] {
        for (index, container) in list(&spec[containers]).iter().enumerate() {
            for (number, mount) in list(&container["volumeMounts"]).iter().enumerate() {
                if !known.contains(&mount["name"]) {
                    let path = format!("{path}.{containers}[{index}].volumeMounts[{number}].name");
                    causes.push(not_found(path, &mount["name"]));
                }
            }
        }
    }
}

/// Of a pod that exists, little may change.
pub(super) fn update(path: &str, old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    for containers in ["initContainers", "containers"] {
        let count = |spec: &Value| spec[containers].as_array().map_or(0, Vec::len);
        if count(old) != count(new) {
            causes.push(Cause::forbidden(
                format!("{path}.{containers}"),
                "pod updates may not add or remove containers",
            ));
            return;
        }
    }
    if fixed(old) != fixed(new) {
        causes.push(Cause::forbidden(
            path,
            "pod updates may not change fields other than `spec.containers[*].image`,\
             `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to \
             existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously \
             negative)",
        ));
    }
}

/// A pod's spec without what may change.
fn fixed(spec: &Value) -> Value {
    let mut spec = spec.clone();
    if let Some(fields) = spec.as_object_mut() {
        for field in ["activeDeadlineSeconds", "tolerations", "schedulingGates"] {
            fields.remove(field);
        }
    }
    for containers in ["initContainers", "containers"] {
        for container in spec
            .get_mut(containers)
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            if let Some(fields) = container.as_object_mut() {
                fields.remove("image");
            }
        }
    }
    spec
}
