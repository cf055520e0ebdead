//! Cells that say more than one field.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{age, duration, text};
use crate::kinds::paths::at;

const NONE: &str = "<none>";

fn list<'a>(object: &'a Value, path: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    at(object, path).as_array().into_iter().flatten()
}

fn str_at<'a>(object: &'a Value, path: &str) -> &'a str {
    at(object, path).as_str().unwrap_or_default()
}

fn int_at(object: &Value, path: &str) -> i64 {
    at(object, path).as_i64().unwrap_or_default()
}

/// Texts with commas; a word if there are none.
fn joined(parts: impl IntoIterator<Item = String>) -> Value {
    let parts: Vec<_> = parts.into_iter().collect();
    if parts.is_empty() {
        json!(NONE)
    } else {
        text(parts.join(","))
    }
}

/// At most three of many.
fn some(parts: &[String]) -> Value {
    if parts.is_empty() {
        return json!("<unset>");
    }
    let rest = parts.len().saturating_sub(3);
    let shown = parts[..parts.len() - rest].join(",");
    text(if rest > 0 {
        format!("{shown} + {rest} more...")
    } else {
        shown
    })
}

pub(super) fn labels(labels: &Value) -> Value {
    let pairs = labels.as_object().into_iter().flatten();
    joined(pairs.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())))
}

pub(super) fn selector(selector: &Value) -> Value {
    let text = selector_text(selector);
    json!(if text.is_empty() { NONE } else { &text })
}

/// A selector of labels as it is written in queries.
pub(crate) fn selector_text(selector: &Value) -> String {
    let pairs = selector["matchLabels"].as_object().into_iter().flatten();
    let pairs = pairs.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()));
    let expressions = list(selector, "matchExpressions").map(|each| {
        let key = str_at(each, "key");
        let values: Vec<_> = list(each, "values").filter_map(Value::as_str).collect();
        match str_at(each, "operator") {
            "In" => format!("{key} in ({})", values.join(",")),
            "NotIn" => format!("{key} notin ({})", values.join(",")),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        }
    });
    pairs.chain(expressions).collect::<Vec<_>>().join(",")
}

fn template(object: &Value) -> &Value {
    let inner = at(object, "spec.jobTemplate.spec.template");
    if inner.is_null() {
        at(object, "spec.template")
    } else {
        inner
    }
}

fn of_containers(object: &Value, field: &str) -> Value {
    let texts = list(template(object), "spec.containers").map(|each| str_at(each, field).to_owned());
    text(texts.collect::<Vec<_>>().join(","))
}

pub(super) fn containers(object: &Value, _: Timestamp) -> Value {
    of_containers(object, "name")
}

pub(super) fn images(object: &Value, _: Timestamp) -> Value {
    of_containers(object, "image")
}

pub(super) fn fraction(object: &Value, part: &str, whole: &str) -> Value {
    text(format!("{}/{}", int_at(object, part), int_at(object, whole)))
}

pub(super) fn phase(object: &Value, _: Timestamp) -> Value {
    if object["metadata"].get("deletionTimestamp").is_some() {
        return json!("Terminating");
    }
    text(str_at(object, "status.phase"))
}

pub(super) fn int_or_string(value: &Value) -> Value {
    match value {
        Value::Null => json!("N/A"),
        Value::String(given) => text(given.as_str()),
        other => text(other.to_string()),
    }
}

pub(super) fn config_data(object: &Value, _: Timestamp) -> Value {
    let count = |field: &str| object[field].as_object().map_or(0, serde_json::Map::len);
    json!(count("data") + count("binaryData"))
}

pub(super) fn node_status(node: &Value, _: Timestamp) -> Value {
    let ready = list(node, "status.conditions").find(|each| each["type"] == "Ready");
    let mut words = vec![match ready.map(|condition| condition["status"] == "True") {
        Some(true) => "Ready",
        Some(false) => "NotReady",
        None => "Unknown",
    }];
    if at(node, "spec.unschedulable") == true {
        words.push("SchedulingDisabled");
    }
    text(words.join(","))
}

pub(super) fn node_roles(node: &Value, _: Timestamp) -> Value {
    let labels = at(node, "metadata.labels").as_object().into_iter().flatten();
    joined(
        labels.filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) if !role.is_empty() => Some(role.to_owned()),
            _ if key == "kubernetes.io/role" => value.as_str().filter(|role| !role.is_empty()).map(str::to_owned),
            _ => None,
        }),
    )
}

