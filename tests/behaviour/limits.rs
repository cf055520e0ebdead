//! What ends a handler's attempts: their number, their time, and the end of the operator.

use std::sync::mpsc;
use std::sync::{Arc, Mutex};

use kopf_runtime::logging::{Verbosity, capture};
use kopf_runtime::{
    ABSENT, Backoff, Change, HandlerResult, Operator, PRESENT, Resource, Temporary, Timer, blocking, millis, secs,
};
use kopf_tests::cluster::Cluster;
use kopf_tests::on_both_servers;
use kopf_tests::widgets::{self, Notes, Widget, create, create_with, path};
use serde_json::{Value, json};
use tokio::time::Instant;

fn handled(object: &Value) -> bool {
    object["metadata"]["annotations"]["kopf.zalando.org/last-handled-configuration"].is_string()
}

on_both_servers! {
    the_limit_of_retries_ends_the_attempts;
    a_backoff_beyond_the_timeout_fails_at_once;
    a_record_at_its_limits_fails_without_a_call;
    a_running_handler_is_interrupted_by_its_timeout;
    a_handler_may_ask_not_to_be_interrupted;
}

// E-7, B-034: what the handler itself writes begins no new round, and the next change begins one.
async fn the_limit_of_retries_ends_the_attempts(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let handler = {
        let (notes, began) = (notes.clone(), Instant::now());
        move |Change { retry, patch, spec, .. }: Change<Widget>| {
            notes.add(format!("{} {retry} {}", spec.size, began.elapsed().as_millis()));
            patch.status(json!({"lastError": began.elapsed().as_nanos().to_string()}));
            async { HandlerResult::<()>::Err(anyhow::anyhow!("never")) }
        }
    };
    let operator = cluster.start(
        Operator::new("suite").resource(
            Resource::of::<Widget>()
                .on_create("made", handler.clone(), |o| o.retries(3).backoff(secs(1)))
                .on_update("made", handler, |o| o.retries(3).backoff(secs(1))),
        ),
    );
    create(cluster, "a", json!({"size": 1})).await;
    let path = path(cluster, "a");
    cluster.wait(&path, handled).await;
    tokio::time::sleep(secs(3)).await;
    assert_eq!(
        notes.all().len(),
        3,
        "nothing more until the spec changes: {:?}",
        notes.all()
    );
    cluster.patch(&path, &json!({"spec": {"size": 2}})).await;
    let all = notes.wait_for(6).await;
    operator.stop().await;
    let attempts: Vec<&str> = all.iter().filter_map(|note| Some(note.rsplit_once(' ')?.0)).collect();
    assert_eq!(attempts, ["1 0", "1 1", "1 2", "2 0", "2 1", "2 2"]);
    let times: Vec<u64> = all
        .iter()
        .map(|note| note.rsplit_once(' ').unwrap().1.parse().unwrap())
        .collect();
    for (index, pair) in times.windows(2).enumerate().filter(|(index, _)| *index != 2) {
        // The time of day that is stored has milliseconds to lose.
        assert!(
            pair[1] - pair[0] >= 990,
            "attempt {index} was not waited for: {times:?}"
        );
    }
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

// B-036, E-8: no pending state that nothing can come of.
async fn a_backoff_beyond_the_timeout_fails_at_once(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let fail = |id: &'static str| {
        let notes = notes.clone();
        move |_: Change<Widget>| {
            notes.add(id);
            async { HandlerResult::<()>::Err(anyhow::anyhow!("down")) }
        }
    };
    let log = capture(Verbosity::Normal);
    let operator = cluster.start(
        Operator::new("suite").resource(
            Resource::of::<Widget>()
                .on_create("timed", fail("timed"), |o| o.timeout(secs(30)).backoff(secs(120)))
                .on_create("counted", fail("counted"), |o| o.retries(1).backoff(secs(120))),
        ),
    );
    create(cluster, "a", json!({"size": 1})).await;
    let began = Instant::now();
    cluster.wait(&path(cluster, "a"), handled).await;
    operator.stop().await;
    assert!(began.elapsed() < secs(30), "{:?}", began.elapsed());
    assert_eq!(notes.all(), ["timed", "counted"]);
    // Both limits are told of in the same words.
    for text in [
        "Handler timed failed for good: would time out after 30s: down",
        "Handler counted failed for good: would exceed 1 retries: down",
    ] {
        // On the real server, other threads have their part of the log.
        assert!(
            cluster.embedded.is_none() || log.text().contains(text),
            "{text}\n{}",
            log.text()
        );
    }
}

