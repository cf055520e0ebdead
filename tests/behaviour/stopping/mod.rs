//! How daemons and timers are stopped: by a deletion, by a mismatch, by the operator's end.

mod exiting;

use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kopf_runtime::logging::{Verbosity, capture};
use kopf_runtime::{
    Change, Daemon, DaemonOptions, HandlerResult, Operator, Resource, StopReason, Stopped, Temporary, Timer, blocking,
    millis, secs,
};
use kopf_tests::cluster::{Cluster, Working};
use kopf_tests::on_both_servers;
use kopf_tests::widgets::{self, Notes, Widget, create, create_with, path};
use serde_json::{Value, json};
use tokio::time::Instant;

on_both_servers! {
    fifty_daemons_end_with_their_operator;
    a_daemon_that_is_cancelled_cleans_up;
    a_daemon_without_a_finalizer_ends_with_its_object;
}

async fn delete(cluster: &Cluster) {
    let path = path(cluster, "a");
    cluster.request("DELETE", &path, &Value::Null).await.unwrap();
}

/// Notes a word when it is dropped.
struct Dropped(Notes, Instant);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.add(format!("dropped at {:.2}", self.1.elapsed().as_secs_f64()));
    }
}

type Handler = Box<dyn Fn(Daemon<Widget>) -> BoxFuture<'static, HandlerResult> + Send + Sync>;

/// Obeys only its cancellation, or nothing at all; notes the flags as they come, and when it is dropped.
fn stubborn(notes: &Notes, begin: Instant, obeys: bool) -> Handler {
    let notes = notes.clone();
    Box::new(move |Daemon { stopped, .. }: Daemon<Widget>| {
        let notes = notes.clone();
        async move {
            let _dropped = Dropped(notes.clone(), begin);
            notes.add("begun");
            stopped.wait().await;
            notes.add(format!("{} at {:.2}", stopped.reason(), begin.elapsed().as_secs_f64()));
            stopped.cancelled().await;
            notes.add(format!("{} at {:.2}", stopped.reason(), begin.elapsed().as_secs_f64()));
            if !obeys {
                std::future::pending::<()>().await;
            }
            Ok(())
        }
        .boxed()
    })
}

fn operator(handler: Handler, options: impl FnOnce(DaemonOptions<Widget>) -> DaemonOptions<Widget>) -> Operator {
    Operator::new("suite").resource(Resource::of::<Widget>().daemon("watch", handler, options))
}

/// An operator with one daemon at work.
async fn at_work(
    notes: &Notes,
    handler: Handler,
    options: impl FnOnce(DaemonOptions<Widget>) -> DaemonOptions<Widget>,
) -> (Cluster, Working) {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let operator = cluster.start(operator(handler, options));
    create_with(&cluster, "a", json!({"labels": {"active": "yes"}}), json!({"size": 1})).await;
    notes.wait_for(1).await;
    (cluster, operator)
}

async fn at(begin: Instant, seconds: f64) {
    tokio::time::sleep_until(begin + Duration::from_secs_f64(seconds)).await;
}

// B-059: each ends by itself, for this reason and no other.
async fn fifty_daemons_end_with_their_operator(cluster: &Cluster) {
    const COUNT: usize = 50;
    widgets::install(cluster).await;
    let (begun, ended) = (Notes::default(), Notes::default());
    let watch = {
        let (begun, ended) = (begun.clone(), ended.clone());
        move |Daemon { name, stopped, .. }: Daemon<Widget>| {
            begun.add(name);
            let ended = ended.clone();
            async move {
                while !stopped.wait_for(secs(600)).await {}
                ended.add(stopped.reason().to_string());
                HandlerResult::Ok(())
            }
        }
    };
    let operator = Operator::new("suite")
        .settings(|settings| settings.queueing.exit_timeout = secs(300))
        .resource(Resource::of::<Widget>().daemon("watch", watch, |o| o));
    let operator = cluster.start(operator);
    for number in 0..COUNT {
        create(cluster, &format!("w{number}"), json!({"size": 1})).await;
    }
    let mut names = begun.wait_for(COUNT).await;
    names.sort();
    names.dedup();
    assert_eq!(names.len(), COUNT);
    assert!(ended.all().is_empty());
    let begin = Instant::now();
    operator.stop().await;
    assert!(begin.elapsed() < secs(300), "{:?}", begin.elapsed());
    assert_eq!(ended.all(), ["OPERATOR_EXITING"; COUNT]);
    for number in 0..COUNT {
        let object = path(cluster, &format!("w{number}"));
        cluster.patch(&object, &json!({"metadata": {"finalizers": null}})).await;
    }
}

