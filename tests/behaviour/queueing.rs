//! One queue and one worker for each object, and the places that workers have.

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

/// Notes the name when it is called and when it ends, some seconds later.
fn slow(
    notes: &Notes,
    seconds: u64,
) -> impl Fn(Change<Widget>) -> futures::future::BoxFuture<'static, HandlerResult> + Clone + Send + Sync + 'static {
    let notes = notes.clone();
    move |Change { name, .. }: Change<Widget>| {
        let notes = notes.clone();
        Box::pin(async move {
            notes.add(format!("{name} begins"));
            tokio::time::sleep(secs(seconds)).await;
            notes.add(format!("{name} ends"));
            Ok(())
        })
    }
}

on_both_servers! {
    each_event_is_seen_and_changes_meet_the_latest_state;
    an_object_does_not_wait_for_another_one;
}

// B-030: edits that come while a handler runs are one more update, none of them is lost or told twice.
async fn each_event_is_seen_and_changes_meet_the_latest_state(cluster: &Cluster) {
    widgets::install(cluster).await;
    let (events, updates) = (Notes::default(), Notes::default());
    let seen = {
        let events = events.clone();
        move |Event { spec, .. }: Event<Widget>| {
            events.add(spec.size.to_string());
            async { HandlerResult::Ok(()) }
        }
    };
    let updated = {
        let updates = updates.clone();
        move |Change { old, new, patch, .. }: Change<Widget>| {
            let size = |essence: Option<kopf_runtime::Raw>| essence.map(|essence| essence["spec"]["size"].clone());
            updates.add(format!("{} to {}", size(old).unwrap(), size(new).unwrap()));
            patch.status(json!({"calls": updates.all().len()}));
            async {
                tokio::time::sleep(secs(2)).await;
                HandlerResult::Ok(())
            }
        }
    };
    let made = |_: Change<Widget>| async { HandlerResult::Ok(()) };
    let operator = cluster.start(
        Operator::new("suite").resource(
            Resource::of::<Widget>()
                .on_event("seen", seen, |o| o)
                .on_create("made", made, |o| o)
                .on_update("updated", updated, |o| o),
        ),
    );
    let path = path(cluster, "a");
    create(cluster, "a", json!({"size": 1})).await;
    cluster.wait(&path, handled).await;
    cluster.patch(&path, &json!({"spec": {"size": 2}})).await;
    updates.wait_for(1).await;
    for size in [3, 4] {
        cluster.patch(&path, &json!({"spec": {"size": size}})).await;
    }
    cluster.wait(&path, |object| object["status"]["calls"] == 2).await;
    // Long enough for what should not come.
    tokio::time::sleep(secs(3)).await;
    operator.stop().await;
    assert_eq!(updates.all(), ["1 to 2", "2 to 4"]);
    let mut sizes = events.all();
    sizes.dedup();
    assert_eq!(sizes, ["1", "2", "3", "4"]);
}

// while the handler of one sleeps.
async fn an_object_does_not_wait_for_another_one(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let made = slow(&notes, 3);
    let operator =
        cluster.start(Operator::new("suite").resource(Resource::of::<Widget>().on_create("made", made, |o| o)));
    for name in ["a", "b"] {
        create(cluster, name, json!({"size": 1})).await;
    }
    notes.wait_for(4).await;
    operator.stop().await;
    let mut begun = notes.all()[..2].to_vec();
    begun.sort();
    assert_eq!(begun, ["a begins", "b begins"]);
}

/// An operator with a limit.
fn limited(limit: Option<usize>, resource: Resource<Widget>) -> Operator {
    Operator::new("suite")
        .settings(|settings| settings.queueing.worker_limit = limit)
        .resource(resource)
}

//
#[tokio::test(start_paused = true)]
async fn no_more_objects_are_processed_at_once_than_the_limit_says() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    for (limit, seconds) in [(Some(1), 40), (Some(2), 20), (None, 10)] {
        let notes = Notes::default();
        let made = slow(&notes, 10);
        let operator = cluster.start(limited(limit, Resource::of::<Widget>().on_create("made", made, |o| o)));
        let begin = Instant::now();
        for number in 0..4 {
            create(&cluster, &format!("w{number}-{seconds}"), json!({"size": 1})).await;
        }
        notes.wait_for(8).await;
        let took = begin.elapsed().as_secs();
        assert!((seconds..seconds + 2).contains(&took), "{limit:?}: {took} s");
        operator.stop().await;
    }
}

// as good as none.
#[tokio::test(start_paused = true)]
async fn a_limit_may_be_as_large_as_numbers_go() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let notes = Notes::default();
    let made = slow(&notes, 10);
    let resource = Resource::of::<Widget>().on_create("made", made, |o| o);
    let operator = cluster.start(limited(Some(usize::MAX), resource));
    create(&cluster, "a", json!({"size": 1})).await;
    cluster.wait(&path(&cluster, "a"), handled).await;
    operator.stop().await;
}

