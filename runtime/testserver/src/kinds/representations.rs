//! Kinds with more than one face: the same object in the words of another group or version.

use serde_json::{Map, Value, json};

/// Fields of events: in the core group, and in the group of their own.
const EVENT_FIELDS: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// Gives an object another `apiVersion`, and the fields that go with it.
pub(crate) fn convert(object: &mut Value, api_version: &str) {
    let from = object["apiVersion"].as_str().unwrap_or_default().to_owned();
    object["apiVersion"] = json!(api_version);
    let Some(fields) = object.as_object_mut() else {
        return;
    };
    match (from.as_str(), api_version) {
        ("v1", "events.k8s.io/v1") => {
            rename(fields, EVENT_FIELDS.into_iter());
            // Unlike in the core group, they are left out if they are empty.
            for field in ["reportingController", "reportingInstance"] {
                if fields.get(field).is_some_and(|value| value == "") {
                    fields.remove(field);
                }
            }
        }
        ("events.k8s.io/v1", "v1") => {
            rename(fields, EVENT_FIELDS.into_iter().map(|(core, own)| (own, core)));
            for field in ["reportingComponent", "reportingInstance"] {
                fields.entry(field).or_insert_with(|| json!(""));
            }
            fields.entry("involvedObject").or_insert_with(|| json!({}));
        }
        ("autoscaling/v1", "autoscaling/v2") => hpa_to_v2(fields),
        ("autoscaling/v2", "autoscaling/v1") => hpa_to_v1(fields),
        _ => {}
    }
}

fn rename<'a>(fields: &mut Map<String, Value>, names: impl Iterator<Item = (&'a str, &'a str)>) {
    for (from, to) in names {
        if let Some(value) = fields.remove(from) {
            fields.insert(to.into(), value);
        }
    }
}

/// Annotations that carry to old clients what their version has no fields for.
const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";

fn hpa_to_v2(fields: &mut Map<String, Value>) {
    let cpu = take(fields, "spec", "targetCPUUtilizationPercentage");
    let mut metrics = recall(fields, METRICS).as_array().cloned().unwrap_or_default();
    if let Some(percent) = cpu {
        let target = json!({"type": "Utilization", "averageUtilization": percent});
        metrics.insert(
            0,
            json!({"type": "Resource", "resource": {"name": "cpu", "target": target}}),
        );
    }
    put(fields, "spec", "metrics", json!(metrics));
    let behavior = recall(fields, BEHAVIOR);
    put(fields, "spec", "behavior", behavior);
    let current = take(fields, "status", "currentCPUUtilizationPercentage");
    let mut metrics = recall(fields, CURRENT_METRICS).as_array().cloned().unwrap_or_default();
    if let Some(percent) = current {
        let current = json!({"averageUtilization": percent, "averageValue": "0"});
        metrics.insert(
            0,
            json!({"type": "Resource", "resource": {"name": "cpu", "current": current}}),
        );
    }
    if !metrics.is_empty() {
        put(fields, "status", "currentMetrics", json!(metrics));
    }
    let conditions = recall(fields, CONDITIONS);
    put(fields, "status", "conditions", conditions);
}

fn hpa_to_v1(fields: &mut Map<String, Value>) {
    let (cpu, others) = split(take(fields, "spec", "metrics"), "target");
    put(fields, "spec", "targetCPUUtilizationPercentage", cpu);
    remember(fields, METRICS, &others);
    let behavior = take(fields, "spec", "behavior").unwrap_or_default();
    remember(fields, BEHAVIOR, &behavior);
    let (cpu, others) = split(take(fields, "status", "currentMetrics"), "current");
    put(fields, "status", "currentCPUUtilizationPercentage", cpu);
    remember(fields, CURRENT_METRICS, &others);
    let conditions = take(fields, "status", "conditions").unwrap_or_default();
    remember(fields, CONDITIONS, &conditions);
    put(fields, "status", "currentReplicas", json!(0));
}

/// The utilization of the CPU, and the other metrics; null for what there is not.
fn split(metrics: Option<Value>, which: &str) -> (Value, Value) {
    let mut others = metrics
        .and_then(|metrics| metrics.as_array().cloned())
        .unwrap_or_default();
    let is_cpu = |metric: &Value| {
        metric["resource"]["name"] == "cpu" && !metric["resource"][which]["averageUtilization"].is_null()
    };
    let cpu = others.iter().position(is_cpu).map(|index| others.remove(index));
    let cpu = cpu.map(|metric| metric["resource"][which]["averageUtilization"].clone());
    let others = if others.is_empty() { Value::Null } else { json!(others) };
    (cpu.unwrap_or_default(), others)
}

fn take(fields: &mut Map<String, Value>, part: &str, field: &str) -> Option<Value> {
    fields.get_mut(part)?.as_object_mut()?.remove(field)
}

/// Sets a field that is missing in a part that exists.
fn put(fields: &mut Map<String, Value>, part: &str, field: &str, value: Value) {
    if let Some(part) = fields.get_mut(part).and_then(Value::as_object_mut)
        && !value.is_null()
    {
        part.entry(field).or_insert(value);
    }
}

fn remember(fields: &mut Map<String, Value>, annotation: &str, value: &Value) {
    if value.is_null() {
        return;
    }
    if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.insert(annotation.into(), json!(value.to_string()));
        }
    }
}

fn recall(fields: &mut Map<String, Value>, annotation: &str) -> Value {
    let metadata = fields.get_mut("metadata").and_then(Value::as_object_mut);
    let Some(metadata) = metadata else {
        return Value::Null;
    };
    let annotations = metadata.get_mut("annotations").and_then(Value::as_object_mut);
    let text = annotations.and_then(|annotations| {
        let text = annotations.remove(annotation);
        text.as_ref().and_then(Value::as_str).map(str::to_owned)
    });
    if metadata
        .get("annotations")
        .and_then(Value::as_object)
        .is_some_and(Map::is_empty)
    {
        metadata.remove("annotations");
    }
    text.and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_have_two_faces() {
        let core = json!({
            "apiVersion": "v1", "kind": "Event", "involvedObject": {"name": "x"}, "message": "m", "source": {},
            "reportingComponent": "", "reportingInstance": "", "eventTime": null, "reason": "r",
        });
        let mut object = core.clone();
        convert(&mut object, "events.k8s.io/v1");
        assert_eq!(
            object,
            json!({
                "apiVersion": "events.k8s.io/v1", "kind": "Event", "regarding": {"name": "x"}, "note": "m",
                "deprecatedSource": {}, "eventTime": null, "reason": "r",
            })
        );
        convert(&mut object, "v1");
        assert_eq!(object, core);
    }

    #[test]
    fn old_autoscalers_keep_what_they_cannot_say() {
        let memory = json!({"type": "Resource", "resource": {"name": "memory", "target": {"averageValue": "1Gi"}}});
        let cpu = json!({
            "type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 5}},
        });
        let new = json!({
            "apiVersion": "autoscaling/v2", "metadata": {}, "spec": {"metrics": [cpu, memory], "behavior": {"x": 1}},
        });
        let mut object = new.clone();
        convert(&mut object, "autoscaling/v1");
        assert_eq!(object["spec"], json!({"targetCPUUtilizationPercentage": 5}));
        convert(&mut object, "autoscaling/v2");
        assert_eq!(object, new);
    }
}
