//! Timers.

use std::time::Duration;

use kopf_runtime::{HandlerResult, OnPermanent, Operator, Permanent, Resource, Timer, blocking, millis, secs};
use kopf_tests::cluster::{Cluster, Working};
use kopf_tests::on_both_servers;
use kopf_tests::widgets::{self, Notes, Widget, create, path};
use serde_json::{Value, json};
use tokio::time::Instant;

on_both_servers! {
    a_timer_ticks_with_its_object_and_ends_with_it;
    a_timer_sees_the_current_spec;
    a_timer_goes_on_after_failures;
}

// T-1, T-3, Z-2
async fn a_timer_ticks_with_its_object_and_ends_with_it(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let tick = {
        let notes = notes.clone();
        move |_: Timer<Widget>| {
            notes.add("tick");
            let count = notes.all().len();
            async move { HandlerResult::Ok(count) }
        }
    };
    let operator = cluster.start(
        Operator::new("suite").resource(Resource::of::<Widget>().timer("tick", tick, |o| o.interval(millis(300)))),
    );
    let path = path(cluster, "a");
    create(cluster, "a", json!({"size": 1})).await;
    let ticking = cluster
        .wait(&path, |object| object["status"]["tick"].as_i64() >= Some(3))
        .await;
    assert_eq!(
        ticking["metadata"]["finalizers"],
        json!(["kopf.zalando.org/KopfFinalizerMarker"])
    );
    cluster.request("DELETE", &path, &Value::Null).await.unwrap();
    cluster.wait(&path, Value::is_null).await;
    let count = notes.all().len();
    tokio::time::sleep(secs(1)).await;
    assert_eq!(notes.all().len(), count, "no tick after the end");
    operator.stop().await;
}

// K-11, T-14
async fn a_timer_sees_the_current_spec(cluster: &Cluster) {
    widgets::install(cluster).await;
    let look = |Timer { spec, .. }: Timer<Widget>| async move { HandlerResult::Ok(spec.size) };
    let operator = cluster.start(
        Operator::new("suite").resource(Resource::of::<Widget>().timer("look", look, |o| o.interval(millis(200)))),
    );
    let path = path(cluster, "a");
    create(cluster, "a", json!({"size": 1})).await;
    cluster.wait(&path, |object| object["status"]["look"] == 1).await;
    cluster.patch(&path, &json!({"spec": {"size": 2}})).await;
    cluster.wait(&path, |object| object["status"]["look"] == 2).await;
    operator.stop().await;
    cluster.patch(&path, &json!({"metadata": {"finalizers": null}})).await;
}

// T-4, T-5, T-6, B-064
async fn a_timer_goes_on_after_failures(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let tick = {
        let notes = notes.clone();
        move |Timer { retry, .. }: Timer<Widget>| {
            notes.add(format!("{retry}"));
            async { HandlerResult::<()>::Err(anyhow::anyhow!("still down")) }
        }
    };
    let operator = cluster.start(
        Operator::new("suite").resource(Resource::of::<Widget>().timer("tick", tick, |o| {
            o.interval(millis(200)).retries(2).backoff(millis(100))
        })),
    );
    create(cluster, "a", json!({"size": 1})).await;
    let first = notes.wait_for(6).await;
    operator.stop().await;
    assert_eq!(first[..6], ["0", "1", "0", "1", "0", "1"]);
    cluster
        .patch(&path(cluster, "a"), &json!({"metadata": {"finalizers": null}}))
        .await;
}

/// Notes the time of each call since the first, in milliseconds.
fn times(
    notes: &Notes,
    body: u64,
    failures: u32,
) -> impl Fn(Timer<Widget>) -> futures::future::BoxFuture<'static, HandlerResult> + Send + Sync + 'static {
    let (notes, begin) = (notes.clone(), std::sync::OnceLock::new());
    move |Timer { retry, .. }: Timer<Widget>| {
        let begin = *begin.get_or_init(Instant::now);
        notes.add(begin.elapsed().as_millis().to_string());
        Box::pin(async move {
            tokio::time::sleep(millis(body)).await;
            if retry < failures {
                Err(anyhow::anyhow!("not yet"))
            } else {
                Ok(())
            }
        })
    }
}

