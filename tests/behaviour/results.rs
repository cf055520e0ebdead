//! What handlers return, and where it goes.

use kopf_runtime::{Change, Event, EventType, HandlerResult, Operator, Reason, Resource, Timer, millis};
use kopf_tests::cluster::Cluster;
use kopf_tests::on_both_servers;
use kopf_tests::widgets::{self, Widget, create, path};
use serde_json::{Value, json};

fn essence(object: &Value) -> Value {
    let text = object["metadata"]["annotations"]["kopf.zalando.org/last-handled-configuration"].as_str();
    serde_json::from_str(text.unwrap_or("null")).unwrap()
}

on_both_servers! {
    results_stay_beside_what_was_there;
    all_families_deliver_results;
}

//
async fn results_stay_beside_what_was_there(cluster: &Cluster) {
    widgets::install(cluster).await;
    let parts = |Change { reason, .. }: Change<Widget>| async move {
        HandlerResult::Ok(match reason {
            Reason::Create => json!({"a": 1}),
            _ => json!({"b": 2}),
        })
    };
    let count = |_: Change<Widget>| async { HandlerResult::Ok(100) };
    let nothing = |_: Change<Widget>| async { HandlerResult::Ok(None::<u32>) };
    let field = |_: Change<Widget>| async { HandlerResult::Ok("x") };
    let operator = cluster.start(
        Operator::new("suite").resource(
            Resource::of::<Widget>()
                .on_create("h", parts, |o| o)
                .on_update("h", parts, |o| o)
                .on_create("count", count, |o| o)
                .on_create("nothing", nothing, |o| o)
                .on_create("field", field, |o| o.field("spec.size")),
        ),
    );
    let path = path(cluster, "a");
    create(cluster, "a", json!({"size": 1})).await;
    let first = json!({"h": {"a": 1}, "count": 100, "field/spec.size": "x"});
    cluster
        .wait(&path, |object| !essence(object).is_null() && object["status"] == first)
        .await;
    cluster.patch(&path, &json!({"spec": {"size": 2}})).await;
    let second = json!({"h": {"a": 1, "b": 2}, "count": 100, "field/spec.size": "x"});
    cluster.wait(&path, |object| object["status"] == second).await;
    operator.stop().await;
}

//
async fn all_families_deliver_results(cluster: &Cluster) {
    widgets::install(cluster).await;
    let seen = |Event { event_type, .. }: Event<Widget>| async move {
        let first = matches!(event_type, EventType::Listed | EventType::Added);
        HandlerResult::Ok(first.then_some("first"))
    };
    let tick = |_: Timer<Widget>| async { HandlerResult::Ok(json!({})) };
    let operator = cluster.start(
        Operator::new("suite").resource(Resource::of::<Widget>().on_event("seen", seen, |o| o).timer(
            "tick",
            tick,
            |o| o.interval(millis(500)).optional(true),
        )),
    );
    create(cluster, "a", json!({"size": 1})).await;
    let both = json!({"seen": "first", "tick": {}});
    cluster
        .wait(&path(cluster, "a"), |object| object["status"] == both)
        .await;
    operator.stop().await;
}
