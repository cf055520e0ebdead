//! Sends what a cycle gathered: up to four requests, in order, until the API has taken or refused them.
//!
//! A transport error, a 5xx, a 429 or a 401 is waited out, first with the delays of `networking.error_backoffs`, then
//! with those of `queueing.error_delays`: the patch is kept and sent again, and the handlers behind it are not called
//! again. A 403, and any other code that blames the request, is an answer if it stays. A
//! refusal is told apart from a conflict by a fresh read (A-10 and its *Improve on*): after a conflict the transformation functions run on the
//! fresh body, and what the server finds invalid is given up and reported.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::clients::api::PatchType;
use crate::clients::errors::ApiError;
use crate::clients::patching::Target;
use crate::structs::bodies::Body;
use crate::structs::diffs::{DiffItem, Scope, diff_in};
use crate::structs::patches::{self, FunctionPanicked, PatchContents};
use crate::structs::slots::Slot;

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
    /// Whoever wanted it is to end, and the API could not be reached so far.
    Interrupted,
}

/// How patiently patches are sent.
#[derive(Clone, Debug)]
pub(crate) struct Patience {
    /// Delays between attempts; the last one repeats. None at all means a second.
    pub(crate) delays: Vec<Duration>,
    /// The server's wish counts even where it is shorter than the delay.
    pub(crate) enforce_retry_after: bool,
    /// Ends the waiting between two attempts.
    pub(crate) stopping: CancellationToken,
    /// Ends also an attempt that is under way.
    pub(crate) abort: CancellationToken,
    /// Given back while there is nothing to do but to wait.
    pub(crate) slot: Slot,
}

/// Conflicts in a row after which another writer is taken for a permanent adversary.
const MOST_CONFLICTS: usize = 10;
/// Attempts at what is denied before that is taken for an answer, as many as Kopf makes.
const MOST_DENIALS: usize = 9;
/// Paths of which it is said that the server did not keep them: where their keys are made up at run time, there is no
/// end of them.
const MOST_REPORTED: usize = 1000;
/// The longest wait: whatever was broken, the first write comes soon after it is mended.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Applies a whole patch to an object whose freshest known state is `body`.
pub(crate) async fn apply(target: &Target, body: &Body, contents: PatchContents, patience: &Patience) -> Applied {
    let functions = contents.functions.clone();
    let (main, status) = contents.split_status(target.status_subresource);
    let mut freshest = None;
    for (to_status, part) in [(false, main), (true, status)] {
        let Some(part) = part else { continue };
        match merge(target, patience, to_status, &part).await {
            Ok(Some(body)) => {
                report_lost(target, &part, &body);
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

async fn merge(target: &Target, patience: &Patience, to_status: bool, part: &Value) -> Result<Option<Body>, ApiError> {
    match send(target, patience, PatchType::Merge, to_status, part).await {
        // Either the object is gone or its kind has lost the subresource; the main URL tells.
        Err(error) if to_status && error.is_not_found() => send(target, patience, PatchType::Merge, false, part).await,
        answer => answer,
    }
}

/// Says once per kind and path what the server did not keep (B-049).
fn report_lost(target: &Target, part: &Value, after: &Body) {
    static REPORTED: Mutex<Reported> = Mutex::new(Reported(BTreeSet::new()));
    for path in lost(part, after) {
        let kind = target.reference.kind;
        let mut reported = REPORTED.lock().unwrap_or_else(PoisonError::into_inner);
        if reported.is_news(format!("{kind} {path}")) {
            let name = &target.name;
            tracing::warn!("The API server did not keep {path} of {kind} {name}; does the schema of the kind have it?");
        }
    }
}

/// What was said once.
struct Reported(BTreeSet<String>);

impl Reported {
    /// Whether this is worth saying: once, and only as long as there is room to remember it.
    fn is_news(&mut self, what: String) -> bool {
        self.0.len() < MOST_REPORTED && self.0.insert(what)
    }
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
            // A failed test is told as invalid, like all that is invalid; only a fresh read tells them apart.
            Ok(Some(fresh)) if !refusal.is_conflict() && fresh.resource_version() == body.resource_version() => {
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
    // A conflict of a merge patch is the server's own and passes; that of JSON operations asks for other ones.
    let conflicts_pass = patch_type == PatchType::Merge;
    patience
        .outlast(target, conflicts_pass, || target.patch(patch_type, to_status, patch))
        .await
}

async fn reread(target: &Target, patience: &Patience) -> Result<Option<Body>, ApiError> {
    patience.outlast(target, true, || target.get()).await
}

impl Patience {
    /// Gives this place to others while it waits.
    pub(crate) fn resting(self, slot: Slot) -> Self {
        Self { slot, ..self }
    }

    async fn rest(&self, delay: Duration) {
        self.slot.give_back();
        tokio::time::sleep(delay).await;
        self.slot.take().await;
    }

    /// Repeats a request until the server decides about it; `None` if that is not waited for any longer.
    async fn outlast<F>(
        &self,
        target: &Target,
        conflicts_pass: bool,
        request: impl Fn() -> F,
    ) -> Result<Option<Body>, ApiError>
    where
        F: Future<Output = Result<Body, ApiError>>,
    {
        let mut delays = self.delays.iter().copied();
        let mut delay = Duration::from_secs(1);
        let (mut failures, mut denials) = (0_usize, 0_usize);
        loop {
            let answer = tokio::select! {
                answer = request() => answer,
                () = self.abort.cancelled() => return Ok(None),
            };
            let error = match answer {
                Ok(body) => {
                    if failures > 0 {
                        tracing::info!(name = target.name, failures, "Patched at last");
                    }
                    return Ok(Some(body));
                }
                Err(error) => error,
            };
            denials += usize::from(error.is_denial());
            let decided = error.is_refusal() || error.is_not_found() || (error.is_conflict() && !conflicts_pass);
            if decided || denials >= MOST_DENIALS {
                return Err(error);
            }
            // Said once per outage and object.
            if failures == 0 {
                tracing::warn!(name = target.name, %error, "Cannot patch; trying again until it is possible");
            } else {
                tracing::debug!(name = target.name, %error, failures, "Still cannot patch");
            }
            failures += 1;
            delay = delays.next().unwrap_or(delay);
            // Half of the wait is random, so that many objects do not come back at the same moment.
            let jittered = delay.min(LONGEST_WAIT).mul_f64(0.5 + fastrand::f64() / 2.0);
            tokio::select! {
                () = self.rest(error.wait(jittered, self.enforce_retry_after)) => {}
                () = self.stopping.cancelled() => return Ok(None),
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

    #[test]
    fn what_is_said_once_is_remembered_within_bounds() {
        let mut reported = Reported(BTreeSet::new());
        let mut count = |numbers: std::ops::Range<usize>| {
            let said = numbers.filter(|number| reported.is_news(number.to_string()));
            said.count()
        };
        assert_eq!((count(0..3), count(0..4)), (3, 1));
        assert_eq!(count(0..2 * MOST_REPORTED), MOST_REPORTED - 4);
    }
}
