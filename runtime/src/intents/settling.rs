//! What is stored after the calls of a cycle (P, R, B, C-11, C-12).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::causes::Reason;
use super::planning::{FinalizerStep, Ground, Plan};
use super::steps::Step;
use crate::actions::execution::Verdict;
use crate::configs::conventions;
use crate::configs::progress::Record;
use crate::structs::bodies::Body;
use crate::structs::patches::{self, PatchContents, compose, deliver};

/// A step that was made.
#[derive(Clone, Debug)]
pub(crate) struct Finished {
    /// The index in [`Plan::steps`].
    pub(crate) step: usize,
    /// Its record afterwards.
    pub(crate) record: Record,
    /// What its call came to; `None` if it waits for its sub-handlers.
    pub(crate) verdict: Option<Verdict>,
    pub(crate) result: Option<Value>,
}

/// What is to be done after the calls.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Conclusion {
    /// The merge patch: what the handlers gathered, then results, records and the diff-base.
    pub(crate) merge: Map<String, Value>,
    /// The part of it that is the operator's own state: records, the diff-base, marks.
    pub(crate) state: Map<String, Value>,
    /// What takes that part back, to the state before the cycle.
    pub(crate) undo: Map<String, Value>,
    /// The records that are on the object afterwards, by the handlers' ids.
    pub(crate) records: Vec<(String, Record)>,
    /// Nothing is left to be called for this reason.
    pub(crate) done: bool,
    /// The next cycle is due after this time; `None` if none is.
    pub(crate) delay: Option<Duration>,
    /// The handlers do not need the finalizer of this deletion any more (Z-6).
    pub(crate) release_finalizer: bool,
    /// The object was fully handled once, so it is not initial any more (C-8).
    pub(crate) fully_handled: bool,
}

/// Decides what is stored after the calls. `own` is what the cycle's handlers have gathered in the patch.
pub(crate) fn finish(plan: &Plan, finished: Vec<Finished>, own: &PatchContents, now: Timestamp) -> Conclusion {
    let ground = &plan.ground;
    let mut merge = own.merge.clone();
    let mut records: Vec<Option<Record>> = vec![None; plan.steps.len()];
    for Finished {
        step,
        record,
        result,
        verdict: _,
    } in finished
    {
        if let Some(result) = result {
            deliver(&mut merge, plan.steps[step].id(), result);
        }
        records[step] = Some(record);
    }
    let unfinished = || {
        let now_of = |(step, record): (&Step, &Option<Record>)| record.clone().unwrap_or_else(|| step.record.clone());
        // What sub-handlers wait for, their parents wait for.
        plan.steps
            .iter()
            .zip(&records)
            .filter(|(step, _)| step.parent.is_none())
            .map(now_of)
            .filter(|record| !record.finished())
    };
    let delay = unfinished().map(|record| record.delay(now)).min();
    let idle = Conclusion {
        merge: Map::new(),
        state: Map::new(),
        undo: Map::new(),
        records: Vec::new(),
        done: false,
        delay,
        release_finalizer: false,
        fully_handled: false,
    };
    if plan.finalizer != FinalizerStep::Keep {
        return Conclusion { merge, ..idle };
    }
    let done = delay.is_none();
    // An object on its way out need not be written for what nobody will read.
    let leaving = plan.reason == Reason::Delete && done && !ground.keeps_records(plan.reason);
    // Once: afterwards there is nothing left to move. What nobody is interested in may be another operator's.
    let moving = !leaving && !ground.ignored && ground.storages.has_former_state(&ground.body);
    let mut state = Map::new();
    let mut kept = Vec::new();
    match plan.reason {
        // Nothing can be stored any more, or nobody waits for it.
        Reason::Gone | Reason::Free => {
            return Conclusion {
                merge,
                done: true,
                ..idle
            };
        }
        Reason::Noop => {
            purge(&mut state, ground);
            if moving || (!ground.ignored && ground.essences.lacks_coverage()) {
                store_diffbase(&mut state, ground);
            }
        }
        Reason::Create | Reason::Update | Reason::Delete | Reason::Resume
            if done && !ground.keeps_records(plan.reason) =>
        {
            purge(&mut state, ground);
            let told = !plan.steps.is_empty() || !leaving;
            if told && !ground.ignored && (moving || ground.essences.is_outdated()) {
                store_diffbase(&mut state, ground);
            }
        }
        Reason::Create | Reason::Update | Reason::Delete | Reason::Resume => {
            let changed = own_change(ground, &merge, own);
            kept = store_records(&mut state, plan, records, &changed, now);
        }
    }
    if moving {
        ground.storages.purge_former(&mut state, &ground.body);
    }
    let undo = patches::inverse(&state, ground.body.value());
    compose(&mut merge, state.clone());
    forget_touches(&mut merge, ground);
    Conclusion {
        merge,
        state,
        undo,
        records: kept,
        done,
        release_finalizer: done && plan.reason == Reason::Delete,
        fully_handled: done && plan.reason.runs_handlers() && !ground.ignored,
        ..idle
    }
}