pub(super) fn node_address(node: &Value, kind: &str) -> Value {
    let found = list(node, "status.addresses").find(|each| each["type"] == kind);
    found.map_or(json!(NONE), |each| text(str_at(each, "address")))
}

fn balancer(object: &Value) -> Vec<String> {
    let entries = list(object, "status.loadBalancer.ingress");
    let entries = entries.filter_map(|each| each["ip"].as_str().or(each["hostname"].as_str()));
    entries.map(str::to_owned).collect()
}

pub(super) fn external_address(service: &Value, _: Timestamp) -> Value {
    let external: Vec<_> = list(service, "spec.externalIPs")
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    match str_at(service, "spec.type") {
        "LoadBalancer" => {
            let mut all = balancer(service);
            all.extend(external);
            if all.is_empty() {
                json!("<pending>")
            } else {
                joined(all)
            }
        }
        "ExternalName" => text(str_at(service, "spec.externalName")),
        _ => joined(external),
    }
}

pub(super) fn service_ports(service: &Value, _: Timestamp) -> Value {
    joined(list(service, "spec.ports").map(|port| {
        let (number, protocol) = (int_at(port, "port"), str_at(port, "protocol"));
        match int_at(port, "nodePort") {
            0 => format!("{number}/{protocol}"),
            node => format!("{number}:{node}/{protocol}"),
        }
    }))
}

pub(super) fn endpoints(object: &Value, _: Timestamp) -> Value {
    let mut all = Vec::new();
    for subset in list(object, "subsets") {
        let addresses = || list(subset, "addresses").map(|each| str_at(each, "ip"));
        if list(subset, "ports").next().is_none() {
            all.extend(addresses().map(str::to_owned));
        }
        for port in list(subset, "ports") {
            all.extend(addresses().map(|address| format!("{address}:{}", int_at(port, "port"))));
        }
    }
    if all.is_empty() {
        return json!(NONE);
    }
    some(&all)
}

pub(super) fn slice_ports(slice: &Value, _: Timestamp) -> Value {
    let ports = list(slice, "ports").map(|port| port["port"].as_i64().map_or("*".into(), |port| port.to_string()));
    some(&ports.collect::<Vec<_>>())
}

pub(super) fn slice_endpoints(slice: &Value, _: Timestamp) -> Value {
    let addresses = list(slice, "endpoints").flat_map(|each| list(each, "addresses"));
    some(
        &addresses
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect::<Vec<_>>(),
    )
}

/// A field of the object that an event is about, whichever way the event was written.
pub(super) fn involved<'a>(event: &'a Value, field: &str) -> &'a str {
    let about = event.get("involvedObject").or_else(|| event.get("regarding"));
    about.and_then(|about| about[field].as_str()).unwrap_or_default()
}

pub(super) fn event_object(event: &Value, _: Timestamp) -> Value {
    let (kind, name) = (involved(event, "kind").to_lowercase(), involved(event, "name"));
    text(if name.is_empty() {
        kind
    } else {
        format!("{kind}/{name}")
    })
}

fn either<'a>(event: &'a Value, core: &str, own: &str) -> &'a Value {
    let found = event.get(core).or_else(|| event.get(own));
    found.unwrap_or(&Value::Null)
}

pub(super) fn event_message(event: &Value, _: Timestamp) -> Value {
    text(either(event, "message", "note").as_str().unwrap_or_default().trim())
}

pub(super) fn event_source(event: &Value, _: Timestamp) -> Value {
    let source = either(event, "source", "deprecatedSource");
    let (component, host) = (str_at(source, "component"), str_at(source, "host"));
    let reporter = either(event, "reportingComponent", "reportingController");
    text(match (component, host) {
        ("", "") => reporter.as_str().unwrap_or_default().to_owned(),
        (component, "") => component.to_owned(),
        (component, host) => format!("{component}, {host}"),
    })
}

pub(super) fn first_seen(event: &Value, now: Timestamp) -> Value {
    let first = either(event, "firstTimestamp", "deprecatedFirstTimestamp");
    let first = if first.is_null() { &event["eventTime"] } else { first };
    text(age(first, now))
}

pub(super) fn last_seen(event: &Value, now: Timestamp) -> Value {
    let last = either(event, "lastTimestamp", "deprecatedLastTimestamp");
    match (&event["series"]["lastObservedTime"], last) {
        (Value::Null, Value::Null) => first_seen(event, now),
        (Value::Null, last) => text(age(last, now)),
        (observed, _) => text(age(observed, now)),
    }
}

