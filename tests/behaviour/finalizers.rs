//! The mark that blocks deletion: when it comes, what it waits for, when it goes.

use kopf_runtime::{ABSENT, Change, HandlerResult, Operator, PRESENT, Permanent, Resource, Temporary, Timer, secs};
use kopf_tests::cluster::Cluster;
use kopf_tests::on_both_servers;
use kopf_tests::widgets::{self, Notes, Widget, create, create_with, path};
use serde_json::{Value, json};

const FINALIZER: &str = "kopf.zalando.org/KopfFinalizerMarker";

fn finalizers(object: &Value) -> &Value {
    &object["metadata"]["finalizers"]
}

fn handled(object: &Value) -> bool {
    object["metadata"]["annotations"]["kopf.zalando.org/last-handled-configuration"].is_string()
}

/// Notes the reason of each call, and succeeds.
fn noting(
    notes: &Notes,
    id: &'static str,
) -> impl Fn(Change<Widget>) -> std::future::Ready<HandlerResult> + Clone + Send + Sync + 'static {
    let notes = notes.clone();
    move |Change { reason, .. }: Change<Widget>| {
        notes.add(format!("{id} {reason}"));
        std::future::ready(Ok(()))
    }
}

async fn delete(cluster: &Cluster, name: &str) {
    cluster
        .request("DELETE", &path(cluster, name), &Value::Null)
        .await
        .unwrap();
}

async fn free(cluster: &Cluster, name: &str) {
    cluster
        .patch(&path(cluster, name), &json!({"metadata": {"finalizers": null}}))
        .await;
}

on_both_servers! {
    a_deletion_that_others_hold_up_is_left_to_them;
    a_deletion_made_while_the_operator_was_away_is_finished;
    a_deletion_whose_handler_gives_up_is_released;
    a_deletion_waits_until_its_handler_has_succeeded;
    a_label_that_goes_takes_the_finalizer_along;
    foreign_finalizers_keep_their_places;
    a_deletion_is_handled_once_while_a_timer_ends;
    a_timer_that_is_stopped_keeps_the_finalizer_until_it_has_ended;
    a_timer_that_is_over_releases_the_object_by_itself;
}

// B-040, Z-5, Z-9
async fn a_deletion_that_others_hold_up_is_left_to_them(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    create_with(
        cluster,
        "a",
        json!({"finalizers": ["example.com/other"]}),
        json!({"size": 1}),
    )
    .await;
    delete(cluster, "a").await;
    let operator = cluster.start(
        Operator::new("suite").resource(
            Resource::of::<Widget>()
                .on_create("made", noting(&notes, "made"), |o| o)
                .on_delete("awaited", noting(&notes, "awaited"), |o| o)
                .on_delete("seen", noting(&notes, "seen"), |o| o.optional(true)),
        ),
    );
    // Another object shows that the listing was worked through.
    create(cluster, "b", json!({"size": 1})).await;
    cluster.wait(&path(cluster, "b"), handled).await;
    operator.stop().await;
    let mut seen = notes.all();
    seen.sort();
    assert_eq!(seen, ["made create", "seen delete"]);
    let after = cluster.get(&path(cluster, "a")).await;
    assert_eq!(*finalizers(&after), json!(["example.com/other"]));
    for name in ["a", "b"] {
        free(cluster, name).await;
    }
}

// B-045, C-7, H-3
async fn a_deletion_made_while_the_operator_was_away_is_finished(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let operator = || {
        Operator::new("suite").resource(
            Resource::of::<Widget>()
                .on_create("made", noting(&notes, "made"), |o| o)
                .on_resume("back", noting(&notes, "back"), |o| o)
                .on_resume("ending", noting(&notes, "ending"), |o| o.deleted(true))
                .on_delete("gone", noting(&notes, "gone"), |o| o),
        )
    };
    let path = path(cluster, "a");
    let running = cluster.start(operator());
    create(cluster, "a", json!({"size": 1})).await;
    cluster.wait(&path, handled).await;
    running.stop().await;
    delete(cluster, "a").await;
    let waiting = cluster.get(&path).await;
    assert_eq!(
        *finalizers(&waiting),
        json!([FINALIZER]),
        "nobody is there to release it"
    );
    let running = cluster.start(operator());
    cluster.wait(&path, Value::is_null).await;
    running.stop().await;
    assert_eq!(notes.all(), ["made create", "ending delete", "gone delete"]);
}