// G-12
async fn a_daemon_that_is_cancelled_cleans_up(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let work = {
        let notes = notes.clone();
        move |Daemon { stopped, patch, .. }: Daemon<Widget>| {
            let notes = notes.clone();
            async move {
                notes.add("begun");
                stopped.cancelled().await;
                patch.meta().annotation("cleaned", "up");
                notes.add(stopped.reason().to_string());
                HandlerResult::Ok(())
            }
        }
    };
    let options = |o: DaemonOptions<Widget>| {
        o.cancellation_backoff(millis(200))
            .cancellation_timeout(secs(20))
            .label("off", kopf_runtime::ABSENT)
    };
    let operator =
        cluster.start(Operator::new("suite").resource(Resource::of::<Widget>().daemon("work", work, options)));
    let path = path(cluster, "a");
    create(cluster, "a", json!({"size": 1})).await;
    notes.wait_for(1).await;
    let off = json!({"metadata": {"labels": {"off": "y"}}});
    cluster.patch(&path, &off).await;
    cluster
        .wait(&path, |object| object["metadata"]["annotations"]["cleaned"] == "up")
        .await;
    let flags = "FILTERS_MISMATCH|DAEMON_SIGNALLED|DAEMON_CANCELLED";
    assert_eq!(notes.all(), ["begun", flags]);
    cluster
        .wait(&path, |object| object["metadata"]["finalizers"].is_null())
        .await;
    operator.stop().await;
}

// G-25: whoever deletes it.
async fn a_daemon_without_a_finalizer_ends_with_its_object(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let handler = stubborn(&notes, Instant::now(), true);
    let options = |o: DaemonOptions<Widget>| o.optional(true).cancellation_timeout(millis(300));
    let operator = cluster.start(operator(handler, options));
    let path = path(cluster, "a");
    create(cluster, "a", json!({"size": 1})).await;
    notes.wait_for(1).await;
    assert_eq!(cluster.get(&path).await["metadata"]["finalizers"], Value::Null);
    delete(cluster).await;
    let seen = notes.wait_for(4).await;
    assert!(seen[1].starts_with("RESOURCE_DELETED"), "{seen:?}");
    operator.stop().await;
    tokio::time::sleep(secs(1)).await;
    assert_eq!(notes.all().len(), 4, "nothing begins for an object that is gone");
}

// G-12: with the flags of each stage, and the object gone as soon as the daemon is.
#[tokio::test(start_paused = true)]
async fn a_daemon_that_obeys_its_cancellation_ends_at_the_backoff() {
    let (notes, begin) = (Notes::default(), Instant::now());
    let options = |o: DaemonOptions<Widget>| o.cancellation_backoff(millis(1230)).cancellation_timeout(secs(10));
    let (cluster, operator) = at_work(&notes, stubborn(&notes, begin, true), options).await;
    at(begin, 5.0).await;
    cluster.embedded.as_ref().unwrap().clear_audit();
    delete(&cluster).await;
    cluster.wait(&path(&cluster, "a"), Value::is_null).await;
    assert!(
        (6.23..6.5).contains(&begin.elapsed().as_secs_f64()),
        "{:?}",
        begin.elapsed()
    );
    operator.stop().await;
    let seen = [
        "begun",
        "RESOURCE_DELETED at 5.00",
        "RESOURCE_DELETED|DAEMON_SIGNALLED|DAEMON_CANCELLED at 6.23",
        "dropped at 6.23",
    ];
    assert_eq!(notes.all(), seen);
    let audit = cluster.embedded.as_ref().unwrap().audit().for_resource("widgets");
    let patches = audit.with_verb("patch");
    assert_eq!(patches.len(), 1, "nothing is written in order to wait");
}

