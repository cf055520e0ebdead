use super::*;

// H-4
#[test]
fn a_field_is_new_at_creation_if_it_is_there() {
    let mut world = World::new([field("f", "spec.x"), field("g", "spec.absent")]);
    world.settle();
    assert_eq!(
        world.calls,
        [Made {
            id: "f/spec.x".into(),
            reason: Reason::Create,
            old: Value::Null,
            new: json!(1),
            retry: 0
        }]
    );
}

// H-4, H-5, K-8
#[test]
fn only_a_change_of_the_field_counts() {
    let mut world = World::settled([field("f", "spec.x"), with_field(update("u"), "spec.y")]);
    world.edit(json!({"spec": {"z": 1}})).settle();
    assert_eq!(world.called(), Vec::<String>::new());
    world.edit(x(2)).settle();
    assert_eq!(world.calls[0].old, json!(1));
    assert_eq!(world.called(), ["f/spec.x update"]);
    world.edit(json!({"spec": {"y": {}}})).settle();
    assert_eq!(world.called(), ["u/spec.y update"]);
    world.edit(x(3)).settle();
    assert_eq!(
        world.called(),
        ["f/spec.x update"],
        "that of the other is there, but is as it was"
    );
}

// H-4
#[test]
fn a_field_never_fires_on_a_pure_resume_but_in_a_deletion_if_it_changed() {
    let mut world = World::settled([field("f", "spec.x"), delete("d")]);
    world.restart().settle();
    assert_eq!(world.called(), Vec::<String>::new());
    world.edit(x(2)).delete().settle();
    assert_eq!(world.called(), ["f/spec.x delete", "d delete"]);
}

// H-5
#[test]
fn one_function_for_two_fields_is_called_for_both() {
    let mut world = World::settled([with_field(update("u"), "spec.x"), with_field(update("u"), "spec")]);
    world.edit(x(2)).settle();
    assert_eq!(
        (&world.calls[0].old, &world.calls[1].old),
        (&json!(1), &json!({"x": 1}))
    );
    assert_eq!(world.called(), ["u/spec.x update", "u/spec update"]);
}

// F-22, F-20
#[test]
fn a_field_that_never_exists_keeps_nothing_out_of_stealth() {
    let mut world = World::new([field("f", "spec.absent")]);
    let came = world.cycle();
    assert!(came.stealth);
    assert_eq!(world.merge, json!({}));
}

// H-6, F-5
#[test]
fn a_field_of_a_creating_handler_is_only_a_filter() {
    let mut world = World::new([
        with_field(create("c"), "spec.x"),
        with_field(create("d"), "spec.absent"),
    ]);
    world.settle();
    assert_eq!(world.called(), ["c/spec.x create"]);
}

// C, *Revert*, by field
#[test]
fn an_added_field_that_is_taken_back_is_told() {
    let mut world = World::settled([field("f", "spec.y"), update("u")]);
    world.answer("u", [wait(60)]);
    world.edit(json!({"spec": {"y": 1}})).settle();
    world.edit(json!({"spec": {"y": null}})).settle();
    let f: Vec<_> = world
        .calls
        .iter()
        .filter(|made| made.id == "f/spec.y")
        .map(|made| (&made.old, &made.new))
        .collect();
    assert_eq!(f, [(&json!(null), &json!(1)), (&json!(1), &json!(null))]);
    assert_eq!(world.traces(), Vec::<String>::new());
}

// C, *Lost change*, by field
#[test]
fn an_edit_of_another_field_does_not_concern_a_handler_that_is_done() {
    let mut world = World::settled([field("f", "spec.x"), update("u")]);
    world.answer("u", [wait(60)]);
    world.edit(x(2)).settle();
    world.called();
    world.edit(json!({"spec": {"other": 1}})).settle();
    assert_eq!(world.called(), Vec::<String>::new());
}

// B-5, improved
#[test]
fn an_extra_field_concerns_only_the_handler_that_asked() {
    let mut world = World::new([field("f", "status.phase"), update("u")]);
    world.edit(json!({"status": {"phase": "a"}})).settle();
    world.called();
    assert_eq!(world.base(), json!({"spec": {"x": 1}, "status": {"phase": "a"}}));
    world.edit(json!({"status": {"phase": "b", "other": 1}})).settle();
    assert_eq!((&world.calls[0].old, &world.calls[0].new), (&json!("a"), &json!("b")));
    assert_eq!(world.called(), ["f/status.phase update"]);
    world.edit(x(2)).settle();
    assert_eq!(world.calls[0].new, x(2), "without the field");
    assert_eq!(world.called(), ["u update"]);
}

// B-6, improved
#[test]
fn a_newly_asked_for_field_is_no_update_and_is_seen_from_then_on() {
    let mut world = World::new([update("u")]);
    world.edit(json!({"status": {"phase": "a"}})).settle();
    world.handlers.push(field("f", "status.phase").into());
    world.restart().settle();
    assert_eq!(world.called(), Vec::<String>::new());
    assert_eq!(world.base(), json!({"spec": {"x": 1}, "status": {"phase": "a"}}));
    world.edit(json!({"status": {"phase": "b"}})).settle();
    assert_eq!(world.called(), ["f/status.phase update"]);
}

// B-6, improved
#[test]
fn a_newly_asked_for_field_that_is_absent_is_seen_when_it_comes() {
    let mut world = World::settled([update("u"), field("f", "status.phase")]);
    world.restart().settle();
    world.edit(json!({"status": {"phase": "b"}})).settle();
    assert_eq!(world.called(), ["f/status.phase update"]);
    world.edit(json!({"status": null})).settle();
    assert_eq!(world.called(), ["f/status.phase update"]);
}

// B-6, improved
#[test]
fn a_field_that_nobody_asks_for_any_more_is_no_update() {
    let mut world = World::new([field("f", "status.phase"), update("u")]);
    world.edit(json!({"status": {"phase": "a"}})).settle();
    world.called();
    world.handlers.remove(0);
    let came = world.restart().settle();
    assert_eq!((came.reason, world.called()), (Reason::Noop, vec![]));
}

// H-4, B-054: a spec that is kept as a digest, since there are too many small values in it.
#[test]
fn a_field_of_a_wide_object_is_told_of_its_own_changes_only() {
    let mut world = World::new([create("c"), field("f", "spec.x"), update("u")]);
    let wide: Map<String, Value> = (0..12_000)
        .map(|number| (format!("key-{number:06}"), json!("abcdefghij")))
        .collect();
    world.edit(json!({"spec": wide})).settle();
    assert!(world.annotation(BASE).is_some_and(|base| base.len() < 1000));
    assert_eq!(world.called(), ["c create", "f/spec.x create"]);
    world.edit(json!({"spec": {"key-000001": "changed"}})).settle();
    assert_eq!(world.called(), ["u update"]);
    world.answer("u", [wait(60)]);
    world.edit(x(2)).settle();
    world.edit(json!({"spec": {"key-000002": "changed"}})).settle();
    world.edit(json!({"spec": {"x": null}})).settle();
    world.pass(60).settle();
    let told: Vec<_> = world.calls.iter().filter(|made| made.id == "f/spec.x").collect();
    let told: Vec<_> = told.iter().map(|made| (&made.old, &made.new)).collect();
    assert_eq!(told, [(&json!(1), &json!(2)), (&json!(2), &Value::Null)]);
    world.calls.clear();
    assert_eq!((world.settle().reason, world.called()), (Reason::Noop, vec![]));
}
