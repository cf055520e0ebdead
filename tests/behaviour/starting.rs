//! What an operator is put together from, before it makes any request.

use kopf_runtime::{
    Backoff, Change, Configured, ErrorsMode, Event, HandlerResult, Operator, Resource, RunError, RunOptions, Timer,
    env, env_or, mins, secs,
};
use kopf_tests::cluster::Cluster;
use kopf_tests::on_both_servers;
use kopf_tests::widgets::{self, Notes, Widget, create, path};
use kopf_testserver::Server;
use serde_json::{Value, json};

async fn nothing(_: Change<Widget>) -> HandlerResult {
    Ok(())
}

async fn tick(_: Timer<Widget>) -> HandlerResult {
    Ok(())
}

/// What keeps this operator from starting, and that it makes no request before it says so.
async fn refused(operator: Operator) -> String {
    let server = Server::new();
    let client = kopf_runtime::kube::Client::new(server.service(), "default");
    match operator.run(RunOptions::new(client)).await {
        Err(RunError::Malformed(message)) => {
            assert_eq!(server.audit().counts().len(), 0, "no request is made");
            message
        }
        other => panic!("the operator started: {other:?}"),
    }
}

// Item 2 of the contract of options: values read at start.
#[tokio::test(start_paused = true)]
async fn options_that_cannot_be_read_keep_the_operator_from_starting() {
    let resource = Resource::of::<Widget>()
        .on_create("fill", nothing, |o| {
            o.retries(env("SUITE_NEVER_SET"))
                .timeout(env("SUITE_NEVER_SET"))
                .backoff(env("SUITE_NEVER_SET"))
                .errors(env::<ErrorsMode>("SUITE_NEVER_SET"))
                .interrupt(env("SUITE_NEVER_SET"))
        })
        .on_delete("drain", nothing, |o| {
            o.optional(env("SUITE_NEVER_SET")).field("spec.size")
        })
        .timer("tick", tick, |o| {
            o.interval(env("SUITE_NEVER_SET")).enabled(env("PATH"))
        });
    let message = refused(Operator::new("suite").resource(resource)).await;
    let faults: Vec<&str> = message.split("; Widget: ").collect();
    for (id, option, expected) in [
        ("fill", "retries", "a whole number that is not negative"),
        ("fill", "timeout", "a duration"),
        ("fill", "backoff", "a duration"),
        ("fill", "errors", "`temporary`, `permanent` or `ignored`"),
        ("fill", "interrupt", "`true` or `false`"),
        ("drain/spec.size", "optional", "`true` or `false`"),
    ] {
        let beginning = format!(
            "the handler `{id}`: `{option}` comes from the environment variable SUITE_NEVER_SET, \
             which is not set; expected {expected}"
        );
        assert!(
            faults.iter().any(|fault| fault.contains(&beginning)),
            "{beginning}\n{faults:#?}"
        );
    }
    let path = std::env::var("PATH").expect("every process has a PATH");
    let malformed =
        format!("the handler `tick`: `enabled` comes from the environment variable PATH, which is `{path}`; expected");
    assert!(faults.iter().any(|fault| fault.contains(&malformed)), "{faults:#?}");
}

// E, *Improve on*
#[tokio::test(start_paused = true)]
async fn a_growing_backoff_must_make_sense() {
    let operator = |backoff: Backoff| {
        Operator::new("suite").resource(Resource::of::<Widget>().on_create("fill", nothing, |o| o.backoff(backoff)))
    };
    for (backoff, fault) in [
        (
            Backoff::exponential(mins(2), secs(1)),
            "`backoff` begins with 120s, beyond its maximum 1s",
        ),
        (
            Backoff::exponential(secs(1), mins(2)).jitter(1.5),
            "`backoff` has the jitter 1.5; expected a share from 0 to 1",
        ),
        (
            Backoff::from(secs(1)).jitter(0.5),
            "`backoff` is fixed, so it has no jitter; use `Backoff::exponential`",
        ),
    ] {
        let message = refused(operator(backoff)).await;
        assert_eq!(message, format!("Widget: the handler `fill`: {fault}"));
    }
}

on_both_servers! {
    what_is_disabled_leaves_no_trace;
}

// A disabled handler is as one that is not written: no finalizer, no extra field in the essence, no record.
async fn what_is_disabled_leaves_no_trace(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let noting = |id: &'static str| {
        let notes = notes.clone();
        move |_: Change<Widget>| {
            notes.add(id);
            async { HandlerResult::Ok(()) }
        }
    };
    let seeing = |_: Event<Widget>| async { HandlerResult::Ok("seen") };
    let off = || env_or("SUITE_NEVER_SET", false);
    let operator = cluster.start(
        Operator::new("suite").resource(
            Resource::of::<Widget>()
                .on_event("see", seeing, |o| o.enabled(off()))
                .on_create("made", noting("made"), |o| o.enabled(Configured::from(true)))
                .on_create("off", noting("off"), |o| {
                    o.enabled(false).retries(env("SUITE_NEVER_SET"))
                })
                .on_field("label", "metadata.ownerReferences", noting("field"), |o| {
                    o.enabled(off())
                })
                .on_delete("gone", noting("gone"), |o| o.enabled(off()))
                .timer("tick", tick, |o| o.enabled(off()).interval(secs(1))),
        ),
    );
    create(cluster, "a", json!({"size": 1})).await;
    let path = path(cluster, "a");
    let handled = "kopf.zalando.org/last-handled-configuration";
    let object = cluster
        .wait(&path, |object| object["metadata"]["annotations"][handled].is_string())
        .await;
    operator.stop().await;
    assert_eq!(notes.all(), ["made"]);
    assert_eq!(object["metadata"]["finalizers"], Value::Null);
    assert_eq!(object["status"], Value::Null);
    let annotations = object["metadata"]["annotations"].as_object().unwrap();
    assert!(
        annotations
            .values()
            .all(|text| !text.as_str().unwrap().contains("ownerReferences")),
        "no extra field: {annotations:?}"
    );
    assert!(annotations.keys().all(|key| !key.ends_with("/off")), "{annotations:?}");
}
