//! The wait for complete indexes when an operator starts.

use std::cell::Cell;
use std::sync::Arc;

use futures::future::BoxFuture;
use kopf_runtime::logging::{Verbosity, capture};
use kopf_runtime::{
    Change, Entries, Event, HandlerResult, Index, Kind, Operator, Reference, Resource, Timer, hours, secs,
};
use kopf_tests::cluster::Cluster;
use kopf_tests::on_both_servers;
use kopf_tests::widgets::{self, Notes, Widget, create, path};
use kopf_testserver::{Failure, Server, Traffic};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::indexes::{Gadget, Met, Said, gadget, gadgets, said};

fn server(cluster: &Cluster) -> &Server {
    cluster.embedded.as_ref().expect("the server is embedded")
}

fn handled(object: &Value) -> bool {
    object["metadata"]["annotations"]["kopf.zalando.org/last-handled-configuration"].is_string()
}

/// A cluster with widgets and gadgets.
async fn with_gadgets() -> Cluster {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    server(&cluster).apply(gadgets()).unwrap();
    cluster
}

/// What becomes of the next listings of gadgets.
fn plan_listing(cluster: &Cluster, times: usize, failure: Failure) {
    let listing = Traffic::any().verb("list").resource("gadgets");
    server(cluster).faults().plan(listing, times, failure);
}

/// Notes events with the sizes of their objects.
fn seen(notes: &Notes) -> impl Fn(Event<Widget>) -> BoxFuture<'static, HandlerResult> + Send + Sync + 'static + use<> {
    let notes = notes.clone();
    move |Event {
              name, spec, event_type, ..
          }: Event<Widget>| {
        notes.add(format!(
            "{name} {} {}",
            event_type.as_str().unwrap_or("listed"),
            spec.size
        ));
        Box::pin(async { Ok(()) })
    }
}

on_both_servers! {
    the_first_handlers_find_complete_indexes;
}

// I-14, I-17, *Improve on*: there is one worker, and there are many objects.
async fn the_first_handlers_find_complete_indexes(cluster: &Cluster) {
    widgets::install(cluster).await;
    for number in 0..30 {
        create(
            cluster,
            &format!("w{number}"),
            json!({"size": 1, "says": {"k": number}}),
        )
        .await;
    }
    let (notes, calls, met) = (Notes::default(), Notes::default(), Met::default());
    let made = {
        let notes = notes.clone();
        move |Change { indexes, .. }: Change<Widget>| {
            notes.add(indexes.of(Said).get("k").len().to_string());
            async { HandlerResult::Ok(()) }
        }
    };
    let operator = cluster.start(
        Operator::new("suite")
            .settings(|settings| settings.queueing.worker_limit = Some(1))
            .resource(
                Resource::of::<Widget>()
                    .index(Said, said(&calls, &met), |o| o)
                    .on_create("made", made, |o| o),
            ),
    );
    let found = notes.wait_for(30).await;
    operator.stop().await;
    assert_eq!(found, vec!["30"; 30]);
}