/// Why no handler can be called: what came of it could not be stored, so that it would be called again and again
/// (B-054). `None` if there is room for its progress, and for a deletion, which nobody could end otherwise.
pub(crate) fn no_room(plan: &Plan, now: Timestamp) -> Option<String> {
    if plan.reason == Reason::Delete {
        return None;
    }
    let body = &plan.ground.body;
    let due = plan.steps.iter().filter(|step| step.is_due()).count();
    let taken = conventions::size(body);
    if due == 0 || taken + plan.steps.len() * CALL_SIZE < conventions::ANNOTATIONS_LIMIT / 2 {
        return None;
    }
    let Conclusion { merge, .. } = finish(plan, Vec::new(), &PatchContents::default(), now);
    let mut after = body.value().clone();
    patches::merge_into(&mut after, &Value::Object(merge));
    let needed = conventions::size(&Body::new(after)) + due * CALL_SIZE;
    (needed > conventions::ANNOTATIONS_LIMIT).then(|| {
        format!(
            "the annotations of the object leave no room for the progress of its handlers: {taken} of {} bytes are taken",
            conventions::ANNOTATIONS_LIMIT
        )
    })
}

/// The object as if it had the state of a deletion that it has no room for (B-054): its handlers go on from there, as
/// long as nothing newer comes. `known` is what they started from. `None` if that is not why the state was refused.
pub(crate) fn outgrown(freshest: &Body, known: &Body, state: &Map<String, Value>) -> Option<Body> {
    freshest.deletion_timestamp()?;
    let mut after = freshest.value().clone();
    // What was kept so in earlier cycles is not on the object either.
    let annotations = known.value().pointer("/metadata/annotations");
    patches::merge_into(&mut after, &json!({"metadata": {"annotations": annotations}}));
    patches::merge_into(&mut after, &Value::Object(state.clone()));
    let after = Body::new(after);
    (conventions::size(&after) > conventions::ANNOTATIONS_LIMIT).then_some(after)
}

/// Why the handlers cannot go on: what was stored of their progress is not there afterwards, so that they would be
/// called for ever (B-049). `after` is the freshest known state.
pub(crate) fn forgotten(plan: &Plan, conclusion: &Conclusion, after: &Body, now: Timestamp) -> Option<String> {
    let storages = &plan.ground.storages;
    let kept = !conclusion.done || (plan.reason == Reason::Delete && plan.ground.held);
    let is_lost = |(id, record): &&(String, Record)| {
        let found = storages.progress.fetch(after, id, now);
        let stands = |record: &Record| (record.retries, record.finished());
        found.as_ref().map(stands) != Some(stands(record))
    };
    let (id, _) = conclusion.records.iter().filter(|_| kept).find(is_lost)?;
    Some(format!(
        "the progress of the handler {id} was stored and is not there; does the schema of the kind have the field for it?"
    ))
}

