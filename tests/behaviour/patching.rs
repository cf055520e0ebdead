//! Patches: which requests they become, what they are applied to, and what happens when somebody else is faster.

use kopf_runtime::{Change, Event, EventType, HandlerResult, Operator, Patch, Resource, Timer, secs};
use kopf_tests::cluster::Cluster;
use kopf_tests::on_both_servers;
use kopf_tests::widgets::{self, Notes, Widget, create, create_with, path};
use kopf_testserver::{Failure, RecordedRequest, Server, Traffic};
use serde_json::{Value, json};

const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";

fn handled(object: &Value) -> bool {
    object["metadata"]["annotations"]["kopf.zalando.org/last-handled-configuration"].is_string()
}

fn server(cluster: &Cluster) -> &Server {
    cluster.embedded.as_ref().expect("the server is embedded")
}

/// The operator's patches of `a`.
fn patches(cluster: &Cluster) -> Vec<RecordedRequest> {
    let audit = server(cluster).audit().with_verb("patch");
    audit.iter().filter(|request| request.name == "a").cloned().collect()
}

/// Changes the object as somebody else would, while its handler holds an older state of it.
async fn meddle(client: kopf_runtime::kube::Client, path: &str) {
    let body = json!({"metadata": {"labels": {"other": "here"}}}).to_string();
    let request = http::Request::patch(path)
        .header("content-type", MERGE)
        .body(body.into_bytes());
    client.request::<Value>(request.unwrap()).await.unwrap();
}

/// Adds one to the size.
fn grow(patch: &Patch) {
    patch.then(|object| object["spec"]["size"] = json!(object["spec"]["size"].as_i64().unwrap() + 1));
}

on_both_servers! {
    functions_see_what_the_merge_made;
    a_function_is_applied_anew_when_somebody_was_faster;
    a_function_of_a_timer_is_applied_anew_as_well;
    a_touch_that_kopf_left_goes_along;
}

//
async fn functions_see_what_the_merge_made(cluster: &Cluster) {
    widgets::install(cluster).await;
    let made = |Change { patch, .. }: Change<Widget>| async move {
        patch.spec(json!({"size": 200}));
        grow(&patch);
        HandlerResult::Ok(())
    };
    let operator =
        cluster.start(Operator::new("suite").resource(Resource::of::<Widget>().on_create("made", made, |o| o)));
    create(cluster, "a", json!({"size": 1})).await;
    cluster
        .wait(&path(cluster, "a"), |object| {
            handled(object) && object["spec"]["size"] == 201
        })
        .await;
    operator.stop().await;
}

/// The media types and codes of the operator's patches of `a`.
fn sent(cluster: &Cluster) -> Vec<(String, u16)> {
    let patches = patches(cluster);
    let of = |request: &RecordedRequest| (request.content_type.clone(), request.status.unwrap_or_default());
    patches.iter().map(of).collect()
}

// B-047: on the fresh state, and without the handler. The first of the patches is somebody else's.
async fn a_function_is_applied_anew_when_somebody_was_faster(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let object = path(cluster, "a");
    let seen = {
        let (notes, object) = (notes.clone(), object.clone());
        move |Event { client, patch, .. }: Event<Widget>| {
            let first = notes.all().is_empty();
            notes.add("seen");
            let object = object.clone();
            async move {
                if first {
                    grow(&patch);
                    meddle(client.get()?, &object).await;
                }
                HandlerResult::Ok(())
            }
        }
    };
    let operator =
        cluster.start(Operator::new("suite").resource(Resource::of::<Widget>().on_event("seen", seen, |o| o)));
    create(cluster, "a", json!({"size": 1})).await;
    let done = cluster.wait(&object, |object| object["spec"]["size"] == 2).await;
    assert_eq!(done["metadata"]["labels"]["other"], "here");
    // One event each for the creation, the other's change, and the own one.
    notes.wait_for(3).await;
    tokio::time::sleep(secs(1)).await;
    operator.stop().await;
    assert_eq!(notes.all().len(), 3);
    if cluster.embedded.is_some() {
        let expected = [(MERGE, 200), (JSON, 422), (JSON, 200)];
        assert_eq!(sent(cluster), expected.map(|(kind, status)| (kind.to_owned(), status)));
    }
}