// I-14, I-15: two kinds, one of them listed late: the handlers of the other one wait, and its timers; what comes
// meanwhile is indexed, and no event of it is skipped.
#[tokio::test(start_paused = true)]
async fn all_handlers_wait_for_a_slow_listing() {
    let cluster = with_gadgets().await;
    plan_listing(&cluster, 1, Failure::Delay(secs(100)));
    let (events, others, calls, met) = <(Notes, Notes, Notes, Met)>::default();
    let made = {
        let others = others.clone();
        move |_: Change<Widget>| {
            others.add("made");
            async { HandlerResult::Ok(()) }
        }
    };
    let tick = {
        let others = others.clone();
        move |_: Timer<Widget>| {
            others.add("tick");
            async { HandlerResult::Ok(()) }
        }
    };
    let begin = Instant::now();
    let operator = cluster.start(
        Operator::new("suite")
            .resource(
                Resource::of::<Widget>()
                    .index(Said, said(&calls, &met), |o| o)
                    .on_event("seen", seen(&events), |o| o)
                    .on_create("made", made, |o| {
                        o.when(|filter: kopf_runtime::Filter<'_, Widget>| filter.name == "a")
                    })
                    .timer("tick", tick, |o| o.interval(hours(1)).optional(true)),
            )
            .resource(Resource::of::<Gadget>().index(Said, said(&calls, &met), |o| o)),
    );
    create(&cluster, "a", json!({"size": 1, "says": {"a": 1}})).await;
    create(&cluster, "b", json!({"size": 1, "says": {"b": 1}})).await;
    met.wait(json!({"a": [1], "b": [1]})).await;
    for size in 2..4 {
        cluster
            .patch(
                &path(&cluster, "a"),
                &json!({"spec": {"size": size, "says": {"a": size}}}),
            )
            .await;
        met.wait(json!({"a": [size], "b": [1]})).await;
    }
    cluster
        .request("DELETE", &path(&cluster, "b"), &Value::Null)
        .await
        .unwrap();
    met.wait(json!({"a": [3]})).await;
    tokio::time::sleep_until(begin + secs(90)).await;
    assert_eq!(
        (events.all().len(), others.all().len()),
        (0, 0),
        "{:?} {:?}",
        events.all(),
        others.all()
    );
    others.wait_for(2).await;
    assert!(begin.elapsed() >= secs(100));
    let of = |name: &str| -> Vec<String> {
        events
            .all()
            .into_iter()
            .filter(|event| event.starts_with(name))
            .collect()
    };
    assert_eq!(of("a")[..3], ["a ADDED 1", "a MODIFIED 2", "a MODIFIED 3"]);
    assert_eq!(of("b"), ["b ADDED 1", "b DELETED 1"]);
    operator.stop().await;
}

/// An index handler that does not return before it is told to, for an object of this name.
fn stuck(
    name: &'static str,
    release: &Arc<Notify>,
) -> impl Fn(Index<Widget>) -> BoxFuture<'static, HandlerResult<Entries<String, i64>>> + Send + Sync + 'static + use<> {
    let release = Arc::clone(release);
    move |Index { name: own, .. }: Index<Widget>| {
        let release = Arc::clone(&release);
        Box::pin(async move {
            if own == name {
                release.notified().await;
            }
            Ok(Entries::one(own, 1))
        })
    }
}

// I-14, I-15: an object that was there, and is not indexed yet, keeps all waiting.
#[tokio::test(start_paused = true)]
async fn all_handlers_wait_for_a_slow_index_handler() {
    let cluster = with_gadgets().await;
    create(&cluster, "a", json!({"size": 1})).await;
    create(&cluster, "stuck", json!({"size": 1})).await;
    server(&cluster)
        .apply(gadget(&cluster, "g", &json!({"size": 1})))
        .unwrap();
    let (notes, release) = (Notes::default(), Arc::new(Notify::new()));
    let met_gadget = {
        let notes = notes.clone();
        move |Event { name, .. }: Event<Gadget>| {
            notes.add(name);
            async { HandlerResult::Ok(()) }
        }
    };
    let operator = cluster.start(
        Operator::new("suite")
            .resource(
                Resource::of::<Widget>()
                    .index(Said, stuck("stuck", &release), |o| o)
                    .on_event("seen", seen(&notes), |o| o),
            )
            .resource(Resource::of::<Gadget>().on_event("met", met_gadget, |o| o)),
    );
    tokio::time::sleep(secs(1000)).await;
    assert_eq!(notes.all(), Vec::<String>::new());
    release.notify_one();
    let mut notes = notes.wait_for(3).await;
    operator.stop().await;
    notes.sort();
    assert_eq!(notes, ["a listed 1", "g", "stuck listed 1"]);
}

// I-16: later, a slow index handler is the business of its object alone, also where there is one worker.
#[tokio::test(start_paused = true)]
async fn nobody_waits_once_the_indexes_were_complete() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    create(&cluster, "a", json!({"size": 1})).await;
    let (notes, release) = (Notes::default(), Arc::new(Notify::new()));
    let operator = cluster.start(
        Operator::new("suite")
            .settings(|settings| settings.queueing.worker_limit = Some(1))
            .resource(
                Resource::of::<Widget>()
                    .index(Said, stuck("stuck", &release), |o| o)
                    .on_event("seen", seen(&notes), |o| o),
            ),
    );
    notes.wait_for(1).await;
    create(&cluster, "stuck", json!({"size": 1})).await;
    tokio::time::sleep(secs(10)).await;
    create(&cluster, "b", json!({"size": 1})).await;
    notes.wait_for(2).await;
    release.notify_one();
    let notes = notes.wait_for(3).await;
    operator.stop().await;
    assert_eq!(notes, ["a listed 1", "b ADDED 1", "stuck ADDED 1"]);
}

// I-16: a kind that is not served keeps nobody waiting, and once it is served, its objects are indexed.
#[tokio::test(start_paused = true)]
async fn nobody_waits_for_a_kind_that_is_not_served() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    create(&cluster, "a", json!({"size": 1})).await;
    let (notes, calls, met) = <(Notes, Notes, Met)>::default();
    let operator = cluster.start(
        Operator::new("suite")
            .resource(Resource::of::<Widget>().on_event("seen", seen(&notes), |o| o))
            .resource(Resource::of::<Gadget>().index(Said, said(&calls, &met), |o| o)),
    );
    notes.wait_for(1).await;
    server(&cluster).apply(gadgets()).unwrap();
    let spec = json!({"size": 1, "says": {"g": 1}});
    server(&cluster).apply(gadget(&cluster, "g", &spec)).unwrap();
    met.wait(json!({"g": [1]})).await;
    create(&cluster, "b", json!({"size": 1})).await;
    notes.wait_for(2).await;
    operator.stop().await;
}

