//! What is kept between two calls, where, and under which names.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

use kopf_runtime::jiff::Timestamp;
use kopf_runtime::settings::PersistenceSettings;
use kopf_runtime::storages::{
    AnnotationsDiffBase, AnnotationsProgress, DiffBaseStorage, Essence, ProgressStorage, Record, StatePatch,
    StatusDiffBase, StatusProgress,
};
use kopf_runtime::{Body, Change, HandlerResult, Lifecycle, Operator, Resource, Temporary, secs};
use kopf_tests::cluster::Cluster;
use kopf_tests::on_both_servers;
use kopf_tests::widgets::{self, Notes, Widget, create, create_with, path};
use serde_json::{Value, json};

const PREFIX: &str = "kopf.zalando.org";

on_both_servers! {
    settings_are_in_force_for_the_first_event;
    a_storage_of_ones_own_keeps_what_it_is_given;
    state_is_kept_in_the_status_where_that_is_wanted;
    of_several_storages_all_are_written_and_the_first_is_read;
    without_the_old_storage_every_object_is_new;
    records_that_kopf_left_in_the_status_are_used_and_removed;
    a_storage_that_is_to_ignore_a_field_sees_no_change_of_it;
    a_handler_of_the_status_is_told_whatever_is_written_there;
    ids_that_are_too_long_keep_records_of_their_own_over_restarts;
    ids_of_any_characters_keep_their_records;
    operators_with_names_of_their_own_do_not_meet;
    state_without_a_current_name_is_found_under_the_older_one;
}

fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object["metadata"]["annotations"][key].as_str()
}

fn handled(object: &Value) -> bool {
    annotation(object, "kopf.zalando.org/last-handled-configuration").is_some()
}

/// The names of the annotations with a prefix that are neither the copy nor our mark.
fn records(object: &Value, prefix: &str) -> BTreeSet<String> {
    let annotations = object["metadata"]["annotations"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    let own = annotations
        .keys()
        .filter_map(|key| key.strip_prefix(&format!("{prefix}/")));
    own.filter(|name| !["last-handled-configuration", "kopf-gen", "kopf-managed"].contains(name))
        .map(str::to_owned)
        .collect()
}

/// Notes each call, and fails as often as is said before it succeeds.
fn failing(
    notes: &Notes,
    id: &'static str,
    failures: u32,
) -> impl Fn(Change<Widget>) -> std::future::Ready<HandlerResult> + Clone + Send + Sync + 'static {
    let notes = notes.clone();
    move |Change {
              name, reason, retry, ..
          }: Change<Widget>| {
        notes.add(format!("{id} {reason} {name} {retry}"));
        std::future::ready(if retry < failures {
            Err(Temporary::after(secs(2), "not yet").into())
        } else {
            Ok(())
        })
    }
}

/// An operator that creates with some failures and updates without, and keeps its state so.
fn operator(notes: &Notes, failures: u32, persistence: impl FnOnce(&mut PersistenceSettings)) -> Operator {
    Operator::new("suite")
        .resource(
            Resource::of::<Widget>()
                .on_create("made", failing(notes, "made", failures), |o| o)
                .on_update("changed", failing(notes, "changed", 0), |o| o),
        )
        .settings(|settings| persistence(&mut settings.persistence))
}

// S-1: settings are read when the operator starts, so the very first object is handled under them.
async fn settings_are_in_force_for_the_first_event(cluster: &Cluster) {
    widgets::install(cluster).await;
    create(cluster, "a", json!({"size": 1})).await;
    let notes = Notes::default();
    let operator = cluster.start(operator(&notes, 0, |persistence| {
        persistence.prefix = "early.example.com".into();
    }));
    let done = cluster
        .wait(&path(cluster, "a"), |object| {
            annotation(object, "early.example.com/last-handled-configuration").is_some()
        })
        .await;
    operator.stop().await;
    assert!(!handled(&done), "{done:#}");
    assert_eq!(annotation(&done, "early.example.com/kopf-managed"), Some("yes"));
}

/// Records in memory, as they were given.
#[derive(Debug, Default)]
struct InMemory(Mutex<HashMap<(String, String), Record>>);

fn key(body: &Body, id: &str) -> (String, String) {
    (body.uid().unwrap().to_owned(), id.to_owned())
}

impl ProgressStorage for InMemory {
    fn fetch(&self, body: &Body, id: &str, _now: Timestamp) -> Option<Record> {
        self.0.lock().unwrap().get(&key(body, id)).cloned()
    }

