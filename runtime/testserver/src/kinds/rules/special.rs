//! Rules that relate fields to each other.

use serde_json::{Map, Value, json};

use super::{Check, Rule, duplicate, invalid, is_empty, rule};
use crate::kinds::paths::at;
use crate::objects::metadata::check_qualified;
use crate::status::Cause;

type Causes<'a> = &'a mut Vec<Cause>;

const MISMATCH: &str = "`selector` does not match template `labels`";

/// The selector of a workload finds the pods of its template.
pub(super) fn template_labels(path: &str, spec: &Value, causes: Causes<'_>) {
    let labels = at(spec, "template.metadata.labels");
    if !matches(&spec["selector"], labels) {
        causes.push(invalid(
            format!("{path}.template.metadata.labels"),
            &shown_labels(labels),
            MISMATCH,
        ));
    }
}

fn matches(selector: &Value, labels: &Value) -> bool {
    // Nothing is selected by no selector; and an empty one was refused already.
    if selector.is_null() {
        return false;
    }
    let mut pairs = selector["matchLabels"].as_object().into_iter().flatten();
    let mut expressions = selector["matchExpressions"].as_array().into_iter().flatten();
    pairs.all(|(key, value)| labels[key] == *value)
        && expressions.all(|expression| {
            let label = &labels[expression["key"].as_str().unwrap_or_default()];
            let among = || {
                expression["values"]
                    .as_array()
                    .is_some_and(|values| values.contains(label))
            };
            match expression["operator"].as_str() {
                Some("In") => among(),
                Some("NotIn") => !among(),
                Some("Exists") => !label.is_null(),
                Some("DoesNotExist") => label.is_null(),
                _ => true,
            }
        })
}

pub(super) fn selector_of_deployment(path: &str, selector: &Value, causes: Causes<'_>) {
    some_selector(path, selector, "deployment", causes);
}

pub(super) fn selector_of_replica_set(path: &str, selector: &Value, causes: Causes<'_>) {
    some_selector(path, selector, "replicaset", causes);
}

pub(super) fn selector_of_stateful_set(path: &str, selector: &Value, causes: Causes<'_>) {
    some_selector(path, selector, "statefulset", causes);
}

pub(super) fn selector_of_daemon_set(path: &str, selector: &Value, causes: Causes<'_>) {
    some_selector(path, selector, "daemonset", causes);
}

fn some_selector(path: &str, selector: &Value, kind: &str, causes: Causes<'_>) {
    if selector.is_object() && is_empty(&selector["matchLabels"]) && is_empty(&selector["matchExpressions"]) {
        let detail = format!("empty selector is invalid for {kind}");
        causes.push(invalid(path, &shown_selector(selector), &detail));
    }
}

pub(super) fn shown_selector(selector: &Value) -> String {
    let expressions = selector["matchExpressions"].as_array().map(|list| {
        let list = list.iter().map(|each| {
            let values = each["values"].as_array().map_or("(nil)".to_owned(), |values| {
                let values: Vec<_> = values.iter().map(Value::to_string).collect();
                format!("{{{}}}", values.join(", "))
            });
            format!(
                "v1.LabelSelectorRequirement{{Key:{}, Operator:{}, Values:[]string{values}}}",
                each["key"], each["operator"]
            )
        });
        format!("{{{}}}", list.collect::<Vec<_>>().join(", "))
    });
    format!(
        "v1.LabelSelector{{MatchLabels:{}, MatchExpressions:[]v1.LabelSelectorRequirement{}}}",
        shown_labels(&selector["matchLabels"]),
        expressions.unwrap_or_else(|| "(nil)".into())
    )
}

fn shown_labels(labels: &Value) -> String {
    match labels.as_object() {
        None => "map[string]string(nil)".into(),
        Some(labels) => {
            let labels = labels.iter().map(|(key, value)| format!("{key:?}:{value}"));
            format!("map[string]string{{{}}}", labels.collect::<Vec<_>>().join(", "))
        }
    }
}

