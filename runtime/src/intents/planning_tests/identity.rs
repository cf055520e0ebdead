use super::*;

fn called_in(reason: Reason) -> Vec<String> {
    let all = [
        create("c"),
        update("u"),
        delete("d"),
        Handler {
            deleted: true,
            ..resume("r")
        },
        field("f", "spec.x"),
    ];
    let mut world = if reason == Reason::Create {
        World::new(all)
    } else {
        World::settled(all)
    };
    match reason {
        Reason::Update => drop(world.edit(x(2))),
        Reason::Delete => drop(world.edit(x(2)).delete()),
        _ => {}
    }
    if reason != Reason::Noop {
        world.restart();
    }
    world.settle();
    assert!(world.calls.iter().all(|made| made.reason == reason));
    world.calls.into_iter().map(|made| made.id).collect()
}

// H-2, H-3, H-4: and objects that an operator finds at its start are resumed, unless they are new (C-6).
#[test]
fn some_are_for_their_own_reason_and_others_for_any() {
    assert_eq!(called_in(Reason::Create), ["c", "f/spec.x"]);
    assert_eq!(called_in(Reason::Update), ["u", "r", "f/spec.x"]);
    assert_eq!(called_in(Reason::Delete), ["d", "r", "f/spec.x"]);
    assert_eq!(called_in(Reason::Resume), ["r"]);
    assert_eq!(called_in(Reason::Noop), Vec::<String>::new());
}

// H-1
#[test]
fn handlers_of_all_kinds_are_called_in_the_order_of_their_registration() {
    let handlers = [update("z"), field("m", "spec.x"), resume("a"), update("k")];
    for lifecycle in [Lifecycle::Asap, Lifecycle::AllAtOnce, Lifecycle::OneByOne] {
        for turn in 0..handlers.len() {
            let mut turned = handlers.to_vec();
            turned.rotate_left(turn);
            let ids: Vec<String> = turned.iter().map(|handler| handler.id.clone()).collect();
            let mut world = World::settled(turned);
            world.lifecycle = lifecycle.clone();
            world.edit(x(2)).restart().settle();
            let called: Vec<String> = world.calls.into_iter().map(|made| made.id).collect();
            assert_eq!(called, ids);
        }
    }
}

// H-10: the edge case of one function for creation and resuming, with different parameters.
#[test]
fn one_function_for_two_reasons_is_called_once_as_it_was_registered_first() {
    let named = |handler: Handler, param: i64, retries: u32| Handler {
        param: json!(param),
        limits: Limits {
            retries: Some(retries),
            ..Limits::default()
        },
        ..handler
    };
    let downtime = |covers_downtime| Handler {
        covers_downtime,
        ..resume("f")
    };
    for covers in [false, true] {
        let mut world = World::new([named(create("f"), 1, 3), named(downtime(covers), 2, 5)]);
        let plan = world.restart().plan(false);
        assert_eq!(world.chosen(&plan.steps), [0]);
        world.settle();
        assert_eq!(world.called(), ["f create"]);
        let steps = world.restart().plan(false).steps;
        assert_eq!(world.chosen(&steps), [1], "now it is resumed alone");
    }
    let mut world = World::new([named(downtime(true), 2, 5), named(create("f"), 1, 3)]);
    let steps = world.restart().plan(false).steps;
    assert_eq!(world.chosen(&steps), [0], "first come");
}

// H-9, H-10, B-020: the edge case of a field within the other.
#[test]
fn one_function_for_two_fields_has_two_ids_and_two_records() {
    let mut world = World::settled([
        with_field(update("f"), "spec.a"),
        with_field(update("f"), "spec"),
        update("slow"),
    ]);
    world.lifecycle = Lifecycle::AllAtOnce;
    world.answer("slow", [wait(60)]);
    world.edit(json!({"spec": {"a": 1}})).settle();
    let told = |index: usize| (&world.calls[index].id, &world.calls[index].old, &world.calls[index].new);
    assert_eq!(told(0), (&"f/spec.a".to_owned(), &Value::Null, &json!(1)));
    assert_eq!(
        told(1),
        (&"f/spec".to_owned(), &json!({"x": 1}), &json!({"x": 1, "a": 1}))
    );
    assert!(world.record("f/spec.a").is_some() && world.record("f/spec").is_some());
    world.pass(60).settle();
    assert_eq!(world.traces(), Vec::<String>::new());
}

// B-021
#[test]
fn one_function_for_creation_and_for_a_field_is_two_handlers() {
    let mut world = World::new([create("f"), field("f", "spec.x"), create("slow")]);
    world.lifecycle = Lifecycle::AllAtOnce;
    world.answer("slow", [wait(60)]);
    world.settle();
    assert_eq!(world.called(), ["f create", "f/spec.x create", "slow create"]);
    assert_eq!(world.traces().len(), 3, "each has one record");
    world.pass(60).settle();
    assert_eq!((world.called(), world.traces()), (vec!["slow create".into()], vec![]));
}

// H-7
#[test]
fn deletion_waits_for_delete_handlers_unless_they_are_optional() {
    let step = |handlers: &[Handler]| World::new(handlers.to_vec()).plan(false).finalizer;
    assert_eq!(step(&[delete("d")]), FinalizerStep::Add);
    assert_eq!(step(&[optional(delete("d")), create("c")]), FinalizerStep::Keep);
    assert_eq!(step(&[optional(delete("d")), delete("e")]), FinalizerStep::Add);
}
