//! What handlers are called with.

use std::collections::BTreeMap;

use kopf_runtime::kube::Client;
use kopf_runtime::{
    Change, Event, EventType, HandlerResult, Kind, Operator, Raw, Reason, Reference, Resource, Temporary, Timer,
    millis, secs,
};
use kopf_tests::cluster::Cluster;
use kopf_tests::on_both_servers;
use kopf_tests::widgets::{self, Notes, Widget, WidgetSpec, create, create_with, path};
use serde_json::{Value, json};

fn handled(object: &Value) -> bool {
    object["metadata"]["annotations"]["kopf.zalando.org/last-handled-configuration"].is_string()
}

on_both_servers! {
    each_call_knows_its_attempt;
    every_handler_sees_the_whole_object;
    each_family_has_arguments_of_its_own;
    an_object_of_the_cluster_has_no_namespace;
    the_patch_of_a_cycle_is_seen_by_those_that_come_later;
}

// K-1
async fn each_call_knows_its_attempt(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let (first, event) = (std::sync::Arc::new(std::sync::OnceLock::new()), notes.clone());
    let made = {
        let notes = notes.clone();
        move |Change {
                  param,
                  retry,
                  started,
                  runtime,
                  ..
              }: Change<Widget>| {
            let began = *first.get_or_init(|| started);
            let since = runtime >= secs(1) && runtime < secs(60);
            // What is stored of the time is no finer than microseconds.
            let same = started.duration_since(began).abs() < millis(1).try_into().unwrap();
            notes.add(format!("made {param} {retry} {same} {since}"));
            async move {
                if retry == 0 {
                    return Err(Temporary::after(secs(1), "not yet").into());
                }
                HandlerResult::Ok(())
            }
        }
    };
    let seen = move |Event {
                         param,
                         retry,
                         started,
                         runtime,
                         event_type,
                         ..
                     }: Event<Widget>| {
        if matches!(event_type, EventType::Added | EventType::Listed) {
            let fresh = runtime < millis(1) && started.as_second() > 0;
            event.add(format!("seen {param} {retry} {fresh}"));
        }
        async { HandlerResult::Ok(()) }
    };
    let operator = cluster.start(
        Operator::new("suite").resource(
            Resource::of::<Widget>()
                .on_event("seen", seen, |o| o.param("e"))
                .on_create("made", made, |o| o.param(json!({"p": 1}))),
        ),
    );
    create(cluster, "a", json!({"size": 1})).await;
    cluster.wait(&path(cluster, "a"), handled).await;
    operator.stop().await;
    assert_eq!(
        notes.all(),
        [
            r#"seen "e" 0 true"#,
            r#"made {"p":1} 0 true false"#,
            r#"made {"p":1} 1 true true"#,
        ]
    );
}

/// What all families have in common, as JSON.
macro_rules! common {
    ($arguments:ident) => {
        json!({
            "name": $arguments.name,
            "namespace": $arguments.namespace,
            "uid": $arguments.uid == $arguments.body.uid().unwrap(),
            "labels": $arguments.labels,
            "annotation": $arguments.annotations.get("note"),
            "meta": [$arguments.meta["name"], $arguments.meta.typed().unwrap().name],
            "spec": $arguments.spec.size,
            "status": $arguments.status["phase"],
            "body": $arguments.body.value()["spec"],
            "patch": $arguments.patch.is_empty(),
            "client": $arguments.client.get().is_ok(),
            "memo": *$arguments.memo == (),
        })
    };
}

