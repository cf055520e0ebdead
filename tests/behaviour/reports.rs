//! Troubles that users of such operators have reported, played again.

use kopf_runtime::{
    ABSENT, Change, HandlerResult, Kind, Operator, Reference, Resource, Temporary, Timer, blocking, hours, millis, secs,
};
use kopf_tests::cluster::Cluster;
use kopf_tests::on_both_servers;
use kopf_tests::widgets::{self, Notes, Widget, create, create_with, path};
use serde_json::{Value, json};
use tokio::time::Instant;

const FINALIZER: &str = "kopf.zalando.org/KopfFinalizerMarker";

fn handled(object: &Value) -> bool {
    object["metadata"]["annotations"]["kopf.zalando.org/last-handled-configuration"].is_string()
}

/// Notes its calls, and succeeds.
fn noting<K: Kind>(
    notes: &Notes,
    id: &'static str,
) -> impl Fn(Change<K>) -> std::future::Ready<HandlerResult> + Clone + Send + Sync + 'static {
    let notes = notes.clone();
    move |Change { retry, .. }: Change<K>| {
        notes.add(format!("{id} {retry}"));
        std::future::ready(Ok(()))
    }
}

async fn delete(cluster: &Cluster, name: &str, options: Value) {
    let path = path(cluster, name);
    cluster.request("DELETE", &path, &options).await.unwrap();
}

/// The object stays at one version for some seconds.
async fn rests(cluster: &Cluster, path: &str) {
    let before = cluster.get(path).await;
    tokio::time::sleep(secs(4)).await;
    assert_eq!(
        cluster.get(path).await["metadata"]["resourceVersion"],
        before["metadata"]["resourceVersion"]
    );
}

on_both_servers! {
    a_deletion_does_not_wait_for_a_creation;
    a_left_over_record_is_no_reason_for_patches;
    a_status_without_a_subresource_is_no_change;
    finalizers_of_others_may_change_at_any_moment;
    the_collector_may_take_its_finalizer_at_any_moment;
    a_deletion_waits_for_a_timer_no_longer_than_allowed;
    an_optional_timer_never_holds_its_object;
}

// B-023: with and without a handler of the deletion.
async fn a_deletion_does_not_wait_for_a_creation(cluster: &Cluster) {
    widgets::install(cluster).await;
    for waits in [true, false] {
        let notes = Notes::default();
        let made = {
            let notes = notes.clone();
            move |Change { retry, .. }: Change<Widget>| {
                notes.add(format!("made {retry}"));
                async { HandlerResult::<()>::Err(Temporary::after(secs(2), "not yet").into()) }
            }
        };
        let mut resource = Resource::of::<Widget>().on_create("made", made, |o| o);
        if waits {
            resource = resource.on_delete("gone", noting(&notes, "gone"), |o| o);
        }
        let operator = cluster.start(Operator::new("suite").resource(resource));
        let object = path(cluster, "a");
        create(cluster, "a", json!({"size": 1})).await;
        cluster
            .wait(&object, |object| {
                object["metadata"]["annotations"]["kopf.zalando.org/made"].is_string()
            })
            .await;
        delete(cluster, "a", Value::Null).await;
        cluster.wait(&object, Value::is_null).await;
        tokio::time::sleep(secs(4)).await;
        let expected: &[&str] = if waits { &["made 0", "gone 0"] } else { &["made 0"] };
        assert_eq!(notes.all(), expected);
        if let Some(server) = &cluster.embedded {
            server.clear_audit();
            tokio::time::sleep(hours(1)).await;
            assert!(server.audit().with_verb("patch").is_empty());
        }
        operator.stop().await;
    }
}

// B-024
async fn a_left_over_record_is_no_reason_for_patches(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let operator = || {
        let resource = Resource::of::<Widget>()
            .on_create("made", noting(&notes, "made"), |o| o)
            .on_update("changed", noting(&notes, "changed"), |o| o)
            .on_delete("gone", noting(&notes, "gone"), |o| o.optional(true));
        Operator::new("suite").resource(resource)
    };
    let object = path(cluster, "a");
    let first = cluster.start(operator());
    create(cluster, "a", json!({"size": 1})).await;
    cluster.wait(&object, handled).await;
    first.stop().await;
    let record = json!({"started": "2026-01-02T03:04:05", "purpose": "update", "retries": 1, "success": false,
        "failure": false, "delayed": "2026-01-02T03:04:06"});
    let annotations = json!({"kopf.zalando.org/changed": record.to_string()});
    cluster
        .patch(&object, &json!({"metadata": {"annotations": annotations}}))
        .await;
    if let Some(server) = &cluster.embedded {
        server.clear_audit();
    }
    let second = cluster.start(operator());
    // Another object shows that the first one was looked at.
    create(cluster, "b", json!({"size": 1})).await;
    cluster.wait(&path(cluster, "b"), handled).await;
    tokio::time::sleep(secs(1)).await;
    rests(cluster, &object).await;
    if let Some(server) = &cluster.embedded {
        tokio::time::sleep(hours(1)).await;
        let patches = server.audit().with_verb("patch");
        let count = patches.iter().filter(|request| request.name == "a").count();
        assert!(count <= 1, "{count} patches");
    }
    second.stop().await;
    assert_eq!(notes.all(), ["made 0", "made 0"]);
}

