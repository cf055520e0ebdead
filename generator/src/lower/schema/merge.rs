//! How lists and maps merge: `listType`, `listMapKey`, `mapType`.

use serde_json::json;

use super::super::Faults;
use super::values;
use crate::diagnostic::{Code, Diagnostic, listed};
use crate::model::{Field, Presence, Schema, Shape};
use crate::spec::{FieldForm, FieldOption, FieldSpec, OptionValue, TypeForm};

const LIST_TYPE: &str = "x-kubernetes-list-type";
const LIST_KEYS: &str = "x-kubernetes-list-map-keys";
const MAP_TYPE: &str = "x-kubernetes-map-type";

/// Whether a field is a list whose items cannot be told apart over time, or an atomic map.
pub(super) fn hides_items(field: &FieldSpec) -> bool {
    let text = |key: &str| {
        field.option(key).and_then(|option| match &option.value {
            OptionValue::Line { text, .. } => Some(text.as_str()),
            OptionValue::Node(node) => node.as_scalar().map(|scalar| scalar.text.as_str()),
        })
    };
    match &field.form {
        FieldForm::Type(expr) => match expr.form {
            TypeForm::List(_) => text("listType") != Some("map"),
            TypeForm::Map(_) => text("mapType") == Some("atomic"),
            TypeForm::Named(_) => false,
        },
        _ => false,
    }
}

pub(super) fn check(field: &FieldSpec, schema: &mut Schema, named_type: bool, faults: &mut Faults) {
    match &schema.shape {
        Shape::List(_) => list(field, schema, named_type, faults),
        Shape::Map(_) | Shape::Object(_) => {
            if let Some(kind) = choice(field.option("mapType"), &["atomic", "granular"], faults) {
                schema.keywords.insert(MAP_TYPE.into(), json!(kind));
            }
        }
        _ => {}
    }
}

fn choice(option: Option<&FieldOption>, choices: &[&str], faults: &mut Faults) -> Option<String> {
    let option = option?;
    let text = values::text(option, faults)?;
    if choices.contains(&text.as_str()) {
        return Some(text);
    }
    let message = format!("`{}` cannot be `{text}`", option.key.value);
    let help = format!("it is {}", listed(choices.iter().copied()));
    faults.push(Diagnostic::error(Code::MergeKeyword, option.value.span(), message).help(help));
    None
}

fn list(field: &FieldSpec, schema: &mut Schema, named_type: bool, faults: &mut Faults) {
    let list_type = choice(field.option("listType"), &["atomic", "set", "map"], faults);
    if let Some(list_type) = &list_type {
        schema.keywords.insert(LIST_TYPE.into(), json!(list_type));
        if list_type != "map" {
            schema.keywords.remove(LIST_KEYS);
        }
    }
    let Shape::List(item) = &schema.shape else { return };
    let item = item.as_ref().clone();
    let keys = field.option("listMapKey");
    match (list_type.as_deref(), keys) {
        (Some("map"), Some(keys)) => {
            if let Some(names) = map_keys(keys, &item, faults) {
                schema.keywords.insert(LIST_KEYS.into(), json!(names));
            }
        }
        (Some("map"), None) => {
            let span = field
                .option("listType")
                .map_or(field.span, |option| option.value.span());
            let fault = Diagnostic::error(Code::MapKeys, span, "listType=map needs `listMapKey`");
            faults.push(fault.help("name the fields that tell the items apart: listMapKey=name"));
        }
        (_, Some(keys)) => {
            let fault = Diagnostic::error(Code::MapKeys, keys.key.span, "`listMapKey` without listType=map");
            faults.push(fault.help("write listType=map"));
        }
        (Some("set"), None) => set(field, &item, faults),
        (None, None) if !named_type && !schema.keywords.contains_key(LIST_TYPE) => untyped(field, &item, faults),
        _ => {}
    }
}

