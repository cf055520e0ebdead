//! What a handler and its sub-handlers come to when one of them fails (U-4, U-7, U-8, E-15).

use super::*;

on_both_servers! {
    nothing_is_called_for_a_parent_that_fails;
    a_parent_is_told_of_failures_and_may_fail_with_them;
}

// U-4
async fn nothing_is_called_for_a_parent_that_fails(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let parent = {
        let notes = notes.clone();
        move |Change { plan, retry, .. }: Change<Widget>| {
            notes.add(format!("p {retry}"));
            plan.sub("a", member(&notes, "a", 0, secs(1)), |o| o);
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
        Resource::of::<Widget>().on_create("p", parent, |o| o),
    ));
    create(cluster, "a", json!({"size": 1})).await;
    cluster.wait(&path(cluster, "a"), handled).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["p 0", "p 1", "a 0"]);
}

// U-7
async fn a_parent_is_told_of_failures_and_may_fail_with_them(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let parent = |strict: bool| {
        let notes = notes.clone();
        move |Change { plan, .. }: Change<Widget>| {
            notes.add(format!("{strict} {:?}", plan.failures()));
            let bad = |_: Change<Widget>| async { HandlerResult::<()>::Err(Permanent::new("no").into()) };
            plan.sub("bad", bad, |o| o);
            plan.sub("good", member(&notes, "good", 1, millis(500)), |o| o);
            if strict {
                plan.all_must_succeed();
            }
            async move { HandlerResult::Ok(strict) }
        }
    };
    let log = capture(Verbosity::Normal);
    let operator = cluster.start(operator(
        Lifecycle::AllAtOnce,
        Resource::of::<Widget>()
            .on_create("lenient", parent(false), |o| o)
            .on_create("strict", parent(true), |o| o),
    ));
    create(cluster, "a", json!({"size": 1})).await;
    let done = cluster
        .wait(&path(cluster, "a"), |object| {
            handled(object) && object["status"]["lenient"] == false
        })
        .await;
    operator.stop().await;
    assert_eq!(done["status"]["strict"], Value::Null);
    let all = notes.all();
    for seen in [
        "false []",
        "true []",
        r#"false [("bad", "no")]"#,
        r#"true [("bad", "no")]"#,
    ] {
        assert!(all.iter().any(|note| note == seen), "{seen}: {all:?}");
    }
    if cluster.embedded.is_none() {
        return; // other threads write to other logs
    }
    let text = log.text();
    let failed = "Handler strict failed for good: sub-handlers have failed: strict/bad: no";
    assert!(
        text.contains(failed) && text.contains("Handler lenient succeeded"),
        "{text}"
    );
}

// E-15, R-5: what one of a family wants and cannot have is its own failure
#[tokio::test(start_paused = true)]
async fn a_refused_patch_fails_none_but_its_sub_handler() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let notes = Notes::default();
    let parent = {
        let inner = notes.clone();
        move |Change { plan, patch, .. }: Change<Widget>| {
            inner.add("p");
            patch.meta().label("tier", "gold");
            let noting = inner.clone();
            let bad = move |Change { patch, retry, .. }: Change<Widget>| {
                noting.add(format!("bad {retry}"));
                if retry == 0 {
                    patch.merge(json!({"spec": "no mapping"}));
                }
                async { HandlerResult::Ok("bad") }
            };
            plan.sub("bad", bad, |o| o.backoff(secs(5)));
            plan.sub("good", member(&inner, "good", 0, secs(1)), |o| o);
            async { HandlerResult::Ok("p") }
        }
    };
    let operator = cluster.start(operator(
        Lifecycle::AllAtOnce,
        Resource::of::<Widget>().on_create("p", parent, |o| o),
    ));
    create(&cluster, "a", json!({"size": 1})).await;
    let path = path(&cluster, "a");
    let between = cluster.wait(&path, |object| !record(object, "p").is_null()).await;
    assert_eq!(between["metadata"]["labels"]["tier"], "gold");
    assert_eq!(record(&between, "p")["success"], false, "it waits");
    assert_eq!(
        (
            &record(&between, "p.bad")["success"],
            &record(&between, "p.good")["success"]
        ),
        (&json!(false), &json!(true))
    );
    assert_eq!(
        between["status"],
        json!({"p/good": "good"}),
        "no result of the parent yet"
    );
    let all = json!({"p": "p", "p/bad": "bad", "p/good": "good"});
    let done = cluster
        .wait(&path, |object| handled(object) && object["status"] == all)
        .await;
    operator.stop().await;
    assert_eq!(notes.all(), ["p", "bad 0", "good 0", "p", "bad 1"]);
    assert_eq!(records(&done), Vec::<String>::new());
}

// U-8, E-10: the parent's time bounds also calls that are running
#[tokio::test(start_paused = true)]
async fn the_timeout_of_a_parent_ends_its_sub_handlers() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let log = capture(Verbosity::Normal);
    let (notes, begin) = (Notes::default(), Instant::now());
    let parent = |others: [&'static str; 2]| {
        let inner = notes.clone();
        move |Change { plan, .. }: Change<Widget>| {
            let noting = inner.clone();
            let endless = move |_: Change<Widget>| {
                noting.add("endless");
                async {
                    tokio::time::sleep(hours(1)).await;
                    HandlerResult::Ok(())
                }
            };
            for id in others {
                if id == "endless" {
                    plan.sub(id, endless.clone(), |o| o);
                } else {
                    plan.sub(id, member(&inner, id, 0, secs(1)), |o| o);
                }
            }
            async { HandlerResult::Ok("p") }
        }
    };
    // Some are not called any more; or all were called, and one of them was not let finish.
    let operator = cluster.start(operator(
        Lifecycle::AllAtOnce,
        Resource::of::<Widget>()
            .on_create("p", parent(["endless", "late"]), |o| o.timeout(secs(10)))
            .on_create("q", parent(["early", "endless"]), |o| o.timeout(secs(30))),
    ));
    create(&cluster, "a", json!({"size": 1})).await;
    let done = cluster
        .wait(&path(&cluster, "a"), |object| {
            handled(object) && !object["status"].is_null()
        })
        .await;
    operator.stop().await;
    assert!(begin.elapsed() < secs(60), "{:?}", begin.elapsed());
    assert_eq!(notes.all(), ["endless", "early 0", "endless"]);
    assert_eq!(
        (&done["status"], records(&done)),
        (&json!({"q/early": "early"}), vec![])
    );
    let text = log.text();
    assert!(text.contains("Handler p failed for good: would time out"), "{text}");
    assert!(text.contains("Handler q failed for good: timed out"), "{text}");
}
