//! One attempt of a daemon or a timer: the call, and the sending of what it wants (G-5, T-14).

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt as _;
use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Span};

use super::running::Task;
use super::supervision::Supervision;
use crate::actions::application::{self, Applied};
use crate::actions::execution::{self, Defaults, ErrorsMode, Moment, Outcome, Verdict};
use crate::actions::invocation::describe;
use crate::configs::progress::Record;
use crate::engines::spans;
use crate::intents::calling::{self, Prepared, Subject};
use crate::intents::invocation::BackgroundCall;
use crate::structs::bodies::Body;
use crate::structs::events::ObjectReference;
use crate::structs::patches::{self, Patch, PatchContents};

/// What a series of attempts has come to; in memory only (G-4, G-23).
#[derive(Clone, Copy, Debug)]
pub(super) struct Series {
    started: Timestamp,
    retries: u32,
}

impl Series {
    pub(super) fn begin(now: Timestamp) -> Self {
        Self {
            started: now,
            retries: 0,
        }
    }

    pub(super) fn record(self) -> Record {
        Record {
            retries: self.retries,
            ..Record::fresh(self.started)
        }
    }
}

impl Task {
    pub(super) fn span(&self, body: &Body) -> Span {
        spans::handler_span(self.environment().number, &self.handler.id, &ObjectReference::to(body))
    }

    /// One call and the sending of its patch; `None` if it was cut short. The permit is given back after the call.
    pub(super) async fn attempt(
        &self,
        series: Series,
        permit: Option<OwnedSemaphorePermit>,
    ) -> Option<(Series, Verdict)> {
        let environment = self.environment();
        let abandoned = || self.object.host.clone().wake(&self.object.key);
        let supervision = Supervision {
            id: &self.handler.id,
            stopped: &self.stopped,
            phase: &self.phase,
            cancellation: self.handler.cancellation,
            polling: self
                .handler
                .cancellation
                .polling
                .unwrap_or(environment.settings.background.cancellation_polling),
            exit: &environment.abort,
            abort: CancellationToken::new(),
            abandoned: &abandoned,
        };
        let span = self.span(&self.object.live.body());
        // Boxed, so that what goes around it is small.
        let work = Box::pin(AssertUnwindSafe(self.work(series, permit, &supervision.abort)).catch_unwind());
        let work = async {
            work.await.unwrap_or_else(|panic| {
                let message = describe(panic.as_ref());
                Some(self.conclude(series, Outcome::Arbitrary { message }))
            })
        };
        supervision.over(work).instrument(span).await
    }

    pub(super) async fn work(
        &self,
        series: Series,
        permit: Option<OwnedSemaphorePermit>,
        abort: &CancellationToken,
    ) -> Option<(Series, Verdict)> {
        let patch = Patch::default();
        let outcome = match self.prepare(series, &patch, abort) {
            Err(message) => Outcome::Permanent { message },
            Ok(call) => {
                let environment = self.environment();
                let workers = environment.workers.as_ref();
                // What waits for a thread must not hold its object: the threads may be those of others (G-15).
                let invoked = call
                    .make(Span::current(), workers, Box::pin(self.stopped.wait()), abort)
                    .await;
                calling::outcome(invoked, &patch, &self.object.live.body())?
            }
        };
        drop(permit);
        let result = outcome.result().cloned();
        let (series, verdict) = self.conclude(series, outcome);
        let contents = self.contents(&patch, result);
        if !contents.is_empty() {
            // Boxed, for it is large, and a call may take as long as the object is there.
            Box::pin(self.send(contents, abort)).await?;
        }
        Some((series, verdict))
    }

    /// Makes the call ready, unless the limits forbid it. Nothing of the object is kept here while the call goes on.
    fn prepare(&self, series: Series, patch: &Patch, abort: &CancellationToken) -> Result<Prepared<'static>, String> {
        let (body, spec) = self.object.live.now();
        let record = series.record();
        let limits = &self.handler.limits;
        if let Some(message) = execution::refuse(&record, limits, self.now()) {
            return Err(message);
        }
        let subject = Subject {
            environment: self.environment(),
            body: &body,
            spec: &spec,
            memo: &self.object.memo,
            patch,
            abort,
        };
        let extras = (&self.handler.param, self.stopped.clone());
        let live = Arc::clone(&self.object.live);
        let arguments = move |common| BackgroundCall { common, live };
        Ok(subject.prepare(&self.handler.call, &record, limits, extras, arguments))
    }

    /// What an outcome means for the series; said in the log.
    fn conclude(&self, series: Series, outcome: Outcome) -> (Series, Verdict) {
        let defaults = Defaults {
            errors: ErrorsMode::Temporary,
            backoff: self.environment().settings.execution.default_backoff,
        };
        let moment = Moment::at(self.now());
        let (record, verdict) = execution::conclude(series.record(), outcome, &self.handler.limits, defaults, moment);
        spans::report(&self.handler.id, &verdict, &record);
        let series = Series {
            retries: record.retries,
            ..series
        };
        (series, verdict)
    }

    fn contents(&self, patch: &Patch, result: Option<Value>) -> PatchContents {
        let mut contents = patch.take();
        if let Some(result) = result {
            patches::deliver(&mut contents.merge, &self.handler.id, result);
        }
        contents
    }

    /// Sends a patch until it is taken or refused: neither ends the task (G-24, T-15). `None` if that was cut short.
    async fn send(&self, contents: PatchContents, abort: &CancellationToken) -> Option<()> {
        let environment = self.environment();
        let body = self.object.live.body();
        let target = self.object.host.target(&body);
        // What cannot be written must not hold the object once the task is to end.
        let mut patience = environment.patience();
        patience.stopping = CancellationToken::new();
        patience.abort = abort.clone();
        let stopping = async {
            self.stopped.wait().await;
            patience.stopping.cancel();
            std::future::pending().await
        };
        let own = self.object.live.foresee(|now| {
            let after = contents.applied_to(now.value()).ok()?;
            Some(self.object.host.essence(&Body::new(after)))
        });
        let applied = tokio::select! {
            biased;
            never = stopping => never,
            applied = application::apply(&target, &body, contents, &patience) => applied,
        };
        match applied {
            Applied::Interrupted => return None,
            Applied::Refused(message) => tracing::error!("The API server refused the patch: {message}"),
            Applied::Patched(after) => {
                if let Some(own) = own.filter(|own| self.object.host.essence(&after) == own.then) {
                    self.object.live.overlook(own);
                }
            }
            // A `DELETED` event will end the task.
            Applied::Gone | Applied::Nothing => {}
        }
        Some(())
    }
}
