//! Errors of the framework itself: what breaks is said, waited out, and done again; nobody else notices.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use kopf_runtime::logging::{Verbosity, capture};
use kopf_runtime::storages::StatusProgress;
use kopf_runtime::{
    Change, Event, HandlerResult, Kind, Operator, Reference, Resource, Settings, Temporary, Timer, hours, secs,
};
use kopf_tests::cluster::{Cluster, Working};
use kopf_tests::widgets::{self, Notes, Widget, create, path};
use kopf_testserver::{Failure, Server, Traffic};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use tokio::time::Instant;

thread_local! {
    /// How many more specs of this test break whoever reads them; on a paused clock all is on the thread of the test.
    static BREAKS: Cell<usize> = const { Cell::new(0) };
    /// When they did.
    static BROKE: RefCell<Vec<Instant>> = const { RefCell::new(Vec::new()) };
}

/// A kind whose spec breaks its reader: as near to a fault of the framework as an author can get.
struct Fragile;

#[derive(Debug)]
struct FragileSpec {
    size: i64,
}

impl<'de> Deserialize<'de> for FragileSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let left = BREAKS.get();
        if value["broken"] == true && left > 0 {
            BREAKS.set(left - 1);
            BROKE.with_borrow_mut(|broke| broke.push(Instant::now()));
            panic!("the spec is broken");
        }
        Ok(Self {
            size: value["size"].as_i64().unwrap_or_default(),
        })
    }
}

impl Kind for Fragile {
    type Spec = FragileSpec;
    type Status = Value;
    type Memo = ();
    const REFERENCE: Reference = Widget::REFERENCE;
}

fn handled(object: &Value) -> bool {
    object["metadata"]["annotations"]["kopf.zalando.org/last-handled-configuration"].is_string()
}

fn server(cluster: &Cluster) -> &Server {
    cluster.embedded.as_ref().expect("the server is embedded")
}

/// A fragile operator that notes what it handles, and when, in whole seconds.
struct Stage {
    cluster: Cluster,
    notes: Notes,
    begin: Instant,
}

impl Stage {
    async fn new() -> Self {
        let cluster = Cluster::embedded().await;
        widgets::install(&cluster).await;
        Self {
            cluster,
            notes: Notes::default(),
            begin: Instant::now(),
        }
    }

    fn resource(&self) -> Resource<Fragile> {
        let (notes, begin) = (self.notes.clone(), self.begin);
        let handler = move |Change { reason, spec, name, .. }: Change<Fragile>| {
            let at = begin.elapsed().as_secs();
            notes.add(format!("{reason} {name} {} at {at}", spec.size));
            async { HandlerResult::Ok(()) }
        };
        Resource::of::<Fragile>()
            .on_create("made", handler.clone(), |o| o)
            .on_update("made", handler, |o| o)
    }

    fn start(&self, delays: &[u64], resource: Resource<Fragile>) -> Working {
        let change =
            |settings: &mut Settings| settings.queueing.error_delays = delays.iter().copied().map(secs).collect();
        self.cluster
            .start(Operator::new("suite").settings(change).resource(resource))
    }

    async fn edit(&self, spec: Value) {
        self.cluster
            .patch(&path(&self.cluster, "a"), &json!({"spec": spec}))
            .await;
    }

    /// When something broke, in whole seconds.
    fn broke(&self) -> Vec<u64> {
        BROKE.with_borrow(|broke| broke.iter().map(|at| (*at - self.begin).as_secs()).collect())
    }
}

// newer events wait as well, and then the newest state is processed; others notice nothing.
#[tokio::test(start_paused = true)]
async fn a_broken_object_waits_alone() {
    let stage = Stage::new().await;
    let operator = stage.start(&[10], stage.resource());
    BREAKS.set(usize::MAX);
    create(&stage.cluster, "a", json!({"size": 1, "broken": true})).await;
    tokio::time::sleep(secs(3)).await;
    create(&stage.cluster, "b", json!({"size": 1})).await;
    stage.edit(json!({"size": 2, "broken": false})).await;
    tokio::time::sleep(secs(4)).await;
    stage.edit(json!({"size": 3})).await;
    stage.notes.wait_for(2).await;
    tokio::time::sleep(hours(1)).await;
    operator.stop().await;
    assert_eq!(stage.notes.all(), ["create b 1 at 3", "create a 3 at 10"]);
}

