//! Which objects, and which changes of them, handlers are called for.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kopf_runtime::logging::{Verbosity, capture};
use kopf_runtime::{
    ABSENT, Change, Event, Filter, HandlerResult, Operator, PRESENT, Resource, RunOptions, Timer, by, filters, millis,
    secs,
};
use kopf_tests::cluster::Cluster;
use kopf_tests::on_both_servers;
use kopf_tests::widgets::{self, Notes, Widget, create, create_with, path};
use serde_json::{Value, json};

const FINALIZER: &str = "kopf.zalando.org/KopfFinalizerMarker";
const BASE: &str = "kopf.zalando.org/last-handled-configuration";

/// A handler that notes its id, the reason, and what its field was and is.
fn noting(notes: &Notes, id: &'static str) -> impl Fn(Change<Widget>) -> BoxFuture<'static, HandlerResult> + use<> {
    let notes = notes.clone();
    move |Change { reason, old, new, .. }: Change<Widget>| {
        let text = |side: Option<kopf_runtime::Raw>| side.map_or("none".to_owned(), |side| side.to_string());
        notes.add(format!("{id} {reason}: {} to {}", text(old), text(new)));
        async { Ok(()) }.boxed()
    }
}

/// The essence's spec that was handled last.
fn handled(object: &Value) -> Value {
    let text = object["metadata"]["annotations"][BASE].as_str().unwrap_or("null");
    serde_json::from_str::<Value>(text).unwrap()["spec"].take()
}

async fn until_handled(cluster: &Cluster, name: &str, spec: Value) -> Value {
    cluster
        .wait(&path(cluster, name), |object| handled(object) == spec)
        .await
}

on_both_servers! {
    values_before_and_after_choose_the_handlers;
    a_filter_that_panics_fails_its_handler_alone;
    objects_enter_and_leave_by_their_labels;
    a_hundred_objects_of_others_are_not_written_to;
    timers_follow_their_filters_at_each_event;
    raw_events_are_filtered_by_what_they_bring;
}

// F-6, F-9, F-13, F-17
async fn values_before_and_after_choose_the_handlers(cluster: &Cluster) {
    fn grows(Filter { old, new, diff, .. }: Filter<'_, Widget>) -> bool {
        let size = |side: Option<&Value>| side.and_then(|essence| essence["spec"]["size"].as_i64());
        diff.is_some_and(|diff| !diff.is_empty()) && size(old) < size(new)
    }
    fn is_small(filter: Filter<'_, Widget>) -> bool {
        filter.spec.size < 10 && filter.labels.get("frozen").is_none()
    }
    widgets::install(cluster).await;
    let notes = Notes::default();
    let note = |id| noting(&notes, id);
    let operator = Operator::new("suite").resource(
        Resource::of::<Widget>()
            .on_create("seen", |_: Change<Widget>| async { HandlerResult::Ok(()) }, |o| o)
            .on_field("red", "spec.colour", note("red"), |o| o.value("red"))
            .on_update("added", note("added"), |o| {
                o.field("spec.colour").old(ABSENT).new(PRESENT)
            })
            .on_update("repainted", note("repainted"), |o| {
                o.field("spec.colour")
                    .old(PRESENT)
                    .new(by(|question| question.value.is_some_and(|colour| colour != "red")))
            })
            .on_update("grown", note("grown"), |o| {
                o.field("spec.size")
                    .when(grows)
                    .when(filters::all([kopf_runtime::Condition::from(is_small)]))
            })
            .on_update("shrunk", note("shrunk"), |o| {
                o.field("spec.size").when(filters::cel(
                    "oldObject != null && object.spec.size < oldObject.spec.size",
                ))
            }),
    );
    let operator = cluster.start(operator);
    let path = path(cluster, "a");
    create(cluster, "a", json!({"size": 1})).await;
    until_handled(cluster, "a", json!({"size": 1})).await;
    for spec in [
        json!({"size": 1, "colour": "red"}),
        json!({"size": 1, "colour": "blue"}),
        json!({"size": 1, "colour": "green"}),
        json!({"size": 1}),
        json!({"size": 2}),
        json!({"size": 1}),
        json!({"size": 11}),
    ] {
        let colour = spec.get("colour").cloned().unwrap_or_default();
        let edit = json!({"spec": {"size": spec["size"], "colour": colour}});
        cluster.patch(&path, &edit).await;
        until_handled(cluster, "a", spec).await;
    }
    operator.stop().await;
    assert_eq!(
        notes.all(),
        [
            r#"red update: none to "red""#,
            r#"added update: none to "red""#,
            r#"red update: "red" to "blue""#,
            r#"repainted update: "red" to "blue""#,
            r#"repainted update: "blue" to "green""#,
            "grown update: 1 to 2",
            "shrunk update: 2 to 1",
        ]
    );
}

// F-15
async fn a_filter_that_panics_fails_its_handler_alone(cluster: &Cluster) {
    fn is_red(filter: Filter<'_, Widget>) -> bool {
        filter.spec.colour.as_deref().expect("a colour") == "red"
    }
    widgets::install(cluster).await;
    let notes = Notes::default();
    let retried = {
        let notes = notes.clone();
        move |Change { retry, .. }: Change<Widget>| {
            notes.add(format!("retried {}", retry > 0));
            async { HandlerResult::Ok(()) }
        }
    };
    let operator = Operator::new("suite").resource(
        Resource::of::<Widget>()
            .on_create("broken", retried, |o| o.when(is_red).backoff(millis(500)))
            .on_create("calm", noting(&notes, "calm"), |o| o.field("spec.size"))
            .on_delete("last", noting(&notes, "last"), |o| {
                o.field("spec.size").when(is_red).backoff(millis(500))
            }),
    );
    let operator = cluster.start(operator);
    let path = path(cluster, "a");
    create(cluster, "a", json!({"size": 1})).await;
    let failing = |object: &Value| {
        let record = object["metadata"]["annotations"]["kopf.zalando.org/broken"]
            .as_str()
            .unwrap_or_default();
        record.contains("panicked: a colour")
    };
    let object = cluster.wait(&path, failing).await;
    assert_eq!(
        object["metadata"].get("finalizers"),
        None,
        "nobody knows, so nothing is held"
    );
    notes.wait_for(1).await;
    cluster.patch(&path, &json!({"spec": {"colour": "red"}})).await;
    until_handled(cluster, "a", json!({"size": 1, "colour": "red"})).await;
    cluster
        .wait(&path, |object| object["metadata"]["finalizers"] == json!([FINALIZER]))
        .await;
    // Broken again: the deletion waits until the filter can answer.
    cluster.patch(&path, &json!({"spec": {"colour": null}})).await;
    cluster.request("DELETE", &path, &Value::Null).await.unwrap();
    let waiting = |object: &Value| {
        let record = object["metadata"]["annotations"]["kopf.zalando.org/last.spec.size"]
            .as_str()
            .unwrap_or_default();
        record.contains("panicked: a colour")
    };
    cluster.wait(&path, waiting).await;
    cluster.patch(&path, &json!({"spec": {"colour": "red"}})).await;
    cluster.wait(&path, Value::is_null).await;
    operator.stop().await;
    assert_eq!(
        notes.all(),
        ["calm create: none to 1", "retried true", "last delete: 1 to 1"]
    );
}

// F-4, F-18, F-20, F-21, Z-4: the edge cases of objects that are edited outside of all filters, and of a label that
// is taken away before the deletion.
async fn objects_enter_and_leave_by_their_labels(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let operator = Operator::new("suite").resource(
        Resource::of::<Widget>()
            .on_create("made", noting(&notes, "made"), |o| o.label("mine", "yes").field("spec"))
            .on_update("changed", noting(&notes, "changed"), |o| {
                o.label("mine", "yes").field("spec")
            })
            .on_delete("gone", noting(&notes, "gone"), |o| {
                o.label("mine", by(|question| question.value.is_some()))
            }),
    );
    let operator = cluster.start(operator);
    let path = path(cluster, "a");
    let mut version = create(cluster, "a", json!({"size": 1})).await["metadata"]["resourceVersion"].clone();
    for size in 2..5 {
        let edited = cluster.patch(&path, &json!({"spec": {"size": size}})).await;
        assert_ne!(edited["metadata"]["resourceVersion"], version);
        version = edited["metadata"]["resourceVersion"].clone();
    }
    cluster
        .patch(&path, &json!({"metadata": {"labels": {"mine": "yes"}}}))
        .await;
    let object = until_handled(cluster, "a", json!({"size": 4})).await;
    assert_eq!(object["metadata"]["finalizers"], json!([FINALIZER]));
    cluster
        .patch(&path, &json!({"metadata": {"labels": {"mine": null}}}))
        .await;
    let left = cluster
        .wait(&path, |object| object["metadata"].get("finalizers").is_none())
        .await;
    // From here on it is none of ours again.
    let edited = cluster.patch(&path, &json!({"spec": {"size": 9}})).await;
    assert_ne!(
        edited["metadata"]["resourceVersion"],
        left["metadata"]["resourceVersion"]
    );
    cluster.request("DELETE", &path, &Value::Null).await.unwrap();
    cluster.wait(&path, Value::is_null).await;
    operator.stop().await;
    assert_eq!(notes.all(), [r#"made create: none to {"size":4}"#]);
}

// F-20, F-22, B-027
async fn a_hundred_objects_of_others_are_not_written_to(cluster: &Cluster) {
    fn is_never(_: Filter<'_, Widget>) -> bool {
        false
    }
    widgets::install(cluster).await;
    let notes = Notes::default();
    let note = |id| noting(&notes, id);
    let look = |_: Timer<Widget>| async { HandlerResult::Ok(()) };
    let operator = Operator::new("suite").resource(
        Resource::of::<Widget>()
            .on_create("made", note("made"), |o| o.label("app", "mine"))
            .on_delete("gone", note("gone"), |o| o.label("app", "mine"))
            .on_update("never", note("never"), |o| o.when(is_never))
            .on_field("absent", "spec.nowhere", note("absent"), |o| o)
            .timer("look", look, |o| o.interval(secs(60)).label("app", "mine")),
    );
    // Half of them are there before, half come later.
    let mut versions = Vec::new();
    let mut operator = Some(operator);
    let mut working = None;
    for number in 0..100 {
        if number == 50 {
            working = operator.take().map(|operator| cluster.start(operator));
        }
        let labels = json!({"labels": {"app": format!("other-{}", number % 3)}});
        let object = create_with(cluster, &format!("w{number}"), labels, json!({"size": number})).await;
        versions.push(object["metadata"]["resourceVersion"].clone());
    }
    create_with(cluster, "mine", json!({"labels": {"app": "mine"}}), json!({"size": 1})).await;
    until_handled(cluster, "mine", json!({"size": 1})).await;
    working.unwrap().stop().await;
    for (number, version) in versions.iter().enumerate() {
        let name = format!("w{number}");
        let object = cluster.get(&path(cluster, &name)).await;
        assert_eq!(object["metadata"]["resourceVersion"], *version, "{object:#}");
        assert!(cluster.events_about(&name).await.is_empty());
    }
    assert_eq!(notes.all().len(), 1);
}

// F-18, F-19, F-23, G-18
async fn timers_follow_their_filters_at_each_event(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let asked = Arc::new(AtomicUsize::new(0));
    let tick = {
        let notes = notes.clone();
        move |_: Timer<Widget>| {
            notes.add("tick");
            async { HandlerResult::Ok(()) }
        }
    };
    let counting = {
        let asked = Arc::clone(&asked);
        move |filter: Filter<'_, Widget>| {
            asked.fetch_add(1, Ordering::SeqCst);
            filter.spec.size > 1
        }
    };
    let operator = cluster.start(
        Operator::new("suite")
            .resource(Resource::of::<Widget>().timer("tick", tick, |o| o.interval(millis(100)).when(counting))),
    );
    let path = path(cluster, "a");
    let created = create(cluster, "a", json!({"size": 1})).await;
    while asked.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(millis(20)).await;
    }
    let object = cluster.get(&path).await;
    assert_eq!(
        object["metadata"]["resourceVersion"],
        created["metadata"]["resourceVersion"]
    );
    cluster.patch(&path, &json!({"spec": {"size": 2}})).await;
    cluster
        .wait(&path, |object| object["metadata"]["finalizers"] == json!([FINALIZER]))
        .await;
    notes.wait_for(2).await;
    let before = asked.load(Ordering::SeqCst);
    notes.wait_for(6).await;
    assert_eq!(asked.load(Ordering::SeqCst), before, "calls ask nothing, events do");
    cluster.patch(&path, &json!({"spec": {"size": 1}})).await;
    cluster
        .wait(&path, |object| object["metadata"].get("finalizers").is_none())
        .await;
    let count = notes.all().len();
    tokio::time::sleep(millis(500)).await;
    assert_eq!(notes.all().len(), count);
    operator.stop().await;
}

// F-6, F-15
async fn raw_events_are_filtered_by_what_they_bring(cluster: &Cluster) {
    fn is_red(filter: Filter<'_, Widget>) -> bool {
        assert_eq!((filter.old, filter.new, filter.diff), (None, None, None));
        filter.spec.colour.as_deref().expect("a colour") == "red"
    }
    widgets::install(cluster).await;
    let notes = Notes::default();
    let note = |id: &'static str| {
        let notes = notes.clone();
        move |Event { spec, .. }: Event<Widget>| {
            notes.add(format!("{id} {}", spec.size));
            async { HandlerResult::Ok(()) }
        }
    };
    let operator = cluster.start(
        Operator::new("suite").resource(
            Resource::of::<Widget>()
                .on_event("red", note("red"), |o| o.when(is_red))
                .on_event("two", note("two"), |o| o.field("spec.size").value(2))
                .on_event("all", note("all"), |o| o),
        ),
    );
    let path = path(cluster, "a");
    create(cluster, "a", json!({"size": 1})).await;
    notes.wait_for(1).await;
    cluster
        .patch(&path, &json!({"spec": {"size": 2, "colour": "red"}}))
        .await;
    notes.wait_for(4).await;
    cluster
        .patch(&path, &json!({"spec": {"size": 3, "colour": null}}))
        .await;
    notes.wait_for(5).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["all 1", "red 2", "two 2", "all 2", "all 3"]);
}