// G-12, G-16: what does not end is dropped, and the deletion goes on.
#[tokio::test(start_paused = true)]
async fn a_daemon_that_obeys_nothing_is_dropped_at_the_timeout() {
    let log = capture(Verbosity::Normal);
    let (notes, begin) = (Notes::default(), Instant::now());
    let options = |o: DaemonOptions<Widget>| o.cancellation_timeout(millis(4560));
    let (cluster, operator) = at_work(&notes, stubborn(&notes, begin, false), options).await;
    at(begin, 5.0).await;
    delete(&cluster).await;
    cluster.wait(&path(&cluster, "a"), Value::is_null).await;
    assert!(
        (9.56..9.8).contains(&begin.elapsed().as_secs_f64()),
        "{:?}",
        begin.elapsed()
    );
    operator.stop().await;
    assert_eq!(notes.all().last().unwrap(), "dropped at 9.56");
    assert!(
        log.text()
            .contains("Handler watch did not stop in time and was dropped"),
        "{}",
        log.text()
    );
}

// G-13, G-15: one that ends at once delays nothing and costs one patch.
#[tokio::test(start_paused = true)]
async fn a_daemon_that_ends_at_once_delays_nothing() {
    let notes = Notes::default();
    let watch: Handler = {
        let notes = notes.clone();
        Box::new(move |Daemon { stopped, .. }: Daemon<Widget>| {
            notes.add("begun");
            async move {
                stopped.wait().await;
                Ok(())
            }
            .boxed()
        })
    };
    let options = |o: DaemonOptions<Widget>| o.cancellation_backoff(secs(5)).cancellation_timeout(secs(10));
    let (cluster, operator) = at_work(&notes, watch, options).await;
    tokio::time::sleep(secs(1)).await;
    let server = cluster.embedded.as_ref().unwrap();
    server.clear_audit();
    let begin = Instant::now();
    delete(&cluster).await;
    cluster.wait(&path(&cluster, "a"), Value::is_null).await;
    assert!(begin.elapsed() <= millis(100), "{:?}", begin.elapsed());
    let patches = server.audit().for_resource("widgets").with_verb("patch");
    let kinds: Vec<&str> = patches.iter().map(|request| request.content_type.as_str()).collect();
    assert_eq!(kinds, ["application/json-patch+json"]);
    operator.stop().await;
}

// G-14: it is only said that it is still there, as often as was wished for.
#[tokio::test(start_paused = true)]
async fn without_a_timeout_a_daemon_holds_its_object_for_ever() {
    let log = capture(Verbosity::Normal);
    let (notes, begin) = (Notes::default(), Instant::now());
    let options = |o: DaemonOptions<Widget>| o.cancellation_backoff(secs(5)).cancellation_polling(secs(100));
    let (cluster, operator) = at_work(&notes, stubborn(&notes, begin, false), options).await;
    delete(&cluster).await;
    tokio::time::sleep(secs(3600)).await;
    assert!(cluster.get(&path(&cluster, "a")).await["metadata"]["deletionTimestamp"].is_string());
    let said = log.text().matches("Handler watch is still ending").count();
    assert!((35..=36).contains(&said), "{said} times");
    assert_eq!(notes.all().len(), 2, "{:?}", notes.all());
    operator.stop().await;
}

// G-11: whatever else is asked later.
#[tokio::test(start_paused = true)]
async fn the_stages_count_from_the_first_request() {
    let (notes, begin) = (Notes::default(), Instant::now());
    let options = |o: DaemonOptions<Widget>| {
        o.label("active", "yes")
            .cancellation_backoff(secs(6))
            .cancellation_timeout(secs(6))
    };
    let (cluster, operator) = at_work(&notes, stubborn(&notes, begin, false), options).await;
    at(begin, 5.0).await;
    let off = json!({"metadata": {"labels": {"active": "no"}}});
    cluster.patch(&path(&cluster, "a"), &off).await;
    at(begin, 10.0).await;
    delete(&cluster).await;
    cluster.wait(&path(&cluster, "a"), Value::is_null).await;
    operator.stop().await;
    let seen = [
        "begun",
        "FILTERS_MISMATCH at 5.00",
        "FILTERS_MISMATCH|RESOURCE_DELETED|DAEMON_SIGNALLED|DAEMON_CANCELLED at 11.00",
        "dropped at 17.00",
    ];
    assert_eq!(notes.all(), seen);
}

