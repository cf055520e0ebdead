//! What is kept on the object between two cycles, and under which names.

use super::*;
use crate::configs::persistence::Former;

const FORMER: &str = "old.example.com/finalizer";

/// State was kept under another name before.
fn renamed(mut world: World) -> World {
    world.storages = Storages::new(&PersistenceSettings {
        formerly: vec![Former::new("old.example.com", FORMER)],
        ..PersistenceSettings::default()
    });
    world
}

/// The annotations with the former prefix.
fn former(world: &World) -> Vec<String> {
    let annotations = world.object["metadata"]["annotations"].as_object().cloned();
    let keys = annotations.unwrap_or_default().into_iter().map(|(key, _)| key);
    keys.filter(|key| key.starts_with("old.example.com/")).collect()
}

fn waiting(purpose: &str) -> Value {
    json!(format!(
        "{{\"started\":\"2031-02-03T04:05:00.000000+00:00\",\"delayed\":\"2031-02-03T05:00:00.000000+00:00\",\
         \"purpose\":\"{purpose}\",\"retries\":1,\"success\":false,\"failure\":false}}"
    ))
}

// P-8: the record of a handler that takes no part says nothing of the cycle, and goes with it.
#[test]
fn records_of_handlers_that_take_no_part_are_neither_waited_for_nor_left_behind() {
    let mut world = World::settled([update("u"), labelled(update("v"), "wanted", PRESENT)]);
    world.annotate("kopf.zalando.org/v", waiting("update"));
    let came = world.edit(x(2)).cycle();
    assert_eq!((came.done, came.delay), (true, None));
    assert_eq!((world.called(), world.traces()), (vec!["u update".to_owned()], vec![]));
}

// P-8, P-10: what a handler has done stays done while its filters do not hold for a while.
#[test]
fn a_filter_that_is_off_for_a_while_calls_nobody_twice() {
    let off = |world: &mut World, off: Value| {
        world.edit(json!({"metadata": {"labels": {"off": off}}})).settle();
    };
    for first in [update("u1"), field("u1", "spec.x"), resume("u1")] {
        let id = first.id.clone();
        let mut world = World::settled([labelled(first, "off", ABSENT), update("u2")]);
        world.answer("u2", [wait(60), wait(60)]);
        world.restart().edit(x(2)).settle();
        off(&mut world, json!(""));
        assert!(world.record(&id).is_some());
        off(&mut world, Value::Null);
        let calls = |world: &World| world.calls.iter().filter(|made| made.id == id).count();
        assert_eq!(calls(&world), 1, "{id}");
        // What has changed meanwhile is told.
        off(&mut world, json!(""));
        world.edit(x(3));
        off(&mut world, Value::Null);
        assert_eq!(
            calls(&world),
            if id == "u1" && world.handlers[0].kind == ChangeKind::Resume {
                1
            } else {
                2
            }
        );
        off(&mut world, json!(""));
        world.pass(60).settle();
        world.pass(60).settle();
        assert_eq!(
            world.traces(),
            Vec::<String>::new(),
            "the end of the cycle is the end of all records"
        );
    }
}

// P-8, P-12: a note that waits is brought up to date like all others, and moved like all others.
#[test]
fn own_writes_are_no_news_to_a_handler_whose_filter_is_off_for_a_while() {
    let mut world = World::settled([labelled(update("u1"), "off", ABSENT), update("u2"), update("u3")]);
    world.writes.insert("u2".into(), json!({"spec": {"filled": true}}));
    world.answer("u2", [wait(60)]).answer("u3", [wait(100)]);
    world.edit(x(2)).settle();
    world.edit(json!({"metadata": {"labels": {"off": ""}}})).settle();
    world.pass(60).settle();
    world.edit(json!({"metadata": {"labels": null}})).settle();
    assert_eq!(world.calls.iter().filter(|made| made.id == "u1").count(), 1);
}

// P-10, P-12: two handlers, one after the other; the second cycle is one patch.
#[test]
fn the_records_of_two_steps_come_and_go_together() {
    let mut world = World::new([create("h1"), create("h2")]);
    world.cycle();
    let record = |id: &str, world: &World| {
        let Record { success, retries, .. } = world.record(id).unwrap();
        (success, retries)
    };
    assert_eq!((record("h1", &world), record("h2", &world)), ((true, 1), (false, 0)));
    assert!(world.cycle().done);
    let annotations = &world.merge["metadata"]["annotations"];
    for id in ["h1", "h2"] {
        assert_eq!(annotations.get(format!("kopf.zalando.org/{id}")), Some(&Value::Null));
    }
    assert!(annotations[BASE].is_string());
    assert_eq!(world.traces(), Vec::<String>::new());
}

