//! Statuses: where they are written, what is kept of them, and what is not an operator's to write.

use std::sync::atomic::{AtomicUsize, Ordering};

use kopf_runtime::logging::{Verbosity, capture};
use kopf_runtime::storages::StatusProgress;
use kopf_runtime::{Change, HandlerResult, Kind, Operator, Reference, Resource, Temporary, Timer, secs};
use kopf_tests::cluster::Cluster;
use kopf_tests::on_both_servers;
use kopf_tests::widgets::{self, Notes, Widget, create, path};
use kopf_testserver::{Failure, Traffic};
use serde_json::{Value, json};

const BASE: &str = "kopf.zalando.org/last-handled-configuration";

on_both_servers! {
    a_status_is_written_with_and_without_its_subresource;
    what_the_schema_prunes_is_told_once_and_stops_nobody;
    progress_that_the_schema_prunes_is_told_and_not_run_after;
    a_status_that_is_stored_as_meant_is_no_trouble;
    the_status_of_a_kind_of_kubernetes_is_left_to_its_owner;
}

macro_rules! kind {
    ($kind:ident, $group:literal, $plural:literal) => {
        #[derive(Debug)]
        struct $kind;

        impl Kind for $kind {
            type Spec = Value;
            type Status = Value;
            type Memo = ();
            const REFERENCE: Reference = Reference {
                group: $group,
                version: "v1",
                kind: stringify!($kind),
                plural: $plural,
                namespaced: true,
            };
        }
    };
}

kind!(Plain, "statuses.kopf-gen.example.com", "plains");
kind!(Strict, "statuses.kopf-gen.example.com", "stricts");
kind!(Closed, "statuses.kopf-gen.example.com", "closeds");
kind!(Pod, "", "pods");

fn handled(object: &Value) -> bool {
    object["metadata"]["annotations"][BASE].is_string()
}

fn collection<K: Kind>(cluster: &Cluster) -> String {
    let Reference { group, plural, .. } = K::REFERENCE;
    format!("/apis/{group}/v1/namespaces/{}/{plural}", cluster.namespace)
}

/// Installs the CRD of a kind with this schema of the status.
async fn install<K: Kind>(cluster: &Cluster, status: Value, subresource: bool) {
    let Reference {
        group, kind, plural, ..
    } = K::REFERENCE;
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase(), "listKind": format!("{kind}List")},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": if subresource { json!({"status": {}}) } else { json!({}) },
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": open, "status": status}}},
            }],
        },
    });
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    cluster.request("POST", crds, &definition).await.unwrap();
    cluster
        .wait(&collection::<K>(cluster), |list| list["kind"] == format!("{kind}List"))
        .await;
}

async fn make<K: Kind>(cluster: &Cluster, name: &str) -> String {
    let Reference { group, kind, .. } = K::REFERENCE;
    let object = json!({
        "apiVersion": format!("{group}/v1"), "kind": kind, "metadata": {"name": name}, "spec": {"size": 1},
    });
    let collection = collection::<K>(cluster);
    cluster.request("POST", &collection, &object).await.unwrap();
    format!("{collection}/{name}")
}

/// Two steps, the second of which needs another attempt; both have a result, and one writes to the spec, too.
fn in_two_steps<K: Kind<Memo = ()>>(notes: &Notes) -> Operator {
    let first = |Change { patch, .. }: Change<K>| {
        patch.spec(json!({"seen": true}));
        async { HandlerResult::Ok(json!({"host": "h"})) }
    };
    let notes = notes.clone();
    let second = move |Change { retry, .. }: Change<K>| {
        notes.add(format!("second {retry}"));
        async move {
            if retry == 0 {
                return Err(Temporary::after(secs(1), "not yet").into());
            }
            HandlerResult::Ok(json!({"port": 80}))
        }
    };
    Operator::new("suite").resource(Resource::of::<K>().on_create("first", first, |o| o).on_create(
        "second",
        second,
        |o| o,
    ))
}

