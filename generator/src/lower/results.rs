//! What handlers return, and its place in the status.

use std::collections::BTreeMap;

use serde_json::map::Entry as Slot;
use serde_json::{Map, Value, json};

use super::Faults;
use super::entries::{full_id, id};
use super::functions::entries;
use super::schema::Lowering;
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Field, Presence, Schema, Shape};
use crate::naming;
use crate::spec::{EntrySpec, ResourceSpec};

/// The results of a resource by the place of their `returns`.
pub(super) struct Results {
    schemas: BTreeMap<usize, Schema>,
}

impl Results {
    pub(super) fn of(&self, entry: &EntrySpec) -> Option<Schema> {
        self.schemas.get(&entry.returns.as_ref()?.span.start).cloned()
    }
}

pub(super) fn results(spec: &ResourceSpec, lowering: &mut Lowering<'_, '_>) -> Results {
    let mut schemas = BTreeMap::new();
    for entry in entries(spec) {
        let Some(returns) = &entry.returns else { continue };
        let function = &entry.function.value;
        let type_name = lowering.type_name(
            &format!("{}Result", naming::pascal_case(function)),
            &format!("result of {function}"),
        );
        schemas.insert(returns.span.start, lowering.result(returns, &type_name));
    }
    Results { schemas }
}

/// Built-in kinds have no schema to put a result into.
pub(super) fn refuse(spec: &ResourceSpec, faults: &mut Faults) {
    for returns in entries(spec).filter_map(|entry| entry.returns.as_ref()) {
        let message = format!("`returns` on a handler of the built-in kind `{}`", spec.kind.value);
        let help =
            "built-in kinds have no room for results: remove it, and write an annotation through `patch` instead";
        faults.push(Diagnostic::error(Code::Result, returns.span, message).help(help));
    }
}

/// One property for each id.
pub(super) fn add_to_status(spec: &ResourceSpec, results: &Results, status: &mut Schema, faults: &mut Faults) {
    let mut added: Vec<String> = Vec::new();
    for entry in entries(spec) {
        let Some(mut schema) = results.of(entry) else { continue };
        let key = full_id(entry);
        if added.contains(&key) {
            continue;
        }
        added.push(key.clone());
        if schema.description.is_none() {
            schema.description = Some(format!("Result of `{}`.", id(entry)));
        }
        match &mut status.shape {
            Shape::Object(object) => match object.fields.iter_mut().find(|field| field.wire_name == key) {
                Some(field) => declared(field, schema, entry, faults),
                None => add_field(&mut object.fields, key, schema, entry, faults),
            },
            Shape::Raw(raw) => {
                let properties = raw.entry("properties").or_insert_with(|| json!({}));
                match properties
                    .as_object_mut()
                    .map(|properties| properties.entry(key.clone()))
                {
                    Some(Slot::Vacant(slot)) => {
                        slot.insert(Value::Object(schema.openapi()));
                    }
                    Some(Slot::Occupied(slot)) => {
                        let declared = slot.get().as_object().cloned().unwrap_or_default();
                        let open = declared.get("x-kubernetes-preserve-unknown-fields") == Some(&json!(true))
                            && !declared.contains_key("properties")
                            && declared
                                .get("type")
                                .is_none_or(|kind| Some(kind) == schema.openapi().get("type"));
                        if !open && bare(declared) != bare(schema.openapi()) {
                            faults.push(other_type(&key, entry));
                        }
                    }
                    None => {}
                }
            }
            _ => {}
        }
    }
}

fn add_field(fields: &mut Vec<Field>, key: String, schema: Schema, entry: &EntrySpec, faults: &mut Faults) {
    let rust_name = naming::field_name(&key);
    if let Some(other) = fields.iter().find(|field| field.rust_name == rust_name) {
        let message = format!(
            "the result at `.status.{key}` and `.status.{}` are both `{rust_name}` in Rust",
            other.wire_name
        );
        let span = entry.id.as_ref().unwrap_or(&entry.function).span;
        faults.push(Diagnostic::error(Code::NameCollision, span, message).help("give the handler another `id`"));
        return;
    }
    fields.push(Field {
        wire_name: key,
        rust_name,
        presence: Presence::Optional,
        schema,
    });
}

/// A status field of the same name is fine if it can hold the result.
fn declared(field: &mut Field, schema: Schema, entry: &EntrySpec, faults: &mut Faults) {
    if matches!(field.schema.shape, Shape::Any) {
        return;
    }
    if bare(field.schema.openapi()) == bare(schema.openapi()) {
        let description = field.schema.description.take();
        field.schema = Schema {
            description: description.or(schema.description.clone()),
            ..schema
        };
        return;
    }
    faults.push(other_type(&field.wire_name, entry));
}

fn bare(mut openapi: Map<String, Value>) -> Map<String, Value> {
    openapi.remove("description");
    openapi
}

fn other_type(key: &str, entry: &EntrySpec) -> Diagnostic {
    let span = entry.returns.as_ref().map_or(entry.span, |returns| returns.span);
    let message = format!("the result is stored at `.status.{key}`, which `status` declares with another type");
    let help =
        "remove the field from `status`, since results are added by themselves, or give the handler another `id`";
    Diagnostic::error(Code::Result, span, message).help(help)
}
