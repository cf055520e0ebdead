//! What a schema in a definition may say, keyword by keyword.

use serde_json::{Value, json};

use crate::kinds::crds::definition::texts_shown;
use crate::kinds::crds::{defaults, list, rules, structural};
use crate::schema::{META, is_embedded, properties};
use crate::status::Cause;

/// The types that there are.
const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// What may stand at the root of a schema whose status is checked apart.
const ROOT: [(&str, &str); 22] = [
    ("description", "Description"),
    ("type", "Type"),
    ("format", "Format"),
    ("title", "Title"),
    ("maximum", "Maximum"),
    ("exclusiveMaximum", "ExclusiveMaximum"),
    ("minimum", "Minimum"),
    ("exclusiveMinimum", "ExclusiveMinimum"),
    ("maxLength", "MaxLength"),
    ("minLength", "MinLength"),
    ("pattern", "Pattern"),
    ("maxItems", "MaxItems"),
    ("minItems", "MinItems"),
    ("uniqueItems", "UniqueItems"),
    ("multipleOf", "MultipleOf"),
    ("required", "Required"),
    ("items", "Items"),
    ("properties", "Properties"),
    ("externalDocs", "ExternalDocs"),
    ("example", "Example"),
    ("x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields"),
    ("x-kubernetes-validations", "XValidations"),
];

/// Keywords that no schema may have; what has them is no structure at all.
const UNSUPPORTED: [&str; 6] = [
    "id",
    "additionalItems",
    "patternProperties",
    "definitions",
    "dependencies",
    "$ref",
];

/// The faults of the schema at `path`.
pub(super) fn check_root(schema: &Value, path: &str, status: bool, causes: &mut Vec<Cause>) {
    let before = causes.len();
    let root = format!("{path}.openAPIV3Schema");
    if status {
        check_beside_status(schema, &root, causes);
    }
    if schema["nullable"] == true {
        causes.push(Cause::forbidden(
            format!("{root}.nullable"),
            "nullable cannot be true at the root",
        ));
    }
    let structureless = structureless(schema);
    if structureless.is_none() {
        let faults = structural::faults(schema, &root);
        if faults.is_empty() {
            causes.extend(defaults::faults(schema, &root));
        }
        causes.extend(faults);
    }
    let context = Context {
        forbidden_defaults: None,
        in_metadata: false,
        uncorrelatable: None,
        in_junctor: false,
    };
    check(schema, &root, true, &context, causes);
    if let Some(why) = structureless.filter(|_| causes.len() == before) {
        causes.push(Cause::invalid(root, &json!(""), &why));
    }
}

fn check_beside_status(schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    let fields = schema.as_object().into_iter().flatten();
    let odd = fields
        .filter(|(_, value)| !is_zero(value))
        .find(|(key, _)| !ROOT.iter().any(|(name, _)| name == key));
    if schema["type"] != "object" && !is_zero(&schema["type"]) {
        let detail =
            "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
        causes.push(Cause::invalid(format!("{path}.type"), &schema["type"], detail));
    } else if odd.is_some() {
        let names: Vec<_> = ROOT.iter().map(|(_, name)| *name).collect();
        let detail = format!(
            "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
            names.join(" ")
        );
        causes.push(Cause::invalid(path, schema, &detail));
    }
}

/// Whether a value says nothing.
pub(super) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// Why a schema is no structure, if it has what structures do not have, anywhere in it.
fn structureless(schema: &Value) -> Option<String> {
    let unsupported = UNSUPPORTED.iter().find(|keyword| !is_zero(&schema[**keyword]));
    if let Some(keyword) = unsupported {
        return Some(format!("OpenAPIV3Schema '{keyword}' is not supported"));
    }
    if schema["x-kubernetes-preserve-unknown-fields"] == false {
        return Some("internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined".into());
    }
    if schema["items"].is_array() {
        return Some("OpenAPIV3Schema 'items' must be a schema, but is an array".into());
    }
    children(schema).into_iter().find_map(|(_, child)| structureless(child))
}

/// All schemas within a schema, with their paths from there.
fn children(schema: &Value) -> Vec<(String, &Value)> {
    let mut children = Vec::new();
    for keyword in ["additionalProperties", "not", "items"] {
        children.extend(
            schema
                .get(keyword)
                .filter(|child| child.is_object())
                .map(|child| (keyword.to_owned(), child)),
        );
    }
    for (name, child) in properties(schema).into_iter().flatten() {
        children.push((format!("properties[{name}]"), child));
    }
    for keyword in ["allOf", "oneOf", "anyOf"] {
        let branches = list(&schema[keyword]).iter().enumerate();
        children.extend(branches.map(|(index, child)| (format!("{keyword}[{index}]"), child)));
    }
    children
}

