//! Sub-handlers that a handler declares for each item of a place (U-1).

use super::*;

fn each(path: &str, key: EachKey, inner: Vec<Each>) -> Each {
    Each {
        path: path.into(),
        key,
        template: Template {
            each: inner.into(),
            ..template()
        },
    }
}

fn declared(each: Vec<Each>) -> Handler {
    Handler {
        each: each.into(),
        ..create("p")
    }
}

// U-1, U-6
#[test]
fn declared_sub_handlers_follow_the_object() {
    let volumes = each(
        "spec.volumes",
        "name".into(),
        vec![each("ports", EachKey::Natural, vec![])],
    );
    let mut world = World::new([declared(vec![
        volumes,
        each("spec.sizes", EachKey::Natural, vec![]),
        each("spec.objects", EachKey::Natural, vec![]),
        each("spec.map", EachKey::Natural, vec![]),
        each("spec.one", EachKey::Natural, vec![]),
        each("spec.absent", EachKey::Natural, vec![]),
    ])]);
    world.lifecycle = Lifecycle::AllAtOnce;
    world.want("p", ["planned"]).edit(json!({"spec": {
        "volumes": [{"name": "a", "ports": [80, 443]}, {"name": "b"}],
        "sizes": ["s", true, 3], "objects": [{}, {}], "map": {"k": 1}, "one": "only",
    }}));
    world.answer("p/a/80", [wait(5)]);
    assert!(!world.cycle().done);
    let called = [
        "p",
        "p/planned",
        "p/a",
        "p/a/80",
        "p/a/443",
        "p/b",
        "p/s",
        "p/true",
        "p/3",
        "p/0",
        "p/1",
        "p/k",
        "p/only",
    ];
    assert_eq!(world.called(), called.map(|id| format!("{id} create")));
    // What is not there any more is not called again.
    world.edit(json!({"spec": {"volumes": [{"name": "b"}, {"name": "c"}]}}));
    assert!(world.pass(5).cycle().done);
    assert_eq!(world.called(), ["p create", "p/c create"]);
    assert_eq!(world.traces(), Vec::<String>::new());
    // One that has no name.
    world = World::new([declared(vec![each("spec.volumes", "name".into(), vec![])])]);
    world.edit(json!({"spec": {"volumes": [{"name": "a"}, {"size": 1}]}}));
    let mut plan = world.plan(false);
    let message = "at spec.volumes: item 1 has no text or number at `name`, which is to name it".into();
    assert_eq!(world.call(&mut plan, 0), Outcome::Permanent { message });
}

// B-5, U-10: declared sub-handlers are known before anything happens
#[test]
fn the_field_of_a_declared_sub_handler_is_seen() {
    let mut inner = each("spec.x", EachKey::Natural, vec![]);
    inner.template.field = Some("status.phase".into());
    let mut parent = declared(vec![inner]);
    parent.kind = ChangeKind::Update;
    let mut world = World::settled([parent]);
    world.edit(json!({"status": {"phase": "new"}})).settle();
    world.called();
    world.edit(json!({"status": {"phase": "old"}})).edit(x(2)).cycle();
    assert_eq!(world.called(), ["p update", "p/2 update"]);
}

// B-054
#[test]
fn more_sub_handlers_than_there_is_room_for_fail_their_parent() {
    let mut world = World::new([create("p")]);
    let many: Vec<(String, Template)> = (0..2000).map(|number| (format!("n{number}"), template())).collect();
    world.subs.insert("p".into(), many);
    world.cycle();
    assert_eq!(world.called(), ["p create"]);
    let message = world.record("p").unwrap().message.unwrap();
    assert!(message.contains("no room for the progress"), "{message}");
}