pub(super) fn event_count(event: &Value, _: Timestamp) -> Value {
    let counted = event["series"]["count"].as_i64();
    let counted = counted.or_else(|| either(event, "count", "deprecatedCount").as_i64());
    json!(counted.filter(|&count| count > 0).unwrap_or(1))
}

pub(super) fn modes(modes: &Value) -> Value {
    let has = |mode: &str| list(modes, "").any(|each| each == mode);
    let short = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let short: Vec<_> = short
        .iter()
        .filter(|(mode, _)| has(mode))
        .map(|(_, short)| *short)
        .collect();
    text(short.join(","))
}

/// Known only once there is a volume.
pub(super) fn claim_modes(claim: &Value, _: Timestamp) -> Value {
    if str_at(claim, "spec.volumeName").is_empty() {
        return json!("");
    }
    modes(at(claim, "status.accessModes"))
}

pub(super) fn claim_capacity(claim: &Value, _: Timestamp) -> Value {
    if str_at(claim, "spec.volumeName").is_empty() {
        return json!("");
    }
    text(str_at(claim, "status.capacity.storage"))
}

pub(super) fn storage_class(object: &Value, _: Timestamp) -> Value {
    let old = &object["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"];
    let class = old.as_str().unwrap_or_else(|| str_at(object, "spec.storageClassName"));
    text(class)
}

pub(super) fn storage_class_name(class: &Value, _: Timestamp) -> Value {
    let name = str_at(class, "metadata.name");
    let default = &class["metadata"]["annotations"]["storageclass.kubernetes.io/is-default-class"] == "true";
    text(if default {
        format!("{name} (default)")
    } else {
        name.to_owned()
    })
}

pub(super) fn claim_of_volume(volume: &Value, _: Timestamp) -> Value {
    let claim = at(volume, "spec.claimRef");
    if claim.is_null() {
        return json!("");
    }
    text(format!("{}/{}", str_at(claim, "namespace"), str_at(claim, "name")))
}

/// Used and permitted amounts, of limits or of everything else.
pub(super) fn quota(quota: &Value, limits: bool) -> Value {
    let hard = at(quota, "status.hard").as_object().into_iter().flatten();
    let parts = hard.filter(|(name, _)| name.starts_with("limits.") == limits);
    let used = |name: &str| quota["status"]["used"][name].as_str().unwrap_or("0").to_owned();
    let parts = parts.map(|(name, most)| format!("{name}: {}/{}", used(name), most.as_str().unwrap_or_default()));
    text(parts.collect::<Vec<_>>().join(", "))
}

pub(super) fn controller(revision: &Value, _: Timestamp) -> Value {
    let owner = list(revision, "metadata.ownerReferences").find(|owner| owner["controller"] == true);
    let Some(owner) = owner else {
        return json!(NONE);
    };
    let group = str_at(owner, "apiVersion").split_once('/').map(|(group, _)| group);
    let kind = str_at(owner, "kind").to_lowercase();
    let kind = group.map_or(kind.clone(), |group| format!("{kind}.{group}"));
    text(format!("{kind}/{}", str_at(owner, "name")))
}

pub(super) fn job_status(job: &Value, _: Timestamp) -> Value {
    let holds =
        |kind: &str| list(job, "status.conditions").any(|each| each["type"] == kind && each["status"] == "True");
    json!(if holds("Complete") {
        "Complete"
    } else if holds("Failed") {
        "Failed"
    } else if job["metadata"].get("deletionTimestamp").is_some() {
        "Terminating"
    } else if holds("Suspended") {
        "Suspended"
    } else if holds("FailureTarget") {
        "FailureTarget"
    } else if holds("SuccessCriteriaMet") {
        "SuccessCriteriaMet"
    } else {
        "Running"
    })
}

pub(super) fn completions(job: &Value, _: Timestamp) -> Value {
    let done = int_at(job, "status.succeeded");
    match (at(job, "spec.completions").as_i64(), int_at(job, "spec.parallelism")) {
        (Some(wanted), _) => text(format!("{done}/{wanted}")),
        (None, parallel) if parallel > 1 => text(format!("{done}/1 of {parallel}")),
        (None, _) => text(format!("{done}/1")),
    }
}