fn set(field: &FieldSpec, item: &Schema, faults: &mut Faults) {
    let span = field
        .option("listType")
        .map_or(field.span, |option| option.value.span());
    let atomic = |key: &str| item.keywords.get(key) == Some(&json!("atomic"));
    let fits = match &item.shape {
        Shape::Object(_) | Shape::Map(_) => atomic(MAP_TYPE),
        Shape::List(_) => atomic(LIST_TYPE) || !item.keywords.contains_key(LIST_TYPE),
        Shape::Any => false,
        Shape::Known { schema, .. } => {
            !schema.contains_key("properties") || schema.get(MAP_TYPE) == Some(&json!("atomic"))
        }
        _ => true,
    };
    if !fits {
        let fault = Diagnostic::error(Code::SetItems, span, "items of a set are scalars or atomic");
        faults.push(fault.help("use listType=map with a listMapKey, or listType=atomic"));
    }
    if item.nullable {
        faults.push(Diagnostic::error(
            Code::MapKeyPresence,
            span,
            "items of a set cannot be null",
        ));
    }
}

fn map_keys(option: &FieldOption, item: &Schema, faults: &mut Faults) -> Option<Vec<String>> {
    let span = option.value.span();
    let names = values::texts(option, faults)?;
    let Shape::Object(object) = &item.shape else {
        if matches!(item.shape, Shape::Known { .. } | Shape::Raw(_)) {
            return Some(names);
        }
        faults.push(Diagnostic::error(
            Code::MapKeys,
            span,
            "items of a map list are objects with named fields",
        ));
        return None;
    };
    if item.nullable {
        faults.push(Diagnostic::error(
            Code::MapKeyPresence,
            span,
            "items of a map list cannot be null",
        ));
    }
    for (index, name) in names.iter().enumerate() {
        if names[..index].contains(name) {
            faults.push(Diagnostic::error(
                Code::MapKeys,
                span,
                format!("`{name}` is listed twice"),
            ));
        }
        if let Some(field) = object.fields.iter().find(|field| field.wire_name == *name) {
            key_field(field, span, faults);
        } else {
            let known = object.fields.iter().map(|field| field.wire_name.as_str());
            let fault = Diagnostic::error(Code::MapKeys, span, format!("items have no field `{name}`"));
            let meant = crate::diagnostic::did_you_mean(name, known);
            faults.push(fault.maybe_help(meant.map(|name| format!("did you mean `{name}`?"))));
        }
    }
    Some(names)
}

fn key_field(field: &Field, span: crate::diagnostic::Span, faults: &mut Faults) {
    let name = &field.wire_name;
    if !matches!(field.schema.shape, Shape::Scalar(_) | Shape::Enum { .. }) {
        faults.push(Diagnostic::error(
            Code::MapKeys,
            span,
            format!("key `{name}` is no scalar"),
        ));
    } else if field.schema.nullable {
        faults.push(Diagnostic::error(
            Code::MapKeyPresence,
            span,
            format!("key `{name}` cannot be nullable"),
        ));
    } else if field.presence == Presence::Optional {
        let fault = Diagnostic::error(Code::MapKeyPresence, span, format!("key `{name}` may be absent"));
        faults.push(fault.help(format!("give `{name}` required=true or a default")));
    }
}

fn untyped(field: &FieldSpec, item: &Schema, faults: &mut Faults) {
    let Shape::Object(object) = &item.shape else { return };
    let name = object
        .fields
        .iter()
        .find(|field| field.presence != Presence::Optional && matches!(field.schema.shape, Shape::Scalar(_)));
    let help = match name {
        Some(field) => format!(
            "say so: listType=map listMapKey={0}, or listType=atomic",
            field.wire_name
        ),
        None => "say so: listType=atomic, or listType=map with a listMapKey".to_string(),
    };
    let message = "a list of objects without `listType` is replaced as a whole by server-side apply";
    faults.push(Diagnostic::warning(Code::ListWithoutType, field.span, message).help(help));
}
