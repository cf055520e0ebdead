//! Checks of `metadata`: names, labels, annotations, finalizers, owners.

use serde_json::{Map, Value, json};

use crate::kinds::Naming;
use crate::objects::delete_options::{FOREGROUND, ORPHAN};
use crate::status::{Cause, Status};

/// All annotations of an object together, keys and values.
const ANNOTATIONS_LIMIT: usize = 262_144;

/// Finalizers that are no domain's.
const STANDARD: [&str; 3] = ["kubernetes", ORPHAN, FOREGROUND];

const QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
     with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
     '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
/// Why a text is no name of a domain.
pub(crate) const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
     '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
     start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SERVICE_LABEL: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
     alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
     validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
     '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex \
     used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// Refuses metadata of a shape that no client library could read.
pub(crate) fn check_shape(object: &Value) -> Result<(), Status> {
    let Some(metadata) = object.get("metadata").filter(|metadata| !metadata.is_null()) else {
        return Ok(());
    };
    let Some(metadata) = metadata.as_object() else {
        return Err(Status::bad_request(
            "json: cannot unmarshal metadata into Go value of type v1.ObjectMeta",
        ));
    };
    let wrong = |field: &str, wanted: &str| {
        let text = format!("json: cannot unmarshal into Go struct field ObjectMeta.metadata.{field} of type {wanted}");
        Err(Status::bad_request(text))
    };
    for field in ["name", "generateName", "namespace", "uid", "resourceVersion"] {
        if !matches!(metadata.get(field), None | Some(Value::Null | Value::String(_))) {
            return wrong(field, "string");
        }
    }
    for field in ["labels", "annotations"] {
        match metadata.get(field) {
            None | Some(Value::Null) => {}
            Some(Value::Object(map)) if map.values().all(|value| value.is_string() || value.is_null()) => {}
            Some(_) => return wrong(field, "map[string]string"),
        }
    }
    match metadata.get("finalizers") {
        None | Some(Value::Null) => {}
        Some(Value::Array(list)) if list.iter().all(Value::is_string) => {}
        Some(_) => return wrong("finalizers", "[]string"),
    }
    match metadata.get("ownerReferences") {
        None | Some(Value::Null) => {}
        Some(Value::Array(list)) if list.iter().all(Value::is_object) => {}
        Some(_) => return wrong("ownerReferences", "[]v1.OwnerReference"),
    }
    Ok(())
}

/// Drops nulls and empty collections, which the server never stores in metadata.
pub(crate) fn tidy(metadata: &mut Map<String, Value>) {
    // A text that is null is an empty one.
    for field in ["labels", "annotations"] {
        for value in metadata
            .get_mut(field)
            .and_then(Value::as_object_mut)
            .into_iter()
            .flatten()
        {
            if value.1.is_null() {
                *value.1 = json!("");
            }
        }
    }
    metadata.retain(|key, value| match value {
        Value::Null => false,
        Value::Object(map) => !map.is_empty(),
        Value::Array(list) => !list.is_empty() || key == "managedFields",
        Value::String(text) => !text.is_empty(),
        _ => true,
    });
    // Servers have long given up telling it.
    metadata.remove("selfLink");
    // Of managers, none is not the same as nothing said about them; an empty entry outlives all tidying.
    if let Some(Value::Array(list)) = metadata.get_mut("managedFields")
        && list.is_empty()
    {
        list.push(json!({}));
    }
    if let Some(Value::Array(list)) = metadata.get_mut("finalizers") {
        let mut seen = Vec::new();
        list.retain(|name| {
            !seen.contains(name) && {
                seen.push(name.clone());
                true
            }
        });
    }
}

/// The faults of metadata whose shape is sound.
pub(crate) fn validate(metadata: &Map<String, Value>, naming: Naming, standard_finalizers: bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    match metadata.get("name").and_then(Value::as_str).unwrap_or_default() {
        "" => causes.push(Cause::required("metadata.name", "name or generateName is required")),
        name => causes.extend(check_name(name, naming).map(|why| Cause::invalid("metadata.name", &json!(name), &why))),
    }
    for (key, value) in entries(metadata, "labels") {
        causes.extend(check_qualified(key).map(|why| Cause::invalid("metadata.labels", &json!(key), &why)));
        let text = value.as_str().unwrap_or_default();
        causes.extend(check_label_value(text).map(|why| Cause::invalid("metadata.labels", value, &why)));
    }
    let mut size = 0;
    for (key, value) in entries(metadata, "annotations") {
        size += key.len() + value.as_str().map_or(0, str::len);
        // Upper-case prefixes are tolerated in annotations, though not in labels.
        let lower = key.to_lowercase();
        causes.extend(check_qualified(&lower).map(|why| Cause::invalid("metadata.annotations", &json!(key), &why)));
    }
    if size > ANNOTATIONS_LIMIT {
        causes.push(Cause::too_long("metadata.annotations", ANNOTATIONS_LIMIT as u64));
    }
    for finalizer in strings(metadata, "finalizers") {
        let faults = check_qualified(finalizer);
        causes.extend(faults.map(|why| Cause::invalid("metadata.finalizers", &json!(finalizer), &why)));
    }
    let among = |name| strings(metadata, "finalizers").any(|each| each == name);
    if among(ORPHAN) && among(FOREGROUND) {
        let all: Vec<_> = strings(metadata, "finalizers")
            .map(|name| format!("{name:?}"))
            .collect();
        let all = all.join(", ");
        causes.push(Cause {
            field: "metadata.finalizers".into(),
            reason: "FieldValueInvalid",
            message: format!(
                "Invalid value: []string{{{all}}}: finalizer {ORPHAN} and {FOREGROUND} cannot be both set"
            ),
        });
    }
    for (index, finalizer) in strings(metadata, "finalizers")
        .enumerate()
        .filter(|_| standard_finalizers)
    {
        if !finalizer.contains('/') && !STANDARD.contains(&finalizer) {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            causes.push(Cause::invalid(
                format!("metadata.finalizers[{index}]"),
                &json!(finalizer),
                why,
            ));
        }
    }
    causes.extend(check_owners(list(metadata, "ownerReferences")));
    causes
}

