//! The patch formats: merge patch, JSON patch, and strategic merge patch for built-in kinds.

use serde_json::{Map, Value, json};

use crate::cluster::Place;
use crate::kinds::Kind;
use crate::objects::writing::How;
use crate::status::{Cause, Status};

/// Lists that a strategic merge patch merges by a key. The first key that an element has counts.
const MERGED_BY: [(&str, &[&str]); 12] = [
    ("conditions", &["type"]),
    ("containers", &["name"]),
    ("env", &["name"]),
    ("ephemeralContainers", &["name"]),
    ("hostAliases", &["ip"]),
    ("imagePullSecrets", &["name"]),
    ("initContainers", &["name"]),
    ("ownerReferences", &["uid"]),
    ("ports", &["containerPort", "port"]),
    ("secrets", &["name"]),
    ("volumeMounts", &["mountPath"]),
    ("volumes", &["name"]),
];

/// A parsed patch.
#[derive(Debug)]
pub(crate) enum Patch {
    Merge(Value),
    Json(json_patch::Patch),
    Strategic(Value),
}

impl Patch {
    pub(crate) fn parse(content_type: &str, body: &[u8], kind: &Kind) -> Result<Self, Status> {
        let format = content_type.split(';').next().unwrap_or_default().trim();
        match format {
            "application/merge-patch+json" => Ok(Self::Merge(parse_map(body)?)),
            "application/json-patch+json" => {
                let operations: Option<json_patch::Patch> =
                    serde_json::from_slice(body).map_err(|error| Status::bad_request(error.to_string()))?;
                Ok(Self::Json(operations.unwrap_or_default()))
            }
            "application/strategic-merge-patch+json" if !kind.custom => Ok(Self::Strategic(parse_map(body)?)),
            "application/apply-patch+yaml" => Err(Status::not_implemented("server-side apply")),
            _ => {
                let strategic = if kind.custom {
                    ""
                } else {
                    "application/strategic-merge-patch+json, "
                };
                Err(Status::unsupported_media_type(format!(
                    "the body of the request was in an unknown format - accepted media types include: \
                     application/json-patch+json, {strategic}application/merge-patch+json"
                )))
            }
        }
    }

    /// The object after the patch.
    pub(crate) fn apply(&self, current: &Value, _place: &Place, _how: &How) -> Result<Value, Status> {
        let mut object = current.clone();
        match self {
            Self::Merge(patch) => json_patch::merge(&mut object, patch),
            // The server does not say which operation failed, nor why.
            Self::Json(patch) => {
                json_patch::patch(&mut object, patch).map_err(|_| Status::of_code(422))?;
            }
            Self::Strategic(patch) => merge_strategically(&mut object, patch),
        }
        Ok(object)
    }
}

fn parse_map(body: &[u8]) -> Result<Value, Status> {
    let patch: Value = serde_json::from_slice(body).map_err(|error| Status::bad_request(error.to_string()))?;
    match patch {
        Value::Object(_) => Ok(patch),
        Value::Null => Err(Status::bad_request("Invalid JSON Patch")),
        _ => {
            let cause = Cause::invalid(
                "patch",
                &json!(patch.to_string()),
                "couldn't get version/kind; json parse error",
            );
            let mut status = Status::new(422, "Invalid", format!(" \"\" is invalid: patch: {}", cause.message));
            let causes = json!([{"reason": cause.reason, "message": cause.message, "field": cause.field}]);
            status.details = json!({"causes": causes});
            Err(status)
        }
    }
}

fn merge_strategically(target: &mut Value, patch: &Value) {
    let Some(changes) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    let Some(fields) = target.as_object_mut() else {
        return;
    };
    if changes.get("$patch") == Some(&json!("replace")) {
        fields.clear();
    }
    for (key, change) in changes {
        if let Some(list) = key.strip_prefix("$deleteFromPrimitiveList/") {
            remove_items(fields, list, change);
        } else if key.starts_with('$') {
            // The other directives order lists and keys, which nobody can see in the outcome.
        } else if change.is_null() {
            fields.remove(key);
        } else if let Some(elements) = change.as_array() {
            let merged = merge_list(key, fields.get(key).and_then(Value::as_array), elements);
            fields.insert(key.clone(), merged);
        } else {
            merge_strategically(fields.entry(key.clone()).or_insert(Value::Null), change);
        }
    }
}

fn merge_list(field: &str, old: Option<&Vec<Value>>, changes: &[Value]) -> Value {
    let mut merged = old.cloned().unwrap_or_default();
    if field == "finalizers" {
        merged.extend(
            changes
                .iter()
                .filter(|change| !old.is_some_and(|old| old.contains(change)))
                .cloned(),
        );
        return json!(merged);
    }
    let keys = MERGED_BY
        .iter()
        .find(|(name, _)| *name == field)
        .map_or(&[][..], |(_, keys)| *keys);
    let replaced = changes.iter().any(|change| change["$patch"] == "replace");
    if keys.is_empty() || replaced || !changes.iter().all(Value::is_object) {
        return changes
            .iter()
            .filter(|change| change.get("$patch").is_none())
            .cloned()
            .collect();
    }
    for change in changes {
        let key = keys.iter().find(|key| change.get(**key).is_some());
        let place = key.and_then(|key| merged.iter().position(|each| each.get(*key) == change.get(*key)));
        match (place, change["$patch"] == "delete") {
            (Some(place), true) => drop(merged.remove(place)),
            (Some(place), false) => merge_strategically(&mut merged[place], change),
            (None, true) => {}
            (None, false) => {
                let mut new = json!({});
                merge_strategically(&mut new, change);
                merged.push(new);
            }
        }
    }
    json!(merged)
}

fn remove_items(fields: &mut Map<String, Value>, list: &str, gone: &Value) {
    if let (Some(items), Some(gone)) = (fields.get_mut(list).and_then(Value::as_array_mut), gone.as_array()) {
        items.retain(|item| !gone.contains(item));
    }
}