thread_local! {
    /// How many specs there are; on a paused clock all is on the thread of the test.
    static SPECS: Cell<usize> = const { Cell::new(0) };
}

/// A kind whose specs are counted.
struct Counted;

#[derive(Debug)]
struct CountedSpec;

impl<'de> Deserialize<'de> for CountedSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde::de::IgnoredAny::deserialize(deserializer)?;
        SPECS.set(SPECS.get() + 1);
        Ok(Self)
    }
}

impl Drop for CountedSpec {
    fn drop(&mut self) {
        SPECS.set(SPECS.get() - 1);
    }
}

impl Kind for Counted {
    type Spec = CountedSpec;
    type Status = Value;
    type Memo = ();
    const REFERENCE: Reference = Widget::REFERENCE;
}

// I-15: the raw objects wait, for no event is skipped; what is made of them does not.
#[tokio::test(start_paused = true)]
async fn waiting_objects_are_kept_once() {
    let cluster = with_gadgets().await;
    plan_listing(&cluster, 1, Failure::Delay(secs(100)));
    for number in 0..50 {
        create(&cluster, &format!("w{number}"), json!({"size": 1})).await;
    }
    let (notes, calls, met) = <(Notes, Notes, Met)>::default();
    let index = {
        let calls = calls.clone();
        move |Index { name, .. }: Index<Counted>| {
            calls.add(&*name);
            async { HandlerResult::Ok(Entries::one(name, 1)) }
        }
    };
    let counted = {
        let notes = notes.clone();
        move |Event { name, .. }: Event<Counted>| {
            notes.add(name);
            async { HandlerResult::Ok(()) }
        }
    };
    let operator = cluster.start(
        Operator::new("suite")
            .resource(
                Resource::of::<Counted>()
                    .index(Said, index, |o| o)
                    .on_event("counted", counted, |o| o),
            )
            .resource(Resource::of::<Gadget>().index(Said, said(&calls, &met), |o| o)),
    );
    calls.wait_for(50).await;
    tokio::time::sleep(secs(10)).await;
    assert_eq!((SPECS.get(), notes.all().len()), (0, 0));
    notes.wait_for(50).await;
    operator.stop().await;
    assert_eq!((calls.all().len(), notes.all().len()), (50, 50));
}

/// A kind whose broken specs break whoever reads them.
struct Fragile;

#[derive(Debug)]
struct FragileSpec;

impl<'de> Deserialize<'de> for FragileSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        assert!(value["broken"] != true, "the spec is broken");
        Ok(Self)
    }
}

impl Kind for Fragile {
    type Spec = FragileSpec;
    type Status = Value;
    type Memo = ();
    const REFERENCE: Reference = Widget::REFERENCE;
}

// I-19, *Improve on*: whatever breaks while an object is indexed keeps nobody else waiting.
#[tokio::test(start_paused = true)]
async fn an_object_that_breaks_its_indexing_delays_nobody() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    create(&cluster, "broken", json!({"broken": true})).await;
    create(&cluster, "panics", json!({"size": 1})).await;
    create(&cluster, "fine", json!({"size": 1})).await;
    let index = |Index { name, .. }: Index<Fragile>| async move {
        assert!(name != "panics", "no index of this one");
        HandlerResult::Ok(Entries::one(name, 1))
    };
    let made = |Change { indexes, .. }: Change<Fragile>| async move { HandlerResult::Ok(indexes.of(Said).keys()) };
    let operator = cluster.start(
        Operator::new("suite").resource(Resource::of::<Fragile>().index(Said, index, |o| o).on_create(
            "made",
            made,
            |o| o,
        )),
    );
    for name in ["fine", "panics"] {
        let object = cluster.wait(&path(&cluster, name), handled).await;
        assert_eq!(object["status"]["made"], json!(["fine"]));
    }
    operator.stop().await;
}

// A long wait is explained, and ends with the operator.
#[tokio::test(start_paused = true)]
async fn a_long_wait_is_explained_and_ends_with_the_operator() {
    let log = capture(Verbosity::Normal);
    let cluster = with_gadgets().await;
    plan_listing(&cluster, usize::MAX, Failure::status(403));
    create(&cluster, "a", json!({"size": 1})).await;
    let (notes, met) = (Notes::default(), Met::default());
    let operator = cluster.start(
        Operator::new("suite")
            .resource(Resource::of::<Widget>().on_event("seen", seen(&notes), |o| o))
            .resource(Resource::of::<Gadget>().index(Said, said(&notes, &met), |o| o)),
    );
    tokio::time::sleep(secs(20)).await;
    let says = || {
        log.text()
            .matches("All handlers wait until the indexes are complete: not listed yet: gadgets in ")
            .count()
    };
    assert_eq!(says(), 0, "{}", log.text());
    tokio::time::sleep(secs(80)).await;
    assert_eq!(says(), 3, "{}", log.text());
    timeout(secs(2), operator.stop()).await.unwrap();
    assert_eq!(notes.all(), Vec::<String>::new());
}