/// The faults of references to owners, which are all told of the whole list.
fn check_owners(owners: &[Value]) -> Vec<Cause> {
    const PATH: &str = "metadata.ownerReferences";
    let text = |owner: &Value, field: &str| owner[field].as_str().unwrap_or_default().to_owned();
    let mut causes = Vec::new();
    let mut controller: Option<String> = None;
    for owner in owners {
        for (field, what) in [("apiVersion", "version "), ("kind", ""), ("name", ""), ("uid", "")] {
            if text(owner, field).is_empty() {
                let path = format!("{PATH}.{field}");
                causes.push(Cause::invalid(path, &json!(""), &format!("{what}must not be empty")));
            }
        }
        if (text(owner, "apiVersion"), text(owner, "kind")) == ("v1".into(), "Event".into()) {
            let why = "/v1, Kind=Event is disallowed from being an owner";
            causes.push(Cause::invalid(PATH, owner, why));
        }
        if owner["controller"] == true {
            let current = format!("{}/{}", text(owner, "kind"), text(owner, "name"));
            if let Some(first) = &controller {
                let why = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} and \
                     {current}"
                );
                causes.push(Cause::invalid(PATH, &json!(owners), &why));
            } else {
                controller = Some(current);
            }
        }
    }
    causes
}

/// The fault of adding finalizers to an object that is being deleted.
pub(crate) fn new_finalizers(old: &Map<String, Value>, new: &Map<String, Value>) -> Option<Cause> {
    let before: Vec<_> = strings(old, "finalizers").collect();
    let mut added: Vec<_> = strings(new, "finalizers")
        .filter(|name| !before.contains(name))
        .collect();
    added.sort_unstable();
    let quoted: Vec<_> = added.iter().map(|name| format!("{name:?}")).collect();
    let detail = format!(
        "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
        quoted.join(", ")
    );
    (!added.is_empty()).then(|| Cause::forbidden("metadata.finalizers", &detail))
}

fn list<'a>(metadata: &'a Map<String, Value>, field: &str) -> &'a [Value] {
    metadata.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn strings<'a>(metadata: &'a Map<String, Value>, field: &str) -> impl Iterator<Item = &'a str> {
    list(metadata, field).iter().filter_map(Value::as_str)
}

fn entries<'a>(metadata: &'a Map<String, Value>, field: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    metadata.get(field).and_then(Value::as_object).into_iter().flatten()
}

pub(crate) fn check_name(name: &str, naming: Naming) -> Option<String> {
    match naming {
        Naming::Subdomain if name.len() > 253 => Some("must be no more than 253 bytes".into()),
        Naming::Subdomain => (!is_subdomain(name)).then(|| SUBDOMAIN.into()),
        Naming::Label | Naming::ServiceLabel if name.len() > 63 => Some("must be no more than 63 bytes".into()),
        Naming::Label => (!is_dns_label(name)).then(|| LABEL.into()),
        Naming::ServiceLabel => {
            let lettered = name.starts_with(|c: char| c.is_ascii_lowercase());
            (!lettered || !is_dns_label(name)).then(|| SERVICE_LABEL.into())
        }
        Naming::PathSegment => match name {
            "." | ".." => Some(format!("may not be '{name}'")),
            _ => name
                .chars()
                .find(|c| "/%".contains(*c))
                .map(|c| format!("may not contain '{c}'")),
        },
    }
}

/// Why a text is no `prefix/name` key, if so.
pub(crate) fn check_qualified(key: &str) -> Option<String> {
    let name = match key.split_once('/') {
        Some((_, rest)) if rest.contains('/') => {
            let optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return Some(format!(
                "a qualified name {} {optional}",
                &QUALIFIED["name part ".len()..]
            ));
        }
        Some(("", _)) => return Some("prefix part must be non-empty".into()),
        Some((prefix, _)) if prefix.len() > 253 => {
            return Some("prefix part must be no more than 253 bytes".into());
        }
        Some((prefix, _)) if !is_subdomain(prefix) => {
            return Some(format!("prefix part {SUBDOMAIN}"));
        }
        Some((_, name)) => name,
        None => key,
    };
    if name.is_empty() {
        Some("name part must be non-empty".into())
    } else if name.len() > 63 {
        Some("name part must be no more than 63 bytes".into())
    } else if !is_word(name) {
        Some(QUALIFIED.into())
    } else {
        None
    }
}

/// Why a text is no label, if so.
pub(crate) fn check_label(text: &str) -> Option<String> {
    check_name(text, Naming::Label).filter(|_| !text.is_empty())
}

/// Why a text is no value of a label, if so.
pub(crate) fn check_label_value(value: &str) -> Option<String> {
    if value.len() > 63 {
        Some("must be no more than 63 bytes".into())
    } else {
        (!value.is_empty() && !is_word(value)).then(|| LABEL_VALUE.into())
    }
}

fn is_word(text: &str) -> bool {
    let alphanumeric = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    alphanumeric(text.chars().next())
        && alphanumeric(text.chars().last())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

fn is_dns_label(text: &str) -> bool {
    is_word(text)
        && text
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

/// Whether a text is the name of a domain, in lower case.
pub(crate) fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_dns_label)
}
