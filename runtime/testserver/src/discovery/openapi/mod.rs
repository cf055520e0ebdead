//! The OpenAPI documents: what can be done with each kind, and the schemas that are known.
//!
//! Schemas of custom kinds come from their definitions, those of built-in kinds are there with the feature `openapi`.

#[cfg(feature = "openapi")]
pub(crate) mod types;

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::{Map, Value, json};

use super::{served_in, versions_of};
use crate::cluster::Place;
use crate::kinds::{Kind, Kinds, Version};
use crate::status::Status;

const REFERENCE: &str = "#/components/schemas/";

/// `/openapi/v3`: where the documents are.
pub(crate) fn index(kinds: &Kinds) -> Value {
    let mut paths = Map::new();
    for kind in kinds.all() {
        for version in &kind.versions {
            let path = path(&kind.group, &version.name);
            let hash = hash(kinds, &kind.group, &version.name);
            let url = format!("/openapi/v3/{path}?hash={hash:016X}");
            paths.insert(path, json!({"serverRelativeURL": url}));
        }
    }
    json!({"paths": paths})
}

/// The same as long as the document is.
fn hash(kinds: &Kinds, group: &str, version: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    for kind in served_in(kinds, group, version) {
        kind.kind.hash(&mut hasher);
        let schema = kind.version(version).and_then(|version| version.schema.as_ref());
        schema.map(Value::to_string).hash(&mut hasher);
    }
    hasher.finish()
}

/// One document of version 3.
pub(crate) fn document(kinds: &Kinds, group: &str, version: &str) -> Result<Value, Status> {
    let (mut paths, mut schemas) = (Map::new(), Map::new());
    for kind in served_in(kinds, group, version) {
        describe(kind, version, &mut paths, &mut schemas);
    }
    if paths.is_empty() {
        return Err(Status::no_such_path());
    }
    let mut document = json!({"openapi": "3.0.0", "info": info(), "paths": paths});
    if !schemas.is_empty() {
        complete(&mut schemas);
        document["components"] = json!({"schemas": schemas});
    }
    Ok(document)
}

/// `/openapi/v2`: all schemas in one document of the old form.
pub(crate) fn old_document(kinds: &Kinds) -> Result<Value, Status> {
    if !cfg!(feature = "openapi") {
        return Err(Status::no_such_path());
    }
    let mut schemas = Map::new();
    for kind in kinds.all() {
        for version in versions_of(kinds, &kind.group) {
            if kind.version(version).is_some() {
                describe(kind, version, &mut Map::new(), &mut schemas);
            }
        }
    }
    complete(&mut schemas);
    let mut definitions = json!(schemas);
    refer_to_definitions(&mut definitions);
    Ok(json!({"swagger": "2.0", "info": info(), "paths": {}, "definitions": definitions}))
}

/// Gives an object of a built-in kind the form of its type: what comes back are the paths of the unknown fields, which
/// are gone, or why its type cannot hold it. Without the feature types are not known.
#[cfg(feature = "openapi")]
pub(crate) fn decode(place: &Place, object: &mut Value) -> Result<Vec<String>, String> {
    if place.kind.custom {
        return Ok(Vec::new());
    }
    let Some(schema) = types::structural(&place.api_version(), &place.kind.kind) else {
        return Ok(place.kind.prune(object));
    };
    if let Some(fault) = types::mismatch(schema, object) {
        return Err(fault);
    }
    crate::schema::decode(schema, object).map_err(|cause| cause.to_string())
}

/// Without the feature, only the fields of whole objects are known.
#[cfg(not(feature = "openapi"))]
#[expect(clippy::unnecessary_wraps, reason = "the same as with the feature")]
pub(crate) fn decode(place: &Place, object: &mut Value) -> Result<Vec<String>, String> {
    Ok(place.kind.prune(object))
}

fn info() -> Value {
    json!({"title": "Kubernetes", "version": "v1.32.0"})
}

fn path(group: &str, version: &str) -> String {
    if group.is_empty() {
        format!("api/{version}")
    } else {
        format!("apis/{group}/{version}")
    }
}

/// Adds the paths of a kind, and its schema with that of its lists.
fn describe(kind: &Kind, version: &str, paths: &mut Map<String, Value>, schemas: &mut Map<String, Value>) {
    let Some(served) = kind.version(version) else {
        return;
    };
    let name = schema_of(kind, served, schemas);
    let place = if kind.namespaced { "namespaces/{namespace}/" } else { "" };
    let collection = format!("/{}/{place}{}", path(&kind.group, version), kind.plural);
    let object = format!("{collection}/{{name}}");
    let of = |verbs: &[(&str, &str, &str)]| {
        let served = verbs.iter().filter(|(_, verb, _)| kind.verbs.contains(verb));
        let operations = served.map(|(method, verb, action)| {
            let writes = matches!(*verb, "create" | "update" | "patch");
            (
                (*method).to_owned(),
                operation(kind, version, action, writes, name.as_deref()),
            )
        });
        Value::Object(operations.collect())
    };
    paths.insert(
        collection,
        of(&[
            ("get", "list", "list"),
            ("post", "create", "post"),
            ("delete", "deletecollection", "deletecollection"),
        ]),
    );
    let single = of(&[
        ("get", "get", "get"),
        ("put", "update", "put"),
        ("patch", "patch", "patch"),
        ("delete", "delete", "delete"),
    ]);
    if served.status {
        let mut status = single.clone();
        if let Some(operations) = status.as_object_mut() {
            operations.remove("delete");
        }
        paths.insert(format!("{object}/status"), status);
    }
    if single.as_object().is_some_and(|operations| !operations.is_empty()) {
        paths.insert(object, single);
    }
}

