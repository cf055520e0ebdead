use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::intents::criteria::by;
use crate::intents::filters::{Asked, When};

fn valued(mut handler: Handler, criterion: impl Into<Criterion>) -> Handler {
    handler.filters.value = Some(criterion.into());
    handler
}

fn from(mut handler: Handler, criterion: impl Into<Criterion>) -> Handler {
    handler.filters.old = Some(criterion.into());
    handler
}

fn to(mut handler: Handler, criterion: impl Into<Criterion>) -> Handler {
    handler.filters.new = Some(criterion.into());
    handler
}

fn when(mut handler: Handler, condition: impl Fn(&Asked<'_>) -> bool + Send + Sync + 'static) -> Handler {
    handler.filters.when.push(When::new(move |asked| Ok(condition(asked))));
    handler
}

/// A switch that filters of a test look at.
#[derive(Clone, Default)]
struct Switch(Arc<AtomicBool>);

impl Switch {
    fn on() -> Self {
        let switch = Self::default();
        switch.set(true);
        switch
    }

    fn set(&self, on: bool) {
        self.0.store(on, Ordering::SeqCst);
    }

    fn get(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// A handler whose condition panics as long as the switch is on.
fn broken(handler: Handler, switch: &Switch) -> Handler {
    let switch = switch.clone();
    when(handler, move |_| {
        assert!(!switch.get(), "out of order");
        true
    })
}

fn field_of(value: Value) -> Value {
    json!({"spec": {"f": value}})
}

/// Whether the handler is called when `spec.f` goes from one value to another.
fn is_told(handler: &Handler, old: &Value, new: &Value) -> bool {
    let mut world = World::settled([handler.clone(), update("other")]);
    world.annotate(BASE, json!(json!({"spec": {"x": 1, "f": old}}).to_string()));
    world.edit(field_of(new.clone()));
    world.settle();
    world.called().contains(&format!("{} update", handler.id))
}

// F-1: but `when` is asked also where the change is not as it must be, for prematching leaves that out (F-17).
#[test]
fn the_questions_have_an_order_and_end_with_the_first_no() {
    const ALL: [&str; 6] = ["label", "annotation", "value", "old", "new", "when"];
    let asked_until = |denied: &'static str| {
        let log: Arc<Mutex<Vec<&str>>> = Arc::default();
        let note = |name: &'static str| {
            let log = Arc::clone(&log);
            move || {
                log.lock().unwrap().push(name);
                name != denied
            }
        };
        let criterion = |name| {
            let note = note(name);
            by(move |_| note())
        };
        let mut handler = with_field(update("u"), "spec.x");
        handler.filters.labels.push(("a".into(), criterion("label")));
        handler.filters.annotations.push(("a".into(), criterion("annotation")));
        let handler = to(
            from(valued(handler, criterion("value")), criterion("old")),
            criterion("new"),
        );
        let last = note("when");
        let mut world = World::settled([when(handler, move |_| last())]);
        let called = !world.edit(x(2)).plan(false).steps.is_empty();
        assert_eq!(called, denied == "nothing");
        log.lock().unwrap().clone()
    };
    assert_eq!(asked_until("nothing"), ALL);
    assert_eq!(asked_until("when"), ALL);
    assert_eq!(asked_until("new"), ALL);
    assert_eq!(asked_until("old"), ["label", "annotation", "value", "old", "when"]);
    assert_eq!(
        asked_until("value"),
        ["label", "annotation", "value", "value"],
        "either side"
    );
    assert_eq!(asked_until("annotation"), ["label", "annotation"]);
    assert_eq!(asked_until("label"), ["label"]);
}

// F-4
#[test]
fn labels_are_those_of_now_also_for_updates() {
    let mut world = World::settled([labelled(update("u"), "on", "1"), update("other")]);
    let label = |value: Value| json!({"metadata": {"labels": {"on": value}}});
    world.edit(label(json!("1"))).settle();
    assert_eq!(world.called(), ["u update", "other update"], "it has just come");
    world.edit(label(json!("2"))).edit(x(2)).settle();
    assert_eq!(world.called(), ["other update"], "what it was before does not matter");
}

// F-5
#[test]
fn a_field_that_has_just_gone_was_there() {
    for handler in [
        delete("h"),
        Handler {
            deleted: true,
            ..resume("h")
        },
    ] {
        let mut world = World::settled([with_field(handler, "spec.f"), delete("other")]);
        world.annotate(BASE, json!(r#"{"spec":{"x":1,"f":1}}"#));
        world.restart().delete().settle();
        assert_eq!(world.called(), ["h/spec.f delete", "other delete"]);
    }
}

// F-6
#[test]
fn the_value_of_an_update_may_be_on_either_side() {
    let handler = valued(with_field(update("u"), "spec.f"), "v");
    let [v, w, z] = ["v", "w", "z"].map(Value::from);
    assert!(is_told(&handler, &v, &w) && is_told(&handler, &w, &v));
    assert!(!is_told(&handler, &w, &z));
    let mut world = World::settled([handler]);
    world.annotate(BASE, json!(r#"{"spec":{"x":1,"f":"v"}}"#));
    world.edit(field_of(v)).edit(x(2)).settle();
    assert_eq!(world.called(), Vec::<String>::new(), "another field");
}

// F-6, F-7
#[test]
fn what_a_value_was_before_matters_to_handlers_of_changes_only() {
    let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
    let log = Arc::clone(&asked);
    let refusing = by(move |question| {
        log.lock().unwrap().push(question.value.cloned().unwrap_or_default());
        false
    });
    let mut world = World::new([
        valued(with_field(create("refused"), "spec.x"), refusing),
        valued(with_field(create("absent"), "spec.x"), ABSENT),
        valued(with_field(create("one"), "spec.x"), 1),
    ]);
    world.settle();
    assert_eq!(world.called(), ["one/spec.x create"]);
    assert!(
        asked.lock().unwrap().iter().all(|value| *value == json!(1)),
        "never about an old value"
    );

    let was = |handler| valued(with_field(handler, "spec.x"), 1);
    let mut world = World::settled([was(delete("d")), was(field("f", "spec.x")), delete("other")]);
    Arc::make_mut(&mut world.handlers[1]).id = "f/spec.x".into();
    world.edit(x(2)).delete().settle();
    assert_eq!(world.called(), ["f/spec.x delete", "other delete"]);
}

// F-8, F-9
#[test]
fn old_and_new_are_asked_in_addition_to_the_change() {
    let handler = || with_field(update("u"), "spec.f");
    let (one, two, three, none) = (json!(1), json!(2), json!(3), Value::Null);
    let added = to(from(handler(), ABSENT), PRESENT);
    assert!(is_told(&added, &none, &one));
    assert!(!is_told(&added, &one, &two) && !is_told(&added, &one, &none));
    let from_one = from(handler(), 1);
    assert!(is_told(&from_one, &one, &two) && is_told(&from_one, &one, &none));
    assert!(!is_told(&from_one, &two, &three) && !is_told(&from_one, &one, &one));
    let to_two = to(field("h", "spec.f"), 2);
    assert!(is_told(&to_two, &one, &two) && is_told(&to_two, &none, &two));
    assert!(!is_told(&to_two, &two, &one));
    let gone = to(handler(), by(|question| question.value.is_none()));
    assert!(is_told(&gone, &one, &none) && !is_told(&gone, &one, &two));
}

// F-10
#[test]
fn to_be_there_is_a_change() {
    let handler = from(with_field(update("u"), "spec.f"), ABSENT);
    assert!(is_told(&handler, &Value::Null, &json!({})));
}

// F-11
#[test]
fn a_path_through_something_else_is_absent() {
    let handler = with_field(update("u"), "spec.f.b.c");
    let (text, deep) = (json!({"b": "s"}), json!({"b": {"c": 1}}));
    assert!(is_told(&handler, &text, &deep) && is_told(&handler, &deep, &text));
    let only = from(handler, PRESENT);
    assert!(is_told(&only, &deep, &text) && !is_told(&only, &text, &deep));
    let mut world = World::new([with_field(create("c"), "spec.f.b.c")]);
    let came = world.edit(field_of(text)).settle();
    assert!(came.stealth && world.called().is_empty());
}

// F-13
#[test]
fn conditions_see_the_whole_change_even_with_a_field() {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = Arc::clone(&seen);
    let handler = when(with_field(update("u"), "spec.x"), move |asked| {
        let view = asked.view.unwrap();
        let text = |side: &Option<Arc<Value>>| side.as_deref().map_or("none".into(), Value::to_string);
        let line = format!("{} to {}: {}", text(&view.old), text(&view.new), view.diff);
        log.lock().unwrap().push(line);
        true
    });
    World::settled([handler.clone()])
        .edit(json!({"spec": {"x": 2, "y": 1}}))
        .plan(false);
    World::new([handler]).plan(false);
    assert_eq!(
        *seen.lock().unwrap(),
        [
            r#"{"spec":{"x":1}} to {"spec":{"x":2,"y":1}}: add spec.y: 1; change spec.x: 1 -> 2"#,
            r#"none to {"spec":{"x":1}}: add .: {"spec":{"x":1}}"#,
        ]
    );
}

// F-13, B-5
#[test]
fn conditions_see_the_extra_field_of_their_own_handler() {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let seeing = |id: &str| {
        let (id, log) = (id.to_owned(), Arc::clone(&seen));
        move |asked: &Asked<'_>| {
            let diff = &asked.view.unwrap().diff;
            log.lock().unwrap().push(format!("{id}: {diff}"));
            true
        }
    };
    let mut world = World::new([
        when(with_field(update("u"), "status.phase"), seeing("u")),
        when(update("v"), seeing("v")),
    ]);
    world.edit(json!({"status": {"phase": "a", "other": 1}})).settle();
    seen.lock().unwrap().clear();
    world.edit(json!({"status": {"phase": "b", "other": 2}})).plan(false);
    assert_eq!(*seen.lock().unwrap(), [r#"u: change status.phase: "a" -> "b""#, "v: "]);
}

// F-14: Kopf asks several times in a cycle, here once is enough; but each cycle asks anew.
#[test]
fn every_cycle_asks_anew() {
    let (switch, count) = (Switch::default(), Arc::new(Mutex::new(0)));
    let (looked, counted) = (switch.clone(), Arc::clone(&count));
    let mut world = World::settled([when(update("u"), move |_| {
        *counted.lock().unwrap() += 1;
        looked.get()
    })]);
    world.edit(x(2)).cycle();
    world.cycle();
    assert_eq!((*count.lock().unwrap(), world.called()), (2, vec![]));
    switch.set(true);
    world.cycle();
    assert_eq!(
        (*count.lock().unwrap(), world.called()),
        (3, vec!["u update".to_owned()])
    );
}

// F-15
#[test]
fn a_filter_that_fails_fails_its_handler_alone() {
    let switch = Switch::on();
    let mut world = World::settled([broken(update("b"), &switch), update("u")]);
    world.lifecycle = Lifecycle::AllAtOnce;
    let came = world.edit(x(2)).settle();
    assert_eq!(world.called(), ["u update"]);
    assert_eq!((came.done, came.delay), (false, Some(Duration::from_secs(60))));
    let record = world.record("b").unwrap();
    assert_eq!((record.retries, record.finished()), (1, false));
    assert_eq!(
        record.message.as_deref(),
        Some("the filter `when` panicked: out of order")
    );
    // The same again after the backoff, and only then.
    world.pass(59).settle();
    assert_eq!(world.record("b").unwrap().retries, 1);
    world.pass(1).settle();
    assert_eq!(world.record("b").unwrap().retries, 2);
    switch.set(false);
    world.pass(60).settle();
    assert_eq!(world.calls[0].retry, 2, "the failures count");
    assert_eq!(world.called(), ["b update"]);
    assert_eq!((world.base(), world.traces()), (x(2), vec![]));
}

// F-15: whichever filter it is.
#[test]
fn every_filter_may_fail() {
    let panics = || by(|_| panic!("out of order"));
    let field = || with_field(update("u"), "spec.x");
    for (handler, name) in [
        (labelled(update("u"), "a", panics()), "on the label `a`"),
        (valued(field(), panics()), "`value`"),
        (from(field(), panics()), "`old`"),
        (to(field(), panics()), "`new`"),
        (broken(field(), &Switch::on()), "`when`"),
    ] {
        let mut world = World::settled([handler]);
        let id = world.handlers[0].id.clone();
        world.edit(x(2)).settle();
        let message = world.record(&id).unwrap().message.unwrap();
        assert_eq!(message, format!("the filter {name} panicked: out of order"));
        assert_eq!(world.called(), Vec::<String>::new());
    }
}

// F-15, E-7
#[test]
fn failures_of_a_filter_are_limited_like_others() {
    let mut handler = broken(create("c"), &Switch::on());
    handler.limits.retries = Some(2);
    let mut world = World::new([handler]);
    world.settle();
    let came = world.pass(60).settle();
    assert_eq!((came.reason, world.traces()), (Reason::Noop, vec![]));
    assert_eq!(world.base(), x(1), "given up, so handled (C-13)");
}

// F-15: it concerns only the cycles in which the handler would take part.
#[test]
fn a_filter_that_fails_is_no_interest_in_the_object() {
    for handler in [update("u"), delete("d"), resume("r")] {
        let mut world = World::new([broken(handler, &Switch::on())]);
        let came = world.settle();
        assert!(came.stealth && came.finalizer == FinalizerStep::Keep);
        assert_eq!(world.object["metadata"].get("annotations"), None);
    }
}

// F-15
#[test]
fn a_failing_filter_of_a_delete_handler_leaves_the_finalizer_as_it_is() {
    let switch = Switch::on();
    let handlers = || [broken(delete("d"), &switch), create("c")];
    let mut world = World::new(handlers());
    world.settle();
    assert_eq!(world.object["metadata"].get("finalizers"), None);
    let fault = ("d".to_owned(), "the filter `when` panicked: out of order".to_owned());
    assert_eq!(world.plan(false).faults, [fault], "somebody is told");

    let mut world = World::settled(handlers());
    assert_eq!(world.settle().finalizer, FinalizerStep::Keep);
    assert_eq!(world.object["metadata"]["finalizers"], json!([FINALIZER]));
    let came = world.delete().settle();
    assert_eq!((came.released, came.delay), (false, Some(Duration::from_secs(60))));
    assert_eq!(
        (world.plan(false).faults, world.called()),
        (vec![], vec![]),
        "the handler fails for it"
    );
    switch.set(false);
    world.pass(60).cycle();
    assert_eq!(world.called(), ["d delete"]);
    assert_eq!(world.object["metadata"].get("finalizers"), None);
}

// F-17
#[test]
fn prematching_leaves_out_the_reason_and_the_change() {
    for handler in [
        from(with_field(update("h"), "spec.x"), "never"),
        to(field("h", "spec.x"), "never"),
        with_field(update("h"), "spec.x"),
        delete("h"),
        resume("h"),
    ] {
        let mut world = World::new([handler]);
        world.settle();
        assert_eq!(
            (world.called(), world.base()),
            (vec![], x(1)),
            "known, though nobody is called"
        );
    }
    for handler in [
        valued(with_field(update("h"), "spec.x"), "never"),
        with_field(update("h"), "spec.absent"),
        labelled(update("h"), "a", PRESENT),
        when(update("h"), |_| false),
    ] {
        let mut world = World::new([handler]);
        assert!(world.settle().stealth);
        assert_eq!(world.base(), Value::Null);
    }
}

// F-18, Z-4
#[test]
fn deletion_waits_for_what_prematches() {
    let label = |value: Value| json!({"metadata": {"labels": {"on": value}}});
    let mut world = World::new([labelled(delete("d"), "on", PRESENT), create("c")]);
    world.edit(label(json!("1"))).settle();
    assert_eq!(world.object["metadata"]["finalizers"], json!([FINALIZER]));
    world.called();
    assert_eq!(world.edit(label(Value::Null)).cycle().finalizer, FinalizerStep::Remove);
    assert_eq!(world.object["metadata"].get("finalizers"), None);
    assert_eq!(world.delete().settle().reason, Reason::Free);
    assert_eq!(world.called(), Vec::<String>::new());

    let wanted = |handler| World::new([handler]).plan(false).finalizer == FinalizerStep::Add;
    let with_value = |value| valued(with_field(delete("d"), "spec.x"), value);
    assert!(wanted(with_value(1)) && !wanted(with_value(2)));
    assert!(wanted(when(delete("d"), |_| true)) && !wanted(when(delete("d"), |_| false)));
}

// F-9, with C, *Improve on*: what a handler has done stays done, and what is not for it is not told.
#[test]
fn a_handler_of_one_step_is_not_told_of_the_next() {
    let mut world = World::settled([from(with_field(update("u"), "spec.x"), 1), update("slow")]);
    world.lifecycle = Lifecycle::AllAtOnce;
    world.answer("slow", [wait(60), wait(60)]);
    world.edit(x(2)).settle();
    assert_eq!(world.called(), ["u/spec.x update", "slow update"]);
    world.edit(x(3)).settle();
    world.pass(60).settle();
    assert!(world.called().iter().all(|call| call == "slow update"));
    world.edit(x(1)).settle();
    assert!(world.called().iter().all(|call| call == "slow update"));
}
