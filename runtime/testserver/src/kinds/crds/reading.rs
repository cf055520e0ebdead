//! Stored objects as the definition makes them today, in the version that is asked for.

use serde_json::{Value, json};

use crate::kinds::Kind;
use crate::schema;

/// Gives a stored object the form that it has in a version: defaults are those of the version in which it is stored.
pub(crate) fn read(kind: &Kind, object: &mut Value, version: &str) {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let stored = api_version.rsplit_once('/').map_or(api_version, |(_, version)| version);
    if let Some(schema) = schema_of(kind, stored) {
        schema::complete(schema, object);
    }
    convert(kind, object, version);
}

/// An object as it is stored.
pub(crate) fn as_stored(kind: &Kind, object: &Value) -> Value {
    let mut object = object.clone();
    convert(kind, &mut object, &kind.storage);
    object
}

/// Without a webhook, versions differ in the fields that they know.
fn convert(kind: &Kind, object: &mut Value, version: &str) {
    let api_version = json!(kind.api_version(version));
    if object["apiVersion"] != api_version {
        object["apiVersion"] = api_version;
        if let Some(schema) = schema_of(kind, version) {
            schema::strip(schema, object);
        }
    }
}

fn schema_of<'a>(kind: &'a Kind, version: &str) -> Option<&'a Value> {
    let mut versions = kind.versions.iter().chain(&kind.unserved);
    versions.find(|each| each.name == version)?.schema.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::crds::kind_of;

    fn kind() -> Kind {
        let version = |name: &str, storage: bool, properties: Value| {
            let schema = json!({"type": "object", "properties": properties});
            json!({
                "name": name, "served": !storage, "storage": storage, "schema": {"openAPIV3Schema": schema},
            })
        };
        kind_of(&json!({
            "spec": {"group": "example.com", "versions": [
                version("v1", true, json!({"a": {"type": "string", "default": "x"}, "b": {"type": "string"}})),
                version("v2", false, json!({"b": {"type": "string"}, "c": {"type": "string", "default": "y"}})),
            ]},
            "status": {"acceptedNames": {"kind": "A", "plural": "as"}},
        }))
    }

    #[test]
    fn defaults_are_those_of_the_stored_version() {
        let mut object = json!({"apiVersion": "example.com/v1", "kind": "A", "b": "z", "old": 1});
        read(&kind(), &mut object, "v1");
        assert_eq!(
            object,
            json!({"apiVersion": "example.com/v1", "kind": "A", "a": "x", "b": "z"})
        );
    }

    #[test]
    fn fields_that_a_version_does_not_know_are_lost() {
        let mut object = json!({"apiVersion": "example.com/v1", "kind": "A", "b": "z"});
        read(&kind(), &mut object, "v2");
        assert_eq!(object, json!({"apiVersion": "example.com/v2", "kind": "A", "b": "z"}));
        let object = as_stored(
            &kind(),
            &json!({"apiVersion": "example.com/v2", "kind": "A", "b": "z", "c": "y"}),
        );
        assert_eq!(object, json!({"apiVersion": "example.com/v1", "kind": "A", "b": "z"}));
    }
}
