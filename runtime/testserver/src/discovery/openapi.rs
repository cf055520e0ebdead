//! As much of the OpenAPI documents as kubectl needs to leave the validation of fields to the server.

use serde_json::{Map, Value, json};

use crate::kinds::Kinds;
use crate::status::Status;

/// `/openapi/v3`: where the documents are.
pub(crate) fn index(kinds: &Kinds) -> Value {
    let mut paths = Map::new();
    for kind in kinds.all() {
        for version in &kind.versions {
            let path = path(&kind.group, &version.name);
            paths.insert(
                path.clone(),
                json!({"serverRelativeURL": format!("/openapi/v3/{path}")}),
            );
        }
    }
    json!({"paths": paths})
}

/// One document: that objects are patched, and that the request may say how to validate; no schemas.
pub(crate) fn document(kinds: &Kinds, group: &str, version: &str) -> Result<Value, Status> {
    let prefix = path(group, version);
    let mut paths = Map::new();
    for kind in kinds
        .all()
        .filter(|kind| kind.group == group && kind.version(version).is_some())
    {
        let place = if kind.namespaced { "namespaces/{namespace}/" } else { "" };
        let patch = json!({
            "parameters": [{"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}],
            "responses": {},
            "x-kubernetes-action": "patch",
            "x-kubernetes-group-version-kind": {"group": group, "version": version, "kind": kind.kind},
        });
        paths.insert(
            format!("/{prefix}/{place}{}/{{name}}", kind.plural),
            json!({"patch": patch}),
        );
    }
    if paths.is_empty() {
        return Err(Status::no_such_path());
    }
    let info = json!({"title": "Kubernetes", "version": "v1.32.0"});
    Ok(json!({"openapi": "3.0.0", "info": info, "paths": paths}))
}

fn path(group: &str, version: &str) -> String {
    if group.is_empty() {
        format!("api/{version}")
    } else {
        format!("apis/{group}/{version}")
    }
}