// without any new event; the delays grow, the last one repeats, and a success begins anew.
#[tokio::test(start_paused = true)]
async fn what_broke_is_done_again_after_its_delay() {
    let stage = Stage::new().await;
    let operator = stage.start(&[1, 2], stage.resource());
    BREAKS.set(3);
    create(&stage.cluster, "a", json!({"size": 1, "broken": true})).await;
    stage.notes.wait_for(1).await;
    tokio::time::sleep(secs(95)).await;
    BREAKS.set(1);
    stage.edit(json!({"size": 2})).await;
    stage.notes.wait_for(2).await;
    operator.stop().await;
    assert_eq!(stage.broke(), [0, 1, 3, 100]);
    assert_eq!(stage.notes.all(), ["create a 1 at 5", "update a 2 at 101"]);
}

// it is said all the same, and nothing spins.
#[tokio::test(start_paused = true)]
async fn without_delays_a_broken_object_waits_for_its_next_event() {
    let log = capture(Verbosity::Normal);
    let stage = Stage::new().await;
    let operator = stage.start(&[], stage.resource());
    BREAKS.set(2);
    create(&stage.cluster, "a", json!({"size": 1, "broken": true})).await;
    tokio::time::sleep(hours(1)).await;
    assert_eq!(stage.broke().len(), 1);
    let text = log.text();
    assert!(
        text.contains("Cannot process the object: panicked: the spec is broken"),
        "{text}"
    );
    stage.edit(json!({"size": 2})).await;
    tokio::time::sleep(secs(1)).await;
    stage.edit(json!({"size": 3})).await;
    stage.notes.wait_for(1).await;
    operator.stop().await;
    assert_eq!(stage.broke().len(), 2);
    assert_eq!(stage.notes.all(), ["create a 3 at 3601"]);
}

// neither the operator's end nor that of the object waits for the delay.
#[tokio::test(start_paused = true)]
async fn ends_do_not_wait_for_the_delay() {
    let stage = Stage::new().await;
    let ticks = Notes::default();
    let tick = {
        let ticks = ticks.clone();
        move |_: Timer<Fragile>| {
            ticks.add("tick");
            async { HandlerResult::Ok(()) }
        }
    };
    let timed = stage
        .resource()
        .timer("tick", tick, |o| o.interval(secs(1)).optional(true));
    let operator = stage.start(&[1000], timed);
    create(&stage.cluster, "a", json!({"size": 1})).await;
    ticks.wait_for(1).await;
    BREAKS.set(usize::MAX);
    stage.edit(json!({"broken": true})).await;
    tokio::time::sleep(secs(10)).await;
    assert_eq!(stage.broke().len(), 1);
    stage
        .cluster
        .request("DELETE", &path(&stage.cluster, "a"), &Value::Null)
        .await
        .unwrap();
    tokio::time::sleep(secs(2)).await;
    let count = ticks.all().len();
    assert!(count > 5, "{count} ticks while the object waits");
    tokio::time::sleep(secs(60)).await;
    assert_eq!(ticks.all().len(), count);
    create(&stage.cluster, "b", json!({"size": 1, "broken": true})).await;
    tokio::time::sleep(secs(1)).await;
    let end = Instant::now();
    operator.stop().await;
    assert!(end.elapsed() < secs(1));
}

// no raw event is lost, save the one that broke its reader.
#[tokio::test(start_paused = true)]
async fn raw_events_wait_for_their_turn() {
    let stage = Stage::new().await;
    let seen = {
        let notes = stage.notes.clone();
        move |Event { spec, .. }: Event<Fragile>| {
            notes.add(spec.size.to_string());
            async { HandlerResult::Ok(()) }
        }
    };
    let operator = stage.start(&[10], Resource::of::<Fragile>().on_event("seen", seen, |o| o));
    BREAKS.set(1);
    create(&stage.cluster, "a", json!({"size": 1, "broken": true})).await;
    for size in 2..5 {
        tokio::time::sleep(secs(1)).await;
        stage.edit(json!({"size": size})).await;
    }
    assert!(stage.notes.all().is_empty());
    stage.notes.wait_for(3).await;
    operator.stop().await;
    assert_eq!(stage.notes.all(), ["2", "3", "4"]);
}

