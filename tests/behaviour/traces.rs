//! The three worked traces of Kopf's core behaviour (section 24), request by request, with what is improved in force:
//! there are no touches, nothing waits for echoes, and a deletion is handled once.

use kopf_runtime::{Change, HandlerResult, Operator, Resource, RunOptions, Temporary, Timer, hours, secs};
use kopf_tests::cluster::Cluster;
use kopf_tests::widgets::{self, Notes, Widget, create, path};
use kopf_testserver::{RecordedRequest, Server};
use serde_json::{Value, json};
use tokio::time::Instant;

const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const FINALIZER: &str = "kopf.zalando.org/KopfFinalizerMarker";

fn server(cluster: &Cluster) -> &Server {
    cluster.embedded.as_ref().expect("the server is embedded")
}

async fn cluster() -> Cluster {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    cluster
}

/// The operator's patches of `a` since the last call.
fn patches(cluster: &Cluster) -> Vec<RecordedRequest> {
    let audit = server(cluster).audit().with_verb("patch");
    server(cluster).clear_audit();
    audit.iter().filter(|request| request.name == "a").cloned().collect()
}

/// Media types and resources.
fn kinds(patches: &[RecordedRequest]) -> Vec<(&str, &str)> {
    patches
        .iter()
        .map(|request| (request.content_type.as_str(), request.resource.as_str()))
        .collect()
}

/// The record of a handler in a patch; null if it is purged, nothing if the patch does not speak of it.
fn record(patch: &RecordedRequest, id: &str) -> Option<Value> {
    let annotations = &patch.body.as_ref()?["metadata"]["annotations"];
    let record = annotations.get(format!("kopf.zalando.org/{id}"))?;
    Some(
        record
            .as_str()
            .map_or(Value::Null, |text| serde_json::from_str(text).unwrap()),
    )
}

fn stores_diffbase(patch: &RecordedRequest) -> bool {
    let annotations = &patch.body.as_ref().unwrap()["metadata"]["annotations"];
    annotations["kopf.zalando.org/last-handled-configuration"].is_string()
}

// W-8, L-3, P-10. Trace 1: a creation with two handlers, and a delete handler, in the default lifecycle.
#[tokio::test(start_paused = true)]
async fn a_creation_with_a_retry() {
    let cluster = cluster().await;
    let (notes, begin) = (Notes::default(), Instant::now());
    let noting = |id: &'static str| {
        let notes = notes.clone();
        move |Change { retry, .. }: Change<Widget>| {
            notes.add(format!("{id} {retry} at {}", begin.elapsed().as_secs()));
            async move {
                match (id, retry) {
                    ("c2", 0) => Err(Temporary::after(secs(30), "not yet").into()),
                    ("c1", _) => Ok(Some("done")),
                    _ => HandlerResult::Ok(None),
                }
            }
        }
    };
    let resource = Resource::of::<Widget>()
        .on_create("c1", noting("c1"), |o| o)
        .on_create("c2", noting("c2"), |o| o)
        .on_delete("d", noting("d"), |o| o);
    let operator = cluster.start(Operator::new("suite").resource(resource));
    create(&cluster, "a", json!({"size": 1})).await;
    notes.wait_for(2).await;
    tokio::time::sleep(secs(5)).await;

    let first = patches(&cluster);
    let kinds_of_first = [
        (JSON, "widgets"),
        (MERGE, "widgets"),
        (MERGE, "widgets/status"),
        (MERGE, "widgets"),
    ];
    assert_eq!(kinds(&first), kinds_of_first);
    // 1. The finalizer, before any handler.
    let adding = first[0].body.as_ref().unwrap();
    assert_eq!(
        (&adding[0]["op"], &adding[0]["path"]),
        (&json!("test"), &json!("/metadata/resourceVersion"))
    );
    assert_eq!(
        adding[1],
        json!({"op": "add", "path": "/metadata/finalizers", "value": [FINALIZER]})
    );
    // 2. What the first handler came to, and its result.
    let (c1, c2) = (record(&first[1], "c1").unwrap(), record(&first[1], "c2").unwrap());
    assert_eq!((&c1["success"], &c1["retries"]), (&json!(true), &json!(1)));
    assert_eq!((&c2["success"], &c2["retries"]), (&json!(false), &json!(0)));
    assert_eq!(first[2].body, Some(json!({"status": {"c1": "done"}})));
    // 3. When the second one is to be called again.
    assert_eq!(record(&first[3], "c1"), None);
    let c2 = record(&first[3], "c2").unwrap();
    assert_eq!((&c2["retries"], c2["delayed"].is_string()), (&json!(1), true));

    // 4. Nothing until then. 5. Both are done.
    notes.wait_for(3).await;
    tokio::time::sleep(hours(1)).await;
    let second = patches(&cluster);
    assert_eq!(kinds(&second), [(MERGE, "widgets")]);
    assert_eq!(record(&second[0], "c1"), Some(Value::Null));
    assert_eq!(record(&second[0], "c2"), Some(Value::Null));
    assert!(stores_diffbase(&second[0]) && !first[1..].iter().any(stores_diffbase));
    // 6. Nothing more.
    operator.stop().await;
    assert_eq!(notes.all(), ["c1 0 at 0", "c2 0 at 0", "c2 1 at 30"]);
}

