//! What the API server refuses, and what must not suffer from it. Faults can only be made on the embedded server.

use kopf_runtime::{Change, Event, HandlerResult, Lifecycle, Operator, Resource, Timer, secs};
use kopf_tests::cluster::Cluster;
use kopf_tests::widgets::{self, Notes, Widget, create, create_with, path};
use kopf_testserver::{Failure, Traffic};
use serde_json::{Value, json};

fn handled(object: &Value) -> bool {
    object["metadata"]["annotations"]["kopf.zalando.org/last-handled-configuration"].is_string()
}

fn server(cluster: &Cluster) -> &kopf_testserver::Server {
    cluster.embedded.as_ref().expect("the server is embedded")
}

async fn cluster() -> Cluster {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    cluster
}

/// Notes its calls and returns what `patch` does to the object.
macro_rules! noting {
    ($notes:expr, $name:literal, |$patch:ident| $work:expr) => {{
        let notes = $notes.clone();
        move |Change {
                  retry, patch: $patch, ..
              }: Change<Widget>| {
            notes.add(format!("{} {retry}", $name));
            $work;
            async { HandlerResult::Ok(()) }
        }
    }};
}

// B-047: the server was busy with somebody else; nobody is called again for that.
#[tokio::test(start_paused = true)]
async fn a_conflict_of_the_patch_is_repeated_without_the_handler() {
    let cluster = cluster().await;
    let notes = Notes::default();
    let made = noting!(notes, "made", |patch| patch.status(json!({"phase": "Ready"})));
    server(&cluster).faults().plan(
        Traffic::any().verb("patch").resource("widgets").name("a"),
        2,
        Failure::status(409),
    );
    let operator =
        cluster.start(Operator::new("suite").resource(Resource::of::<Widget>().on_create("made", made, |o| o)));
    create(&cluster, "a", json!({"size": 1})).await;
    cluster
        .wait(&path(&cluster, "a"), |object| {
            handled(object) && object["status"]["phase"] == "Ready"
        })
        .await;
    operator.stop().await;
    assert_eq!(notes.all(), ["made 0"]);
}

// A, *Improve on*: an invalid patch is the failure of the handler that wanted it, and is retried as one.
#[tokio::test(start_paused = true)]
async fn a_refused_patch_is_a_failure_of_its_handler() {
    let cluster = cluster().await;
    let notes = Notes::default();
    let made = {
        let notes = notes.clone();
        move |Change { retry, patch, .. }: Change<Widget>| {
            notes.add(format!("made {retry}"));
            patch.status(json!({"phase": "Ready"}));
            if retry < 2 {
                // No name may have a space: the server refuses the whole of it.
                patch.then(|object| object["metadata"]["labels"] = json!({"not a label": "x"}));
            }
            async { HandlerResult::Ok(()) }
        }
    };
    let operator =
        cluster.start(
            Operator::new("suite").resource(Resource::of::<Widget>().on_create("made", made, |o| o.backoff(secs(5)))),
        );
    create(&cluster, "a", json!({"size": 1})).await;
    cluster.wait(&path(&cluster, "a"), handled).await;
    tokio::time::sleep(secs(60)).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["made 0", "made 1", "made 2"]);
    let done = cluster.get(&path(&cluster, "a")).await;
    assert_eq!(
        done["metadata"]["annotations"]["kopf.zalando.org/made"],
        Value::Null,
        "no record is left"
    );
}