/// What is allowed depends on where a schema lies.
#[derive(Debug, Clone)]
struct Context {
    /// Why there can be no defaults.
    forbidden_defaults: Option<String>,
    in_metadata: bool,
    /// The highest part whose old value cannot be told.
    uncorrelatable: Option<String>,
    in_junctor: bool,
}

fn check(schema: &Value, path: &str, is_root: bool, context: &Context, causes: &mut Vec<Cause>) {
    let before = causes.len();
    check_keywords(schema, path, context, causes);
    check_maps(schema, path, causes);
    for (place, child) in children(schema) {
        let mut context = context.clone();
        let junctor = place.starts_with("allOf") || place.starts_with("oneOf") || place.starts_with("anyOf");
        context.in_junctor |= junctor || place == "not";
        if place == "additionalProperties" && context.in_metadata {
            let reason = "inside additionalProperties applying to object metadata";
            context.forbidden_defaults = Some(reason.into());
        }
        if let Some(name) = place
            .strip_prefix("properties[")
            .and_then(|name| name.strip_suffix(']'))
        {
            if schema["x-kubernetes-map-type"] == "atomic" {
                context.uncorrelatable.get_or_insert_with(|| path.to_owned());
            }
            if (is_root || is_embedded(schema)) && META.contains(&name) {
                context.in_metadata = true;
                if is_root {
                    context.forbidden_defaults = Some(format!("in top-level {name}"));
                }
            }
        }
        if place == "items" && schema["x-kubernetes-list-type"] != "map" {
            context.uncorrelatable.get_or_insert_with(|| path.to_owned());
        }
        check(child, &format!("{path}.{place}"), false, &context, causes);
    }
    check_extensions(schema, path, causes);
    check_list_map(schema, path, causes);
    check_keys(schema, path, causes);
    let compiled = !context.in_junctor && causes.len() == before;
    rules::check(schema, path, compiled, context.uncorrelatable.as_deref(), causes);
}

fn check_keywords(schema: &Value, path: &str, context: &Context, causes: &mut Vec<Cause>) {
    let kind = schema["type"].as_str().unwrap_or_default();
    if !kind.is_empty() && !TYPES.contains(&kind) {
        let types: Vec<_> = TYPES.iter().map(|&name| json!(name)).collect();
        causes.push(Cause::unsupported(format!("{path}.type"), &schema["type"], &types));
    }
    let mut forbid = |field: &str, detail: &str| causes.push(Cause::forbidden(format!("{path}.{field}"), detail));
    if let Some(reason) = context.forbidden_defaults.as_ref().filter(|_| has_default(schema)) {
        forbid("default", &format!("must not be set {reason}"));
    }
    for keyword in UNSUPPORTED {
        if !is_zero(&schema[keyword]) {
            forbid(keyword, &format!("{keyword} is not supported"));
        }
    }
    if kind == "null" {
        forbid("type", "type cannot be set to null, use nullable as an alternative");
    }
    if schema["items"].is_array() {
        forbid("items", "items must be a schema object and not an array");
    }
    if context.in_metadata && is_embedded(schema) {
        forbid(
            "x-kubernetes-embedded-resource",
            "must not be used inside of resource meta",
        );
    }
    if schema["uniqueItems"] == true {
        let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        forbid("uniqueItems", detail);
    }
}

/// Whether a schema has a default.
pub(super) fn has_default(schema: &Value) -> bool {
    schema.get("default").is_some_and(|default| !default.is_null())
}

fn check_maps(schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    let named = properties(schema).is_some_and(|properties| !properties.is_empty());
    let restricted = schema
        .get("additionalProperties")
        .is_some_and(|additional| *additional != true);
    if named && restricted {
        let detail = "additionalProperties and properties are mutual exclusive";
        causes.push(Cause::forbidden(format!("{path}.additionalProperties"), detail));
    }
}

fn check_extensions(schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    if schema["x-kubernetes-preserve-unknown-fields"] == false {
        let path = format!("{path}.x-kubernetes-preserve-unknown-fields");
        causes.push(Cause::invalid(path, &json!(false), "must be true or undefined"));
    }
    check_shape(
        schema,
        path,
        "x-kubernetes-map-type",
        "object",
        &["atomic", "granular"],
        causes,
    );
    let set = schema["x-kubernetes-list-type"] == "set";
    if set && schema["type"] == "array" && schema["items"].is_object() {
        let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
        let items = &schema["items"];
        let (list_type, map_type) = (&items["x-kubernetes-list-type"], &items["x-kubernetes-map-type"]);
        if items["type"] == "array" && !list_type.is_null() && *list_type != "atomic" {
            let path = format!("{path}.items.x-kubernetes-list-type");
            causes.push(Cause::invalid(path, list_type, detail));
        }
        if items["type"] == "object" && *map_type != "atomic" {
            // The value that is told is the list's.
            let path = format!("{path}.items.x-kubernetes-map-type");
            causes.push(Cause::invalid(path, list_type, detail));
        }
    }
    check_shape(
        schema,
        path,
        "x-kubernetes-list-type",
        "array",
        &["atomic", "set", "map"],
        causes,
    );
}