// Q-10, *Improve on*: neither a wait for the next attempt, nor one for the API server, nor rest takes a place.
#[tokio::test(start_paused = true)]
async fn only_work_takes_a_place() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let notes = Notes::default();
    let made = {
        let notes = notes.clone();
        move |Change { name, retry, .. }: Change<Widget>| {
            notes.add(format!("{name} {retry}"));
            async move {
                if name == "waits" {
                    return Err(Temporary::after(hours(1), "not yet").into());
                }
                HandlerResult::Ok(())
            }
        }
    };
    server(&cluster).faults().plan(
        kopf_testserver::Traffic::any()
            .verb("patch")
            .resource("widgets")
            .name("refused"),
        usize::MAX,
        kopf_testserver::Failure::status(500),
    );
    let operator = cluster.start(limited(
        Some(1),
        Resource::of::<Widget>().on_create("made", made, |o| o),
    ));
    for name in ["waits", "refused", "idle", "last"] {
        create(&cluster, name, json!({"size": 1})).await;
        tokio::time::sleep(secs(1)).await;
    }
    cluster.wait(&path(&cluster, "last"), handled).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["waits 0", "refused 0", "idle 0", "last 0"]);
}

// Q-7, W-9, W-11, B-023: the object is deleted while the creation waits for its next attempt.
#[tokio::test(start_paused = true)]
async fn a_newer_event_cuts_a_wait_short() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let begin = Instant::now();
    let notes = Notes::default();
    let noting = |name: &'static str| {
        let notes = notes.clone();
        move |_: Change<Widget>| {
            notes.add(format!("{name} {}", begin.elapsed().as_secs()));
            async move {
                match name {
                    "made" => Err(Temporary::after(hours(1), "not yet").into()),
                    _ => HandlerResult::Ok(()),
                }
            }
        }
    };
    let operator = cluster.start(
        Operator::new("suite").resource(
            Resource::of::<Widget>()
                .on_create("made", noting("made"), |o| o)
                .on_delete("gone", noting("gone"), |o| o),
        ),
    );
    create(&cluster, "a", json!({"size": 1})).await;
    notes.wait_for(1).await;
    tokio::time::sleep(secs(5)).await;
    let path = path(&cluster, "a");
    cluster.request("DELETE", &path, &Value::Null).await.unwrap();
    cluster.wait(&path, Value::is_null).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["made 0", "gone 5"]);
}

//
#[tokio::test(start_paused = true)]
async fn an_idle_object_costs_no_task() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let made = |_: Change<Widget>| async { HandlerResult::Ok(()) };
    let operator =
        cluster.start(Operator::new("suite").resource(Resource::of::<Widget>().on_create("made", made, |o| o)));
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    create(&cluster, "first", json!({"size": 1})).await;
    cluster.wait(&path(&cluster, "first"), handled).await;
    tokio::time::sleep(secs(10)).await;
    let before = tasks();
    for number in 0..100 {
        create(&cluster, &format!("w{number}"), json!({"size": 1})).await;
    }
    cluster.wait(&path(&cluster, "w99"), handled).await;
    tokio::time::sleep(secs(10)).await;
    assert_eq!(tasks(), before);
    operator.stop().await;
}

//
#[tokio::test(start_paused = true)]
async fn running_handlers_have_their_time_at_the_end() {
    for (exit_timeout, ends) in [(None, true), (Some(secs(2)), false), (Some(mins(1)), true)] {
        let cluster = Cluster::embedded().await;
        widgets::install(&cluster).await;
        let notes = Notes::default();
        let made = slow(&notes, 5);
        let operator = Operator::new("suite")
            .settings(|settings| {
                if let Some(timeout) = exit_timeout {
                    settings.queueing.exit_timeout = timeout;
                }
            })
            .resource(Resource::of::<Widget>().on_create("made", made, |o| o));
        let operator = cluster.start(operator);
        create(&cluster, "a", json!({"size": 1})).await;
        notes.wait_for(1).await;
        let begin = Instant::now();
        operator.stop().await;
        // A moment later everything is dropped that did not end.
        assert!(begin.elapsed() < secs(7), "{exit_timeout:?}: {:?}", begin.elapsed());
        tokio::time::sleep(secs(20)).await;
        assert_eq!(notes.all().len() == 2, ends, "{exit_timeout:?}");
        assert_eq!(
            handled(&cluster.get(&path(&cluster, "a")).await),
            ends,
            "{exit_timeout:?}"
        );
    }
}

// one watch for each namespace, which goes on whatever handlers do; bookmarks are nobody's events.
#[tokio::test(start_paused = true)]
async fn streams_only_route() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let other = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}});
    server(&cluster).apply(other).unwrap();
    let notes = Notes::default();
    let seen = {
        let notes = notes.clone();
        move |Event { name, .. }: Event<Widget>| {
            notes.add(name);
            async {
                std::future::pending::<()>().await;
                HandlerResult::Ok(())
            }
        }
    };
    server(&cluster).clear_audit();
    let options = RunOptions::new(cluster.client.clone())
        .namespaces([cluster.namespace.as_str(), "other"])
        .follow_tokio_time();
    let operator = Operator::new("suite")
        .settings(|settings| settings.queueing.exit_timeout = secs(1))
        .resource(Resource::of::<Widget>().on_event("seen", seen, |o| o))
        .start_with(options);
    operator.ready().await;
    let audit = || server(&cluster).audit().for_resource("widgets");
    for namespace in [cluster.namespace.as_str(), "other"] {
        let of = |verb: &str| {
            let requests = audit().with_verb(verb);
            requests.iter().filter(|request| request.namespace == namespace).count()
        };
        assert_eq!((of("list"), of("watch")), (1, 1), "{namespace}");
    }
    // Bookmarks come once a minute; and each object's own handler never ends.
    for name in ["a", "b", "c"] {
        create(&cluster, name, json!({"size": 1})).await;
        tokio::time::sleep(mins(3)).await;
    }
    assert_eq!(notes.all(), ["a", "b", "c"]);
    operator.stop().await;
}
