//! What a stream survives. Faults can only be made on the embedded server.

use kopf_runtime::{Change, Event, EventType, HandlerResult, Operator, Resource, secs};
use kopf_tests::cluster::{Cluster, Working};
use kopf_tests::widgets::{self, Notes, Widget, create, path};
use kopf_testserver::Failure;
use serde_json::{Value, json};

async fn serving(notes: &Notes) -> (Cluster, Working) {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let handler = {
        let notes = notes.clone();
        move |Change { reason, name, .. }: Change<Widget>| {
            notes.add(format!("{reason} {name}"));
            async { HandlerResult::Ok(()) }
        }
    };
    let operator = Operator::new("suite").resource(
        Resource::of::<Widget>()
            .on_create("made", handler.clone(), |o| o)
            .on_update("made", handler, |o| o),
    );
    let operator = cluster.start(operator);
    create(&cluster, "first", json!({"size": 1})).await;
    cluster.wait(&path(&cluster, "first"), handled).await;
    (cluster, operator)
}

fn handled(object: &Value) -> bool {
    object["metadata"]["annotations"]["kopf.zalando.org/last-handled-configuration"].is_string()
}

fn server(cluster: &Cluster) -> &kopf_testserver::Server {
    cluster.embedded.as_ref().expect("the server is embedded")
}

// WATCH-08, B-014
#[tokio::test(start_paused = true)]
async fn dropped_watches_are_opened_again() {
    let notes = Notes::default();
    let (cluster, operator) = serving(&notes).await;
    server(&cluster).drop_watches();
    create(&cluster, "second", json!({"size": 1})).await;
    cluster.wait(&path(&cluster, "second"), handled).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["create first", "create second"]);
}

// WATCH-07, B-007: in the stream, and as answer to the request.
#[tokio::test(start_paused = true)]
async fn forgotten_history_leads_to_a_new_listing() {
    for by_response in [false, true] {
        let notes = Notes::default();
        let (cluster, operator) = serving(&notes).await;
        let server = server(&cluster);
        server.refuse_old_watches(by_response);
        server.hold_events();
        create(&cluster, "second", json!({"size": 1})).await;
        server.compact();
        server.drop_watches();
        server.release_events();
        cluster.wait(&path(&cluster, "second"), handled).await;
        operator.stop().await;
        assert_eq!(
            notes.all(),
            ["create first", "create second"],
            "by_response: {by_response}"
        );
    }
}

// WATCH-I2, B-003, B-010: many failures in a row, few requests, and recovery.
#[tokio::test(start_paused = true)]
async fn failing_requests_are_repeated_with_a_growing_backoff() {
    let notes = Notes::default();
    let (cluster, operator) = serving(&notes).await;
    let server = server(&cluster);
    server.fail_next("GET", "widgets", Failure::status(500), usize::MAX);
    server.drop_watches();
    server.clear_requests();
    tokio::time::sleep(secs(60)).await;
    let requests = server.requests().len();
    assert!((3..=12).contains(&requests), "{requests} requests in a minute");
    server.clear_failures();
    create(&cluster, "second", json!({"size": 1})).await;
    cluster.wait(&path(&cluster, "second"), handled).await;
    operator.stop().await;
}

// WATCH-10, B-001: a silent stream is noticed by itself.
#[tokio::test(start_paused = true)]
async fn a_silent_watch_is_opened_again() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    server(&cluster).fail_next("GET", "watch=true", Failure::Hang, 1);
    let handler = |_: Change<Widget>| async { HandlerResult::Ok(()) };
    let operator =
        cluster.start(Operator::new("suite").resource(Resource::of::<Widget>().on_create("made", handler, |o| o)));
    tokio::time::sleep(secs(1)).await;
    create(&cluster, "first", json!({"size": 1})).await;
    tokio::time::sleep(secs(120)).await;
    assert!(handled(&cluster.get(&path(&cluster, "first")).await));
    operator.stop().await;
}