// E-9
async fn a_record_at_its_limits_fails_without_a_call(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let handler = |id: &'static str| {
        let notes = notes.clone();
        move |Change { retry, .. }: Change<Widget>| {
            notes.add(format!("{id} {retry}"));
            async { HandlerResult::Ok(()) }
        }
    };
    let kept = |record: Value| record.to_string();
    let annotations = json!({
        "kopf.zalando.org/counted": kept(json!({"purpose": "create", "retries": 100})),
        "kopf.zalando.org/timed": kept(json!({"purpose": "create", "started": "2020-01-01T00:00:00.000000+00:00"})),
        "kopf.zalando.org/free": kept(json!({"purpose": "create", "retries": 99})),
    });
    create_with(cluster, "a", json!({"annotations": annotations}), json!({"size": 1})).await;
    let operator = cluster.start(
        Operator::new("suite").resource(
            Resource::of::<Widget>()
                .on_create("counted", handler("counted"), |o| o.retries(100))
                .on_create("timed", handler("timed"), |o| o.timeout(secs(600)))
                .on_create("free", handler("free"), |o| o.retries(100).timeout(secs(600))),
        ),
    );
    cluster.wait(&path(cluster, "a"), handled).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["free 99"]);
}

// E-10: as in Kopf, where it is asked for.
async fn a_handler_may_ask_not_to_be_interrupted(cluster: &Cluster) {
    widgets::install(cluster).await;
    let handler = |Change { patch, .. }: Change<Widget>| async move {
        patch.spec(json!({"whole": "done"}));
        tokio::time::sleep(secs(2)).await;
        HandlerResult::Ok("late")
    };
    let operator =
        cluster
            .start(Operator::new("suite").resource(
                Resource::of::<Widget>().on_create("made", handler, |o| o.timeout(secs(1)).interrupt(false)),
            ));
    create(cluster, "a", json!({"size": 1})).await;
    let done = cluster
        .wait(&path(cluster, "a"), |object| {
            handled(object) && object["status"].is_object()
        })
        .await;
    operator.stop().await;
    assert_eq!(done["status"]["made"], "late");
    assert_eq!(done["spec"]["whole"], "done");
}

