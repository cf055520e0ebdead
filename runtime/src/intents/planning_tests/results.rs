use super::*;

//
#[test]
fn results_of_several_cycles_stand_side_by_side() {
    let mut world = World::new([create("h1"), with_field(create("h2"), "spec.x")]);
    world.answer("h1", [Outcome::Success(Some(json!({"a": 1})))]);
    world.answer("h2/spec.x", [Outcome::Success(Some(json!(100)))]);
    world.settle();
    assert_eq!(world.object["status"], json!({"h1": {"a": 1}, "h2/spec.x": 100}));
}

//
#[test]
fn a_result_is_merged_into_what_the_handler_wrote_itself() {
    let mut world = World::new([create("h")]);
    world
        .writes
        .insert("h".into(), json!({"status": {"h": {"by": "hand"}, "other": 1}}));
    world.answer("h", [Outcome::Success(Some(json!({"a": {}})))]);
    world.settle();
    assert_eq!(
        world.object["status"],
        json!({"h": {"by": "hand", "a": {}}, "other": 1})
    );
}

//
#[test]
fn errors_and_nothing_deliver_nothing() {
    let mut world = World::new([create("h1"), create("h2"), create("h3")]);
    world
        .answer("h1", [give_up()])
        .answer("h2", [Outcome::Success(Some(Value::Null))]);
    world.settle();
    assert_eq!(world.object.get("status"), None);
}
