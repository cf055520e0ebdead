//! `deploy/crds`: own kinds, and roles for the people who use them.

use serde_json::{Map, Value, json};

use super::{add, annotations, kustomization, labels};
use crate::fileset::FileSet;
use crate::model::{ObjectSchema, Operator, Origin, OwnKind, Presence, Preserve, Resource, Scalar, Schema, Shape};
use crate::render::owner;
use crate::render::yaml::{Yaml, list, map};

const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";

/// Adds the folder if there is an own kind, and says whether there is.
pub(super) fn render(operator: &Operator, files: &mut FileSet) -> bool {
    let mut resources = Vec::new();
    for resource in &operator.resources {
        if let Origin::Own(own) = &resource.origin {
            let name = owner(resource);
            add(
                files,
                &format!("crds/{name}.yaml"),
                &[definition(operator, resource, own)],
            );
            add(files, &format!("crds/{name}.roles.yaml"), &roles(operator, resource));
            resources.extend([format!("{name}.yaml"), format!("{name}.roles.yaml")]);
        }
    }
    let any = super::has_own_kinds(operator);
    if any {
        kustomization(files, "crds", &map! { "resources" => resources });
    }
    any
}

fn definition(operator: &Operator, resource: &Resource, own: &OwnKind) -> Yaml {
    let reference = &resource.reference;
    let names = map! {
        "kind" => &reference.kind,
        "listKind" => &reference.list_kind,
        "plural" => &reference.plural,
        "singular" => &reference.singular,
    }
    .with_some("shortNames", own.short_names.clone());
    let mut version = map! {
        "name" => &reference.version,
        "served" => true,
        "storage" => true,
        "schema" => map! { "openAPIV3Schema" => &Value::Object(root(own)) },
    };
    if reference.status_subresource {
        version = version.with("subresources", map! { "status" => map! {} });
    }
    map! {
        "apiVersion" => "apiextensions.k8s.io/v1",
        "kind" => "CustomResourceDefinition",
        "metadata" => map! { "name" => owner(resource), "labels" => labels(operator, "crd") }
            .with_some("annotations", annotations(operator)),
        "spec" => map! {
            "group" => &reference.group,
            "names" => names,
            "scope" => if reference.namespaced { "Namespaced" } else { "Cluster" },
            "versions" => list![version],
        },
    }
}

fn root(own: &OwnKind) -> Map<String, Value> {
    let spec = part(&own.spec, own.preserve == Preserve::All);
    let status = part(&own.status, own.preserve != Preserve::None);
    let mut properties = Map::from_iter([
        ("apiVersion".to_owned(), json!({"type": "string"})),
        ("kind".to_owned(), json!({"type": "string"})),
        ("metadata".to_owned(), json!({"type": "object"})),
        ("spec".to_owned(), Value::Object(spec)),
    ]);
    if !says_nothing(&status) {
        properties.insert("status".to_owned(), Value::Object(status));
    }
    let mut root = object("object");
    insert_some(&mut root, "description", own.description.as_deref());
    root.insert("properties".to_owned(), Value::Object(properties));
    if needs_spec(&own.spec) {
        root.insert("required".to_owned(), json!(["spec"]));
    }
    root
}

/// A status without fields that keeps nothing unknown would only be pruned.
fn says_nothing(schema: &Map<String, Value>) -> bool {
    schema.len() == 1
}

fn needs_spec(spec: &Schema) -> bool {
    match &spec.shape {
        Shape::Object(object) => object.fields.iter().any(|field| field.presence == Presence::Required),
        Shape::Raw(raw) => raw
            .get("required")
            .and_then(Value::as_array)
            .is_some_and(|required| !required.is_empty()),
        _ => false,
    }
}

/// `.spec` or `.status`.
fn part(schema: &Schema, preserve: bool) -> Map<String, Value> {
    let mut part = schema_of(schema);
    if preserve {
        part.insert(PRESERVE.to_owned(), json!(true));
    }
    part
}