// Z-6, C-13
async fn a_deletion_whose_handler_gives_up_is_released(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let gone = {
        let notes = notes.clone();
        move |_: Change<Widget>| {
            notes.add("gone");
            async { HandlerResult::<()>::Err(Permanent::new("cannot be undone").into()) }
        }
    };
    let resource = Resource::of::<Widget>()
        .on_create("made", noting(&notes, "made"), |o| o)
        .on_delete("gone", gone, |o| o);
    let operator = cluster.start(Operator::new("suite").resource(resource));
    create(cluster, "a", json!({"size": 1})).await;
    cluster.wait(&path(cluster, "a"), handled).await;
    delete(cluster, "a").await;
    cluster.wait(&path(cluster, "a"), Value::is_null).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["made create", "gone"]);
}

// Z-6: while the handler waits for its next attempt, the finalizer stays.
async fn a_deletion_waits_until_its_handler_has_succeeded(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let gone = {
        let notes = notes.clone();
        move |Change { retry, .. }: Change<Widget>| {
            notes.add(format!("gone {retry}"));
            async move {
                match retry {
                    0 => Err(Temporary::after(secs(3), "busy").into()),
                    _ => HandlerResult::Ok(()),
                }
            }
        }
    };
    let resource = Resource::of::<Widget>()
        .on_create("made", noting(&notes, "made"), |o| o)
        .on_delete("gone", gone, |o| o);
    let operator = cluster.start(Operator::new("suite").resource(resource));
    let path = path(cluster, "a");
    create(cluster, "a", json!({"size": 1})).await;
    cluster.wait(&path, handled).await;
    delete(cluster, "a").await;
    let record = |object: &Value| object["metadata"]["annotations"]["kopf.zalando.org/gone"].is_string();
    let waiting = cluster.wait(&path, record).await;
    assert_eq!(*finalizers(&waiting), json!([FINALIZER]));
    cluster.wait(&path, Value::is_null).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["made create", "gone 0", "gone 1"]);
}

// Z-4, F-18: and the deletion that follows calls nobody.
async fn a_label_that_goes_takes_the_finalizer_along(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let operator = cluster.start(
        Operator::new("suite").resource(
            Resource::of::<Widget>()
                .on_create("made", noting(&notes, "made"), |o| o)
                .on_delete("gone", noting(&notes, "gone"), |o| o.label("on", PRESENT)),
        ),
    );
    let path = path(cluster, "a");
    create_with(cluster, "a", json!({"labels": {"on": ""}}), json!({"size": 1})).await;
    let marked = cluster.wait(&path, handled).await;
    assert_eq!(*finalizers(&marked), json!([FINALIZER]));
    cluster.patch(&path, &json!({"metadata": {"labels": null}})).await;
    cluster.wait(&path, |object| finalizers(object).is_null()).await;
    delete(cluster, "a").await;
    cluster.wait(&path, Value::is_null).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["made create"]);
}

// Z-1, Z-3, Z-8
async fn foreign_finalizers_keep_their_places(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let resource = Resource::of::<Widget>()
        .on_create("made", noting(&notes, "made"), |o| o)
        .on_delete("gone", noting(&notes, "gone"), |o| o);
    let operator = Operator::new("suite")
        .settings(|settings| settings.persistence.finalizer = "suite.example.com/mine".into())
        .resource(resource);
    let operator = cluster.start(operator);
    let path = path(cluster, "a");
    let others = ["example.com/first", FINALIZER];
    create_with(cluster, "a", json!({"finalizers": others}), json!({"size": 1})).await;
    let marked = cluster.wait(&path, handled).await;
    assert_eq!(
        *finalizers(&marked),
        json!([others[0], others[1], "suite.example.com/mine"])
    );
    // One more comes behind ours.
    let all = json!([others[0], others[1], "suite.example.com/mine", "example.com/last"]);
    cluster.patch(&path, &json!({"metadata": {"finalizers": all}})).await;
    delete(cluster, "a").await;
    let left = json!([others[0], others[1], "example.com/last"]);
    cluster.wait(&path, |object| *finalizers(object) == left).await;
    free(cluster, "a").await;
    cluster.wait(&path, Value::is_null).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["made create", "gone delete"]);
}

