//! Objects that Kopf has handled.

use kopf_runtime::settings::Former;
use kopf_runtime::{Change, HandlerResult, Operator, Resource, Temporary, secs};
use kopf_tests::cluster::Cluster;
use kopf_tests::on_both_servers;
use kopf_tests::widgets::{self, Notes, Widget, create, path};
use serde_json::{Value, json};

on_both_servers! {
    an_object_that_kopf_handled_is_not_handled_again;
    a_retry_that_kopf_began_is_continued;
    a_retry_goes_on_under_a_new_name;
    what_was_handled_under_a_former_name_is_moved_once;
    a_deletion_is_held_by_either_finalizer_and_released_by_both;
}

fn operator(notes: &Notes) -> Operator {
    let handler = |id: &'static str| {
        let notes = notes.clone();
        move |Change {
                  reason, retry, diff, ..
              }: Change<Widget>| {
            notes.add(format!("{id} {reason} {retry} {diff}"));
            async { HandlerResult::Ok(()) }
        }
    };
    Operator::new("suite").resource(
        Resource::of::<Widget>()
            .on_create("made", handler("made"), |o| o)
            .on_update("changed", handler("changed"), |o| o)
            .on_delete("gone", handler("gone"), |o| o),
    )
}

// B-1, B-7, C-4
async fn an_object_that_kopf_handled_is_not_handled_again(cluster: &Cluster) {
    widgets::install(cluster).await;
    let metadata = json!({
        "finalizers": ["kopf.zalando.org/KopfFinalizerMarker"],
        "annotations": {"kopf.zalando.org/last-handled-configuration": "{\"spec\":{\"size\":1}}\n"},
    });
    widgets::create_with(cluster, "a", metadata, json!({"size": 1})).await;
    let notes = Notes::default();
    let operator = cluster.start(operator(&notes));
    let path = path(cluster, "a");
    // Another object shows that the listing was worked through.
    widgets::create(cluster, "b", json!({"size": 5})).await;
    notes.wait_for(1).await;
    assert!(
        notes.all()[0].starts_with("made create"),
        "only the new object is created: {:?}",
        notes.all()
    );
    cluster.patch(&path, &json!({"spec": {"size": 2}})).await;
    notes.wait_for(2).await;
    cluster.request("DELETE", &path, &Value::Null).await.unwrap();
    cluster.wait(&path, Value::is_null).await;
    operator.stop().await;
    let notes = notes.all();
    assert!(
        notes[1].starts_with("changed update 0") && notes[1].contains("spec.size"),
        "{notes:?}"
    );
    assert!(notes[2].starts_with("gone delete 0"), "{notes:?}");
    assert_eq!(notes.len(), 3);
    cluster
        .patch(&widgets::path(cluster, "b"), &json!({"metadata": {"finalizers": null}}))
        .await;
}

// P-2, P-12; also a record without an offset (P-4).
async fn a_retry_that_kopf_began_is_continued(cluster: &Cluster) {
    widgets::install(cluster).await;
    let record = "{\"started\":\"2031-02-03T04:05:06.000789\",\"delayed\":\"2020-02-03T04:06:06.000999+00:00\",\
                  \"purpose\":\"create\",\"retries\":2,\"success\":false,\"failure\":false,\"message\":\"busy\"}";
    let metadata = json!({
        "finalizers": ["kopf.zalando.org/KopfFinalizerMarker"],
        "annotations": {"kopf.zalando.org/made": record},
    });
    widgets::create_with(cluster, "a", metadata, json!({"size": 1})).await;
    let notes = Notes::default();
    let operator = cluster.start(operator(&notes));
    let path = path(cluster, "a");
    let handled =
        |object: &Value| object["metadata"]["annotations"]["kopf.zalando.org/last-handled-configuration"].is_string();
    let done = cluster.wait(&path, handled).await;
    operator.stop().await;
    assert!(notes.all()[0].starts_with("made create 2"), "{:?}", notes.all());
    assert_eq!(done["metadata"]["annotations"]["kopf.zalando.org/made"], Value::Null);
    cluster.patch(&path, &json!({"metadata": {"finalizers": null}})).await;
}

const BEFORE: &str = "before.example.com";
const NOW: &str = "now.example.com";

/// Notes all calls; the first one under each id fails. State is under the first name; what was under the others is
/// taken over.
fn renamed(notes: &Notes, names: &[&'static str]) -> Operator {
    let handler = |id: &'static str| {
        let notes = notes.clone();
        move |Change {
                  name, reason, retry, ..
              }: Change<Widget>| {
            notes.add(format!("{id} {reason} {name} {retry}"));
            async move {
                if retry == 0 {
                    return Err(Temporary::after(secs(2), "not yet").into());
                }
                HandlerResult::Ok(())
            }
        }
    };
    let finalizer = |name: &str| format!("{name}/finalizer");
    let resource = Resource::of::<Widget>()
        .on_create("made", handler("made"), |o| o)
        .on_update("changed", handler("changed"), |o| o)
        .on_delete("gone", handler("gone"), |o| o);
    Operator::new("suite").resource(resource).settings(|settings| {
        settings.persistence.prefix = names[0].into();
        settings.persistence.finalizer = finalizer(names[0]);
        let formerly = names[1..].iter().map(|name| Former::new(*name, finalizer(name)));
        settings.persistence.formerly = formerly.collect();
    })
}

