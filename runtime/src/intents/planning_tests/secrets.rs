use super::*;

fn secret(handlers: impl IntoIterator<Item = Handler>) -> World {
    let mut world = World::new(handlers);
    world.object = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"uid": "u1"}, "data": {"a": "Y2xlYXI=", "b": "c2FtZQ=="},
    });
    world
}

// B-054
#[test]
fn no_annotation_ever_holds_their_data() {
    let mut world = secret([create("c1"), create("c2"), update("u1"), update("u2")]);
    let clear = |world: &World| world.object["metadata"]["annotations"].to_string().contains("Y2xlYXI");
    world.cycle();
    assert!(!clear(&world));
    world.settle();
    assert!(!clear(&world));
    world.edit(json!({"data": {"a": "Y2xlYXIy"}})).cycle();
    assert!(!clear(&world));
    world.settle();
    assert!(!clear(&world));
    assert_eq!(world.called(), ["c1 create", "c2 create", "u1 update", "u2 update"]);
}

#[test]
fn an_update_shows_the_new_data_and_a_digest_of_the_old() {
    let mut world = secret([update("u")]);
    world.settle();
    world.edit(json!({"data": {"a": "bmV3"}}));
    let plan = world.plan(false);
    let diff = &plan.steps[0].diff;
    assert_eq!(diff.len(), 1);
    assert_eq!(
        (diff[0].path.join("."), &diff[0].new),
        ("data.a".into(), &json!("bmV3"))
    );
    assert!(diff[0].old.as_str().unwrap().starts_with("sha256:"));
}

// B-015
#[test]
fn a_creation_never_shows_digests() {
    let mut world = secret([create("c1"), create("c2")]);
    world.answer("c2", [wait(60)]).settle();
    world.edit(json!({"data": {"a": "bmV3"}})).settle();
    world.pass(60).settle();
    assert_eq!(
        world.calls.last().unwrap().new["data"],
        json!({"a": "bmV3", "b": "c2FtZQ=="})
    );
    assert_eq!(world.called(), ["c1 create", "c2 create", "c2 create"]);
}