async fn schedule(
    body: u64,
    failures: u32,
    options: impl FnOnce(kopf_runtime::TimerOptions<Widget>) -> kopf_runtime::TimerOptions<Widget>,
    count: usize,
) -> Vec<String> {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let notes = Notes::default();
    let handler = times(&notes, body, failures);
    let operator =
        cluster.start(Operator::new("suite").resource(Resource::of::<Widget>().timer("tick", handler, options)));
    create(&cluster, "a", json!({"size": 1})).await;
    let notes = notes.wait_for(count).await;
    operator.stop().await;
    notes[..count].to_vec()
}

// T-3
#[tokio::test(start_paused = true)]
async fn intervals_count_from_the_end_or_on_a_grid() {
    assert_eq!(
        schedule(300, 0, |o| o.interval(secs(1)), 3).await,
        ["0", "1300", "2600"]
    );
    assert_eq!(
        schedule(300, 0, |o| o.interval(secs(1)).sharp(true), 3).await,
        ["0", "1000", "2000"]
    );
    assert_eq!(
        schedule(1000, 0, |o| o.interval(secs(1)).sharp(true), 3).await,
        ["0", "2000", "4000"]
    );
}

// T-4: three failures, then success; the next series begins after the interval.
#[tokio::test(start_paused = true)]
async fn retries_come_after_the_backoff_and_a_new_series_after_the_interval() {
    let times = schedule(0, 3, |o| o.interval(secs(10)).backoff(secs(5)), 5).await;
    assert_eq!(times, ["0", "5000", "10000", "15000", "25000"]);
}

// T-2, T-7, T-8, T-10, T-11
#[tokio::test(start_paused = true)]
async fn an_idle_timer_waits_until_the_object_is_left_alone() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let notes = Notes::default();
    let begin = Instant::now();
    let handler = {
        let notes = notes.clone();
        move |_: Timer<Widget>| {
            notes.add(begin.elapsed().as_secs().to_string());
            async { HandlerResult::Ok(()) }
        }
    };
    let operator =
        cluster.start(
            Operator::new("suite").resource(Resource::of::<Widget>().timer("tick", handler, |o| o.idle(secs(10)))),
        );
    let path = path(&cluster, "a");
    create(&cluster, "a", json!({"size": 1})).await;
    tokio::time::sleep(secs(6)).await;
    cluster.patch(&path, &json!({"spec": {"size": 2}})).await;
    tokio::time::sleep(secs(6)).await;
    // The status is not part of the essence: it does not disturb the object's rest.
    cluster
        .patch(&format!("{path}/status"), &json!({"status": {"x": 1}}))
        .await;
    tokio::time::sleep(secs(60)).await;
    assert_eq!(notes.all(), ["16"], "one call per quiet period");
    cluster.patch(&path, &json!({"spec": {"size": 3}})).await;
    tokio::time::sleep(secs(60)).await;
    assert_eq!(notes.all(), ["16", "82"]);
    cluster.request("DELETE", &path, &Value::Null).await.unwrap();
    cluster.wait(&path, Value::is_null).await;
    operator.stop().await;
}

