use super::*;
use crate::intents::criteria::by;
use crate::intents::filters::When;

// Z-6
#[test]
fn a_deletion_waits_for_its_handlers_and_is_then_released() {
    let mut world = World::settled([delete("d1"), delete("d2")]);
    world.answer("d2", [wait(30), give_up()]);
    let came = world.delete().settle();
    assert_eq!(
        (came.reason, came.delay, came.released),
        (Reason::Delete, Some(Duration::from_secs(30)), false)
    );
    world.pass(30);
    // Z: a permanent failure releases all the same; B-042: once, after all.
    assert!(world.cycle().released);
    assert_eq!(world.called(), ["d1 delete", "d2 delete", "d2 delete"]);
    assert_eq!(world.cycle().reason, Reason::Free);
}

// C-16
#[test]
fn a_deletion_supersedes_an_unfinished_creation_at_once() {
    let mut world = World::new([create("c"), delete("d")]);
    world.answer("c", [wait(600)]).answer("d", [wait(5)]);
    world.settle();
    let came = world.delete().cycle();
    assert_eq!(
        (came.reason, came.delay),
        (Reason::Delete, Some(Duration::from_secs(5)))
    );
    let changed = &world.merge["metadata"]["annotations"];
    assert_eq!(changed["kopf.zalando.org/c"], Value::Null);
    assert!(
        changed["kopf.zalando.org/d"]
            .as_str()
            .unwrap()
            .contains("\"purpose\":\"delete\"")
    );
}

// C-15: a success of another purpose is none.
#[test]
fn one_function_for_creating_and_deleting_is_called_for_both() {
    let mut world = World::new([create("f"), delete("f"), create("c")]);
    world.answer("c", [wait(600)]).settle();
    world.called();
    world.delete().settle();
    assert_eq!(world.called(), ["f delete"]);
}

// Z-12, improved
#[test]
fn a_deletion_that_is_done_is_not_done_again_while_timers_end() {
    let mut world = World::settled([delete("d")]);
    world.background_needs = true;
    world.delete().cycle();
    world.edit(json!({"metadata": {"finalizers": [FINALIZER]}}));
    // The record says it, also to an operator that has just been started.
    world.restart();
    let came = world.edit(json!({"status": {"x": 1}})).cycle();
    assert_eq!(
        (came.reason, came.released, world.merge.clone()),
        (Reason::Delete, true, json!({}))
    );
    world.edit(json!({"metadata": {"finalizers": [FINALIZER]}}));
    world.edit(x(9)).cycle();
    assert_eq!(
        (world.called(), world.merge.clone()),
        (vec!["d delete".to_owned()], json!({}))
    );
    world.edit(json!({"metadata": {"finalizers": [FINALIZER]}}));
    world.background_needs = false;
    let came = world.edit(json!({"status": {"x": 2}})).cycle();
    assert_eq!((came.released, world.traces()), (true, vec![]));
    assert_eq!(world.called(), Vec::<String>::new());
}

// C-4, Z-5, B-040
#[test]
fn an_object_deleted_without_our_finalizer_is_free() {
    let mut world = World::new([create("c"), delete("d")]);
    world.edit(json!({"metadata": {"finalizers": ["other/x"]}}));
    let came = world.delete().cycle();
    assert_eq!(
        (came.reason, came.finalizer, world.merge.clone()),
        (Reason::Free, FinalizerStep::Keep, json!({}))
    );
    assert_eq!(world.called(), Vec::<String>::new());
}

// C: a `DELETED` event is the end, whatever the object says.
#[test]
fn an_object_that_is_gone_is_not_touched() {
    let mut world = World::settled([delete("d"), update("u")]);
    let plan = world.edit(x(2)).delete().plan(true);
    assert_eq!(
        (plan.reason, plan.finalizer, plan.steps.len()),
        (Reason::Gone, FinalizerStep::Keep, 0)
    );
    let conclusion = finish(&plan, Vec::new(), &PatchContents::default(), world.now);
    assert_eq!(
        (conclusion.merge, conclusion.delay, conclusion.release_finalizer),
        (Map::new(), None, false)
    );
}

// Z-9, improved
#[test]
fn optional_handlers_see_every_deletion() {
    let mut world = World::settled([optional(delete("o"))]);
    world.edit(json!({"metadata": {"finalizers": ["other/x"]}}));
    world.settle();
    assert_eq!(world.object["metadata"]["finalizers"], json!(["other/x"]));
    let came = world.delete().cycle();
    assert_eq!((came.reason, came.finalizer), (Reason::Delete, FinalizerStep::Keep));
    assert_eq!(world.called(), ["o delete"]);
    assert_eq!(world.cycle().reason, Reason::Free);
    assert_eq!(world.called(), Vec::<String>::new());
}

