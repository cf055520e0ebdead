//! One attempt of a handler: the call itself, within the limits of the handler.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tracing::Span;

use super::environment::Environment;
use super::invocation::{Call, Common};
use super::memos::Memo;
use super::stoppers::Stopped;
use crate::actions::execution::{self, Limits, Outcome};
use crate::actions::invocation::{Invoked, Start, invoke};
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

/// A call that is ready to begin, and how long it may take. It holds what the function is given, and nothing else.
pub(crate) struct Prepared<'a> {
    start: Start<'a>,
    limit: Option<Duration>,
}

impl Prepared<'_> {
    /// Makes the call; once `unwanted` returns, one that waits for a thread does not begin any more.
    pub(crate) async fn make(
        self,
        span: Span,
        workers: Option<&Arc<Semaphore>>,
        unwanted: impl Future<Output = ()>,
        abort: &CancellationToken,
    ) -> Invoked {
        invoke(self.start, span, self.limit, workers, unwanted, abort).await
    }
}

/// What came of a call; `None` if the operator ends meanwhile.
///
/// What an interrupted function has put into the patch is forgotten: it may have stopped half-way (E-10). A function of
/// the patch that panics is an error of the handler that wanted it, and costs nobody else anything.
pub(crate) fn outcome(invoked: Invoked, patch: &Patch, body: &Body) -> Option<Outcome> {
    let outcome = match invoked {
        Invoked::Returned(outcome) => outcome,
        Invoked::TimedOut(outcome) => {
            patch.take();
            return Some(outcome);
        }
        Invoked::Aborted => return None,
    };
    let Err(panicked) = patch.check(body) else {
        return Some(outcome);
    };
    patch.take();
    Some(match outcome {
        Outcome::Success(_) => Outcome::Arbitrary {
            message: panicked.to_string(),
        },
        failure => failure,
    })
}

impl Subject<'_> {
    /// Calls a handler; `None` if the operator ends meanwhile.
    ///
    /// An async function is interrupted when its time is up (E-10).
    pub(crate) async fn call<A>(
        &self,
        call: &Call<A>,
        record: &Record,
        limits: &Limits,
        extras: (&Value, Stopped),
        span: Span,
        arguments: impl FnOnce(Common) -> A + Send,
    ) -> Option<Outcome> {
        let prepared = self.prepare(call, record, limits, extras, arguments);
        let workers = self.environment.workers.as_ref();
        let invoked = prepared.make(span, workers, std::future::pending(), self.abort).await;
        outcome(invoked, self.patch, self.body)
    }

    /// Makes a call ready.
    pub(crate) fn prepare<'c, A: 'c>(
        &self,
        call: &Call<A>,
        record: &Record,
        limits: &Limits,
        (param, stopped): (&Value, Stopped),
        arguments: impl FnOnce(Common) -> A + Send + 'c,
    ) -> Prepared<'c> {
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
        Prepared {
            start: Box::new(move || call(arguments(common))),
            limit,
        }
    }
}
