//! Failures in the words of the API server: the `Status` object with its code, reason and causes.

use std::fmt;

use serde_json::{Value, json};

use crate::go;
use crate::kinds::Kind;

/// A refusal, as the API server words it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Status {
    /// The HTTP status code.
    pub code: u16,
    /// The machine-readable reason, such as `NotFound`.
    pub reason: String,
    /// The message for people.
    pub message: String,
    /// What the message is about: name, group, kind and, of an invalid object, its causes; null if there is nothing to say.
    pub details: Value,
    /// Of a list that cannot go on as it began: how to go on nevertheless.
    pub(crate) continues: Option<String>,
}

/// One fault of an invalid object.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cause {
    /// Path of the field, such as `spec.items[0].name`.
    pub(crate) field: String,
    /// The kind of fault, such as `FieldValueRequired`.
    pub(crate) reason: &'static str,
    /// The fault without its field.
    pub(crate) message: String,
}

impl fmt::Display for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.field, self.message)
    }
}

impl Cause {
    pub(crate) fn required(field: impl Into<String>, detail: &str) -> Self {
        let message = if detail.is_empty() {
            "Required value".into()
        } else {
            format!("Required value: {detail}")
        };
        Self {
            field: field.into(),
            reason: "FieldValueRequired",
            message,
        }
    }

    pub(crate) fn invalid(field: impl Into<String>, value: &Value, detail: &str) -> Self {
        Self {
            field: field.into(),
            reason: "FieldValueInvalid",
            message: format!("Invalid value: {}: {detail}", go::shown(value)),
        }
    }

    pub(crate) fn wrong_type(field: impl Into<String>, value: &Value, detail: &str) -> Self {
        Self {
            reason: "FieldValueTypeInvalid",
            ..Self::invalid(field, value, detail)
        }
    }

    pub(crate) fn duplicate(field: impl Into<String>, value: &Value) -> Self {
        Self {
            field: field.into(),
            reason: "FieldValueDuplicate",
            message: format!("Duplicate value: {}", go::shown(value)),
        }
    }

    pub(crate) fn unsupported(field: impl Into<String>, value: &Value, supported: &[Value]) -> Self {
        let text = |option: &Value| option.as_str().map_or_else(|| option.to_string(), str::to_owned);
        let supported: Vec<_> = supported.iter().map(|option| go::quoted(&text(option))).collect();
        let message = format!(
            "Unsupported value: {}: supported values: {}",
            go::shown(value),
            supported.join(", ")
        );
        Self {
            field: field.into(),
            reason: "FieldValueNotSupported",
            message,
        }
    }

    pub(crate) fn too_long(field: impl Into<String>, limit: u64) -> Self {
        let message = format!("Too long: may not be more than {limit} bytes");
        Self {
            field: field.into(),
            reason: "FieldValueTooLong",
            message,
        }
    }

    pub(crate) fn too_many(field: impl Into<String>, count: u64, limit: u64) -> Self {
        let message = format!("Too many: {count}: must have at most {limit} items");
        Self {
            field: field.into(),
            reason: "FieldValueTooMany",
            message,
        }
    }

    pub(crate) fn forbidden(field: impl Into<String>, detail: &str) -> Self {
        Self {
            field: field.into(),
            reason: "FieldValueForbidden",
            message: format!("Forbidden: {detail}"),
        }
    }
}

