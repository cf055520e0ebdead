//! What a stream survives. Faults can only be made on the embedded server.

use kopf_runtime::{
    Change, Event, EventType, HandlerResult, Kind, Operator, Reference, Resource, RunError, RunOptions, Timer, secs,
};
use kopf_tests::cluster::{Cluster, Working};
use kopf_tests::widgets::{self, Notes, Widget, create, path};
use kopf_testserver::{Failure, Traffic};
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
    server(&cluster).faults().drop_watches();
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
        server.faults().refuse_old_watches(by_response);
        server.faults().hold_events();
        create(&cluster, "second", json!({"size": 1})).await;
        server.faults().compact();
        server.faults().drop_watches();
        server.faults().release_events();
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
    server
        .faults()
        .plan(Traffic::any().resource("widgets"), usize::MAX, Failure::status(500));
    server.faults().drop_watches();
    server.clear_audit();
    tokio::time::sleep(secs(60)).await;
    let requests = server.audit().len();
    assert!((3..=12).contains(&requests), "{requests} requests in a minute");
    server.faults().clear();
    create(&cluster, "second", json!({"size": 1})).await;
    cluster.wait(&path(&cluster, "second"), handled).await;
    operator.stop().await;
}

// WATCH-10, B-001: a silent stream is noticed by itself.
#[tokio::test(start_paused = true)]
async fn a_silent_watch_is_opened_again() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    server(&cluster)
        .faults()
        .plan(Traffic::any().verb("watch"), 1, Failure::Hang);
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
    server(&cluster).faults().plan(
        Traffic::any().verb("patch").resource("widgets").name("second"),
        3,
        Failure::status(500),
    );
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

// W-1, B-016: events that are older than the own patch do not confuse the cause.
#[tokio::test(start_paused = true)]
async fn stale_echoes_are_not_handled_again() {
    let notes = Notes::default();
    let (cluster, operator) = serving(&notes).await;
    let server = server(&cluster);
    create(&cluster, "second", json!({"size": 1})).await;
    notes.wait_for(2).await;
    // From here on the operator hears nothing: neither of its own patch nor of the user's.
    server.faults().hold_events();
    tokio::time::sleep(secs(2)).await;
    assert!(handled(&cluster.get(&path(&cluster, "second")).await));
    cluster
        .patch(&path(&cluster, "second"), &json!({"spec": {"size": 2}}))
        .await;
    server.faults().release_events();
    notes.wait_for(3).await;
    tokio::time::sleep(secs(30)).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["create first", "create second", "update second"]);
}

fn noting(notes: &Notes) -> Operator {
    let notes = notes.clone();
    let handler = move |Change { name, .. }: Change<Widget>| {
        notes.add(name);
        async { HandlerResult::Ok(true) }
    };
    Operator::new("suite").resource(Resource::of::<Widget>().on_create("made", handler, |o| o))
}

// one stream per namespace, however often it is named.
#[tokio::test(start_paused = true)]
async fn a_namespace_named_twice_is_served_once() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let notes = Notes::default();
    let options = |namespaces: &[&str]| {
        RunOptions::new(cluster.client.clone())
            .namespaces(namespaces.iter().copied())
            .follow_tokio_time()
    };
    let namespace = cluster.namespace.as_str();
    let operator = noting(&notes).start_with(options(&[namespace, namespace]));
    create(&cluster, "a", json!({"size": 1})).await;
    tokio::time::sleep(secs(10)).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["a"]);
    let refused = noting(&notes).run(options(&["a", ""])).await;
    assert!(matches!(refused, Err(RunError::Malformed(_))));
    // LIVE-01
    let unserved = options(&[]).liveness("https://0.0.0.0:8081/").map(drop);
    assert!(unserved.unwrap_err().to_string().contains("only http:// is served"));
}

struct LaterWidget;

impl Kind for LaterWidget {
    type Spec = Value;
    type Status = Value;
    type Memo = ();
    const REFERENCE: Reference = Reference {
        version: "v2",
        ..Widget::REFERENCE
    };
}