// E-15, L-1: what others of the same cycle wanted is done, and they are not called again.
#[tokio::test(start_paused = true)]
async fn a_refused_patch_fails_none_but_its_handler() {
    let cluster = cluster().await;
    let notes = Notes::default();
    let bad = noting!(notes, "bad", |patch| patch.merge(json!({"spec": "no mapping"})));
    let quiet = noting!(notes, "quiet", |_patch| {});
    let good = {
        let notes = notes.clone();
        move |Change { retry, patch, .. }: Change<Widget>| {
            notes.add(format!("good {retry}"));
            patch.meta().label("tier", "gold");
            patch.then(|object| object["spec"]["colour"] = json!("red"));
            async { HandlerResult::Ok("a result") }
        }
    };
    let resource = Resource::of::<Widget>()
        .on_create("bad", bad, |o| o.backoff(secs(1)).retries(3))
        .on_create("quiet", quiet, |o| o)
        .on_create("good", good, |o| o);
    let operator = cluster.start(Operator::new("suite").resource(resource).settings(|settings| {
        settings.execution.lifecycle = Lifecycle::AllAtOnce;
    }));
    create(&cluster, "a", json!({"size": 1})).await;
    let done = cluster.wait(&path(&cluster, "a"), handled).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["bad 0", "quiet 0", "good 0", "bad 1", "bad 2"]);
    let wanted = (
        &done["metadata"]["labels"]["tier"],
        &done["spec"]["colour"],
        &done["status"]["good"],
    );
    assert_eq!(wanted, (&json!("gold"), &json!("red"), &json!("a result")));
}

// what is sent later is the progress, and not what the object had before.
#[tokio::test(start_paused = true)]
async fn progress_that_is_stored_later_takes_nobodys_edit_back() {
    const KEY: &str = "example.com/x";
    let cluster = cluster().await;
    let notes = Notes::default();
    let made = noting!(notes, "made", |patch| {
        patch.meta().annotation(KEY, "ours");
    });
    let resource = Resource::of::<Widget>().on_create("made", made, |o| o.retries(1));
    let operator = cluster.start(Operator::new("suite").resource(resource).settings(|settings| {
        settings.queueing.error_delays = vec![secs(50)];
    }));
    // All of it, what the handler wanted, and the progress.
    let patches = Traffic::any().verb("patch").resource("widgets").name("a");
    server(&cluster).faults().plan(patches, 3, Failure::status(422));
    create_with(&cluster, "a", json!({"annotations": {KEY: "old"}}), json!({"size": 1})).await;
    notes.wait_for(1).await;
    tokio::time::sleep(secs(1)).await;
    let edit = json!({"metadata": {"annotations": {KEY: "theirs"}}});
    assert!(!handled(&cluster.patch(&path(&cluster, "a"), &edit).await));
    let done = cluster.wait(&path(&cluster, "a"), handled).await;
    operator.stop().await;
    assert_eq!(done["metadata"]["annotations"][KEY], "theirs");
    assert_eq!(notes.all(), ["made 0"]);
}

#[tokio::test(start_paused = true)]
async fn a_refused_patch_of_a_raw_event_harms_nobody_else() {
    let cluster = cluster().await;
    let notes = Notes::default();
    let made = noting!(notes, "made", |_patch| {});
    let audit = |Event { patch, .. }: Event<Widget>| async move {
        patch.meta().label("not a label", "x");
        HandlerResult::Ok(())
    };
    let operator = cluster.start(
        Operator::new("suite").resource(Resource::of::<Widget>().on_event("audit", audit, |o| o).on_create(
            "made",
            made,
            |o| o,
        )),
    );
    create(&cluster, "a", json!({"size": 1})).await;
    cluster.wait(&path(&cluster, "a"), handled).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["made 0"]);
}

// T-11, Z-10: what a timer cannot write must not hold its object.
#[tokio::test(start_paused = true)]
async fn a_timer_that_may_not_write_does_not_block_deletion() {
    let cluster = cluster().await;
    let notes = Notes::default();
    let tick = {
        let notes = notes.clone();
        move |_: Timer<Widget>| {
            notes.add("tick");
            async { HandlerResult::Ok("a result") }
        }
    };
    let operator = cluster
        .start(Operator::new("suite").resource(Resource::of::<Widget>().timer("tick", tick, |o| o.interval(secs(5)))));
    server(&cluster).faults().plan(
        Traffic::any().verb("patch").subresource("status"),
        usize::MAX,
        Failure::status(500),
    );
    create(&cluster, "a", json!({"size": 1})).await;
    notes.wait_for(1).await;
    cluster
        .request("DELETE", &path(&cluster, "a"), &Value::Null)
        .await
        .unwrap();
    cluster.wait(&path(&cluster, "a"), Value::is_null).await;
    operator.stop().await;
}

