//! Which handler is which: ids, fields, and one function in several places.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kopf_runtime::{Change, HandlerResult, Kind, Operator, Reference, Resource};
use kopf_tests::cluster::Cluster;
use kopf_tests::on_both_servers;
use kopf_tests::widgets::{self, Notes, Widget, path};
use serde_json::{Value, json};

/// A widget without a schema: also one without a spec fits.
struct Loose;

impl Kind for Loose {
    type Spec = Value;
    type Status = Value;
    type Memo = ();
    const REFERENCE: Reference = Widget::REFERENCE;
}

/// One function, to be registered in several places: it notes the reason, its parameter, and the change.
fn noting(notes: &Notes) -> impl Fn(Change<Loose>) -> BoxFuture<'static, HandlerResult<bool>> + Clone + use<> {
    let notes = notes.clone();
    move |Change {
              reason,
              old,
              new,
              param,
              ..
          }: Change<Loose>| {
        let text = |side: Option<kopf_runtime::Raw>| side.map_or("none".to_owned(), |side| side.to_string());
        notes.add(format!("{reason} {param}: {} to {}", text(old), text(new)));
        async { Ok(true) }.boxed()
    }
}

async fn create(cluster: &Cluster, spec: Value) -> String {
    let mut widget = json!({
        "apiVersion": "tests.kopf-gen.example.com/v1", "kind": "Widget", "metadata": {"name": "a"},
    });
    if !spec.is_null() {
        widget["spec"] = spec;
    }
    let created = cluster.request("POST", &widgets::collection(cluster), &widget).await;
    created.expect("the widget can be created");
    path(cluster, "a")
}

/// The names of our annotations that are no diff-base and no mark.
fn records(object: &Value) -> Vec<&str> {
    let annotations = object["metadata"]["annotations"].as_object();
    let names = annotations.into_iter().flatten().map(|(name, _)| name.as_str());
    names
        .filter_map(|name| name.strip_prefix("kopf.zalando.org/"))
        .filter(|name| *name != "last-handled-configuration" && *name != "kopf-gen")
        .collect()
}

fn is_handled(object: &Value, spec: &Value) -> bool {
    let text = object["metadata"]["annotations"]["kopf.zalando.org/last-handled-configuration"].as_str();
    let base: Value = serde_json::from_str(text.unwrap_or("null")).unwrap();
    !base.is_null() && base["spec"] == *spec && records(object).is_empty()
}

on_both_servers! {
    a_deep_field_comes_and_goes_with_its_parents;
    one_function_for_two_fields_is_called_for_each;
    one_function_for_creation_and_for_a_field_has_two_records;
    creation_and_resuming_by_one_function_are_one_call;
    resuming_covers_downtime_if_it_is_asked_to;
}

// B-019, H-4, H-13
async fn a_deep_field_comes_and_goes_with_its_parents(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let seen = |_: Change<Loose>| async { HandlerResult::Ok(()) };
    let param = json!({"verbatim": [1, null, "x"]});
    let operator = cluster.start(
        Operator::new("suite").resource(
            Resource::of::<Loose>()
                .on_field("port", "spec.net.port", noting(&notes), |o| o.param(param.clone()))
                .on_create("seen", seen, |o| o),
        ),
    );
    let path = create(cluster, Value::Null).await;
    for (edit, spec) in [
        (Value::Null, Value::Null),
        (json!({"net": {"port": 80}}), json!({"net": {"port": 80}})),
        (json!({"net": null, "size": 1}), json!({"size": 1})),
        (json!({"net": {"host": "h"}}), json!({"size": 1, "net": {"host": "h"}})),
        (json!({"net": {"host": "i"}}), json!({"size": 1, "net": {"host": "i"}})),
    ] {
        if !edit.is_null() {
            cluster.patch(&path, &json!({"spec": edit})).await;
        }
        cluster.wait(&path, |object| is_handled(object, &spec)).await;
    }
    operator.stop().await;
    assert_eq!(
        notes.all(),
        [
            format!("update {param}: none to 80"),
            format!("update {param}: 80 to none")
        ]
    );
}

// B-020, H-9, H-10
async fn one_function_for_two_fields_is_called_for_each(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let sync = noting(&notes);
    let operator = cluster.start(
        Operator::new("suite").resource(
            Resource::of::<Loose>()
                .on_update("sync", sync.clone(), |o| o.field("spec.a"))
                .on_update("sync", sync, |o| o.field("spec.b")),
        ),
    );
    let path = create(cluster, json!({"a": 1, "b": 1})).await;
    cluster
        .wait(&path, |object| is_handled(object, &json!({"a": 1, "b": 1})))
        .await;
    cluster.patch(&path, &json!({"spec": {"a": 2, "b": 3}})).await;
    let object = cluster
        .wait(&path, |object| {
            is_handled(object, &json!({"a": 2, "b": 3})) && object["status"].is_object()
        })
        .await;
    operator.stop().await;
    assert_eq!(notes.all(), ["update null: 1 to 2", "update null: 1 to 3"]);
    assert_eq!(object["status"], json!({"sync/spec.a": true, "sync/spec.b": true}));
}

// B-021, H-9: they are two handlers, called both, with a record each while they are at work.
async fn one_function_for_creation_and_for_a_field_has_two_records(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let function = noting(&notes);
    let operator = cluster.start(
        Operator::new("suite").resource(
            Resource::of::<Loose>()
                .on_create("f", function.clone(), |o| o)
                .on_field("f", "spec.x", function, |o| o),
        ),
    );
    let path = create(cluster, json!({"x": 1})).await;
    let results = json!({"f": true, "f/spec.x": true});
    cluster
        .wait(&path, |object| {
            is_handled(object, &json!({"x": 1})) && object["status"] == results
        })
        .await;
    operator.stop().await;
    assert_eq!(
        notes.all(),
        [r#"create null: none to {"spec":{"x":1}}"#, "create null: none to 1"]
    );
}

// H-10
async fn creation_and_resuming_by_one_function_are_one_call(cluster: &Cluster) {
    widgets::install(cluster).await;
    let path = create(cluster, json!({"x": 1})).await;
    let notes = Notes::default();
    let operator = || {
        let function = noting(&notes);
        Operator::new("suite").resource(
            Resource::of::<Loose>()
                .on_create("f", function.clone(), |o| o.param(1))
                .on_resume("f", function, |o| o.param(2).covers_downtime(true)),
        )
    };
    let working = cluster.start(operator());
    cluster.wait(&path, |object| is_handled(object, &json!({"x": 1}))).await;
    working.stop().await;
    assert_eq!(notes.all(), [r#"create 1: none to {"spec":{"x":1}}"#]);
    let working = cluster.start(operator());
    let all = notes.wait_for(2).await;
    working.stop().await;
    assert!(all[1].starts_with("resume 2:"), "{all:?}");
}

// C-6, and C, *Improve on*
async fn resuming_covers_downtime_if_it_is_asked_to(cluster: &Cluster) {
    widgets::install(cluster).await;
    let path = create(cluster, json!({"x": 1})).await;
    let notes = Notes::default();
    let function = noting(&notes);
    let operator = Operator::new("suite").resource(
        Resource::of::<Loose>()
            .on_resume("covering", function.clone(), |o| {
                o.param("covering").covers_downtime(true)
            })
            .on_resume("usual", function, |o| o.param("usual")),
    );
    let working = cluster.start(operator);
    cluster.wait(&path, |object| is_handled(object, &json!({"x": 1}))).await;
    working.stop().await;
    assert_eq!(notes.all(), [r#"create "covering": none to {"spec":{"x":1}}"#]);
}
