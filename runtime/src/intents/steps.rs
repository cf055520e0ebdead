//! The handlers that take part in a cycle: where each of them stands, and whether it is due.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::essences::View;
use super::handlers::{ChangeKind, Handler};
use super::selection::{Candidate, Selection};
use crate::actions::execution;
use crate::configs::progress::Record;
use crate::structs::diffs::Diff;

/// Whether a handler can be called now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// It has finished; there is nothing to do.
    Done,
    /// It is due after this time.
    Sleeping(Duration),
    /// It is due.
    Awake,
    /// It is due, but has reached its limits: it is to fail without being called (E-9).
    Refused(String),
    /// It is due, but a filter of it has failed: so it fails too, without being called (F-15, *Improve on*).
    Faulty(String),
}

/// A handler that takes part in the cycle.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) handler: Arc<Handler>,
    /// Where it stands.
    pub(crate) record: Record,
    /// The attempts before this one, and those of its sub-handlers: waiting for them is no attempt of it, but neither
    /// may they keep others from their turn.
    pub(crate) tries: u32,
    /// What it is told of the change (K-7, K-8).
    pub(crate) old: Option<Arc<Value>>,
    pub(crate) new: Option<Arc<Value>>,
    pub(crate) diff: Diff,
    pub(crate) readiness: Readiness,
    /// It is called about the essence of the object, so its record notes which one it has handled.
    pub(crate) notes: bool,
    /// What it is called as: of a handler that is registered for several reasons, one of them.
    pub(crate) kind: ChangeKind,
    /// The index of the handler whose sub-handler it is.
    pub(crate) parent: Option<usize>,
    /// It fails if one of its sub-handlers has failed (U-7, *Improve on*).
    pub(crate) all_must_succeed: bool,
}

impl Step {
    /// Under which its record and its result are kept.
    pub(crate) fn id(&self) -> &str {
        &self.handler.id
    }

    /// It is to be made in this cycle, be it to fail without a call.
    pub(super) fn is_due(&self) -> bool {
        match self.readiness {
            Readiness::Awake | Readiness::Refused(_) | Readiness::Faulty(_) => true,
            Readiness::Done | Readiness::Sleeping(_) => false,
        }
    }
}

/// The handlers that take part, in registration order (H-1).
pub(super) fn steps(candidates: &[Candidate<'_>], selection: Selection, now: Timestamp) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let taking_part = candidates
        .iter()
        .filter_map(|candidate| step(candidate, selection, now));
    for step in taking_part {
        // One function under several reasons is called once; the first one registered says how (H-10). But if any of
        // them is about the essence, so is the call: what resuming has done does not make up for a change.
        match steps.iter_mut().find(|first| first.id() == step.id()) {
            Some(first) if step.notes && !first.notes => {
                *first = Step {
                    handler: Arc::clone(&first.handler),
                    ..step
                }
            }
            Some(_) => {}
            None => steps.push(step),
        }
    }
    steps
}

/// What a handler does in the cycle, if it takes part.
pub(super) fn step(candidate: &Candidate<'_>, selection: Selection, now: Timestamp) -> Option<Step> {
    let fault = match candidate.takes_part(selection) {
        Ok(false) => return None,
        Ok(true) => None,
        Err(message) => Some(message),
    };
    let handler = candidate.handler;
    let (record, view) = candidate.standing(selection.reason, now);
    let View { old, new, diff } = view.clone();
    Some(Step {
        handler: Arc::clone(handler),
        readiness: readiness(&record, &handler.limits, fault, now),
        tries: candidate.tries(&record),
        record,
        old,
        new,
        diff,
        notes: candidate.is_about_essence(selection.reason),
        kind: handler.kind,
        parent: None,
        all_must_succeed: false,
    })
}

/// Whether a handler can be called now (P-7, E-9); `fault` says that one of its filters has failed.
fn readiness(record: &Record, limits: &execution::Limits, fault: Option<String>, now: Timestamp) -> Readiness {
    match record.delay(now) {
        _ if record.finished() => Readiness::Done,
        Duration::ZERO => match execution::refuse(record, limits, now) {
            None => fault.map_or(Readiness::Awake, Readiness::Faulty),
            Some(message) => Readiness::Refused(message),
        },
        delay => Readiness::Sleeping(delay),
    }
}