// B-048
async fn a_status_is_written_with_and_without_its_subresource(cluster: &Cluster) {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    install::<Plain>(cluster, open, false).await;
    widgets::install(cluster).await;
    let results = |object: &Value| object["status"] == json!({"first": {"host": "h"}, "second": {"port": 80}});
    let notes = Notes::default();

    let operator = cluster.start(in_two_steps::<Plain>(&notes));
    let plain = make::<Plain>(cluster, "a").await;
    let plain = cluster.wait(&plain, |object| handled(object) && results(object)).await;
    operator.stop().await;
    assert_eq!(plain["spec"]["seen"], true);

    let operator = cluster.start(in_two_steps::<Widget>(&notes));
    create(cluster, "a", json!({"size": 1})).await;
    let widget = cluster
        .wait(&path(cluster, "a"), |object| handled(object) && results(object))
        .await;
    operator.stop().await;
    assert_eq!(widget["spec"]["seen"], true);
    assert_eq!(notes.all(), ["second 0", "second 1", "second 0", "second 1"]);
}

// B-049
async fn what_the_schema_prunes_is_told_once_and_stops_nobody(cluster: &Cluster) {
    // All that the schema lists is a phase; neither of the results is kept.
    let closed = json!({"type": "object", "properties": {"phase": {"type": "string"}}});
    install::<Strict>(cluster, closed, true).await;
    let log = cluster.embedded.as_ref().map(|_| capture(Verbosity::Normal));
    let notes = Notes::default();
    let operator = cluster.start(in_two_steps::<Strict>(&notes));
    for name in ["a", "b"] {
        let path = make::<Strict>(cluster, name).await;
        let done = cluster.wait(&path, handled).await;
        assert_eq!(done["status"]["first"], Value::Null, "{done:#}");
        assert_eq!(done["spec"]["seen"], true);
    }
    operator.stop().await;
    assert_eq!(notes.all(), ["second 0", "second 1", "second 0", "second 1"]);
    if let Some(log) = log {
        let text = log.text();
        for field in ["status.first", "status.second"] {
            let told = text
                .lines()
                .filter(|line| line.contains(&format!("did not keep {field}")));
            assert_eq!(told.count(), 1, "{text}");
        }
    }
}

// B-049: an operator that wants its progress there all the same.
async fn progress_that_the_schema_prunes_is_told_and_not_run_after(cluster: &Cluster) {
    let closed = json!({"type": "object", "properties": {"phase": {"type": "string"}}});
    install::<Closed>(cluster, closed, true).await;
    let log = cluster.embedded.as_ref().map(|_| capture(Verbosity::Normal));
    let notes = Notes::default();
    let step = || {
        let notes = notes.clone();
        move |Change { retry, .. }: Change<Closed>| {
            notes.add(retry.to_string());
            async { HandlerResult::Ok(()) }
        }
    };
    let resource = Resource::of::<Closed>()
        .on_create("first", step(), |o| o)
        .on_create("second", step(), |o| o);
    let operator = cluster.start(Operator::new("suite").resource(resource).settings(|settings| {
        settings.persistence.progress = vec![std::sync::Arc::new(StatusProgress::new("status.suite.progress"))];
    }));
    make::<Closed>(cluster, "a").await;
    tokio::time::sleep(secs(5)).await;
    operator.stop().await;
    let calls = notes.all().len();
    assert!(
        (2..=6).contains(&calls),
        "it waits longer and longer: {calls} calls in five seconds"
    );
    if let Some(log) = log {
        assert!(
            log.text()
                .contains("the progress of the handler first was stored and is not there"),
            "{}",
            log.text()
        );
    }
}

// B-050
async fn a_status_that_is_stored_as_meant_is_no_trouble(cluster: &Cluster) {
    widgets::install(cluster).await;
    let log = cluster.embedded.as_ref().map(|_| capture(Verbosity::Normal));
    let notes = Notes::default();
    let made = {
        let notes = notes.clone();
        move |Change { patch, .. }: Change<Widget>| {
            notes.add("made");
            patch.status(json!({
                "z": {"count": 3, "ratio": 2.0, "absent": null}, "a": {"old": null, "deep": {"er": [1, {"b": 1, "a": 2}]}},
            }));
            patch.meta().annotation("example.com/never", None);
            async { HandlerResult::Ok(()) }
        }
    };
    let path = path(cluster, "a");
    create(cluster, "a", json!({"size": 1})).await;
    let old = json!({"status": {"a": {"old": 1}, "kept": true}});
    cluster.patch(&format!("{path}/status"), &old).await;
    let operator =
        cluster.start(Operator::new("suite").resource(Resource::of::<Widget>().on_create("made", made, |o| o)));
    let done = cluster
        .wait(&path, |object| handled(object) && object["status"]["z"]["count"] == 3)
        .await;
    operator.stop().await;
    assert_eq!(done["status"]["a"], json!({"deep": {"er": [1, {"b": 1, "a": 2}]}}));
    assert_eq!((&done["status"]["kept"], notes.all().len()), (&json!(true), 1));
    if let Some(log) = log {
        assert!(!log.text().contains("did not keep"), "{}", log.text());
    }
}

