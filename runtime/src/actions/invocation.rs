//! One call of a user's function: caught when it panics, interrupted when its time is up.

use std::cell::Cell;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, OptionFuture};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task_local;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Span};

use super::classification::classify;
use super::execution::Outcome;

task_local! {
    /// The current call.
    static CALL: Call;
}

/// What a call of a blocking function needs to know of the operator, and what is to be known of it.
struct Call {
    /// The threads of the operator's blocking functions; `None` for no limit.
    workers: Option<Arc<Semaphore>>,
    stage: Cell<Stage>,
}

/// Where the function of a call runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// In an async function, which can be interrupted at its await points.
    Async,
    /// Nowhere yet: all threads are busy.
    Waiting,
    /// On a thread, which nothing can interrupt.
    Thread,
}

/// Runs a blocking function on a thread, once one is free, and answers as it does (K-12).
///
/// From then on the time limit of the current call waits for it (E-10): else the function would run on unseen, beside
/// the next attempt (T-13). Its thread counts as busy until it has returned, whoever still waits for that.
pub(crate) async fn on_thread<T: Send + 'static>(function: impl FnOnce() -> T + Send + 'static) -> T {
    // Outside of a call, in a unit test for instance, there is no limit.
    let workers = CALL.try_with(|call| call.workers.clone()).ok().flatten();
    let enter = |stage| {
        let _ = CALL.try_with(|call| call.stage.set(stage));
    };
    enter(Stage::Waiting);
    let busy = match workers {
        Some(workers) => workers.acquire_owned().await.ok(),
        None => None,
    };
    enter(Stage::Thread);
    let thread = tokio::task::spawn_blocking(move || {
        let _busy = busy;
        function()
    });
    match thread.await {
        Ok(answer) => answer,
        // A panic goes on in the caller, where it becomes an arbitrary error.
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(error) => panic!("{error}"),
        },
    }
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

/// What begins a call. Boxed, so that the arguments take no room once they are handed over: a call may take as long as
/// its object is there.
pub(crate) type Start<'a> = Box<dyn FnOnce() -> BoxFuture<'static, anyhow::Result<Option<Value>>> + Send + 'a>;

