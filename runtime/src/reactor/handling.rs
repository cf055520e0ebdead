//! The change handlers of a cycle: calling those that are due, storing what came of it.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use tracing::Span;

use super::inventory::Memory;
use super::processing::{Next, Object, Processor, TIMERS_CHECK, TypedSpec, refused_progress};
use super::throttling::Fault;
use crate::actions::application::{self, Applied};
use crate::actions::execution::{self, Defaults, ErrorsMode, Moment, Outcome};
use crate::engines::spans;
use crate::intents::calling::Subject;
use crate::intents::invocation::ChangeCall;
use crate::intents::planning::{self, Conclusion, Finished, Plan, Step};
use crate::intents::stoppers::Stopped;
use crate::structs::bodies::Body;
use crate::structs::events::ObjectReference;
use crate::structs::patches::{Patch, PatchContents, compose};

impl Processor {
    /// Calls the handlers that are due, and stores what came of it.
    pub(super) async fn handle(
        &self,
        object: &mut Object,
        memory: &mut Memory,
        body: &Body,
        spec: &TypedSpec,
        plan: &Plan,
    ) -> Result<Next, Fault> {
        if let Some(reason) = planning::no_room(plan, self.environment.clock.now()) {
            return Err(Fault(reason));
        }
        let observed = Self::observed(object);
        let memo = self.memo(memory);
        let subject = Subject {
            environment: &self.environment,
            body,
            spec,
            memo: &memo,
            patch: &Patch::default(),
        };
        let mut finished = Vec::new();
        let mut own = PatchContents::default();
        for index in plan.pick(&self.environment.settings.execution.lifecycle, fastrand_below) {
            let mut before = observed.clone();
            before.append(own.clone());
            let Some((done, contents)) = self.call(plan, index, subject, Patch::after(before)).await else {
                // The operator ends: what was not stored is done again by the next one.
                return Ok(Next::Rest);
            };
            own.append(contents);
            finished.push(done);
        }
        let (conclusion, applied) = self.store(object, plan, body, finished, observed, own).await;
        memory.handled_once |= conclusion.fully_handled;
        // While timers hold the object, the records say it, also to the next operator.
        memory.deletion_done |= conclusion.release_finalizer && !plan.ground.held;
        let mut forgotten = None;
        let patched = match applied {
            Applied::Patched(after) => {
                let changed = after.resource_version() != body.resource_version();
                memory.version = after.resource_version().map(Into::into);
                forgotten = planning::forgotten(plan, &conclusion, &after, self.environment.clock.now());
                object.current = Some(after);
                changed
            }
            Applied::Nothing => false,
            Applied::Gone | Applied::Interrupted => return Ok(Next::Rest),
            Applied::Refused(message) => {
                let merge = conclusion.merge;
                object.unsent = Some(PatchContents {
                    merge,
                    functions: Vec::new(),
                });
                return Err(refused_progress(&message));
            }
        };
        if let Some(reason) = forgotten {
            return Err(Fault(reason));
        }
        if conclusion.release_finalizer && !memory.timers.hold() {
            let freshest = object.current.clone().unwrap_or_else(|| body.clone());
            return self.release(object, &freshest).await;
        }
        Ok(match conclusion.delay {
            // The answer may hold somebody else's change: the next cycle looks at it at once.
            _ if patched => Next::Again,
            Some(Duration::ZERO) => Next::Again,
            Some(delay) => Next::After(delay),
            None if body.deletion_timestamp().is_some() && memory.timers.hold() => Next::After(TIMERS_CHECK),
            None => Next::Rest,
        })
    }