// G-26: somebody strips the finalizers, so that no further cycle comes.
#[tokio::test(start_paused = true)]
async fn the_stages_go_on_when_the_object_is_gone() {
    let (notes, begin) = (Notes::default(), Instant::now());
    let options = |o: DaemonOptions<Widget>| o.cancellation_backoff(secs(6)).cancellation_timeout(secs(6));
    let (cluster, operator) = at_work(&notes, stubborn(&notes, begin, false), options).await;
    at(begin, 5.0).await;
    delete(&cluster).await;
    at(begin, 6.0).await;
    let path = path(&cluster, "a");
    cluster.patch(&path, &json!({"metadata": {"finalizers": null}})).await;
    cluster.wait(&path, Value::is_null).await;
    let seen = notes.wait_for(4).await;
    assert_eq!(seen[3], "dropped at 17.00");
    operator.stop().await;
}

// G-15, G-17, Z-6: both run side by side, and the finalizer waits for both of them and goes once.
#[tokio::test(start_paused = true)]
async fn a_deletion_waits_for_handlers_and_daemons_alike() {
    for (daemon, handler) in [(8, 5), (5, 8)] {
        let cluster = Cluster::embedded().await;
        widgets::install(&cluster).await;
        let (notes, begin) = (Notes::default(), Instant::now());
        let say = |what: &str| {
            let (notes, what) = (notes.clone(), what.to_owned());
            move |when: &str| notes.add(format!("{what} {when} at {}", begin.elapsed().as_secs()))
        };
        let watch = {
            let say = say("daemon");
            move |Daemon { stopped, .. }: Daemon<Widget>| {
                let say = say.clone();
                async move {
                    say("begins");
                    stopped.wait().await;
                    say("is told");
                    tokio::time::sleep(secs(daemon)).await;
                    say("ends");
                    HandlerResult::Ok(())
                }
            }
        };
        let clear = {
            let say = say("handler");
            move |_: Change<Widget>| {
                let say = say.clone();
                async move {
                    say("begins");
                    tokio::time::sleep(secs(handler)).await;
                    say("ends");
                    HandlerResult::Ok(())
                }
            }
        };
        let resource = Resource::of::<Widget>()
            .daemon("watch", watch, |o| o)
            .on_delete("clear", clear, |o| o);
        let operator = cluster.start(Operator::new("suite").resource(resource));
        create(&cluster, "a", json!({"size": 1})).await;
        notes.wait_for(1).await;
        at(begin, 10.0).await;
        let server = cluster.embedded.as_ref().unwrap();
        server.clear_audit();
        delete(&cluster).await;
        cluster.wait(&path(&cluster, "a"), Value::is_null).await;
        assert_eq!(begin.elapsed().as_secs(), 18);
        operator.stop().await;
        let mut seen = notes.all();
        seen.sort();
        let mut expected = vec![
            "daemon begins at 0".to_owned(),
            "daemon is told at 10".to_owned(),
            format!("daemon ends at {}", 10 + daemon),
            "handler begins at 10".to_owned(),
            format!("handler ends at {}", 10 + handler),
        ];
        expected.sort();
        assert_eq!(seen, expected);
        let patches = server.audit().for_resource("widgets").with_verb("patch");
        let guarded = patches
            .iter()
            .filter(|request| request.content_type.contains("json-patch"));
        assert_eq!(guarded.count(), 1, "the finalizer goes once");
    }
}

