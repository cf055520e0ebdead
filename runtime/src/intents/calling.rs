//! One attempt of a handler: the call itself, within the limits of the handler.

use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tracing::Span;

use super::environment::Environment;
use super::invocation::{Call, Common};
use super::memos::Memo;
use super::stoppers::Stopped;
use crate::actions::execution::{self, Limits, Outcome};
use crate::actions::invocation::{Invoked, invoke};
use crate::configs::progress::Record;
use crate::structs::bodies::Body;
use crate::structs::events::ObjectReference;
use crate::structs::patches::Patch;

/// What all handlers of one object are called with in one cycle.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) body: &'a Body,
    /// The typed spec.
    pub(crate) spec: &'a Arc<dyn std::any::Any + Send + Sync>,
    pub(crate) memo: &'a Memo,
    /// Of this call alone: it is emptied when the time is up.
    pub(crate) patch: &'a Patch,
    /// Drops the call.
    pub(crate) abort: &'a CancellationToken,
}

impl Subject<'_> {
    /// Calls a handler; `None` if the operator ends meanwhile.
    ///
    /// An async function is interrupted when its time is up, and what it has put into the patch is forgotten: it may
    /// have stopped half-way (E-10).
    pub(crate) async fn call<A>(
        &self,
        call: &Call<A>,
        record: &Record,
        limits: &Limits,
        (param, stopped): (&Value, Stopped),
        span: Span,
        arguments: impl FnOnce(Common) -> A + Send,
    ) -> Option<Outcome> {
        let now = self.environment.clock.now();
        let runtime = execution::runtime(record, now);
        let about = ObjectReference::to(self.body);
        let common = Common {
            body: self.body.clone(),
            patch: self.patch.clone(),
            retry: record.retries,
            started: record.started,
            runtime,
            param: param.clone(),
            context: self
                .environment
                .context(about, Arc::clone(self.spec), Arc::clone(self.memo), stopped),
        };
        let timeout = limits.timeout.filter(|_| limits.interrupt);
        let limit = timeout.map(|timeout| timeout.saturating_sub(runtime));
        let call = Arc::clone(call);
        let workers = self.environment.workers.as_ref();
        let start = Box::new(move || call(arguments(common)));
        match invoke(start, span, limit, workers, self.abort).await {
            Invoked::Returned(outcome) => Some(self.checked(outcome)),
            Invoked::TimedOut(outcome) => {
                self.patch.take();
                Some(outcome)
            }
            Invoked::Aborted => None,
        }
    }

    /// A function of the patch that panics is an error of the handler that wanted it, and costs nobody else anything.
    fn checked(&self, outcome: Outcome) -> Outcome {
        let Err(panicked) = self.patch.check(self.body) else {
            return outcome;
        };
        self.patch.take();
        match outcome {
            Outcome::Success(_) => Outcome::Arbitrary {
                message: panicked.to_string(),
            },
            failure => failure,
        }
    }
}