// B-051
async fn the_status_of_a_kind_of_kubernetes_is_left_to_its_owner(cluster: &Cluster) {
    // Without its account, the real server takes no pod.
    let namespace = format!("/api/v1/namespaces/{}", cluster.namespace);
    cluster
        .wait(&format!("{namespace}/serviceaccounts/default"), |account| {
            cluster.embedded.is_some() || !account.is_null()
        })
        .await;
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
        "spec": {
            "containers": [{"name": "c", "image": "example.com/image:1"}],
            "automountServiceAccountToken": false,
        },
    });
    cluster
        .request("POST", &format!("{namespace}/pods"), &pod)
        .await
        .unwrap();
    let path = format!("{namespace}/pods/a");
    let notes = Notes::default();
    let phased = {
        let notes = notes.clone();
        move |Change { retry, new, .. }: Change<Pod>| {
            notes.add(format!(
                "{retry} {}",
                new.map(|new| new.to_string()).unwrap_or_default()
            ));
            async move {
                if retry == 0 {
                    return Err(Temporary::after(secs(1), "not yet").into());
                }
                HandlerResult::Ok(())
            }
        }
    };
    let operator = cluster.start(Operator::new("suite").resource(Resource::of::<Pod>().on_update(
        "phased",
        phased,
        |o| o.field("status.phase"),
    )));
    cluster.wait(&path, handled).await;
    let running = json!({"status": {"phase": "Running"}});
    let before = cluster.patch(&format!("{path}/status"), &running).await;
    notes.wait_for(2).await;
    let covered = |object: &Value| {
        object["metadata"]["annotations"][BASE]
            .as_str()
            .is_some_and(|text| text.contains("Running"))
    };
    let done = cluster.wait(&path, covered).await;
    operator.stop().await;
    assert_eq!(notes.all(), [r#"0 "Running""#, r#"1 "Running""#]);
    assert_eq!(done["status"], before["status"], "nothing of the operator is there");
}

// B-052: with every third patch refused, and others who write the status, too.
#[tokio::test(start_paused = true)]
async fn what_a_timer_appends_is_there_once_and_in_order() {
    const TICKS: usize = 30;
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let faults = cluster.embedded.as_ref().unwrap().faults();
    let ticks = std::sync::Arc::new(AtomicUsize::new(0));
    let tick = {
        let ticks = ticks.clone();
        move |Timer { patch, .. }: Timer<Widget>| {
            let tick = ticks.fetch_add(1, Ordering::Relaxed);
            if tick < TICKS {
                patch.then(move |object| {
                    let history = &mut object["status"]["history"];
                    if !history.is_array() {
                        *history = json!([]);
                    }
                    let entries = history.as_array_mut().unwrap();
                    if !entries.contains(&json!(tick)) {
                        entries.push(json!(tick));
                    }
                });
                // One patch, then one that is refused and the one that repeats it: every third one is refused.
                if tick % 2 == 1 {
                    let patches = Traffic::any().verb("patch").resource("widgets").subresource("status");
                    faults.plan(patches, 1, Failure::status(409));
                }
            }
            async { HandlerResult::Ok(()) }
        }
    };
    let operator = cluster
        .start(Operator::new("suite").resource(Resource::of::<Widget>().timer("tick", tick, |o| o.interval(secs(1)))));
    let path = path(&cluster, "a");
    create(&cluster, "a", json!({"size": 1})).await;
    let entries = |object: &Value| object["status"]["history"].as_array().map_or(0, Vec::len);
    for turn in 0..10 {
        let seen = json!({"status": {"seen": turn}});
        cluster.patch(&format!("{path}/status"), &seen).await;
        tokio::time::sleep(std::time::Duration::from_millis(1700)).await;
    }
    let done = cluster.wait(&path, |object| entries(object) >= TICKS).await;
    operator.stop().await;
    let expected: Vec<usize> = (0..TICKS).collect();
    assert_eq!(done["status"]["history"], json!(expected));
    let audit = cluster.embedded.as_ref().unwrap().audit();
    let refused = audit.iter().filter(|request| request.status == Some(409)).count();
    assert_eq!(refused, TICKS / 2);
}