/// What a call adds to a record at the least: times, a message.
const CALL_SIZE: usize = 400;

/// Takes away the mark that Kopf leaves when it wakes itself up, if the object is patched anyway.
fn forget_touches(merge: &mut Map<String, Value>, Ground { body, storages, .. }: &Ground) {
    let mark = format!("{}/touch-dummy", storages.prefix);
    if !merge.is_empty() && body.annotation(&mark).is_some() {
        let removal = json!({"metadata": {"annotations": {mark: null}}});
        if let Value::Object(removal) = removal {
            compose(merge, removal);
        }
    }
}

/// Takes away all progress: of all handlers, also of those that are gone from the code (P-10, P-11).
fn purge(merge: &mut Map<String, Value>, ground: &Ground) {
    let Ground {
        body, storages, known, ..
    } = ground;
    let mut removals = Map::new();
    for id in known {
        storages.progress.purge(&mut removals, body, id);
    }
    if !ground.ignored {
        storages.progress.purge_all(&mut removals, body);
    }
    compose(merge, removals);
}

/// Brings the copy of the essence up to date: with the state at the start of the cycle, which is what was handled.
fn store_diffbase(merge: &mut Map<String, Value>, ground: &Ground) {
    let Ground {
        body,
        storages,
        essences,
        ..
    } = ground;
    let mut additions = Map::new();
    storages
        .diffbase
        .store(&mut additions, body, &essences.fresh, essences.asked());
    conventions::store_marks(&mut additions, &storages.prefix, body, &essences.all_covered());
    compose(merge, additions);
}

/// Keeps where each selected handler stands (L-6), and what others have done in this cycle; other records are dropped.
fn store_records(
    merge: &mut Map<String, Value>,
    plan: &Plan,
    records: Vec<Option<Record>>,
    own: &OwnChange,
    now: Timestamp,
) -> Vec<(String, Record)> {
    let Ground {
        body,
        storages,
        essences,
        known,
        ..
    } = &plan.ground;
    let mut additions = Map::new();
    if plan.ground.copied {
        // From now on the object's own state counts, so the other's must go.
        storages.progress.purge_all(&mut additions, body);
        storages.diffbase.purge(&mut additions, body);
    }
    let kept = Kept::of(plan, records, now);
    for id in known.iter().filter(|id| !kept.ids.contains(id.as_str())) {
        storages.progress.purge(&mut additions, body, id);
    }
    // What is free is for all of them (B-054).
    let free = conventions::ANNOTATIONS_LIMIT.saturating_sub(conventions::size(body));
    let room = (free / (kept.ids.len() + 1)).saturating_sub(CALL_SIZE);
    let renoted = |note: Option<Value>| match note {
        Some(note) if !own.patch.is_empty() => Some(essences.renoted(&note, &own.patch, room)),
        note => note,
    };
    let mut store = |id: &str, record: &Record| storages.progress.store(&mut additions, body, id, record);
    let mut stored = Vec::new();
    for (step, mut record, is_new) in kept.steps {
        record.handled = if is_new && record.finished() && step.notes {
            Some(essences.note(&own.after, room))
        } else {
            renoted(record.handled)
        };
        store(step.id(), &record);
        stored.push((step.id().to_owned(), record));
    }
    // Where the state has moved, what is not written anew is moved as it is.
    for (id, record) in kept.others {
        let record = Record {
            handled: renoted(record.handled.clone()),
            ..record
        };
        store(id, &record);
    }
    if storages.has_former_state(body)
        && let Some(base) = essences.base().filter(|_| !storages.diffbase.is_present(body))
    {
        storages.diffbase.store(&mut additions, body, base, essences.asked());
    }
    conventions::store_marks(&mut additions, &storages.prefix, body, essences.covered());
    compose(merge, additions);
    stored
}