// F-15: the log says it at each attempt, and the object is left as it is.
#[tokio::test(start_paused = true)]
async fn the_log_names_the_handler_whose_filter_fails() {
    fn broken(_: Filter<'_, Widget>) -> bool {
        panic!("out of order")
    }
    let log = capture(Verbosity::Normal);
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let look = |_: Timer<Widget>| async { HandlerResult::Ok(()) };
    let see = |_: Event<Widget>| async { HandlerResult::Ok(()) };
    let notes = Notes::default();
    let operator = cluster.start(
        Operator::new("suite").resource(
            Resource::of::<Widget>()
                .on_create("made", noting(&notes, "made"), |o| {
                    o.when(broken).retries(3).backoff(secs(10))
                })
                .on_delete("gone", noting(&notes, "gone"), |o| o.when(broken))
                .on_event("seen", see, |o| o.label("a", by(|_| panic!("no label"))))
                .timer("look", look, |o| o.interval(secs(1)).when(broken)),
        ),
    );
    let path = path(&cluster, "a");
    create(&cluster, "a", json!({"size": 1})).await;
    let object = until_handled(&cluster, "a", json!({"size": 1})).await;
    assert_eq!(object["metadata"].get("finalizers"), None);
    tokio::time::sleep(secs(60)).await;
    operator.stop().await;
    let text = log.text();
    let count = |needle: &str| text.lines().filter(|line| line.contains(needle)).count();
    assert_eq!(count("made"), 3, "{text}");
    assert_eq!(
        count("Handler gone is not called: the filter `when` panicked: out of order"),
        1,
        "{text}"
    );
    assert!(
        count("Handler seen is not called: the filter on the label `a` panicked: no label") >= 1,
        "{text}"
    );
    assert!(
        count("Handler look is not called: the filter `when` panicked: out of order") >= 1,
        "{text}"
    );
    assert!(notes.all().is_empty());
    cluster.request("DELETE", &path, &Value::Null).await.unwrap();
    assert!(cluster.get(&path).await.is_null());
}

