use super::*;

// Section 24, trace 1
#[test]
fn two_handlers_of_which_one_is_retried_and_a_finalizer() {
    let mut world = World::new([create("c1"), create("c2"), delete("d")]);
    world
        .answer("c1", [Outcome::Success(Some(json!({"host": "h"})))])
        .answer("c2", [wait(30)]);

    let first = world.cycle();
    assert_eq!(
        (first.reason, first.finalizer, first.done),
        (Reason::Create, FinalizerStep::Add, false)
    );
    assert_eq!(
        world.merge,
        json!({}),
        "no changing handler runs before the finalizer is there"
    );

    let second = world.cycle();
    assert_eq!(
        (second.reason, second.finalizer, second.delay),
        (Reason::Create, FinalizerStep::Keep, Some(Duration::ZERO))
    );
    assert_eq!(world.object["status"], json!({"c1": {"host": "h"}}));
    let c1 = world.record("c1").unwrap();
    assert_eq!(
        (c1.success, c1.retries, c1.purpose.as_deref()),
        (true, 1, Some("create"))
    );
    // L-6
    let c2 = world.record("c2").unwrap();
    assert_eq!((c2.finished(), c2.retries, c2.started), (false, 0, world.now));

    let third = world.cycle();
    assert_eq!(third.delay, Some(Duration::from_secs(30)));
    assert_eq!(world.record("c2").unwrap().message.as_deref(), Some("busy"));

    let fourth = world.pass(10).cycle();
    assert_eq!(
        (fourth.delay, world.merge.clone()),
        (Some(Duration::from_secs(20)), json!({}))
    );

    let fifth = world.pass(20).cycle();
    assert!(fifth.done && !fifth.released);
    assert_eq!(world.traces(), Vec::<String>::new());
    assert_eq!(world.base(), x(1));

    let sixth = world.cycle();
    assert_eq!(
        (sixth.reason, sixth.delay, world.merge.clone()),
        (Reason::Noop, None, json!({}))
    );
    assert_eq!(world.called(), ["c1 create", "c2 create", "c2 create"]);
}

// P-10: a one-cycle success leaves no trace of progress in the patch.
#[test]
fn a_success_at_the_first_attempt_writes_the_diff_base_only() {
    let mut world = World::new([create("c")]);
    assert!(world.cycle().done);
    assert_eq!(
        world.merge,
        json!({"metadata": {"annotations": {
            BASE: "{\"spec\":{\"x\":1}}\n",
            "kopf.zalando.org/kopf-gen": "{\"uid\":\"u1\",\"v\":1}",
        }}})
    );
}

// K-7, K-9
#[test]
fn the_old_essence_is_absent_and_the_diff_is_one_addition_at_the_root() {
    let world = World::new([create("c")]);
    let plan = world.plan(false);
    let step = &plan.steps[0];
    assert_eq!((step.old.clone(), step.new.as_deref()), (None, Some(&x(1))));
    assert_eq!(step.diff.len(), 1);
    assert_eq!((&step.diff[0].path, &step.diff[0].new), (&Vec::<String>::new(), &x(1)));
}

// C-11
#[test]
fn an_operator_of_updates_only_stores_the_diff_base_at_creation() {
    let mut world = World::new([update("u")]);
    assert!(world.cycle().done && world.handled_once);
    assert_eq!(world.base(), x(1));
    assert_eq!(world.called(), Vec::<String>::new());
}

// C-6
#[test]
fn resuming_never_mixes_into_a_creation_seen_in_a_listing() {
    let mut world = World::new([create("c"), resume("r")]);
    world.restart().settle();
    assert_eq!(world.called(), ["c create"]);
    world.settle();
    assert_eq!(world.called(), Vec::<String>::new());
}

// H-10
#[test]
fn one_function_that_resumes_too_is_called_once_as_first_registered() {
    let downtime = Handler {
        covers_downtime: true,
        ..resume("f")
    };
    for resuming in [resume("f"), downtime] {
        let mut world = World::new([create("f"), resuming]);
        let plan = world.restart().plan(false);
        assert_eq!(world.chosen(&plan.steps), [0]);
        world.settle();
        assert_eq!(world.called(), ["f create"]);
    }
    let mut world = World::settled([update("f"), resume("f")]);
    let plan = world.edit(x(2)).restart().plan(false);
    assert_eq!(world.chosen(&plan.steps), [0]);
}

// C-13, E-15
#[test]
fn a_permanent_failure_is_handled_and_not_tried_again() {
    let mut world = World::new([create("c1"), create("c2")]);
    world.answer("c1", [give_up()]).settle();
    assert_eq!(world.called(), ["c1 create", "c2 create"]);
    assert_eq!((world.base(), world.traces()), (x(1), vec![]));
}