/// A timer whose call takes a second and a fifth, whoever asks it to stop.
fn slow(
    notes: &Notes,
) -> impl Fn(Timer<Widget>) -> futures::future::BoxFuture<'static, HandlerResult> + Send + Sync + 'static {
    let notes = notes.clone();
    move |_: Timer<Widget>| {
        let notes = notes.clone();
        Box::pin(async move {
            notes.add("begun");
            tokio::time::sleep(kopf_runtime::millis(1200)).await;
            notes.add("ended");
            Ok(())
        })
    }
}

// Z-12, Z-6: and whatever happens to the object meanwhile.
async fn a_deletion_is_handled_once_while_a_timer_ends(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let resource = Resource::of::<Widget>()
        .timer("slow", slow(&notes), |o| o.interval(secs(3600)))
        .on_delete("gone", noting(&notes, "gone"), |o| o);
    let operator = cluster.start(Operator::new("suite").resource(resource));
    let path = path(cluster, "a");
    create(cluster, "a", json!({"size": 1})).await;
    notes.wait_for(1).await;
    delete(cluster, "a").await;
    notes.wait_for(2).await;
    for phase in ["one", "two"] {
        let status = json!({"status": {"phase": phase}});
        cluster.patch(&format!("{path}/status"), &status).await;
        tokio::time::sleep(kopf_runtime::millis(100)).await;
    }
    cluster.wait(&path, Value::is_null).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["begun", "gone delete", "ended"]);
}

// Z-10, Z-2, T-1
async fn a_timer_that_is_stopped_keeps_the_finalizer_until_it_has_ended(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let resource =
        Resource::of::<Widget>().timer("slow", slow(&notes), |o| o.interval(secs(3600)).label("off", ABSENT));
    let operator = cluster.start(Operator::new("suite").resource(resource));
    let path = path(cluster, "a");
    create(cluster, "a", json!({"size": 1})).await;
    notes.wait_for(1).await;
    cluster
        .patch(&path, &json!({"metadata": {"labels": {"off": ""}}}))
        .await;
    let ended_at_release = {
        let notes = notes.clone();
        cluster.wait(&path, |object| finalizers(object).is_null()).await;
        notes.all()
    };
    operator.stop().await;
    assert_eq!(ended_at_release, ["begun", "ended"]);
}

// Z-11: no event is needed for it.
async fn a_timer_that_is_over_releases_the_object_by_itself(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let resource = Resource::of::<Widget>().timer("slow", slow(&notes), |o| o);
    let operator = cluster.start(Operator::new("suite").resource(resource));
    let path = path(cluster, "a");
    create(cluster, "a", json!({"size": 1})).await;
    notes.wait_for(1).await;
    let marked = cluster.get(&path).await;
    assert_eq!(*finalizers(&marked), json!([FINALIZER]));
    cluster.wait(&path, |object| finalizers(object).is_null()).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["begun", "ended"]);
}

/// The patches of an object: their media type, without the parameters, and their body.
fn patches(cluster: &Cluster) -> Vec<(String, Value)> {
    let audit = cluster.embedded.as_ref().unwrap().audit();
    audit
        .iter()
        .filter(|request| request.method == "PATCH" && request.name == "a")
        .map(|request| (request.content_type.clone(), request.body.clone().unwrap_or_default()))
        .collect()
}

const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";