// T-7, T-9, T-10, B-065: what a timer does itself is no change; what others do meanwhile is one, be it in the same instant.
#[tokio::test(start_paused = true)]
async fn an_idle_timer_is_disturbed_by_others_and_not_by_itself() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let notes = Notes::default();
    let begin = Instant::now();
    let (client, place) = (cluster.client.clone(), path(&cluster, "a"));
    let tick = {
        let notes = notes.clone();
        move |Timer { patch, .. }: Timer<Widget>| {
            let call = notes.all().len();
            notes.add(begin.elapsed().as_secs().to_string());
            patch.spec(json!({"size": call + 100}));
            patch.meta().label("call", call.to_string());
            let change = json!({"metadata": {"labels": {"foreign": "yes"}}}).to_string();
            let request = http::Request::patch(&place).header("content-type", "application/merge-patch+json");
            let request = request.body(change.into_bytes()).unwrap();
            let client = client.clone();
            async move {
                if call == 1 {
                    client.request::<Value>(request).await.unwrap();
                }
                HandlerResult::Ok(())
            }
        }
    };
    let operator = cluster
        .start(Operator::new("suite").resource(Resource::of::<Widget>().timer("tick", tick, |o| o.idle(secs(10)))));
    create(&cluster, "a", json!({"size": 1})).await;
    tokio::time::sleep(secs(100)).await;
    assert_eq!(notes.all(), ["10"], "its own patch disturbed it");
    cluster.patch(&path(&cluster, "a"), &json!({"spec": {"size": 2}})).await;
    tokio::time::sleep(secs(100)).await;
    assert_eq!(notes.all(), ["10", "110", "120"]);
    operator.stop().await;
}

/// An operator with one timer that notes its calls, and an object for it.
async fn ticking(
    notes: &Notes,
    options: impl FnOnce(kopf_runtime::TimerOptions<Widget>) -> kopf_runtime::TimerOptions<Widget>,
) -> (Cluster, Working) {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let handler = {
        let notes = notes.clone();
        move |_: Timer<Widget>| {
            notes.add("tick");
            async { HandlerResult::Ok(()) }
        }
    };
    let operator =
        cluster.start(Operator::new("suite").resource(Resource::of::<Widget>().timer("tick", handler, options)));
    create(&cluster, "a", json!({"size": 1})).await;
    (cluster, operator)
}

// T-12, G-6: whatever else happens to the object, which needs no finalizer any more.
#[tokio::test(start_paused = true)]
async fn a_one_shot_is_called_once() {
    let notes = Notes::default();
    let (cluster, operator) = ticking(&notes, |o| o).await;
    notes.wait_for(1).await;
    let path = path(&cluster, "a");
    for size in 2..5 {
        tokio::time::sleep(secs(10)).await;
        cluster.patch(&path, &json!({"spec": {"size": size}})).await;
    }
    tokio::time::sleep(secs(60)).await;
    assert_eq!(notes.all(), ["tick"]);
    assert_eq!(cluster.get(&path).await["metadata"]["finalizers"], Value::Null);
    operator.stop().await;
}

// G-7, G-18: what was stopped before it ended may start again.
#[tokio::test(start_paused = true)]
async fn a_timer_that_was_stopped_starts_again_when_it_matches_again() {
    let notes = Notes::default();
    let options = |o: kopf_runtime::TimerOptions<Widget>| o.interval(secs(10)).label("off", kopf_runtime::ABSENT);
    let (cluster, operator) = ticking(&notes, options).await;
    notes.wait_for(2).await;
    let path = path(&cluster, "a");
    cluster
        .patch(&path, &json!({"metadata": {"labels": {"off": "y"}}}))
        .await;
    tokio::time::sleep(secs(60)).await;
    let before = notes.all().len();
    assert!(before <= 3, "{before} calls");
    cluster
        .patch(&path, &json!({"metadata": {"labels": {"off": null}}}))
        .await;
    notes.wait_for(before + 2).await;
    operator.stop().await;
}

// T-7: also a quiet period that no clock can hold.
#[tokio::test(start_paused = true)]
async fn an_endless_quiet_period_never_ends() {
    let notes = Notes::default();
    let (cluster, operator) = ticking(&notes, |o| o.idle(Duration::MAX)).await;
    tokio::time::sleep(secs(60)).await;
    let path = path(&cluster, "a");
    cluster.request("DELETE", &path, &Value::Null).await.unwrap();
    cluster.wait(&path, Value::is_null).await;
    operator.stop().await;
    assert!(notes.all().is_empty());
}

