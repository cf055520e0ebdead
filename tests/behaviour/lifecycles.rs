//! Which of several waiting handlers are called, in which order.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kopf_runtime::{Change, Event, HandlerResult, Lifecycle, Operator, Resource, Temporary, Timer, millis, secs};
use kopf_tests::cluster::Cluster;
use kopf_tests::on_both_servers;
use kopf_tests::widgets::{self, Notes, Widget, create, path};
use serde_json::{Value, json};

const PREFIX: &str = "kopf.zalando.org";

fn record(object: &Value, id: &str) -> Value {
    let text = object["metadata"]["annotations"][format!("{PREFIX}/{id}")].as_str();
    serde_json::from_str(text.unwrap_or("null")).unwrap()
}

fn handled(object: &Value) -> bool {
    object["metadata"]["annotations"][format!("{PREFIX}/last-handled-configuration")].is_string()
}

/// Notes its calls, with the attempts that are recorded for `h1` and `h2`; fails temporarily as often as it is told to.
fn noting(
    notes: &Notes,
    id: &'static str,
    failures: u32,
) -> impl Fn(Change<Widget>) -> BoxFuture<'static, HandlerResult> + Send + Sync + 'static {
    let notes = notes.clone();
    move |Change { retry, body, .. }| {
        let attempts = |id| record(body.value(), id)["retries"].clone();
        notes.add(format!("{id} {retry}, recorded {} {}", attempts("h1"), attempts("h2")));
        async move {
            if retry < failures {
                return Err(Temporary::after(secs(2), "not yet").into());
            }
            Ok(())
        }
        .boxed()
    }
}

/// Two creation handlers, of which the first fails once.
fn two(notes: &Notes, lifecycle: Lifecycle) -> Operator {
    Operator::new("suite")
        .settings(|settings| settings.execution.lifecycle = lifecycle)
        .resource(
            Resource::of::<Widget>()
                .on_create("h1", noting(notes, "h1", 1), |o| o)
                .on_create("h2", noting(notes, "h2", 0), |o| o),
        )
}

const IN_TURN: [&str; 3] = ["h1 0, recorded null null", "h2 0, recorded 1 0", "h1 1, recorded 1 1"];

on_both_servers! {
    by_default_the_least_retried_handler_goes_first_and_alone;
    with_one_by_one_a_delayed_handler_holds_up_nobody;
    a_function_may_choose;
    raw_events_and_timers_know_no_choice;
}

// L-1, L-3, L-6
async fn by_default_the_least_retried_handler_goes_first_and_alone(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let operator = cluster.start(two(&notes, Lifecycle::default()));
    create(cluster, "a", json!({"size": 1})).await;
    cluster.wait(&path(cluster, "a"), handled).await;
    operator.stop().await;
    // One handler per cycle: the second sees the first one's failure stored, and its own record from that cycle.
    assert_eq!(notes.all(), IN_TURN);
}

// L-1, L-2
async fn with_one_by_one_a_delayed_handler_holds_up_nobody(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let operator = cluster.start(two(&notes, Lifecycle::OneByOne));
    create(cluster, "a", json!({"size": 1})).await;
    cluster.wait(&path(cluster, "a"), handled).await;
    operator.stop().await;
    assert_eq!(notes.all(), IN_TURN);
}

// L-5
async fn a_function_may_choose(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let seen = notes.clone();
    let last = Lifecycle::custom(move |waiting, body| {
        let waiting: Vec<String> = waiting
            .iter()
            .map(|handler| format!("{} {}", handler.id, handler.retries))
            .collect();
        seen.add(format!("{}: {}", body.name().unwrap_or_default(), waiting.join(", ")));
        vec![waiting.len() - 1]
    });
    let operator = cluster.start(two(&notes, last));
    create(cluster, "a", json!({"size": 1})).await;
    cluster.wait(&path(cluster, "a"), handled).await;
    operator.stop().await;
    assert_eq!(
        notes.all(),
        [
            "a: h1 0, h2 0",
            "h2 0, recorded null null",
            "a: h1 0",
            "h1 0, recorded 0 1",
            "a: h1 1",
            "h1 1, recorded 1 1",
        ]
    );
}

// L-4
async fn raw_events_and_timers_know_no_choice(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let seen = |id: &'static str| {
        let notes = notes.clone();
        move |_: Event<Widget>| {
            notes.add(id);
            async { HandlerResult::<()>::Err(anyhow::anyhow!("no")) }
        }
    };
    let tick = |_: Timer<Widget>| async { HandlerResult::Ok("ticked") };
    let operator = cluster.start(
        Operator::new("suite")
            .settings(|settings| settings.execution.lifecycle = Lifecycle::OneByOne)
            .resource(
                Resource::of::<Widget>()
                    .on_event("first", seen("first"), |o| o)
                    .on_event("second", seen("second"), |o| o)
                    .timer("early", tick, |o| o.interval(millis(200)).optional(true))
                    .timer("late", tick, |o| o.interval(millis(200)).optional(true)),
            ),
    );
    create(cluster, "a", json!({"size": 1})).await;
    let ticked = json!({"early": "ticked", "late": "ticked"});
    cluster
        .wait(&path(cluster, "a"), |object| object["status"] == ticked)
        .await;
    operator.stop().await;
    let all = notes.all();
    assert_eq!(all[..2], ["first", "second"]);
    assert_eq!(all.len() % 2, 0, "every event is everybody's: {all:?}");
}
