//! Defaults that follow from other fields.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::kinds::paths::{at, each_mut};

/// An image without a tag, or with the tag `latest`, is pulled always.
pub(super) fn pull_policy(container: &mut Value) {
    let image = container["image"].as_str().unwrap_or_default();
    let named = image.rsplit('/').next().unwrap_or_default();
    let policy = match named.split_once('@') {
        Some(_) => "IfNotPresent",
        None => match named.split_once(':') {
            None | Some((_, "latest")) => "Always",
            Some(_) => "IfNotPresent",
        },
    };
    set_if_missing(container, "imagePullPolicy", json!(policy));
}

/// A volume that does not say what it is, is an empty folder.
pub(super) fn volume(volume: &mut Value) {
    if volume["name"].is_string() && volume.as_object().is_some_and(|fields| fields.len() == 1) {
        volume["emptyDir"] = json!({});
    }
}

/// The old name of the service account is kept in step with the new one; ports are the host's in its network.
pub(super) fn pod_spec(spec: &mut Value) {
    for (from, to) in [
        ("serviceAccountName", "serviceAccount"),
        ("serviceAccount", "serviceAccountName"),
    ] {
        if let Some(name) = spec.get(from).cloned() {
            set_if_missing(spec, to, name);
        }
    }
    if spec["hostNetwork"] == true {
        for containers in ["containers[].ports[]", "initContainers[].ports[]"] {
            each_mut(spec, containers, &mut |port| {
                let number = port["containerPort"].clone();
                set_if_missing(port, "hostPort", number);
            });
        }
    }
}

/// Resources that are limited are requested, and the quality of service follows from both.
pub(super) fn pod(pod: &mut Value) {
    for containers in ["spec.containers[].resources", "spec.initContainers[].resources"] {
        each_mut(pod, containers, &mut |resources| {
            let Some(limits) = resources["limits"].as_object().cloned() else {
                return;
            };
            for (name, limit) in limits {
                if resources.get("requests").is_none() {
                    resources["requests"] = json!({});
                }
                set_if_missing(&mut resources["requests"], &name, limit);
            }
        });
    }
    let class = quality(&pod["spec"]);
    if let Some(status) = pod.get_mut("status") {
        set_if_missing(status, "qosClass", json!(class));
    }
}

fn quality(spec: &Value) -> &'static str {
    let list = |field: &str| spec[field].as_array().into_iter().flatten();
    let containers: Vec<_> = list("containers").chain(list("initContainers")).collect();
    let resources = |container: &Value, which: &str, name: &str| container["resources"][which][name].clone();
    let any = |which: &str| {
        containers.iter().any(|each| {
            ["cpu", "memory"]
                .iter()
                .any(|name| !resources(each, which, name).is_null())
        })
    };
    let guaranteed = !containers.is_empty()
        && containers.iter().all(|each| {
            ["cpu", "memory"].iter().all(|name| {
                let limit = resources(each, "limits", name);
                !limit.is_null() && limit == resources(each, "requests", name)
            })
        });
    match (guaranteed, any("limits") || any("requests")) {
        (true, _) => "Guaranteed",
        (false, true) => "Burstable",
        (false, false) => "BestEffort",
    }
}

/// A job without labels takes those of its pods.
pub(super) fn job_labels(job: &mut Value) {
    let labels = at(job, "spec.template.metadata.labels").clone();
    if labels.as_object().is_some_and(|labels| !labels.is_empty())
        && let Some(metadata) = job.get_mut("metadata")
    {
        set_if_missing(metadata, "labels", labels);
    }
}

/// Traffic goes to the port of the same number.
pub(super) fn target_ports(service: &mut Value) {
    each_mut(service, "spec.ports[]", &mut |port| {
        let number = port["port"].clone();
        set_if_missing(port, "targetPort", number);
    });
}

/// Plain text is a way to write data, not to read it.
pub(super) fn secret(secret: &mut Value) {
    let Some(fields) = secret.as_object_mut() else {
        return;
    };
    if let Some(Value::Object(texts)) = fields.remove("stringData") {
        let encoded = texts
            .into_iter()
            .map(|(key, text)| (key, json!(STANDARD.encode(text.as_str().unwrap_or_default()))));
        let data = fields.entry("data").or_insert_with(|| json!({}));
        if let Some(data) = data.as_object_mut() {
            data.extend(encoded);
        }
    }
    drop_if_empty(fields, "data");
}

pub(super) fn config_map(config: &mut Value) {
    if let Some(fields) = config.as_object_mut() {
        drop_if_empty(fields, "data");
        drop_if_empty(fields, "binaryData");
    }
}

/// Requests and limits of containers follow from the highest and the lowest that are allowed.
pub(super) fn limit_range(range: &mut Value) {
    each_mut(range, "spec.limits[]", &mut |item| {
        if item["type"] != "Container" {
            return;
        }
        for (to, from) in [
            ("default", "max"),
            ("defaultRequest", "default"),
            ("defaultRequest", "min"),
        ] {
            for (name, amount) in item[from].as_object().cloned().unwrap_or_default() {
                if item.get(to).is_none() {
                    item[to] = json!({});
                }
                set_if_missing(&mut item[to], &name, amount);
            }
        }
    });
}

/// The name is a label too, so that selectors can name a namespace.
pub(super) fn namespace(namespace: &mut Value) {
    let name = namespace["metadata"]["name"].clone();
    let metadata = namespace.get_mut("metadata").and_then(Value::as_object_mut);
    if let (true, Some(metadata)) = (name.is_string(), metadata) {
        let labels = metadata.entry("labels").or_insert_with(|| json!({}));
        if let Some(labels) = labels.as_object_mut() {
            labels.insert("kubernetes.io/metadata.name".into(), name);
        }
    }
}

fn drop_if_empty(fields: &mut Map<String, Value>, field: &str) {
    if fields.get(field).and_then(Value::as_object).is_some_and(Map::is_empty) {
        fields.remove(field);
    }
}

pub(super) fn set_if_missing(object: &mut Value, field: &str, value: Value) {
    if let Some(fields) = object.as_object_mut().filter(|_| !value.is_null()) {
        fields.entry(field).or_insert(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_decide_about_pulling() {
        for (image, policy) in [
            ("nginx", "Always"),
            ("nginx:latest", "Always"),
            ("nginx:1.27", "IfNotPresent"),
            ("localhost:5000/nginx", "Always"),
            ("localhost:5000/nginx:1", "IfNotPresent"),
            ("nginx@sha256:00", "IfNotPresent"),
        ] {
            let mut container = json!({"image": image});
            pull_policy(&mut container);
            assert_eq!(container["imagePullPolicy"], policy, "{image}");
        }
    }

    #[test]
    fn the_quality_of_service_follows_from_the_resources() {
        let of = |resources: Value| quality(&json!({"containers": [{"resources": resources}]}));
        let all = json!({"cpu": "1", "memory": "1Gi"});
        assert_eq!(of(json!({})), "BestEffort");
        assert_eq!(of(json!({"limits": {"cpu": "1"}})), "Burstable");
        assert_eq!(of(json!({"limits": all, "requests": all})), "Guaranteed");
        assert_eq!(
            of(json!({"limits": all, "requests": {"cpu": "1", "memory": "1"}})),
            "Burstable"
        );
    }

    #[test]
    fn plain_texts_become_data() {
        let mut object = json!({"data": {"a": "eA==", "b": "eQ=="}, "stringData": {"a": "b"}});
        secret(&mut object);
        assert_eq!(object, json!({"data": {"a": "Yg==", "b": "eQ=="}}));
    }
}
