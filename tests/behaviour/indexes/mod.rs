//! What objects contribute to in-memory indexes.

mod errors;
mod feeding;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use futures::future::BoxFuture;
use kopf_runtime::{
    Change, Entries, ErrorsMode, Event, HandlerResult, Index, IndexKey, IndexOptions, Indexes, Kind, Operator,
    Permanent, Reference, Resource, RunOptions, Temporary, blocking, hours, secs,
};
use kopf_tests::cluster::Cluster;
use kopf_tests::on_both_servers;
use kopf_tests::widgets::{self, Notes, Widget, WidgetSpec, create, create_with, path};
use kopf_testserver::{Failure, Server, Traffic};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

/// What the objects themselves say that they contribute.
#[derive(Clone, Copy, Debug)]
pub(super) struct Said;

impl IndexKey for Said {
    const ID: &'static str = "said";
    type Key = String;
    type Value = i64;
}

/// The operator's indexes, as an index handler has met them.
#[derive(Clone, Default)]
pub(super) struct Met(Arc<OnceLock<Indexes>>);

impl Met {
    /// All that is said now, in order.
    pub(super) fn said(&self) -> Value {
        let Some(indexes) = self.0.get() else { return json!({}) };
        let entries = indexes.of(Said).entries().into_iter().map(|(key, values)| {
            let mut values: Vec<i64> = values.iter().map(|value| **value).collect();
            values.sort_unstable();
            (key, values)
        });
        json!(entries.collect::<BTreeMap<_, _>>())
    }

    pub(super) async fn wait(&self, wanted: Value) {
        let begin = Instant::now();
        while self.said() != wanted {
            assert!(
                begin.elapsed() < secs(60),
                "it never was {wanted}; at last: {}",
                self.said()
            );
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }
}

/// Does what the object's spec says: returns `says`, with null for "as before", or fails as `fails` says.
fn say(body: &kopf_runtime::Body) -> HandlerResult<Entries<String, i64>> {
    let spec = body.spec().cloned().unwrap_or_default();
    match spec["fails"].as_str() {
        None => {}
        Some("permanently") => return Err(Permanent::new("never").into()),
        Some("for a while") => return Err(Temporary::after(secs(10), "not yet").into()),
        Some("for a moment") => return Err(Temporary::soon("not yet").into()),
        Some(other) => anyhow::bail!("{other}"),
    }
    let Some(says) = spec["says"].as_object() else {
        return Ok(Entries::keep());
    };
    Ok(says
        .iter()
        .map(|(key, value)| (key.clone(), value.as_i64().unwrap()))
        .collect())
}

/// An index handler that notes the names and sizes of its objects.
pub(super) fn said<K: Kind<Spec = WidgetSpec>>(
    notes: &Notes,
    met: &Met,
) -> impl Fn(Index<K>) -> BoxFuture<'static, HandlerResult<Entries<String, i64>>> + Clone + Send + Sync + 'static {
    let (notes, met) = (notes.clone(), met.clone());
    move |Index {
              name,
              spec,
              body,
              indexes,
              ..
          }: Index<K>| {
        let _ = met.0.set(indexes);
        notes.add(format!("{name} {}", spec.size));
        Box::pin(async move { say(&body) })
    }
}

fn server(cluster: &Cluster) -> &Server {
    cluster.embedded.as_ref().expect("the server is embedded")
}

/// Another kind, like widgets.
pub(super) struct Gadget;

impl Kind for Gadget {
    type Spec = WidgetSpec;
    type Status = Value;
    type Memo = ();
    const REFERENCE: Reference = Reference {
        kind: "Gadget",
        plural: "gadgets",
        ..Widget::REFERENCE
    };
}

/// The CRD of gadgets.
pub(super) fn gadgets() -> Value {
    let text = widgets::definition().to_string();
    text.replace("widget", "gadget")
        .replace("Widget", "Gadget")
        .parse()
        .unwrap()
}

pub(super) fn gadget(cluster: &Cluster, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "tests.kopf-gen.example.com/v1", "kind": "Gadget",
        "metadata": {"name": name, "namespace": cluster.namespace}, "spec": spec,
    })
}

/// An operator with one index of widgets, and what it notes.
struct Stage<'a> {
    cluster: &'a Cluster,
    calls: Notes,
    met: Met,
}

impl<'a> Stage<'a> {
    async fn new(cluster: &'a Cluster) -> Self {
        widgets::install(cluster).await;
        Self {
            cluster,
            calls: Notes::default(),
            met: Met::default(),
        }
    }

    fn resource(&self, options: impl FnOnce(IndexOptions<Widget>) -> IndexOptions<Widget>) -> Resource<Widget> {
        Resource::of::<Widget>().index(Said, said(&self.calls, &self.met), options)
    }

