//! One cycle of one object: which handlers are due, and what is to be stored once they were called.
//!
//! [`plan`] and [`finish`] are pure functions. Between them the reactor calls the steps that [`Plan::pick`] names.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::causes::Reason;
use super::handlers::Handler;
use crate::actions::execution::Verdict;
use crate::actions::lifecycles::Lifecycle;
use crate::configs::diffbase::DiffBaseStorage;
use crate::configs::progress::{ProgressStorage, Record};
use crate::structs::bodies::Body;
use crate::structs::diffs::Diff;
use crate::structs::patches::PatchContents;

/// Where state is kept on objects.
#[derive(Clone, Debug)]
pub(crate) struct Storages {
    pub(crate) prefix: String,
    pub(crate) finalizer: String,
    pub(crate) progress: ProgressStorage,
    pub(crate) diffbase: DiffBaseStorage,
}

/// What a cycle starts from.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "these are independent facts about the object")]
pub(crate) struct Situation<'a> {
    pub(crate) body: &'a Body,
    /// The event says that the object is gone.
    pub(crate) deleted_event: bool,
    /// The changing handlers of the kind, in registration order.
    pub(crate) handlers: &'a [Handler],
    /// The object was first seen in a listing, and was not fully handled since (C-5).
    pub(crate) initial: bool,
    /// The deletion was handled before; its handlers must not run again (Z-12).
    pub(crate) deletion_done: bool,
    /// A timer matches, or is still ending, so the finalizer must stay (Z-2, Z-10).
    pub(crate) timers_need: bool,
    pub(crate) storages: &'a Storages,
    pub(crate) now: Timestamp,
}

/// What is to be done about the finalizer before any handler runs (Z-3, Z-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FinalizerStep {
    /// It is as it must be.
    Keep,
    /// Add it; the handlers run in the next cycle.
    Add,
    /// Remove it; the handlers run in the next cycle, if the object is still there.
    Remove,
}

/// Whether a handler can be called now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// It has finished; there is nothing to do.
    Done,
    /// It is due after this time.
    Sleeping(Duration),
    /// It is due.
    Awake,
    /// It has reached its limits: it fails without being called (E-9).
    Refused(String),
}

/// A handler that takes part in the cycle.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// The index in [`Situation::handlers`].
    pub(crate) handler: usize,
    /// Where it stands.
    pub(crate) record: Record,
    /// What it is told of the change (K-7, K-8).
    pub(crate) old: Option<Arc<Value>>,
    pub(crate) new: Option<Arc<Value>>,
    pub(crate) diff: Diff,
    pub(crate) readiness: Readiness,
}

/// What a cycle does.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) reason: Reason,
    /// No handler is interested in the object: nothing is done, logged or stored about it (F-20).
    pub(crate) stealth: bool,
    pub(crate) finalizer: FinalizerStep,
    /// In registration order; none while the finalizer is added or removed.
    pub(crate) steps: Vec<Step>,
}

impl Plan {
    /// The steps to be called in this cycle, in this order (L-1).
    pub(crate) fn pick(&self, lifecycle: Lifecycle, random: impl FnMut(usize) -> usize) -> Vec<usize> {
        let _ = (lifecycle, random);
        Vec::new()
    }
}

/// A step that was called.
#[derive(Clone, Debug)]
pub(crate) struct Finished {
    /// The index in [`Plan::steps`].
    pub(crate) step: usize,
    /// Its record afterwards.
    pub(crate) record: Record,
    pub(crate) verdict: Verdict,
    pub(crate) result: Option<Value>,
}

/// What is to be done after the calls.
#[derive(Clone, Debug)]
pub(crate) struct Conclusion {
    /// The merge patch: what the handlers gathered, then records, results and the diff-base.
    pub(crate) merge: Map<String, Value>,
    /// Nothing is left to be called for this reason.
    pub(crate) done: bool,
    /// The next cycle is due after this time; `None` if none is.
    pub(crate) delay: Option<Duration>,
    /// The handlers do not need the finalizer of this deletion any more (Z-6).
    pub(crate) release_finalizer: bool,
    /// The object was fully handled once, so it is not initial any more (C-8).
    pub(crate) fully_handled: bool,
}

/// Decides what a cycle does.
pub(crate) fn plan(situation: &Situation<'_>) -> Plan {
    let _ = situation;
    Plan { reason: Reason::Noop, stealth: true, finalizer: FinalizerStep::Keep, steps: Vec::new() }
}

/// Decides what is stored after the calls. `own` is what the cycle's handlers have gathered in the patch.
pub(crate) fn finish(plan: &Plan, finished: Vec<Finished>, own: &PatchContents, now: Timestamp) -> Conclusion {
    let _ = (plan, finished, now);
    Conclusion {
        merge: own.merge.clone(),
        done: true,
        delay: None,
        release_finalizer: false,
        fully_handled: false,
    }
}