// P-10
#[test]
fn records_of_sub_handlers_are_purged_where_there_are_any() {
    let mut world = World::settled([update("u")]);
    world.annotate(
        "kopf.zalando.org/u",
        json!(
            "{\"purpose\":\"update\",\"retries\":1,\"success\":false,\"failure\":false,\"subrefs\":[\"u/a\",\"u/b\"]}"
        ),
    );
    // Not even a record by its look: it is known by its name alone.
    world.annotate("kopf.zalando.org/u.a", json!("{\"retries\":1}"));
    assert!(world.edit(x(2)).cycle().done);
    let annotations = world.merge["metadata"]["annotations"].as_object().unwrap();
    assert_eq!(annotations["kopf.zalando.org/u.a"], Value::Null);
    assert!(annotations.contains_key("kopf.zalando.org/u") && !annotations.contains_key("kopf.zalando.org/u.b"));
}

// P-12, B-11: former names
#[test]
fn what_waits_under_a_former_name_waits_on_under_the_new_one() {
    let mut world = renamed(World::new([update("u"), update("v")]));
    world.annotate(
        "old.example.com/last-handled-configuration",
        json!("{\"spec\":{\"x\":0}}\n"),
    );
    world.annotate("old.example.com/kopf-managed", json!("yes"));
    world.annotate(
        "old.example.com/u",
        json!("{\"purpose\":\"update\",\"retries\":1,\"success\":true,\"failure\":false,\"subrefs\":[\"u/a\"]}"),
    );
    world.annotate(
        "old.example.com/u.a",
        json!("{\"purpose\":\"update\",\"retries\":1,\"success\":true,\"failure\":false}"),
    );
    world.annotate("old.example.com/v", waiting("update"));
    world.annotate("old.example.com/gone-from-the-code", waiting("update"));
    let came = world.cycle();
    assert_eq!(
        (came.reason, came.done, world.called()),
        (Reason::Update, false, vec![])
    );
    assert_eq!(former(&world), Vec::<String>::new());
    assert_eq!(
        world.traces(),
        ["kopf.zalando.org/u", "kopf.zalando.org/u.a", "kopf.zalando.org/v"]
    );
    assert_eq!(world.base(), x(0), "what was handled is moved as it was");
    world.cycle();
    assert_eq!(world.merge, json!({}), "and then there is silence");
    assert!(world.pass(3600).cycle().done);
    assert_eq!(world.changes(), ["v 0->1"]);
}

// Z-1, B-028
#[test]
fn of_an_object_that_nobody_is_interested_in_only_the_finalizer_goes() {
    let mut world = renamed(World::new([labelled(update("u"), "wanted", PRESENT)]));
    world.annotate(
        "old.example.com/last-handled-configuration",
        json!("{\"spec\":{\"x\":1}}\n"),
    );
    world.edit(json!({"metadata": {"finalizers": [FORMER]}}));
    assert_eq!(world.cycle().finalizer, FinalizerStep::Remove);
    world.edit(json!({"metadata": {"finalizers": null}})).cycle();
    assert_eq!((former(&world).len(), world.merge.clone()), (1, json!({})));
}

// Z-3, Z-5, Z-6: with former names
#[test]
fn a_former_finalizer_holds_and_is_exchanged_unless_the_object_goes() {
    let mut world = renamed(World::settled([delete("d")]));
    world.edit(json!({"metadata": {"finalizers": [FORMER]}}));
    assert_eq!(world.plan(false).finalizer, FinalizerStep::Add);
    world.edit(json!({"metadata": {"finalizers": [FINALIZER, FORMER]}}));
    assert_eq!(world.plan(false).finalizer, FinalizerStep::Add);
    world.edit(json!({"metadata": {"finalizers": [FINALIZER]}}));
    assert_eq!(world.plan(false).finalizer, FinalizerStep::Keep);
    world.edit(json!({"metadata": {"finalizers": [FORMER]}})).delete();
    let came = world.cycle();
    assert_eq!(
        (came.reason, came.finalizer, came.released),
        (Reason::Delete, FinalizerStep::Keep, true)
    );
    assert_eq!(world.called(), ["d delete"]);
}

// B-054
#[test]
fn the_notes_of_many_handlers_share_what_room_there_is() {
    let ids: Vec<String> = (0..40).map(|number| format!("c{number}")).collect();
    let mut world = World::new(ids.iter().map(|id| create(id)));
    world.lifecycle = Lifecycle::AllAtOnce;
    world.answer("c0", [wait(5)]);
    // Each of them could note all of it, but for the others.
    let spec = json!({"a": "x".repeat(1800), "b": "x".repeat(1800)});
    world.edit(json!({"spec": spec, "metadata": {"annotations": {"example.com/notes": "n".repeat(150_000)}}}));
    assert!(!world.cycle().done);
    let size = |world: &World| crate::configs::conventions::size(&Body::new(world.object.clone()));
    let limit = crate::configs::conventions::ANNOTATIONS_LIMIT;
    assert!(size(&world) < limit, "{}", size(&world));
    assert!(world.pass(5).cycle().done);
    assert_eq!(world.called().len(), 41, "all are done, and one needed another attempt");
    assert!(size(&world) < limit);
}