    fn start(
        &self,
        options: impl FnOnce(IndexOptions<Widget>) -> IndexOptions<Widget>,
    ) -> kopf_tests::cluster::Working {
        self.cluster
            .start(Operator::new("suite").resource(self.resource(options)))
    }

    async fn create(&self, name: &str, spec: Value) {
        create(self.cluster, name, spec).await;
    }

    async fn edit(&self, name: &str, spec: Value) {
        self.cluster
            .patch(&path(self.cluster, name), &json!({"spec": spec}))
            .await;
    }

    async fn delete(&self, name: &str) {
        let path = path(self.cluster, name);
        self.cluster.request("DELETE", &path, &Value::Null).await.unwrap();
    }
}

on_both_servers! {
    values_stand_under_their_keys_and_go_with_their_objects;
    a_new_result_replaces_the_one_before;
    an_error_decides_what_is_left;
    an_object_under_deletion_is_indexed_until_it_is_gone;
    an_object_that_stops_matching_is_taken_out;
    patches_of_index_handlers_are_dropped_and_memos_stay;
}

// I-2, I-7: objects say k: a, k: b, j: c; once the third is deleted, j is gone.
async fn values_stand_under_their_keys_and_go_with_their_objects(cluster: &Cluster) {
    let stage = Stage::new(cluster).await;
    let operator = stage.start(|o| o);
    for (name, says) in [("a", json!({"k": 1})), ("b", json!({"k": 2})), ("c", json!({"j": 3}))] {
        stage.create(name, json!({"size": 1, "says": says})).await;
    }
    stage.met.wait(json!({"k": [1, 2], "j": [3]})).await;
    let calls = stage.calls.all().len();
    stage.delete("c").await;
    stage.met.wait(json!({"k": [1, 2]})).await;
    assert_eq!(
        stage.calls.all().len(),
        calls,
        "nobody is asked about an object that is gone"
    );
    // Another object of the same name is another contributor (I-6).
    stage.create("c", json!({"size": 1, "says": {"k": 2}})).await;
    stage.met.wait(json!({"k": [1, 2, 2]})).await;
    stage.delete("b").await;
    stage.met.wait(json!({"k": [1, 2]})).await;
    operator.stop().await;
}

// I-3, I-5
async fn a_new_result_replaces_the_one_before(cluster: &Cluster) {
    let stage = Stage::new(cluster).await;
    let operator = stage.start(|o| o);
    stage.create("a", json!({"size": 1, "says": {"a": 1, "b": 2}})).await;
    stage.met.wait(json!({"a": [1], "b": [2]})).await;
    stage.edit("a", json!({"size": 2, "says": {"a": null, "b": 3}})).await;
    stage.met.wait(json!({"b": [3]})).await;
    stage.edit("a", json!({"size": 3, "says": null})).await;
    stage.calls.wait_for(3).await;
    // Of another object, so that the third result has been taken for sure.
    stage.create("z", json!({"size": 1, "says": {"z": 0}})).await;
    stage.met.wait(json!({"b": [3], "z": [0]})).await;
    stage.edit("a", json!({"size": 4, "says": {}})).await;
    stage.met.wait(json!({"z": [0]})).await;
    operator.stop().await;
    assert_eq!(stage.calls.all(), ["a 1", "a 2", "a 3", "z 1", "a 4"]);
}

// I-9, I-10: 123, then an arbitrary error leaves it; a permanent one takes it away, and the function is not called again.
async fn an_error_decides_what_is_left(cluster: &Cluster) {
    let stage = Stage::new(cluster).await;
    let operator = stage.start(|o| o);
    for name in ["a", "p"] {
        stage.create(name, json!({"size": 1, "says": {(name): 123}})).await;
    }
    stage.met.wait(json!({"a": [123], "p": [123]})).await;
    stage.edit("a", json!({"size": 2, "fails": "somehow"})).await;
    stage.edit("p", json!({"size": 2, "fails": "permanently"})).await;
    stage.met.wait(json!({"a": [123]})).await;
    stage.edit("p", json!({"size": 3, "fails": null})).await;
    // An ignored error is not remembered.
    stage
        .edit("a", json!({"size": 3, "fails": null, "says": {"a": 124}}))
        .await;
    stage.met.wait(json!({"a": [124]})).await;
    // Deletion ends the exclusion.
    stage.delete("p").await;
    cluster.wait(&path(cluster, "p"), Value::is_null).await;
    stage.create("p", json!({"size": 4, "says": {"p": 5}})).await;
    stage.met.wait(json!({"a": [124], "p": [5]})).await;
    operator.stop().await;
    let mut calls = stage.calls.all();
    calls.sort();
    assert_eq!(calls, ["a 1", "a 2", "a 3", "p 1", "p 2", "p 4"]);
}