// T-3
#[tokio::test(start_paused = true)]
async fn an_interval_of_nothing_still_leaves_a_pause() {
    let notes = Notes::default();
    let (_cluster, operator) = ticking(&notes, |o| o.interval(Duration::ZERO)).await;
    tokio::time::sleep(secs(1)).await;
    operator.stop().await;
    let calls = notes.all().len();
    assert!((10..=100).contains(&calls), "{calls} calls in a second");
}

// T-5, E-8: the quiet period is no part of the time limit.
#[tokio::test(start_paused = true)]
async fn waiting_for_a_quiet_period_does_not_use_up_the_timeout() {
    let notes = Notes::default();
    let (_cluster, operator) = ticking(&notes, |o| o.idle(secs(10)).timeout(secs(5))).await;
    notes.wait_for(1).await;
    operator.stop().await;
}

// B-059
#[tokio::test(start_paused = true)]
async fn a_timer_learns_of_the_operators_end() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let notes = Notes::default();
    let handler = {
        let notes = notes.clone();
        move |Timer { stopped, .. }: Timer<Widget>| {
            let notes = notes.clone();
            notes.add("begun");
            async move {
                stopped.wait().await;
                notes.add("ended");
                HandlerResult::Ok(())
            }
        }
    };
    let operator =
        cluster.start(
            Operator::new("suite").resource(Resource::of::<Widget>().timer("tick", handler, |o| o.interval(secs(1)))),
        );
    create(&cluster, "a", json!({"size": 1})).await;
    notes.wait_for(1).await;
    let begin = Instant::now();
    operator.stop().await;
    assert_eq!(notes.all(), ["begun", "ended"]);
    assert!(begin.elapsed() < secs(1));
}

// T-13, K-12, E-10: on the real clock, which threads need.
#[tokio::test]
async fn a_blocking_function_never_runs_beside_itself() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let notes = Notes::default();
    let handler = {
        let notes = notes.clone();
        blocking(move |_: Timer<Widget>| {
            notes.add("begun");
            std::thread::sleep(millis(60));
            notes.add("ended");
            HandlerResult::Ok(true)
        })
    };
    let operator = cluster.start(Operator::new("suite").resource(Resource::of::<Widget>().timer(
        "tick",
        handler,
        |o| o.interval(millis(1)).timeout(millis(10)),
    )));
    create(&cluster, "a", json!({"size": 1})).await;
    let seen = notes.wait_for(6).await;
    assert_eq!(seen[..6], ["begun", "ended", "begun", "ended", "begun", "ended"]);
    cluster
        .wait(&path(&cluster, "a"), |object| object["status"]["tick"] == true)
        .await;
    operator.stop().await;
}

// T-5, T-6: a permanent error ends a series, and the timer only if that was wished for.
#[tokio::test(start_paused = true)]
async fn a_permanent_error_ends_the_series_or_the_timer() {
    for (then, calls) in [
        (None, 26),
        (Some(OnPermanent::Continue), 26),
        (Some(OnPermanent::Stop), 1),
    ] {
        let cluster = Cluster::embedded().await;
        widgets::install(&cluster).await;
        let notes = Notes::default();
        let handler = {
            let notes = notes.clone();
            move |Timer { retry, .. }: Timer<Widget>| {
                notes.add(retry.to_string());
                async { HandlerResult::<()>::Err(Permanent::new("no").into()) }
            }
        };
        let options = |o: kopf_runtime::TimerOptions<Widget>| {
            let o = o.interval(millis(200));
            match then {
                Some(then) => o.on_permanent(then),
                None => o,
            }
        };
        let operator =
            cluster.start(Operator::new("suite").resource(Resource::of::<Widget>().timer("tick", handler, options)));
        create(&cluster, "a", json!({"size": 1})).await;
        notes.wait_for(1).await;
        tokio::time::sleep(millis(5050)).await;
        let seen = notes.all();
        assert!(seen.len().abs_diff(calls) <= 1, "{then:?}: {} calls", seen.len());
        assert!(seen.iter().all(|retry| retry == "0"));
        let held = !cluster.get(&path(&cluster, "a")).await["metadata"]["finalizers"].is_null();
        assert_eq!(held, then != Some(OnPermanent::Stop), "what is over needs no finalizer");
        operator.stop().await;
    }
}

