//! When timers call: over many ticks, beside other changes, and after a restart.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kopf_runtime::{Change, HandlerResult, InitialDelay, Operator, Resource, Temporary, Timer, millis, secs};
use kopf_tests::cluster::Cluster;
use kopf_tests::on_both_servers;
use kopf_tests::widgets::{self, Notes, Widget, create, path};
use serde_json::{Value, json};
use tokio::time::Instant;

on_both_servers! {
    a_slow_body_neither_overlaps_nor_drifts;
    calls_after_a_restart_are_spread;
}

/// When a call began, and when it ended, if it has.
type Call = (Instant, Option<Instant>);

/// The calls of a timer, in order.
#[derive(Clone, Debug, Default)]
struct Calls(Arc<Mutex<Vec<Call>>>);

impl Calls {
    /// A timer whose calls take so long.
    fn taking(
        &self,
        body: Duration,
    ) -> impl Fn(Timer<Widget>) -> futures::future::BoxFuture<'static, HandlerResult> + Send + Sync + 'static {
        let calls = Arc::clone(&self.0);
        move |_: Timer<Widget>| {
            let number = {
                let mut calls = calls.lock().unwrap();
                calls.push((Instant::now(), None));
                calls.len() - 1
            };
            let calls = Arc::clone(&calls);
            Box::pin(async move {
                tokio::time::sleep(body).await;
                calls.lock().unwrap()[number].1 = Some(Instant::now());
                Ok(())
            })
        }
    }

    /// Those that have ended, once there are as many.
    async fn wait_for(&self, count: usize) -> Vec<(Instant, Instant)> {
        loop {
            let ended: Vec<_> = self
                .0
                .lock()
                .unwrap()
                .iter()
                .map_while(|&(from, to)| Some((from, to?)))
                .collect();
            if ended.len() >= count {
                return ended[..count].to_vec();
            }
            tokio::time::sleep(millis(50)).await;
        }
    }
}

// B-065, T-3, T-13: whatever happens to the object meanwhile.
async fn a_slow_body_neither_overlaps_nor_drifts(cluster: &Cluster) {
    widgets::install(cluster).await;
    let embedded = cluster.embedded.is_some();
    // Scaled on the real server, where time is real.
    let (second, count) = if embedded { (secs(1), 100) } else { (millis(10), 10) };
    let (interval, body) = (30 * second, 12 * second);
    let (relaxed, sharp) = (Calls::default(), Calls::default());
    let resource = Resource::of::<Widget>()
        .timer("relaxed", relaxed.taking(body), |o| o.interval(interval))
        .timer("sharp", sharp.taking(body), |o| o.interval(interval).sharp(true));
    let operator = cluster.start(Operator::new("suite").resource(resource));
    create(cluster, "a", json!({"size": 0})).await;
    let object = path(cluster, "a");
    let touch = async {
        for size in 1.. {
            tokio::time::sleep(20 * second).await;
            cluster.patch(&object, &json!({"spec": {"size": size}})).await;
        }
    };
    let (relaxed, sharp) = tokio::select! {
        () = touch => unreachable!(),
        both = async { (relaxed.wait_for(count).await, sharp.wait_for(count).await) } => both,
    };
    operator.stop().await;
    cluster.patch(&object, &json!({"metadata": {"finalizers": null}})).await;
    for calls in [&relaxed, &sharp] {
        for two in calls.windows(2) {
            assert!(two[0].1 <= two[1].0, "two calls at once");
        }
    }
    for two in relaxed.windows(2) {
        let pause = two[1].0 - two[0].1;
        assert!(pause >= interval, "{pause:?}");
        assert!(!embedded || pause == interval, "{pause:?}");
    }
    if embedded {
        for (number, (begun, _)) in (0..).zip(&sharp) {
            assert_eq!(*begun - sharp[0].0, number * interval, "no drift");
        }
    }
}