/// The records that stay on the object while the cycle goes on.
struct Kept<'a> {
    /// Those of the steps, and whether the step was made.
    steps: Vec<(&'a Step, Record, bool)>,
    /// Those of handlers that take no part at the moment, and of sub-handlers whose parents were not called.
    others: BTreeMap<&'a String, Record>,
    ids: BTreeSet<&'a str>,
}

impl<'a> Kept<'a> {
    fn of(plan: &'a Plan, made: Vec<Option<Record>>, now: Timestamp) -> Self {
        let Ground {
            passive, family, idle, ..
        } = &plan.ground;
        let stands = |(step, made): (&'a Step, Option<Record>)| match made {
            Some(record) => (step, record, true),
            None => (step, step.record.clone(), false),
        };
        let mut steps: Vec<(&Step, Record, bool)> = plan.steps.iter().zip(made).map(stands).collect();
        let mut others: BTreeMap<&String, Record> = passive.iter().map(|(id, record)| (id, record.clone())).collect();

        let tops = steps.iter().filter(|(step, ..)| step.parent.is_none());
        let tops = tops.map(|(_, record, _)| record).chain(others.values());
        let below: BTreeSet<String> = tops.flat_map(subrefs).cloned().collect();
        let all = steps.iter().map(|(_, record, _)| record).chain(others.values());
        let stepping: BTreeSet<&str> = plan.steps.iter().map(Step::id).collect();
        let inner = family.iter().filter(|(id, _)| !stepping.contains(id.as_str()));
        let all = all.chain(inner.clone().map(|(_, record)| record));
        let orphans: BTreeSet<String> = all
            .filter(|record| record.finished())
            .flat_map(subrefs)
            .cloned()
            .collect();
        // What is above has finished without them: their attempts are as if never made, but not what they have handled.
        let remains =
            |id: &str, record: &Record| !orphans.contains(id) || record.finished() || record.handled.is_some();
        let settled = |id: &str, record: Record| {
            if orphans.contains(id) {
                record.settled(now)
            } else {
                record
            }
        };

        let inner: Vec<(&String, Record)> = inner
            .filter(|(id, record)| below.contains(*id) && !idle.contains(*id) && remains(id, record))
            .map(|(id, record)| (id, settled(id, record.clone())))
            .collect();
        steps.retain(|(step, record, _)| remains(step.id(), record));
        for (step, record, _) in &mut steps {
            *record = settled(step.id(), record.clone());
        }
        others.extend(inner);
        let ids = steps.iter().map(|(step, ..)| step.id());
        let ids = ids.chain(others.keys().map(|id| id.as_str())).collect();
        Self { steps, others, ids }
    }
}

fn subrefs(record: &Record) -> impl Iterator<Item = &String> {
    record.subrefs.iter().flatten()
}

/// What this cycle itself changes of the essence: no handler needs to be told.
struct OwnChange {
    after: Value,
    patch: Map<String, Value>,
}

fn own_change(ground: &Ground, merge: &Map<String, Value>, own: &PatchContents) -> OwnChange {
    let Ground {
        body,
        storages,
        essences,
        ..
    } = ground;
    if merge.is_empty() && own.functions.is_empty() {
        return OwnChange {
            after: essences.fresh.clone(),
            patch: Map::new(),
        };
    }
    let mut object = body.value().clone();
    patches::merge_into(&mut object, &Value::Object(merge.clone()));
    // Functions that panic change nothing: then the whole patch is refused.
    let object = patches::transformed(&object, &own.functions).unwrap_or(object);
    let after = storages.essence(&Body::new(object), essences.extras());
    let patch = match (&essences.actual, &after) {
        (Value::Object(before), Value::Object(after)) => patches::between(before, after),
        _ => Map::new(),
    };
    let mut after = essences.fresh.clone();
    patches::merge_into(&mut after, &Value::Object(patch.clone()));
    OwnChange { after, patch }
}