//
async fn a_function_of_a_timer_is_applied_anew_as_well(cluster: &Cluster) {
    widgets::install(cluster).await;
    let object = path(cluster, "a");
    let notes = Notes::default();
    let tick = {
        let (notes, object) = (notes.clone(), object.clone());
        move |Timer { client, patch, .. }: Timer<Widget>| {
            notes.add(if patch.is_empty() { "fresh" } else { "kept" });
            let object = object.clone();
            async move {
                grow(&patch);
                meddle(client.get()?, &object).await;
                HandlerResult::Ok(())
            }
        }
    };
    // A one-shot.
    let operator = cluster.start(Operator::new("suite").resource(Resource::of::<Widget>().timer("tick", tick, |o| o)));
    create(cluster, "a", json!({"size": 1})).await;
    let wanted = |object: &Value| object["spec"]["size"] == 2 && object["metadata"]["labels"]["other"] == "here";
    cluster.wait(&object, wanted).await;
    cluster
        .wait(&object, |object| object["metadata"]["finalizers"].is_null())
        .await;
    operator.stop().await;
    assert_eq!(notes.all(), ["fresh"]);
}

// A-18, W-10: and no touch of our own ever comes.
async fn a_touch_that_kopf_left_goes_along(cluster: &Cluster) {
    widgets::install(cluster).await;
    let made = |_: Change<Widget>| async { HandlerResult::Ok(()) };
    let operator =
        cluster.start(Operator::new("suite").resource(Resource::of::<Widget>().on_create("made", made, |o| o)));
    let touch = "kopf.zalando.org/touch-dummy";
    let annotations = json!({"annotations": {touch: "2026-01-02T03:04:05"}});
    create_with(cluster, "a", annotations, json!({"size": 1})).await;
    let done = cluster.wait(&path(cluster, "a"), handled).await;
    operator.stop().await;
    assert_eq!(done["metadata"]["annotations"][touch], Value::Null);
}

/// The versions that an object had, in order, as raw events tell them.
fn versions(notes: &Notes) -> impl Fn(Event<Widget>) -> std::future::Ready<HandlerResult> + Send + Sync + 'static {
    let notes = notes.clone();
    move |Event { body, .. }: Event<Widget>| {
        notes.add(body.resource_version().unwrap());
        std::future::ready(Ok(()))
    }
}

async fn patched_everywhere(definition: Value) -> (Vec<RecordedRequest>, Vec<String>) {
    let cluster = Cluster::embedded().await;
    server(&cluster).apply(definition).unwrap();
    let notes = Notes::default();
    let made = |Change { patch, .. }: Change<Widget>| async move {
        patch.spec(json!({"x": "y"}));
        patch.status(json!({"x": "y"}));
        patch.then(|object| object["metadata"]["labels"] = json!({"by": "function"}));
        patch.then(|object| object["status"]["count"] = json!(1));
        HandlerResult::Ok(())
    };
    let operator = cluster.start(
        Operator::new("suite").resource(
            Resource::of::<Widget>()
                .on_event("seen", versions(&notes), |o| o)
                .on_create("made", made, |o| o),
        ),
    );
    create(&cluster, "a", json!({"size": 1})).await;
    cluster
        .wait(&path(&cluster, "a"), |object| object["status"]["count"] == 1)
        .await;
    tokio::time::sleep(secs(10)).await;
    operator.stop().await;
    // After these comes the one that notes the own change of the spec as handled.
    (patches(&cluster), notes.all())
}

fn version_test(version: &str) -> Value {
    json!({"op": "test", "path": "/metadata/resourceVersion", "value": version})
}