/// The names of the annotations with a prefix.
fn under(object: &Value, prefix: &str) -> Vec<String> {
    let annotations = object["metadata"]["annotations"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    let own = annotations
        .keys()
        .filter_map(|key| key.strip_prefix(&format!("{prefix}/")));
    own.map(str::to_owned).collect()
}

fn is_base(object: &Value, prefix: &str, spec: &Value) -> bool {
    let text = &object["metadata"]["annotations"][format!("{prefix}/last-handled-configuration")];
    text.as_str()
        .is_some_and(|text| serde_json::from_str::<Value>(text).unwrap() == json!({"spec": spec}))
}

// P-12, B-11: with the former names told, nothing is new.
async fn a_retry_goes_on_under_a_new_name(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let path = path(cluster, "a");
    let first = cluster.start(renamed(&notes, &[BEFORE]));
    create(cluster, "a", json!({"size": 1})).await;
    cluster
        .wait(&path, |object| is_base(object, BEFORE, &json!({"size": 1})))
        .await;
    cluster.patch(&path, &json!({"spec": {"size": 2}})).await;
    cluster
        .wait(&path, |object| under(object, BEFORE).contains(&"changed".to_owned()))
        .await;
    first.stop().await;
    let second = cluster.start(renamed(&notes, &[NOW, BEFORE]));
    let done = cluster
        .wait(&path, |object| is_base(object, NOW, &json!({"size": 2})))
        .await;
    assert_eq!(under(&done, BEFORE), Vec::<String>::new(), "{done:#}");
    assert_eq!(
        under(&done, NOW),
        ["kopf-gen", "kopf-managed", "last-handled-configuration"]
    );
    assert_eq!(done["metadata"]["finalizers"], json!(["now.example.com/finalizer"]));
    second.stop().await;
    let made = ["made create a 0", "made create a 1"];
    assert_eq!(
        notes.all(),
        [made, ["changed update a 0", "changed update a 1"]].concat()
    );
    cluster.patch(&path, &json!({"metadata": {"finalizers": null}})).await;
}

// P-11, N-10: state is moved, and what is nobody's state stays where it is and is no change.
async fn what_was_handled_under_a_former_name_is_moved_once(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let start = |names: &[&'static str]| cluster.start(renamed(&notes, names));
    let first = start(&[BEFORE]);
    for name in ["a", "b"] {
        create(cluster, name, json!({"size": 1})).await;
        let handled = |object: &Value| is_base(object, BEFORE, &json!({"size": 1}));
        cluster.wait(&widgets::path(cluster, name), handled).await;
    }
    first.stop().await;
    let (a, b) = (path(cluster, "a"), path(cluster, "b"));
    cluster
        .patch(
            &b,
            &json!({"metadata": {"annotations": {"before.example.com/note": "mine"}}}),
        )
        .await;
    let second = start(&[NOW, BEFORE]);
    let moved = |object: &Value| is_base(object, NOW, &json!({"size": 1})) && under(object, BEFORE).len() < 3;
    let moved_a = cluster.wait(&a, moved).await;
    let moved_b = cluster.wait(&b, moved).await;
    assert_eq!(under(&moved_a, BEFORE), Vec::<String>::new());
    assert_eq!(under(&moved_b, BEFORE), ["kopf-managed", "note"], "{moved_b:#}");
    second.stop().await;
    // From now on there is nothing to be done about them, whether or not the former names are still told.
    for names in [&[NOW, BEFORE][..], &[NOW]] {
        let third = start(names);
        let other = names.len().to_string();
        create(cluster, &other, json!({"size": 1})).await;
        let last = |object: &Value| is_base(object, NOW, &json!({"size": 1}));
        cluster.wait(&path(cluster, &other), last).await;
        third.stop().await;
        for (path, moved) in [(&a, &moved_a), (&b, &moved_b)] {
            let now = cluster.get(path).await;
            assert_eq!(now["metadata"]["resourceVersion"], moved["metadata"]["resourceVersion"]);
        }
    }
    let made = |name: &str| [0, 1].map(|retry| format!("made create {name} {retry}"));
    let expected: Vec<String> = ["a", "b", "2", "1"].map(made).concat();
    assert_eq!(notes.all(), expected);
    for name in ["a", "b", "1", "2"] {
        let path = widgets::path(cluster, name);
        cluster.patch(&path, &json!({"metadata": {"finalizers": null}})).await;
    }
}

// Z-6: one object was deleted before the change of names, and one has both finalizers.
async fn a_deletion_is_held_by_either_finalizer_and_released_by_both(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let handled = json!({"before.example.com/last-handled-configuration": "{\"spec\":{\"size\":1}}\n"});
    let finalizers = [
        ("a", json!(["before.example.com/finalizer"])),
        (
            "b",
            json!(["before.example.com/finalizer", "now.example.com/finalizer"]),
        ),
    ];
    for (name, finalizers) in finalizers {
        let metadata = json!({"finalizers": finalizers, "annotations": handled});
        widgets::create_with(cluster, name, metadata, json!({"size": 1})).await;
        let path = path(cluster, name);
        cluster.request("DELETE", &path, &Value::Null).await.unwrap();
    }
    let operator = cluster.start(renamed(&notes, &[NOW, BEFORE]));
    for name in ["a", "b"] {
        cluster.wait(&path(cluster, name), Value::is_null).await;
    }
    operator.stop().await;
    let mut notes = notes.all();
    notes.sort();
    let gone = |name: &str| [0, 1].map(|retry| format!("gone delete {name} {retry}"));
    assert_eq!(notes, ["a", "b"].map(gone).concat());
    if let Some(server) = &cluster.embedded {
        let audit = server.audit().with_verb("patch").for_resource("widgets");
        let releases = audit
            .iter()
            .filter(|request| request.content_type.contains("json-patch"));
        assert_eq!(releases.count(), 2, "{audit}");
    }
}