// K-2
async fn every_handler_sees_the_whole_object(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let noting = |family: &'static str| {
        let notes = notes.clone();
        move |common: Value| notes.add(format!("{family} {common}"))
    };
    let (event, change, timer) = (noting("event"), noting("change"), noting("timer"));
    let on_event = move |arguments: Event<Widget>| {
        if matches!(arguments.event_type, EventType::Added | EventType::Listed) {
            event(common!(arguments));
        }
        async { HandlerResult::Ok(()) }
    };
    let on_create = move |arguments: Change<Widget>| {
        change(common!(arguments));
        async { HandlerResult::Ok(()) }
    };
    let tick = move |arguments: Timer<Widget>| {
        timer(common!(arguments));
        async { HandlerResult::Ok(()) }
    };
    let operator = cluster.start(
        Operator::new("suite").resource(
            Resource::of::<Widget>()
                .on_event("event", on_event, |o| o)
                .on_create("change", on_create, |o| o)
                .timer("timer", tick, |o| o.initial_delay(secs(1)).optional(true)),
        ),
    );
    let metadata = json!({"labels": {"tier": "gold"}, "annotations": {"note": "n"}});
    create_with(cluster, "a", metadata, json!({"size": 3})).await;
    let mut all: Vec<String> = notes.wait_for(3).await;
    all.sort_unstable();
    operator.stop().await;
    let expected = json!({
        "name": "a", "namespace": cluster.namespace, "uid": true, "labels": {"tier": "gold"}, "annotation": "n",
        "meta": ["a", "a"], "spec": 3, "status": null, "body": {"size": 3}, "patch": true, "client": true, "memo": true,
    });
    assert_eq!(
        all,
        ["change", "event", "timer"].map(|family| format!("{family} {expected}"))
    );
}

// K-3, K-7, K-9
async fn each_family_has_arguments_of_its_own(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let text = |raw: Option<Raw>| raw.map_or("none".to_owned(), |raw| raw.to_string());
    let change = {
        let notes = notes.clone();
        move |Change {
                  reason, old, new, diff, ..
              }: Change<Widget>| {
            assert_ne!(reason, Reason::Noop);
            notes.add(format!("{reason} {} {} {}", text(old), text(new), diff.len()));
            async { HandlerResult::Ok(()) }
        }
    };
    let event = {
        let notes = notes.clone();
        move |Event { event_type, event, .. }: Event<Widget>| {
            if event_type == EventType::Deleted {
                notes.add(format!("{} {}", event["type"], event["object"]["metadata"]["name"]));
            }
            async { HandlerResult::Ok(()) }
        }
    };
    let tick = {
        let notes = notes.clone();
        move |Timer { stopped, .. }: Timer<Widget>| {
            let notes = notes.clone();
            async move {
                notes.add(format!("timer {}", stopped.is_set()));
                stopped.wait().await;
                notes.add(format!("timer {}", stopped.is_set()));
                HandlerResult::Ok(())
            }
        }
    };
    let operator = cluster.start(
        Operator::new("suite").resource(
            Resource::of::<Widget>()
                .on_create("change", change.clone(), |o| o)
                .on_update("change", change, |o| o)
                .on_event("event", event, |o| o)
                .timer("tick", tick, |o| o.initial_delay(secs(1))),
        ),
    );
    let path = path(cluster, "a");
    create(cluster, "a", json!({"size": 1})).await;
    notes.wait_for(2).await;
    cluster.patch(&path, &json!({"spec": {"size": 2}})).await;
    notes.wait_for(3).await;
    cluster.request("DELETE", &path, &Value::Null).await.unwrap();
    let all = notes.wait_for(5).await;
    operator.stop().await;
    assert_eq!(
        all,
        [
            r#"create none {"spec":{"size":1}} 1"#,
            "timer false",
            r#"update {"spec":{"size":1}} {"spec":{"size":2}} 1"#,
            "timer true",
            r#""DELETED" "a""#,
        ]
    );
}

/// The namespaces themselves.
struct Space;

impl Kind for Space {
    type Spec = Value;
    type Status = Value;
    type Memo = ();
    const REFERENCE: Reference = Reference {
        group: "",
        version: "v1",
        kind: "Namespace",
        plural: "namespaces",
        namespaced: false,
    };
}

// K-6
async fn an_object_of_the_cluster_has_no_namespace(cluster: &Cluster) {
    let notes = Notes::default();
    let seen = {
        let (notes, own) = (notes.clone(), cluster.namespace.clone());
        move |Event { name, namespace, .. }: Event<Space>| {
            if name == own {
                notes.add(format!("{namespace:?}"));
            }
            async { HandlerResult::Ok(()) }
        }
    };
    let operator =
        cluster.start(Operator::new("suite").resource(Resource::of::<Space>().on_event("seen", seen, |o| o)));
    assert_eq!(notes.wait_for(1).await[0], "None");
    operator.stop().await;
}