/// What runs for ever restarts its containers always.
pub(super) fn restarts_always(path: &str, policy: &Value, causes: Causes<'_>) {
    if policy.is_string() && policy != "Always" {
        causes.push(Cause::unsupported(path, policy, &[json!("Always")]));
    }
}

/// What ends does not start its containers again for ever.
pub(super) fn restarts_at_most_on_failure(path: &str, policy: &Value, causes: Causes<'_>) {
    let known = [json!("OnFailure"), json!("Never")];
    if matches!(policy.as_str(), None | Some("Always" | "")) {
        causes.push(Cause::required(path, "valid values: \"OnFailure\", \"Never\""));
    } else if !known.contains(policy) {
        causes.push(Cause::unsupported(path, policy, &known));
    }
}

pub(super) fn strategy(path: &str, strategy: &Value, causes: Causes<'_>) {
    let known = ["Recreate", "RollingUpdate"];
    let shown = shown_strategy("DeploymentStrategy", "RollingUpdateDeployment", strategy);
    unknown_strategy(path, strategy, &known, &shown, causes);
}

pub(super) fn daemon_update(path: &str, strategy: &Value, causes: Causes<'_>) {
    let known = ["RollingUpdate", "OnDelete"];
    let shown = shown_strategy("DaemonSetUpdateStrategy", "RollingUpdateDaemonSet", strategy);
    unknown_strategy(path, strategy, &known, &shown, causes);
}

pub(super) fn stateful_update(path: &str, strategy: &Value, causes: Causes<'_>) {
    if strategy.is_object() && !matches!(strategy["type"].as_str(), Some("RollingUpdate" | "OnDelete")) {
        let name = "StatefulSetUpdateStrategy";
        let shown = shown_strategy(name, "RollingUpdateStatefulSetStrategy", strategy);
        causes.push(invalid(path, &shown, "must be 'RollingUpdate' or 'OnDelete'"));
    }
}

pub(super) fn pod_management(path: &str, policy: &Value, causes: Causes<'_>) {
    if !matches!(policy.as_str(), None | Some("OrderedReady" | "Parallel")) {
        causes.push(Cause::invalid(path, policy, "must be 'OrderedReady' or 'Parallel'"));
    }
}

fn shown_strategy(name: &str, rolling: &str, strategy: &Value) -> String {
    format!(
        "apps.{name}{{Type:{}, RollingUpdate:(*apps.{rolling})(nil)}}",
        strategy["type"]
    )
}

fn unknown_strategy(path: &str, strategy: &Value, known: &[&str], shown: &str, causes: Causes<'_>) {
    let given = &strategy["type"];
    if strategy.is_object() && !known.iter().any(|each| given == each) {
        let known: Vec<_> = known.iter().map(|each| format!("{each:?}")).collect();
        causes.push(Cause {
            field: path.into(),
            reason: "FieldValueNotSupported",
            message: format!("Unsupported value: {shown}: supported values: {}", known.join(", ")),
        });
    }
}

pub(super) fn recreated(path: &str, strategy: &Value, causes: Causes<'_>) {
    if strategy["type"] == "Recreate" && strategy.get("rollingUpdate").is_some() {
        let detail = "may not be specified when strategy `type` is 'Recreate'";
        causes.push(Cause::forbidden(format!("{path}.rollingUpdate"), detail));
    }
}

/// Of a stateful set that exists, only some fields may change.
pub(super) fn stateful_set(path: &str, old: &Value, new: &Value, causes: Causes<'_>) {
    const OPEN: [&str; 6] = [
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    ];
    if without(old, &OPEN) != without(new, &OPEN) {
        causes.push(Cause::forbidden(
            path,
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', \
             'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        ));
    }
}

