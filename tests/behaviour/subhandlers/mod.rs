//! Sub-handlers: planned by a handler, or declared for what an object holds.

mod failing;
mod meanwhile;

use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kopf_runtime::logging::{Verbosity, capture};
use kopf_runtime::{
    Change, EachKey, Filter, HandlerResult, Item, Lifecycle, Operator, Permanent, Plan, Resource, Temporary, blocking,
    hours, millis, secs,
};
use kopf_tests::cluster::Cluster;
use kopf_tests::on_both_servers;
use kopf_tests::widgets::{self, Notes, Widget, create, create_with, path};
use serde_json::{Value, json};
use tokio::time::Instant;

const PREFIX: &str = "kopf.zalando.org";

fn record(object: &Value, name: &str) -> Value {
    let text = object["metadata"]["annotations"][format!("{PREFIX}/{name}")].as_str();
    serde_json::from_str(text.unwrap_or("null")).unwrap()
}

fn handled(object: &Value) -> bool {
    object["metadata"]["annotations"][format!("{PREFIX}/last-handled-configuration")].is_string()
}

/// The names of the records on an object.
fn records(object: &Value) -> Vec<String> {
    let annotations = object["metadata"]["annotations"].as_object();
    let names = annotations
        .into_iter()
        .flatten()
        .filter_map(|(key, _)| key.strip_prefix("kopf.zalando.org/"));
    let notes = ["last-handled-configuration", "kopf-gen"];
    names.filter(|name| !notes.contains(name)).map(str::to_owned).collect()
}

fn operator(lifecycle: Lifecycle, resource: Resource<Widget>) -> Operator {
    Operator::new("suite")
        .settings(|settings| settings.execution.lifecycle = lifecycle)
        .resource(resource)
}

/// A handler that notes its calls, fails as often as it is told to, and returns its name.
fn member(
    notes: &Notes,
    name: impl Into<String>,
    failures: u32,
    wait: Duration,
) -> impl Fn(Change<Widget>) -> BoxFuture<'static, HandlerResult<String>> + Send + Sync + 'static {
    let (notes, name) = (notes.clone(), name.into());
    move |Change { retry, .. }| {
        notes.add(format!("{name} {retry}"));
        let name = name.clone();
        async move {
            if retry < failures {
                return Err(Temporary::after(wait, "not yet").into());
            }
            Ok(name)
        }
        .boxed()
    }
}

/// A handler that plans, notes its calls, and returns its name.
fn planner(
    notes: &Notes,
    name: &'static str,
    plans: impl Fn(&Plan<Widget>, &Change<Widget>) + Send + Sync + 'static,
) -> impl Fn(Change<Widget>) -> BoxFuture<'static, HandlerResult<&'static str>> + Send + Sync + 'static {
    let notes = notes.clone();
    move |change| {
        notes.add(format!("{name} {}", change.retry));
        plans(&change.plan, &change);
        async move { Ok(name) }.boxed()
    }
}

on_both_servers! {
    all_at_once_a_family_takes_one_cycle;
    by_default_a_family_takes_a_cycle_for_each_of_its_members;
    a_parent_waits_for_a_delayed_sub_handler;
    a_dropped_sub_handler_leaves_nothing_behind;
    waiting_uses_up_no_attempts_of_the_parent;
    families_are_nested;
    items_have_sub_handlers_of_their_own;
    sub_handlers_are_told_a_part_of_what_the_parent_is_told;
    old_and_new_are_for_parents_that_see_both;
    names_from_users_are_no_problem_and_equal_ones_fail;
    a_blocking_function_may_be_a_sub_handler;
}