// L-2
#[test]
fn the_least_retried_goes_first_and_a_sleeping_one_holds_nobody_up() {
    let mut world = World::new([create("h1"), create("h2")]);
    world.answer("h1", [wait(60)]);
    let came = world.settle();
    assert_eq!(came.delay, Some(Duration::from_secs(60)));
    world.pass(60).settle();
    assert_eq!(world.called(), ["h1 create", "h2 create", "h1 create"]);
}

// L-2
#[test]
fn all_at_once_needs_one_cycle() {
    let mut world = World::new([create("h1"), create("h2")]);
    world.lifecycle = Lifecycle::AllAtOnce;
    assert!(world.cycle().done);
    assert_eq!(world.called(), ["h1 create", "h2 create"]);
}

// A: an own write is no news for whoever has run before it.
#[test]
fn what_the_operator_writes_itself_calls_nobody_again() {
    let mut world = World::new([create("c1"), create("c2"), create("c3")]);
    world
        .writes
        .insert("c1".into(), json!({"metadata": {"labels": {"by": "c1"}}}));
    world.writes.insert("c2".into(), json!({"spec": {"filled": true}}));
    world.settle();
    assert_eq!(world.called(), ["c1 create", "c2 create", "c3 create"]);
}

// B-015: a creation is of one essence; the edit is told once, as an update.
#[test]
fn an_edit_during_creation_is_an_update_after_it() {
    let mut world = World::new([create("c1"), create("c2"), update("u")]);
    world.answer("c2", [wait(60)]).settle();
    assert_eq!(world.changes(), ["c1 null->1", "c2 null->1"]);
    world.edit(x(2)).settle();
    assert_eq!(world.changes(), Vec::<String>::new());
    world.pass(60).settle();
    assert_eq!(world.changes(), ["c2 null->1", "u 1->2"]);
    assert_eq!((world.base(), world.traces()), (x(2), vec![]));
}

// B-028
#[test]
fn state_copied_from_another_object_is_ignored_and_replaced() {
    let mut world = World::new([create("c1"), create("c2"), update("u")]);
    world.settle();
    world.called();
    world.edit(json!({"metadata": {"uid": "u2"}}));
    world.annotate(
        "kopf.zalando.org/c1",
        json!("{\"retries\":1,\"success\":true,\"failure\":false}"),
    );
    let came = world.cycle();
    assert_eq!(came.reason, Reason::Create);
    assert_eq!(
        world.annotation(BASE),
        None,
        "what is stored now would be trusted in the next cycle"
    );
    world.settle();
    assert_eq!(world.called(), ["c1 create", "c2 create"]);
    assert_eq!((world.base(), world.traces()), (x(1), vec![]));
}

// B-015, B-054: of what is too long for a note, only a digest is known.
#[test]
fn an_edit_of_a_long_text_during_creation_is_told_as_what_it_is() {
    let [first, second] = ["x", "y"].map(|letter| json!(letter.repeat(5000)));
    for (edited, told) in [(second, true), (first.clone(), false), (Value::Null, true)] {
        let mut world = World::new([create("c1"), create("c2"), update("u"), field("f", "spec.x")]);
        world.edit(json!({"spec": {"script": first}}));
        world.answer("c2", [wait(60)]).settle();
        world.edit(json!({"spec": {"script": edited, "x": 2}})).settle();
        world.pass(60).settle();
        let made = |id: &str| world.calls.iter().filter(|made| made.id == id).collect::<Vec<_>>();
        assert_eq!(
            (made("c1").len(), made("c2").len()),
            (1, 2),
            "no creating handler is called twice"
        );
        let new = made("c2")[1].new["spec"].clone();
        let script = |spec: &Value| spec.get("script").cloned().unwrap_or_default();
        assert_eq!(
            (&new["x"], script(&new)),
            (&json!(1), edited.clone()),
            "a digest is no value"
        );
        let told_of = made("u");
        assert_eq!(told_of.len(), 1);
        assert_eq!(script(&told_of[0].old["spec"]) != script(&told_of[0].new["spec"]), told);
        let fields: Vec<_> = made("f/spec.x")
            .iter()
            .map(|made| (&made.old, &made.new))
            .map(|(old, new)| (old.clone(), new.clone()))
            .collect();
        assert_eq!(fields, [(Value::Null, json!(1)), (json!(1), json!(2))]);
        assert_eq!(script(&world.base()["spec"]), edited);
        assert_eq!(world.traces(), Vec::<String>::new());
    }
}

// B-015, P-8
#[test]
fn a_creation_is_called_once_although_a_filter_is_off_for_a_while() {
    let mut world = World::new([labelled(create("c1"), "off", ABSENT), create("c2"), update("u")]);
    world.answer("c2", [wait(60)]).settle();
    world
        .edit(json!({"metadata": {"labels": {"off": ""}}, "spec": {"x": 2}}))
        .settle();
    world.edit(json!({"metadata": {"labels": null}})).settle();
    world.pass(60).settle();
    assert_eq!(world.changes(), ["c1 null->1", "c2 null->1", "c2 null->1", "u 1->2"]);
    assert_eq!(world.traces(), Vec::<String>::new());
}