//
#[tokio::test(start_paused = true)]
async fn a_full_patch_is_four_requests() {
    const REQUESTS: usize = 4;
    let (patches, versions) = patched_everywhere(widgets::definition()).await;
    let kinds: Vec<_> = patches
        .iter()
        .take(REQUESTS)
        .map(|request| (request.content_type.as_str(), request.resource.as_str()))
        .collect();
    assert_eq!(
        kinds,
        [
            (MERGE, "widgets"),
            (MERGE, "widgets/status"),
            (JSON, "widgets"),
            (JSON, "widgets/status")
        ]
    );
    let patches_count = patches.len();
    let bodies: Vec<Value> = patches.into_iter().map(|request| request.body.unwrap()).collect();
    assert_eq!(bodies[0]["spec"], json!({"x": "y"}));
    assert_eq!(bodies[0].get("status"), None);
    assert_eq!(
        bodies[0]["metadata"].get("resourceVersion"),
        None,
        "the last writer wins"
    );
    assert_eq!(bodies[1], json!({"status": {"x": "y"}}));
    // Each JSON patch is for the state that the request before it left.
    assert_eq!(bodies[2][0], version_test(&versions[2]));
    assert_eq!(
        bodies[2][1],
        json!({"op": "add", "path": "/metadata/labels", "value": {"by": "function"}})
    );
    assert_eq!(bodies[3][0], version_test(&versions[3]));
    assert_eq!(bodies[3][1], json!({"op": "add", "path": "/status/count", "value": 1}));
    assert_eq!((patches_count, versions.len()), (5, 6), "one event for each");
}

//
#[tokio::test(start_paused = true)]
async fn without_the_subresource_a_full_patch_is_two_requests() {
    const REQUESTS: usize = 2;
    let mut definition = widgets::definition();
    definition["spec"]["versions"][0]["subresources"] = json!({});
    let (patches, _) = patched_everywhere(definition).await;
    let kinds: Vec<_> = patches
        .iter()
        .take(REQUESTS)
        .map(|request| (request.content_type.as_str(), request.resource.as_str()))
        .collect();
    assert_eq!(kinds, [(MERGE, "widgets"), (JSON, "widgets")]);
    assert_eq!(patches[0].body.as_ref().unwrap()["status"], json!({"x": "y"}));
    assert_eq!(patches[1].body.as_ref().unwrap().as_array().unwrap().len(), 3);
}

//
#[tokio::test(start_paused = true)]
async fn a_function_that_changes_nothing_sends_nothing() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let notes = Notes::default();
    let seen = {
        let notes = notes.clone();
        move |Event { patch, .. }: Event<Widget>| {
            notes.add("seen");
            patch.then(|object| object["spec"]["size"] = json!(1));
            async { HandlerResult::Ok(()) }
        }
    };
    let operator =
        cluster.start(Operator::new("suite").resource(Resource::of::<Widget>().on_event("seen", seen, |o| o)));
    create(&cluster, "a", json!({"size": 1})).await;
    tokio::time::sleep(secs(60)).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["seen"]);
    assert!(patches(&cluster).is_empty());
}

// it says nothing and keeps nothing.
#[tokio::test(start_paused = true)]
async fn the_patch_of_an_object_that_is_gone_is_forgotten() {
    let log = kopf_runtime::logging::capture(kopf_runtime::logging::Verbosity::Quiet);
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let object = path(&cluster, "a");
    let made = {
        let object = object.clone();
        move |Change { client, patch, .. }: Change<Widget>| {
            let object = object.clone();
            async move {
                let request = http::Request::delete(&object).body(Vec::new());
                client.get()?.request::<Value>(request?).await?;
                patch.status(json!({"x": "y"}));
                grow(&patch);
                HandlerResult::Ok(true)
            }
        }
    };
    let operator =
        cluster.start(Operator::new("suite").resource(Resource::of::<Widget>().on_create("made", made, |o| o)));
    create(&cluster, "a", json!({"size": 1})).await;
    tokio::time::sleep(secs(600)).await;
    operator.stop().await;
    assert_eq!(sent(&cluster), [(MERGE.to_owned(), 404)]);
    assert_eq!(log.text(), "");
}