// what cannot be stored is kept, and nobody is called before it is stored, whatever happens to the object.
#[tokio::test(start_paused = true)]
async fn refused_progress_is_stored_later_without_its_handler() {
    let stage = Stage::new().await;
    let operator = stage.start(&[5], stage.resource());
    let patches = Traffic::any().verb("patch").resource("widgets").name("a");
    create(&stage.cluster, "b", json!({"size": 1})).await;
    stage.notes.wait_for(1).await;
    server(&stage.cluster).faults().plan(patches, 6, Failure::status(422));
    create(&stage.cluster, "a", json!({"size": 1})).await;
    tokio::time::sleep(secs(2)).await;
    assert!(!handled(&stage.cluster.get(&path(&stage.cluster, "a")).await));
    stage.cluster.wait(&path(&stage.cluster, "a"), handled).await;
    assert_eq!(stage.notes.all()[1..], ["create a 1 at 0"]);
    operator.stop().await;
}

// an outage that is longer than all back-offs of the client.
#[tokio::test(start_paused = true)]
async fn an_outage_is_waited_out_with_both_rows_of_delays() {
    let stage = Stage::new().await;
    let change = |settings: &mut Settings| {
        settings.networking.error_backoffs = vec![secs(10), secs(10)];
        settings.queueing.error_delays = vec![secs(40)];
    };
    let operator = Operator::new("suite").settings(change).resource(stage.resource());
    let operator = stage.cluster.start(operator);
    let patches = Traffic::any().verb("patch").resource("widgets").name("a");
    server(&stage.cluster).faults().plan(patches, 4, Failure::status(500));
    create(&stage.cluster, "a", json!({"size": 1})).await;
    let attempts = || {
        let audit = server(&stage.cluster).audit().with_verb("patch");
        audit.iter().filter(|request| request.name == "a").count()
    };
    // Half of each wait is random.
    for (second, expected) in [(4, 1..=1), (21, 3..=3), (29, 3..=3), (62, 4..=4)] {
        tokio::time::sleep_until(stage.begin + secs(second)).await;
        assert!(
            expected.contains(&attempts()),
            "{} attempts after {second} s",
            attempts()
        );
    }
    stage.cluster.wait(&path(&stage.cluster, "a"), handled).await;
    operator.stop().await;
    assert_eq!(stage.notes.all(), ["create a 1 at 0"]);
}

// the server's wish is the least wait, or exactly the wait.
#[tokio::test(start_paused = true)]
async fn the_servers_wish_is_respected_and_enforced() {
    for (enforced, within) in [(false, 30..=61), (true, 3..=4)] {
        let stage = Stage::new().await;
        let change = |settings: &mut Settings| {
            settings.networking.error_backoffs = vec![secs(100)];
            settings.networking.enforce_retry_after = enforced;
        };
        let operator = Operator::new("suite").settings(change).resource(stage.resource());
        let operator = stage.cluster.start(operator);
        let patches = Traffic::any().verb("patch").resource("widgets").name("a");
        server(&stage.cluster)
            .faults()
            .plan(patches, 1, Failure::retry_after(429, 3));
        create(&stage.cluster, "a", json!({"size": 1})).await;
        loop {
            tokio::time::sleep(secs(1)).await;
            if handled(&stage.cluster.get(&path(&stage.cluster, "a")).await) {
                break;
            }
        }
        let took = stage.begin.elapsed().as_secs();
        assert!(within.contains(&took), "enforced: {enforced}; {took} s");
        operator.stop().await;
    }
}

/// How often the operator tried to patch the object `a`.
fn attempts(cluster: &Cluster) -> usize {
    let audit = server(cluster).audit().with_verb("patch");
    audit.iter().filter(|request| request.name == "a").count()
}

/// Replaces the object `a`, for all its patches are refused.
async fn replace(cluster: &Cluster, change: impl FnOnce(&mut Value)) {
    let path = path(cluster, "a");
    let mut object = cluster.get(&path).await;
    change(&mut object);
    cluster.request("PUT", &path, &object).await.unwrap();
}

