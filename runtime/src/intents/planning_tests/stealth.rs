use super::*;

// F-20, F-21
#[test]
fn an_object_outside_of_all_filters_is_not_touched_and_is_new_when_it_enters() {
    let mut world = World::new([
        labelled(create("c"), "on", PRESENT),
        labelled(delete("d"), "on", PRESENT),
    ]);
    for value in 2..5 {
        let came = world.edit(x(value)).cycle();
        assert!(came.stealth && came.finalizer == FinalizerStep::Keep);
        assert_eq!(world.merge, json!({}));
    }
    world.edit(json!({"metadata": {"labels": {"on": ""}}})).settle();
    assert_eq!(world.calls[0].old, Value::Null);
    assert_eq!(world.called(), ["c create"]);
    assert!(world.handled_once);
}

// C-8
#[test]
fn a_cycle_in_stealth_does_not_count_as_handled() {
    let mut world = World::new([labelled(create("c"), "on", PRESENT)]);
    world.restart().cycle();
    assert!(!world.handled_once);
}