fn check_shape(schema: &Value, path: &str, keyword: &str, wanted: &str, options: &[&str], causes: &mut Vec<Cause>) {
    let Some(given) = schema.get(keyword).filter(|given| !given.is_null()) else {
        return;
    };
    if schema["type"] != wanted {
        let detail = format!("must be {wanted} if {keyword} is specified");
        let path = format!("{path}.type");
        causes.push(if is_zero(&schema["type"]) {
            Cause::required(path, &detail)
        } else {
            Cause::invalid(path, &schema["type"], &detail)
        });
    }
    if !options.iter().any(|option| given == option) {
        let options: Vec<_> = options.iter().map(|&option| json!(option)).collect();
        causes.push(Cause::unsupported(format!("{path}.{keyword}"), given, &options));
    }
}

fn check_list_map(schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    let list_type = &schema["x-kubernetes-list-type"];
    let keys = list(&schema["x-kubernetes-list-map-keys"]);
    let (type_path, keys_path) = (
        format!("{path}.x-kubernetes-list-type"),
        format!("{path}.x-kubernetes-list-map-keys"),
    );
    if !keys.is_empty() && list_type != "map" {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        causes.push(if list_type.is_null() {
            Cause::required(type_path, detail)
        } else {
            Cause::invalid(type_path, list_type, detail)
        });
    }
    if list_type != "map" {
        return;
    }
    if keys.is_empty() {
        causes.push(Cause::required(
            keys_path.clone(),
            "must not be empty if x-kubernetes-list-type is map",
        ));
    }
    let items = &schema["items"];
    if !items.is_object() {
        let detail = "must have a schema if x-kubernetes-list-type is map";
        causes.push(Cause::required(format!("{path}.items"), detail));
    } else if items["type"] != "object" {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        let kind = json!(items["type"].as_str().unwrap_or_default());
        causes.push(Cause::invalid(format!("{path}.items.type"), &kind, detail));
    } else {
        for (index, key) in keys.iter().enumerate() {
            let key_invalid = |detail: &str| Cause {
                field: keys_path.clone(),
                reason: "FieldValueInvalid",
                message: format!("Invalid value: {}: {detail}", texts_shown(keys)),
            };
            let name = key.as_str().unwrap_or_default();
            match properties(items).and_then(|properties| properties.get(name)) {
                Some(property) if property["type"] == "array" || property["type"] == "object" => {
                    let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                    let path = format!("{path}.items.properties[{name}].type");
                    causes.push(Cause::invalid(path, &items["type"], detail));
                }
                Some(_) => {}
                None => causes.push(key_invalid("entries must all be names of item properties")),
            }
            if keys[..index].contains(key) {
                causes.push(key_invalid("must not contain duplicate entries"));
            }
        }
    }
}

/// Keys of maps are always there, and neither they nor items of sets and maps are null.
fn check_keys(schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    let items = &schema["items"];
    let list_type = schema["x-kubernetes-list-type"].as_str().unwrap_or_default();
    if !items.is_object() || !matches!(list_type, "set" | "map") {
        return;
    }
    if items["nullable"] == true {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        causes.push(Cause::forbidden(format!("{path}.items.nullable"), &detail));
    }
    if list_type != "map" {
        return;
    }
    for key in list(&schema["x-kubernetes-list-map-keys"]) {
        let name = key.as_str().unwrap_or_default();
        let Some(property) = properties(items).and_then(|properties| properties.get(name)) else {
            continue;
        };
        let path = format!("{path}.items.properties[{name}]");
        let reason = "this property is in x-kubernetes-list-map-keys, so it";
        if !list(&items["required"]).contains(key) && !has_default(property) {
            let detail = format!("{reason} must have a default or be a required property");
            causes.push(Cause::required(format!("{path}.default"), &detail));
        }
        if property["nullable"] == true {
            causes.push(Cause::forbidden(
                format!("{path}.nullable"),
                &format!("{reason} cannot be nullable"),
            ));
        }
    }
}