// H-11: two versions of a kind are the same objects.
#[tokio::test(start_paused = true)]
async fn two_versions_of_a_kind_are_refused() {
    let cluster = Cluster::embedded().await;
    let operator = noting(&Notes::default()).resource(Resource::of::<LaterWidget>());
    let refused = operator.run(RunOptions::new(cluster.client.clone())).await;
    let message = refused.expect_err("each object would be handled twice").to_string();
    assert!(message.contains("in the versions v1 and v2"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn dropping_a_run_ends_the_operator() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let notes = Notes::default();
    let options = RunOptions::new(cluster.client.clone()).follow_tokio_time();
    let run = noting(&notes).run(options);
    assert!(tokio::time::timeout(secs(10), run).await.is_err());
    server(&cluster).clear_audit();
    create(&cluster, "a", json!({"size": 1})).await;
    tokio::time::sleep(secs(300)).await;
    assert!(notes.all().is_empty());
    assert_eq!(server(&cluster).audit().len(), 1, "only that of the test itself");
}

// B-007, B-009: deleted after its page was listed and before the list started again.
#[tokio::test(start_paused = true)]
async fn what_goes_away_during_a_restarted_listing_is_noticed() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    widgets::create_with(&cluster, "a", json!({"labels": {"timed": "y"}}), json!({"size": 1})).await;
    for number in 0..500 {
        create(&cluster, &format!("w{number}"), json!({"size": number})).await;
    }
    let notes = Notes::default();
    let handler = {
        let notes = notes.clone();
        move |Timer { name, .. }: Timer<Widget>| {
            notes.add(name);
            async { HandlerResult::Ok(()) }
        }
    };
    server(&cluster)
        .faults()
        .plan(Traffic::any().query("continue="), 1, Failure::Delay(secs(10)));
    let timed = Resource::of::<Widget>().timer("tick", handler, |o| o.interval(secs(1)).label("timed", "y"));
    let operator = cluster.start(Operator::new("suite").resource(timed));
    notes.wait_for(2).await;
    let path = path(&cluster, "a");
    cluster.patch(&path, &json!({"metadata": {"finalizers": null}})).await;
    cluster.request("DELETE", &path, &Value::Null).await.unwrap();
    server(&cluster).faults().compact();
    tokio::time::sleep(secs(20)).await;
    let count = notes.all().len();
    tokio::time::sleep(secs(20)).await;
    operator.stop().await;
    assert_eq!(notes.all().len(), count, "the timer ended with its object");
}

// A-3, B-048: the subresource came with a later version of the CRD.
#[tokio::test(start_paused = true)]
async fn a_new_subresource_is_found_when_the_watch_is_opened_again() {
    let cluster = Cluster::embedded().await;
    let mut definition = widgets::definition();
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    definition["spec"]["versions"][0]["subresources"] = json!({});
    cluster.request("POST", crds, &definition).await.unwrap();
    widgets::install(&cluster).await;
    let operator = cluster.start(noting(&Notes::default()));
    create(&cluster, "first", json!({"size": 1})).await;
    cluster
        .wait(&path(&cluster, "first"), |object| object["status"]["made"] == true)
        .await;
    let name = definition["metadata"]["name"].as_str().unwrap();
    cluster
        .patch(
            &format!("{crds}/{name}"),
            &json!({"spec": {"versions": widgets::definition()["spec"]["versions"]}}),
        )
        .await;
    tokio::time::sleep(secs(5)).await;
    server(&cluster).faults().drop_watches();
    tokio::time::sleep(secs(5)).await;
    create(&cluster, "second", json!({"size": 1})).await;
    cluster
        .wait(&path(&cluster, "second"), |object| object["status"]["made"] == true)
        .await;
    operator.stop().await;
}

// B-013
#[tokio::test(start_paused = true)]
async fn requests_are_sent_a_few_at_a_time() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    for number in 0..300 {
        create(&cluster, &format!("w{number}"), json!({"size": number})).await;
    }
    let server = server(&cluster);
    server.faults().plan(
        Traffic::any().verb("patch").resource("widgets"),
        usize::MAX,
        Failure::Delay(secs(2)),
    );
    let operator = cluster.start(noting(&Notes::default()));
    for second in 1..4 {
        tokio::time::sleep(secs(2)).await;
        let waiting = server
            .audit()
            .iter()
            .filter(|request| request.status.is_none() && request.method == "PATCH")
            .count();
        assert!((1..=64).contains(&waiting), "{waiting} at once after {second}");
    }
    cluster.wait(&path(&cluster, "w299"), handled).await;
    operator.stop().await;
}

// EVT-02
#[tokio::test(start_paused = true)]
async fn the_strictest_level_posts_errors_alone() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let handler = |Change { events, .. }: Change<Widget>| async move {
        events.info("Calm", "nothing");
        events.warn("Worried", "something");
        events.exception("Broken", &anyhow::anyhow!("everything"));
        HandlerResult::Ok(())
    };
    let operator = Operator::new("suite")
        .settings(|settings| settings.posting.level = kopf_runtime::settings::Level::ERROR)
        .resource(Resource::of::<Widget>().on_create("made", handler, |o| o));
    let operator = cluster.start(operator);
    create(&cluster, "a", json!({"size": 1})).await;
    cluster.wait(&path(&cluster, "a"), handled).await;
    operator.stop().await;
    let posted = cluster.events_about("a").await;
    assert_eq!(posted, [("Broken".to_owned(), "everything".to_owned())]);
}