//
#[tokio::test(start_paused = true)]
async fn nothing_is_patched_after_the_end() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let notes = Notes::default();
    let seen = {
        let notes = notes.clone();
        move |Event { event_type, patch, .. }: Event<Widget>| {
            notes.add(format!("{event_type:?}"));
            if event_type == EventType::Deleted {
                patch.status(json!({"x": "y"}));
            }
            async { HandlerResult::Ok(()) }
        }
    };
    let operator =
        cluster.start(Operator::new("suite").resource(Resource::of::<Widget>().on_event("seen", seen, |o| o)));
    create(&cluster, "a", json!({"size": 1})).await;
    notes.wait_for(1).await;
    cluster
        .request("DELETE", &path(&cluster, "a"), &Value::Null)
        .await
        .unwrap();
    notes.wait_for(2).await;
    tokio::time::sleep(secs(60)).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["Added", "Deleted"]);
    assert!(patches(&cluster).is_empty());
}

// A, *Improve on*: a function that panics is an error of its own handler.
#[tokio::test(start_paused = true)]
async fn a_broken_function_costs_nobody_else_anything() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let notes = Notes::default();
    let seen = |Event { patch, .. }: Event<Widget>| async move {
        patch.then(|_| panic!("in the patch of a raw event"));
        HandlerResult::Ok(())
    };
    let breaks = {
        let notes = notes.clone();
        move |Change { patch, retry, .. }: Change<Widget>| {
            notes.add(format!("breaks {retry}"));
            patch.status(json!({"half": "done"}));
            patch.then(move |_| assert!(retry > 0, "in the patch of a handler"));
            async { HandlerResult::Ok(()) }
        }
    };
    let works = {
        let notes = notes.clone();
        move |Change { patch, retry, .. }: Change<Widget>| {
            notes.add(format!("works {retry}"));
            grow(&patch);
            async { HandlerResult::Ok(()) }
        }
    };
    let operator = Operator::new("suite")
        .settings(|settings| settings.execution.lifecycle = kopf_runtime::Lifecycle::AllAtOnce)
        .resource(
            Resource::of::<Widget>()
                .on_event("seen", seen, |o| o)
                .on_create("breaks", breaks, |o| o.backoff(secs(30)))
                .on_create("works", works, |o| o),
        );
    let operator = cluster.start(operator);
    let path = path(&cluster, "a");
    create(&cluster, "a", json!({"size": 1})).await;
    let soon = cluster.wait(&path, |object| object["spec"]["size"] == 2).await;
    assert_eq!(soon["status"], Value::Null);
    cluster.wait(&path, |object| object["status"]["half"] == "done").await;
    operator.stop().await;
    assert_eq!(notes.all(), ["breaks 0", "works 0", "breaks 1"]);
}

// between the two halves of the functions; the merge patch before them is not sent again.
#[tokio::test(start_paused = true)]
async fn a_conflict_of_the_last_request_repeats_the_functions_alone() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let made = |Change { patch, .. }: Change<Widget>| async move {
        patch.spec(json!({"x": "y"}));
        patch.then(|object| object["metadata"]["labels"]["by"] = json!("function"));
        patch.then(|object| object["status"]["count"] = json!(1));
        HandlerResult::Ok(())
    };
    let status = Traffic::any().verb("patch").resource("widgets").subresource("status");
    server(&cluster).faults().plan(status, 1, Failure::Delay(secs(5)));
    let operator =
        cluster.start(Operator::new("suite").resource(Resource::of::<Widget>().on_create("made", made, |o| o)));
    let object = path(&cluster, "a");
    create(&cluster, "a", json!({"size": 1})).await;
    cluster
        .wait(&object, |object| object["metadata"]["labels"]["by"] == "function")
        .await;
    meddle(cluster.client.clone(), &object).await;
    let done = cluster.wait(&object, |object| object["status"]["count"] == 1).await;
    tokio::time::sleep(secs(10)).await;
    operator.stop().await;
    assert_eq!(done["metadata"]["labels"], json!({"by": "function", "other": "here"}));
    let requests: Vec<_> = patches(&cluster)
        .into_iter()
        .map(|request| (request.content_type, request.resource, request.status.unwrap()))
        .collect();
    let request = |kind: &str, resource: &str, status| (kind.to_owned(), resource.to_owned(), status);
    assert_eq!(
        requests[..5],
        [
            request(MERGE, "widgets", 200),
            request(JSON, "widgets", 200),
            request(JSON, "widgets/status", 422),
            request(MERGE, "widgets", 200), // that of `meddle`, which was faster
            request(JSON, "widgets/status", 200),
        ]
    );
}
