//! Daemons: when they begin, what they see, what follows their end.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kopf_runtime::{
    Daemon, DaemonOptions, Delay, HandlerResult, InitialDelay, Operator, Permanent, Resource, Restart, StopReason,
    Stopped, Temporary, millis, secs,
};
use kopf_tests::cluster::{Cluster, Working};
use kopf_tests::on_both_servers;
use kopf_tests::widgets::{self, Notes, Widget, create, create_with, path};
use kopf_testserver::{Failure, Traffic};
use serde_json::{Value, json};
use tokio::time::Instant;

const FINALIZER: &str = "kopf.zalando.org/KopfFinalizerMarker";

on_both_servers! {
    a_daemon_lives_with_its_object;
    a_daemon_begins_again_after_a_restart_and_not_during_a_deletion;
    a_daemon_sees_its_object_as_it_is_now;
    a_daemon_that_has_returned_is_over;
    a_daemon_stores_what_it_wants_after_each_attempt;
    a_label_that_is_toggled_quickly_never_makes_two_of_a_daemon;
}

fn finalizers(object: &Value) -> &Value {
    &object["metadata"]["finalizers"]
}

async fn delete(cluster: &Cluster) {
    let path = path(cluster, "a");
    cluster.request("DELETE", &path, &Value::Null).await.unwrap();
}

async fn label(cluster: &Cluster, value: Value) {
    let patch = json!({"metadata": {"labels": {"active": value}}});
    cluster.patch(&path(cluster, "a"), &patch).await;
}

async fn free(cluster: &Cluster) {
    let patch = json!({"metadata": {"finalizers": null}});
    cluster.patch(&path(cluster, "a"), &patch).await;
}

/// Notes when it begins, and why it ends.
fn waiting(notes: &Notes) -> impl Fn(Daemon<Widget>) -> BoxFuture<'static, HandlerResult> + Send + Sync + 'static {
    let notes = notes.clone();
    move |Daemon { stopped, .. }: Daemon<Widget>| {
        let notes = notes.clone();
        notes.add("begun");
        async move {
            stopped.wait().await;
            notes.add(stopped.reason().to_string());
            Ok(())
        }
        .boxed()
    }
}

fn operator(
    handler: impl Fn(Daemon<Widget>) -> BoxFuture<'static, HandlerResult> + Send + Sync + 'static,
    options: impl FnOnce(DaemonOptions<Widget>) -> DaemonOptions<Widget>,
) -> Operator {
    Operator::new("suite").resource(Resource::of::<Widget>().daemon("watch", handler, options))
}

// G-1, G-9, G-10, G-15
async fn a_daemon_lives_with_its_object(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let operator = cluster.start(operator(waiting(&notes), |o| o));
    create(cluster, "a", json!({"size": 1})).await;
    notes.wait_for(1).await;
    let path = path(cluster, "a");
    assert_eq!(finalizers(&cluster.get(&path).await), &json!([FINALIZER]));
    delete(cluster).await;
    cluster.wait(&path, Value::is_null).await;
    assert_eq!(notes.all(), ["begun", "RESOURCE_DELETED"]);
    operator.stop().await;
}

// G-1, G-20
async fn a_daemon_begins_again_after_a_restart_and_not_during_a_deletion(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    create(cluster, "a", json!({"size": 1})).await;
    for round in 1..=2 {
        let operator = cluster.start(operator(waiting(&notes), |o| o));
        notes.wait_for(2 * round - 1).await;
        operator.stop().await;
    }
    assert_eq!(notes.all(), ["begun", "OPERATOR_EXITING", "begun", "OPERATOR_EXITING"]);
    delete(cluster).await;
    let operator = cluster.start(operator(waiting(&notes), |o| o));
    cluster.wait(&path(cluster, "a"), Value::is_null).await;
    operator.stop().await;
    assert_eq!(notes.all().len(), 4, "none begins while its object is deleted");
}

