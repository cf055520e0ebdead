//! The change handlers of a cycle: calling those that are due, storing what came of it.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value};
use tracing::Span;

use super::inventory::Memory;
use super::processing::{Next, Object, Processor, TypedSpec, refused_progress};
use super::throttling::Fault;
use crate::actions::application::{self, Applied};
use crate::actions::execution::{self, Defaults, ErrorsMode, Moment, Outcome};
use crate::engines::spans;
use crate::intents::calling::Subject;
use crate::intents::invocation::ChangeCall;
use crate::intents::planning::{self, Conclusion, Finished, Plan, Step};
use crate::intents::plans::Wants;
use crate::intents::stoppers::Stopped;
use crate::structs::bodies::Body;
use crate::structs::events::ObjectReference;
use crate::structs::patches::{Patch, PatchContents, compose, deliver};

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
        let observed = object.observed.take();
        let memo = self.memo(memory);
        let subject = Subject {
            environment: &self.environment,
            body,
            spec,
            memo: &memo,
            patch: &Patch::default(),
            abort: &self.environment.abort,
        };
        let mut made = Vec::new();
        let mut own = PatchContents::default();
        for index in plan.pick(&self.environment.settings.execution.lifecycle, fastrand_below) {
            let mut before = observed.clone();
            before.append(own.clone());
            let Some((done, contents)) = self.call(plan, index, subject, Patch::after(before)).await else {
                // The operator ends: what was not stored is done again by the next one.
                return Ok(Next::Rest);
            };
            own.append(contents.clone());
            made.push((done, contents));
        }
        let (conclusion, applied) = self.store(object, plan, body, made, observed).await;
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

    /// Sends what the cycle came to; what is refused is taken apart, so that the progress is stored whatever happens.
    async fn store(
        &self,
        object: &mut Object,
        plan: &Plan,
        body: &Body,
        made: Vec<(Finished, PatchContents)>,
        observed: PatchContents,
    ) -> (Conclusion, Applied) {
        let mut all = observed.clone();
        for (_, contents) in &made {
            all.append(contents.clone());
        }
        let finished = made.iter().map(|(done, _)| done.clone()).collect();
        let conclusion = planning::finish(plan, finished, &all, self.environment.clock.now());
        let contents = PatchContents {
            merge: conclusion.merge.clone(),
            functions: all.functions,
        };
        let patience = self.patience(object);
        let applied = application::apply(&self.target(body), body, contents, &patience).await;
        let wanted = |(done, contents): &(Finished, PatchContents)| !contents.is_empty() || done.result.is_some();
        if matches!(applied, Applied::Refused(_)) && (!observed.is_empty() || made.iter().any(wanted)) {
            return self
                .store_apart(object, plan, body, made, observed, conclusion.undo)
                .await;
        }
        // Where nobody wanted anything, the refusal is nobody's, and what was done stays done.
        (conclusion, applied)
    }

    /// Sends what each of the handlers wants by itself, so that only those fail whose wish is refused (E-15), and then
    /// the progress. `undo` takes back what may have been stored of it together with a part of what was refused.
    async fn store_apart(
        &self,
        object: &mut Object,
        plan: &Plan,
        body: &Body,
        made: Vec<(Finished, PatchContents)>,
        observed: PatchContents,
        undo: Map<String, Value>,
    ) -> (Conclusion, Applied) {
        let now = self.environment.clock.now();
        let target = self.target(body);
        let patience = self.patience(object);
        let mut latest = None;
        let mut finished = Vec::new();
        let mut kept = PatchContents::default();
        let made = made.into_iter().map(|(done, contents)| (Some(done), contents));
        for (done, contents) in std::iter::once((None, observed)).chain(made) {
            let mut wish = contents.clone();
            if let Some((step, result)) = done.as_ref().and_then(|done| Some((done.step, done.result.clone()?))) {
                deliver(&mut wish.merge, &plan.steps[step].id, result);
            }
            match application::apply(&target, latest.as_ref().unwrap_or(body), wish, &patience).await {
                Applied::Patched(after) => latest = Some(after),
                Applied::Nothing => {}
                Applied::Refused(message) => {
                    if let Some(done) = done {
                        finished.push(self.refused(plan, &done, body, &message, now));
                    } else {
                        // Handlers of raw events are not retried.
                        tracing::error!(name = body.name(), "The API server refused the patch: {message}");
                    }
                    continue;
                }
                applied @ (Applied::Gone | Applied::Interrupted) => {
                    return (planning::finish(plan, finished, &kept, now), applied);
                }
            }
            kept.append(contents);
            finished.extend(done);
        }
        let mut conclusion = planning::finish(plan, finished, &kept, now);
        let state = std::mem::replace(&mut conclusion.state, undo);
        compose(&mut conclusion.state, state);
        let contents = PatchContents {
            merge: conclusion.state.clone(),
            functions: Vec::new(),
        };
        let applied = application::apply(&target, body, contents, &patience).await;
        match (applied, latest) {
            (Applied::Nothing, Some(latest)) => (conclusion, Applied::Patched(latest)),
            (applied, latest) => {
                object.current = latest.or(object.current.take());
                (conclusion, applied)
            }
        }
    }

    async fn call(
        &self,
        plan: &Plan,
        index: usize,
        subject: Subject<'_>,
        patch: Patch,
    ) -> Option<(Finished, PatchContents)> {
        let step = &plan.steps[index];
        let handler = &step.handler;
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
                wants: Wants::of(&step.id, handler.kind, Vec::new()),
                item: handler.origin.item.clone(),
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
        let limits = &step.handler.limits;
        let (record, verdict) = execution::conclude(step.record.clone(), outcome, limits, defaults, Moment::at(now));
        Finished {
            step: index,
            record,
            verdict,
            result,
        }
    }

    /// A handler whose patch was refused has failed, however it saw that itself.
    fn refused(&self, plan: &Plan, done: &Finished, body: &Body, message: &str, now: Timestamp) -> Finished {
        let step = &plan.steps[done.step];
        let outcome = Outcome::Arbitrary {
            message: format!("the API server refused the patch: {message}"),
        };
        let failed = self.conclude(step, done.step, outcome, None, now);
        self.span(&step.id, body)
            .in_scope(|| spans::report(&step.id, &failed.verdict, &failed.record));
        failed
    }

    fn span(&self, id: &str, body: &Body) -> Span {
        spans::handler_span(self.environment.number, id, &ObjectReference::to(body))
    }
}

fn fastrand_below(limit: usize) -> usize {
    fastrand::usize(..limit)
}
