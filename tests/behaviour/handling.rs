//! Creation, updates, deletion, resuming.

use kopf_runtime::{ABSENT, Change, HandlerResult, Operator, Permanent, Resource};
use kopf_tests::cluster::Cluster;
use kopf_tests::on_both_servers;
use kopf_tests::widgets::{self, Notes, Widget, create, path};
use serde_json::{Value, json};

const PREFIX: &str = "kopf.zalando.org";
const FINALIZER: &str = "kopf.zalando.org/KopfFinalizerMarker";

fn annotation<'a>(object: &'a Value, name: &str) -> &'a Value {
    &object["metadata"]["annotations"][format!("{PREFIX}/{name}")]
}

fn essence(object: &Value) -> Value {
    let text = annotation(object, "last-handled-configuration")
        .as_str()
        .unwrap_or("null");
    assert!(
        text == "null" || text.ends_with("}\n"),
        "Kopf ends the essence with a newline (B-7): {text:?}"
    );
    serde_json::from_str(text).unwrap()
}

/// An operator that notes all changes: reason, retry, diff.
fn noting(notes: &Notes) -> Operator {
    let handler = |id: &'static str| {
        let notes = notes.clone();
        move |Change {
                  reason, retry, diff, ..
              }: Change<Widget>| {
            let notes = notes.clone();
            async move {
                let diff: Vec<String> = diff
                    .iter()
                    .map(|item| format!("{} {} {} {}", item.operation, item.path.join("."), item.old, item.new))
                    .collect();
                notes.add(format!("{id} {reason} {retry}: {}", diff.join(", ")));
                HandlerResult::Ok(json!({"seen": id}))
            }
        }
    };
    Operator::new("suite").resource(
        Resource::of::<Widget>()
            .on_create("made", handler("made"), |o| o)
            .on_update("changed", handler("changed"), |o| o)
            .on_field("sized", "spec.size", handler("sized"), |o| o)
            .on_delete("gone", handler("gone"), |o| o)
            .on_resume("back", handler("back"), |o| o),
    )
}

on_both_servers! {
    an_object_is_handled_from_creation_to_deletion;
    changes_made_while_the_operator_is_away_are_one_update;
    an_unchanged_object_is_only_resumed;
    an_edit_during_handling_is_handled_by_all;
    an_edit_during_creation_is_one_update;
    objects_outside_the_filters_are_left_alone;
    a_permanent_failure_ends_the_attempts;
    a_panic_fails_one_handler_only;
    deletion_waits_for_its_handlers_and_for_nobody_else;
    patches_reach_spec_status_and_lists;
}

// C-4, H-4, K-9, R-1, Z-3, Z-6, B-7, D-2
async fn an_object_is_handled_from_creation_to_deletion(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let operator = cluster.start(noting(&notes));
    let path = path(cluster, "a");
    create(cluster, "a", json!({"size": 1})).await;

    // The status is patched after the rest of the object (A-2).
    let results = json!({"made": {"seen": "made"}, "sized/spec.size": {"seen": "sized"}});
    let created = cluster
        .wait(&path, |object| {
            essence(object) == json!({"spec": {"size": 1}}) && object["status"] == results
        })
        .await;
    assert_eq!(created["metadata"]["finalizers"], json!([FINALIZER]));
    assert_eq!(
        *annotation(&created, "made"),
        Value::Null,
        "a finished cycle leaves no records"
    );

    cluster
        .patch(&path, &json!({"spec": {"size": 2, "colour": "red"}}))
        .await;
    cluster
        .wait(&path, |object| {
            essence(object)["spec"] == json!({"size": 2, "colour": "red"})
        })
        .await;

    cluster.request("DELETE", &path, &Value::Null).await.unwrap();
    cluster.wait(&path, Value::is_null).await;
    operator.stop().await;
    assert_eq!(
        notes.all(),
        [
            r#"made create 0: add  null {"spec":{"size":1}}"#,
            "sized create 0: add  null 1",
            r#"changed update 0: add spec.colour null "red", change spec.size 1 2"#,
            "sized update 0: change  1 2",
            "gone delete 0: ",
        ]
    );
}

// C-14
async fn changes_made_while_the_operator_is_away_are_one_update(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let path = path(cluster, "a");
    let operator = cluster.start(noting(&notes));
    create(cluster, "a", json!({"size": 1})).await;
    cluster.wait(&path, |object| !essence(object).is_null()).await;
    operator.stop().await;
    for size in [2, 3, 4] {
        cluster.patch(&path, &json!({"spec": {"size": size}})).await;
    }
    let operator = cluster.start(noting(&notes));
    cluster.wait(&path, |object| essence(object)["spec"]["size"] == 4).await;
    operator.stop().await;
    assert_eq!(
        notes.all()[2..],
        [
            "changed update 0: change spec.size 1 4",
            "sized update 0: change  1 4",
            "back update 0: change spec.size 1 4"
        ]
    );
}