// G-12, Z-12, Z-10. Trace 2: a deletion with a task that ends too slowly and a delete handler. A timer plays the daemon.
#[tokio::test(start_paused = true)]
async fn a_deletion_with_a_slow_task() {
    let cluster = cluster().await;
    let (notes, begin) = (Notes::default(), Instant::now());
    let slow = |_: Timer<Widget>| async {
        tokio::time::sleep(hours(1)).await;
        HandlerResult::Ok(())
    };
    let gone = {
        let notes = notes.clone();
        move |_: Change<Widget>| {
            notes.add(format!("gone at {}", begin.elapsed().as_secs()));
            async { HandlerResult::Ok(()) }
        }
    };
    let resource = Resource::of::<Widget>()
        .timer("slow", slow, |o| o.interval(secs(1)).cancellation_timeout(secs(3)))
        .on_delete("gone", gone, |o| o);
    let operator = cluster.start(Operator::new("suite").resource(resource));
    let object = path(&cluster, "a");
    create(&cluster, "a", json!({"size": 1})).await;
    tokio::time::sleep_until(begin + secs(10)).await;
    patches(&cluster);

    // 1. The timer is asked to end, the handler runs; since the timer holds the object, the record says that it did.
    cluster.request("DELETE", &object, &Value::Null).await.unwrap();
    tokio::time::sleep(secs(1)).await;
    let deleted = patches(&cluster);
    assert_eq!(kinds(&deleted), [(MERGE, "widgets")]);
    assert_eq!(record(&deleted[0], "gone").unwrap()["success"], true);
    // 2. Whatever happens meanwhile, the handler is not called again, and the finalizer stays.
    cluster
        .patch(&object, &json!({"metadata": {"labels": {"x": "y"}}}))
        .await;
    tokio::time::sleep(secs(1)).await;
    assert_eq!(
        kinds(&patches(&cluster)),
        [(MERGE, "widgets")],
        "only that of this test"
    );
    assert_eq!(cluster.get(&object).await["metadata"]["finalizers"], json!([FINALIZER]));
    // 3. The timer is dropped when its time is up; nobody had to touch the object for it.
    cluster.wait(&object, Value::is_null).await;
    assert_eq!(begin.elapsed().as_secs(), 13);
    let released = patches(&cluster);
    assert_eq!(kinds(&released), [(MERGE, "widgets"), (JSON, "widgets")]);
    assert_eq!(record(&released[0], "gone"), Some(Value::Null));
    assert!(stores_diffbase(&released[0]), "the label is handled too");
    let operations = released[1].body.as_ref().unwrap();
    assert_eq!(operations[0]["op"], "test");
    assert_eq!(operations[1], json!({"op": "remove", "path": "/metadata/finalizers"}));
    // 4. The end.
    tokio::time::sleep(hours(1)).await;
    assert!(patches(&cluster).is_empty());
    operator.stop().await;
    assert_eq!(notes.all(), ["gone at 10"]);
}

// C-6, P-12, W-13. Trace 3: a restart while a handler waits for its next attempt.
#[tokio::test(start_paused = true)]
async fn a_restart_during_retries() {
    let cluster = cluster().await;
    let (notes, begin) = (Notes::default(), Instant::now());
    let noting = |id: &'static str| {
        let notes = notes.clone();
        move |Change { retry, reason, .. }: Change<Widget>| {
            notes.add(format!("{id} {reason} {retry} at {}", begin.elapsed().as_secs()));
            async move {
                match (id, retry) {
                    ("changed", 0) => Err(Temporary::after(secs(1), "not yet").into()),
                    ("changed", 1) => Err(Temporary::after(secs(20), "not yet").into()),
                    _ => HandlerResult::Ok(()),
                }
            }
        }
    };
    let operator = || {
        let resource = Resource::of::<Widget>()
            .on_create("made", noting("made"), |o| o)
            .on_update("changed", noting("changed"), |o| o)
            .on_resume("resumed", noting("resumed"), |o| o);
        Operator::new("suite").resource(resource)
    };
    // Both with one time of day.
    let options = RunOptions::new(cluster.client.clone())
        .namespaces([&cluster.namespace])
        .follow_tokio_time();
    let first = operator().start_with(options.clone());
    create(&cluster, "a", json!({"size": 1})).await;
    notes.wait_for(1).await;
    tokio::time::sleep(secs(1)).await;
    cluster.patch(&path(&cluster, "a"), &json!({"spec": {"size": 2}})).await;
    notes.wait_for(3).await;
    first.stop().await;
    patches(&cluster);
    let second = operator().start_with(options);
    notes.wait_for(5).await;
    tokio::time::sleep(hours(1)).await;
    second.stop().await;
    let resumed = patches(&cluster);
    assert_eq!(kinds(&resumed), [(MERGE, "widgets"), (MERGE, "widgets")]);
    // The one that resumes is awake and comes first; the other one keeps its record until it is due.
    assert_eq!(record(&resumed[0], "resumed").unwrap()["success"], true);
    assert_eq!(record(&resumed[0], "changed"), None);
    for id in ["resumed", "changed"] {
        assert_eq!(record(&resumed[1], id), Some(Value::Null));
    }
    assert!(stores_diffbase(&resumed[1]));
    let expected = [
        "made create 0 at 0",
        "changed update 0 at 1",
        "changed update 1 at 2",
        "resumed update 0 at 2",
        "changed update 2 at 22",
    ];
    assert_eq!(notes.all(), expected);
}
