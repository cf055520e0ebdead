use std::any::TypeId;
use std::sync::Mutex;

use futures::FutureExt as _;
use kopf_testserver::Server;
use kube::Client;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::*;
use crate::actions::execution::Limits;
use crate::clients::api::Api;
use crate::clients::fetching::Serving;
use crate::clients::patching::Target;
use crate::configs::settings::Settings;
use crate::engines::background::{Background, Host};
use crate::intents::background::{FirstDelay, Restart};
use crate::intents::filters::Filters;
use crate::intents::indexes::Indexes;
use crate::intents::invocation::BackgroundFn;
use crate::intents::live::{Calm, LiveObject, TypedSpec};
use crate::intents::stoppers::Cancellation;
use crate::structs::bodies::Body;
use crate::structs::clocks::Clock;
use crate::structs::references::Reference;

const REFERENCE: Reference = Reference {
    group: "shop.example.com",
    version: "v1",
    kind: "Cart",
    plural: "carts",
    namespaced: true,
};

/// A kind whose essence cannot be told.
struct Broken {
    environment: Environment,
    woken: Mutex<u32>,
}

impl Host for Broken {
    fn environment(&self) -> &Environment {
        &self.environment
    }

    fn target(&self, body: &Body) -> Target {
        let serving = Serving {
            status_subresource: true,
        };
        self.environment.target(REFERENCE, serving, body)
    }

    fn essence(&self, _: &Body) -> u64 {
        panic!("no essence")
    }

    fn wake(self: Arc<Self>, _: &str) {
        *self.woken.lock().unwrap() += 1;
    }
}

fn environment() -> Environment {
    let settings = Arc::new(Settings::default());
    Environment {
        api: Api::new(Client::new(Server::new().service(), "default")),
        settings,
        memo: Arc::new(()),
        indexes: Indexes::default(),
        clock: Clock::tokio(),
        sink: Arc::new(|_| {}),
        number: 0,
        workers: None,
        timer_calls: None,
        tasks: TaskTracker::new(),
        stopping: CancellationToken::new(),
        abort: CancellationToken::new(),
    }
}

fn daemon(call: BackgroundFn) -> BackgroundHandler {
    BackgroundHandler {
        id: "watch".to_owned(),
        function: TypeId::of::<()>(),
        field: None,
        filters: Filters::default(),
        limits: Limits::default(),
        initial_delay: None,
        schedule: Schedule::Daemon {
            restart: Restart::Never,
        },
        optional: false,
        cancellation: Cancellation::default(),
        param: json!(null),
        call,
    }
}

fn broken() -> Arc<Broken> {
    Arc::new(Broken {
        environment: environment(),
        woken: Mutex::default(),
    })
}

fn surroundings(host: &Arc<Broken>) -> Surroundings {
    let body = Body::new(json!({"metadata": {"name": "a", "namespace": "default", "uid": "u"}}));
    let spec: TypedSpec = Arc::new(());
    Surroundings {
        host: Arc::clone(host) as Arc<dyn Host>,
        key: "u".into(),
        memo: Arc::new(()),
        live: Arc::new(LiveObject::new(body, spec, Calm::begin(0))),
    }
}

fn task(handler: BackgroundHandler, host: &Arc<Broken>) -> Task {
    Task {
        handler: Arc::new(handler),
        object: Arc::new(surroundings(host)),
        stopped: Stopped::default(),
        phase: Phase::default(),
    }
}

// G, T: thousands of tasks cost little. A rest is the common case of a timer, a call that of a daemon.
#[tokio::test]
async fn a_task_is_small_at_rest_and_during_a_call() {
    let host = broken();
    let call: BackgroundFn = Arc::new(|_| std::future::pending().boxed());
    let size = size_of_val(&task(daemon(Arc::clone(&call)), &host).run());
    assert!(size <= 700, "{size} bytes at rest");
    let begun = task(daemon(call), &host);
    let (series, abort) = (Series::begin(begun.now()), CancellationToken::new());
    let sizes = [
        size_of_val(&begun.attempt(series, None)),
        size_of_val(&begun.work(series, None, &abort)),
    ];
    assert!(
        sizes[0] <= 750 && sizes[1] <= 1100,
        "{sizes:?} bytes more during a call"
    );
}