// B-016: filters see the answer to the own patch at once, and a stale event that comes afterwards is no news.
#[tokio::test(start_paused = true)]
async fn a_late_echo_does_not_bring_back_what_filters_saw_before() {
    let cluster = Arc::new(Cluster::embedded().await);
    widgets::install(&cluster).await;
    let notes = Notes::default();
    let is_fresh = || by(|question| question.value.is_none());
    let step = {
        let (notes, cluster) = (notes.clone(), Arc::clone(&cluster));
        move |Change { patch, .. }: Change<Widget>| {
            let (notes, cluster) = (notes.clone(), Arc::clone(&cluster));
            async move {
                notes.add("step");
                cluster.embedded.as_ref().unwrap().faults().hold_events();
                // Somebody else writes before the own patch does; the event of it will be late, and stale.
                let touch = json!({"metadata": {"labels": {"touched": "yes"}}});
                cluster.patch(&path(&cluster, "a"), &touch).await;
                patch.meta().annotation("step", "done");
                HandlerResult::Ok(())
            }
        }
    };
    let operator = cluster.start(
        Operator::new("suite").resource(
            Resource::of::<Widget>()
                .on_create("made", noting(&notes, "made"), |o| {
                    o.field("spec.size").annotation("step", is_fresh())
                })
                .on_update("step", step, |o| o.field("spec.size").annotation("step", is_fresh()))
                .on_update("next", noting(&notes, "next"), |o| {
                    o.field("spec.size").annotation("step", "done")
                }),
        ),
    );
    let path = path(&cluster, "a");
    create(&cluster, "a", json!({"size": 1})).await;
    until_handled(&cluster, "a", json!({"size": 1})).await;
    cluster.patch(&path, &json!({"spec": {"size": 2}})).await;
    until_handled(&cluster, "a", json!({"size": 2})).await;
    tokio::time::sleep(millis(500)).await;
    cluster.embedded.as_ref().unwrap().faults().release_events();
    tokio::time::sleep(secs(30)).await;
    cluster.patch(&path, &json!({"spec": {"size": 3}})).await;
    until_handled(&cluster, "a", json!({"size": 3})).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["made create: none to 1", "step", "next update: 2 to 3"]);
}

// H-14
#[tokio::test(start_paused = true)]
async fn contradicting_filters_refuse_the_start() {
    let cluster = Cluster::embedded().await;
    let notes = Notes::default();
    let operator = Operator::new("suite").resource(
        Resource::of::<Widget>()
            .on_create("made", noting(&notes, "made"), |o| o.value(1))
            .on_field("sized", "spec.size", noting(&notes, "sized"), |o| o.value(1).old(2)),
    );
    let server = cluster.embedded.as_ref().unwrap();
    server.clear_audit();
    let refused = operator.run(RunOptions::new(cluster.client.clone())).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the operator is not well-formed: \
         Widget: the handler `made`: `value` needs `field`, whose value it is; \
         Widget: the handler `sized/spec.size`: `old` cannot stand beside `value`"
    );
    assert_eq!(server.audit().len(), 0);
}