/// Of a claim, only the size may change, and only once it is bound.
pub(super) fn claim(path: &str, old: &Value, new: &Value, causes: Causes<'_>) {
    let open: &[&str] = &[
        "resources",
        "volumeName",
        "storageClassName",
        "volumeAttributesClassName",
    ];
    let same = |field: &str| is_empty(&old[field]) || old[field] == new[field];
    if without(old, open) != without(new, open) || !same("volumeName") || !same("storageClassName") {
        causes.push(Cause::forbidden(
            path,
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
        ));
    }
    if old["volumeMode"] != new["volumeMode"] {
        causes.push(Cause::invalid("volumeMode", &new["volumeMode"], "field is immutable"));
    }
}

/// How a volume is to be used, and how large it is.
pub(super) fn claim_spec(path: &str, spec: &Value, causes: Causes<'_>) {
    let known = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
    for mode in spec["accessModes"].as_array().into_iter().flatten() {
        if !known.iter().any(|each| mode == each) {
            let known: Vec<_> = known.iter().map(|each| json!(each)).collect();
            causes.push(Cause::unsupported(format!("{path}.accessModes"), mode, &known));
        }
    }
    let path = format!("{path}.resources[storage]");
    match &spec["resources"]["requests"]["storage"] {
        Value::Null => causes.push(Cause::required(path, "")),
        size if size == "0" || size == 0 => causes.push(Cause::invalid(path, &json!("0"), "must be greater than zero")),
        _ => {}
    }
}

fn without(spec: &Value, fields: &[&str]) -> Map<String, Value> {
    let mut spec = spec.as_object().cloned().unwrap_or_default();
    spec.retain(|key, _| !fields.contains(&key.as_str()));
    spec
}

/// Keys of data are names of files.
pub(super) fn keys(path: &str, data: &Value, causes: Causes<'_>) {
    const WORDS: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. \
                         'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
    for key in data.as_object().into_iter().flatten().map(|(key, _)| key) {
        let word = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        let why = match key.as_str() {
            "." => "must not be '.'",
            ".." => "must not be '..'",
            text if text.starts_with("..") => "must not start with '..'",
            text if text.is_empty() || !text.chars().all(word) => WORDS,
            _ => continue,
        };
        causes.push(Cause::invalid(format!("{path}[{key}]"), &json!(key), why));
    }
}

/// No key is both text and bytes.
pub(super) fn config_map(_: &str, config: &Value, causes: Causes<'_>) {
    for (key, _) in config["data"].as_object().into_iter().flatten() {
        if config["binaryData"].get(key).is_some() {
            let detail = "duplicate of key present in binaryData";
            causes.push(Cause::invalid(format!("data[{key}]"), &json!(key), detail));
        }
    }
}

/// Types of secrets that promise some keys.
pub(super) fn secret(_: &str, secret: &Value, causes: Causes<'_>) {
    let keys: &[&str] = match secret["type"].as_str().unwrap_or_default() {
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        "kubernetes.io/basic-auth" => {
            // One of them is enough.
            if ["username", "password"]
                .iter()
                .all(|key| secret["data"].get(key).is_none())
            {
                for key in ["username", "password"] {
                    causes.push(Cause::required(format!("data[{key}]"), ""));
                }
            }
            &[]
        }
        "kubernetes.io/service-account-token" => {
            let name = "kubernetes.io/service-account.name";
            if is_empty(&secret["metadata"]["annotations"][name]) {
                causes.push(Cause::required(format!("metadata.annotations[{name}]"), ""));
            }
            &[]
        }
        _ => &[],
    };
    for key in keys {
        if secret["data"].get(key).is_none() {
            causes.push(Cause::required(format!("data[{key}]"), ""));
        }
    }
}

/// What is marked as immutable stays so, with its data.
pub(super) fn sealed(_: &str, old: &Value, new: &Value, causes: Causes<'_>) {
    if old["immutable"] != true {
        return;
    }
    let why = "field is immutable when `immutable` is set";
    for field in ["immutable", "data", "binaryData"] {
        let (old, new) = (&old[field], &new[field]);
        if old != new && !(is_empty(old) && is_empty(new)) {
            causes.push(Cause::forbidden(field, why));
        }
    }
}