// Z-3, Z-6, A-8: guarded, before the first handler and after the last record.
#[tokio::test(start_paused = true)]
async fn the_finalizer_comes_first_and_goes_last() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let notes = Notes::default();
    let gone = |Change { retry, .. }: Change<Widget>| async move {
        match retry {
            0 => Err(Temporary::after(secs(30), "busy").into()),
            _ => HandlerResult::Ok(()),
        }
    };
    let made = |_: Change<Widget>| async { HandlerResult::Ok(7) };
    let resource = Resource::of::<Widget>()
        .on_create("made", made, |o| o)
        .on_event(
            "seen",
            {
                let notes = notes.clone();
                move |_| {
                    notes.add("event");
                    async { HandlerResult::Ok(()) }
                }
            },
            |o| o,
        )
        .on_delete("gone", gone, |o| o);
    let operator = cluster.start(Operator::new("suite").resource(resource));
    let object = path(&cluster, "a");
    create(&cluster, "a", json!({"size": 1})).await;
    cluster.wait(&object, |object| object["status"]["made"] == 7).await;
    let created = patches(&cluster);
    let (kinds, bodies): (Vec<_>, Vec<_>) = created.iter().cloned().unzip();
    assert_eq!(kinds, [JSON, MERGE, MERGE]);
    assert_eq!(bodies[0][0]["path"], "/metadata/resourceVersion");
    assert_eq!(
        bodies[0][1],
        json!({"op": "add", "path": "/metadata/finalizers", "value": [FINALIZER]})
    );
    assert!(
        handled(&bodies[1]),
        "the finalizer is there before any handler runs: {created:#?}"
    );
    assert_eq!(bodies[2], json!({"status": {"made": 7}}));

    delete(&cluster, "a").await;
    cluster.wait(&object, Value::is_null).await;
    operator.stop().await;
    let deleted = patches(&cluster)[3..].to_vec();
    let (kinds, bodies): (Vec<_>, Vec<_>) = deleted.iter().cloned().unzip();
    assert_eq!(kinds, [MERGE, MERGE, JSON], "{deleted:#?}");
    let record = |body: &Value| body["metadata"]["annotations"]["kopf.zalando.org/gone"].clone();
    assert!(record(&bodies[0]).as_str().unwrap().contains("delayed"));
    assert_eq!(
        bodies[1]["metadata"]["annotations"].get("kopf.zalando.org/gone"),
        Some(&Value::Null)
    );
    assert_eq!(bodies[2][0]["op"], "test");
    assert_eq!(bodies[2][1], json!({"op": "remove", "path": "/metadata/finalizers"}));
}

// Z-7: the answers to own patches tell enough; the echoes, however late, change nothing.
#[tokio::test(start_paused = true)]
async fn a_release_neither_waits_for_echoes_nor_is_misled_by_them() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let notes = Notes::default();
    let gone = {
        let notes = notes.clone();
        move |Change { retry, .. }: Change<Widget>| {
            notes.add(format!("gone {retry}"));
            async move {
                match retry {
                    0 => Err(Temporary::after(secs(5), "busy").into()),
                    _ => HandlerResult::Ok(()),
                }
            }
        }
    };
    let resource = Resource::of::<Widget>()
        .on_create("made", noting(&notes, "made"), |o| o)
        .on_delete("gone", gone, |o| o);
    let operator = cluster.start(Operator::new("suite").resource(resource));
    let object = path(&cluster, "a");
    create_with(
        &cluster,
        "a",
        json!({"finalizers": ["example.com/other"]}),
        json!({"size": 1}),
    )
    .await;
    cluster.wait(&object, handled).await;
    delete(&cluster, "a").await;
    notes.wait_for(2).await;
    let faults = cluster.embedded.as_ref().unwrap().faults();
    faults.hold_events();
    let left = json!(["example.com/other"]);
    cluster.wait(&object, |object| *finalizers(object) == left).await;
    faults.release_events();
    tokio::time::sleep(secs(60)).await;
    free(&cluster, "a").await;
    cluster.wait(&object, Value::is_null).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["made create", "gone 0", "gone 1"]);
}