/// What clients look for: the action, its kind, and whether fields are validated by the server.
///
/// Formats of bodies are left out: kubectl takes a strategic patch that is named here as a promise that the schemas
/// tell how lists merge, and knows it by itself otherwise.
fn operation(kind: &Kind, version: &str, action: &str, writes: bool, schema: Option<&str>) -> Value {
    let parameters = if writes {
        json!([{"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}])
    } else {
        json!([])
    };
    let mut response = json!({"description": "OK"});
    if let Some(name) = schema.filter(|_| matches!(action, "get" | "post" | "put" | "patch")) {
        response["content"] = json!({"application/json": {"schema": {"$ref": format!("{REFERENCE}{name}")}}});
    }
    json!({
        "parameters": parameters, "responses": {"200": response}, "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": {"group": kind.group, "version": version, "kind": kind.kind},
    })
}

/// Adds the schema of a kind, and tells its name.
fn schema_of(kind: &Kind, version: &Version, schemas: &mut Map<String, Value>) -> Option<String> {
    let (name, mut schema) = if kind.custom {
        custom(kind, version)?
    } else {
        built_in(kind, version)?
    };
    let identity = |of: &str| json!([{"group": kind.group, "kind": of, "version": version.name}]);
    schema["x-kubernetes-group-version-kind"] = identity(&kind.kind);
    schemas.insert(name.clone(), schema);
    let list = json!({
        "type": "object", "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"}, "kind": {"type": "string"},
            "items": {"type": "array", "items": {"$ref": format!("{REFERENCE}{name}")}},
            "metadata": {"type": "object"},
        },
        "x-kubernetes-group-version-kind": identity(&kind.list_kind),
    });
    schemas.insert(format!("{name}List"), list);
    Some(name)
}

#[cfg(feature = "openapi")]
fn built_in(kind: &Kind, version: &Version) -> Option<(String, Value)> {
    types::named(&kind.api_version(&version.name), &kind.kind)
}

#[cfg(not(feature = "openapi"))]
fn built_in(_: &Kind, _: &Version) -> Option<(String, Value)> {
    None
}

/// The schema of a custom kind, with the fields that all objects have.
fn custom(kind: &Kind, version: &Version) -> Option<(String, Value)> {
    let mut schema = version.schema.clone()?;
    let mut group: Vec<_> = kind.group.split('.').collect();
    group.reverse();
    let name = format!("{}.{}.{}", group.join("."), version.name, kind.kind);
    if let Some(fields) = schema.as_object_mut() {
        let properties = fields.entry("properties").or_insert_with(|| json!({}));
        if let Some(properties) = properties.as_object_mut() {
            let text = |about: &str| json!({"type": "string", "description": about});
            properties
                .entry("apiVersion")
                .or_insert_with(|| text("The version of the schema of this object."));
            properties
                .entry("kind")
                .or_insert_with(|| text("The kind of this object."));
            properties.insert("metadata".into(), metadata());
        }
    }
    Some((name, schema))
}

#[cfg(feature = "openapi")]
fn metadata() -> Value {
    json!({
        "description": "Standard object's metadata.",
        "allOf": [{"$ref": format!("{REFERENCE}{}", types::OBJECT_META)}],
    })
}

#[cfg(not(feature = "openapi"))]
fn metadata() -> Value {
    json!({"description": "Standard object's metadata.", "type": "object"})
}

/// Adds the schemas that are referred to.
fn complete(schemas: &mut Map<String, Value>) {
    let mut open: Vec<String> = schemas.values().flat_map(references).collect();
    let mut seen = BTreeSet::new();
    while let Some(name) = open.pop() {
        if schemas.contains_key(&name) || !seen.insert(name.clone()) {
            continue;
        }
        if let Some(schema) = definition(&name) {
            open.extend(references(&schema));
            schemas.insert(name, schema);
        }
    }
}

#[cfg(feature = "openapi")]
fn definition(name: &str) -> Option<Value> {
    types::definitions().get(name).cloned()
}

#[cfg(not(feature = "openapi"))]
fn definition(_: &str) -> Option<Value> {
    None
}

fn references(schema: &Value) -> Vec<String> {
    match schema {
        Value::Object(fields) => {
            let own = fields.get("$ref").and_then(Value::as_str);
            let own = own.and_then(|text| text.strip_prefix(REFERENCE)).map(str::to_owned);
            own.into_iter().chain(fields.values().flat_map(references)).collect()
        }
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

/// Gives schemas the form of version 2.
fn refer_to_definitions(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::String(text)) = fields.get_mut("$ref") {
                *text = text.replace(REFERENCE, "#/definitions/");
            }
            if let Some([only]) = fields.get("allOf").and_then(Value::as_array).map(Vec::as_slice)
                && let Some(reference) = only.get("$ref").cloned()
            {
                fields.remove("allOf");
                fields.insert("$ref".into(), reference);
                return refer_to_definitions(schema);
            }
            fields.values_mut().for_each(refer_to_definitions);
        }
        Value::Array(items) => items.iter_mut().for_each(refer_to_definitions),
        _ => {}
    }
}