    fn store(&self, body: &Body, id: &str, record: &Record, _patch: &mut StatePatch) {
        self.0.lock().unwrap().insert(key(body, id), record.clone());
    }

    fn purge(&self, body: &Body, id: &str, _patch: &mut StatePatch) {
        self.0.lock().unwrap().remove(&key(body, id));
    }

    fn clear(&self, _essence: &mut Value) {}
}

/// The copy of what was handled last, under a name that no prefix covers.
#[derive(Debug)]
struct Elsewhere;

const ELSEWHERE: &str = "handled-by-suite";

impl DiffBaseStorage for Elsewhere {
    fn fetch(&self, body: &Body) -> Option<Value> {
        serde_json::from_str(body.annotation(ELSEWHERE)?).ok()
    }

    fn store(&self, _body: &Body, essence: &Essence<'_>, patch: &mut StatePatch) {
        patch.annotation(ELSEWHERE, essence.value().to_string());
    }

    fn purge(&self, body: &Body, patch: &mut StatePatch) {
        if body.annotation(ELSEWHERE).is_some() {
            patch.annotation(ELSEWHERE, None);
        }
    }

    fn clear(&self, essence: &mut Value) {
        if let Some(annotations) = essence
            .pointer_mut("/metadata/annotations")
            .and_then(Value::as_object_mut)
        {
            annotations.remove(ELSEWHERE);
        }
    }
}