    /// Sends what the cycle came to; what is refused is taken apart, so that the progress is stored whatever happens.
    async fn store(
        &self,
        object: &Object,
        plan: &Plan,
        body: &Body,
        finished: Vec<Finished>,
        observed: PatchContents,
        own: PatchContents,
    ) -> (Conclusion, Applied) {
        let now = self.environment.clock.now();
        let target = self.target(body);
        let patience = self.patience(object);
        let apply = async |finished: Vec<Finished>, contents: PatchContents, before: Map<String, Value>| {
            let mut conclusion = planning::finish(plan, finished, &contents, now);
            let mut merge = before;
            compose(&mut merge, std::mem::take(&mut conclusion.merge));
            conclusion.merge.clone_from(&merge);
            let functions = contents.functions;
            let contents = PatchContents { merge, functions };
            let applied = application::apply(&target, body, contents, &patience).await;
            (conclusion, applied)
        };
        let is_observed = !observed.is_empty();
        let wanted = !own.is_empty() || finished.iter().any(|done| done.result.is_some());
        let mut all = observed;
        all.append(own.clone());
        let (mut conclusion, mut applied) = apply(finished.clone(), all, Map::new()).await;
        if let Applied::Refused(message) = &applied
            && is_observed
        {
            // Handlers of raw events are not retried, and others need not suffer for them.
            tracing::error!(name = body.name(), "The API server refused the patch: {message}");
            let before = as_it_was(body, &conclusion);
            (conclusion, applied) = apply(finished.clone(), own, before).await;
        }
        // Where handlers wanted nothing, the refusal is not theirs, and what they have done stays done.
        if let Applied::Refused(message) = &applied
            && wanted
        {
            let failed = self.refused(plan, &finished, body, message, now);
            let before = as_it_was(body, &conclusion);
            (conclusion, applied) = apply(failed, PatchContents::default(), before).await;
        }
        (conclusion, applied)
    }

    async fn call(
        &self,
        plan: &Plan,
        index: usize,
        subject: Subject<'_>,
        patch: Patch,
    ) -> Option<(Finished, PatchContents)> {
        let step = &plan.steps[index];
        let handler = &self.registry.changes[step.handler];
        let span = self.span(&handler.id, subject.body);
        let outcome = if let planning::Readiness::Refused(message) = &step.readiness {
            Outcome::Permanent {
                message: message.clone(),
            }
        } else if let planning::Readiness::Faulty(message) = &step.readiness {
            Outcome::Arbitrary {
                message: message.clone(),
            }
        } else {
            let subject = Subject {
                patch: &patch,
                ..subject
            };
            let extras = (&handler.param, Stopped::default());
            let arguments = |common| ChangeCall {
                common,
                reason: plan.reason,
                old: step.old.clone(),
                new: step.new.clone(),
                diff: step.diff.clone(),
            };
            subject
                .call(
                    &handler.call,
                    &step.record,
                    &handler.limits,
                    extras,
                    span.clone(),
                    arguments,
                )
                .await?
        };
        let result = outcome.result().cloned();
        let finished = self.conclude(step, index, outcome, result, self.environment.clock.now());
        span.in_scope(|| spans::report(&handler.id, &finished.verdict, &finished.record));
        Some((finished, patch.take()))
    }

    fn conclude(&self, step: &Step, index: usize, outcome: Outcome, result: Option<Value>, now: Timestamp) -> Finished {
        let defaults = Defaults {
            errors: ErrorsMode::Temporary,
            backoff: self.environment.settings.execution.default_backoff,
        };
        let limits = &self.registry.changes[step.handler].limits;
        let (record, verdict) = execution::conclude(step.record.clone(), outcome, limits, defaults, Moment::at(now));
        Finished {
            step: index,
            record,
            verdict,
            result,
        }
    }

    /// The handlers whose patch was refused have failed, however they saw it themselves.
    fn refused(&self, plan: &Plan, finished: &[Finished], body: &Body, message: &str, now: Timestamp) -> Vec<Finished> {
        let fail = |done: &Finished| {
            let step = &plan.steps[done.step];
            let outcome = Outcome::Arbitrary {
                message: format!("the API server refused the patch: {message}"),
            };
            let failed = self.conclude(step, done.step, outcome, None, now);
            self.span(&step.id, body)
                .in_scope(|| spans::report(&step.id, &failed.verdict, &failed.record));
            failed
        };
        finished.iter().map(fail).collect()
    }

    fn span(&self, id: &str, body: &Body) -> Span {
        spans::handler_span(self.environment.number, id, &ObjectReference::to(body))
    }
}

/// Takes back what a patch has done to the annotations, and to wherever else progress is: a part of it may have been
/// stored before another part was refused.
fn as_it_was(body: &Body, Conclusion { merge, undo, .. }: &Conclusion) -> Map<String, Value> {
    let changed = merge.get("metadata").and_then(|metadata| metadata.get("annotations"));
    let keys = changed.and_then(Value::as_object).into_iter().flat_map(Map::keys);
    let annotations: Map<String, Value> = keys.map(|key| (key.clone(), body.annotation(key).into())).collect();
    let mut before = undo.clone();
    if !annotations.is_empty() {
        compose(
            &mut before,
            Map::from_iter([("metadata".to_owned(), json!({"annotations": annotations}))]),
        );
    }
    before
}

fn fastrand_below(limit: usize) -> usize {
    fastrand::usize(..limit)
}