// C-5: and it is not handled again.
async fn an_unchanged_object_is_only_resumed(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let path = path(cluster, "a");
    let operator = cluster.start(noting(&notes));
    create(cluster, "a", json!({"size": 1})).await;
    let before = cluster.wait(&path, |object| !essence(object).is_null()).await;
    operator.stop().await;
    let operator = cluster.start(noting(&notes));
    assert_eq!(notes.wait_for(3).await[2], "back resume 0: ");
    cluster
        .wait(&path, |object| object["status"]["back"] == json!({"seen": "back"}))
        .await;
    operator.stop().await;
    assert_eq!(essence(&cluster.get(&path).await), essence(&before));
    assert_eq!(notes.all().len(), 3);
}

// C, *Lost change*; B-015, B-030
async fn an_edit_during_handling_is_handled_by_all(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let first = {
        let notes = notes.clone();
        move |Change { old, new, .. }: Change<Widget>| {
            let notes = notes.clone();
            async move {
                let size = |raw: Option<kopf_runtime::Raw>| raw.map(|raw| raw["spec"]["size"].clone());
                notes.add(format!("first {:?} to {:?}", size(old), size(new)));
                HandlerResult::Ok(())
            }
        }
    };
    let second = {
        let (notes, client, path) = (notes.clone(), cluster.client.clone(), path(cluster, "a"));
        move |Change { spec, .. }: Change<Widget>| {
            let (notes, client, path) = (notes.clone(), client.clone(), path.clone());
            async move {
                notes.add(format!("second {}", spec.size));
                if spec.size == 2 {
                    // Somebody edits the object while this handler runs, after the first one has succeeded.
                    let request = http::Request::patch(path)
                        .header("content-type", "application/merge-patch+json")
                        .body(br#"{"spec":{"size":3}}"#.to_vec())?;
                    client.request::<Value>(request).await?;
                }
                HandlerResult::Ok(())
            }
        }
    };
    let operator = cluster.start(
        Operator::new("suite").resource(Resource::of::<Widget>().on_update("first", first, |o| o).on_update(
            "second",
            second,
            |o| o,
        )),
    );
    let path = path(cluster, "a");
    create(cluster, "a", json!({"size": 1})).await;
    cluster.wait(&path, |object| essence(object)["spec"]["size"] == 1).await;
    cluster.patch(&path, &json!({"spec": {"size": 2}})).await;
    let done = cluster.wait(&path, |object| essence(object)["spec"]["size"] == 3).await;
    operator.stop().await;
    let notes = notes.all();
    assert_eq!(notes[..2], ["first Some(Number(1)) to Some(Number(2))", "second 2"]);
    assert!(
        notes.contains(&"first Some(Number(2)) to Some(Number(3))".to_owned()),
        "{notes:?}"
    );
    assert!(notes.contains(&"second 3".to_owned()), "{notes:?}");
    assert_eq!(notes.len(), 4, "{notes:?}");
    assert_eq!(*annotation(&done, "first"), Value::Null);
}

// B-015
async fn an_edit_during_creation_is_one_update(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let slow = {
        let notes = notes.clone();
        move |Change { reason, .. }: Change<Widget>| {
            notes.add(format!("made {reason}"));
            async {
                tokio::time::sleep(kopf_runtime::secs(2)).await;
                HandlerResult::Ok(())
            }
        }
    };
    let sized = {
        let notes = notes.clone();
        move |Change { reason, old, new, .. }: Change<Widget>| {
            notes.add(format!("sized {reason} {old:?} {new:?}"));
            async { HandlerResult::Ok(()) }
        }
    };
    let operator = cluster.start(
        Operator::new("suite").resource(Resource::of::<Widget>().on_create("made", slow, |o| o).on_field(
            "sized",
            "spec.size",
            sized,
            |o| o,
        )),
    );
    let path = path(cluster, "a");
    create(cluster, "a", json!({"size": 1})).await;
    notes.wait_for(1).await;
    cluster
        .patch(&format!("{path}/status"), &json!({"status": {"phase": "Busy"}}))
        .await;
    cluster.patch(&path, &json!({"spec": {"size": 2}})).await;
    cluster.wait(&path, |object| essence(object)["spec"]["size"] == 2).await;
    operator.stop().await;
    assert_eq!(
        notes.all(),
        [
            "made create",
            "sized create None Some(1)",
            "sized update Some(1) Some(2)"
        ]
    );
}

// F-20, B-027
async fn objects_outside_the_filters_are_left_alone(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let handler = {
        let notes = notes.clone();
        move |Change { name, .. }: Change<Widget>| {
            notes.add(name);
            async { HandlerResult::Ok(()) }
        }
    };
    let operator = cluster.start(
        Operator::new("suite").resource(
            Resource::of::<Widget>()
                .on_create("made", handler.clone(), |o| {
                    o.label("app", "mine").annotation("skip", ABSENT)
                })
                .on_delete(
                    "gone",
                    |_: Change<Widget>| async { HandlerResult::Ok(()) },
                    |o| o.label("app", "mine"),
                ),
        ),
    );
    let other = create(cluster, "other", json!({"size": 1})).await;
    widgets::create_with(cluster, "mine", json!({"labels": {"app": "mine"}}), json!({"size": 1})).await;
    cluster
        .wait(&path(cluster, "mine"), |object| !essence(object).is_null())
        .await;
    operator.stop().await;
    let after = cluster.get(&path(cluster, "other")).await;
    assert_eq!(
        after["metadata"]["resourceVersion"], other["metadata"]["resourceVersion"],
        "nothing was written"
    );
    assert_eq!(notes.all(), ["mine"]);
    let free = json!({"metadata": {"finalizers": null}});
    cluster.patch(&path(cluster, "mine"), &free).await;
}

// C-13, E-4
async fn a_permanent_failure_ends_the_attempts(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let handler = {
        let notes = notes.clone();
        move |_: Change<Widget>| {
            notes.add("called");
            async { HandlerResult::<()>::Err(Permanent::new("reserved").into()) }
        }
    };
    let operator =
        cluster.start(Operator::new("suite").resource(Resource::of::<Widget>().on_create("made", handler, |o| o)));
    create(cluster, "a", json!({"size": 1})).await;
    let path = path(cluster, "a");
    cluster.wait(&path, |object| !essence(object).is_null()).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["called"]);
}

