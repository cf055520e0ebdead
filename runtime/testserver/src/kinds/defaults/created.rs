//! What new objects get, by the strategies of their kinds and by the admission plugins that are on in every cluster.

use serde_json::{Value, json};

use super::derived::set_if_missing;
use crate::kinds::paths::each_mut;

pub(super) fn complete(id: &str, object: &mut Value) {
    match id {
        "v1 Pod" => pod(object),
        "v1 Node" => node(object),
        "v1 Namespace" => namespace(object),
        "batch/v1 Job" => job(object),
        "apps/v1 DaemonSet" => generation_of_template(object),
        _ => {}
    }
}

fn pod(pod: &mut Value) {
    let Some(spec) = pod.get_mut("spec").filter(|spec| spec.is_object()) else {
        return;
    };
    if spec.get("serviceAccount").is_none() {
        set_if_missing(spec, "serviceAccountName", json!("default"));
    }
    set_if_missing(spec, "priority", json!(0));
    set_if_missing(spec, "preemptionPolicy", json!("PreemptLowerPriority"));
    set_if_missing(spec, "tolerations", json!([]));
    let Some(tolerations) = spec["tolerations"].as_array_mut() else {
        return;
    };
    for condition in ["not-ready", "unreachable"] {
        let key = format!("node.kubernetes.io/{condition}");
        let tolerated = tolerations.iter().any(|each| {
            let covers = |field: &str, wanted: &str| {
                each[field]
                    .as_str()
                    .is_none_or(|given| given.is_empty() || given == wanted)
            };
            covers("key", &key) && covers("effect", "NoExecute")
        });
        if !tolerated {
            tolerations.push(json!({
                "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300,
            }));
        }
    }
}

fn node(node: &mut Value) {
    set_if_missing(node, "spec", json!({}));
    let taint = json!([{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]);
    if let Some(spec) = node.get_mut("spec") {
        set_if_missing(spec, "taints", taint);
    }
}

fn namespace(namespace: &mut Value) {
    set_if_missing(namespace, "spec", json!({}));
    if let Some(spec) = namespace.get_mut("spec") {
        set_if_missing(spec, "finalizers", json!(["kubernetes"]));
    }
}

/// The pods of a job bear its name and its uid, and are selected by the latter.
fn job(job: &mut Value) {
    if job["spec"]["manualSelector"] == true {
        return;
    }
    let (name, uid) = (job["metadata"]["name"].clone(), job["metadata"]["uid"].clone());
    if uid.is_null() {
        // Not before the job itself has them.
        return;
    }
    each_mut(job, "spec.template", &mut |template| {
        set_if_missing(template, "metadata", json!({}));
        each_mut(template, "metadata", &mut |metadata| {
            set_if_missing(metadata, "labels", json!({}));
            each_mut(metadata, "labels", &mut |labels| {
                for prefix in ["", "batch.kubernetes.io/"] {
                    set_if_missing(labels, &format!("{prefix}job-name"), name.clone());
                    set_if_missing(labels, &format!("{prefix}controller-uid"), uid.clone());
                }
            });
        });
    });
    each_mut(job, "spec", &mut |spec| {
        let selector = json!({"matchLabels": {"batch.kubernetes.io/controller-uid": uid}});
        set_if_missing(spec, "selector", selector);
    });
}

fn generation_of_template(set: &mut Value) {
    each_mut(set, "metadata", &mut |metadata| {
        set_if_missing(metadata, "annotations", json!({}));
        each_mut(metadata, "annotations", &mut |annotations| {
            set_if_missing(annotations, "deprecated.daemonset.template.generation", json!("1"));
        });
    });
}