/// Calls a function in `span`; `abort` drops it where it stands. Blocking functions share `workers`; one that waits for
/// a thread of them is not called any more once `unwanted` returns.
///
/// A blocking function is waited for even when its time is up, and then its own outcome counts, as in Kopf (E-10).
/// After an abort it is waited for too, by whoever still does: it runs on anyway, and not beside the next call (T-13).
pub(crate) async fn invoke(
    start: Start<'_>,
    span: Span,
    timeout: Option<Duration>,
    workers: Option<&Arc<Semaphore>>,
    unwanted: impl Future<Output = ()>,
    abort: &CancellationToken,
) -> Invoked {
    let stage = || CALL.with(|call| call.stage.get());
    // The function itself may panic before it makes its future.
    let work = async { start().await }.instrument(span);
    // Boxed, so that what goes around the function's own future stays small, however long the call takes.
    let work = Box::pin(AssertUnwindSafe(work).catch_unwind());
    let limited = async {
        let Some(timeout) = timeout else {
            return Ok(work.await);
        };
        let mut work = pin!(work);
        match tokio::time::timeout(timeout, &mut work).await {
            Err(_) if stage() == Stage::Thread => Ok(work.await),
            Err(_) => Err(stage()),
            Ok(ended) => Ok(ended),
        }
    };
    let call = async {
        let mut limited = pin!(limited);
        // Boxed, for hardly a call has to wait, and then for short.
        let unneeded = workers.map(|_| {
            Box::pin(async {
                unwanted.await;
                if stage() != Stage::Waiting {
                    std::future::pending::<()>().await;
                }
            })
        });
        tokio::select! {
            biased;
            () = abort.cancelled() => {
                if stage() == Stage::Thread {
                    let _ = limited.await;
                }
                None
            }
            ended = &mut limited => Some(ended),
            // Asked last, when the function has begun or waits.
            Some(()) = OptionFuture::from(unneeded) => None,
        }
    };
    let scope = Call {
        workers: workers.cloned(),
        stage: Cell::new(Stage::Async),
    };
    match CALL.scope(scope, call).await {
        None => Invoked::Aborted,
        Some(ended) => match ended {
            Ok(Ok(Ok(result))) => Invoked::Returned(Outcome::Success(result)),
            Ok(Ok(Err(error))) => Invoked::Returned(classify(&error)),
            Ok(Err(panic)) => Invoked::Returned(Outcome::Arbitrary {
                message: describe(panic.as_ref()),
            }),
            Err(stage) => {
                let doing = if stage == Stage::Waiting {
                    "waited for a thread"
                } else {
                    "ran"
                };
                let seconds = timeout.unwrap_or_default().as_secs_f32();
                Invoked::TimedOut(Outcome::Permanent {
                    message: format!("timed out while it {doing}, after {seconds} s"),
                })
            }
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
        limited(start, timeout, None).await
    }

    async fn limited(
        start: impl FnOnce() -> BoxFuture<'static, anyhow::Result<Option<Value>>> + Send,
        timeout: Option<Duration>,
        workers: Option<&Arc<Semaphore>>,
    ) -> Invoked {
        invoke(
            Box::new(start),
            Span::none(),
            timeout,
            workers,
            std::future::pending(),
            &CancellationToken::new(),
        )
        .await
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
        let work = || on_thread(|| std::thread::sleep(Duration::from_millis(40)));
        let work = || work().map(|()| Ok(None)).boxed();
        let ended = run(work, Some(Duration::from_millis(1))).await;
        assert!(matches!(ended, Invoked::Returned(Outcome::Success(None))));
    }

    // K-12
    #[tokio::test]
    async fn a_blocking_function_waits_for_a_free_thread_without_holding_anybody_up() {
        let workers = Arc::new(Semaphore::new(1));
        let (begin, begun) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let first = move || {
            let work = move || {
                begin.send(()).unwrap();
                ended.recv().unwrap();
            };
            on_thread(work).map(|()| Ok(Some(1.into()))).boxed()
        };
        let first = tokio::spawn({
            let workers = Arc::clone(&workers);
            async move { limited(first, None, Some(&workers)).await }
        });
        tokio::task::spawn_blocking(move || begun.recv().unwrap())
            .await
            .unwrap();
        // The only thread is busy, so the next call does not begin; its own time limit ends it.
        let never = || on_thread(|| panic!("it runs")).map(|()| Ok(None)).boxed();
        let late = limited(never, Some(Duration::from_millis(20)), Some(&workers)).await;
        let message = "timed out while it waited for a thread, after 0.02 s";
        assert!(
            matches!(&late, Invoked::TimedOut(Outcome::Permanent { message: said }) if said == message),
            "{late:?}"
        );
        // Async work goes on meanwhile.
        let free = limited(|| async { Ok(Some(2.into())) }.boxed(), None, Some(&workers)).await;
        assert!(matches!(free, Invoked::Returned(Outcome::Success(Some(_)))));
        end.send(()).unwrap();
        assert!(matches!(
            first.await.unwrap(),
            Invoked::Returned(Outcome::Success(Some(_)))
        ));
        // The thread is free again.
        let next = || on_thread(|| 3).map(|three| Ok(Some(three.into()))).boxed();
        let next = limited(next, None, Some(&workers)).await;
        assert!(matches!(next, Invoked::Returned(Outcome::Success(Some(_)))));
    }

    // E-14
    #[tokio::test]
    async fn an_abort_ends_the_call() {
        let abort = CancellationToken::new();
        abort.cancel();
        let forever = Box::new(|| futures::future::pending().boxed());
        let ended = invoke(forever, Span::none(), None, None, std::future::pending(), &abort).await;
        assert!(matches!(ended, Invoked::Aborted));
    }

    // G-3, G-15
    #[tokio::test(start_paused = true)]
    async fn a_function_that_waits_for_a_thread_is_not_called_any_more_when_it_is_not_wanted() {
        let busy = Arc::new(Semaphore::new(0));
        let abort = CancellationToken::new();
        let asked = || tokio::time::sleep(Duration::from_secs(3));
        let blocked = || Box::new(|| on_thread(|| panic!("it runs")).map(|()| Ok(None)).boxed());
        let ended = invoke(blocked(), Span::none(), None, Some(&busy), asked(), &abort).await;
        assert!(matches!(ended, Invoked::Aborted));
        let before = std::future::ready(());
        let ended = invoke(blocked(), Span::none(), None, Some(&busy), before, &abort).await;
        assert!(matches!(ended, Invoked::Aborted), "nor if it was not wanted before");
        let work = async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            Ok(None)
        };
        let work = Box::new(|| work.boxed());
        let ended = invoke(work, Span::none(), None, Some(&busy), asked(), &abort).await;
        assert!(matches!(ended, Invoked::Returned(_)), "one that runs ends by itself");
    }
}