// Z-9, Z-12
#[test]
fn a_deletion_that_others_hold_up_is_seen_once_also_after_a_restart() {
    for handlers in [vec![optional(delete("o"))], vec![delete("d"), optional(delete("o"))]] {
        let mut world = World::settled(handlers);
        let ours = world.object["metadata"]["finalizers"].take();
        world.delete();
        for attempt in 0..3 {
            let mut finalizers = ours.as_array().cloned().unwrap_or_default();
            finalizers.retain(|_| attempt == 0);
            finalizers.push(json!("other/x"));
            world.edit(json!({"metadata": {"finalizers": finalizers}}));
            while !world.cycle().done {}
            world.restart();
        }
        world.calls.retain(|made| made.id == "o");
        assert_eq!(world.called(), ["o delete"]);
    }
}

// Z-12
#[test]
fn of_a_deletion_that_nobody_else_holds_up_nothing_is_kept() {
    let mut world = World::settled([delete("d"), optional(delete("o"))]);
    world.lifecycle = Lifecycle::AllAtOnce;
    assert!(world.delete().cycle().released);
    assert_eq!(world.merge, json!({}));
}

// Z-9, B-040
#[test]
fn mandatory_handlers_are_skipped_where_the_finalizer_is_missing() {
    let mut world = World::settled([delete("d"), optional(delete("o"))]);
    world
        .edit(json!({"metadata": {"finalizers": ["other/x"]}}))
        .delete()
        .cycle();
    assert_eq!(world.called(), ["o delete"]);
}

// Z-9, improved
#[test]
fn a_finalizer_that_is_left_over_gives_optional_handlers_their_chance() {
    let mut world = World::settled([optional(delete("o"))]);
    world.edit(json!({"metadata": {"finalizers": [FINALIZER]}}));
    let came = world.delete().cycle();
    assert!(came.released && came.finalizer == FinalizerStep::Keep);
    assert_eq!(world.called(), ["o delete"]);
}

// Z-4
#[test]
fn a_finalizer_that_nobody_needs_any_more_is_removed() {
    let mut world = World::settled([labelled(delete("d"), "on", PRESENT), update("u")]);
    world.edit(json!({"metadata": {"labels": {"on": ""}}})).settle();
    let came = world.edit(json!({"metadata": {"labels": null}})).cycle();
    assert_eq!(
        (came.finalizer, came.done, world.merge.clone()),
        (FinalizerStep::Remove, false, json!({}))
    );
    world.settle();
    world.called();
    assert_eq!(world.delete().cycle().reason, Reason::Free);
    assert_eq!(world.called(), Vec::<String>::new());
}

// Z-2, Z-3, Z-4 for objects that only timers look after (F-20)
#[test]
fn background_handlers_need_the_finalizer_without_any_handler() {
    let mut world = World::new([]);
    world.background_needs = true;
    let came = world.cycle();
    assert_eq!((came.finalizer, came.stealth), (FinalizerStep::Add, true));
    assert_eq!(world.cycle().finalizer, FinalizerStep::Keep);
    assert_eq!(world.delete().plan(false).finalizer, FinalizerStep::Keep);
    world.background_needs = false;
    assert_eq!(world.cycle().finalizer, FinalizerStep::Remove);
}

// Z-2 to Z-5: the whole table.
#[test]
fn the_finalizer_step_follows_need_and_presence() {
    for reason in [Reason::Create, Reason::Update, Reason::Resume, Reason::Noop] {
        for work in [false, true] {
            assert_eq!(finalizer_step(reason, true, false, work), FinalizerStep::Add);
            assert_eq!(finalizer_step(reason, false, true, work), FinalizerStep::Remove);
            assert_eq!(finalizer_step(reason, true, true, work), FinalizerStep::Keep);
            assert_eq!(finalizer_step(reason, false, false, work), FinalizerStep::Keep);
        }
    }
    for bits in 0..8 {
        let (needed, present, work) = (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0);
        let step = finalizer_step(Reason::Delete, needed, present, work);
        assert_eq!(step == FinalizerStep::Remove, !needed && present && !work);
        for reason in [Reason::Free, Reason::Gone] {
            assert_eq!(finalizer_step(reason, needed, present, work), FinalizerStep::Keep);
        }
    }
}

// F-18
#[test]
fn a_deletion_may_be_awaited_by_mandatory_handlers_that_match() {
    let body = Body::new(json!({"metadata": {"labels": {"on": ""}}, "spec": {"x": 1}}));
    let awaited = |handler: Handler| deletion_may_be_awaited(&[Arc::new(handler)], &body);
    assert!(awaited(delete("d")) && awaited(with_field(delete("d"), "spec.x")));
    assert!(!awaited(optional(delete("d"))) && !awaited(labelled(delete("d"), "on", ABSENT)));
    assert!(!awaited(update("u")) && !awaited(with_field(delete("d"), "spec.y")));
    // What cannot be asked, or does not answer, may hold.
    let mut unasked = delete("d");
    unasked
        .filters
        .when
        .push(When::new(|_| panic!("there is no typed spec to ask about")));
    let broken = labelled(delete("d"), "on", by(|_| panic!("out of order")));
    assert!(awaited(unasked.clone()) && awaited(broken));
    assert!(!awaited(labelled(unasked, "on", ABSENT)));
}