// what stays forbidden is an answer.
#[tokio::test(start_paused = true)]
async fn a_status_that_may_not_be_written_does_not_block_deletion() {
    let cluster = cluster().await;
    let notes = Notes::default();
    let made = noting!(notes, "made", |patch| patch.status(json!({"phase": "Ready"})));
    let gone = noting!(notes, "gone", |_patch| {});
    let operator = cluster.start(
        Operator::new("suite").resource(
            Resource::of::<Widget>()
                .on_create("made", made, |o| o.retries(1))
                .on_delete("gone", gone, |o| o),
        ),
    );
    server(&cluster).faults().plan(
        Traffic::any().verb("patch").subresource("status"),
        usize::MAX,
        Failure::status(403),
    );
    create(&cluster, "a", json!({"size": 1})).await;
    notes.wait_for(1).await;
    cluster
        .request("DELETE", &path(&cluster, "a"), &Value::Null)
        .await
        .unwrap();
    tokio::time::sleep(secs(600)).await;
    assert_eq!(cluster.get(&path(&cluster, "a")).await, Value::Null);
    operator.stop().await;
    assert_eq!(notes.all(), ["made 0", "gone 0"]);
}

// an admission webhook denies with whatever code it likes.
#[tokio::test(start_paused = true)]
async fn what_stays_denied_is_an_answer_with_any_code() {
    for code in [409, 412, 418, 451] {
        let cluster = cluster().await;
        let notes = Notes::default();
        let made = noting!(notes, "made", |patch| patch.status(json!({"phase": "Ready"})));
        let resource = Resource::of::<Widget>().on_create("made", made, |o| o.retries(1));
        server(&cluster).faults().plan(
            Traffic::any().verb("patch").subresource("status"),
            usize::MAX,
            Failure::status(code),
        );
        let operator = cluster.start(Operator::new("suite").resource(resource));
        create(&cluster, "a", json!({"size": 1})).await;
        notes.wait_for(1).await;
        // A minute each is longer than all back-offs of nine attempts.
        tokio::time::sleep(secs(600)).await;
        let audit = server(&cluster).audit().with_verb("patch");
        let attempts = audit.for_resource("widgets/status").iter().count();
        // Nine with all of the cycle, and nine with what the handler wanted by itself.
        assert_eq!(attempts, 18, "{code}");
        operator.stop().await;
        assert_eq!(notes.all(), ["made 0"], "{code}");
    }
}

// Z-12, P-12: a restart while a timer still ends.
#[tokio::test(start_paused = true)]
async fn deletion_is_handled_once_though_a_timer_still_runs() {
    let cluster = cluster().await;
    let notes = Notes::default();
    let operator = || {
        let slow = |_: Timer<Widget>| async {
            tokio::time::sleep(secs(40)).await;
            HandlerResult::Ok(())
        };
        let gone = noting!(notes, "gone", |_patch| {});
        Operator::new("suite").resource(
            Resource::of::<Widget>()
                .timer("slow", slow, |o| o.interval(secs(1)))
                .on_delete("gone", gone, |o| o),
        )
    };
    let first = cluster.start(operator());
    create(&cluster, "a", json!({"size": 1})).await;
    tokio::time::sleep(secs(5)).await;
    cluster
        .request("DELETE", &path(&cluster, "a"), &Value::Null)
        .await
        .unwrap();
    notes.wait_for(1).await;
    tokio::time::sleep(secs(1)).await;
    first.stop().await;
    let second = cluster.start(operator());
    cluster.wait(&path(&cluster, "a"), Value::is_null).await;
    second.stop().await;
    assert_eq!(notes.all(), ["gone 0"]);
}
