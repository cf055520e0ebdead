//! Objects that are so big that what is kept on them must be small.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kopf_runtime::logging::{Verbosity, capture};
use kopf_runtime::{Change, HandlerResult, Kind, Operator, Reference, Resource, Temporary, millis};
use kopf_tests::cluster::Cluster;
use kopf_tests::on_both_servers;
use kopf_tests::widgets::{self, Notes, Widget, create, create_with, path};
use serde_json::{Value, json};

const BIG: &str = "example.com/notes";
const BASE: &str = "kopf.zalando.org/last-handled-configuration";

on_both_servers! {
    a_big_secret_is_handled_and_never_copied;
    a_big_object_with_big_annotations_is_handled;
    an_object_without_room_for_state_waits_and_harms_nobody;
    an_object_without_room_for_state_can_be_deleted;
}

#[derive(Debug)]
struct Secret;

impl Kind for Secret {
    type Spec = Value;
    type Status = Value;
    type Memo = ();
    const REFERENCE: Reference = Reference {
        group: "",
        version: "v1",
        kind: "Secret",
        plural: "secrets",
        namespaced: true,
    };
}

fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object["metadata"]["annotations"][key].as_str()
}

fn handled(object: &Value) -> bool {
    annotation(object, BASE).is_some()
}

/// Notes reason and name, and the paths of the differences.
fn noting<K: Kind>(
    notes: &Notes,
) -> impl Fn(Change<K>) -> std::future::Ready<HandlerResult> + Clone + Send + Sync + 'static {
    let notes = notes.clone();
    move |Change { name, reason, diff, .. }: Change<K>| {
        let paths: Vec<_> = diff.iter().map(|item| item.path.join(".")).collect();
        notes.add(format!("{reason} {name} {}", paths.join(" ")));
        std::future::ready(Ok(()))
    }
}

fn operator<K: Kind<Memo = ()>>(notes: &Notes) -> Operator {
    Operator::new("suite").resource(Resource::of::<K>().on_create("made", noting(notes), |o| o).on_update(
        "changed",
        noting(notes),
        |o| o,
    ))
}

// B-054: 400 KiB of data, as a Helm release has them.
async fn a_big_secret_is_handled_and_never_copied(cluster: &Cluster) {
    let payload = STANDARD.encode("hunter2 ".repeat(400 * 1024 / 8));
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "example.com/release",
        "metadata": {"name": "release"},
        "data": {"release": payload, "owner": STANDARD.encode("somebody")},
    });
    let collection = format!("/api/v1/namespaces/{}/secrets", cluster.namespace);
    let path = format!("{collection}/release");
    cluster.request("POST", &collection, &secret).await.unwrap();
    let notes = Notes::default();
    let operator = cluster.start(operator::<Secret>(&notes));
    let made = cluster.wait(&path, handled).await;
    let text = annotation(&made, BASE).unwrap();
    assert!(text.len() < 1000 && !text.contains(&payload[..32]), "{text}");
    assert!(!text.contains(&STANDARD.encode("somebody")), "{text}");
    let before = text.to_owned();
    let owner = json!({"data": {"owner": STANDARD.encode("somebody else")}});
    cluster.patch(&path, &owner).await;
    let changed = |object: &Value| annotation(object, BASE).is_some_and(|text| text != before);
    cluster.wait(&path, changed).await;
    operator.stop().await;
    // Kubernetes may have made others.
    let mut notes = notes.all();
    notes.retain(|note| note.contains("release"));
    assert_eq!(notes, ["create release ", "update release data.owner"]);
}