// I-7
async fn an_object_under_deletion_is_indexed_until_it_is_gone(cluster: &Cluster) {
    let stage = Stage::new(cluster).await;
    let operator = stage.start(|o| o);
    let finalizer = json!({"finalizers": ["tests.kopf-gen.example.com/other"]});
    create_with(cluster, "a", finalizer, json!({"size": 1, "says": {"a": 1}})).await;
    stage.met.wait(json!({"a": [1]})).await;
    stage.delete("a").await;
    cluster
        .wait(&path(cluster, "a"), |object| {
            object["metadata"]["deletionTimestamp"].is_string()
        })
        .await;
    stage.edit("a", json!({"size": 2, "says": {"a": 2}})).await;
    stage.met.wait(json!({"a": [2]})).await;
    cluster
        .patch(&path(cluster, "a"), &json!({"metadata": {"finalizers": null}}))
        .await;
    stage.met.wait(json!({})).await;
    operator.stop().await;
}

// I-8
async fn an_object_that_stops_matching_is_taken_out(cluster: &Cluster) {
    let stage = Stage::new(cluster).await;
    let operator = stage.start(|o| o.label("in", "yes").field("spec.says"));
    let label = |value: Value| json!({"metadata": {"labels": {"in": value}}});
    create_with(
        cluster,
        "a",
        json!({"labels": {"in": "yes"}}),
        json!({"size": 1, "says": {"a": 1}}),
    )
    .await;
    stage.met.wait(json!({"a": [1]})).await;
    cluster.patch(&path(cluster, "a"), &label(json!("no"))).await;
    stage.met.wait(json!({})).await;
    cluster.patch(&path(cluster, "a"), &label(json!("yes"))).await;
    stage.met.wait(json!({"a": [1]})).await;
    stage.edit("a", json!({"says": null})).await;
    stage.met.wait(json!({})).await;
    operator.stop().await;
    assert_eq!(stage.calls.all(), ["a 1", "a 1"]);
}

/// A widget with a memo.
struct Counted;

impl Kind for Counted {
    type Spec = WidgetSpec;
    type Status = Value;
    type Memo = Mutex<i64>;
    const REFERENCE: Reference = Widget::REFERENCE;
}

// I-13
async fn patches_of_index_handlers_are_dropped_and_memos_stay(cluster: &Cluster) {
    widgets::install(cluster).await;
    let met = Met::default();
    let count = {
        let met = met.clone();
        move |Index {
                  memo, patch, indexes, ..
              }: Index<Counted>| {
            let _ = met.0.set(indexes);
            patch.status(json!({"index": "was here"}));
            let mut count = memo.lock().unwrap();
            *count += 1;
            let entries = Entries::one("calls".to_owned(), *count);
            async move { HandlerResult::Ok(entries) }
        }
    };
    let operator = cluster.start(Operator::new("suite").resource(Resource::of::<Counted>().index(Said, count, |o| o)));
    create(cluster, "a", json!({"size": 1})).await;
    met.wait(json!({"calls": [1]})).await;
    cluster.patch(&path(cluster, "a"), &json!({"spec": {"size": 2}})).await;
    met.wait(json!({"calls": [2]})).await;
    operator.stop().await;
    let object = cluster.get(&path(cluster, "a")).await;
    assert!(
        object["status"].is_null() && object["metadata"]["finalizers"].is_null(),
        "{object:#}"
    );
}

// I-5: each version is indexed once; neither echoes of own patches nor repeated listings are.
#[tokio::test(start_paused = true)]
async fn no_state_is_indexed_twice() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let versions = Notes::default();
    let index = {
        let versions = versions.clone();
        move |Index { body, .. }: Index<Widget>| {
            versions.add(body.resource_version().unwrap());
            async { HandlerResult::Ok(Entries::<String, i64>::none()) }
        }
    };
    let made = |Change { patch, .. }: Change<Widget>| async move {
        patch.status(json!({"made": true}));
        HandlerResult::Ok(())
    };
    let operator = cluster.start(
        Operator::new("suite").resource(
            Resource::of::<Widget>()
                .index(Said, index, |o| o)
                .on_create("made", made, |o| o)
                .on_delete("gone", |_: Change<Widget>| async { HandlerResult::Ok(()) }, |o| o),
        ),
    );
    create(&cluster, "a", json!({"size": 1})).await;
    cluster
        .wait(&path(&cluster, "a"), |object| object["status"]["made"] == true)
        .await;
    tokio::time::sleep(secs(10)).await;
    server(&cluster).faults().compact();
    server(&cluster).faults().drop_watches();
    tokio::time::sleep(secs(100)).await;
    let mut seen = versions.all();
    let last = cluster.get(&path(&cluster, "a")).await["metadata"]["resourceVersion"].clone();
    assert_eq!(
        seen.last().map(String::as_str),
        last.as_str(),
        "the newest state is indexed"
    );
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), versions.all().len(), "{:?}", versions.all());
    operator.stop().await;
}

