//! What is kept of objects, and for how long. What stays inside the runtime is counted by a test of the crate.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use kopf_runtime::{Change, Daemon, HandlerResult, Kind, Operator, Reference, Resource, Timer, hours, millis};
use kopf_tests::cluster::Cluster;
use kopf_tests::on_both_servers;
use kopf_tests::widgets::{self, Notes, Widget, WidgetSpec, create, path};
use serde_json::{Value, json};

on_both_servers! {
    nothing_is_kept_of_an_object_that_is_gone;
    every_object_reaches_its_final_state_with_few_workers;
}

/// Counts as long as it is there.
#[derive(Debug)]
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn among(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A widget with a memo that is counted.
struct Noted;

impl Kind for Noted {
    type Spec = WidgetSpec;
    type Status = Value;
    type Memo = Counted;
    const REFERENCE: Reference = Widget::REFERENCE;
}

// B-087, M-1: the memo, and what tasks hold.
async fn nothing_is_kept_of_an_object_that_is_gone(cluster: &Cluster) {
    widgets::install(cluster).await;
    let rounds = if cluster.embedded.is_some() { 40 } else { 3 };
    let (memos, tasks, made) = (
        Arc::<AtomicUsize>::default(),
        Arc::<AtomicUsize>::default(),
        Notes::default(),
    );
    let attend = {
        let tasks = Arc::clone(&tasks);
        move |Daemon { stopped, .. }: Daemon<Noted>| {
            let counted = Counted::among(&tasks);
            async move {
                stopped.wait().await;
                drop(counted);
                HandlerResult::Ok(())
            }
        }
    };
    // Never ends by itself.
    let tick = {
        let tasks = Arc::clone(&tasks);
        move |_: Timer<Noted>| {
            let counted = Counted::among(&tasks);
            async move {
                std::future::pending::<()>().await;
                drop(counted);
                HandlerResult::Ok(())
            }
        }
    };
    let fill = {
        let made = made.clone();
        move |Change { name, .. }: Change<Noted>| {
            made.add(name.clone());
            async { HandlerResult::Ok(()) }
        }
    };
    let note = {
        let memos = Arc::clone(&memos);
        move |_: &Arc<()>| Arc::new(Counted::among(&memos))
    };
    let resource = Resource::with_memo::<Noted, ()>(note)
        .on_create("fill", fill, |o| o)
        .daemon("attend", attend, |o| o)
        .timer("tick", tick, |o| o.interval(hours(1)).cancellation_timeout(millis(100)));
    let operator = cluster.start(Operator::new("suite").resource(resource));
    let count = |counter: &AtomicUsize| counter.load(Ordering::SeqCst);
    for round in 0..rounds {
        for name in ["a", "b", "c"] {
            create(cluster, name, json!({"size": 1})).await;
        }
        made.wait_for(3 * (round + 1)).await;
        while count(&tasks) < 6 {
            tokio::time::sleep(millis(20)).await;
        }
        assert_eq!((count(&memos), count(&tasks)), (3, 6), "in round {round}");
        for name in ["a", "b", "c"] {
            cluster
                .request("DELETE", &path(cluster, name), &Value::Null)
                .await
                .unwrap();
        }
        for name in ["a", "b", "c"] {
            cluster.wait(&path(cluster, name), Value::is_null).await;
        }
        // The last event comes a moment after the end.
        for _ in 0..500 {
            if (count(&memos), count(&tasks)) == (0, 0) {
                break;
            }
            tokio::time::sleep(millis(20)).await;
        }
        assert_eq!((count(&memos), count(&tasks)), (0, 0), "after round {round}");
    }
    operator.stop().await;
}

// B-088, Q-10
async fn every_object_reaches_its_final_state_with_few_workers(cluster: &Cluster) {
    const EDITS: i64 = 10;
    widgets::install(cluster).await;
    let count = if cluster.embedded.is_some() { 500 } else { 50 };
    let seen: Arc<Mutex<std::collections::HashMap<String, i64>>> = Arc::default();
    let changed = {
        let seen = Arc::clone(&seen);
        move |Change { name, spec, .. }: Change<Widget>| {
            seen.lock().unwrap().insert(name.clone(), spec.size);
            async {
                tokio::time::sleep(millis(1)).await;
                HandlerResult::Ok(())
            }
        }
    };
    let resource = Resource::of::<Widget>()
        .on_create("changed", changed.clone(), |o| o)
        .on_update("changed", changed, |o| o);
    let operator = Operator::new("suite")
        .settings(|settings| settings.queueing.worker_limit = Some(2))
        .resource(resource);
    let operator = cluster.start(operator);
    for number in 0..count {
        create(cluster, &format!("w{number}"), json!({"size": 0})).await;
    }
    for size in 1..=EDITS {
        for number in 0..count {
            let object = path(cluster, &format!("w{number}"));
            cluster.patch(&object, &json!({"spec": {"size": size}})).await;
        }
        tokio::time::sleep(millis(100)).await;
    }
    for number in 0..count {
        let object = path(cluster, &format!("w{number}"));
        let handled = |object: &Value| {
            let last = &object["metadata"]["annotations"]["kopf.zalando.org/last-handled-configuration"];
            last.as_str()
                .is_some_and(|essence| essence.contains(&format!("\"size\":{EDITS}")))
        };
        cluster.wait(&object, handled).await;
    }
    operator.stop().await;
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), count);
    assert!(seen.values().all(|&size| size == EDITS), "{seen:?}");
}