// E-15; a panic is an arbitrary error.
async fn a_panic_fails_one_handler_only(cluster: &Cluster) {
    widgets::install(cluster).await;
    let boom = |Change { retry, .. }: Change<Widget>| async move {
        assert!(retry > 0, "the first attempt panics");
        HandlerResult::Ok(retry)
    };
    let calm = |_: Change<Widget>| async { HandlerResult::Ok(true) };
    let operator = cluster.start(
        Operator::new("suite").resource(
            Resource::of::<Widget>()
                .on_create("boom", boom, |o| o.backoff(kopf_runtime::secs(1)))
                .on_create("calm", calm, |o| o),
        ),
    );
    create(cluster, "a", json!({"size": 1})).await;
    let results = json!({"boom": 1, "calm": true});
    cluster
        .wait(&path(cluster, "a"), |object| {
            !essence(object).is_null() && object["status"] == results
        })
        .await;
    operator.stop().await;
}

// Z-1, Z-6, B-042
async fn deletion_waits_for_its_handlers_and_for_nobody_else(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let handler = {
        let notes = notes.clone();
        move |Change { retry, .. }: Change<Widget>| {
            notes.add(format!("gone {retry}"));
            async move {
                if retry < 2 {
                    Err(kopf_runtime::Temporary::after(kopf_runtime::secs(1), "busy").into())
                } else {
                    HandlerResult::Ok(())
                }
            }
        }
    };
    let quick = |_: Change<Widget>| async { HandlerResult::Ok(()) };
    let operator = cluster.start(
        Operator::new("suite").resource(Resource::of::<Widget>().on_delete("quick", quick, |o| o).on_delete(
            "gone",
            handler,
            |o| o,
        )),
    );
    let path = path(cluster, "a");
    widgets::create_with(
        cluster,
        "a",
        json!({"finalizers": ["example.com/other"]}),
        json!({"size": 1}),
    )
    .await;
    cluster
        .wait(&path, |object| {
            object["metadata"]["finalizers"] == json!(["example.com/other", FINALIZER])
        })
        .await;
    cluster.request("DELETE", &path, &Value::Null).await.unwrap();
    cluster
        .wait(&path, |object| {
            object["metadata"]["finalizers"] == json!(["example.com/other"])
        })
        .await;
    assert_eq!(notes.all(), ["gone 0", "gone 1", "gone 2"]);
    cluster.patch(&path, &json!({"metadata": {"finalizers": null}})).await;
    cluster.wait(&path, Value::is_null).await;
    operator.stop().await;
    assert_eq!(notes.all().len(), 3, "deletion is completed exactly once");
}

// A-1, A-2, A-7
async fn patches_reach_spec_status_and_lists(cluster: &Cluster) {
    widgets::install(cluster).await;
    let handler = |Change { patch, .. }: Change<Widget>| async move {
        patch.spec(json!({"colour": "blue"}));
        patch.status(json!({"phase": "Ready"}));
        patch.meta().label("handled", "yes").annotation("note", "by the suite");
        patch.then(|object| {
            if let Some(list) = object["spec"]["list"].as_array_mut()
                && !list.contains(&json!("b"))
            {
                list.push(json!("b"));
            }
            object["status"]["count"] = json!(1);
        });
        HandlerResult::Ok(())
    };
    let operator =
        cluster.start(Operator::new("suite").resource(Resource::of::<Widget>().on_create("made", handler, |o| o)));
    create(cluster, "a", json!({"size": 1, "list": ["a"]})).await;
    let done = cluster
        .wait(&path(cluster, "a"), |object| {
            object["status"]["count"] == 1 && !essence(object).is_null()
        })
        .await;
    operator.stop().await;
    assert_eq!(done["spec"], json!({"size": 1, "colour": "blue", "list": ["a", "b"]}));
    assert_eq!(done["status"], json!({"phase": "Ready", "count": 1}));
    assert_eq!(done["metadata"]["labels"], json!({"handled": "yes"}));
    assert_eq!(done["metadata"]["annotations"]["note"], "by the suite");
}