pub(super) static SERVICE_PORT: &[Rule] = &[
    rule("port", Check::Port),
    rule("protocol", Check::OneOf(&["SCTP", "TCP", "UDP"])),
    rule("targetPort", Check::Port),
];

/// What a service must say depends on its type.
pub(super) fn service(path: &str, spec: &Value, causes: Causes<'_>) {
    let ports = spec["ports"].as_array().map_or(&[][..], Vec::as_slice);
    let headless = spec["clusterIP"] == "None";
    match spec["type"].as_str() {
        Some("ExternalName") if is_empty(&spec["externalName"]) => {
            causes.push(Cause::required(format!("{path}.externalName"), ""));
        }
        Some("ExternalName") => {}
        _ if ports.is_empty() && !headless => causes.push(Cause::required(format!("{path}.ports"), "")),
        _ => {}
    }
    if matches!(spec["type"].as_str(), Some("NodePort" | "LoadBalancer")) && headless {
        let detail = format!(
            "may not be set to 'None' for {} services",
            spec["type"].as_str().unwrap_or_default()
        );
        causes.push(invalid(format!("{path}.clusterIPs[0]"), "[]string{\"None\"}", &detail));
    }
    let mut names = Vec::new();
    for (index, port) in ports.iter().enumerate() {
        let path = format!("{path}.ports[{index}]");
        match &port["name"] {
            name if is_empty(name) && ports.len() > 1 => causes.push(Cause::required(format!("{path}.name"), "")),
            name if !is_empty(name) && names.contains(&name) => causes.push(duplicate(format!("{path}.name"), name)),
            name => names.push(name),
        }
        super::check_all(SERVICE_PORT, &path, None, port, causes);
    }
    for (key, _) in spec["selector"].as_object().into_iter().flatten() {
        let fault = check_qualified(key);
        causes.extend(fault.map(|why| Cause::invalid(format!("{path}.selector"), &json!(key), &why)));
    }
}

/// The address of a service stays, as long as it has one.
pub(super) fn service_address(path: &str, old: &Value, new: &Value, causes: Causes<'_>) {
    let (before, after) = (&old["clusterIP"], &new["clusterIP"]);
    if before == after || is_empty(before) || new["type"] == "ExternalName" || old["type"] == "ExternalName" {
        return;
    }
    if is_empty(after) {
        let detail = "primary clusterIP can not be unset";
        causes.push(invalid(format!("{path}.clusterIPs[0]"), "[]string(nil)", detail));
    } else {
        let shown = format!("[]string{{{after}}}");
        causes.push(invalid(
            format!("{path}.clusterIPs[0]"),
            &shown,
            "may not change once set",
        ));
    }
}

/// A schedule has five fields, or is a known word.
pub(super) fn schedule(path: &str, schedule: &Value, causes: Causes<'_>) {
    let Some(text) = schedule.as_str().filter(|text| !text.is_empty()) else {
        return;
    };
    let fields = text.split_whitespace().count();
    if !text.starts_with('@') && fields != 5 {
        let detail = format!("expected exactly 5 fields, found {fields}: [{text}]");
        causes.push(Cause::invalid(path, schedule, &detail));
    }
}

pub(super) fn some_backend(path: &str, spec: &Value, causes: Causes<'_>) {
    if is_empty(&spec["rules"]) && spec.get("defaultBackend").is_none() {
        let detail = "either `defaultBackend` or `rules` must be specified";
        causes.push(invalid(path, "[]networking.IngressRule(nil)", detail));
    }
}

