//! Why handlers run: what is a change, what is none, and whose it is.

use kopf_runtime::{
    Change, Event, EventType, HandlerResult, Kind, Operator, PRESENT, Raw, Reference, Resource, Temporary, Timer, secs,
};
use kopf_tests::cluster::Cluster;
use kopf_tests::on_both_servers;
use kopf_tests::widgets::{self, Notes, Widget, create, create_with, path};
use serde_json::{Value, json};

const BASE: &str = "kopf.zalando.org/last-handled-configuration";

fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object["metadata"]["annotations"][key].as_str()
}

/// The size that was handled last, as an operator with this prefix says.
fn handled_size(object: &Value, prefix: &str) -> Value {
    let text = annotation(object, &format!("{prefix}/last-handled-configuration")).unwrap_or("null");
    serde_json::from_str::<Value>(text).unwrap()["spec"]["size"].clone()
}

fn handled(object: &Value) -> bool {
    annotation(object, BASE).is_some()
}

/// Notes the reason of each call, and succeeds.
fn noting(
    notes: &Notes,
    id: &'static str,
) -> impl Fn(Change<Widget>) -> std::future::Ready<HandlerResult> + Clone + Send + Sync + 'static {
    let notes = notes.clone();
    move |Change {
              name, reason, retry, ..
          }: Change<Widget>| {
        notes.add(format!("{id} {reason} {name} {retry}"));
        std::future::ready(Ok(()))
    }
}

/// Handles another object, after which all events so far have been seen.
async fn catch_up(cluster: &Cluster, name: &str) {
    create(cluster, name, json!({"size": 0})).await;
    cluster.wait(&path(cluster, name), handled).await;
}

on_both_servers! {
    each_family_looks_after_its_own_objects;
    a_listed_object_that_is_new_is_created_and_not_resumed;
    a_status_is_no_change;
    a_field_that_changes_while_another_is_handled_is_told;
    records_go_with_the_label_that_the_filter_asks_for;
    operators_do_not_remember_each_others_state;
    an_object_that_was_exported_and_applied_is_new;
}

// C-2
async fn each_family_looks_after_its_own_objects(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let watch = {
        let notes = notes.clone();
        move |Event { name, .. }: Event<Widget>| {
            notes.add(format!("event {name}"));
            async { HandlerResult::Ok(()) }
        }
    };
    let tick = {
        let notes = notes.clone();
        move |Timer { name, .. }: Timer<Widget>| {
            notes.add(format!("timer {name}"));
            async { HandlerResult::Ok(()) }
        }
    };
    let operator = cluster.start(
        Operator::new("suite").resource(
            Resource::of::<Widget>()
                .on_event("watch", watch, |o| o.label("for", "watching"))
                .timer("tick", tick, |o| o.interval(secs(3600)).label("for", "spawning"))
                .on_create("made", noting(&notes, "made"), |o| o.label("for", "changing")),
        ),
    );
    let labelled = |family: &str| json!({"labels": {"for": family}});
    let watched = create_with(cluster, "watched", labelled("watching"), json!({"size": 1})).await;
    create_with(cluster, "spawned", labelled("spawning"), json!({"size": 1})).await;
    create_with(cluster, "changed", labelled("changing"), json!({"size": 1})).await;
    let mut seen = notes.wait_for(3).await;
    let changed = cluster.wait(&path(cluster, "changed"), handled).await;
    operator.stop().await;
    seen.sort();
    assert_eq!(seen, ["event watched", "made create changed 0", "timer spawned"]);
    let of = |object: &Value| (handled(object), object["metadata"]["finalizers"].is_array());
    let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
    let after = cluster.get(&path(cluster, "watched")).await;
    assert_eq!(version(&after), version(&watched), "nothing was written");
    assert_eq!(of(&cluster.get(&path(cluster, "spawned")).await), (false, true));
    assert_eq!(of(&changed), (true, false));
    let free = json!({"metadata": {"finalizers": null}});
    cluster.patch(&path(cluster, "spawned"), &free).await;
}