// G-6: also the runtime's own code may break, in a storage of the author's own for instance.
#[tokio::test(start_paused = true)]
async fn an_attempt_that_breaks_is_an_error_that_is_tried_again() {
    let host = broken();
    let call: BackgroundFn = Arc::new(|_| async { Ok(Some(json!("result"))) }.boxed());
    let task = task(daemon(call), &host);
    let begun = Series::begin(task.now());
    let (after, verdict) = task.attempt(begun, None).await.unwrap();
    assert_eq!(
        verdict,
        Verdict::Retry(host.environment.settings.execution.default_backoff)
    );
    assert_eq!(after.record().retries, 1);
}

// G-10: DONE is set whatever ends the task, and its object learns of it.
#[tokio::test]
async fn the_end_of_a_task_is_told_however_it_comes() {
    let host = broken();
    let call: BackgroundFn = Arc::new(|_| async { Ok(None) }.boxed());
    let ended = task(daemon(Arc::clone(&call)), &host);
    let (stopped, phase) = (ended.stopped.clone(), ended.phase.clone());
    ended.run().await;
    assert_eq!((stopped.reason(), phase.get()), (StopReason::DONE, Step::Over));
    let dropped = task(daemon(call), &host);
    let (stopped, phase) = (dropped.stopped.clone(), dropped.phase.clone());
    stopped.set(StopReason::FILTERS_MISMATCH);
    drop(dropped.run());
    assert_eq!(stopped.reason(), StopReason::FILTERS_MISMATCH | StopReason::DONE);
    assert_eq!(phase.get(), Step::Stopped);
    assert_eq!(*host.woken.lock().unwrap(), 2);
}

// G-3, B-066
#[tokio::test(start_paused = true)]
async fn initial_delays_are_asked_for_at_each_start() {
    let host = broken();
    let call: BackgroundFn = Arc::new(|_| async { Ok(None) }.boxed());
    let delay = |delay: FirstDelay| {
        let handler = BackgroundHandler {
            initial_delay: Some(delay),
            ..daemon(Arc::clone(&call))
        };
        task(handler, &host).initial_delay()
    };
    let secs = |count: u64| Duration::from_secs(count);
    assert_eq!(delay(FirstDelay::Fixed(secs(3))), secs(3));
    let drawn: Vec<Duration> = (0..100).map(|_| delay(FirstDelay::UpTo(secs(1000)))).collect();
    assert!(drawn.iter().all(|delay| *delay <= secs(1000)));
    let early = drawn.iter().filter(|delay| **delay < secs(500)).count();
    assert!((10..=90).contains(&early), "{early} of 100 in the first half");
    let named = |asked: &Asked<'_>| Duration::from_secs(asked.body.name().map_or(0, |name| name.len() as u64));
    assert_eq!(delay(FirstDelay::By(Arc::new(named))), secs(1));
    assert_eq!(delay(FirstDelay::By(Arc::new(|_| panic!("no delay")))), Duration::ZERO);
}

// G-2: whatever is asked of them, and however often.
#[tokio::test(start_paused = true)]
async fn there_is_one_task_of_a_handler_at_most() {
    let host = broken();
    let running = Arc::new(Mutex::new((0, 0)));
    let call: BackgroundFn = {
        let running = Arc::clone(&running);
        Arc::new(move |call| {
            let (running, stopped) = (Arc::clone(&running), call.common.context.stopped);
            async move {
                let now = {
                    let mut counts = running.lock().unwrap();
                    counts.0 += 1;
                    counts.1 += 1;
                    counts.0
                };
                assert_eq!(now, 1);
                stopped.wait().await;
                // It takes its time to end.
                tokio::time::sleep(Duration::from_secs(5)).await;
                running.lock().unwrap().0 -= 1;
                Ok(None)
            }
            .boxed()
        })
    };
    let handler = Arc::new(daemon(call));
    let mut background = Background::default();
    let Surroundings { live, .. } = surroundings(&host);
    for _ in 0..5 {
        for matching in [vec![&handler], vec![]] {
            background.show(&live.body(), &live.spec(), 0);
            background.adjust(&matching, StopReason::FILTERS_MISMATCH, true, |live| Surroundings {
                live: Arc::clone(live),
                ..surroundings(&host)
            });
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
    assert!(background.hold());
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(!background.hold());
    let (left, begun) = *running.lock().unwrap();
    assert_eq!(left, 0);
    assert!((1..5).contains(&begun), "{begun} were begun");
}