// B-054: 200 KiB of spec beside 100 KiB of annotations.
async fn a_big_object_with_big_annotations_is_handled(cluster: &Cluster) {
    widgets::install(cluster).await;
    let metadata = json!({"annotations": {"example.com/notes": "n".repeat(100 * 1024)}});
    let lines: serde_json::Map<String, Value> = (0..200)
        .map(|line| (format!("line-{line}"), json!("x".repeat(1024))))
        .collect();
    create_with(
        cluster,
        "a",
        metadata,
        json!({"size": 1, "text": lines, "colour": "red"}),
    )
    .await;
    let notes = Notes::default();
    let operator = cluster.start(operator::<Widget>(&notes));
    let path = path(cluster, "a");
    let before = cluster.wait(&path, handled).await;
    let text = |object: &Value| annotation(object, BASE).unwrap_or_default().to_owned();
    for (change, _) in [
        (json!({"size": 2}), "spec.size"),
        (json!({"text": {"line-7": "y"}}), "spec.text"),
    ] {
        let known = text(&cluster.get(&path).await);
        cluster.patch(&path, &json!({"spec": change})).await;
        cluster.wait(&path, |object| text(object) != known).await;
    }
    operator.stop().await;
    assert_ne!(text(&before), "");
    let notes = notes.all();
    assert_eq!(notes[1], "update a spec.size", "what fits is told exactly: {notes:?}");
    assert!(notes[2].starts_with("update a spec.text"), "{notes:?}");
    assert_eq!(notes.len(), 3);
}

// B-054: nothing can be kept on it at all.
async fn an_object_without_room_for_state_waits_and_harms_nobody(cluster: &Cluster) {
    widgets::install(cluster).await;
    // A paused clock needs one thread only, so that the log is all of it.
    let log = cluster.embedded.as_ref().map(|_| Arc::new(capture(Verbosity::Normal)));
    let metadata = json!({"annotations": {BIG: "n".repeat(262_144 - BIG.len() - 10)}});
    create_with(cluster, "full", metadata, json!({"size": 1})).await;
    let notes = Notes::default();
    let operator = cluster.start(operator::<Widget>(&notes));
    create(cluster, "a", json!({"size": 1})).await;
    cluster.wait(&path(cluster, "a"), handled).await;
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    let full = path(cluster, "full");
    assert!(!handled(&cluster.get(&full).await));
    // What could not be stored was not done, and is done once there is room.
    assert_eq!(notes.all().len(), 1, "{:?}", notes.all());
    cluster
        .patch(&full, &json!({"metadata": {"annotations": {BIG: null}}}))
        .await;
    cluster.wait(&full, handled).await;
    operator.stop().await;
    let called = |name: &str| {
        notes
            .all()
            .iter()
            .filter(|note| note.contains(&format!("create {name} ")))
            .count()
    };
    assert_eq!((called("full"), called("a")), (1, 1), "{:?}", notes.all());
    if let Some(log) = log {
        let text = log.text();
        let told = text
            .lines()
            .filter(|line| line.contains("leave no room") && line.contains("full"));
        assert!((1..=4).contains(&told.count()), "{text}");
    }
}

// B-054, Z-6: each handler of the deletion is called as often as it must be, and what it wants is done.
async fn an_object_without_room_for_state_can_be_deleted(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let step = |name: &'static str, failures: u32| {
        let notes = notes.clone();
        move |Change { retry, patch, .. }: Change<Widget>| {
            notes.add(format!("{name} {retry}"));
            patch.status(json!({name: retry}));
            let failure = || Temporary::after(millis(100), "not yet");
            std::future::ready(if retry < failures {
                Err(failure().into())
            } else {
                HandlerResult::Ok(())
            })
        }
    };
    let resource = Resource::of::<Widget>()
        .on_delete("gone", step("gone", 2), |o| o)
        .on_delete("left", step("left", 0), |o| o);
    let operator = cluster.start(Operator::new("suite").resource(resource));
    create(cluster, "full", json!({"size": 1})).await;
    let full = path(cluster, "full");
    let made = cluster.wait(&full, handled).await;
    let annotations = made["metadata"]["annotations"].as_object().unwrap();
    let taken: usize = annotations
        .iter()
        .map(|(key, text)| key.len() + text.as_str().unwrap().len())
        .sum();
    let filling = "n".repeat(262_144 - taken - BIG.len() - 10);
    cluster
        .patch(&full, &json!({"metadata": {"annotations": {BIG: filling}}}))
        .await;
    cluster.request("DELETE", &full, &Value::Null).await.unwrap();
    cluster.wait(&full, Value::is_null).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["gone 0", "left 0", "gone 1", "gone 2"]);
}