// a delay is no shorter for what comes meanwhile, whatever broke.
#[tokio::test(start_paused = true)]
async fn newer_events_wait_while_progress_is_refused() {
    let stage = Stage::new().await;
    let operator = stage.start(&[10], stage.resource());
    let patches = Traffic::any().verb("patch").resource("widgets").name("a");
    server(&stage.cluster)
        .faults()
        .plan(patches, usize::MAX, Failure::status(422));
    create(&stage.cluster, "a", json!({"size": 1})).await;
    for (second, expected) in [(3, 1), (7, 1), (9, 1), (11, 2), (19, 2), (21, 3)] {
        tokio::time::sleep_until(stage.begin + secs(second)).await;
        assert_eq!(attempts(&stage.cluster), expected, "after {second} s");
        replace(&stage.cluster, |object| object["spec"]["size"] = second.into()).await;
    }
    operator.stop().await;
    assert_eq!(stage.notes.all(), ["create a 1 at 0"]);
}

// X-6, Z-10: timers go on and end as ever.
#[tokio::test(start_paused = true)]
async fn timers_follow_their_filters_while_progress_is_refused() {
    let stage = Stage::new().await;
    let ticks = Notes::default();
    let tick = {
        let ticks = ticks.clone();
        move |_: Timer<Fragile>| {
            ticks.add("tick");
            async { HandlerResult::Ok(()) }
        }
    };
    let resource = stage.resource().timer("tick", tick, |o| {
        o.interval(secs(1)).label("tick", "yes").optional(true)
    });
    let operator = stage.start(&[50], resource);
    let patches = Traffic::any().verb("patch").resource("widgets").name("a");
    server(&stage.cluster)
        .faults()
        .plan(patches, usize::MAX, Failure::status(422));
    create(&stage.cluster, "a", json!({"size": 1})).await;
    let count = |after: u64| {
        let ticks = ticks.clone();
        async move {
            tokio::time::sleep(secs(after)).await;
            ticks.all().len()
        }
    };
    assert_eq!(count(10).await, 0);
    replace(&stage.cluster, |object| {
        object["metadata"]["labels"] = json!({"tick": "yes"});
    })
    .await;
    let begun = count(10).await;
    assert!(begun > 5, "{begun} ticks while the object waits");
    replace(&stage.cluster, |object| object["metadata"]["labels"] = json!({})).await;
    let ended = count(2).await;
    assert_eq!(count(300).await, ended);
    operator.stop().await;
}

// X-6, Z-12: the object's end asks for nothing that is still to be stored.
#[tokio::test(start_paused = true)]
async fn an_object_whose_progress_is_refused_can_be_deleted() {
    let stage = Stage::new().await;
    let tick = |_: Timer<Fragile>| async { HandlerResult::Ok(()) };
    let made = |_: Change<Fragile>| async { HandlerResult::<()>::Err(Temporary::after(hours(1), "not yet").into()) };
    let resource = Resource::of::<Fragile>()
        .timer("tick", tick, |o| o.interval(secs(1)))
        .on_create("made", made, |o| o);
    let change = |settings: &mut Settings| {
        settings.queueing.error_delays = vec![secs(5)];
        settings.persistence.progress = vec![Arc::new(StatusProgress::new("status.suite.progress"))];
    };
    let operator = Operator::new("suite").settings(change).resource(resource);
    let operator = stage.cluster.start(operator);
    let patches = Traffic::any().verb("patch").subresource("status");
    server(&stage.cluster)
        .faults()
        .plan(patches, usize::MAX, Failure::status(422));
    create(&stage.cluster, "a", json!({"size": 1})).await;
    tokio::time::sleep(secs(12)).await;
    let path = path(&stage.cluster, "a");
    assert!(stage.cluster.get(&path).await["metadata"]["finalizers"].is_array());
    stage.cluster.request("DELETE", &path, &Value::Null).await.unwrap();
    tokio::time::sleep(secs(7)).await;
    assert_eq!(stage.cluster.get(&path).await, Value::Null);
    operator.stop().await;
}