pub(super) fn job_duration(job: &Value, now: Timestamp) -> Value {
    let time = |path: &str| str_at(job, path).parse::<Timestamp>().ok();
    let Some(start) = time("status.startTime") else {
        return json!("");
    };
    let end = time("status.completionTime").unwrap_or(now);
    text(duration(end.duration_since(start)))
}

pub(super) fn suspended(job: &Value, _: Timestamp) -> Value {
    // The cell is a text, though its column is not.
    text(if at(job, "spec.suspend") == true {
        "True"
    } else {
        "False"
    })
}

pub(super) fn last_schedule(job: &Value, now: Timestamp) -> Value {
    match at(job, "status.lastScheduleTime") {
        Value::Null => json!(NONE),
        time => text(age(time, now)),
    }
}

pub(super) fn hosts(ingress: &Value, _: Timestamp) -> Value {
    let hosts: Vec<_> = list(ingress, "spec.rules")
        .map(|rule| str_at(rule, "host"))
        .filter(|host| !host.is_empty())
        .map(str::to_owned)
        .collect();
    if hosts.is_empty() {
        return json!("*");
    }
    some(&hosts)
}

pub(super) fn ingress_addresses(ingress: &Value, _: Timestamp) -> Value {
    text(balancer(ingress).join(","))
}

pub(super) fn parameters(class: &Value, _: Timestamp) -> Value {
    let parameters = at(class, "spec.parameters");
    if parameters.is_null() {
        return json!(NONE);
    }
    let kind = str_at(parameters, "kind");
    let kind = match str_at(parameters, "apiGroup") {
        "" => kind.to_owned(),
        group => format!("{kind}.{group}"),
    };
    text(format!("{kind}/{}", str_at(parameters, "name")))
}

pub(super) fn subjects(binding: &Value, kind: &str) -> Value {
    let subjects = list(binding, "subjects").filter(|each| each["kind"] == kind);
    let names = subjects.map(
        |each| match each["namespace"].as_str().filter(|_| kind == "ServiceAccount") {
            Some(namespace) => format!("{namespace}/{}", str_at(each, "name")),
            None => str_at(each, "name").to_owned(),
        },
    );
    text(names.collect::<Vec<_>>().join(", "))
}

pub(super) fn scaled(autoscaler: &Value, _: Timestamp) -> Value {
    let target = at(autoscaler, "spec.scaleTargetRef");
    text(format!("{}/{}", str_at(target, "kind"), str_at(target, "name")))
}

/// Current and wanted amounts, metric by metric.
pub(super) fn targets(autoscaler: &Value, _: Timestamp) -> Value {
    if let Some(wanted) = at(autoscaler, "spec.targetCPUUtilizationPercentage").as_i64() {
        let current = at(autoscaler, "status.currentCPUUtilizationPercentage");
        let current = current
            .as_i64()
            .map_or("<unknown>".into(), |percent| format!("{percent}%"));
        return text(format!("cpu: {current}/{wanted}%"));
    }
    let current: Vec<_> = list(autoscaler, "status.currentMetrics").collect();
    let all = list(autoscaler, "spec.metrics").enumerate().map(|(index, metric)| {
        let kind = str_at(metric, "type");
        let (field, name) = match kind {
            "Resource" => ("resource", str_at(metric, "resource.name")),
            "ContainerResource" => ("containerResource", str_at(metric, "containerResource.name")),
            "Pods" => ("pods", ""),
            "Object" => ("object", ""),
            _ => ("external", ""),
        };
        let now = current.get(index).map_or(&Value::Null, |each| &each[field]["current"]);
        let amount = |of: &Value| {
            let percent = of["averageUtilization"].as_i64().map(|percent| format!("{percent}%"));
            let average = || of["averageValue"].as_str().map(|value| format!("{value} (avg)"));
            percent
                .or_else(average)
                .or_else(|| of["value"].as_str().map(str::to_owned))
        };
        let target = &metric[field]["target"];
        let pair = format!(
            "{}/{}",
            amount(now).map_or("<unknown>".into(), |text| text.trim_end_matches(" (avg)").to_owned()),
            amount(target).unwrap_or_else(|| "<auto>".into())
        );
        if name.is_empty() {
            pair
        } else {
            format!("{name}: {pair}")
        }
    });
    let all: Vec<_> = all.collect();
    if all.is_empty() {
        return json!(NONE);
    }
    let rest = all.len().saturating_sub(2);
    let shown = all[..all.len() - rest].join(", ");
    text(if rest > 0 {
        format!("{shown} + {rest} more...")
    } else {
        shown
    })
}