// U-1, U-3, U-5, U-14, P-10: the edge case of all at once
async fn all_at_once_a_family_takes_one_cycle(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let parent = {
        let inner = notes.clone();
        planner(&notes, "p", move |plan, _| {
            plan.sub("a", member(&inner, "a", 0, secs(1)), |o| o);
            plan.sub("b", member(&inner, "b", 0, secs(1)), |o| o);
        })
    };
    let operator = cluster.start(operator(
        Lifecycle::AllAtOnce,
        Resource::of::<Widget>().on_create("p", parent, |o| o),
    ));
    create(cluster, "a", json!({"size": 1})).await;
    let done = cluster.wait(&path(cluster, "a"), handled).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["p 0", "a 0", "b 0"]);
    let done = if done["status"].is_null() {
        cluster.get(&path(cluster, "a")).await
    } else {
        done
    };
    assert_eq!(done["status"], json!({"p": "p", "p/a": "a", "p/b": "b"}));
    assert_eq!(records(&done), Vec::<String>::new());
    if let Some(server) = &cluster.embedded {
        let patches = server.audit().with_verb("patch");
        let parts: Vec<&str> = patches.iter().map(|patch| patch.resource.as_str()).collect();
        assert_eq!(
            parts,
            ["widgets", "widgets/status"],
            "one patch, of the object and of its status"
        );
    }
}

// U-2, U-5, U-6, U-9, R-5: the edge case of one by one
async fn by_default_a_family_takes_a_cycle_for_each_of_its_members(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let parent = {
        let (inner, seen) = (notes.clone(), notes.clone());
        planner(&notes, "p", move |plan, Change { body, .. }| {
            let record = record(body.value(), "p");
            seen.add(format!(
                "subrefs {}, status {}",
                record["subrefs"],
                body.value()["status"]
            ));
            plan.sub("a", member(&inner, "a", 0, secs(1)), |o| o);
            plan.sub("b", member(&inner, "b", 0, secs(1)), |o| o);
        })
    };
    let operator = cluster.start(operator(
        Lifecycle::default(),
        Resource::of::<Widget>().on_create("p", parent, |o| o),
    ));
    create(cluster, "a", json!({"size": 1})).await;
    let all = json!({"p": "p", "p/a": "a", "p/b": "b"});
    let done = cluster
        .wait(&path(cluster, "a"), |object| handled(object) && object["status"] == all)
        .await;
    operator.stop().await;
    assert_eq!(
        notes.all(),
        [
            "p 0",
            "subrefs null, status null",
            "a 0",
            "p 0",
            r#"subrefs ["p/a","p/b"], status {"p/a":"a"}"#,
            "b 0",
        ]
    );
    assert_eq!(records(&done), Vec::<String>::new());
}

// U-6, E-4: the edge case of one that is delayed
async fn a_parent_waits_for_a_delayed_sub_handler(cluster: &Cluster) {
    widgets::install(cluster).await;
    let log = capture(Verbosity::Normal);
    let (notes, begin) = (Notes::default(), Instant::now());
    let parent = {
        let inner = notes.clone();
        planner(&notes, "p", move |plan, _| {
            plan.sub("a", member(&inner, "a", 0, secs(2)), |o| o);
            plan.sub("b", member(&inner, "b", 1, secs(2)), |o| o);
        })
    };
    let operator = cluster.start(operator(
        Lifecycle::AllAtOnce,
        Resource::of::<Widget>().on_create("p", parent, |o| o),
    ));
    create(cluster, "a", json!({"size": 1})).await;
    let path = path(cluster, "a");
    let waiting = cluster
        .wait(&path, |object| record(object, "p")["delayed"].is_string())
        .await;
    assert_eq!(record(&waiting, "p")["delayed"], record(&waiting, "p.b")["delayed"]);
    assert_eq!(record(&waiting, "p")["retries"], 0);
    cluster.wait(&path, handled).await;
    operator.stop().await;
    assert!(begin.elapsed() >= secs(2));
    assert_eq!(
        notes.all(),
        ["p 0", "a 0", "b 0", "p 0", "b 1"],
        "what has finished is not repeated"
    );
    let text = log.text();
    assert!(!text.contains("Handler p failed"), "{text}");
}

// U-6, U-9: the edge case of a set that shrinks
async fn a_dropped_sub_handler_leaves_nothing_behind(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let parent = {
        let inner = notes.clone();
        planner(&notes, "p", move |plan, Change { body, .. }| {
            if record(body.value(), "p").is_null() {
                plan.sub("dropped", member(&inner, "dropped", 9, hours(1)), |o| o);
            }
            plan.sub("a", member(&inner, "a", 1, secs(1)), |o| o);
        })
    };
    let operator = cluster.start(operator(
        Lifecycle::AllAtOnce,
        Resource::of::<Widget>().on_create("p", parent, |o| o),
    ));
    create(cluster, "a", json!({"size": 1})).await;
    let path = path(cluster, "a");
    let between = cluster.wait(&path, |object| !records(object).is_empty()).await;
    assert_eq!(records(&between), ["p", "p.a", "p.dropped"]);
    let done = cluster.wait(&path, handled).await;
    operator.stop().await;
    assert_eq!(records(&done), Vec::<String>::new());
    assert_eq!(notes.all(), ["p 0", "dropped 0", "a 0", "p 0", "a 1"]);
}

