//! The schemas of built-in kinds, as the crate of their types has them.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use k8s_openapi::api::{
    admissionregistration::v1 as admissionregistration, apps::v1 as apps, authentication::v1 as authentication,
    authorization::v1 as authorization, autoscaling::v1 as autoscaling_v1, autoscaling::v2 as autoscaling_v2,
    batch::v1 as batch, coordination::v1 as coordination, core::v1 as core, discovery::v1 as discovery,
    events::v1 as events, networking::v1 as networking, policy::v1 as policy, rbac::v1 as rbac,
    scheduling::v1 as scheduling, storage::v1 as storage,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1 as apiextensions;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use super::REFERENCE;

/// The schema of metadata.
pub(super) const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// A schema in which its own kind occurs again is cut off there.
const RECURSIVE: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";

struct Types {
    definitions: Map<String, Value>,
    /// Names of the schemas of whole objects, by `apiVersion` and kind.
    names: BTreeMap<(String, String), String>,
}

fn types() -> &'static Types {
    static TYPES: OnceLock<Types> = OnceLock::new();
    TYPES.get_or_init(|| {
        let mut generator = SchemaSettings::openapi3().into_generator();
        let mut names = BTreeMap::new();
        macro_rules! add {
            ($($type:ty),* $(,)?) => {$(
                let id = (
                    <$type as k8s_openapi::Resource>::API_VERSION.to_owned(),
                    <$type as k8s_openapi::Resource>::KIND.to_owned(),
                );
                names.insert(id, note::<$type>(&mut generator));
            )*};
        }
        add!(
            admissionregistration::MutatingWebhookConfiguration,
            admissionregistration::ValidatingWebhookConfiguration,
            apiextensions::CustomResourceDefinition,
            apps::ControllerRevision,
            apps::DaemonSet,
            apps::Deployment,
            apps::ReplicaSet,
            apps::StatefulSet,
            authentication::SelfSubjectReview,
            authentication::TokenReview,
            authorization::LocalSubjectAccessReview,
            authorization::SelfSubjectAccessReview,
            authorization::SelfSubjectRulesReview,
            authorization::SubjectAccessReview,
            autoscaling_v1::HorizontalPodAutoscaler,
            autoscaling_v2::HorizontalPodAutoscaler,
            batch::CronJob,
            batch::Job,
            coordination::Lease,
            core::ConfigMap,
            core::Endpoints,
            core::Event,
            core::LimitRange,
            core::Namespace,
            core::Node,
            core::PersistentVolume,
            core::PersistentVolumeClaim,
            core::Pod,
            core::ResourceQuota,
            core::Secret,
            core::Service,
            core::ServiceAccount,
            discovery::EndpointSlice,
            events::Event,
            networking::Ingress,
            networking::IngressClass,
            networking::NetworkPolicy,
            policy::PodDisruptionBudget,
            rbac::ClusterRole,
            rbac::ClusterRoleBinding,
            rbac::Role,
            rbac::RoleBinding,
            scheduling::PriorityClass,
            storage::StorageClass,
        );
        note::<ObjectMeta>(&mut generator);
        let definitions = generator.take_definitions(true);
        Types { definitions, names }
    })
}

fn note<T: JsonSchema>(generator: &mut SchemaGenerator) -> String {
    generator.subschema_for::<T>();
    T::schema_name().into_owned()
}

/// All schemas by their names.
pub(super) fn definitions() -> &'static Map<String, Value> {
    &types().definitions
}

/// The schema of a kind, with its name.
pub(super) fn named(api_version: &str, kind: &str) -> Option<(String, Value)> {
    let name = types().names.get(&(api_version.to_owned(), kind.to_owned()))?;
    Some((name.clone(), definitions().get(name)?.clone()))
}

/// The schema of a kind for decoding: without references, and without what is no question of types.
pub(crate) fn structural(api_version: &str, kind: &str) -> Option<&'static Value> {
    static KNOWN: Mutex<BTreeMap<String, &'static Value>> = Mutex::new(BTreeMap::new());
    let name = types().names.get(&(api_version.to_owned(), kind.to_owned()))?;
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(schema) = known.get(name) {
        return Some(schema);
    }
    // There are as many as kinds, and they are the same for all servers of the process.
    let schema: &'static Value = Box::leak(Box::new(inlined(name)));
    known.insert(name.clone(), schema);
    Some(schema)
}

fn inlined(name: &str) -> Value {
    match name {
        RECURSIVE => return json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        QUANTITY => return json!({"x-kubernetes-int-or-string": true}),
        _ => {}
    }
    let mut schema = plain(definitions().get(name).unwrap_or(&Value::Null));
    if schema["type"] == "object" {
        schema["title"] = json!(name.rsplit('.').next());
    }
    schema
}

fn plain(schema: &Value) -> Value {
    let Some(fields) = schema.as_object() else {
        return schema.clone();
    };
    let reference = fields.get("$ref").or_else(|| fields.get("allOf")?.get(0)?.get("$ref"));
    if let Some(name) = reference
        .and_then(Value::as_str)
        .and_then(|text| text.strip_prefix(REFERENCE))
    {
        return inlined(name);
    }
    let mut plain_fields = Map::new();
    for (key, value) in fields {
        let value = match key.as_str() {
            "type" | "format" | "x-kubernetes-int-or-string" | "x-kubernetes-preserve-unknown-fields" => value.clone(),
            "items" | "additionalProperties" => plain(value),
            "properties" => value
                .as_object()
                .into_iter()
                .flatten()
                .map(|(name, schema)| (name.clone(), plain(schema)))
                .collect(),
            _ => continue,
        };
        plain_fields.insert(key.clone(), value);
    }
    let untyped = !plain_fields.contains_key("type") && !plain_fields.contains_key("x-kubernetes-int-or-string");
    let shapeless = plain_fields.get("type").is_some_and(|kind| kind == "object")
        && !plain_fields.contains_key("properties")
        && !plain_fields.contains_key("additionalProperties");
    if untyped || shapeless {
        plain_fields.insert("x-kubernetes-preserve-unknown-fields".into(), json!(true));
    }
    Value::Object(plain_fields)
}