// I-7, B-007: it went away while nobody was watching.
#[tokio::test(start_paused = true)]
async fn an_object_that_vanished_leaves() {
    let cluster = Cluster::embedded().await;
    let stage = Stage::new(&cluster).await;
    let operator = stage.start(|o| o);
    stage.create("a", json!({"size": 1, "says": {"a": 1}})).await;
    stage.create("b", json!({"size": 1, "says": {"b": 1}})).await;
    stage.met.wait(json!({"a": [1], "b": [1]})).await;
    server(&cluster).faults().hold_events();
    stage.delete("a").await;
    server(&cluster).faults().compact();
    server(&cluster).faults().drop_watches();
    server(&cluster).faults().release_events();
    stage.met.wait(json!({"b": [1]})).await;
    operator.stop().await;
    assert_eq!(stage.calls.all().len(), 2);
}

// An object that does not fit its type is in no index until it is mended.
#[tokio::test(start_paused = true)]
async fn an_object_that_does_not_fit_is_in_no_index() {
    let cluster = Cluster::embedded().await;
    let stage = Stage::new(&cluster).await;
    let operator = stage.start(|o| o);
    stage.create("a", json!({"size": 1, "says": {"a": 1}})).await;
    stage.create("b", json!({"size": "large", "says": {"b": 1}})).await;
    stage.met.wait(json!({"a": [1]})).await;
    stage.edit("a", json!({"size": "large"})).await;
    stage.met.wait(json!({})).await;
    let reports = |events: Vec<(String, String)>| events.iter().filter(|event| event.0 == "InvalidSpec").count();
    tokio::time::sleep(secs(10)).await;
    assert_eq!(reports(cluster.events_about("a").await), 1);
    for name in ["a", "b"] {
        stage.edit(name, json!({"size": 2})).await;
    }
    stage.met.wait(json!({"a": [1], "b": [1]})).await;
    operator.stop().await;
}

/// An index that is called like a field of all arguments.
#[derive(Clone, Copy)]
struct Name;

impl IndexKey for Name {
    const ID: &'static str = "name";
    type Key = ();
    type Value = String;
}

// K-4, *Improve on*: indexes are behind a field of their own, whatever their ids.
#[tokio::test(start_paused = true)]
async fn no_index_takes_the_place_of_an_argument() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let names =
        |Index { name, .. }: Index<Widget>| async move { HandlerResult::Ok(Entries::flat(format!("index of {name}"))) };
    let notes = Notes::default();
    let made = {
        let notes = notes.clone();
        move |Change { name, indexes, .. }: Change<Widget>| {
            notes.add(name);
            notes.add(indexes.of(Name).values()[0].as_str());
            notes.add(indexes.of(Said).len().to_string());
            async { HandlerResult::Ok(()) }
        }
    };
    let resource = Resource::of::<Widget>()
        .index(Name, names, |o| o)
        .on_create("made", made, |o| o);
    let operator = cluster.start(Operator::new("suite").resource(resource));
    create(&cluster, "a", json!({"size": 1})).await;
    let notes = notes.wait_for(3).await;
    operator.stop().await;
    assert_eq!(notes, ["a", "index of a", "0"]);
}

// I, *Improve on*: a handler waits for what another object contributes.
#[tokio::test(start_paused = true)]
async fn a_handler_waits_for_a_change_of_an_index() {
    let cluster = Cluster::embedded().await;
    let stage = Stage::new(&cluster).await;
    let begin = Instant::now();
    let made = move |Change { name, indexes, .. }: Change<Widget>| async move {
        let mut view = indexes.of(Said);
        while name == "waits" && !view.contains_key("answer") {
            view.changed().await;
        }
        HandlerResult::Ok(begin.elapsed().as_secs())
    };
    let operator = cluster.start(Operator::new("suite").resource(stage.resource(|o| o).on_create("made", made, |o| o)));
    stage.create("waits", json!({"size": 1})).await;
    tokio::time::sleep(secs(100)).await;
    stage.create("b", json!({"size": 1, "says": {"answer": 42}})).await;
    let waited = cluster
        .wait(&path(&cluster, "waits"), |object| object["status"]["made"].is_u64())
        .await;
    assert!(
        (100..=102).contains(&waited["status"]["made"].as_u64().unwrap()),
        "{waited:#}"
    );
    operator.stop().await;
}