// K-11
async fn a_daemon_sees_its_object_as_it_is_now(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let follow = {
        let notes = notes.clone();
        move |Daemon {
                  live, spec, stopped, ..
              }: Daemon<Widget>| {
            let notes = notes.clone();
            async move {
                let say = || {
                    let label = live.labels().remove("active").unwrap_or_default();
                    let (body, status) = (live.body(), live.status());
                    let deleted = body.deletion_timestamp().is_some();
                    let held = body.finalizers().next().is_some();
                    let status = status.value()["x"].clone();
                    notes.add(format!("{} {label} {status} {deleted} {held}", live.spec().size));
                };
                say();
                // Also after it was asked to stop: the last state is that of the deletion.
                loop {
                    live.changed().await;
                    say();
                    if live.body().deletion_timestamp().is_some() {
                        assert!(stopped.wait_for(secs(60)).await);
                        assert_eq!(spec.size, 1, "the other arguments stay as they were");
                        return HandlerResult::Ok(());
                    }
                }
            }
            .boxed()
        }
    };
    let operator = cluster.start(operator(follow, |o| o));
    let path = path(cluster, "a");
    create(cluster, "a", json!({"size": 1})).await;
    notes.wait_for(1).await;
    cluster.patch(&path, &json!({"spec": {"size": 2}})).await;
    notes.wait_for(2).await;
    label(cluster, json!("yes")).await;
    notes.wait_for(3).await;
    cluster
        .patch(&format!("{path}/status"), &json!({"status": {"x": 7}}))
        .await;
    notes.wait_for(4).await;
    delete(cluster).await;
    cluster.wait(&path, Value::is_null).await;
    operator.stop().await;
    let expected = [
        "1  null false true",
        "2  null false true",
        "2 yes null false true",
        "2 yes 7 false true",
        "2 yes 7 true true",
    ];
    assert_eq!(notes.all(), expected);
}

// K-11, G-25: the very last state is shown too, to a daemon that nobody waits for.
#[tokio::test(start_paused = true)]
async fn a_daemon_sees_the_end_of_its_object() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let notes = Notes::default();
    let follow = {
        let notes = notes.clone();
        move |Daemon { live, stopped, .. }: Daemon<Widget>| {
            let notes = notes.clone();
            async move {
                notes.add("begun");
                stopped.wait().await;
                // The deletion came without a finalizer of ours, so that this is all that comes.
                notes.add(format!("{} {}", live.spec().size, live.body().value()["spec"]["size"]));
                HandlerResult::Ok(())
            }
            .boxed()
        }
    };
    let operator = cluster.start(operator(follow, |o| o.optional(true)));
    create(&cluster, "a", json!({"size": 1})).await;
    notes.wait_for(1).await;
    let faults = cluster.embedded.as_ref().unwrap().faults();
    // Both come at once, so that only the last one is looked at.
    faults.hold_events();
    cluster.patch(&path(&cluster, "a"), &json!({"spec": {"size": 2}})).await;
    delete(&cluster).await;
    faults.release_events();
    let seen = notes.wait_for(2).await;
    operator.stop().await;
    assert_eq!(
        seen[1], "1 2",
        "the raw state is the last one; the typed spec is that of the last handled state"
    );
}

// G-6
async fn a_daemon_that_has_returned_is_over(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let once = {
        let notes = notes.clone();
        move |_: Daemon<Widget>| {
            notes.add("called");
            async { HandlerResult::Ok(()) }.boxed()
        }
    };
    let operator = cluster.start(operator(once, |o| o));
    create(cluster, "a", json!({"size": 1})).await;
    notes.wait_for(1).await;
    let path = path(cluster, "a");
    // The end itself takes the finalizer away, without any further event.
    let free = |object: &Value| finalizers(object).is_null();
    cluster.wait(&path, free).await;
    cluster
        .patch(&format!("{path}/status"), &json!({"status": {"x": 1}}))
        .await;
    cluster.patch(&path, &json!({"spec": {"size": 2}})).await;
    tokio::time::sleep(secs(1)).await;
    assert_eq!(notes.all(), ["called"]);
    assert!(free(&cluster.get(&path).await));
    operator.stop().await;
}

// G-4, G-5, G-8, G-23
async fn a_daemon_stores_what_it_wants_after_each_attempt(cluster: &Cluster) {
    widgets::install(cluster).await;
    let work = move |Daemon {
                         retry,
                         patch,
                         started,
                         runtime,
                         ..
                     }: Daemon<Widget>| async move {
        patch.status(json!({"attempts": {retry.to_string(): started.to_string()}}));
        match retry {
            0 => Err(Temporary::after(millis(300), "not yet").into()),
            1 => Err(anyhow::anyhow!("still not")),
            _ => HandlerResult::Ok(json!({"long": runtime >= millis(500)})),
        }
    };
    let operator = cluster.start(
        Operator::new("suite").resource(Resource::of::<Widget>().daemon("work", work, |o| o.backoff(millis(200)))),
    );
    create(cluster, "a", json!({"size": 1})).await;
    let path = path(cluster, "a");
    let first = cluster
        .wait(&path, |object| object["status"]["attempts"]["0"].is_string())
        .await;
    let done = cluster.wait(&path, |object| object["status"]["work"].is_object()).await;
    let attempts = &done["status"]["attempts"];
    assert_eq!(attempts.as_object().unwrap().len(), 3);
    assert!(
        attempts
            .as_object()
            .unwrap()
            .values()
            .all(|begun| *begun == first["status"]["attempts"]["0"])
    );
    assert_eq!(done["status"]["work"]["long"], true);
    operator.stop().await;
}

