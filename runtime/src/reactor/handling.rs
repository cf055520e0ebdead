//! The change handlers of a cycle: calling those that are due, and then their sub-handlers.

use std::time::Duration;

use tracing::Span;

use super::inventory::Memory;
use super::processing::{Next, Object, Processor, TypedSpec, refused_progress};
use super::throttling::Fault;
use crate::actions::application::Applied;
use crate::actions::execution::{self, Defaults, ErrorsMode, Limits, Moment, Outcome};
use crate::engines::spans;
use crate::intents::calling::Subject;
use crate::intents::filters::Asked;
use crate::intents::invocation::ChangeCall;
use crate::intents::planning::{self, Finished, Plan, Readiness};
use crate::intents::plans::Wants;
use crate::intents::stoppers::Stopped;
use crate::structs::bodies::Body;
use crate::structs::events::ObjectReference;
use crate::structs::patches::{Patch, PatchContents};

/// What was made of a plan.
pub(super) struct Round {
    /// With the sub-handlers that have joined.
    pub(super) plan: Plan,
    /// What the handlers of raw events want.
    pub(super) observed: PatchContents,
    /// In the order of the calls: parents before their sub-handlers.
    pub(super) attempts: Vec<Attempt>,
    /// What came of them: sub-handlers before their parents.
    pub(super) finished: Vec<Finished>,
    /// All that is wanted of the object so far: what was observed, and what the attempts want.
    pub(super) contents: PatchContents,
}

/// A step that was made.
pub(super) struct Attempt {
    pub(super) step: usize,
    /// What its call came to, whatever its sub-handlers make of that.
    pub(super) outcome: Outcome,
    /// What it wants of the object.
    pub(super) contents: PatchContents,
}

/// What is to be done next in a round.
enum Turn {
    Call(usize),
    /// All of its sub-handlers that were due were called.
    Settle(usize),
}

impl Round {
    fn new(plan: Plan, observed: PatchContents) -> Self {
        Self {
            plan,
            contents: observed.clone(),
            observed,
            attempts: Vec::new(),
            finished: Vec::new(),
        }
    }

    /// Concludes a step that was made, again if it was concluded before.
    pub(super) fn settle(&mut self, step: usize, processor: &Processor) {
        let Some(attempt) = self.attempts.iter().find(|attempt| attempt.step == step) else {
            return;
        };
        let moment = Moment::at(processor.environment.clock.now());
        let outcome = attempt.outcome.clone();
        let finished = planning::settled(&self.plan, step, outcome, &self.finished, processor.defaults(), moment);
        let before = self.finished.iter().position(|done| done.step == step);
        let known = before.map(|index| self.finished.remove(index));
        if known.is_none_or(|known| known.verdict != finished.verdict) {
            let id = self.plan.steps[step].id();
            let span = processor.span(id, &self.plan.ground.body);
            span.in_scope(|| {
                if let Some(verdict) = &finished.verdict {
                    spans::report(id, verdict, &finished.record);
                } else {
                    tracing::debug!("Handler {id} waits for its sub-handlers");
                }
            });
        }
        self.finished.push(finished);
    }
}

impl Processor {
    /// Calls the handlers that are due, and stores what came of it.
    pub(super) async fn handle(
        &self,
        object: &mut Object,
        memory: &mut Memory,
        body: &Body,
        spec: &TypedSpec,
        plan: Plan,
    ) -> Result<Next, Fault> {
        if let Some(reason) = planning::no_room(&plan, self.environment.clock.now()) {
            return Err(Fault(reason));
        }
        let memo = self.memo(memory);
        let subject = Subject {
            environment: &self.environment,
            body,
            spec,
            memo: &memo,
            patch: &Patch::default(),
            abort: &self.environment.abort,
        };
        let mut round = Round::new(plan, object.observed.take());
        if self.call_all(&mut round, subject).await.is_none() {
            // The operator ends: what was not stored is done again by the next one.
            return Ok(Next::Rest);
        }
        let (conclusion, applied) = self.store(object, body, &mut round).await;
        let plan = &round.plan;
        memory.handled_once |= conclusion.fully_handled;
        // While daemons hold the object, the records say it, also to the next operator.
        memory.deletion_done |= conclusion.release_finalizer && !plan.ground.held;
        let patched = match applied {
            Applied::Patched(after) => {
                let changed = after.resource_version() != body.resource_version();
                memory.version = after.resource_version().map(Into::into);
                object.current = Some(after);
                changed
            }
            Applied::Nothing => false,
            Applied::Gone | Applied::Interrupted => return Ok(Next::Rest),
            Applied::Refused(message) => {
                let freshest = object.current.as_ref().unwrap_or(body);
                let Some(after) = planning::outgrown(freshest, body, &conclusion.state) else {
                    object.unsent = Some(PatchContents {
                        merge: conclusion.state,
                        functions: Vec::new(),
                    });
                    return Err(refused_progress(&message));
                };
                let about = ObjectReference::to(body);
                spans::handler_span(0, "", &about)
                    .in_scope(|| tracing::warn!("Cannot store the progress of the deletion, which goes on: {message}"));
                object.current = Some(after);
                false
            }
        };
        let after = object.current.as_ref().unwrap_or(body);
        if let Some(reason) = planning::forgotten(plan, &conclusion, after, self.environment.clock.now()) {
            return Err(Fault(reason));
        }
        if conclusion.release_finalizer && !memory.background.hold() {
            let freshest = object.current.clone().unwrap_or_else(|| body.clone());
            return self.release(object, &freshest).await;
        }
        Ok(match conclusion.delay {
            // The answer may hold somebody else's change: the next cycle looks at it at once.
            _ if patched => Next::Again,
            Some(Duration::ZERO) => Next::Again,
            Some(delay) => Next::After(delay),
            None => Next::Rest,
        })
    }

