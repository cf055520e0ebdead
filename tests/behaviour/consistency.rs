//! Own patches and their echoes, delays and restarts. Nothing waits for an echo: the answer to a patch is the newest
//! state there is, and whatever the stream brings of older ones changes no decision.

use kopf_runtime::{Change, Event, HandlerResult, Operator, Resource, RunOptions, Temporary, hours, mins, secs};
use kopf_tests::cluster::Cluster;
use kopf_tests::on_both_servers;
use kopf_tests::widgets::{self, Notes, Widget, create, path};
use kopf_testserver::Server;
use serde_json::{Value, json};
use tokio::time::Instant;

fn handled(object: &Value) -> bool {
    object["metadata"]["annotations"]["kopf.zalando.org/last-handled-configuration"].is_string()
}

fn server(cluster: &Cluster) -> &Server {
    cluster.embedded.as_ref().expect("the server is embedded")
}

async fn cluster() -> Cluster {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    cluster
}

/// The operator's patches of `a`.
fn patches(cluster: &Cluster) -> Vec<Value> {
    let audit = server(cluster).audit().with_verb("patch");
    let of_a = audit.iter().filter(|request| request.name == "a");
    of_a.map(|request| request.body.clone().unwrap_or_default()).collect()
}

/// Waits for `delay` before its second attempt; notes when it is called.
fn delayed(
    notes: &Notes,
    delay: std::time::Duration,
) -> impl Fn(Change<Widget>) -> std::future::Ready<HandlerResult> + Clone + Send + Sync + 'static {
    let (notes, begin) = (notes.clone(), Instant::now());
    move |Change { retry, .. }: Change<Widget>| {
        notes.add(format!("{retry} at {}", begin.elapsed().as_secs()));
        std::future::ready(match retry {
            0 => Err(Temporary::after(delay, "not yet").into()),
            _ => Ok(()),
        })
    }
}

// W-3, W-4, W-5, Q-13: a creation of several steps and an update while no event comes at all; then they come.
#[tokio::test(start_paused = true)]
async fn steps_follow_each_other_without_any_echo() {
    let cluster = cluster().await;
    let (changes, events) = (Notes::default(), Notes::default());
    let step = |id: &'static str| {
        let changes = changes.clone();
        move |Change { status, reason, .. }: Change<Widget>| {
            let before = status.as_object().map_or(0, serde_json::Map::len);
            changes.add(format!("{reason} {id} after {before}"));
            async move { HandlerResult::Ok(id) }
        }
    };
    let seen = {
        let events = events.clone();
        move |Event { status, .. }: Event<Widget>| {
            events.add(status.as_object().map_or(0, serde_json::Map::len).to_string());
            async { HandlerResult::Ok(()) }
        }
    };
    let resource = Resource::of::<Widget>()
        .on_event("seen", seen, |o| o)
        .on_create("one", step("one"), |o| o)
        .on_create("two", step("two"), |o| o)
        .on_create("three", step("three"), |o| o)
        .on_update("four", step("four"), |o| o);
    let operator = cluster.start(Operator::new("suite").resource(resource));
    let faults = server(&cluster).faults();
    create(&cluster, "a", json!({"size": 1})).await;
    events.wait_for(1).await;
    faults.hold_events();
    cluster.wait(&path(&cluster, "a"), handled).await;
    tokio::time::sleep(mins(10)).await;
    let expected = ["create one after 0", "create two after 1", "create three after 2"];
    assert_eq!(changes.all(), expected);
    cluster.patch(&path(&cluster, "a"), &json!({"spec": {"size": 2}})).await;
    faults.release_events();
    changes.wait_for(4).await;
    tokio::time::sleep(mins(10)).await;
    operator.stop().await;
    assert_eq!(
        changes.all()[3..],
        ["update four after 3"],
        "stale echoes are no changes"
    );
    // In the order of the changes, each at once.
    let mut sorted = events.all();
    sorted.sort();
    assert_eq!(events.all(), sorted);
    assert_eq!(sorted.last().unwrap(), "4");
}