// B-009
#[tokio::test(start_paused = true)]
async fn all_pages_of_a_listing_are_handled() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    for number in 0..1250 {
        create(&cluster, &format!("w{number}"), json!({"size": number})).await;
    }
    let notes = Notes::default();
    let handler = {
        let notes = notes.clone();
        move |Change { name, .. }: Change<Widget>| {
            notes.add(name);
            async { HandlerResult::Ok(()) }
        }
    };
    let operator =
        cluster.start(Operator::new("suite").resource(Resource::of::<Widget>().on_create("made", handler, |o| o)));
    let mut seen = notes.wait_for(1250).await;
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 1250);
    operator.stop().await;
}

// B-006: every raw event, in order, and listings apart from additions.
#[tokio::test(start_paused = true)]
async fn raw_events_are_all_seen_in_order() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    create(&cluster, "a", json!({"size": 0})).await;
    let notes = Notes::default();
    let handler = {
        let notes = notes.clone();
        move |Event { event_type, spec, .. }: Event<Widget>| {
            notes.add(format!("{event_type:?} {}", spec.size));
            async { HandlerResult::Ok(()) }
        }
    };
    let operator =
        cluster.start(Operator::new("suite").resource(Resource::of::<Widget>().on_event("audit", handler, |o| o)));
    notes.wait_for(1).await;
    for size in 1..=20 {
        cluster
            .patch(&path(&cluster, "a"), &json!({"spec": {"size": size}}))
            .await;
    }
    cluster
        .request("DELETE", &path(&cluster, "a"), &Value::Null)
        .await
        .unwrap();
    create(&cluster, "b", json!({"size": 99})).await;
    let seen = notes.wait_for(23).await;
    operator.stop().await;
    let mut expected = vec![format!("{:?} 0", EventType::Listed)];
    expected.extend((1..=20).map(|size| format!("{:?} {size}", EventType::Modified)));
    expected.push(format!("{:?} 20", EventType::Deleted));
    expected.push(format!("{:?} 99", EventType::Added));
    assert_eq!(seen, expected);
}

// the patch is sent again, the handler is not called again.
#[tokio::test(start_paused = true)]
async fn a_failed_patch_is_repeated_without_its_handler() {
    let notes = Notes::default();
    let (cluster, operator) = serving(&notes).await;
    server(&cluster).fail_next("PATCH", "widgets/second", Failure::status(500), 3);
    create(&cluster, "second", json!({"size": 1})).await;
    cluster.wait(&path(&cluster, "second"), handled).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["create first", "create second"]);
}

// B-078: the CRD may come after the operator.
#[tokio::test(start_paused = true)]
async fn a_kind_is_picked_up_when_its_crd_appears() {
    let cluster = Cluster::embedded().await;
    let handler = |_: Change<Widget>| async { HandlerResult::Ok(()) };
    let operator =
        cluster.start(Operator::new("suite").resource(Resource::of::<Widget>().on_create("made", handler, |o| o)));
    tokio::time::sleep(secs(30)).await;
    widgets::install(&cluster).await;
    create(&cluster, "a", json!({"size": 1})).await;
    cluster.wait(&path(&cluster, "a"), handled).await;
    operator.stop().await;
}

// W-1, W-2, B-016: events that are older than the own patch do not confuse the cause.
#[tokio::test(start_paused = true)]
async fn stale_echoes_are_not_handled_again() {
    let notes = Notes::default();
    let (cluster, operator) = serving(&notes).await;
    let server = server(&cluster);
    create(&cluster, "second", json!({"size": 1})).await;
    notes.wait_for(2).await;
    // From here on the operator hears nothing: neither of its own patch nor of the user's.
    server.hold_events();
    tokio::time::sleep(secs(2)).await;
    assert!(handled(&cluster.get(&path(&cluster, "second")).await));
    cluster
        .patch(&path(&cluster, "second"), &json!({"spec": {"size": 2}}))
        .await;
    server.release_events();
    notes.wait_for(3).await;
    tokio::time::sleep(secs(30)).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["create first", "create second", "update second"]);
}
