//! One cycle of one object: which handlers are due, and what is to be stored once they were called.
//!
//! [`plan`] and [`finish`] are pure functions. Between them the reactor calls the steps that [`Plan::pick`] names.
//!
//! A handler takes part in a cycle as long as it has something to be told. That is the change since the object was
//! handled last; or, once the handler has finished in a cycle that others have not, the change since what it has
//! handled itself. So nobody misses an edit that is made meanwhile, or taken back, and nobody is told twice (C,
//! *Improve on*).

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::causes::{Factors, Reason, detect};
use super::essences::Essences;
use super::families::family;
pub(crate) use super::families::settled;
use super::filters::Asked;
use super::handlers::Handler;
use super::memos::Memo;
use super::selection::{Candidate, Selection};
pub(crate) use super::settling::{Conclusion, Finished, finish, forgotten, no_room, outgrown};
use super::steps::steps;
pub(crate) use super::steps::{Readiness, Step};
use crate::actions::lifecycles::{self, Lifecycle, Waiting};
use crate::configs::progress::Record;
use crate::configs::storages::Storages;
use crate::structs::bodies::Body;
use crate::structs::fields::FieldPath;

/// What a cycle starts from.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "these are independent facts about the object"
)]
pub(crate) struct Situation<'a> {
    pub(crate) body: &'a Body,
    /// The typed spec, for conditions.
    pub(crate) spec: &'a Arc<dyn Any + Send + Sync>,
    /// The object's memo, for conditions.
    pub(crate) memo: &'a Memo,
    /// The event says that the object is gone.
    pub(crate) deleted_event: bool,
    /// The changing handlers of the kind, in registration order.
    pub(crate) handlers: &'a [Arc<Handler>],
    /// The object was first seen in a listing, and was not fully handled since (C-5).
    pub(crate) initial: bool,
    /// The deletion was handled before; its handlers must not run again (Z-12).
    pub(crate) deletion_done: bool,
    /// A daemon or a timer matches, or is still ending, so the finalizer must stay (Z-2, Z-10).
    pub(crate) background_needs: bool,
    pub(crate) storages: &'a Storages,
    pub(crate) now: Timestamp,
}

/// What is to be done about the finalizer before any handler runs (Z-3, Z-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FinalizerStep {
    /// It is as it must be.
    Keep,
    /// Add it, in place of a former one if there is any; the handlers run in the next cycle.
    Add,
    /// Remove it; the handlers run in the next cycle, if the object is still there.
    Remove,
}

/// What a cycle does.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) reason: Reason,
    /// Nothing is done, logged or stored about the object: no handler is interested in it, and none was (F-20).
    pub(crate) stealth: bool,
    pub(crate) finalizer: FinalizerStep,
    /// A handler wants to see the object's deletion, and it is no optional one.
    pub(crate) awaited: bool,
    /// Filters that have failed where no handler takes part that could fail for it, by the handler's id: nobody knows
    /// whether the deletion is to be waited for, so the finalizer stays as it is.
    pub(crate) faults: Vec<(String, String)>,
    /// In registration order; none while the finalizer is added or removed. Those of sub-handlers follow, once their
    /// parents were called.
    pub(crate) steps: Vec<Step>,
    pub(crate) ground: Ground,
}

/// What the conclusion of a cycle is drawn from besides the plan.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "these are independent facts about the object"
)]
pub(crate) struct Ground {
    pub(crate) body: Body,
    pub(crate) storages: Storages,
    pub(crate) essences: Essences,
    /// Daemons or timers hold the object, whatever its handlers do (Z-10).
    pub(crate) held: bool,
    /// Others hold the object, and handlers that do not hold it see its deletion (Z-9).
    pub(crate) lingers: bool,
    /// No handler prematches (F-20).
    pub(crate) ignored: bool,
    /// The state on the object belongs to another object, and counts as absent (B-028).
    pub(crate) copied: bool,
    /// What the selection of handlers depends on, for those that join later.
    pub(super) selection: Selection,
    /// The ids of all changing handlers.
    pub(super) registered: Vec<String>,
    /// The ids whose records may be on the object: of all changing handlers, and of their sub-handlers (P-10).
    pub(crate) known: BTreeSet<String>,
    /// The records of sub-handlers that are on the object.
    pub(super) family: BTreeMap<String, Record>,
    /// Those of them whose attempts are as if never made: they take no part any more, and have come to nothing.
    pub(super) idle: BTreeSet<String>,
    /// The records of handlers that take no part at the moment, but have done something in this cycle already (P-8).
    pub(crate) passive: Vec<(String, Record)>,
}