/// The waits between the calls of a handler that always fails, in milliseconds.
async fn waits(backoff: Backoff, calls: u32) -> Vec<u64> {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let notes = Notes::default();
    let handler = {
        let (notes, began) = (notes.clone(), Instant::now());
        move |_: Change<Widget>| {
            notes.add(began.elapsed().as_millis().to_string());
            async { HandlerResult::<()>::Err(anyhow::anyhow!("down")) }
        }
    };
    let operator = cluster.start(Operator::new("suite").resource(Resource::of::<Widget>().on_create(
        "made",
        handler,
        |o| o.retries(calls).backoff(backoff),
    )));
    create(&cluster, "a", json!({"size": 1})).await;
    cluster.wait(&path(&cluster, "a"), handled).await;
    operator.stop().await;
    let times: Vec<u64> = notes.all().iter().map(|time| time.parse().unwrap()).collect();
    assert_eq!(times.len(), usize::try_from(calls).unwrap());
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

// E, *Improve on*
#[tokio::test(start_paused = true)]
async fn the_waits_after_errors_may_grow() {
    // Time stands still between the calls, but for what the requests take.
    let near = |waits: Vec<u64>, expected: [u64; 5]| {
        for (wait, expected) in waits.iter().zip(expected) {
            assert!(
                (expected..expected + 100).contains(wait),
                "{waits:?} instead of {expected:?}"
            );
        }
    };
    near(waits(secs(3).into(), 6).await, [3000; 5]);
    near(
        waits(Backoff::exponential(secs(1), secs(6)), 6).await,
        [1000, 2000, 4000, 6000, 6000],
    );
    let jittered = waits(Backoff::exponential(secs(1), secs(6)).jitter(0.5), 6).await;
    for (wait, least) in jittered.iter().zip([1000, 2000, 4000, 6000, 6000]) {
        let most = (least * 3 / 2).min(6000) + 100;
        assert!((least..=most).contains(wait), "{jittered:?}");
    }
}

// K-12: on the real clock, which threads need; but nothing in here waits for it.
#[tokio::test(flavor = "multi_thread")]
async fn a_blocking_handler_waits_for_a_free_thread() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let notes = Notes::default();
    let (end, ended) = mpsc::channel::<()>();
    let ended = Arc::new(Mutex::new(ended));
    let work = {
        let notes = notes.clone();
        move |Change { name, .. }: Change<Widget>| {
            notes.add(format!("{name} begins"));
            if name == "first" {
                ended.lock().unwrap().recv().unwrap();
            }
            HandlerResult::Ok("worked")
        }
    };
    let light = |_: Change<Widget>| async { HandlerResult::Ok("light") };
    let operator = cluster.start(
        Operator::new("suite")
            .settings(|settings| settings.execution.max_workers = Some(1))
            .resource(
                Resource::of::<Widget>()
                    .on_create("light", light, |o| o)
                    .on_create("work", blocking(work.clone()), |o| o.label("hurry", ABSENT))
                    .on_create("hurried", blocking(work), |o| {
                        o.label("hurry", PRESENT).timeout(millis(500))
                    }),
            ),
    );
    create(&cluster, "first", json!({"size": 1})).await;
    notes.wait_for(1).await;
    // The only thread is busy: async handlers go on, and whoever waits too long has failed without a call.
    let hurry = json!({"labels": {"hurry": "yes"}});
    create_with(&cluster, "second", hurry, json!({"size": 1})).await;
    let second = cluster.wait(&path(&cluster, "second"), handled).await;
    assert_eq!(second["status"], json!({"light": "light"}));
    assert_eq!(notes.all(), ["first begins"]);
    // Who has begun is waited for, and the thread is free again.
    end.send(()).unwrap();
    let both = json!({"light": "light", "work": "worked"});
    cluster
        .wait(&path(&cluster, "first"), |object| object["status"] == both)
        .await;
    create(&cluster, "third", json!({"size": 1})).await;
    cluster
        .wait(&path(&cluster, "third"), |object| object["status"] == both)
        .await;
    operator.stop().await;
    assert_eq!(notes.all(), ["first begins", "third begins"]);
}

// E-12, *Improve on*: a loop without a pause lets everybody else work.
#[tokio::test(start_paused = true)]
async fn a_timer_that_asks_for_no_delay_starves_nobody() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let notes = Notes::default();
    let hasty = {
        let notes = notes.clone();
        move |Timer { retry, .. }: Timer<Widget>| {
            notes.add(retry.to_string());
            async { HandlerResult::<()>::Err(Temporary::soon("at once").into()) }
        }
    };
    let made = |_: Change<Widget>| async { HandlerResult::Ok(1) };
    let operator = cluster.start(
        Operator::new("suite").resource(
            Resource::of::<Widget>()
                .timer("hasty", hasty, |o| o.interval(secs(60)))
                .on_create("made", made, |o| o),
        ),
    );
    create(&cluster, "a", json!({"size": 1})).await;
    cluster.wait(&path(&cluster, "a"), handled).await;
    let (before, began) = (notes.all().len(), Instant::now());
    tokio::time::sleep(secs(1)).await;
    let calls = notes.all().len() - before;
    assert_eq!(began.elapsed(), secs(1));
    assert!(
        (10..=101).contains(&calls),
        "as soon as possible, with the least pause: {calls} calls in a second"
    );
    operator.stop().await;
}