// B-061, G-2, G-7, G-18
async fn a_label_that_is_toggled_quickly_never_makes_two_of_a_daemon(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let running = Arc::new(AtomicUsize::new(0));
    let watch = {
        let (notes, running) = (notes.clone(), Arc::clone(&running));
        move |Daemon { stopped, .. }: Daemon<Widget>| {
            let (notes, running) = (notes.clone(), Arc::clone(&running));
            async move {
                notes.add(format!("begun {}", running.fetch_add(1, Ordering::SeqCst)));
                stopped.wait().await;
                // It takes its time, in which the label is toggled again.
                tokio::time::sleep(millis(120)).await;
                running.fetch_sub(1, Ordering::SeqCst);
                notes.add(stopped.reason().to_string());
                HandlerResult::Ok(())
            }
            .boxed()
        }
    };
    let operator = cluster.start(operator(watch, |o| o.label("active", "yes")));
    create(cluster, "a", json!({"size": 1})).await;
    for round in 0..5 {
        label(cluster, if round % 2 == 0 { json!("yes") } else { json!("no") }).await;
        tokio::time::sleep(millis(50)).await;
    }
    let is_running = |count: usize| {
        let running = Arc::clone(&running);
        async move {
            let begin = Instant::now();
            while running.load(Ordering::SeqCst) != count {
                assert!(begin.elapsed() < secs(30), "the last label does not win");
                tokio::time::sleep(millis(20)).await;
            }
            tokio::time::sleep(millis(400)).await;
            assert_eq!(running.load(Ordering::SeqCst), count);
        }
    };
    is_running(1).await;
    label(cluster, json!("no")).await;
    is_running(0).await;
    let path = path(cluster, "a");
    cluster.wait(&path, |object| finalizers(object).is_null()).await;
    operator.stop().await;
    let seen = notes.all();
    let begun: Vec<&String> = seen.iter().filter(|note| note.starts_with("begun")).collect();
    assert!(
        begun.iter().all(|note| *note == "begun 0") && begun.len() >= 2,
        "{seen:?}"
    );
    let ended = seen.iter().filter(|note| *note == "FILTERS_MISMATCH").count();
    assert_eq!(ended, begun.len(), "{seen:?}");
}

/// An operator with one daemon, and an object for it.
async fn begun(
    handler: impl Fn(Daemon<Widget>) -> BoxFuture<'static, HandlerResult> + Send + Sync + 'static,
    options: impl FnOnce(DaemonOptions<Widget>) -> DaemonOptions<Widget>,
) -> (Cluster, Working) {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let operator = cluster.start(operator(handler, options));
    create_with(&cluster, "a", json!({"labels": {"active": "yes"}}), json!({"size": 4})).await;
    (cluster, operator)
}

// G-3, G-7: also at each further start; a stop cuts the wait short, and then nothing is called.
#[tokio::test(start_paused = true)]
async fn the_initial_delay_counts_from_each_start() {
    let notes = Notes::default();
    let begin = Instant::now();
    let watch = {
        let notes = notes.clone();
        move |Daemon { stopped, .. }: Daemon<Widget>| {
            notes.add(begin.elapsed().as_secs().to_string());
            async move {
                stopped.wait().await;
                // Still ending when it matches again.
                tokio::time::sleep(secs(5)).await;
                Ok(())
            }
            .boxed()
        }
    };
    let by_size = |Delay { spec, .. }: Delay<'_, Widget>| secs(spec.size.unsigned_abs());
    let options = |o: DaemonOptions<Widget>| o.label("active", "yes").initial_delay(InitialDelay::by(by_size));
    let (cluster, operator) = begun(watch, options).await;
    let at = |second: u64| tokio::time::sleep_until(begin + secs(second));
    at(10).await;
    assert_eq!(notes.all(), ["4"]);
    label(&cluster, json!("no")).await;
    at(12).await;
    label(&cluster, json!("yes")).await;
    // It ends at 15, and the next one begins four seconds later.
    at(30).await;
    assert_eq!(notes.all(), ["4", "19"]);
    label(&cluster, json!("no")).await;
    at(40).await;
    label(&cluster, json!("yes")).await;
    at(42).await;
    delete(&cluster).await;
    cluster.wait(&path(&cluster, "a"), Value::is_null).await;
    assert!(begin.elapsed() < secs(43), "the deletion does not wait for the delay");
    assert_eq!(notes.all(), ["4", "19"], "what is still waiting is not called");
    operator.stop().await;
}