    /// Calls the handlers that the lifecycle picks, each of them with the sub-handlers that it picks of those (U-5);
    /// `None` if the operator ends meanwhile.
    async fn call_all(&self, round: &mut Round, subject: Subject<'_>) -> Option<()> {
        let lifecycle = &self.environment.settings.execution.lifecycle;
        let picked = |plan: &Plan, parent| plan.pick(parent, lifecycle, fastrand_below).into_iter().rev();
        let mut turns: Vec<Turn> = picked(&round.plan, None).map(Turn::Call).collect();
        while let Some(turn) = turns.pop() {
            match turn {
                Turn::Settle(step) => round.settle(step, self),
                // What is left of it was bounded by its parents' time, and that is up.
                Turn::Call(step) if self.bound(&round.plan, step) == Some(Duration::ZERO) => {}
                Turn::Call(step) => {
                    let (outcome, contents) = self.call(round, step, subject).await?;
                    round.contents.append(contents.clone());
                    round.attempts.push(Attempt {
                        step,
                        outcome,
                        contents,
                    });
                    turns.push(Turn::Settle(step));
                    turns.extend(picked(&round.plan, Some(step)).map(Turn::Call));
                }
            }
        }
        Some(())
    }

    /// Calls one handler, and lets its sub-handlers join if it succeeds (U-4).
    async fn call(&self, round: &mut Round, index: usize, subject: Subject<'_>) -> Option<(Outcome, PatchContents)> {
        let Subject { body, spec, memo, .. } = subject;
        let plan = &round.plan;
        let step = &plan.steps[index];
        match &step.readiness {
            Readiness::Refused(message) => {
                let message = message.clone();
                return Some((Outcome::Permanent { message }, PatchContents::default()));
            }
            Readiness::Faulty(message) => {
                let message = message.clone();
                return Some((Outcome::Arbitrary { message }, PatchContents::default()));
            }
            Readiness::Awake | Readiness::Done | Readiness::Sleeping(_) => {}
        }
        let handler = &step.handler;
        let wants = Wants::of(step.id(), step.kind, plan.failures(index));
        let patch = Patch::after(round.contents.clone());
        let arguments = |common| ChangeCall {
            common,
            reason: plan.reason,
            old: step.old.clone(),
            new: step.new.clone(),
            diff: step.diff.clone(),
            wants: wants.clone(),
            item: handler.origin.item.clone(),
        };
        let subject = Subject {
            patch: &patch,
            ..subject
        };
        let extras = (&handler.param, Stopped::default());
        let limits = self.limits(plan, index);
        let span = self.span(&handler.id, body);
        let outcome = subject
            .call(&handler.call, &step.record, &limits, extras, span, arguments)
            .await?;
        let asked = Asked {
            body,
            spec,
            memo,
            view: None,
        };
        let outcome = match outcome {
            Outcome::Success(result) => {
                let now = self.environment.clock.now();
                let joined = round.plan.branch(index, &wants, &asked, now);
                joined.err().unwrap_or(Outcome::Success(result))
            }
            failure => failure,
        };
        Some((outcome, patch.take()))
    }

    /// How long a call may take: a parent's time bounds also those of its sub-handlers (U-8).
    fn limits(&self, plan: &Plan, index: usize) -> Limits {
        let step = &plan.steps[index];
        let limits = step.handler.limits.clone();
        let Some(bound) = self.bound(plan, index) else {
            return limits;
        };
        let bound = execution::runtime(&step.record, self.environment.clock.now()) + bound;
        let own = limits.timeout.filter(|_| limits.interrupt);
        Limits {
            timeout: Some(own.map_or(bound, |own| own.min(bound))),
            interrupt: true,
            ..limits
        }
    }

    /// How much time is left for what a step is a part of; `None` for any.
    fn bound(&self, plan: &Plan, index: usize) -> Option<Duration> {
        let now = self.environment.clock.now();
        let left = |index: usize| {
            let step = &plan.steps[index];
            let limits = &step.handler.limits;
            let timeout = limits.timeout.filter(|_| limits.interrupt)?;
            Some(timeout.saturating_sub(execution::runtime(&step.record, now)))
        };
        plan.ancestors(index).filter_map(left).min()
    }

    fn defaults(&self) -> Defaults {
        Defaults {
            errors: ErrorsMode::Temporary,
            backoff: self.environment.settings.execution.default_backoff,
        }
    }

    fn span(&self, id: &str, body: &Body) -> Span {
        spans::handler_span(self.environment.number, id, &ObjectReference::to(body))
    }
}

fn fastrand_below(limit: usize) -> usize {
    fastrand::usize(..limit)
}
