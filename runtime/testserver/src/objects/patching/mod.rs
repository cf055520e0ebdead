//! The patch formats: merge patch, JSON patch, strategic merge patch for built-in kinds, and configurations to apply.

mod configuration;
mod json;
mod order;
mod strategic;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::cluster::Place;
use crate::go;
use crate::kinds::Kind;
use crate::objects::identity::check_type;
use crate::objects::managed::applying;
use crate::objects::metadata;
use crate::objects::shapes::Shape;
use crate::objects::writing::{How, Scope, form, metadata_of};
use crate::status::{Cause, Status};

/// What the type of a body says that it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Merge,
    Json,
    Strategic,
    Apply,
}

/// A patch as it was sent: what is wrong with it is told only once there is an object to be patched.
#[derive(Debug)]
pub(crate) struct Patch {
    format: Format,
    body: Bytes,
}

impl Patch {
    pub(crate) fn parse(content_type: &str, body: &Bytes, kind: &Kind) -> Result<Self, Status> {
        let format = match content_type.split(';').next().unwrap_or_default().trim() {
            "application/merge-patch+json" => Format::Merge,
            "application/json-patch+json" => Format::Json,
            "application/strategic-merge-patch+json" if !kind.custom => Format::Strategic,
            "application/apply-patch+yaml" => Format::Apply,
            _ => return Err(unknown_format(kind)),
        };
        let body = body.clone();
        Ok(Self { format, body })
    }

    /// A merge patch.
    pub(crate) fn merge(patch: &Value) -> Self {
        Self {
            format: Format::Merge,
            body: Bytes::from(patch.to_string()),
        }
    }

    /// Whether it is a configuration, from which objects are also created.
    pub(crate) fn is_applied(&self) -> bool {
        self.format == Format::Apply
    }

    /// The options of the query that do not fit to it.
    pub(crate) fn check_options(&self, manager: &str, force: bool) -> Vec<Cause> {
        match (self.is_applied(), force) {
            (true, _) if manager.is_empty() => vec![Cause::required("fieldManager", "is required for apply patch")],
            (false, true) => vec![Cause::forbidden("force", "may not be specified for non-apply patch")],
            _ => Vec::new(),
        }
    }

    /// The object after the patch.
    pub(crate) fn apply(&self, current: &Value, place: &Place, how: &How) -> Result<Value, Status> {
        let patched = match self.format {
            Format::Merge => {
                let mut object = current.clone();
                let mut patch = parse_merge(&self.body)?;
                drop_nulls_in_lists(&mut patch, false);
                json_patch::merge(&mut object, &patch);
                object
            }
            Format::Json => json::patch(current, &self.body)?,
            Format::Strategic => {
                let mut object = strategic::patch(current, &self.body, Shape::of(place))?;
                // The type that the result is read as does not depend on what the patch says.
                for field in ["apiVersion", "kind"] {
                    object[field] = current[field].clone();
                }
                object
            }
            Format::Apply => {
                return applying::apply(Some(current), configuration::parse(&self.body, place)?, place, how);
            }
        };
        if how.scope != Scope::Scale {
            check_readable(&patched, current, place)?;
            check_type(place, &patched)?;
        }
        Ok(patched)
    }

    /// The object that a configuration makes where there is none.
    pub(crate) fn create(&self, place: &Place, name: &str, how: &How) -> Result<Value, Status> {
        let configuration = configuration::parse(&self.body, place)?;
        let mut object = applying::apply(None, configuration, place, how)?;
        configuration::check_new(&object, place, name)?;
        // There is nothing that it could be the version of.
        metadata_of(&mut object).remove("resourceVersion");
        Ok(object)
    }
}

/// Routes of built-in kinds do not even know what patches there are.
fn unknown_format(kind: &Kind) -> Status {
    if !kind.custom {
        return Status {
            details: json!({}),
            ..Status::unsupported_media_type("415: Unsupported Media Type")
        };
    }
    Status {
        details: Value::Null,
        ..Status::unsupported_media_type(
            "the body of the request was in an unknown format - accepted media types include: \
             application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
        )
    }
}

/// Whether the result of a patch can be read as an object at all.
fn check_readable(patched: &Value, current: &Value, place: &Place) -> Result<(), Status> {
    let kind = &place.kind;
    let unreadable = |why: &str| Err(invalid_patch(&patched.to_string(), why));
    if let Err(fault) = metadata::check_shape(patched) {
        return unreadable(&fault.message);
    }
    if !patched.is_object() || (kind.custom && patched["kind"].as_str().is_none_or(str::is_empty)) {
        return unreadable(&format!("Object 'Kind' is missing in '{patched}'"));
    }
    let other =
        |field: &str, wanted: &str| !matches!(patched[field].as_str(), None | Some("")) && patched[field] != *wanted;
    if !kind.custom && (other("kind", &kind.kind) || other("apiVersion", &place.api_version())) {
        let (kind, version) = (&patched["kind"], &patched["apiVersion"]);
        return unreadable(&format!("no kind {kind} is registered for version {version} in scheme"));
    }
    form(place, Some(current), &mut patched.clone()).or_else(|why| unreadable(&why))
}

fn parse_merge(body: &[u8]) -> Result<Value, Status> {
    match serde_json::from_slice(body) {
        Ok(patch @ Value::Object(_)) => Ok(patch),
        Ok(Value::Null) => Err(Status::bad_request("Invalid JSON Patch")),
        Ok(other) => {
            let fault = not_a("map[string]interface {}", &other);
            Err(Status::bad_request(format!("error decoding patch: {fault}")))
        }
        Err(error) => Err(Status::bad_request(format!(
            "error decoding patch: {}",
            no_json(&error).message
        ))),
    }
}

/// Lists replace lists, and yet nulls in their objects mean absence.
fn drop_nulls_in_lists(value: &mut Value, within: bool) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| drop_nulls_in_lists(item, true)),
        Value::Object(fields) => {
            fields.retain(|_, value| !(within && value.is_null()));
            fields.values_mut().for_each(|value| drop_nulls_in_lists(value, within));
        }
        _ => {}
    }
}

/// A patch whose result is no object.
fn invalid_patch(patch: &str, detail: &str) -> Status {
    let cause = Cause::invalid("patch", &json!(patch), detail);
    let mut status = Status::new(422, "Invalid", format!(" \"\" is invalid: patch: {}", cause.message));
    let causes = json!([{"reason": cause.reason, "message": cause.message, "field": cause.field}]);
    status.details = json!({"causes": causes});
    status
}

/// What a text that should be JSON is instead, in the words of the real server's decoder.
fn no_json(error: &serde_json::Error) -> Status {
    Status::bad_request(if error.is_eof() {
        "unexpected end of JSON input".into()
    } else {
        error.to_string()
    })
}

/// A value of another type than the one wanted, in the words of the real server's decoder.
fn not_a(wanted: &str, value: &Value) -> String {
    let found = go::json_type(value);
    format!("json: cannot unmarshal {found} into Go value of type {wanted}")
}
