//! A handler and its sub-handlers within a cycle (U): how they join it, and what the handler comes to.
//!
//! Pure functions, as all of a cycle's plan. A sub-handler takes part as any handler does: with filters, a record and
//! limits of its own, with what it has handled already, and with the same answers to edits made meanwhile.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;

use super::filters::Asked;
use super::handlers::Handler;
use super::planning::Plan;
use super::plans::Wants;
use super::selection::Candidate;
use super::settling::{Finished, no_room};
use super::steps::{Step, step};
use crate::actions::execution::{self, Defaults, ErrorsMode, Limits, Moment, Outcome};
use crate::configs::progress::Record;
use crate::configs::{conventions, diffbase};

/// The records of a handler's sub-handlers, at any depth.
pub(super) fn family(record: Option<&Record>, fetch: impl Fn(&str) -> Option<Record>) -> BTreeMap<String, Record> {
    let mut family = BTreeMap::new();
    let subrefs = |record: &Record| record.subrefs.clone().unwrap_or_default();
    let mut open: VecDeque<String> = record.map(subrefs).unwrap_or_default().into();
    while let Some(id) = open.pop_front() {
        if !family.contains_key(&id)
            && let Some(record) = fetch(&id)
        {
            open.extend(subrefs(&record));
            family.insert(id, record);
        }
    }
    family
}

impl Plan {
    /// Lets the sub-handlers take part that a successful call of a step wants; what they were before is forgotten, so
    /// every call of a handler makes its set anew (U-6).
    ///
    /// # Errors
    /// What the call comes to instead.
    pub(crate) fn branch(
        &mut self,
        parent: usize,
        wants: &Wants,
        asked: &Asked<'_>,
        now: Timestamp,
    ) -> Result<(), Outcome> {
        let Step { handler, kind, .. } = &self.steps[parent];
        let permanent = |message| Outcome::Permanent { message };
        // Their conditions may look at the plan, so that it must not be locked when they are asked.
        let (handlers, all_must_succeed) = {
            let wanted = wants.lock();
            let handlers = wanted.handlers(handler, *kind, asked.body).map_err(permanent)?;
            (handlers, wanted.all_must_succeed)
        };
        self.check(&handlers).map_err(permanent)?;
        let before = self.steps.len();
        for handler in handlers {
            self.join(parent, &Arc::new(handler), asked, now);
        }
        self.steps[parent].all_must_succeed = all_must_succeed;
        if let Some(message) = no_room(self, now) {
            self.steps.truncate(before);
            return Err(Outcome::Arbitrary { message });
        }
        Ok(())
    }

    fn join(&mut self, parent: usize, handler: &Arc<Handler>, asked: &Asked<'_>, now: Timestamp) {
        let ground = &mut self.ground;
        let fetch = |id: &str| {
            let stored = || ground.storages.progress.fetch(&ground.body, id, now);
            if ground.copied { None } else { stored() }
        };
        let record = fetch(&handler.id);
        let family = family(record.as_ref(), fetch);
        let candidate = Candidate::new(handler, asked, &ground.essences, record, family);
        let step = step(&candidate, ground.selection, now);
        ground.known.extend(candidate.ids());
        let Candidate { record, family, .. } = candidate;
        ground.family.extend(family);
        if let Some(record) = record {
            if step.is_none() && !record.finished() && record.handled.is_none() {
                ground.idle.insert(handler.id.clone());
            }
            ground.family.insert(handler.id.clone(), record);
        }
        self.steps.extend(step.map(|step| Step {
            parent: Some(parent),
            ..step
        }));
    }

    /// Refuses sub-handlers that would share a record with another handler, and those that would never be called.
    fn check(&self, handlers: &[Handler]) -> Result<(), String> {
        let registered = self.ground.registered.iter().map(String::as_str);
        let others: BTreeMap<String, &str> = registered
            .chain(self.steps.iter().map(Step::id))
            .map(|id| (conventions::name(id), id))
            .collect();
        for Handler { id, field, .. } in handlers {
            let name = conventions::name(id);
            if let Some(other) = others.get(&name) {
                return Err(format!(
                    "the sub-handler `{id}` and the handler `{other}` share the annotation name `{name}`"
                ));
            }
            if let Some(field) = field
                && diffbase::is_extra(field)
                && !self
                    .ground
                    .essences
                    .extras()
                    .iter()
                    .any(|extra| field.keys().starts_with(extra.keys()))
            {
                return Err(format!(
                    "changes of `{field}` are seen only if a handler or a declared sub-handler has it as its field, \
                     which the sub-handler `{id}` is not"
                ));
            }
        }
        Ok(())
    }

    /// The own ids and the messages of a step's sub-handlers that have failed for good in earlier cycles.
    pub(crate) fn failures(&self, index: usize) -> Vec<(String, String)> {
        let step = &self.steps[index];
        let family = &self.ground.family;
        let subrefs: Vec<&String> = step.record.subrefs.iter().flatten().collect();
        let nested: BTreeSet<&String> = subrefs
            .iter()
            .filter_map(|sub| family.get(*sub)?.subrefs.as_ref())
            .flatten()
            .collect();
        let direct = subrefs.into_iter().filter(|sub| !nested.contains(sub));
        let failed = |sub: &String| {
            let record = family.get(sub).filter(|record| record.failure)?;
            let own = sub.strip_prefix(step.id())?.strip_prefix('/')?;
            Some((own.to_owned(), record.message.clone().unwrap_or_default()))
        };
        direct.filter_map(failed).collect()
    }

