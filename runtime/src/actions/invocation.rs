//! One call of a user's function: caught when it panics, interrupted when its time is up.

use std::cell::Cell;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::task_local;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Span};

use super::classification::classify;
use super::execution::Outcome;

task_local! {
    /// Whether the call has handed its work to a thread, which nothing can interrupt.
    static BLOCKING: Cell<bool>;
}

/// Says that the current call runs a blocking function: its time limit waits for it (K-12, E-10).
///
/// Else the function would run on unseen, beside the next attempt (T-13).
pub(crate) fn mark_blocking() {
    // Outside of a call, in a unit test for instance, there is no limit.
    let _ = BLOCKING.try_with(|blocking| blocking.set(true));
}

/// How a call ended.
#[derive(Debug)]
pub(crate) enum Invoked {
    /// The function answered, or panicked, which is an arbitrary error.
    Returned(Outcome),
    /// The time was up; the async function stopped at an await point and its patch must not be sent (E-10).
    TimedOut(Outcome),
    /// The operator ends and could not wait any longer.
    Aborted,
}

/// Calls a function in `span`; `abort` drops it where it stands.
///
/// A blocking function is waited for even when its time is up, and then its own outcome counts, as in Kopf (E-10).
/// After an abort it is waited for too, by whoever still does: it runs on anyway, and not beside the next call (T-13).
pub(crate) async fn invoke(
    start: impl FnOnce() -> BoxFuture<'static, anyhow::Result<Option<Value>>> + Send,
    span: Span,
    timeout: Option<Duration>,
    abort: &CancellationToken,
) -> Invoked {
    // The function itself may panic before it makes its future.
    let work = async { start().await }.instrument(span);
    let work = AssertUnwindSafe(work).catch_unwind();
    let limited = async {
        let Some(timeout) = timeout else {
            return Ok(work.await);
        };
        let mut work = pin!(work);
        match tokio::time::timeout(timeout, &mut work).await {
            Err(_) if BLOCKING.with(Cell::get) => Ok(work.await),
            ended => ended,
        }
    };
    let call = async {
        let mut limited = pin!(limited);
        tokio::select! {
            biased;
            () = abort.cancelled() => {
                if BLOCKING.with(Cell::get) {
                    let _ = limited.await;
                }
                None
            }
            ended = &mut limited => Some(ended),
        }
    };
    match BLOCKING.scope(Cell::new(false), call).await {
        None => Invoked::Aborted,
        Some(ended) => match ended {
            Ok(Ok(Ok(result))) => Invoked::Returned(Outcome::Success(result)),
            Ok(Ok(Err(error))) => Invoked::Returned(classify(&error)),
            Ok(Err(panic)) => Invoked::Returned(Outcome::Arbitrary {
                message: describe(panic.as_ref()),
            }),
            Err(_) => Invoked::TimedOut(Outcome::Permanent {
                message: format!(
                    "timed out while it ran, after {} s",
                    timeout.unwrap_or_default().as_secs_f32()
                ),
            }),
        },
    }
}

/// What a panic said.
pub(crate) fn describe(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panicked: {}", text.unwrap_or("without a message"))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn run(
        start: impl FnOnce() -> BoxFuture<'static, anyhow::Result<Option<Value>>> + Send,
        timeout: Option<Duration>,
    ) -> Invoked {
        invoke(start, Span::none(), timeout, &CancellationToken::new()).await
    }

    #[tokio::test]
    async fn a_panic_is_an_arbitrary_error() {
        let before = run(|| panic!("at once"), None).await;
        assert!(matches!(before, Invoked::Returned(Outcome::Arbitrary { message }) if message == "panicked: at once"));
        let later = run(|| async { panic!("{}", "later") }.boxed(), None).await;
        assert!(matches!(later, Invoked::Returned(Outcome::Arbitrary { message }) if message == "panicked: later"));
    }

    // E-10, improved
    #[tokio::test(start_paused = true)]
    async fn a_running_function_is_interrupted_when_its_time_is_up() {
        let forever = run(|| futures::future::pending().boxed(), Some(Duration::from_secs(5))).await;
        assert!(matches!(forever, Invoked::TimedOut(Outcome::Permanent { .. })));
    }

    // E-10, K-12
    #[tokio::test]
    async fn a_blocking_function_is_waited_for() {
        let work = || {
            mark_blocking();
            let sleep = || std::thread::sleep(Duration::from_millis(40));
            let thread = tokio::task::spawn_blocking(sleep);
            async { Ok(thread.await.map(|()| None)?) }.boxed()
        };
        let ended = run(work, Some(Duration::from_millis(1))).await;
        assert!(matches!(ended, Invoked::Returned(Outcome::Success(None))));
    }

    #[tokio::test]
    async fn an_abort_ends_the_call() {
        let abort = CancellationToken::new();
        abort.cancel();
        let ended = invoke(|| futures::future::pending().boxed(), Span::none(), None, &abort).await;
        assert!(matches!(ended, Invoked::Aborted));
    }
}
