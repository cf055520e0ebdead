//! Sends what a cycle gathered: up to four requests, in order, until the API has taken or refused them.
//!
//! A transport error, a 5xx, a 429, a 401 or a 403 is waited out, with the delays of `queueing.error_delays`: the
//! patch is kept and sent again, and the handlers behind it are not called again. A refusal is told apart from
//! a conflict by a fresh read (A-10 and its *Improve on*): after a conflict the transformation functions run on the
//! fresh body, and what the server finds invalid is given up and reported.

use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::clients::api::PatchType;
use crate::clients::errors::ApiError;
use crate::clients::patching::Target;
use crate::structs::bodies::Body;
use crate::structs::diffs::{DiffItem, Scope, diff_in};
use crate::structs::patches::{self, FunctionPanicked, PatchContents};

/// What became of a patch.
#[derive(Debug)]
pub(crate) enum Applied {
    /// There was nothing to send.
    Nothing,
    /// The object as it is now.
    Patched(Body),
    /// The object is gone.
    Gone,
    /// The server will not take it.
    Refused(String),
    /// The operator stops before the API could be reached.
    Interrupted,
}

/// How patiently patches are sent.
#[derive(Clone, Debug)]
pub(crate) struct Patience {
    /// Delays between attempts; the last one repeats. None at all means a second.
    pub(crate) delays: Vec<Duration>,
    pub(crate) stopping: CancellationToken,
}

/// Conflicts in a row after which another writer is taken for a permanent adversary.
const MOST_CONFLICTS: usize = 10;

/// Applies a whole patch to an object whose freshest known state is `body`.
pub(crate) async fn apply(target: &Target, body: &Body, contents: PatchContents, patience: &Patience) -> Applied {
    let functions = contents.functions.clone();
    let (main, status) = contents.split_status(target.status_subresource);
    let mut freshest = None;
    for (to_status, part) in [(false, main), (true, status)] {
        let Some(part) = part else { continue };
        match send(target, patience, PatchType::Merge, to_status, &part).await {
            Ok(Some(body)) => {
                let lost = lost(&part, &body);
                if !lost.is_empty() {
                    let paths = lost.join(", ");
                    tracing::warn!("The API server did not keep {paths}; does the schema of the kind have it?");
                }
                freshest = Some(body);
            }
            Ok(None) => return Applied::Interrupted,
            Err(error) if error.is_not_found() => return Applied::Gone,
            Err(error) => return Applied::Refused(error.message),
        }
    }
    if !functions.is_empty() {
        let start = freshest.clone().unwrap_or_else(|| body.clone());
        let build = |body: &Body| patches::json_operations(body.value(), &functions);
        match guarded(target, start, build, patience).await {
            Applied::Nothing => {}
            other => return other,
        }
    }
    freshest.map_or(Applied::Nothing, Applied::Patched)
}

/// What was patched and is not there afterwards: pruned by the kind's schema, for the most part.
///
/// Emptied lists and mappings of the metadata vanish by themselves.
fn lost(patch: &Value, after: &Body) -> Vec<String> {
    let differences = diff_in(Scope::Left, Some(patch), Some(after.value()));
    let vanishes = |item: &DiffItem| {
        let empty = item.old.as_object().is_some_and(serde_json::Map::is_empty)
            || item.old.as_array().is_some_and(Vec::is_empty);
        empty && item.new.is_null() && item.path.first().is_some_and(|key| key == "metadata")
    };
    differences
        .iter()
        .filter(|item| !vanishes(item))
        .map(|item| item.path.join("."))
        .collect()
}

/// Applies JSON operations that are computed from the state they are applied to, and only to that state.
pub(crate) async fn guarded(
    target: &Target,
    mut body: Body,
    build: impl Fn(&Body) -> Result<Vec<Value>, FunctionPanicked>,
    patience: &Patience,
) -> Applied {
    let mut changed = false;
    for _ in 0..MOST_CONFLICTS {
        let operations = match build(&body) {
            Ok(operations) => operations,
            Err(error) => return Applied::Refused(error.to_string()),
        };
        let (main, status) = patches::split_operations(operations, target.status_subresource);
        let mut refusal = None;
        for (to_status, operations) in [(false, main), (true, status)] {
            if operations.is_empty() {
                continue;
            }
            let operations = patches::with_version_test(operations, body.resource_version());
            match send(target, patience, PatchType::Json, to_status, &Value::Array(operations)).await {
                Ok(Some(after)) => {
                    body = after;
                    changed = true;
                }
                Ok(None) => return Applied::Interrupted,
                Err(error) if error.is_not_found() => return Applied::Gone,
                Err(error) => {
                    refusal = Some(error);
                    break;
                }
            }
        }
        let Some(refusal) = refusal else {
            return if changed {
                Applied::Patched(body)
            } else {
                Applied::Nothing
            };
        };
        match reread(target, patience).await {
            Ok(Some(fresh)) if fresh.resource_version() == body.resource_version() => {
                return Applied::Refused(refusal.message);
            }
            Ok(Some(fresh)) => body = fresh,
            Ok(None) => return Applied::Interrupted,
            Err(error) if error.is_not_found() => return Applied::Gone,
            Err(error) => return Applied::Refused(error.message),
        }
    }
    Applied::Refused(format!(
        "the object changed {MOST_CONFLICTS} times between reading and patching"
    ))
}

async fn send(
    target: &Target,
    patience: &Patience,
    patch_type: PatchType,
    to_status: bool,
    patch: &Value,
) -> Result<Option<Body>, ApiError> {
    patience.outlast(|| target.patch(patch_type, to_status, patch)).await
}

async fn reread(target: &Target, patience: &Patience) -> Result<Option<Body>, ApiError> {
    patience.outlast(|| target.get()).await
}

impl Patience {
    /// Repeats a request until the server decides about it; `None` if the operator stops meanwhile.
    async fn outlast<F>(&self, request: impl Fn() -> F) -> Result<Option<Body>, ApiError>
    where
        F: Future<Output = Result<Body, ApiError>>,
    {
        let mut delays = self.delays.iter().copied();
        let mut delay = Duration::from_secs(1);
        loop {
            match request().await {
                Ok(body) => return Ok(Some(body)),
                Err(error) if error.is_refusal() || error.is_not_found() => return Err(error),
                Err(error) => {
                    delay = delays.next().unwrap_or(delay);
                    let wait = delay.max(error.retry_after.unwrap_or_default());
                    tracing::warn!(%error, "Cannot patch; trying again in {} s", wait.as_secs_f32());
                    tokio::select! {
                        () = tokio::time::sleep(wait) => {}
                        () = self.stopping.cancelled() => return Ok(None),
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // B-050
    #[test]
    fn what_the_server_pruned_is_named_and_nothing_else() {
        let after = Body::new(json!({"metadata": {"name": "a"}, "status": {"kept": 1, "foreign": 2}}));
        let patch = json!({
            "metadata": {"annotations": {}, "labels": null},
            "status": {"kept": 1.0, "pruned": {"deep": 3}, "removed": null},
        });
        assert_eq!(lost(&patch, &after), ["status.pruned"]);
    }
}
