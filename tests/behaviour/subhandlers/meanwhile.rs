//! What happens to a handler and its sub-handlers meanwhile: edits, filters, restarts, deletions.

use super::*;

on_both_servers! {
    an_edit_meanwhile_reaches_those_that_have_finished;
    no_record_stays_when_the_parent_is_filtered_out_meanwhile;
    a_restart_repeats_nothing;
    a_deletion_has_a_family_and_supersedes_others;
}

// C-15, U-6: an edit that comes meanwhile is told to each of a family, once
async fn an_edit_meanwhile_reaches_those_that_have_finished(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let parent = {
        let inner = notes.clone();
        move |Change { plan, .. }: Change<Widget>| {
            for (id, failures) in [("a", 0), ("b", 1)] {
                let inner = inner.clone();
                let told = move |Change { old, new, retry, .. }: Change<Widget>| {
                    let size =
                        |side: Option<kopf_runtime::Raw>| side.map_or(0, |side| side["spec"]["size"].as_i64().unwrap());
                    inner.add(format!("{id} {}->{}", size(old), size(new)));
                    async move {
                        if retry < failures {
                            return Err(Temporary::after(secs(2), "not yet").into());
                        }
                        HandlerResult::Ok(())
                    }
                };
                plan.sub(id, told, |o| o);
            }
            async { HandlerResult::Ok(()) }
        }
    };
    let operator = cluster.start(operator(
        Lifecycle::AllAtOnce,
        Resource::of::<Widget>().on_update("p", parent, |o| o),
    ));
    let path = path(cluster, "a");
    create(cluster, "a", json!({"size": 1})).await;
    cluster.wait(&path, handled).await;
    cluster.patch(&path, &json!({"spec": {"size": 2}})).await;
    cluster.wait(&path, |object| !record(object, "p.b").is_null()).await;
    cluster.patch(&path, &json!({"spec": {"size": 3}})).await;
    let settled = |object: &Value| {
        let base = object["metadata"]["annotations"][format!("{PREFIX}/last-handled-configuration")].as_str();
        base.is_some_and(|base| base.contains("\"size\":3"))
    };
    let done = cluster.wait(&path, settled).await;
    operator.stop().await;
    let mut told = notes.all();
    told.sort();
    assert_eq!(told, ["a 1->2", "a 2->3", "b 1->2", "b 1->3"]);
    assert_eq!(records(&done), Vec::<String>::new());
}

// B-022
async fn no_record_stays_when_the_parent_is_filtered_out_meanwhile(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let parent = {
        let inner = notes.clone();
        planner(&notes, "p", move |plan, _| {
            plan.sub("a", member(&inner, "a", 0, secs(1)), |o| o);
            plan.sub("b", member(&inner, "b", 9, hours(1)), |o| o);
        })
    };
    let operator = cluster.start(operator(
        Lifecycle::AllAtOnce,
        Resource::of::<Widget>().on_create("p", parent, |o| o.label("tier", "gold")),
    ));
    let path = path(cluster, "a");
    create_with(cluster, "a", json!({"labels": {"tier": "gold"}}), json!({"size": 1})).await;
    cluster.wait(&path, |object| !record(object, "p.b").is_null()).await;
    cluster
        .patch(&path, &json!({"metadata": {"labels": {"tier": "tin"}}}))
        .await;
    cluster.wait(&path, |object| records(object).is_empty()).await;
    // A later cycle starts clean.
    cluster
        .patch(&path, &json!({"metadata": {"labels": {"tier": "gold"}}}))
        .await;
    notes.wait_for(6).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["p 0", "a 0", "b 0", "p 0", "a 0", "b 0"]);
}

// P-12, U-9
async fn a_restart_repeats_nothing(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let start = || {
        let inner = notes.clone();
        let parent = planner(&notes, "p", move |plan, _| {
            plan.sub("a", member(&inner, "a", 0, secs(1)), |o| o);
            plan.sub("b", member(&inner, "b", 1, secs(2)), |o| o);
        });
        cluster.start(operator(
            Lifecycle::AllAtOnce,
            Resource::of::<Widget>().on_create("p", parent, |o| o),
        ))
    };
    let operator = start();
    create(cluster, "a", json!({"size": 1})).await;
    let path = path(cluster, "a");
    cluster.wait(&path, |object| !record(object, "p.b").is_null()).await;
    operator.stop().await;
    let operator = start();
    let done = cluster.wait(&path, handled).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["p 0", "a 0", "b 0", "p 0", "b 1"]);
    assert_eq!(records(&done), Vec::<String>::new());
}

// C-16, U-10: a deletion is handled by a family, which drops what another one has not finished
async fn a_deletion_has_a_family_and_supersedes_others(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let making = {
        let inner = notes.clone();
        planner(&notes, "p", move |plan, _| {
            plan.sub("a", member(&inner, "a", 9, hours(1)), |o| o);
        })
    };
    let deleting = {
        let inner = notes.clone();
        planner(&notes, "d", move |plan, _| {
            plan.sub("x", member(&inner, "x", 0, secs(1)), |o| o);
            plan.sub("y", member(&inner, "y", 1, secs(1)), |o| o);
        })
    };
    let operator = cluster.start(operator(
        Lifecycle::AllAtOnce,
        Resource::of::<Widget>()
            .on_create("p", making, |o| o)
            .on_delete("d", deleting, |o| o),
    ));
    create(cluster, "a", json!({"size": 1})).await;
    let path = path(cluster, "a");
    cluster.wait(&path, |object| !record(object, "p.a").is_null()).await;
    cluster.request("DELETE", &path, &Value::Null).await.unwrap();
    let between = cluster.wait(&path, |object| !record(object, "d").is_null()).await;
    assert_eq!(records(&between), ["d", "d.x", "d.y"]);
    cluster.wait(&path, Value::is_null).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["p 0", "a 0", "d 0", "x 0", "y 0", "d 0", "y 1"]);
}
