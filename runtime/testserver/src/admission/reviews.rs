//! What webhooks are asked, and what their answers say.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::admission::hooks::{Hook, Power};
use crate::admission::{Attempt, Operation};
use crate::cluster::Place;

/// The answer of a webhook that was understood.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Verdict {
    pub(super) allowed: bool,
    /// Why not, as a `Status`; null if it does not say.
    pub(super) status: Value,
    pub(super) warnings: Vec<String>,
    /// The text of a JSON patch; empty if nothing is to change.
    pub(super) patch: Vec<u8>,
    /// The type of the patch, as given.
    pub(super) patch_type: String,
}

/// The first version of reviews in a webhook's list that the server can write.
pub(super) fn version_for(hook: &Hook) -> Option<&str> {
    let mut versions = hook.admission_review_versions.iter().map(String::as_str);
    versions.find(|version| matches!(*version, "v1" | "v1beta1"))
}

/// The question to a webhook. `place` names the resource as the webhook knows it, and the objects are of that version.
pub(super) fn question(
    attempt: &Attempt<'_>,
    (version, uid): (&str, &str),
    place: &Place,
    old: Option<&Value>,
    new: &Value,
) -> Value {
    let requested = attempt.place;
    let sample = if new.is_object() { Some(new) } else { old };
    let kind = |place: &Place| match sample {
        Some(object) if !attempt.is_of_the_kind() => {
            let api_version = object["apiVersion"].as_str().unwrap_or_default();
            let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
            json!({"group": group, "version": version, "kind": object["kind"]})
        }
        _ => json!({"group": place.kind.group, "version": place.version, "kind": place.kind.kind}),
    };
    let resource =
        |place: &Place| json!({"group": place.kind.group, "version": place.version, "resource": place.kind.plural});
    let mut options = if attempt.options.is_object() {
        attempt.options.clone()
    } else {
        json!({})
    };
    options["apiVersion"] = json!("meta.k8s.io/v1");
    if options["kind"].is_null() {
        options["kind"] = json!("DeleteOptions");
    }
    let mut request = json!({
        "uid": uid,
        "kind": kind(place),
        "resource": resource(place),
        "requestKind": kind(requested),
        "requestResource": resource(requested),
        "operation": attempt.operation.name(),
        "userInfo": user(attempt),
        "object": shown(new),
        "oldObject": old.map_or(Value::Null, shown),
        "dryRun": attempt.dry_run,
        "options": options,
    });
    for (field, text) in [
        ("subResource", attempt.subresource),
        ("requestSubResource", attempt.subresource),
        ("name", attempt.name),
        ("namespace", namespace(attempt, new)),
    ] {
        if !text.is_empty() {
            request[field] = json!(text);
        }
    }
    json!({"kind": "AdmissionReview", "apiVersion": format!("admission.k8s.io/{version}"), "request": request})
}

/// The namespace of a request. A namespace is in itself.
pub(super) fn namespace<'a>(attempt: &'a Attempt<'_>, new: &'a Value) -> &'a str {
    let kind = &attempt.place.kind;
    if kind.plural != "namespaces" || !kind.group.is_empty() {
        return &attempt.place.namespace;
    }
    match attempt.operation {
        Operation::Create => new["metadata"]["name"].as_str().unwrap_or_default(),
        _ => attempt.name,
    }
}

fn user(attempt: &Attempt<'_>) -> Value {
    let user = attempt.user;
    let mut info = json!({"username": user.name});
    if !user.uid.is_empty() {
        info["uid"] = json!(user.uid);
    }
    if !user.groups.is_empty() {
        info["groups"] = json!(user.groups);
    }
    info
}

/// An object as the server's types print it: a new one has no time of creation, and says so.
fn shown(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.entry("creationTimestamp").or_insert(Value::Null);
    }
    object
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Response {
    uid: Option<String>,
    allowed: Option<bool>,
    status: Value,
    patch: Option<String>,
    patch_type: Option<String>,
    warnings: Option<Vec<String>>,
}

/// Reads the answer to a question; otherwise, what is wrong with it.
pub(super) fn verdict(answer: &Value, (version, uid): (&str, &str), power: Power) -> Result<Verdict, String> {
    let text = |field: &str| answer[field].as_str().unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let wanted = format!("admission.k8s.io/{version}");
    check_kind(api_version, kind, &wanted)?;
    let invalid = |why: &str| Err(format!("received invalid webhook response: {why}"));
    if answer["response"].is_null() {
        return invalid("webhook response was absent");
    }
    let response = Response::deserialize(&answer["response"]);
    let response = response.map_err(|why| format!("failed to call webhook: AdmissionReview.response: {why}"))?;
    let encoded = response.patch.unwrap_or_default();
    let patch = STANDARD.decode(&encoded);
    let patch = patch.map_err(|why| format!("failed to call webhook: AdmissionReview.response.patch: {why}"))?;
    let mut patch_type = response.patch_type;
    if version == "v1" {
        let found = response.uid.unwrap_or_default();
        if found != uid {
            return invalid(&format!("expected response.uid={uid:?}, got {found:?}"));
        }
        if (api_version, kind) != (wanted.as_str(), "AdmissionReview") {
            let (wanted, found) = (go_kind(&wanted, "AdmissionReview"), go_kind(api_version, kind));
            return invalid(&format!("expected webhook response of {wanted}, got {found}"));
        }
        match (power, patch.is_empty(), patch_type.as_deref()) {
            (Power::Mutating, false, None) => {
                return invalid("webhook returned response.patch but not response.patchType");
            }
            (Power::Mutating, true, Some(_)) => {
                return invalid("webhook returned response.patchType but not response.patch");
            }
            (Power::Mutating, _, Some("")) => {
                return invalid("webhook returned invalid response.patchType of \"\"");
            }
            (Power::Validating, false, _) => return invalid("validating webhook may not return response.patch"),
            (Power::Validating, _, Some(_)) => return invalid("validating webhook may not return response.patchType"),
            _ => {}
        }
    } else {
        // Of the older version nothing was checked.
        patch_type = Some("JSONPatch".into());
    }
    Ok(Verdict {
        allowed: response.allowed.unwrap_or_default(),
        status: response.status,
        warnings: response.warnings.unwrap_or_default(),
        patch: if power == Power::Mutating { patch } else { Vec::new() },
        patch_type: patch_type.unwrap_or_default(),
    })
}

/// Refuses what is no review at all, or one of another version; an answer that does not say what it is goes on.
fn check_kind(api_version: &str, kind: &str, wanted: &str) -> Result<(), String> {
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    if api_version.is_empty() && kind.is_empty() {
        return Ok(());
    }
    let known = group == "admission.k8s.io" && matches!(version, "v1" | "v1beta1");
    let why = if !known || !matches!(kind, "AdmissionReview" | "") {
        format!("no kind {kind:?} is registered for version {api_version:?} in scheme \"the webhook client\"")
    } else if api_version == wanted {
        return Ok(());
    } else {
        let (_, wanted) = wanted.rsplit_once('/').unwrap_or_default();
        format!("converting ({version}.AdmissionReview) to ({wanted}.AdmissionReview): unknown conversion")
    };
    Err(format!("failed to call webhook: {why}"))
}

fn go_kind(api_version: &str, kind: &str) -> String {
    let slash = if api_version.contains('/') { "" } else { "/" };
    format!("{slash}{api_version}, Kind={kind}")
}