// C-6, and the restart after it is a resumption.
async fn a_listed_object_that_is_new_is_created_and_not_resumed(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let operator = || {
        Operator::new("suite").resource(
            Resource::of::<Widget>()
                .on_create("made", noting(&notes, "made"), |o| o)
                .on_resume("back", noting(&notes, "back"), |o| o),
        )
    };
    create(cluster, "a", json!({"size": 1})).await;
    let running = cluster.start(operator());
    cluster.wait(&path(cluster, "a"), handled).await;
    catch_up(cluster, "b").await;
    running.stop().await;
    assert_eq!(notes.all(), ["made create a 0", "made create b 0"]);
    let running = cluster.start(operator());
    let mut seen = notes.wait_for(4).await;
    running.stop().await;
    seen[2..].sort();
    assert_eq!(seen[2..], ["back resume a 0", "back resume b 0"]);
}

/// A kind without the status subresource: each write of its status is one of the object.
struct Gadget;

impl Kind for Gadget {
    type Spec = Value;
    type Status = Value;
    type Memo = ();
    const REFERENCE: Reference = Reference {
        kind: "Gadget",
        plural: "gadgets",
        ..Widget::REFERENCE
    };
}

/// Installs the CRD of gadgets, and returns the path of their collection.
async fn install_gadgets(cluster: &Cluster) -> String {
    let mut definition = widgets::definition();
    definition["metadata"]["name"] = json!("gadgets.tests.kopf-gen.example.com");
    definition["spec"]["names"] =
        json!({"kind": "Gadget", "plural": "gadgets", "singular": "gadget", "listKind": "GadgetList"});
    definition["spec"]["versions"][0]["subresources"] = json!({});
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    match cluster.request("POST", crds, &definition).await {
        Ok(_) => {}
        Err(kopf_runtime::kube::Error::Api(status)) if status.code == 409 => {}
        Err(error) => panic!("cannot install the CRD: {error}"),
    }
    let collection = widgets::collection(cluster).replace("widgets", "gadgets");
    cluster.wait(&collection, |list| list["kind"] == "GadgetList").await;
    collection
}

/// Writes a status that is never the same twice.
fn stamping<K: Kind>(
    notes: &Notes,
) -> impl Fn(Change<K>) -> std::future::Ready<HandlerResult> + Clone + Send + Sync + 'static {
    let notes = notes.clone();
    move |Change {
              name, reason, patch, ..
          }: Change<K>| {
        notes.add(format!("{reason} {name}"));
        let now = kopf_runtime::jiff::Timestamp::now().to_string();
        patch.status(json!({"conditions": [{"type": "Ready", "lastTransitionTime": now, "count": notes.all().len()}]}));
        std::future::ready(Ok(()))
    }
}

// B-018, B-2: with and without the status subresource, by oneself and by others.
async fn a_status_is_no_change(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let gadgets = install_gadgets(cluster).await;
    let operator = cluster.start(
        Operator::new("suite")
            .resource(
                Resource::of::<Widget>()
                    .on_create("made", stamping(&notes), |o| o)
                    .on_update("changed", stamping(&notes), |o| o),
            )
            .resource(
                Resource::of::<Gadget>()
                    .on_create("made", stamping(&notes), |o| o)
                    .on_update("changed", stamping(&notes), |o| o),
            ),
    );
    create(cluster, "w", json!({"size": 1})).await;
    let gadget = |name: &str| {
        json!({
            "apiVersion": "tests.kopf-gen.example.com/v1", "kind": "Gadget",
            "metadata": {"name": name}, "spec": {"size": 1},
        })
    };
    cluster.request("POST", &gadgets, &gadget("g")).await.unwrap();
    let (widget, other) = (path(cluster, "w"), format!("{gadgets}/g"));
    let stamped = |object: &Value| handled(object) && object["status"]["conditions"].is_array();
    cluster.wait(&widget, stamped).await;
    cluster.wait(&other, stamped).await;
    let foreign = json!({"status": {"phase": "Busy"}});
    cluster.patch(&format!("{widget}/status"), &foreign).await;
    cluster.patch(&other, &foreign).await;
    catch_up(cluster, "w2").await;
    cluster.request("POST", &gadgets, &gadget("g2")).await.unwrap();
    cluster.wait(&format!("{gadgets}/g2"), handled).await;
    operator.stop().await;
    let mut seen = notes.all();
    seen.sort();
    assert_eq!(seen, ["create g", "create g2", "create w", "create w2"]);
}