impl Ground {
    /// The object stays for a while: what was done about its deletion must not be done again (Z-12).
    pub(super) fn keeps_records(&self, reason: Reason) -> bool {
        reason == Reason::Delete && (self.held || self.lingers)
    }
}

impl Plan {
    /// The steps to be made in this cycle, in this order; also those that are refused (L-1). With a parent, those of
    /// its sub-handlers (U-5).
    ///
    /// `random` yields a number below its argument.
    pub(crate) fn pick(
        &self,
        parent: Option<usize>,
        lifecycle: &Lifecycle,
        random: impl FnMut(usize) -> usize,
    ) -> Vec<usize> {
        let due: Vec<usize> = (0..self.steps.len())
            .filter(|&index| self.steps[index].parent == parent && self.steps[index].is_due())
            .collect();
        let waiting = |&index: &usize| {
            let step = &self.steps[index];
            Waiting::new(step.id(), step.tries, step.record.started)
        };
        let waiting: Vec<Waiting<'_>> = due.iter().map(waiting).collect();
        lifecycles::pick(lifecycle, &waiting, &self.ground.body, random)
            .into_iter()
            .map(|index| due[index])
            .collect()
    }
}

/// Whether the deletion of an object that does not fit its type must wait for one of these handlers (F-18, H-7).
///
/// Whatever cannot be asked of such an object counts as satisfied: conditions on the whole object, which know the
/// typed spec, and filters that fail.
pub(crate) fn deletion_may_be_awaited(handlers: &[Arc<Handler>], body: &Body) -> bool {
    let may_match = |handler: &Arc<Handler>| handler.filters.matches_body(handler.field.as_ref(), body) != Ok(false);
    handlers
        .iter()
        .any(|handler| handler.is_mandatory() && may_match(handler))
}