// B-066: as many calls at any time as their share, or a few times that.
async fn calls_after_a_restart_are_spread(cluster: &Cluster) {
    const PARTS: usize = 10;
    widgets::install(cluster).await;
    let embedded = cluster.embedded.is_some();
    let (count, interval) = if embedded { (5_000, secs(300)) } else { (100, secs(5)) };
    for number in 0..count {
        create(cluster, &format!("w{number}"), json!({"size": 1})).await;
    }
    let operator = |calls: &Calls| {
        let tick = calls.taking(Duration::ZERO);
        let resource = Resource::of::<Widget>().timer("tick", tick, |o| {
            o.interval(interval)
                .optional(true)
                .initial_delay(InitialDelay::up_to(interval))
        });
        cluster.start(Operator::new("suite").resource(resource))
    };
    let first = operator(&Calls::default());
    tokio::time::sleep(millis(500)).await;
    first.stop().await;
    let (calls, begin) = (Calls::default(), Instant::now());
    let second = operator(&calls);
    let calls = calls.wait_for(count).await;
    second.stop().await;
    // A slow machine calls later, never earlier.
    let mut parts = [0; PARTS];
    for (begun, _) in &calls {
        let at = (begun.duration_since(begin).as_millis() * 10 / interval.as_millis()) as usize;
        parts[at.min(PARTS - 1)] += 1;
    }
    assert!(parts[0] <= 3 * count / PARTS, "{parts:?}");
    if embedded {
        let mut each_second = [0; 300];
        for (begun, _) in &calls {
            let at = usize::try_from((*begun - begin).as_secs()).unwrap();
            each_second[at.min(299)] += 1;
        }
        let most = each_second.iter().max().unwrap();
        assert!(*most <= 4 * count / 300, "{most} in one second");
        assert!(parts.iter().all(|&part| part >= count / PARTS / 2), "{parts:?}");
    }
}

/// An operator with one timer, and the times of its calls in milliseconds since the creation of its object.
async fn noted(
    resource: impl FnOnce(Resource<Widget>) -> Resource<Widget>,
    options: impl FnOnce(kopf_runtime::TimerOptions<Widget>) -> kopf_runtime::TimerOptions<Widget>,
    failing: bool,
) -> (Cluster, kopf_tests::cluster::Working, Notes) {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let (notes, begin) = (Notes::default(), Instant::now());
    let tick = {
        let notes = notes.clone();
        move |Timer { retry, .. }: Timer<Widget>| {
            notes.add(format!("{retry} at {}", begin.elapsed().as_millis()));
            async move {
                if failing && retry == 0 {
                    return Err(Temporary::after(millis(3450), "not yet").into());
                }
                HandlerResult::Ok(())
            }
        }
    };
    let resource = resource(Resource::of::<Widget>()).timer("tick", tick, options);
    let operator = cluster.start(Operator::new("suite").resource(resource));
    create(&cluster, "a", json!({"size": 1})).await;
    (cluster, operator, notes)
}

// T-4: the delay of the error counts instead of the interval, also where it is the longer one.
#[tokio::test(start_paused = true)]
async fn a_delay_takes_the_place_of_the_interval() {
    let (_cluster, operator, notes) = noted(|resource| resource, |o| o.interval(millis(2340)), true).await;
    let notes = notes.wait_for(3).await;
    operator.stop().await;
    assert_eq!(notes[..3], ["0 at 0", "1 at 3450", "0 at 5790"]);
}

// T-8, T-9, improved: edits of the status do not disturb, with and without handlers that store what they handled.
#[tokio::test(start_paused = true)]
async fn edits_of_the_status_leave_the_object_alone() {
    let made = |_: Change<Widget>| async { HandlerResult::Ok(()) };
    for handled in [true, false] {
        let resource = |resource: Resource<Widget>| {
            if handled {
                resource.on_create("made", made, |o| o)
            } else {
                resource
            }
        };
        let (cluster, operator, notes) = noted(resource, |o| o.idle(millis(400)), false).await;
        let status = format!("{}/status", path(&cluster, "a"));
        for edit in 0..10 {
            tokio::time::sleep(millis(200)).await;
            cluster.patch(&status, &json!({"status": {"edit": edit}})).await;
        }
        operator.stop().await;
        assert_eq!(notes.all(), ["0 at 400"], "with a handler of creations: {handled}");
    }
}

// T-11: the wait for the next change is one as well, and so are the wait for quiet and that for the first call.
#[tokio::test(start_paused = true)]
async fn a_timer_that_waits_ends_promptly() {
    type Options = kopf_runtime::TimerOptions<Widget>;
    type Wait = fn(Options) -> Options;
    let waits: [(Wait, usize); 3] = [
        (|o| o.idle(millis(100)), 1),
        (|o| o.idle(secs(3600)), 0),
        (|o| o.interval(secs(1)).initial_delay(secs(3600)), 0),
    ];
    for (options, calls) in waits {
        let (cluster, operator, notes) = noted(|resource| resource, options, false).await;
        tokio::time::sleep(secs(10)).await;
        assert_eq!(notes.all().len(), calls);
        let begin = Instant::now();
        cluster
            .request("DELETE", &path(&cluster, "a"), &Value::Null)
            .await
            .unwrap();
        cluster.wait(&path(&cluster, "a"), Value::is_null).await;
        assert!(begin.elapsed() < secs(1), "{:?}", begin.elapsed());
        operator.stop().await;
        assert_eq!(notes.all().len(), calls);
    }
}