struct Trinket;

impl Kind for Trinket {
    type Spec = Value;
    type Status = Value;
    type Memo = ();
    const REFERENCE: Reference = Reference {
        kind: "Trinket",
        plural: "trinkets",
        ..Widget::REFERENCE
    };
}

// B-032: each write of the status is a new generation of the object.
async fn a_status_without_a_subresource_is_no_change(cluster: &Cluster) {
    let text = widgets::definition().to_string();
    let text = text.replace("widget", "trinket").replace("Widget", "Trinket");
    let mut definition: Value = serde_json::from_str(&text).unwrap();
    definition["spec"]["versions"][0]["subresources"] = json!({});
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    cluster.request("POST", crds, &definition).await.unwrap();
    let collection = widgets::collection(cluster).replace("widgets", "trinkets");
    cluster.wait(&collection, |list| list["kind"] == "TrinketList").await;
    let notes = Notes::default();
    let made = {
        let notes = notes.clone();
        move |Change { patch, .. }: Change<Trinket>| {
            notes.add("made 0");
            patch.status(json!({"phase": "Ready"}));
            async { HandlerResult::Ok(1) }
        }
    };
    let resource =
        Resource::of::<Trinket>()
            .on_create("made", made, |o| o)
            .on_update("changed", noting(&notes, "changed"), |o| o);
    let operator = cluster.start(Operator::new("suite").resource(resource));
    let trinket = json!({"apiVersion": "tests.kopf-gen.example.com/v1", "kind": "Trinket",
        "metadata": {"name": "a"}, "spec": {"size": 1}});
    cluster.request("POST", &collection, &trinket).await.unwrap();
    let object = format!("{collection}/a");
    cluster
        .wait(&object, |object| handled(object) && object["status"]["made"] == 1)
        .await;
    rests(cluster, &object).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["made 0"]);
}