// G-24: nothing but a stop ends a daemon whose patch is not taken.
#[tokio::test(start_paused = true)]
async fn a_daemon_outlives_a_server_that_takes_no_patch() {
    let notes = Notes::default();
    let work = {
        let notes = notes.clone();
        move |Daemon { retry, patch, .. }: Daemon<Widget>| {
            notes.add(retry.to_string());
            patch.status(json!({"attempt": retry}));
            async { Err(Temporary::after(secs(10), "again").into()) }.boxed()
        }
    };
    let (cluster, operator) = begun(work, |o| o).await;
    notes.wait_for(2).await;
    let faults = cluster.embedded.as_ref().unwrap().faults();
    let patches = || Traffic::any().verb("patch").resource("widgets");
    faults.plan(patches(), 30, Failure::status(500));
    let broken = notes.all().len();
    notes.wait_for(broken + 1).await;
    let path = path(&cluster, "a");
    let goes_on = |count: usize| {
        let (cluster, path) = (&cluster, &path);
        async move {
            let reached = |object: &Value| object["status"]["attempt"].as_u64() >= Some(count as u64);
            let begin = Instant::now();
            while !reached(&cluster.get(path).await) {
                assert!(begin.elapsed() < secs(3600), "it does not go on");
                tokio::time::sleep(secs(1)).await;
            }
        }
    };
    goes_on(broken + 1).await;
    // Nor does a refusal.
    faults.plan(patches(), 1, Failure::status(422));
    let refused = notes.all().len();
    goes_on(refused + 1).await;
    operator.stop().await;
}

// G-24, G-14: a patch that cannot be sent holds up neither the deletion nor the operator's end.
#[tokio::test(start_paused = true)]
async fn a_patch_that_cannot_be_sent_is_given_up_when_the_daemon_is_to_stop() {
    let notes = Notes::default();
    let work = {
        let notes = notes.clone();
        move |Daemon { patch, .. }: Daemon<Widget>| {
            notes.add("called");
            patch.status(json!({"x": 1}));
            async { Ok(()) }.boxed()
        }
    };
    let (cluster, operator) = begun(work, |o| o.initial_delay(secs(5))).await;
    let faults = cluster.embedded.as_ref().unwrap().faults();
    let patches = Traffic::any().verb("patch").resource("widgets").subresource("status");
    tokio::time::sleep(secs(3)).await;
    faults.plan(patches, 1000, Failure::status(503));
    notes.wait_for(1).await;
    tokio::time::sleep(secs(600)).await;
    let path = path(&cluster, "a");
    assert_eq!(cluster.get(&path).await["status"], Value::Null);
    assert_eq!(
        finalizers(&cluster.get(&path).await),
        &json!([FINALIZER]),
        "it is not over yet"
    );
    let begin = Instant::now();
    delete(&cluster).await;
    cluster.wait(&path, Value::is_null).await;
    assert!(begin.elapsed() < secs(1), "{:?}", begin.elapsed());
    operator.stop().await;
}

/// Fails for good, fails, and returns, one after the other; notes the second of each call with its `retry`.
fn ending(
    notes: &Notes,
    begin: Instant,
) -> impl Fn(Daemon<Widget>) -> BoxFuture<'static, HandlerResult> + Send + Sync + 'static {
    let (notes, calls) = (notes.clone(), AtomicUsize::new(0));
    move |Daemon { retry, .. }: Daemon<Widget>| {
        notes.add(format!("{} {retry}", begin.elapsed().as_secs()));
        let call = calls.fetch_add(1, Ordering::SeqCst);
        async move {
            match call {
                0 => Err(Permanent::new("no").into()),
                1 | 2 => Err(anyhow::anyhow!("not yet")),
                3 => panic!("broken"),
                _ => Ok(()),
            }
        }
        .boxed()
    }
}