/// Decides what a cycle does.
pub(crate) fn plan(situation: &Situation<'_>) -> Plan {
    let Situation {
        body,
        spec,
        memo,
        handlers,
        storages,
        now,
        ..
    } = *situation;
    let copied = storages.is_copied(body);
    let mut essences = Essences::read(body, asked(handlers), storages, copied);
    let fetch = |id: &str| {
        if copied {
            None
        } else {
            storages.progress.fetch(body, id, now)
        }
    };
    let deleting = body.deletion_timestamp().is_some();
    let records: Vec<Option<Record>> = handlers.iter().map(|handler| fetch(&handler.id)).collect();
    let families: Vec<BTreeMap<String, Record>> = records.iter().map(|record| family(record.as_ref(), fetch)).collect();
    let mut all = records
        .iter()
        .flatten()
        .chain(families.iter().flat_map(BTreeMap::values));
    if !deleting
        && !essences.is_handled()
        && let Some(note) = all.find_map(noted_at_creation)
    {
        essences.pin(note);
    }
    let asked = Asked {
        body,
        spec,
        memo,
        view: None,
    };
    let candidates: Vec<Candidate<'_>> = handlers
        .iter()
        .zip(records.into_iter().zip(families))
        .map(|(handler, (record, family))| Candidate::new(handler, &asked, &essences, record, family))
        .collect();

    let present = storages.is_held(body);
    let optional = candidates
        .iter()
        .any(|candidate| candidate.handler.optional && candidate.may_be_deletion());
    let volunteers = optional && !situation.deletion_done;
    let reason = detect(Factors {
        gone: situation.deleted_event,
        deleting,
        held: present || volunteers,
        handled: essences.is_handled(),
        changed: essences.is_changed() || candidates.iter().any(Candidate::is_changed),
        initial: situation.initial,
    });
    let selection = Selection {
        reason,
        present,
        initial: situation.initial,
        deletion_done: situation.deletion_done,
    };
    let steps = steps(&candidates, selection, now);

    let awaiting = || candidates.iter().filter(|candidate| candidate.handler.is_mandatory());
    let awaited = awaiting().any(Candidate::prematches);
    // As many objects as a broken filter sees must not all be held, nor be let go: nothing changes for them.
    let undecided = awaiting().any(|candidate| candidate.fault().is_some());
    let needed = situation.background_needs || awaited || (undecided && present);
    // Where the finalizer must stay, a former one must be exchanged; where it must go, either goes.
    let as_it_must_be = if needed && !deleting {
        storages.is_settled(body)
    } else {
        present
    };
    let finalizer = finalizer_step(reason, needed, as_it_must_be, !steps.is_empty());
    let faults = awaiting()
        .filter(|candidate| steps.iter().all(|step| step.id() != candidate.handler.id))
        .filter_map(|candidate| Some((candidate.handler.id.clone(), candidate.fault()?.clone())))
        .collect();
    let known = candidates.iter().flat_map(Candidate::ids).collect();
    let family = candidates
        .iter()
        .flat_map(|candidate| candidate.family.clone())
        .collect();
    let passive = candidates
        .iter()
        .filter(|candidate| steps.iter().all(|step| step.id() != candidate.handler.id))
        .filter_map(|candidate| Some((candidate.handler.id.clone(), candidate.made(reason)?.clone())))
        .collect();
    let ignored = steps.is_empty() && !candidates.iter().any(Candidate::prematches);
    let traces = !deleting && candidates.iter().any(|candidate| candidate.record.is_some());
    Plan {
        reason,
        stealth: ignored && !traces,
        finalizer,
        awaited,
        faults,
        steps: if finalizer == FinalizerStep::Keep {
            steps
        } else {
            Vec::new()
        },
        ground: Ground {
            body: body.clone(),
            storages: storages.clone(),
            essences,
            held: situation.background_needs,
            lingers: optional && storages.is_held_by_others(body),
            ignored,
            copied,
            selection,
            registered: handlers.iter().map(|handler| handler.id.clone()).collect(),
            known,
            family,
            idle: BTreeSet::new(),
            passive,
        },
    }
}

/// What a handler has handled in a creation that goes on.
fn noted_at_creation(record: &Record) -> Option<&Value> {
    let creating = record.purpose.as_deref() == Some(Reason::Create.as_str());
    record.handled.as_ref().filter(|_| creating && record.finished())
}

/// The fields that handlers and their declared sub-handlers ask for (B-5).
fn asked(handlers: &[Arc<Handler>]) -> Vec<FieldPath> {
    let asked: BTreeSet<FieldPath> = handlers.iter().flat_map(|handler| handler.fields()).collect();
    asked.into_iter().collect()
}

/// Whether the finalizer is to be changed before anything else (Z-2 to Z-5).
///
/// During deletion, one that is left over goes only once no handler has work to do: optional ones get their chance
/// (Z-9).
fn finalizer_step(reason: Reason, needed: bool, present: bool, work: bool) -> FinalizerStep {
    match reason {
        Reason::Gone | Reason::Free => FinalizerStep::Keep,
        Reason::Delete if needed || work || !present => FinalizerStep::Keep,
        Reason::Delete => FinalizerStep::Remove,
        Reason::Create | Reason::Update | Reason::Resume | Reason::Noop => match (needed, present) {
            (true, false) => FinalizerStep::Add,
            (false, true) => FinalizerStep::Remove,
            (true, true) | (false, false) => FinalizerStep::Keep,
        },
    }
}

#[cfg(test)]
#[path = "planning_tests/mod.rs"]
mod tests;
