//! Retries, delays, limits, and what survives a restart.

use kopf_runtime::{Change, ErrorsMode, Event, HandlerResult, Operator, Permanent, Resource, Temporary, millis, secs};
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
    ignored_errors_count_as_success;
    a_constant_result_of_a_raw_event_never_stalls_a_retry;
    a_status_and_a_delay_both_take_effect;
    a_success_is_stored_before_the_next_handler_starts;
    zero_delays_are_retried_in_the_next_cycle;
    raw_events_are_never_retried;
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

// B-037: also when the patch changes nothing.
async fn a_status_and_a_delay_both_take_effect(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let handler = {
        let notes = notes.clone();
        move |Change { retry, patch, .. }: Change<Widget>| {
            notes.add(retry.to_string());
            patch.status(json!({"phase": "Waiting"}));
            async move {
                if retry < 2 {
                    return Err(Temporary::after(secs(1), "not yet").into());
                }
                HandlerResult::Ok(())
            }
        }
    };
    let operator =
        cluster.start(Operator::new("suite").resource(Resource::of::<Widget>().on_create("made", handler, |o| o)));
    let path = path(cluster, "a");
    create(cluster, "a", json!({"size": 1})).await;
    cluster
        .wait(&path, |object| {
            object["status"]["phase"] == "Waiting" && record(object, "made")["retries"] == 1
        })
        .await;
    cluster.wait(&path, handled).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["0", "1", "2"]);
}

// B-029, E-14: so that a kill in between repeats one handler at most.
async fn a_success_is_stored_before_the_next_handler_starts(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let client = cluster.client.clone();
    let path = path(cluster, "a");
    let first = {
        let notes = notes.clone();
        move |Change { retry, .. }: Change<Widget>| {
            notes.add(format!("first {retry}"));
            async { HandlerResult::Ok("rotated") }
        }
    };
    let second = || {
        let (notes, client, path) = (notes.clone(), client.clone(), path.clone());
        move |Change { retry, status, .. }: Change<Widget>| {
            let (notes, client, path) = (notes.clone(), client.clone(), path.clone());
            async move {
                let stored = http::Request::get(&path).body(Vec::new()).unwrap();
                let stored: Value = client.request(stored).await?;
                let success = record(&stored, "first")["success"].clone();
                // The next attempt, and the next handler, see what the one before has come to.
                notes.add(format!("second {retry} {success} {}", status["first"]));
                if notes.all().len() == 2 {
                    std::future::pending::<()>().await;
                }
                HandlerResult::Ok(())
            }
        }
    };
    let operator = || {
        Operator::new("suite")
            .settings(|settings| settings.queueing.exit_timeout = millis(100))
            .resource(
                Resource::of::<Widget>()
                    .on_create("first", first.clone(), |o| o)
                    .on_create("second", second(), |o| o),
            )
    };
    let running = cluster.start(operator());
    create(cluster, "a", json!({"size": 1})).await;
    notes.wait_for(2).await;
    // Killed while the second one runs: the first one is not called again; the second one was not counted (E-14).
    drop(running);
    tokio::time::sleep(secs(2)).await;
    let running = cluster.start(operator());
    cluster.wait(&path, handled).await;
    running.stop().await;
    let stored = r#"second 0 true "rotated""#;
    assert_eq!(notes.all(), ["first 0", stored, stored]);
}

// E-12, E-5, S-1: both for the handler's own delay and for the operator's backoff.
async fn zero_delays_are_retried_in_the_next_cycle(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let handler = {
        let notes = notes.clone();
        move |Change { retry, .. }: Change<Widget>| {
            notes.add(retry.to_string());
            async move {
                match retry {
                    0 => Err(Temporary::soon("at once").into()),
                    1 => Err(Temporary::after(secs(0), "at once").into()),
                    2 => Err(anyhow::anyhow!("at once")),
                    _ => HandlerResult::Ok(()),
                }
            }
        }
    };
    let operator = cluster.start(
        Operator::new("suite")
            .settings(|settings| settings.execution.default_backoff = secs(0))
            .resource(Resource::of::<Widget>().on_create("made", handler, |o| o)),
    );
    let begin = tokio::time::Instant::now();
    create(cluster, "a", json!({"size": 1})).await;
    cluster.wait(&path(cluster, "a"), handled).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["0", "1", "2", "3"]);
    assert!(begin.elapsed() < secs(50), "Kopf's own default is a minute");
}

// E-13, E-2: an error is said and forgotten; nobody else minds.
async fn raw_events_are_never_retried(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let seen = {
        let notes = notes.clone();
        move |Event { retry, body, .. }: Event<Widget>| {
            let version = body.resource_version().unwrap_or_default().to_owned();
            notes.add(format!("{retry} {version}"));
            let count = notes.all().len();
            async move {
                Err(match count % 3 {
                    0 => Permanent::new("never").into(),
                    1 => Temporary::after(millis(100), "not yet").into(),
                    _ => anyhow::anyhow!("whatever"),
                }) as HandlerResult
            }
        }
    };
    let made = |_: Change<Widget>| async { HandlerResult::Ok(1) };
    let operator = cluster.start(
        Operator::new("suite").resource(Resource::of::<Widget>().on_event("seen", seen, |o| o).on_create(
            "made",
            made,
            |o| o,
        )),
    );
    create(cluster, "a", json!({"size": 1})).await;
    let path = path(cluster, "a");
    cluster
        .wait(&path, |object| handled(object) && object["status"]["made"] == 1)
        .await;
    cluster.patch(&path, &json!({"spec": {"size": 2}})).await;
    let all = notes.wait_for(3).await;
    tokio::time::sleep(secs(1)).await;
    operator.stop().await;
    let each: std::collections::BTreeSet<&String> = all.iter().collect();
    assert_eq!(each.len(), all.len(), "each event once: {all:?}");
    assert!(all.iter().all(|note| note.starts_with("0 ")), "{all:?}");
    let object = cluster.get(&path).await;
    assert_eq!(record(&object, "seen"), Value::Null, "nothing is kept of it");
}