async fn endings(options: impl FnOnce(DaemonOptions<Widget>) -> DaemonOptions<Widget>) -> (Vec<String>, Value) {
    let (notes, begin) = (Notes::default(), Instant::now());
    let (cluster, operator) = begun(ending(&notes, begin), options).await;
    tokio::time::sleep(secs(48)).await;
    let object = cluster.get(&path(&cluster, "a")).await;
    operator.stop().await;
    (notes.all(), finalizers(&object).clone())
}

// G-6, G, *Improve on*: a panic is an error as any other.
#[tokio::test(start_paused = true)]
async fn a_daemon_is_started_again_as_its_option_says() {
    let nothing = (vec!["0 0".to_owned()], Value::Null);
    assert_eq!(endings(|o| o.backoff(secs(10))).await, nothing);
    assert_eq!(endings(|o| o.backoff(secs(10)).restart(Restart::Never)).await, nothing);
    // Failures: at once; then with two retries, by an error and then by the panic.
    let (seen, held) = endings(|o| o.backoff(secs(10)).retries(3).restart(Restart::OnFailure)).await;
    assert_eq!(seen, ["0 0", "10 0", "20 1", "30 2", "40 0"]);
    assert_eq!(held, Value::Null, "it has returned");
    let (seen, held) = endings(|o| o.backoff(secs(5)).retries(3).restart(Restart::Always)).await;
    assert_eq!(
        seen,
        [
            "0 0", "5 0", "10 1", "15 2", "20 0", "25 0", "30 0", "35 0", "40 0", "45 0"
        ]
    );
    assert_eq!(held, json!([FINALIZER]));
}

// G-6, G-23: the limits count from the start, and end the daemon.
#[tokio::test(start_paused = true)]
async fn limits_end_a_daemon_for_good() {
    for limited in [true, false] {
        let notes = Notes::default();
        let fail = {
            let notes = notes.clone();
            move |_: Daemon<Widget>| {
                notes.add("called");
                async { Err(anyhow::anyhow!("never")) }.boxed()
            }
        };
        let options = |o: DaemonOptions<Widget>| {
            let o = o.backoff(secs(5));
            if limited { o.retries(3) } else { o.timeout(secs(14)) }
        };
        let (cluster, operator) = begun(fail, options).await;
        tokio::time::sleep(secs(100)).await;
        assert_eq!(notes.all().len(), 3);
        assert_eq!(finalizers(&cluster.get(&path(&cluster, "a")).await), &Value::Null);
        operator.stop().await;
    }
}

// G-10
#[tokio::test(start_paused = true)]
async fn a_daemon_that_has_ended_says_so() {
    let kept: Arc<Mutex<Option<Stopped>>> = Arc::default();
    let work = {
        let kept = Arc::clone(&kept);
        move |Daemon { stopped, .. }: Daemon<Widget>| {
            assert_eq!(stopped.reason(), StopReason::default());
            *kept.lock().unwrap() = Some(stopped);
            async move {
                tokio::time::sleep(secs(5)).await;
                Ok(())
            }
            .boxed()
        }
    };
    let (_cluster, operator) = begun(work, |o| o).await;
    let begin = Instant::now();
    let kept = loop {
        match kept.lock().unwrap().clone() {
            Some(kept) => break kept,
            None if begin.elapsed() < secs(60) => {}
            None => panic!("it never began"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    assert!(!kept.is_set());
    // What the function has left behind learns of its end, too.
    assert!(kept.wait_for(secs(60)).await);
    assert_eq!(kept.reason(), StopReason::DONE);
    operator.stop().await;
}

// G-18: a daemon whose filter breaks goes on.
#[tokio::test(start_paused = true)]
async fn a_filter_that_breaks_leaves_its_daemon_as_it_is() {
    let notes = Notes::default();
    let filter = |filter: kopf_runtime::Filter<'_, Widget>| {
        assert!(filter.spec.size < 10, "no idea");
        filter.spec.size > 1
    };
    let (cluster, operator) = begun(waiting(&notes), |o| o.when(filter)).await;
    notes.wait_for(1).await;
    let path = path(&cluster, "a");
    cluster.patch(&path, &json!({"spec": {"size": 11}})).await;
    tokio::time::sleep(secs(5)).await;
    assert_eq!(notes.all(), ["begun"]);
    cluster.patch(&path, &json!({"spec": {"size": 1}})).await;
    tokio::time::sleep(secs(5)).await;
    assert_eq!(notes.all(), ["begun", "FILTERS_MISMATCH"]);
    operator.stop().await;
    free(&cluster).await;
}