// P-17
async fn a_storage_of_ones_own_keeps_what_it_is_given(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let memory = Arc::new(InMemory::default());
    let start = || {
        let memory = Arc::clone(&memory);
        cluster.start(operator(&notes, 1, |persistence| {
            persistence.progress = vec![memory];
            persistence.diffbase = vec![Arc::new(Elsewhere)];
        }))
    };
    let path = path(cluster, "a");
    let first = start();
    create(cluster, "a", json!({"size": 1})).await;
    notes.wait_for(1).await;
    first.stop().await;
    let waiting = cluster.get(&path).await;
    assert_eq!(records(&waiting, PREFIX), BTreeSet::new(), "{waiting:#}");
    assert_eq!(memory.0.lock().unwrap().len(), 1);
    let second = start();
    cluster
        .wait(&path, |object| {
            annotation(object, ELSEWHERE) == Some(r#"{"spec":{"size":1}}"#)
        })
        .await;
    cluster.patch(&path, &json!({"spec": {"size": 2}})).await;
    let done = cluster
        .wait(&path, |object| {
            annotation(object, ELSEWHERE) == Some(r#"{"spec":{"size":2}}"#)
        })
        .await;
    second.stop().await;
    assert!(!handled(&done), "{done:#}");
    assert_eq!(*memory.0.lock().unwrap(), HashMap::new());
    assert_eq!(
        notes.all(),
        ["made create a 0", "made create a 1", "changed update a 0"]
    );
}

// P-14, B-8
async fn state_is_kept_in_the_status_where_that_is_wanted(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let operator = cluster.start(operator(&notes, 1, |persistence| {
        persistence.progress = vec![Arc::new(StatusProgress::new("status.suite.progress"))];
        persistence.diffbase = vec![Arc::new(StatusDiffBase::new("status.suite.handled"))];
    }));
    let path = path(cluster, "a");
    create(cluster, "a", json!({"size": 1})).await;
    let waiting = cluster
        .wait(&path, |object| {
            object["status"]["suite"]["progress"]["made"]["retries"] == 1
        })
        .await;
    assert_eq!(records(&waiting, PREFIX), BTreeSet::new(), "{waiting:#}");
    assert_eq!(waiting["status"]["suite"]["progress"]["made"]["message"], "not yet");
    let at = |object: &Value, text: &str| object["status"]["suite"]["handled"] == text;
    cluster.wait(&path, |object| at(object, r#"{"spec":{"size":1}}"#)).await;
    cluster.patch(&path, &json!({"spec": {"size": 2}})).await;
    let done = cluster.wait(&path, |object| at(object, r#"{"spec":{"size":2}}"#)).await;
    operator.stop().await;
    assert_eq!(done["status"]["suite"]["progress"], json!({}));
    assert!(!handled(&done), "{done:#}");
    assert_eq!(
        notes.all(),
        ["made create a 0", "made create a 1", "changed update a 0"]
    );
}

// P-15, B-9
async fn of_several_storages_all_are_written_and_the_first_is_read(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let start = || {
        cluster.start(operator(&notes, 1, |persistence| {
            persistence.progress = vec![
                Arc::new(AnnotationsProgress::new("one.example.com")),
                Arc::new(StatusProgress::new("status.suite.progress")),
            ];
            persistence.diffbase = vec![
                Arc::new(AnnotationsDiffBase::new("one.example.com").key("base")),
                Arc::new(StatusDiffBase::new("status.suite.handled")),
            ];
        }))
    };
    let path = path(cluster, "a");
    let operator = start();
    create(cluster, "a", json!({"size": 1})).await;
    notes.wait_for(1).await;
    cluster
        .wait(&path, |object| {
            annotation(object, "one.example.com/made").is_some()
                && object["status"]["suite"]["progress"]["made"]["retries"] == 1
        })
        .await;
    operator.stop().await;
    // What the first one has lost, the second one knows.
    let lost = |name: &str| json!({"metadata": {"annotations": {format!("one.example.com/{name}"): null}}});
    cluster.patch(&path, &lost("made")).await;
    let operator = start();
    let both = |object: &Value, size: i64| {
        let text = format!("{{\"spec\":{{\"size\":{size}}}}}");
        annotation(object, "one.example.com/base") == Some(&format!("{text}\n"))
            && object["status"]["suite"]["handled"] == text
    };
    let done = cluster.wait(&path, |object| both(object, 1)).await;
    assert_eq!(done["status"]["suite"]["progress"], json!({}));
    assert_eq!(annotation(&done, "one.example.com/made"), None);
    operator.stop().await;
    cluster.patch(&path, &lost("base")).await;
    cluster.patch(&path, &json!({"spec": {"size": 2}})).await;
    let operator = start();
    cluster.wait(&path, |object| both(object, 2)).await;
    operator.stop().await;
    assert_eq!(
        notes.all(),
        ["made create a 0", "made create a 1", "changed update a 0"]
    );
}

// B-11
async fn without_the_old_storage_every_object_is_new(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let in_status = || Arc::new(StatusDiffBase::new("status.suite.handled"));
    let path = path(cluster, "a");
    let in_both = |object: &Value| object["status"]["suite"]["handled"].is_string();
    let first = cluster.start(operator(&notes, 0, |_| ()));
    create(cluster, "a", json!({"size": 1})).await;
    cluster.wait(&path, handled).await;
    first.stop().await;
    // Both are listed: the old one is read, and the new one is written with the next change.
    let second = cluster.start(operator(&notes, 0, |persistence| {
        persistence.diffbase = vec![in_status(), Arc::new(AnnotationsDiffBase::new(PREFIX))];
    }));
    create(cluster, "b", json!({"size": 1})).await;
    cluster.wait(&widgets::path(cluster, "b"), in_both).await;
    second.stop().await;
    assert_eq!(notes.all(), ["made create a 0", "made create b 0"]);
    // Only the new one is listed, and it has never heard of the first object.
    let third = cluster.start(operator(&notes, 0, |persistence| {
        persistence.diffbase = vec![in_status()];
    }));
    cluster.wait(&path, in_both).await;
    third.stop().await;
    assert_eq!(notes.all()[2..], ["made create a 0"]);
}

// P-16: and what was begun there goes on in annotations.
async fn records_that_kopf_left_in_the_status_are_used_and_removed(cluster: &Cluster) {
    widgets::install(cluster).await;
    let path = path(cluster, "a");
    create(cluster, "a", json!({"size": 1})).await;
    let record = json!({"started": "2031-02-03T04:05:06.000789+00:00", "retries": 2, "success": false});
    let left = json!({"status": {"kopf": {"progress": {"made": record}}}});
    cluster.patch(&format!("{path}/status"), &left).await;
    let notes = Notes::default();
    let operator = cluster.start(operator(&notes, 3, |_| ()));
    let waiting = cluster
        .wait(&path, |object| annotation(object, "kopf.zalando.org/made").is_some())
        .await;
    assert_eq!(
        waiting["status"]["kopf"]["progress"]["made"]["retries"], 2,
        "{waiting:#}"
    );
    let done = cluster
        .wait(&path, |object| {
            handled(object) && object["status"]["kopf"]["progress"] == json!({})
        })
        .await;
    operator.stop().await;
    assert_eq!(records(&done, PREFIX), BTreeSet::new());
    assert_eq!(notes.all(), ["made create a 2", "made create a 3"]);
}

// B-4
async fn a_storage_that_is_to_ignore_a_field_sees_no_change_of_it(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let operator = cluster.start(operator(&notes, 0, |persistence| {
        persistence.diffbase = vec![Arc::new(
            AnnotationsDiffBase::new(PREFIX).ignored_fields(["spec.colour"]),
        )];
    }));
    let path = path(cluster, "a");
    create(cluster, "a", json!({"size": 1, "colour": "red"})).await;
    let base = cluster.wait(&path, handled).await;
    assert_eq!(
        annotation(&base, "kopf.zalando.org/last-handled-configuration"),
        Some("{\"spec\":{\"size\":1}}\n")
    );
    cluster.patch(&path, &json!({"spec": {"colour": "blue"}})).await;
    create(cluster, "b", json!({"size": 1})).await;
    cluster.wait(&widgets::path(cluster, "b"), handled).await;
    cluster.patch(&path, &json!({"spec": {"size": 2}})).await;
    notes.wait_for(3).await;
    operator.stop().await;
    assert_eq!(
        notes.all(),
        ["made create a 0", "made create b 0", "changed update a 0"]
    );
}

// B-12: also what it has written itself; a result that stays the same ends that.
async fn a_handler_of_the_status_is_told_whatever_is_written_there(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let watch = {
        let notes = notes.clone();
        move |Change { diff, .. }: Change<Widget>| {
            let paths: Vec<_> = diff.iter().map(|item| item.path.join(".")).collect();
            notes.add(paths.join(" "));
            async { HandlerResult::Ok(json!({"seen": true})) }
        }
    };
    let operator = cluster.start(
        Operator::new("suite").resource(
            Resource::of::<Widget>()
                .on_field("watch", "status", watch, |o| o)
                .on_update("changed", failing(&notes, "changed", 0), |o| o.field("spec")),
        ),
    );
    let path = path(cluster, "a");
    create(cluster, "a", json!({"size": 1})).await;
    cluster.wait(&path, handled).await;
    let status = format!("{path}/status");
    cluster
        .patch(&status, &json!({"status": {"phase": "Pending", "since": 1}}))
        .await;
    notes.wait_for(2).await;
    cluster.patch(&status, &json!({"status": {"phase": "Ready"}})).await;
    notes.wait_for(3).await;
    // Had there been more to tell, it would have been told by now.
    cluster.patch(&path, &json!({"spec": {"size": 2}})).await;
    let told = notes.wait_for(4).await;
    operator.stop().await;
    assert_eq!(told, ["", "watch/status", "phase", "changed update a 0"]);
}

// B-055
async fn ids_that_are_too_long_keep_records_of_their_own_over_restarts(cluster: &Cluster) {
    const LONG: &str = "reconcile_the_downstream_database_credentials_secret";
    widgets::install(cluster).await;
    let notes = Notes::default();
    let start = || {
        let clients = format!("{LONG}_of_all_clients");
        let clusters = format!("{LONG}_of_all_clusters");
        let resource = Resource::of::<Widget>()
            .on_field(
                LONG,
                "spec.template.metadata.labels",
                failing(&notes, "labels", 1),
                |o| o,
            )
            .on_field(&clients, "spec.size", failing(&notes, "clients", 1), |o| o)
            .on_field(&clusters, "spec.size", failing(&notes, "clusters", 1), |o| o);
        cluster.start(
            Operator::new("suite")
                .resource(resource)
                .settings(|settings| settings.execution.lifecycle = Lifecycle::AllAtOnce),
        )
    };
    let path = path(cluster, "a");
    let operator = start();
    let spec = json!({"size": 1, "template": {"metadata": {"labels": {"tier": "gold"}}}});
    create(cluster, "a", spec).await;
    let waiting = cluster.wait(&path, |object| records(object, PREFIX).len() == 3).await;
    operator.stop().await;
    // Kopf's own names for these ids; they must never change.
    let names = [
        "reconcile_the_downstream_database_credentials_secret.spe-fP0bGA",
        "reconcile_the_downstream_database_credentials_secret_of_-emszKQ",
        "reconcile_the_downstream_database_credentials_secret_of_-4B-xUQ",
    ];
    assert_eq!(records(&waiting, PREFIX), names.map(str::to_owned).into());
    let operator = start();
    cluster.wait(&path, handled).await;
    operator.stop().await;
    let mut told = notes.all();
    told.sort();
    let expected = ["clients", "clusters", "labels"].map(|id| [0, 1].map(|retry| format!("{id} create a {retry}")));
    assert_eq!(told, expected.concat());
}

// B-057
async fn ids_of_any_characters_keep_their_records(cluster: &Cluster) {
    widgets::install(cluster).await;
    let ids = ["Sync/User@DB (v2)", "größe-ändern", "192.168.0.1:80", "192.168.0.1_80"];
    let notes = Notes::default();
    let resource = ids.into_iter().fold(Resource::of::<Widget>(), |resource, id| {
        resource.on_create(id, failing(&notes, id, 1), |o| o)
    });
    let operator = cluster.start(
        Operator::new("suite")
            .resource(resource)
            .settings(|settings| settings.execution.lifecycle = Lifecycle::AllAtOnce),
    );
    let path = path(cluster, "a");
    create(cluster, "a", json!({"size": 1})).await;
    let waiting = cluster
        .wait(&path, |object| records(object, PREFIX).len() == ids.len())
        .await;
    assert!(records(&waiting, PREFIX).contains("192.168.0.1_80"), "{waiting:#}");
    let done = cluster.wait(&path, handled).await;
    operator.stop().await;
    assert_eq!(records(&done, PREFIX), BTreeSet::new());
    let mut told = notes.all();
    told.sort();
    let mut expected = ids
        .map(|id| [0, 1].map(|retry| format!("{id} create a {retry}")))
        .concat();
    expected.sort();
    assert_eq!(told, expected);
}

// B-058
async fn operators_with_names_of_their_own_do_not_meet(cluster: &Cluster) {
    widgets::install(cluster).await;
    let path = path(cluster, "a");
    let notes = Notes::default();
    let start = |own: &'static str, failures: u32| {
        let resource = Resource::of::<Widget>()
            .on_create("made", failing(&notes, own, failures), |o| o)
            .on_update("changed", failing(&notes, own, 0), |o| o)
            .on_delete("gone", failing(&notes, own, 0), |o| o);
        cluster.start(Operator::new(own).resource(resource).settings(|settings| {
            settings.persistence.prefix = format!("{own}.example.com");
            settings.persistence.finalizer = format!("{own}.example.com/finalizer");
        }))
    };
    let (one, two) = (start("one", 0), start("two", 1));
    create(cluster, "a", json!({"size": 1})).await;
    let has = |object: &Value, own: &str, size: i64| {
        annotation(object, &format!("{own}.example.com/last-handled-configuration"))
            == Some(&format!("{{\"spec\":{{\"size\":{size}}}}}\n"))
    };
    let both = cluster
        .wait(&path, |object| has(object, "one", 1) && has(object, "two", 1))
        .await;
    let mut finalizers: Vec<_> = both["metadata"]["finalizers"].as_array().unwrap().clone();
    finalizers.sort_by_key(ToString::to_string);
    assert_eq!(finalizers, ["one.example.com/finalizer", "two.example.com/finalizer"]);
    cluster.patch(&path, &json!({"spec": {"size": 2}})).await;
    cluster
        .wait(&path, |object| has(object, "one", 2) && has(object, "two", 2))
        .await;
    cluster.request("DELETE", &path, &Value::Null).await.unwrap();
    cluster.wait(&path, Value::is_null).await;
    one.stop().await;
    two.stop().await;
    let of = |own: &str| -> Vec<String> {
        let notes = notes.all();
        let own = notes.iter().filter_map(|note| note.strip_prefix(own));
        own.map(|note| note.trim().to_owned()).collect()
    };
    assert_eq!(of("one"), ["create a 0", "update a 0", "delete a 0"]);
    assert_eq!(of("two"), ["create a 0", "create a 1", "update a 0", "delete a 0"]);
}

// N-6: of Kopf's two names only the older one is there; at the end, neither is.
async fn state_without_a_current_name_is_found_under_the_older_one(cluster: &Cluster) {
    widgets::install(cluster).await;
    let id = "a".repeat(47);
    let older = format!("kopf.zalando.org/{}-L2I79Q", "a".repeat(39));
    let record = r#"{"started":"2031-02-03T04:05:06.000789+00:00","purpose":"create","retries":2,"success":false,"failure":false}"#;
    let metadata = json!({"annotations": {&older: record}});
    create_with(cluster, "a", metadata, json!({"size": 1})).await;
    let notes = Notes::default();
    let resource = Resource::of::<Widget>().on_create(&id, failing(&notes, "made", 3), |o| o);
    let operator = cluster.start(Operator::new("suite").resource(resource));
    let path = path(cluster, "a");
    let waiting = cluster
        .wait(&path, |object| {
            annotation(object, &format!("kopf.zalando.org/{id}")).is_some()
        })
        .await;
    assert_eq!(annotation(&waiting, &older), None, "the newer name takes over");
    let done = cluster.wait(&path, handled).await;
    operator.stop().await;
    assert_eq!(records(&done, PREFIX), BTreeSet::new());
    assert_eq!(notes.all(), ["made create a 2", "made create a 3"]);
}