pub(super) fn ingress_path(path: &str, entry: &Value, causes: Causes<'_>) {
    let kinds = [json!("Exact"), json!("ImplementationSpecific"), json!("Prefix")];
    match &entry["pathType"] {
        kind if is_empty(kind) => causes.push(Cause::required(
            format!("{path}.pathType"),
            "pathType must be specified",
        )),
        kind if !kinds.contains(kind) => causes.push(Cause::unsupported(format!("{path}.pathType"), kind, &kinds)),
        kind if kind != "ImplementationSpecific" => {
            let absolute = entry["path"].as_str().is_some_and(|path| path.starts_with('/'));
            if !absolute {
                let value = json!(entry["path"].as_str().unwrap_or_default());
                causes.push(Cause::invalid(
                    format!("{path}.path"),
                    &value,
                    "must be an absolute path",
                ));
            }
        }
        _ => {}
    }
    let service = &entry["backend"]["service"];
    if service.is_object() {
        let backend = format!("{path}.backend");
        if is_empty(&service["name"]) {
            causes.push(Cause::required(format!("{backend}.service.name"), ""));
        }
        match (is_empty(&service["port"]["name"]), service["port"]["number"].is_null()) {
            (true, true) => causes.push(Cause::required(backend, "port name or number is required")),
            (false, false) => causes.push(Cause::invalid(
                backend,
                &json!(""),
                "cannot set both port name & port number",
            )),
            _ => {}
        }
    }
}

pub(super) fn peer(path: &str, peer: &Value, causes: Causes<'_>) {
    if is_empty(peer) {
        causes.push(Cause::required(path, "must specify a peer"));
    }
}

pub(super) fn replica_bounds(path: &str, spec: &Value, causes: Causes<'_>) {
    let most = spec["maxReplicas"].as_i64().unwrap_or_default();
    let path = format!("{path}.maxReplicas");
    if most < 1 {
        causes.push(Cause::invalid(path.as_str(), &json!(most), "must be greater than 0"));
    }
    if most < spec["minReplicas"].as_i64().unwrap_or_default() {
        let detail = "must be greater than or equal to `minReplicas`";
        causes.push(Cause::invalid(path, &json!(most), detail));
    }
}

pub(super) fn either_bound(path: &str, spec: &Value, causes: Causes<'_>) {
    if spec.get("minAvailable").is_some() && spec.get("maxUnavailable").is_some() {
        let detail = "minAvailable and maxUnavailable cannot be both set";
        causes.push(invalid(path, "policy.PodDisruptionBudgetSpec{...}", detail));
    }
}

pub(super) fn transitions(path: &str, number: &Value, causes: Causes<'_>) {
    if number.as_i64().is_some_and(|number| number < 0) {
        causes.push(Cause::invalid(path, number, "must be greater than or equal to 0"));
    }
}

pub(super) fn template_stays(path: &str, old: &Value, new: &Value, causes: Causes<'_>) {
    if old != new {
        causes.push(invalid(path, "core.PodTemplateSpec{...}", "field is immutable"));
    }
}

pub(super) fn event(path: &str, event: &Value, causes: Causes<'_>) {
    let (here, there) = (&event["metadata"]["namespace"], &event["involvedObject"]["namespace"]);
    // Events of objects outside of namespaces lie in the default one.
    let home = if is_empty(there) { &json!("default") } else { there };
    if here != home {
        let path = super::join(path, "involvedObject.namespace");
        let value = json!(there.as_str().unwrap_or_default());
        causes.push(Cause::invalid(path, &value, "does not match event.namespace"));
    }
}

/// What an event in the newer form says; in the older one it may say nothing of it.
pub(super) fn new_event(_: &str, event: &Value, causes: Causes<'_>) {
    if event["eventTime"].is_null() {
        return;
    }
    for field in ["reportingController", "reportingInstance", "action", "reason"] {
        if is_empty(&event[field]) {
            causes.push(Cause::required(field, ""));
        }
    }
}

pub(super) fn event_type(path: &str, kind: &Value, causes: Causes<'_>) {
    if !matches!(kind.as_str(), Some("Normal" | "Warning")) {
        let detail = format!("has invalid value: {}", kind.as_str().unwrap_or_default());
        causes.push(Cause::invalid(path, &json!(""), &detail));
    }
}
