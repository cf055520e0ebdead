use super::*;

// C-8
#[test]
fn an_object_is_resumed_once() {
    let mut world = World::settled([resume("r")]);
    world.settle();
    assert_eq!(world.called(), Vec::<String>::new());
    world.restart().settle();
    assert_eq!(world.called(), ["r resume"]);
    assert!(world.handled_once);
    world.settle();
    assert_eq!(world.called(), Vec::<String>::new());
    assert_eq!(world.traces(), Vec::<String>::new());
}

// C-7
#[test]
fn resuming_is_mixed_into_an_update() {
    let mut world = World::settled([resume("r"), update("u")]);
    world.edit(x(2)).restart().settle();
    assert_eq!(world.called(), ["r update", "u update"]);
}

// C-15
#[test]
fn resuming_that_is_done_stays_done_within_a_later_update() {
    let mut world = World::settled([resume("r1"), resume("r2"), update("u")]);
    world.answer("r2", [wait(60)]);
    world.restart().settle();
    world.called();
    world.edit(x(2)).settle();
    assert_eq!(world.called(), ["u update"]);
    assert_eq!(world.record("r1").unwrap().purpose.as_deref(), Some("update"));
    world.pass(60).settle();
    assert_eq!(world.called(), ["r2 update"]);
}

// C-15 with H-10: resuming does not make up for a change.
#[test]
fn one_function_for_both_is_still_told_of_the_change() {
    let mut world = World::settled([resume("f"), update("f"), resume("r")]);
    world.answer("r", [wait(60)]);
    world.restart().settle();
    world.edit(x(2)).settle();
    assert_eq!(world.called(), ["f resume", "r resume", "f update"]);
}

// H-3
#[test]
fn a_deletion_resumes_only_what_asks_for_it() {
    let mut world = World::settled([
        resume("r"),
        Handler {
            deleted: true,
            ..resume("s")
        },
        delete("d"),
    ]);
    world.restart().delete().settle();
    assert_eq!(world.called(), ["s delete", "d delete"]);
}

// C-8
#[test]
fn a_noop_does_not_end_being_initial() {
    let mut world = World::settled([labelled(resume("r"), "on", PRESENT), update("u")]);
    world.noticed_by_listing = false;
    world.cycle();
    assert!(!world.handled_once);
}

fn covering(id: &str) -> Handler {
    Handler {
        covers_downtime: true,
        ..resume(id)
    }
}

// C-6, and C, *Improve on*
#[test]
fn resuming_covers_what_was_created_meanwhile_only_if_it_is_asked_to() {
    let mut world = World::new([create("c"), resume("r"), covering("s")]);
    world.restart().settle();
    assert_eq!(world.called(), ["c create", "s create"]);
    assert_eq!(world.base(), x(1));
    world.settle();
    assert_eq!(world.called(), Vec::<String>::new());
    world.restart().settle();
    assert_eq!(world.called(), ["r resume", "s resume"], "it is known from now on");

    let mut world = World::new([create("c"), covering("s")]);
    world.settle();
    assert_eq!(world.called(), ["c create"], "nobody was away");
}

// C, *Improve on*
#[test]
fn resuming_within_a_creation_is_once_whatever_else_it_waits_for() {
    let mut world = World::new([create("c"), covering("s")]);
    world.answer("c", [wait(60)]);
    world.restart().settle();
    assert_eq!(world.called(), ["c create", "s create"]);
    world.edit(x(2)).settle();
    world.pass(60).settle();
    assert!(!world.called().iter().any(|call| call.starts_with("s ")));
}