fn schema_of(schema: &Schema) -> Map<String, Value> {
    let mut out = match &schema.shape {
        Shape::Scalar(Scalar::String) => object("string"),
        Shape::Scalar(Scalar::Integer) => with_format("integer", "int64"),
        Shape::Scalar(Scalar::Int32) => with_format("integer", "int32"),
        Shape::Scalar(Scalar::Number) => object("number"),
        Shape::Scalar(Scalar::Boolean) => object("boolean"),
        Shape::Enum { variants, .. } => {
            let mut out = object("string");
            out.insert(
                "enum".to_owned(),
                variants.iter().map(|(wire, _)| wire.as_str()).collect(),
            );
            out
        }
        Shape::Object(fields) => fields_of(fields),
        Shape::List(items) => {
            let mut out = object("array");
            out.insert("items".to_owned(), Value::Object(schema_of(items)));
            out
        }
        Shape::Map(items) => {
            let mut out = object("object");
            out.insert("additionalProperties".to_owned(), Value::Object(schema_of(items)));
            out
        }
        Shape::Any => {
            let mut out = object("object");
            out.insert(PRESERVE.to_owned(), json!(true));
            out
        }
        Shape::Raw(raw) => raw.clone(),
        Shape::Known { schema, .. } => schema.clone(),
    };
    insert_some(&mut out, "description", schema.description.as_deref());
    if schema.nullable {
        out.insert("nullable".to_owned(), json!(true));
    }
    if let Some(default) = &schema.default {
        out.insert("default".to_owned(), default.clone());
    }
    out.extend(schema.keywords.clone());
    out
}

fn fields_of(fields: &ObjectSchema) -> Map<String, Value> {
    let mut out = object("object");
    if !fields.fields.is_empty() {
        let properties: Map<_, _> = fields
            .fields
            .iter()
            .map(|field| (field.wire_name.clone(), Value::Object(schema_of(&field.schema))))
            .collect();
        out.insert("properties".to_owned(), Value::Object(properties));
    }
    let required = fields
        .fields
        .iter()
        .filter(|field| field.presence == Presence::Required);
    let required: Vec<&str> = required.map(|field| field.wire_name.as_str()).collect();
    if !required.is_empty() {
        out.insert("required".to_owned(), json!(required));
    }
    if fields.open {
        out.insert(PRESERVE.to_owned(), json!(true));
    }
    out
}

fn object(kind: &str) -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), json!(kind))])
}

fn with_format(kind: &str, format: &str) -> Map<String, Value> {
    let mut out = object(kind);
    out.insert("format".to_owned(), json!(format));
    out
}

fn insert_some(out: &mut Map<String, Value>, key: &str, value: Option<&str>) {
    if let Some(value) = value {
        out.insert(key.to_owned(), json!(value));
    }
}

fn roles(operator: &Operator, resource: &Resource) -> Vec<Yaml> {
    let viewer = role(
        operator,
        resource,
        "viewer",
        &["admin", "edit", "view"],
        &["get", "list", "watch"],
    );
    let editor = role(
        operator,
        resource,
        "editor",
        &["admin", "edit"],
        &[
            "create",
            "delete",
            "deletecollection",
            "get",
            "list",
            "patch",
            "update",
            "watch",
        ],
    );
    vec![viewer, editor]
}

fn role(operator: &Operator, resource: &Resource, name: &str, aggregate: &[&str], verbs: &[&str]) -> Yaml {
    let mut all = labels(operator, "crd");
    for role in aggregate {
        all = all.with(&format!("rbac.authorization.k8s.io/aggregate-to-{role}"), "true");
    }
    let who = if name == "viewer" { "look at" } else { "work with" };
    let rule = map! {
        "apiGroups" => list![&resource.reference.group],
        "resources" => list![&resource.reference.plural],
        "verbs" => verbs.to_vec(),
    };
    map! {
        "apiVersion" => "rbac.authorization.k8s.io/v1",
        "kind" => "ClusterRole",
        "metadata" => map! { "name" => format!("{}-{name}", owner(resource)), "labels" => all }
            .with_some("annotations", annotations(operator)),
        "rules" => list![rule.comment(format!("for people who {who} {}", resource.reference.plural))],
    }
}