// T, *Improve on*: no more timers at once than wished for, and whoever waits can be stopped.
#[tokio::test(start_paused = true)]
async fn timers_wait_for_their_turn() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let notes = Notes::default();
    let running = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let handler = {
        let (notes, running) = (notes.clone(), running.clone());
        move |Timer { name, .. }: Timer<Widget>| {
            let (notes, running) = (notes.clone(), running.clone());
            async move {
                use std::sync::atomic::Ordering::SeqCst;
                let beside = running.fetch_add(1, SeqCst);
                tokio::time::sleep(secs(10)).await;
                running.fetch_sub(1, SeqCst);
                notes.add(format!("{name} {beside}"));
                HandlerResult::Ok(())
            }
        }
    };
    let operator = Operator::new("suite")
        .settings(|settings| settings.background.timer_limit = Some(2))
        .resource(Resource::of::<Widget>().timer("tick", handler, |o| o.interval(secs(1000)).timeout(secs(15))));
    let operator = cluster.start(operator);
    for name in ["a", "b", "c", "d", "e", "f"] {
        create(&cluster, name, json!({"size": 1})).await;
    }
    // The fifth and sixth would begin after twenty seconds; the wait is no part of their `timeout`.
    tokio::time::sleep(secs(5)).await;
    let begin = Instant::now();
    let path = path(&cluster, "f");
    cluster.request("DELETE", &path, &Value::Null).await.unwrap();
    cluster.wait(&path, Value::is_null).await;
    assert!(begin.elapsed() < secs(1), "{:?}", begin.elapsed());
    tokio::time::sleep(secs(60)).await;
    let mut seen = notes.all();
    seen.sort();
    let (names, beside): (Vec<&str>, Vec<&str>) = seen.iter().map(|note| note.split_once(' ').unwrap()).unzip();
    assert_eq!(names, ["a", "b", "c", "d", "e"]);
    assert!(beside.contains(&"1"), "{beside:?}");
    assert!(beside.iter().all(|count| ["0", "1"].contains(count)), "{beside:?}");
    operator.stop().await;
}

// T-15: a server that takes no patch delays a timer, and does not end it.
#[tokio::test(start_paused = true)]
async fn a_timer_outlives_a_server_that_takes_no_patch() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let notes = Notes::default();
    let handler = {
        let notes = notes.clone();
        move |_: Timer<Widget>| {
            notes.add("tick");
            let count = notes.all().len();
            async move { HandlerResult::Ok(count) }
        }
    };
    let operator =
        cluster.start(
            Operator::new("suite").resource(Resource::of::<Widget>().timer("tick", handler, |o| o.interval(secs(10)))),
        );
    create(&cluster, "a", json!({"size": 1})).await;
    notes.wait_for(2).await;
    let faults = cluster.embedded.as_ref().unwrap().faults();
    let patches = kopf_testserver::Traffic::any().verb("patch").resource("widgets");
    for status in [500, 422] {
        faults.plan(
            patches.clone(),
            if status == 500 { 25 } else { 1 },
            kopf_testserver::Failure::status(status),
        );
        let before = notes.all().len();
        let begin = Instant::now();
        while notes.all().len() < before + 3 {
            assert!(begin.elapsed() < secs(7200), "it has ended");
            tokio::time::sleep(secs(1)).await;
        }
    }
    operator.stop().await;
}