// W, *Improve on*: echoes that a new listing skips; what it brings may be somebody's edit on top of them.
#[tokio::test(start_paused = true)]
async fn a_new_listing_stands_for_the_echoes_that_it_skips() {
    for edited in [false, true] {
        let cluster = cluster().await;
        let notes = Notes::default();
        let handler = {
            let notes = notes.clone();
            move |Change { reason, spec, .. }: Change<Widget>| {
                notes.add(format!("{reason} {}", spec.size));
                async { HandlerResult::Ok(true) }
            }
        };
        let resource = Resource::of::<Widget>()
            .on_create("made", handler.clone(), |o| o)
            .on_update("made", handler.clone(), |o| o)
            .on_resume("made", handler, |o| o);
        let operator = cluster.start(Operator::new("suite").resource(resource));
        let faults = server(&cluster).faults();
        create(&cluster, "a", json!({"size": 1})).await;
        notes.wait_for(1).await;
        faults.hold_events();
        cluster.wait(&path(&cluster, "a"), handled).await;
        if edited {
            cluster.patch(&path(&cluster, "a"), &json!({"spec": {"size": 2}})).await;
        }
        faults.refuse_old_watches(true);
        faults.compact();
        faults.drop_watches();
        faults.release_events();
        tokio::time::sleep(mins(10)).await;
        operator.stop().await;
        let expected: &[&str] = if edited {
            &["create 1", "update 2"]
        } else {
            &["create 1"]
        };
        assert_eq!(notes.all(), expected);
    }
}

// W-6: the answer to the release tells that the object is gone; its `DELETED` is neither awaited nor needed.
#[tokio::test(start_paused = true)]
async fn nothing_is_done_after_the_last_finalizer() {
    let cluster = cluster().await;
    let gone = |_: Change<Widget>| async { HandlerResult::Ok(()) };
    let seen = |Event { patch, .. }: Event<Widget>| async move {
        patch.status(json!({"seen": true}));
        HandlerResult::Ok(())
    };
    let resource = Resource::of::<Widget>()
        .on_event("seen", seen, |o| o)
        .on_delete("gone", gone, |o| o);
    let operator = cluster.start(Operator::new("suite").resource(resource));
    let object = path(&cluster, "a");
    create(&cluster, "a", json!({"size": 1})).await;
    cluster
        .wait(&object, |object| !object["metadata"]["finalizers"].is_null())
        .await;
    tokio::time::sleep(mins(1)).await;
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    cluster.request("DELETE", &object, &Value::Null).await.unwrap();
    cluster.wait(&object, Value::is_null).await;
    let last = patches(&cluster);
    assert_eq!(last.last().unwrap()[1]["op"], "remove");
    server(&cluster).faults().hold_events();
    tokio::time::sleep(mins(10)).await;
    assert_eq!(patches(&cluster).len(), last.len());
    assert_eq!(tasks(), before);
    operator.stop().await;
}

// W-8, W-10: the delay is in the process; no patch brings it about, and none is needed to end it.
#[tokio::test(start_paused = true)]
async fn a_delay_needs_neither_events_nor_touches() {
    let cluster = cluster().await;
    let notes = Notes::default();
    let made = delayed(&notes, hours(2));
    let operator =
        cluster.start(Operator::new("suite").resource(Resource::of::<Widget>().on_create("made", made, |o| o)));
    create(&cluster, "a", json!({"size": 1})).await;
    notes.wait_for(1).await;
    server(&cluster).faults().hold_events();
    tokio::time::sleep(hours(1)).await;
    assert_eq!(patches(&cluster).len(), 1, "only the record");
    tokio::time::sleep(hours(1) + mins(1)).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["0 at 0", "1 at 7200"]);
    let touched = |patch: &Value| patch.to_string().contains("touch-dummy");
    assert!(!patches(&cluster).iter().any(touched));
}

// W-12
#[tokio::test(start_paused = true)]
async fn no_delay_at_all_is_a_delay_too() {
    for soon in [
        Temporary::soon("soon"),
        Temporary::after(std::time::Duration::ZERO, "at once"),
    ] {
        let cluster = cluster().await;
        let notes = Notes::default();
        let made = {
            let notes = notes.clone();
            move |Change { retry, .. }: Change<Widget>| {
                notes.add(retry.to_string());
                let soon = soon.clone();
                async move {
                    if retry < 3 {
                        Err(soon.into())
                    } else {
                        HandlerResult::Ok(())
                    }
                }
            }
        };
        let operator =
            cluster.start(Operator::new("suite").resource(Resource::of::<Widget>().on_create("made", made, |o| o)));
        create(&cluster, "a", json!({"size": 1})).await;
        tokio::time::sleep(secs(1)).await;
        operator.stop().await;
        assert_eq!(notes.all(), ["0", "1", "2", "3"]);
    }
}

