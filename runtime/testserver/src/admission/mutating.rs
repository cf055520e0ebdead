//! Webhooks that change objects: one after another, and again if a later one changed something.

use std::collections::BTreeSet;
use std::sync::Mutex;

use serde_json::{Value, from_slice};

use crate::admission::hooks::{Hook, Power};
use crate::admission::relevance::{Relevance, convert};
use crate::admission::reviews::Verdict;
use crate::admission::{Attempt, calls, denied, failed, internal_error};
use crate::cluster::{Cluster, Place};
use crate::objects::{metadata, writing};
use crate::status::Status;

/// Which webhooks are to be called again.
#[derive(Debug, Default)]
struct Again {
    /// Called since the last change, of those that want to know of later changes.
    called: BTreeSet<usize>,
    due: BTreeSet<usize>,
    changed: bool,
}

impl Again {
    fn note(&mut self, index: usize, hook: &Hook, changed: bool) {
        if changed {
            self.due.append(&mut self.called);
            self.changed = true;
        }
        if hook.reinvocation_policy.as_deref() == Some("IfNeeded") {
            self.called.insert(index);
        }
    }
}

pub(super) async fn run(
    cluster: &Mutex<Cluster>,
    hooks: &[Hook],
    attempt: &Attempt<'_>,
    object: &mut Value,
) -> Result<(), Status> {
    let relevance = Relevance { cluster, attempt };
    let mut again = Again::default();
    for round in 0..2 {
        for (index, hook) in hooks.iter().enumerate() {
            let Some(place) = relevance.place_for(hook, object)? else {
                continue;
            };
            // Who was not concerned at first is not called later either.
            if round > 0 && !again.due.contains(&index) {
                continue;
            }
            let changed = change(cluster, hook, &place, attempt, object).await?;
            again.note(index, hook, changed);
        }
        if !again.changed {
            break;
        }
    }
    Ok(())
}

async fn change(
    cluster: &Mutex<Cluster>,
    hook: &Hook,
    place: &Place,
    attempt: &Attempt<'_>,
    object: &mut Value,
) -> Result<bool, Status> {
    let (old, new) = (
        attempt.old.map(|old| convert(old, place, attempt)),
        convert(object, place, attempt),
    );
    let verdict = calls::ask(cluster, attempt, (hook, Power::Mutating), place, (old.as_ref(), &new)).await;
    let verdict = match verdict {
        Ok(verdict) => verdict,
        Err(why) => return failed(hook, &why).map(|()| false),
    };
    for warning in &verdict.warnings {
        attempt.warnings.add(warning);
    }
    if !verdict.allowed {
        return Err(denied(hook, &verdict.status));
    }
    let Some(mut patched) = patch(hook, &verdict, &new)? else {
        return Ok(false);
    };
    metadata::check_shape(&patched).map_err(|fault| internal_error(&fault.message))?;
    let changed = patched != new;
    if attempt.is_of_the_kind() {
        writing::form(place, old.as_ref(), &mut patched).map_err(|fault| internal_error(&fault))?;
    }
    *object = convert(&patched, attempt.place, attempt);
    Ok(changed)
}

/// The object after the patch of a verdict; nothing if there is none.
fn patch(hook: &Hook, verdict: &Verdict, object: &Value) -> Result<Option<Value>, Status> {
    if verdict.patch.is_empty() {
        return Ok(None);
    }
    let operations: Option<json_patch::Patch> =
        from_slice(&verdict.patch).map_err(|error| internal_error(&error.to_string()))?;
    let operations = operations.unwrap_or_default();
    if operations.is_empty() {
        return Ok(None);
    }
    if object.is_null() {
        return Err(internal_error(&format!(
            "admission webhook {:?} attempted to modify the object, which is not supported for this operation",
            hook.name
        )));
    }
    if verdict.patch_type != "JSONPatch" {
        return failed(hook, &format!("unsupported patch type {:?}", verdict.patch_type)).map(|()| None);
    }
    let mut patched = object.clone();
    json_patch::patch(&mut patched, &operations).map_err(|error| internal_error(&patch_fault(&operations, &error)))?;
    Ok(Some(patched))
}

/// Why a patch does not apply, as the server's library says it.
fn patch_fault(patch: &json_patch::Patch, error: &json_patch::PatchError) -> String {
    let path = &error.path;
    match patch.get(error.operation) {
        Some(json_patch::PatchOperation::Test(_)) => format!("testing value {path} failed: test failed"),
        Some(json_patch::PatchOperation::Replace(_)) => {
            format!("replace operation does not apply: doc is missing path: {path}: missing value")
        }
        Some(json_patch::PatchOperation::Add(_)) => {
            format!("add operation does not apply: doc is missing path: \"{path}\": missing value")
        }
        Some(json_patch::PatchOperation::Remove(_)) => {
            format!("remove operation does not apply: doc is missing path: \"{path}\": missing value")
        }
        _ => error.to_string(),
    }
}
