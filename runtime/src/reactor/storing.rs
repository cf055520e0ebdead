//! Storing what came of the change handlers of a cycle; what is refused is taken apart (E-15).

use serde_json::{Map, Value};

use super::handling::{Attempt, Round};
use super::processing::{Object, Processor};
use crate::actions::application::{self, Applied};
use crate::actions::execution::Outcome;
use crate::intents::planning::{self, Conclusion};
use crate::structs::bodies::Body;
use crate::structs::patches::{PatchContents, compose, deliver};

/// A part of what is wanted of the object.
enum Wish {
    /// What the handlers of raw events want.
    Observed,
    /// What a handler has put into its patch; with its result, if it has no sub-handlers.
    Own { attempt: usize, alone: bool },
    /// The result of a handler, after all that its sub-handlers want: it may still fail because of them.
    Result { attempt: usize },
}

impl Processor {
    /// Sends what the cycle came to; what is refused is taken apart, so that the progress is stored whatever happens.
    pub(super) async fn store(&self, object: &mut Object, body: &Body, round: &mut Round) -> (Conclusion, Applied) {
        let now = self.environment.clock.now();
        let conclusion = planning::finish(&round.plan, round.finished.clone(), &round.contents, now);
        let contents = PatchContents {
            merge: conclusion.merge.clone(),
            functions: round.contents.functions.clone(),
        };
        let patience = self.patience(object);
        let applied = application::apply(&self.target(body), body, contents, &patience).await;
        let wanted = !round.observed.is_empty()
            || round.attempts.iter().any(|attempt| !attempt.contents.is_empty())
            || round.finished.iter().any(|done| done.result.is_some());
        if matches!(applied, Applied::Refused(_)) && wanted {
            return self.store_apart(object, body, round, conclusion.undo).await;
        }
        // Where nobody wanted anything, the refusal is nobody's, and what was done stays done.
        (conclusion, applied)
    }

    /// Sends what each of the handlers wants by itself, so that only those fail whose wish is refused (E-15), and then
    /// the progress. `undo` takes back what may have been stored of it together with a part of what was refused.
    async fn store_apart(
        &self,
        object: &mut Object,
        body: &Body,
        round: &mut Round,
        undo: Map<String, Value>,
    ) -> (Conclusion, Applied) {
        let target = self.target(body);
        let patience = self.patience(object);
        let mut latest = None;
        let mut kept = PatchContents::default();
        for wish in round.wishes() {
            let mut contents = round.wished(&wish);
            let own = contents.clone();
            if let Some((id, result)) = round.result(&wish) {
                deliver(&mut contents.merge, &id, result);
            }
            match application::apply(&target, latest.as_ref().unwrap_or(body), contents, &patience).await {
                Applied::Patched(after) => latest = Some(after),
                Applied::Nothing => {}
                Applied::Refused(message) => {
                    match wish {
                        // Handlers of raw events are not retried.
                        Wish::Observed => {
                            tracing::error!(name = body.name(), "The API server refused the patch: {message}");
                        }
                        Wish::Own { attempt, .. } | Wish::Result { attempt } => round.refuse(attempt, &message, self),
                    }
                    continue;
                }
                applied @ (Applied::Gone | Applied::Interrupted) => {
                    let now = self.environment.clock.now();
                    let conclusion = planning::finish(&round.plan, round.finished.clone(), &kept, now);
                    return (conclusion, applied);
                }
            }
            kept.append(own);
        }
        let now = self.environment.clock.now();
        let mut conclusion = planning::finish(&round.plan, round.finished.clone(), &kept, now);
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
}

impl Round {
    /// All that is wanted, in the order in which it is to be sent.
    fn wishes(&self) -> Vec<Wish> {
        let mut wishes = vec![Wish::Observed];
        // The parents of what comes next, whose results wait.
        let mut open: Vec<usize> = Vec::new();
        let is_below =
            |inner: &Attempt, outer: &Attempt| self.plan.ancestors(inner.step).any(|step| step == outer.step);
        for (index, attempt) in self.attempts.iter().enumerate() {
            while let Some(outer) = open.pop_if(|outer| !is_below(attempt, &self.attempts[*outer])) {
                wishes.push(Wish::Result { attempt: outer });
            }
            let alone = self.attempts.get(index + 1).is_none_or(|next| !is_below(next, attempt));
            wishes.push(Wish::Own { attempt: index, alone });
            if !alone {
                open.push(index);
            }
        }
        wishes.extend(open.into_iter().rev().map(|attempt| Wish::Result { attempt }));
        wishes
    }

    fn wished(&self, wish: &Wish) -> PatchContents {
        match wish {
            Wish::Observed => self.observed.clone(),
            Wish::Own { attempt, .. } => self.attempts[*attempt].contents.clone(),
            Wish::Result { .. } => PatchContents::default(),
        }
    }

    /// The result that goes with a wish, as far as its handler has not failed meanwhile.
    fn result(&self, wish: &Wish) -> Option<(String, Value)> {
        let attempt = match wish {
            Wish::Own { attempt, alone: true } | Wish::Result { attempt } => &self.attempts[*attempt],
            Wish::Own { alone: false, .. } | Wish::Observed => return None,
        };
        let done = self.finished.iter().find(|done| done.step == attempt.step)?;
        Some((self.plan.steps[done.step].id().to_owned(), done.result.clone()?))
    }

    /// A handler whose patch was refused has failed, however it saw that itself; those above it may have to wait for it.
    fn refuse(&mut self, attempt: usize, message: &str, processor: &Processor) {
        let attempt = &mut self.attempts[attempt];
        attempt.outcome = Outcome::Arbitrary {
            message: format!("the API server refused the patch: {message}"),
        };
        let step = attempt.step;
        self.settle(step, processor);
        let above: Vec<usize> = self.plan.ancestors(step).collect();
        for step in above {
            self.settle(step, processor);
        }
    }
}