/// The first value that a field of its type cannot hold, in the words of the decoder.
pub(crate) fn mismatch(schema: &Value, value: &Value) -> Option<String> {
    find_mismatch(schema, value, ("", ""))
}

fn find_mismatch(schema: &Value, value: &Value, (owner, path): (&str, &str)) -> Option<String> {
    let wanted = schema["type"].as_str().unwrap_or_default();
    if value.is_null() || (wanted.is_empty() && schema["x-kubernetes-int-or-string"] != true) {
        return None;
    }
    let wrong = |given: &str| {
        let kind = go_type(schema);
        Some(if owner.is_empty() {
            format!("json: cannot unmarshal {given} into Go value of type {kind}")
        } else {
            format!("json: cannot unmarshal {given} into Go struct field {owner}.{path} of type {kind}")
        })
    };
    if schema["x-kubernetes-int-or-string"] == true {
        return match value {
            Value::String(_) | Value::Number(_) => None,
            other => wrong(crate::go::json_type(other)),
        };
    }
    match (wanted, value) {
        ("object", Value::Object(fields)) => {
            let owner = schema["title"].as_str().unwrap_or(owner);
            fields.iter().find_map(|(key, value)| {
                let own = schema["properties"].get(key);
                // Keys of maps are no fields, and are not named.
                let path = match own {
                    Some(_) if path.is_empty() => key.clone(),
                    Some(_) => format!("{path}.{key}"),
                    None => path.to_owned(),
                };
                let schema = own.or_else(|| schema.get("additionalProperties"))?;
                find_mismatch(schema, value, (owner, &path))
            })
        }
        ("array", Value::Array(items)) => items
            .iter()
            .find_map(|item| find_mismatch(&schema["items"], item, (owner, path))),
        ("string", Value::String(text)) => check_text(schema["format"].as_str().unwrap_or_default(), text),
        ("boolean", Value::Bool(_)) | ("number", Value::Number(_)) => None,
        ("integer", Value::Number(number)) => {
            if number.as_f64().is_some_and(|number| number.fract() == 0.0) {
                None
            } else {
                wrong(&format!("number {number}"))
            }
        }
        (_, other) => wrong(crate::go::json_type(other)),
    }
}

fn check_text(format: &str, text: &str) -> Option<String> {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    match format {
        "byte" => STANDARD.decode(text).err().map(|error| {
            let place = match error {
                base64::DecodeError::InvalidByte(place, _) => place,
                _ => text.len(),
            };
            format!("illegal base64 data at input byte {place}")
        }),
        "date-time" => text.parse::<jiff::Timestamp>().err().map(|_| {
            format!("parsing time {text:?} as \"2006-01-02T15:04:05Z07:00\": cannot parse {text:?} as \"2006\"")
        }),
        _ => None,
    }
}

fn go_type(schema: &Value) -> String {
    match schema["type"].as_str().unwrap_or("intstr.IntOrString") {
        "integer" => schema["format"].as_str().unwrap_or("int").to_owned(),
        "number" => "float64".into(),
        "boolean" => "bool".into(),
        "array" => format!("[]{}", go_type(&schema["items"])),
        "object" => match schema["title"].as_str() {
            Some(name) => format!("v1.{name}"),
            None => format!("map[string]{}", go_type(&schema["additionalProperties"])),
        },
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Kinds;

    #[test]
    fn every_built_in_kind_has_a_schema() {
        for kind in Kinds::built_in().all() {
            for version in &kind.versions {
                let api_version = kind.api_version(&version.name);
                assert!(
                    structural(&api_version, &kind.kind).is_some(),
                    "{api_version} {}",
                    kind.kind
                );
            }
        }
    }

    #[test]
    fn wrong_types_are_told_as_the_decoder_does() {
        let schema = structural("apps/v1", "Deployment").unwrap();
        let told = |object: Value| mismatch(schema, &object);
        assert_eq!(
            told(json!({"spec": {"replicas": "3"}})).unwrap(),
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"
        );
        assert_eq!(
            told(json!({"spec": {"template": {"spec": {"containers": [{"name": 1}]}}}})).unwrap(),
            "json: cannot unmarshal number into Go struct field Container.spec.template.spec.containers.name of type \
             string"
        );
        assert_eq!(
            told(json!({"spec": {"strategy": {"rollingUpdate": {"maxSurge": 1}}}})),
            None
        );
        let pod = structural("v1", "Pod").unwrap();
        let limits = json!({"limits": {"cpu": 1, "memory": "1Gi"}});
        assert_eq!(
            mismatch(pod, &json!({"spec": {"containers": [{"resources": limits}]}})),
            None
        );
        let secret = structural("v1", "Secret").unwrap();
        let told = mismatch(secret, &json!({"data": {"a": "not base64!"}})).unwrap();
        assert_eq!(told, "illegal base64 data at input byte 3");
    }
}