impl Status {
    pub(crate) fn new(code: u16, reason: &str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: reason.into(),
            message: message.into(),
            details: Value::Null,
            continues: None,
        }
    }

    /// The object that is sent to clients.
    pub fn to_value(&self) -> Value {
        let mut value = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "code": self.code, "message": self.message,
        });
        if !self.reason.is_empty() {
            value["reason"] = json!(self.reason);
        }
        if !self.details.is_null() {
            value["details"] = self.details.clone();
        }
        if let Some(token) = &self.continues {
            value["metadata"]["continue"] = json!(token);
        }
        value
    }

    fn about(mut self, kind: &Kind, name: &str) -> Self {
        self.details = json!({"kind": kind.plural});
        if !name.is_empty() {
            self.details["name"] = json!(name);
        }
        if !kind.group.is_empty() {
            self.details["group"] = json!(kind.group);
        }
        self
    }

    /// An unknown path, kind or version.
    pub(crate) fn no_such_path() -> Self {
        Self::new(404, "NotFound", "404 page not found")
    }

    /// A subresource that the kind does not have.
    pub(crate) fn no_such_subresource() -> Self {
        let mut status = Self::new(404, "NotFound", "the server could not find the requested resource");
        status.details = json!({});
        status
    }

    pub(crate) fn not_found(kind: &Kind, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{} \"{name}\" not found", kind.qualified())).about(kind, name)
    }

    pub(crate) fn already_exists(kind: &Kind, name: &str) -> Self {
        Self::new(
            409,
            "AlreadyExists",
            format!("{} \"{name}\" already exists", kind.qualified()),
        )
        .about(kind, name)
    }

    pub(crate) fn conflict(kind: &Kind, name: &str, why: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} \"{name}\": {why}",
            kind.qualified()
        );
        Self::new(409, "Conflict", message).about(kind, name)
    }

    pub(crate) fn forbidden(kind: &Kind, name: &str, why: &str) -> Self {
        Self::new(
            403,
            "Forbidden",
            format!("{} \"{name}\" is forbidden: {why}", kind.qualified()),
        )
        .about(kind, name)
    }

    pub(crate) fn invalid(kind: &Kind, name: &str, causes: &[Cause]) -> Self {
        let mut texts: Vec<String> = Vec::new();
        for cause in causes {
            let text = format!("{}: {}", cause.field, cause.message);
            // What several validations found is told once.
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        let text = if texts.len() == 1 {
            texts.concat()
        } else {
            format!("[{}]", texts.join(", "))
        };
        // Rules are those of what is stored, under whatever name it came.
        let group = kind.traits.stored_as.unwrap_or(&kind.group);
        let of = if group.is_empty() {
            kind.kind.clone()
        } else {
            format!("{}.{group}", kind.kind)
        };
        let mut status = Self::new(422, "Invalid", format!("{of} \"{name}\" is invalid: {text}")).about(kind, name);
        if let (true, Some(details)) = (group.is_empty(), status.details.as_object_mut()) {
            details.remove("group");
        }
        status.details["kind"] = json!(kind.kind);
        status.details["causes"] = causes
            .iter()
            .map(|cause| json!({"reason": cause.reason, "message": cause.message, "field": cause.field}))
            .collect();
        status
    }

    /// Options of a request that do not hold.
    pub(crate) fn invalid_options(options: &str, causes: &[Cause]) -> Self {
        let texts: Vec<_> = causes
            .iter()
            .map(|cause| format!("{}: {}", cause.field, cause.message))
            .collect();
        let text = if texts.len() == 1 {
            texts.concat()
        } else {
            format!("[{}]", texts.join(", "))
        };
        let mut status = Self::new(422, "Invalid", format!("{options}.meta.k8s.io \"\" is invalid: {text}"));
        let causes: Value = causes
            .iter()
            .map(|cause| json!({"reason": cause.reason, "message": cause.message, "field": cause.field}))
            .collect();
        status.details = json!({"group": "meta.k8s.io", "kind": options, "causes": causes});
        status
    }

    /// An object that is not the one, or not in the state, that was to be deleted; the kind is named in the singular.
    pub(crate) fn failed_precondition(kind: &Kind, name: &str, why: &str) -> Self {
        let of = if kind.group.is_empty() {
            kind.kind.clone()
        } else {
            format!("{}.{}", kind.kind, kind.group)
        };
        let message = format!("Operation cannot be fulfilled on {of} \"{name}\": {why}");
        let mut status = Self::new(409, "Conflict", message).about(kind, name);
        status.details["kind"] = json!(kind.kind);
        status
    }

    /// A failure that the server has no reason for.
    pub(crate) fn unexpected(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    pub(crate) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self {
            details: json!({}),
            ..Self::new(405, "MethodNotAllowed", message)
        }
    }

    /// What cannot be done with a custom kind by any path.
    pub(crate) fn not_supported(kind: &Kind, verb: &str) -> Self {
        let message = format!("{verb} is not supported on resources of kind {:?}", kind.qualified());
        Self {
            details: json!({"group": kind.group, "kind": kind.plural}),
            ..Self::new(405, "MethodNotAllowed", message)
        }
    }

    pub(crate) fn not_acceptable(message: impl Into<String>) -> Self {
        Self::new(406, "NotAcceptable", message)
    }

    pub(crate) fn unsupported_media_type(message: impl Into<String>) -> Self {
        Self::new(415, "UnsupportedMediaType", message)
    }

    pub(crate) fn not_implemented(what: &str) -> Self {
        Self::new(501, "NotImplemented", format!("the test server does not serve {what}"))
    }

    /// A failure with the usual reason of its code, for scripted faults.
    pub(crate) fn of_code(code: u16) -> Self {
        let (reason, message) = match code {
            400 => ("BadRequest", "the server rejected our request for an unknown reason"),
            401 => ("Unauthorized", "Unauthorized"),
            403 => ("Forbidden", "forbidden"),
            404 => ("NotFound", "the server could not find the requested resource"),
            409 => ("Conflict", "the server reported a conflict"),
            410 => ("Expired", "The resourceVersion for the provided watch is too old."),
            422 => (
                "Invalid",
                "the server rejected our request due to an error in our request",
            ),
            429 => (
                "TooManyRequests",
                "the server has received too many requests and has asked us to try again later",
            ),
            500 => (
                "InternalError",
                "an error on the server has prevented the request from succeeding",
            ),
            503 => (
                "ServiceUnavailable",
                "the server is currently unable to handle the request",
            ),
            504 => (
                "Timeout",
                "the server was unable to return a response in the time allotted",
            ),
            _ => ("Unknown", "the server responded with a scripted failure"),
        };
        Self::new(code, reason, message)
    }
}