// K-10
async fn the_patch_of_a_cycle_is_seen_by_those_that_come_later(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let raw = |id: &'static str| {
        let notes = notes.clone();
        move |Event {
                  patch,
                  event_type,
                  body,
                  ..
              }: Event<Widget>| {
            if matches!(event_type, EventType::Added | EventType::Listed) {
                notes.add(format!("{id} {}", patch.merged()));
                patch.spec(json!({id: 1}));
            }
            let object = body.value();
            let parts = [
                !object["spec"]["first"].is_null(),
                !object["spec"]["second"].is_null(),
                body.label("made").is_some(),
                body.label("more").is_some(),
            ];
            if parts != [parts[0]; 4] {
                notes.add(format!("more than one patch: {parts:?}"));
            }
            async { HandlerResult::Ok(()) }
        }
    };
    let change = |id: &'static str| {
        let notes = notes.clone();
        move |Change { patch, .. }: Change<Widget>| {
            let seen = patch.merged();
            notes.add(format!("{id} {} {}", seen["spec"], seen["metadata"]));
            let _ = patch.meta().label(id, "x");
            let object = patch.applied_to(&json!({}));
            assert_eq!(
                (&object["spec"]["first"], &object["metadata"]["labels"][id]),
                (&json!(1), &json!("x"))
            );
            async { HandlerResult::Ok(()) }
        }
    };
    let operator = cluster.start(
        Operator::new("suite")
            .settings(|settings| settings.execution.lifecycle = kopf_runtime::Lifecycle::AllAtOnce)
            .resource(
                Resource::of::<Widget>()
                    .on_event("first", raw("first"), |o| o)
                    .on_event("second", raw("second"), |o| o)
                    .on_create("made", change("made"), |o| o)
                    .on_create("more", change("more"), |o| o),
            ),
    );
    create(cluster, "a", json!({"size": 1})).await;
    let done = cluster.wait(&path(cluster, "a"), handled).await;
    operator.stop().await;
    assert_eq!(
        notes.all(),
        [
            "first {}",
            r#"second {"spec":{"first":1}}"#,
            r#"made {"first":1,"second":1} null"#,
            r#"more {"first":1,"second":1} {"labels":{"made":"x"}}"#,
        ]
    );
    assert_eq!(done["spec"], json!({"size": 1, "first": 1, "second": 1}));
    assert_eq!(done["metadata"]["labels"], json!({"made": "x", "more": "x"}));
    // One merge patch for all of it.
    if let Some(server) = &cluster.embedded {
        let patches = server.audit().for_resource("widgets").with_verb("patch");
        let first = patches.first().and_then(|patch| patch.body.clone()).unwrap();
        assert_eq!(first["spec"], json!({"first": 1, "second": 1}));
        assert_eq!(first["metadata"]["labels"], json!({"made": "x", "more": "x"}));
        assert!(handled(&first), "and for what the operator itself keeps: {first:#}");
    }
}

// K-5, K-6: what an object lacks reads as empty, for whatever family.
#[tokio::test]
async fn what_an_object_lacks_reads_as_empty() {
    let bare = || json!({"spec": {"size": 1}});
    let change = Change::<Widget>::for_test(bare());
    assert_eq!(
        (change.name.as_str(), change.uid.as_str(), change.namespace),
        ("", "", None)
    );
    assert_eq!((change.labels, change.annotations), (BTreeMap::new(), BTreeMap::new()));
    assert_eq!(change.status["some"]["where"], Value::Null);
    assert_eq!(change.meta.typed().unwrap().labels, None);
    assert_eq!(*change.spec, WidgetSpec { size: 1, colour: None });
    assert_eq!(*change.body.value(), bare(), "reading makes no keys");
    let timer = Timer::<Widget>::for_test(json!({"metadata": {"namespace": "n"}, "spec": {"size": 1}}));
    assert_eq!(timer.namespace.as_deref(), Some("n"));
    assert!(timer.client.get().map(|_: Client| ()).is_err(), "there is no cluster");
}
