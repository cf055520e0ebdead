//! Retries, delays, limits, and what survives a restart.

use kopf_runtime::{Change, ErrorsMode, HandlerResult, Operator, Resource, Temporary, secs};
use kopf_tests::cluster::Cluster;
use kopf_tests::on_both_servers;
use kopf_tests::widgets::{self, Notes, Widget, create, path};
use serde_json::{Value, json};

fn record(object: &Value, id: &str) -> Value {
    let text = object["metadata"]["annotations"][format!("kopf.zalando.org/{id}")]
        .as_str()
        .unwrap_or("null");
    serde_json::from_str(text).unwrap()
}

fn handled(object: &Value) -> bool {
    object["metadata"]["annotations"]["kopf.zalando.org/last-handled-configuration"].is_string()
}

/// Succeeds at the attempt of this number.
fn stubborn(notes: &Notes, succeeds: u32, delay: u64) -> Operator {
    let notes = notes.clone();
    let stubborn = move |Change { retry, .. }: Change<Widget>| {
        notes.add(format!("stubborn {retry}"));
        async move {
            if retry < succeeds {
                return Err(Temporary::after(secs(delay), format!("attempt {retry} was no good")).into());
            }
            HandlerResult::Ok(retry)
        }
    };
    let steady = |_: Change<Widget>| async { HandlerResult::Ok(true) };
    Operator::new("suite").resource(Resource::of::<Widget>().on_create("steady", steady, |o| o).on_create(
        "stubborn",
        stubborn,
        |o| o,
    ))
}

on_both_servers! {
    a_temporary_error_is_retried_after_its_delay;
    a_restart_goes_on_with_the_next_attempt;
    the_limit_of_retries_ends_the_attempts;
    ignored_errors_count_as_success;
    a_running_handler_is_interrupted_by_its_timeout;
    a_constant_result_of_a_raw_event_never_stalls_a_retry;
}

// E-4, E-6, P-1, P-2
async fn a_temporary_error_is_retried_after_its_delay(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let operator = cluster.start(stubborn(&notes, 2, 2));
    create(cluster, "a", json!({"size": 1})).await;
    let path = path(cluster, "a");
    let waiting = cluster
        .wait(&path, |object| record(object, "stubborn")["retries"] == 1)
        .await;
    let text = waiting["metadata"]["annotations"]["kopf.zalando.org/stubborn"]
        .as_str()
        .unwrap();
    let keys: Vec<&str> = text.split("\":").filter_map(|part| part.rsplit('"').next()).collect();
    assert_eq!(
        keys[..7],
        [
            "started", "delayed", "purpose", "retries", "success", "failure", "message"
        ],
        "Kopf's keys in Kopf's order: {text}"
    );
    assert_eq!(record(&waiting, "stubborn")["message"], "attempt 0 was no good");
    let results = json!({"steady": true, "stubborn": 2});
    let finished = cluster
        .wait(&path, |object| handled(object) && object["status"] == results)
        .await;
    operator.stop().await;
    assert_eq!(notes.all(), ["stubborn 0", "stubborn 1", "stubborn 2"]);
    assert_eq!(record(&finished, "stubborn"), Value::Null);
}

// P-12, trace 3: the other handler, which had succeeded, is not called again.
async fn a_restart_goes_on_with_the_next_attempt(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let operator = cluster.start(stubborn(&notes, 2, 3));
    create(cluster, "a", json!({"size": 1})).await;
    let path = path(cluster, "a");
    cluster
        .wait(&path, |object| record(object, "stubborn")["retries"] == 1)
        .await;
    operator.stop().await;
    let operator = cluster.start(stubborn(&notes, 2, 3));
    cluster.wait(&path, handled).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["stubborn 0", "stubborn 1", "stubborn 2"]);
}

// E-7, B-034
async fn the_limit_of_retries_ends_the_attempts(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let handler = {
        let notes = notes.clone();
        move |Change { retry, patch, .. }: Change<Widget>| {
            notes.add(format!("{retry}"));
            patch.status(json!({"lastError": retry}));
            async { HandlerResult::<()>::Err(anyhow::anyhow!("never")) }
        }
    };
    let operator = cluster.start(Operator::new("suite").resource(Resource::of::<Widget>().on_create(
        "made",
        handler,
        |o| o.retries(3).backoff(secs(1)),
    )));
    create(cluster, "a", json!({"size": 1})).await;
    cluster.wait(&path(cluster, "a"), handled).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["0", "1", "2"]);
}

// E-4, mode IGNORED
async fn ignored_errors_count_as_success(cluster: &Cluster) {
    widgets::install(cluster).await;
    let handler = |_: Change<Widget>| async { HandlerResult::<()>::Err(anyhow::anyhow!("whatever")) };
    let operator = cluster.start(Operator::new("suite").resource(Resource::of::<Widget>().on_create(
        "made",
        handler,
        |o| o.errors(ErrorsMode::Ignored),
    )));
    create(cluster, "a", json!({"size": 1})).await;
    let done = cluster.wait(&path(cluster, "a"), handled).await;
    operator.stop().await;
    assert_eq!(record(&done, "made"), Value::Null);
}

// E-10, improved: its patch is discarded.
async fn a_running_handler_is_interrupted_by_its_timeout(cluster: &Cluster) {
    widgets::install(cluster).await;
    let handler = |Change { patch, .. }: Change<Widget>| async move {
        patch.status(json!({"half": "done"}));
        patch.then(|object| object["spec"]["half"] = json!("done"));
        std::future::pending::<()>().await;
        HandlerResult::Ok(())
    };
    let operator = cluster.start(Operator::new("suite").resource(Resource::of::<Widget>().on_create(
        "made",
        handler,
        |o| o.timeout(secs(1)),
    )));
    create(cluster, "a", json!({"size": 1})).await;
    let done = cluster.wait(&path(cluster, "a"), handled).await;
    operator.stop().await;
    assert_eq!(done["status"]["half"], Value::Null);
    assert_eq!(done["spec"]["half"], Value::Null);
}

// W, *No-op patch stall*; B-037
async fn a_constant_result_of_a_raw_event_never_stalls_a_retry(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let constant = |_: kopf_runtime::Event<Widget>| async { HandlerResult::Ok("constant") };
    let retried = {
        let notes = notes.clone();
        move |Change { retry, .. }: Change<Widget>| {
            notes.add(format!("{retry}"));
            async move {
                if retry == 0 {
                    Err(Temporary::after(secs(1), "not yet").into())
                } else {
                    HandlerResult::Ok(())
                }
            }
        }
    };
    let operator = cluster.start(
        Operator::new("suite").resource(
            Resource::of::<Widget>()
                .on_event("constant", constant, |o| o)
                .on_create("retried", retried, |o| o),
        ),
    );
    create(cluster, "a", json!({"size": 1})).await;
    let done = cluster.wait(&path(cluster, "a"), handled).await;
    operator.stop().await;
    assert_eq!(done["status"]["constant"], "constant");
    assert_eq!(notes.all(), ["0", "1"]);
}