    /// Those whose sub-handler a step is, from the nearest one on.
    pub(crate) fn ancestors(&self, index: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(self.steps[index].parent, |&index| self.steps[index].parent)
    }
}

/// What a call means, together with what the sub-handlers have come to that it has wanted (E-4, U-6 to U-8).
///
/// `made` are the steps of the cycle that are done, those of the sub-handlers among them.
pub(crate) fn settled(
    plan: &Plan,
    index: usize,
    outcome: Outcome,
    made: &[Finished],
    defaults: Defaults,
    moment: Moment,
) -> Finished {
    let Step { handler, record, .. } = &plan.steps[index];
    // An ignored error says nothing of the sub-handlers that are still to be called: that is no success (U-6).
    let family = &plan.ground.family;
    let open = |id: &String| family.get(id).is_some_and(|record| !record.finished());
    let limits = if record.subrefs.iter().flatten().any(open) && limits_ignore(&handler.limits, defaults) {
        &Limits {
            errors: Some(ErrorsMode::Temporary),
            ..handler.limits.clone()
        }
    } else {
        &handler.limits
    };
    let mut record = record.clone();
    let mut result = outcome.result().cloned();
    let mut outcome = outcome;
    let children = Children::of(plan, index, made);
    record.subrefs = children.subrefs(record.subrefs);
    if let Outcome::Success(_) = outcome {
        let failure = if children.have_finished() {
            children.failure(&record, limits, plan.steps[index].all_must_succeed, moment.now)
        } else {
            match execution::awaiting(&record, children.due(), limits, moment.now) {
                Ok(record) => {
                    return Finished {
                        step: index,
                        record,
                        verdict: None,
                        result: None,
                    };
                }
                Err(message) => Some(message),
            }
        };
        if let Some(message) = failure {
            result = None;
            outcome = Outcome::Permanent { message };
        }
    }
    let (record, verdict) = execution::conclude(record, outcome, limits, defaults, moment);
    Finished {
        step: index,
        record,
        verdict: Some(verdict),
        result,
    }
}

/// Whether an arbitrary error counts as success.
fn limits_ignore(limits: &Limits, defaults: Defaults) -> bool {
    limits.errors.unwrap_or(defaults.errors) == ErrorsMode::Ignored
}

/// The sub-handlers of a step, where they stand now, and whether they were called in this cycle.
struct Children<'a>(Vec<(&'a str, &'a Record, bool)>);

impl<'a> Children<'a> {
    fn of(plan: &'a Plan, parent: usize, made: &'a [Finished]) -> Self {
        let stands = |(index, step): (usize, &'a Step)| {
            let done = made.iter().find(|done| done.step == index);
            let record = done.map_or(&step.record, |done| &done.record);
            (step.id(), record, done.is_some())
        };
        let steps = plan.steps.iter().enumerate();
        Self(
            steps
                .filter(|(_, step)| step.parent == Some(parent))
                .map(stands)
                .collect(),
        )
    }

    fn unfinished(&self) -> impl Iterator<Item = &Record> {
        let records = self.0.iter().map(|(_, record, _)| *record);
        records.filter(|record| !record.finished())
    }

    fn have_finished(&self) -> bool {
        self.unfinished().next().is_none()
    }

    /// When the first of those is due that have not finished; `None` for at once.
    fn due(&self) -> Option<Timestamp> {
        self.unfinished().map(|record| record.delayed).min().flatten()
    }

    /// Why the parent fails though its function did not.
    fn failure(
        &self,
        parent: &Record,
        limits: &execution::Limits,
        all_must_succeed: bool,
        now: Timestamp,
    ) -> Option<String> {
        let mut failed = self.0.iter().filter(|(_, record, _)| record.failure).peekable();
        failed.peek()?;
        let is_over = limits.interrupt
            && limits
                .timeout
                .is_some_and(|limit| execution::runtime(parent, now) >= limit);
        if all_must_succeed {
            let told = |(id, record, _): &(&str, &Record, bool)| {
                format!("{id}: {}", record.message.as_deref().unwrap_or_default())
            };
            let told: Vec<String> = failed.map(told).collect();
            Some(format!("sub-handlers have failed: {}", told.join("; ")))
        } else if is_over && failed.any(|(_, _, now)| *now) {
            Some("timed out while its sub-handlers ran".to_owned())
        } else {
            None
        }
    }

    /// All that were ever below the parent, at any depth (U-9).
    fn subrefs(&self, before: Option<Vec<String>>) -> Option<Vec<String>> {
        let own = self.0.iter().map(|(id, _, _)| (*id).to_owned());
        let deeper = self.0.iter().flat_map(|(_, record, _)| record.subrefs.iter().flatten());
        let all: BTreeSet<String> = before.into_iter().flatten().chain(own).chain(deeper.cloned()).collect();
        (!all.is_empty()).then(|| all.into_iter().collect())
    }
}