// U-8
async fn waiting_uses_up_no_attempts_of_the_parent(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let parent = {
        let inner = notes.clone();
        planner(&notes, "p", move |plan, _| {
            for id in ["a", "b", "c", "d", "e"] {
                plan.sub(id, member(&inner, id, 0, secs(1)), |o| o);
            }
        })
    };
    let operator = cluster.start(operator(
        Lifecycle::default(),
        Resource::of::<Widget>().on_create("p", parent, |o| o.retries(3)),
    ));
    create(cluster, "a", json!({"size": 1})).await;
    cluster.wait(&path(cluster, "a"), handled).await;
    operator.stop().await;
    let all = notes.all();
    assert_eq!(all.len(), 10, "{all:?}");
    assert!(
        all.iter().all(|note| note.ends_with(" 0")) && all.contains(&"e 0".to_owned()),
        "{all:?}"
    );
}

// U-2, U-9
async fn families_are_nested(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let parent = {
        let outer = notes.clone();
        planner(&notes, "p", move |plan, _| {
            let inner = outer.clone();
            let middle = planner(&outer, "m", move |plan, _| {
                plan.sub("x", member(&inner, "x", 1, secs(1)), |o| o);
                plan.sub("y", member(&inner, "y", 0, secs(1)), |o| o);
            });
            plan.sub("m", middle, |o| o);
        })
    };
    let operator = cluster.start(operator(
        Lifecycle::AllAtOnce,
        Resource::of::<Widget>().on_create("p", parent, |o| o),
    ));
    create(cluster, "a", json!({"size": 1})).await;
    let path = path(cluster, "a");
    let between = cluster.wait(&path, |object| !records(object).is_empty()).await;
    assert_eq!(records(&between), ["p", "p.m", "p.m.x", "p.m.y"]);
    assert_eq!(record(&between, "p")["subrefs"], json!(["p/m", "p/m/x", "p/m/y"]));
    assert_eq!(record(&between, "p.m")["subrefs"], json!(["p/m/x", "p/m/y"]));
    let all = json!({"p": "p", "p/m": "m", "p/m/x": "x", "p/m/y": "y"});
    let done = cluster
        .wait(&path, |object| handled(object) && object["status"] == all)
        .await;
    operator.stop().await;
    assert_eq!(records(&done), Vec::<String>::new());
    assert_eq!(notes.all(), ["p 0", "m 0", "x 0", "y 0", "p 0", "m 0", "x 1"]);
}

