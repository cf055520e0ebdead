//! What controllers see to in every namespace, and what becomes of pods that name an account.

use serde_json::{Value, json};

use crate::cluster::{Cluster, Place};
use crate::kinds::Kind;
use crate::objects::writing::{Draft, How, name_of};
use crate::status::Status;

const DEFAULT: &str = "default";
const AUTHORITIES: &str = "kube-root-ca.crt";
const CREDENTIALS: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const HOLDER: &str = "kube-controller-manager";

/// A certificate whose key was thrown away: clients in pods expect one, though nothing here is signed by it.
const CERTIFICATE: &str = include_str!("ca.crt");

/// Sees to it that a namespace has its default account and the certificates of the server, after something of these
/// has changed.
pub(crate) fn follow(cluster: &mut Cluster, kind: &Kind, object: &Value) {
    let name = name_of(object);
    let namespace = match (kind.plural.as_str(), name.as_str()) {
        ("namespaces", _) => name,
        ("serviceaccounts", DEFAULT) | ("configmaps", AUTHORITIES) => {
            object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned()
        }
        _ => return,
    };
    let found = cluster.store.get(&(String::new(), "namespaces".into()), "", &namespace);
    if found.is_none_or(|found| found["metadata"].get("deletionTimestamp").is_some()) {
        return;
    }
    let data = json!({"ca.crt": CERTIFICATE});
    ensure(cluster, &namespace, ("serviceaccounts", DEFAULT), &json!({}));
    ensure(cluster, &namespace, ("configmaps", AUTHORITIES), &json!({"data": data}));
}

fn ensure(cluster: &mut Cluster, namespace: &str, (plural, name): (&str, &str), fields: &Value) {
    let Ok(place) = cluster.place("", "v1", plural, Some(namespace)) else {
        return;
    };
    let how = How {
        manager: HOLDER.into(),
        ..How::default()
    };
    let filled = |object: &mut Value| {
        for (field, value) in fields.as_object().into_iter().flatten() {
            object[field] = value.clone();
        }
    };
    // Neither can fail: both objects are valid, and nobody else writes in between.
    let _ = match cluster.store.get(&place.kind.key(), namespace, name) {
        None => {
            let mut object = json!({
                "apiVersion": "v1", "kind": place.kind.kind, "metadata": {"name": name, "namespace": namespace},
            });
            filled(&mut object);
            cluster.create(&place, object, how)
        }
        Some(_) => cluster.update(&place, name, how, |current| {
            let mut object = current.clone();
            filled(&mut object);
            Ok(object)
        }),
    };
}

/// Completes a pod that is to be created from its account, as the admission plugin of this name does.
pub(crate) fn admit_pod(cluster: &mut Cluster, draft: &mut Draft) -> Result<(), Status> {
    let Place { kind, namespace, .. } = &draft.place;
    if draft.current.is_some() || !kind.group.is_empty() || kind.plural != "pods" {
        return Ok(());
    }
    let Some(spec) = draft.object.get_mut("spec").filter(|spec| spec.is_object()) else {
        return Ok(());
    };
    // The second field is the older name of the first one.
    let given = ["serviceAccountName", "serviceAccount"].map(|field| spec[field].as_str().unwrap_or_default());
    let name = given
        .into_iter()
        .find(|name| !name.is_empty())
        .unwrap_or(DEFAULT)
        .to_owned();
    let account = cluster
        .store
        .get(&(String::new(), "serviceaccounts".into()), namespace, &name);
    let Some(account) = account.cloned() else {
        let why = format!("error looking up service account {namespace}/{name}: serviceaccount {name:?} not found");
        return Err(Status::forbidden(kind, &draft.name, &why));
    };
    spec["serviceAccountName"] = json!(name);
    spec["serviceAccount"] = json!(name);
    let secrets = |object: &Value| {
        object["imagePullSecrets"]
            .as_array()
            .is_some_and(|list| !list.is_empty())
    };
    if !secrets(spec) && secrets(&account) {
        spec["imagePullSecrets"] = account["imagePullSecrets"].clone();
    }
    let wanted = [&*spec, &*account].map(|object| object["automountServiceAccountToken"].as_bool());
    if wanted.into_iter().flatten().next() != Some(false) {
        mount(spec, &format!("kube-api-access-{}", cluster.next_suffix()));
    }
    Ok(())
}

/// Gives the containers a volume with a token, the certificates and the namespace.
fn mount(spec: &mut Value, volume: &str) {
    let mut mounted = false;
    for list in ["initContainers", "containers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let mounts = container["volumeMounts"].as_array();
            let there = mounts.is_some_and(|mounts| mounts.iter().any(|mount| mount["mountPath"] == CREDENTIALS));
            if there || !container.is_object() {
                continue;
            }
            let added = json!({"name": volume, "readOnly": true, "mountPath": CREDENTIALS});
            append(container, "volumeMounts", added);
            mounted = true;
        }
    }
    if mounted {
        let field = json!({"apiVersion": "v1", "fieldPath": "metadata.namespace"});
        let sources = json!([
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": AUTHORITIES, "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}},
        ]);
        let added = json!({"name": volume, "projected": {"sources": sources, "defaultMode": 420}});
        append(spec, "volumes", added);
    }
}

fn append(object: &mut Value, field: &str, item: Value) {
    match object.get_mut(field).and_then(Value::as_array_mut) {
        Some(list) => list.push(item),
        None => object[field] = json!([item]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_that_mount_credentials_themselves_are_left_alone() {
        let own = json!({"name": "a", "volumeMounts": [{"name": "v", "mountPath": CREDENTIALS}]});
        let mut spec = json!({"containers": [own.clone()]});
        mount(&mut spec, "v");
        assert_eq!(spec, json!({"containers": [own.clone()]}));
        spec = json!({"initContainers": [{"name": "b"}], "containers": [own]});
        mount(&mut spec, "x");
        assert_eq!(spec["initContainers"][0]["volumeMounts"][0]["name"], "x");
        assert_eq!(spec["volumes"][0]["name"], "x");
    }
}