/// Takes a finalizer away as its owner would, in the middle of our handler.
async fn take_finalizer(client: kopf_runtime::kube::Client, path: &str, finalizer: &str) -> anyhow::Result<()> {
    let object: Value = client.request(http::Request::get(path).body(Vec::new())?).await?;
    let names = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    let Some(index) = names.iter().position(|name| name == finalizer) else {
        return Ok(());
    };
    let place = format!("/metadata/finalizers/{index}");
    let operations = json!([
        {"op": "test", "path": place, "value": finalizer},
        {"op": "remove", "path": place},
    ]);
    let request = http::Request::patch(path)
        .header("content-type", "application/json-patch+json")
        .body(operations.to_string().into_bytes())?;
    match client.request::<Value>(request).await {
        Ok(_) => Ok(()),
        // The owner itself was faster.
        Err(kopf_runtime::kube::Error::Api(status)) if status.code == 422 => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A delete handler that notes its call, and during which somebody takes a finalizer away.
fn meddled(
    notes: &Notes,
    object: String,
    finalizer: &'static str,
) -> impl Fn(Change<Widget>) -> futures::future::BoxFuture<'static, HandlerResult> + Send + Sync + 'static {
    let notes = notes.clone();
    move |Change { client, .. }: Change<Widget>| {
        notes.add("gone");
        let object = object.clone();
        Box::pin(async move { take_finalizer(client.get()?, &object, finalizer).await })
    }
}

// B-039, B-047, Z-1: the list is another one when ours is removed by its place.
async fn finalizers_of_others_may_change_at_any_moment(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let object = path(cluster, "a");
    let gone = meddled(&notes, object.clone(), "example.com/first");
    let operator =
        cluster.start(Operator::new("suite").resource(Resource::of::<Widget>().on_delete("gone", gone, |o| o)));
    let finalizers = json!({"finalizers": ["example.com/first", FINALIZER, "example.com/last"]});
    create_with(cluster, "a", finalizers, json!({"size": 1})).await;
    delete(cluster, "a", Value::Null).await;
    let left = json!(["example.com/last"]);
    cluster
        .wait(&object, |object| object["metadata"]["finalizers"] == left)
        .await;
    rests(cluster, &object).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["gone"]);
    if let Some(server) = &cluster.embedded {
        let patches = server.audit().with_verb("patch");
        let codes: Vec<_> = patches.iter().filter_map(|request| request.status).collect();
        assert!(codes.contains(&422), "somebody was faster: {patches}");
    }
    cluster.patch(&object, &json!({"metadata": {"finalizers": null}})).await;
}

// B-041
async fn the_collector_may_take_its_finalizer_at_any_moment(cluster: &Cluster) {
    widgets::install(cluster).await;
    for (policy, finalizer) in [("Orphan", "orphan"), ("Foreground", "foregroundDeletion")] {
        let notes = Notes::default();
        let object = path(cluster, "a");
        let gone = meddled(&notes, object.clone(), finalizer);
        let operator =
            cluster.start(Operator::new("suite").resource(Resource::of::<Widget>().on_delete("gone", gone, |o| o)));
        create(cluster, "a", json!({"size": 1})).await;
        cluster
            .wait(&object, |object| object["metadata"]["finalizers"] == json!([FINALIZER]))
            .await;
        let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": policy});
        delete(cluster, "a", options).await;
        cluster.wait(&object, Value::is_null).await;
        operator.stop().await;
        assert_eq!(notes.all(), ["gone"], "{policy}");
    }
}

/// A timer that never ends a call.
fn endless(
    notes: &Notes,
) -> impl Fn(Timer<Widget>) -> futures::future::BoxFuture<'static, HandlerResult> + Send + Sync + 'static {
    let notes = notes.clone();
    move |_: Timer<Widget>| {
        notes.add("begun");
        Box::pin(std::future::pending())
    }
}

// B-046, G-12: dropped at its await point, after both times.
async fn a_deletion_waits_for_a_timer_no_longer_than_allowed(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let resource = Resource::of::<Widget>().timer("tick", endless(&notes), |o| {
        o.interval(secs(60))
            .cancellation_backoff(millis(500))
            .cancellation_timeout(secs(1))
    });
    let operator = cluster.start(Operator::new("suite").resource(resource));
    let object = path(cluster, "a");
    create(cluster, "a", json!({"size": 1})).await;
    notes.wait_for(1).await;
    let begin = Instant::now();
    delete(cluster, "a", Value::Null).await;
    cluster.wait(&object, Value::is_null).await;
    let took = begin.elapsed();
    assert!(took >= millis(1500), "{took:?}");
    if cluster.embedded.is_some() {
        assert!(took < secs(2), "{took:?}");
    }
    operator.stop().await;
}

// B-046: the opt-out.
async fn an_optional_timer_never_holds_its_object(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let resource = Resource::of::<Widget>().timer("tick", endless(&notes), |o| o.interval(secs(60)).optional(true));
    let operator = Operator::new("suite")
        .settings(|settings| settings.queueing.exit_timeout = secs(1))
        .resource(resource);
    let operator = cluster.start(operator);
    let object = path(cluster, "a");
    create(cluster, "a", json!({"size": 1})).await;
    notes.wait_for(1).await;
    assert_eq!(cluster.get(&object).await["metadata"]["finalizers"], Value::Null);
    delete(cluster, "a", Value::Null).await;
    assert_eq!(cluster.get(&object).await, Value::Null, "gone at once");
    operator.stop().await;
}

// B-046, T-13, G-2: a thread cannot be dropped. Nobody waits for it, and it never runs beside itself. On the real
// clock, which threads need; what it waits for is not time, but its turn.
#[tokio::test]
async fn an_abandoned_function_holds_nothing_and_is_not_doubled() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let notes = Notes::default();
    let (release, turn) = std::sync::mpsc::channel::<()>();
    let turn = std::sync::Mutex::new(turn);
    let tick = {
        let notes = notes.clone();
        blocking(move |_: Timer<Widget>| {
            notes.add("begun");
            let _ = turn.lock().unwrap().recv();
            notes.add("ended");
            HandlerResult::Ok(())
        })
    };
    let resource = Resource::of::<Widget>().timer("tick", tick, |o| {
        o.interval(hours(1))
            .label("off", ABSENT)
            .cancellation_timeout(millis(20))
    });
    let operator = cluster.start(Operator::new("suite").resource(resource));
    let object = path(&cluster, "a");
    create(&cluster, "a", json!({"size": 1})).await;
    notes.wait_for(1).await;
    cluster
        .patch(&object, &json!({"metadata": {"labels": {"off": "y"}}}))
        .await;
    // The finalizer goes though the function is still there.
    cluster
        .wait(&object, |object| object["metadata"]["finalizers"].is_null())
        .await;
    cluster
        .patch(&object, &json!({"metadata": {"labels": {"off": null}}}))
        .await;
    cluster
        .wait(&object, |object| object["metadata"]["finalizers"] == json!([FINALIZER]))
        .await;
    assert_eq!(notes.all(), ["begun"]);
    release.send(()).unwrap();
    let restarted = notes.wait_for(3).await;
    assert_eq!(restarted, ["begun", "ended", "begun"]);
    delete(&cluster, "a", Value::Null).await;
    cluster.wait(&object, Value::is_null).await;
    assert_eq!(notes.all().len(), 3);
    drop(release);
    operator.stop().await;
}
