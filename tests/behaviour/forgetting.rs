//! Storages that do not keep what they are given. The embedded server is enough, for nothing of it is on the object.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use kopf_runtime::jiff::Timestamp;
use kopf_runtime::logging::{Verbosity, capture};
use kopf_runtime::storages::{ProgressStorage, Record, StatePatch};
use kopf_runtime::{Body, Change, HandlerResult, Operator, Resource, hours, millis, secs};
use kopf_tests::cluster::Cluster;
use kopf_tests::widgets::{self, Widget, create};
use serde_json::{Value, json};

/// Which records a storage keeps.
#[derive(Debug)]
enum Keeps {
    None,
    /// The first one of each handler, whatever comes later.
    First,
    All,
}

#[derive(Debug)]
struct Records(Keeps, Mutex<HashMap<String, Record>>);

impl ProgressStorage for Records {
    fn fetch(&self, _body: &Body, id: &str, _now: Timestamp) -> Option<Record> {
        self.1.lock().unwrap().get(id).cloned()
    }

    fn store(&self, _body: &Body, id: &str, record: &Record, _patch: &mut StatePatch) {
        let mut kept = self.1.lock().unwrap();
        match self.0 {
            Keeps::None => {}
            Keeps::First => drop(kept.entry(id.to_owned()).or_insert_with(|| record.clone())),
            Keeps::All => drop(kept.insert(id.to_owned(), record.clone())),
        }
    }

    fn purge(&self, _body: &Body, id: &str, _patch: &mut StatePatch) {
        self.1.lock().unwrap().remove(id);
    }

    fn clear(&self, _essence: &mut Value) {}
}

/// How often three handlers of one creation are called in five seconds.
async fn calls(storage: Records) -> usize {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let count = Arc::new(AtomicUsize::new(0));
    let step = || {
        let count = Arc::clone(&count);
        move |_: Change<Widget>| {
            let calls = count.fetch_add(1, Ordering::SeqCst);
            async move {
                // So that a loop comes to an end.
                tokio::time::sleep(if calls > 500 { hours(10) } else { millis(1) }).await;
                HandlerResult::Ok(())
            }
        }
    };
    let resource = Resource::of::<Widget>()
        .on_create("first", step(), |o| o)
        .on_create("second", step(), |o| o)
        .on_create("third", step(), |o| o);
    let operator = Operator::new("suite")
        .resource(resource)
        .settings(|settings| settings.persistence.progress = vec![Arc::new(storage)]);
    let operator = cluster.start(operator);
    create(&cluster, "a", json!({"size": 1})).await;
    tokio::time::sleep(secs(5)).await;
    let calls = count.load(Ordering::SeqCst);
    operator.stop().await;
    calls
}

// B-049: also where nothing of it is sent to the API server.
#[tokio::test(start_paused = true)]
async fn what_a_storage_forgets_is_told_and_not_run_after() {
    for keeps in [Keeps::None, Keeps::First] {
        let log = capture(Verbosity::Normal);
        let calls = calls(Records(keeps, Mutex::default())).await;
        assert!(calls < 20, "{calls} calls");
        assert!(log.text().contains("was stored and is not there"), "{}", log.text());
    }
}

// where nothing is to be sent and no handler waits for anything, others have their turn all the same.
#[tokio::test(start_paused = true)]
async fn handlers_that_wait_for_nothing_leave_others_their_turn() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let turns = Arc::new(AtomicUsize::new(0));
    let seen: Arc<Mutex<Vec<usize>>> = Arc::default();
    let resource = (0..100).fold(Resource::of::<Widget>(), |resource, number| {
        let (turns, seen) = (Arc::clone(&turns), Arc::clone(&seen));
        let step = move |_: Change<Widget>| {
            seen.lock().unwrap().push(turns.load(Ordering::SeqCst));
            async { HandlerResult::Ok(()) }
        };
        resource.on_create(&format!("step-{number}"), step, |o| o)
    });
    let storage = Records(Keeps::All, Mutex::default());
    let operator = cluster.start(
        Operator::new("suite")
            .resource(resource)
            .settings(|settings| settings.persistence.progress = vec![Arc::new(storage)]),
    );
    let other = tokio::spawn(async move {
        loop {
            turns.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
        }
    });
    create(&cluster, "a", json!({"size": 1})).await;
    while seen.lock().unwrap().len() < 100 {
        tokio::task::yield_now().await;
    }
    other.abort();
    operator.stop().await;
    let seen = seen.lock().unwrap().clone();
    let stays = seen.windows(3).any(|calls| calls[0] == calls[2]);
    assert!(!stays, "{seen:?}");
}