// B-017
async fn a_field_that_changes_while_another_is_handled_is_told(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let text = |raw: Option<Raw>| raw.map_or("-".to_owned(), |raw| raw.to_string());
    let state = {
        let (notes, client, path) = (notes.clone(), cluster.client.clone(), path(cluster, "a"));
        move |Change { old, new, patch, .. }: Change<Widget>| {
            notes.add(format!("state {} to {}", text(old), text(new)));
            let (client, path) = (client.clone(), path.clone());
            async move {
                // Somebody annotates the object while this handler runs, which patches it too.
                let request = http::Request::patch(path)
                    .header("content-type", "application/merge-patch+json")
                    .body(br#"{"metadata":{"annotations":{"x":"1"}}}"#.to_vec())?;
                client.request::<Value>(request).await?;
                patch.status(json!({"seen": true}));
                HandlerResult::Ok(())
            }
        }
    };
    let annotated = {
        let notes = notes.clone();
        move |Change { old, new, .. }: Change<Widget>| {
            notes.add(format!("annotated {} to {}", text(old), text(new)));
            async { HandlerResult::Ok(()) }
        }
    };
    let operator = cluster.start(
        Operator::new("suite").resource(
            Resource::of::<Widget>()
                .on_create("made", noting(&notes, "made"), |o| o)
                .on_field("state", "status.state", state, |o| o)
                .on_field("annotated", "metadata.annotations.x", annotated, |o| o),
        ),
    );
    create(cluster, "a", json!({"size": 1})).await;
    let path = path(cluster, "a");
    cluster.wait(&path, handled).await;
    let busy = json!({"status": {"state": "busy"}});
    cluster.patch(&format!("{path}/status"), &busy).await;
    notes.wait_for(3).await;
    let done = |object: &Value| {
        let base = annotation(object, BASE).unwrap_or_default();
        base.contains("busy") && base.contains(r#""x":"1""#)
    };
    cluster.wait(&path, done).await;
    operator.stop().await;
    assert_eq!(
        notes.all(),
        ["made create a 0", r#"state - to "busy""#, r#"annotated - to "1""#]
    );
}

// B-022, P-10: the records of a parent that waits, and of its children, one of which waits too.
async fn records_go_with_the_label_that_the_filter_asks_for(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let parent = {
        let notes = notes.clone();
        move |Change { retry, .. }: Change<Widget>| {
            notes.add(format!("parent {retry}"));
            async { HandlerResult::<()>::Err(Temporary::after(secs(3600), "children are not ready").into()) }
        }
    };
    let operator = cluster.start(Operator::new("suite").resource(Resource::of::<Widget>().on_update(
        "parent",
        parent,
        |o| o.label("on", PRESENT),
    )));
    let record = |rest: &str| format!(r#"{{"purpose":"update","success":false,"failure":false,{rest}}}"#);
    let annotations = json!({
        BASE: "{\"metadata\":{\"labels\":{\"on\":\"\"}},\"spec\":{\"size\":1}}\n",
        "kopf.zalando.org/parent": record(r#""retries":1,"subrefs":["parent/a","parent/b"]"#),
        "kopf.zalando.org/parent.a": r#"{"purpose":"update","retries":1,"success":true,"failure":false}"#,
        "kopf.zalando.org/parent.b": record(r#""retries":1,"delayed":"2099-01-01T00:00:00.000000+00:00""#),
    });
    let metadata = json!({"labels": {"on": ""}, "annotations": annotations});
    create_with(cluster, "a", metadata, json!({"size": 2})).await;
    let path = path(cluster, "a");
    notes.wait_for(1).await;
    let waiting = |object: &Value| {
        annotation(object, "kopf.zalando.org/parent")
            .unwrap_or_default()
            .contains("delayed")
    };
    let before = cluster.wait(&path, waiting).await;
    assert!(
        annotation(&before, "kopf.zalando.org/parent.a").is_some(),
        "the cycle goes on"
    );

    cluster.patch(&path, &json!({"metadata": {"labels": null}})).await;
    let records = |object: &Value| -> Vec<String> {
        let annotations = object["metadata"]["annotations"]
            .as_object()
            .cloned()
            .unwrap_or_default();
        annotations
            .into_iter()
            .map(|(key, _)| key)
            .filter(|key| key.contains("/parent"))
            .collect()
    };
    cluster.wait(&path, |object| records(object).is_empty()).await;

    cluster.patch(&path, &json!({"metadata": {"labels": {"on": ""}}})).await;
    notes.wait_for(2).await;
    cluster.wait(&path, waiting).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["parent 1", "parent 0"], "a later cycle starts clean");
}

// B-026, N-10
async fn operators_do_not_remember_each_others_state(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let prefixes = ["one.example.com", "two.example.org"];
    let mut operators = Vec::new();
    for prefix in prefixes {
        let resource = Resource::of::<Widget>()
            .on_create("made", noting(&notes, prefix), |o| o)
            .on_update("changed", noting(&notes, prefix), |o| o);
        let operator = Operator::new("suite").settings(|settings| prefix.clone_into(&mut settings.persistence.prefix));
        operators.push(cluster.start(operator.resource(resource)));
    }
    let path = path(cluster, "a");
    create(cluster, "a", json!({"size": 100})).await;
    let mut sizes = Vec::new();
    for size in 100..130 {
        cluster.patch(&path, &json!({"spec": {"size": size}})).await;
        let object = cluster
            .wait(&path, |object| {
                prefixes.iter().all(|prefix| handled_size(object, prefix) == size)
            })
            .await;
        sizes.push(object["metadata"]["annotations"].to_string().len());
    }
    for operator in operators {
        operator.stop().await;
    }
    assert!(sizes.iter().all(|size| *size == sizes[0]), "{sizes:?}");
    for prefix in prefixes {
        let calls = notes.all().iter().filter(|note| note.starts_with(prefix)).count();
        assert_eq!(
            calls,
            30,
            "one creation, and an update for each edit: {:?}",
            notes.all()
        );
    }
}

// B-028
async fn an_object_that_was_exported_and_applied_is_new(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let operator = cluster.start(
        Operator::new("suite").resource(
            Resource::of::<Widget>()
                .on_create("made", noting(&notes, "made"), |o| o)
                .on_update("changed", noting(&notes, "changed"), |o| o)
                .on_resume("back", noting(&notes, "back"), |o| o),
        ),
    );
    create(cluster, "a", json!({"size": 1})).await;
    let path = path(cluster, "a");
    let exported = cluster.wait(&path, handled).await;
    cluster.request("DELETE", &path, &Value::Null).await.unwrap();
    cluster.wait(&path, Value::is_null).await;
    let annotations = exported["metadata"]["annotations"].clone();
    let applied = create_with(cluster, "a", json!({"annotations": annotations}), json!({"size": 1})).await;
    assert!(handled(&applied), "the state was copied");
    notes.wait_for(2).await;
    catch_up(cluster, "b").await;
    operator.stop().await;
    assert_eq!(notes.all(), ["made create a 0", "made create a 0", "made create b 0"]);
}

// C-9: neither what was resumed nor what was created.
#[tokio::test(start_paused = true)]
async fn a_repeated_listing_resumes_nothing() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let notes = Notes::default();
    let kept = json!({"annotations": {BASE: "{\"spec\":{\"size\":1}}\n"}});
    create_with(&cluster, "known", kept, json!({"size": 1})).await;
    create(&cluster, "new", json!({"size": 1})).await;
    let resource = Resource::of::<Widget>()
        .on_create("made", noting(&notes, "made"), |o| o)
        .on_resume("back", noting(&notes, "back"), |o| o);
    let operator = cluster.start(Operator::new("suite").resource(resource));
    notes.wait_for(2).await;
    let faults = cluster.embedded.as_ref().unwrap().faults();
    faults.refuse_old_watches(false);
    for name in ["later", "latest"] {
        faults.hold_events();
        create(&cluster, name, json!({"size": 1})).await;
        faults.compact();
        faults.drop_watches();
        faults.release_events();
        cluster.wait(&path(&cluster, name), handled).await;
    }
    operator.stop().await;
    let mut seen = notes.all();
    seen[..2].sort();
    assert_eq!(
        seen,
        [
            "back resume known 0",
            "made create new 0",
            "made create later 0",
            "made create latest 0"
        ]
    );
}

// C-1: what handlers of raw events gather goes into the patch of the cycle, whose handlers come after them.
#[tokio::test(start_paused = true)]
async fn the_steps_of_a_cycle_have_their_order() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let notes = Notes::default();
    let kept = json!({
        "annotations": {BASE: "{\"spec\":{\"size\":1}}\n"},
        "finalizers": ["kopf.zalando.org/KopfFinalizerMarker"],
    });
    create_with(&cluster, "a", kept, json!({"size": 2})).await;
    let watch = {
        let notes = notes.clone();
        move |Event { event_type, patch, .. }: Event<Widget>| {
            notes.add(format!("event {event_type:?}"));
            patch.meta().label("seen", "yes");
            async { HandlerResult::Ok("watched") }
        }
    };
    let resource = Resource::of::<Widget>()
        .on_update("changed", noting(&notes, "changed"), |o| o)
        .on_delete("gone", noting(&notes, "gone"), |o| o)
        .on_event("watch", watch, |o| o);
    let operator = cluster.start(Operator::new("suite").resource(resource));
    let object = path(&cluster, "a");
    cluster
        .wait(&object, |object| handled_size(object, "kopf.zalando.org") == 2)
        .await;
    let audit = cluster.embedded.as_ref().unwrap().audit();
    let first = audit.iter().find(|request| request.method == "PATCH").unwrap();
    let body = first.body.clone().unwrap();
    assert_eq!(body["metadata"]["labels"], json!({"seen": "yes"}));
    assert!(handled(&body), "one patch: {body:#}");
    assert_eq!(notes.all()[..2], ["event Listed", "changed update a 0"]);

    tokio::time::sleep(secs(5)).await;
    let before = notes.all().len();
    cluster.request("DELETE", &object, &Value::Null).await.unwrap();
    cluster.wait(&object, Value::is_null).await;
    tokio::time::sleep(secs(5)).await;
    operator.stop().await;
    let after = notes.all()[before..].to_vec();
    assert_eq!(after[..2], ["event Modified", "gone delete a 0"]);
    assert_eq!(after.last().unwrap(), "event Deleted");
}

// C-4, W-5: what own patches still have to bring is not awaited, and nothing is patched after the end.
#[tokio::test(start_paused = true)]
async fn an_object_that_is_gone_ends_at_once_whatever_is_still_to_come() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let notes = Notes::default();
    let watch = {
        let notes = notes.clone();
        move |Event { event_type, patch, .. }: Event<Widget>| {
            notes.add(format!("{event_type:?}"));
            if event_type == EventType::Deleted {
                patch.status(json!({"seen": true}));
            }
            async { HandlerResult::Ok(()) }
        }
    };
    let resource = Resource::of::<Widget>()
        .on_create("made", noting(&notes, "made"), |o| o)
        .on_update("changed", noting(&notes, "changed"), |o| o)
        .on_event("watch", watch, |o| o.label("watched", PRESENT));
    let operator = cluster.start(Operator::new("suite").resource(resource));
    let object = path(&cluster, "a");
    let labels = json!({"labels": {"watched": ""}});
    create_with(&cluster, "a", labels, json!({"size": 1})).await;
    notes.wait_for(2).await;
    let faults = cluster.embedded.as_ref().unwrap().faults();
    faults.hold_events();
    cluster.wait(&object, handled).await;
    cluster.patch(&object, &json!({"spec": {"size": 2}})).await;
    cluster.request("DELETE", &object, &Value::Null).await.unwrap();
    let audit = || cluster.embedded.as_ref().unwrap().audit().with_verb("patch").len();
    let before = audit();
    faults.release_events();
    tokio::time::sleep(secs(1)).await;
    assert_eq!(notes.all().last().unwrap(), "Deleted");
    tokio::time::sleep(secs(60)).await;
    operator.stop().await;
    assert_eq!(audit(), before, "there is nothing to be patched any more");
    assert!(
        notes.all().iter().all(|note| !note.starts_with("changed")),
        "{:?}",
        notes.all()
    );
}