/// A blocking daemon that ends when the test says so, and what it was given to stop by.
fn thread(notes: &Notes) -> (Handler, mpsc::Sender<()>, Arc<Mutex<Option<Stopped>>>) {
    let (end, ended) = mpsc::channel();
    let (notes, ended) = (notes.clone(), Mutex::new(ended));
    let kept: Arc<Mutex<Option<Stopped>>> = Arc::default();
    let work = {
        let kept = Arc::clone(&kept);
        blocking(move |Daemon { stopped, .. }: Daemon<Widget>| {
            *kept.lock().unwrap() = Some(stopped);
            notes.add("begun");
            // The end of the test ends it, too.
            let _ = ended.lock().unwrap().recv();
            notes.add("ended");
            HandlerResult::Ok(())
        })
    };
    (Box::new(work), end, kept)
}

// G-16, G-22: on the real clock, which threads need.
#[tokio::test]
async fn a_thread_is_abandoned_and_holds_nobody_up() {
    let log = capture(Verbosity::Normal);
    let notes = Notes::default();
    let (handler, end, kept) = thread(&notes);
    let options = |o: DaemonOptions<Widget>| o.cancellation_timeout(millis(50));
    let (cluster, operator) = at_work(&notes, handler, options).await;
    delete(&cluster).await;
    cluster.wait(&path(&cluster, "a"), Value::is_null).await;
    assert_eq!(notes.all(), ["begun"]);
    assert!(
        log.text()
            .contains("Handler watch did not stop in time and cannot be interrupted")
    );
    let stopped = kept.lock().unwrap().clone().unwrap();
    let flags = StopReason::RESOURCE_DELETED | StopReason::DAEMON_CANCELLED | StopReason::DAEMON_ABANDONED;
    assert_eq!(stopped.reason(), flags);
    end.send(()).unwrap();
    notes.wait_for(2).await;
    operator.stop().await;
    assert!(stopped.reason().contains(flags | StopReason::DONE), "{stopped:?}");
}

// G-9: a thread that waits by `block_for` ends at once, whoever asks it to.
#[tokio::test]
async fn a_thread_learns_of_a_deletion_and_of_the_operators_end() {
    for exit in [false, true] {
        let notes = Notes::default();
        let handler = {
            let notes = notes.clone();
            blocking(move |Daemon { stopped, .. }: Daemon<Widget>| {
                notes.add("begun");
                assert!(stopped.block_for(secs(600)));
                notes.add(stopped.reason().to_string());
                HandlerResult::Ok(())
            })
        };
        let (cluster, operator) = at_work(&notes, Box::new(handler), |o| o).await;
        if exit {
            operator.stop().await;
            assert_eq!(notes.all(), ["begun", "OPERATOR_EXITING"]);
        } else {
            delete(&cluster).await;
            cluster.wait(&path(&cluster, "a"), Value::is_null).await;
            assert_eq!(notes.all(), ["begun", "RESOURCE_DELETED"]);
            operator.stop().await;
        }
    }
}

// G-15, Z-10: on the real clock, which threads need.
#[tokio::test]
async fn an_object_whose_daemon_waits_for_a_thread_does_not_wait_for_it() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let notes = Notes::default();
    let handler = {
        let notes = notes.clone();
        blocking(move |Daemon { name, stopped, .. }: Daemon<Widget>| {
            notes.add(name);
            while !stopped.block_for(secs(60)) {}
            HandlerResult::Ok(())
        })
    };
    let operator = Operator::new("suite")
        .settings(|settings| settings.execution.max_workers = Some(1))
        .resource(Resource::of::<Widget>().daemon("watch", handler, |o| o));
    let operator = cluster.start(operator);
    create(&cluster, "b", json!({"size": 1})).await;
    notes.wait_for(1).await;
    create(&cluster, "a", json!({"size": 1})).await;
    let held = |object: &Value| !object["metadata"]["finalizers"].is_null();
    cluster.wait(&path(&cluster, "a"), held).await;
    delete(&cluster).await;
    cluster.wait(&path(&cluster, "a"), Value::is_null).await;
    assert_eq!(notes.all(), ["b"], "its function was never called");
    operator.stop().await;
}