// U-1, U-6: declared sub-handlers
async fn items_have_sub_handlers_of_their_own(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let for_item = |name: &'static str| {
        let notes = notes.clone();
        move |Change { item, reason, .. }: Change<Widget>| {
            let Item { key, value, .. } = item.expect("it is for an item");
            notes.add(format!("{name} {reason} {key} {value}"));
            async { HandlerResult::Ok(()) }
        }
    };
    let parent = |_: Change<Widget>| async { HandlerResult::Ok(()) };
    let (volume, port, zone) = (for_item("volume"), for_item("port"), for_item("zone"));
    let operator = cluster.start(operator(
        Lifecycle::AllAtOnce,
        Resource::of::<Widget>()
            .on_create("p", parent, |o| {
                o.for_each("spec.volumes", "name", volume.clone(), |o| {
                    o.for_each("ports", EachKey::Natural, port, |o| o)
                })
                .for_each("spec.zones", EachKey::Natural, zone, |o| o)
            })
            .on_update("u", parent, |o| o.for_each("spec.volumes", "name", volume, |o| o)),
    ));
    let spec = json!({"size": 1, "volumes": [{"name": "v", "ports": [80]}, {"name": "w"}], "zones": ["north"]});
    create(cluster, "a", spec).await;
    let path = path(cluster, "a");
    cluster.wait(&path, handled).await;
    assert_eq!(
        notes.all(),
        [
            r#"volume create v {"name":"v","ports":[80]}"#,
            "port create 80 80",
            r#"volume create w {"name":"w"}"#,
            r#"zone create north "north""#,
        ]
    );
    cluster
        .patch(&path, &json!({"spec": {"volumes": [{"name": "w"}]}}))
        .await;
    let all = notes.wait_for(5).await;
    operator.stop().await;
    assert_eq!(all[4..], [r#"volume update w {"name":"w"}"#]);
}

// U-10
async fn sub_handlers_are_told_a_part_of_what_the_parent_is_told(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let parent = {
        let inner = notes.clone();
        move |Change { plan, .. }: Change<Widget>| {
            for id in ["whole", "limit", "other"] {
                let inner = inner.clone();
                let told = move |Change { old, new, .. }: Change<Widget>| {
                    inner.add(format!("{id} {old:?} {new:?}"));
                    async { HandlerResult::Ok(()) }
                };
                plan.sub(id, told, |o| if id == "whole" { o } else { o.field(id) });
            }
            async { HandlerResult::Ok(()) }
        }
    };
    let operator = cluster.start(operator(
        Lifecycle::AllAtOnce,
        Resource::of::<Widget>().on_update("p", parent, |o| o.field("spec.quota")),
    ));
    let path = path(cluster, "a");
    create(cluster, "a", json!({"size": 1, "quota": {"limit": 1, "other": 1}})).await;
    cluster.wait(&path, handled).await;
    cluster.patch(&path, &json!({"spec": {"quota": {"limit": 2}}})).await;
    notes.wait_for(2).await;
    tokio::time::sleep(millis(500)).await;
    operator.stop().await;
    assert_eq!(
        notes.all(),
        [
            r#"whole Some({"limit":1,"other":1}) Some({"limit":2,"other":1})"#,
            "limit Some(1) Some(2)",
        ]
    );
}

// U-11
async fn old_and_new_are_for_parents_that_see_both(cluster: &Cluster) {
    widgets::install(cluster).await;
    let log = capture(Verbosity::Normal);
    let notes = Notes::default();
    let parent = {
        let inner = notes.clone();
        move |Change { plan, reason, .. }: Change<Widget>| {
            for size in [2, 3] {
                let name = format!("{reason} {size}");
                plan.sub(size.to_string(), member(&inner, name, 0, secs(1)), |o| {
                    o.field("spec.size").new(size)
                });
            }
            async { HandlerResult::Ok("done") }
        }
    };
    let operator = cluster.start(operator(
        Lifecycle::AllAtOnce,
        Resource::of::<Widget>()
            .on_create("c", parent.clone(), |o| o)
            .on_update("u", parent, |o| o),
    ));
    let path = path(cluster, "a");
    create(cluster, "a", json!({"size": 2})).await;
    cluster.wait(&path, handled).await;
    cluster.patch(&path, &json!({"spec": {"size": 3}})).await;
    cluster.wait(&path, |object| object["status"]["u"] == "done").await;
    operator.stop().await;
    assert_eq!(notes.all(), ["update 3 0"]);
    if cluster.embedded.is_none() {
        return; // other threads write to other logs
    }
    let text = log.text();
    let refused = "Handler c failed for good: the handler `c/2`: `new` is for update and field handlers only";
    assert!(text.contains(refused), "{text}");
}

// B-057, N-1, U-2
async fn names_from_users_are_no_problem_and_equal_ones_fail(cluster: &Cluster) {
    widgets::install(cluster).await;
    let log = capture(Verbosity::Normal);
    let notes = Notes::default();
    let parent = |_: Change<Widget>| async { HandlerResult::Ok("done") };
    let host = {
        let notes = notes.clone();
        move |Change { item, retry, .. }: Change<Widget>| {
            notes.add(format!("{} {retry}", item.unwrap().key));
            async move {
                if retry == 0 {
                    return Err(Temporary::after(millis(500), "not yet").into());
                }
                HandlerResult::Ok(())
            }
        }
    };
    let operator = cluster.start(operator(
        Lifecycle::AllAtOnce,
        Resource::of::<Widget>().on_create("p", parent, |o| o.for_each("spec.hosts", EachKey::Natural, host, |o| o)),
    ));
    let long = "x".repeat(200);
    let hosts = ["192.168.0.1:80", "größe ändern", "10.0.0.0/8", &long];
    create(cluster, "a", json!({"size": 1, "hosts": hosts})).await;
    let done = cluster.wait(&path(cluster, "a"), handled).await;
    assert_eq!(records(&done), Vec::<String>::new());
    for host in hosts {
        let own = notes.all().iter().filter(|note| note.starts_with(host)).count();
        assert_eq!(own, 2, "{host}");
    }
    create(cluster, "b", json!({"size": 1, "hosts": ["a/b", "a.b"]})).await;
    let failed = cluster.wait(&path(cluster, "b"), handled).await;
    operator.stop().await;
    assert_eq!(failed["status"], Value::Null);
    assert_eq!(notes.all().len(), 8);
    if cluster.embedded.is_none() {
        return; // other threads write to other logs
    }
    let text = log.text();
    let message = "the ids `p/a/b` and `p/a.b` of sub-handlers share the annotation name `p.a.b`";
    assert!(
        text.contains(&format!("Handler p failed for good: {message}")),
        "{text}"
    );
}

// K-12, U-1
async fn a_blocking_function_may_be_a_sub_handler(cluster: &Cluster) {
    widgets::install(cluster).await;
    let parent = |Change { plan, .. }: Change<Widget>| async move {
        plan.sub("work", blocking(|Change { name, .. }: Change<Widget>| Ok(name)), |o| o);
        HandlerResult::Ok(())
    };
    let operator = cluster.start(operator(
        Lifecycle::default(),
        Resource::of::<Widget>().on_create("p", parent, |o| o),
    ));
    create(cluster, "a", json!({"size": 1})).await;
    cluster
        .wait(&path(cluster, "a"), |object| object["status"]["p/work"] == "a")
        .await;
    operator.stop().await;
}

// U-5
#[tokio::test(start_paused = true)]
async fn a_condition_of_a_sub_handler_may_look_at_the_plan() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let notes = Notes::default();
    let parent = {
        let notes = notes.clone();
        move |Change { plan, .. }: Change<Widget>| {
            for id in ["a", "b"] {
                let (notes, wanted) = (notes.clone(), plan.clone());
                let child = move |_: Change<Widget>| {
                    notes.add(id);
                    async { HandlerResult::Ok(()) }
                };
                let first = move |_: Filter<'_, Widget>| wanted.ids().first().is_some_and(|first| first == id);
                plan.sub(id, child, |o| o.when(first));
            }
            async { HandlerResult::Ok(()) }
        }
    };
    let resource = Resource::of::<Widget>().on_create("p", parent, |o| o);
    let operator = cluster.start(Operator::new("suite").resource(resource));
    create(&cluster, "a", json!({"size": 1})).await;
    notes.wait_for(1).await;
    tokio::time::sleep(secs(60)).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["a"]);
}

// U-1: outside of an operator
#[tokio::test]
async fn a_plan_can_be_read_in_a_unit_test() {
    async fn parent(Change { plan, retry, .. }: Change<Widget>) -> HandlerResult {
        tokio::task::yield_now().await;
        if !plan.failures().is_empty() {
            plan.all_must_succeed();
        }
        for number in 0..2 + retry {
            plan.sub(
                number.to_string(),
                |_: Change<Widget>| async { HandlerResult::Ok(()) },
                |o| o,
            );
        }
        Ok(())
    }
    let mut change = Change::<Widget>::for_test(json!({"spec": {"size": 1}}));
    change.plan = Plan::for_test().failed("0", "no room");
    assert_eq!(change.plan.failures(), [("0".to_owned(), "no room".to_owned())]);
    let plan = change.plan.clone();
    parent(change).await.unwrap();
    assert_eq!(plan.ids(), ["0", "1"]);
    let item = Item::for_test("80", 80);
    assert_eq!((item.key.as_str(), item.typed::<u16>().unwrap()), ("80", 80));
}