// W-13, P-3
#[tokio::test(start_paused = true)]
async fn a_restart_keeps_the_rest_of_a_delay() {
    let cluster = cluster().await;
    let notes = Notes::default();
    let made = delayed(&notes, mins(1));
    let operator = || Operator::new("suite").resource(Resource::of::<Widget>().on_create("made", made.clone(), |o| o));
    // Both with one time of day.
    let options = RunOptions::new(cluster.client.clone())
        .namespaces([&cluster.namespace])
        .follow_tokio_time();
    let first = operator().start_with(options.clone());
    create(&cluster, "a", json!({"size": 1})).await;
    notes.wait_for(1).await;
    tokio::time::sleep(secs(10)).await;
    first.stop().await;
    tokio::time::sleep(secs(10)).await;
    let second = operator().start_with(options);
    notes.wait_for(2).await;
    second.stop().await;
    assert_eq!(notes.all(), ["0 at 0", "1 at 60"]);
}

// W-8: a delay that outlives everybody costs nothing, and the object is not lost for other things.
#[tokio::test(start_paused = true)]
async fn a_delay_for_ever_neither_spins_nor_blocks() {
    for delay in [hours(24 * 365 * 73), std::time::Duration::MAX] {
        let cluster = cluster().await;
        let (notes, ends) = (Notes::default(), Notes::default());
        let made = delayed(&notes, delay);
        let gone = {
            let ends = ends.clone();
            move |_: Change<Widget>| {
                ends.add("gone");
                async { HandlerResult::Ok(()) }
            }
        };
        let operator = || {
            let resource = Resource::of::<Widget>()
                .on_create("made", made.clone(), |o| o)
                .on_delete("gone", gone.clone(), |o| o);
            Operator::new("suite").resource(resource)
        };
        let first = cluster.start(operator());
        create(&cluster, "a", json!({"size": 1})).await;
        notes.wait_for(1).await;
        tokio::time::sleep(secs(10)).await;
        let before = patches(&cluster).len();
        tokio::time::sleep(hours(24 * 30)).await;
        first.stop().await;
        let second = cluster.start(operator());
        tokio::time::sleep(hours(24)).await;
        assert_eq!(patches(&cluster).len(), before);
        let object = path(&cluster, "a");
        cluster.request("DELETE", &object, &Value::Null).await.unwrap();
        cluster.wait(&object, Value::is_null).await;
        second.stop().await;
        assert_eq!((notes.all().len(), ends.all().len()), (1, 1));
    }
}

on_both_servers! {
    a_patch_that_changes_nothing_stalls_nobody;
}

// W-8, W-1, B-037: neither the delay of a handler nor a real edit is lost over it.
async fn a_patch_that_changes_nothing_stalls_nobody(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let constant = |_: Event<Widget>| async { HandlerResult::Ok("constant") };
    let updated = {
        let notes = notes.clone();
        move |Change { spec, retry, .. }: Change<Widget>| {
            notes.add(format!("{} {retry}", spec.size));
            async move {
                match retry {
                    0 => Err(Temporary::after(secs(1), "not yet").into()),
                    _ => HandlerResult::Ok("constant"),
                }
            }
        }
    };
    let made = |_: Change<Widget>| async { HandlerResult::Ok(()) };
    let resource = Resource::of::<Widget>()
        .on_event("seen", constant, |o| o)
        .on_create("made", made, |o| o)
        .on_update("updated", updated, |o| o);
    let operator = cluster.start(Operator::new("suite").resource(resource));
    let object = path(cluster, "a");
    create(cluster, "a", json!({"size": 1})).await;
    cluster.wait(&object, handled).await;
    for size in [2, 3] {
        cluster.patch(&object, &json!({"spec": {"size": size}})).await;
        notes.wait_for(2 * (size - 1)).await;
    }
    operator.stop().await;
    assert_eq!(notes.all(), ["2 0", "2 1", "3 0", "3 1"]);
}
