//! Handlers and their sub-handlers (U).

mod declared;
mod stories;

use super::*;
use crate::configs::progress::{ProgressStorage, StatusProgress};
use crate::intents::filters::When;
use crate::intents::plans::{Each, EachKey};
use crate::structs::state_patches::StatePatch;

fn template() -> Template {
    let Handler {
        function,
        filters,
        limits,
        param,
        each,
        call,
        ..
    } = create("");
    Template {
        function,
        field: None,
        filters,
        limits,
        param,
        each,
        call,
    }
}

fn at(path: &str) -> Template {
    Template {
        field: Some(path.into()),
        ..template()
    }
}

impl World {
    fn want<const N: usize>(&mut self, parent: &str, own: [&str; N]) -> &mut Self {
        self.want_as(parent, own.map(|own| (own, template())))
    }

    fn want_as<const N: usize>(&mut self, parent: &str, subs: [(&str, Template); N]) -> &mut Self {
        let subs = subs.into_iter().map(|(own, template)| (own.to_owned(), template));
        self.subs.insert(parent.into(), subs.collect());
        self
    }

    fn subrefs(&self, id: &str) -> Vec<String> {
        self.record(id).and_then(|record| record.subrefs).unwrap_or_default()
    }
}

fn limited(handler: Handler, limits: Limits) -> Handler {
    Handler { limits, ..handler }
}

fn timeout(seconds: u64) -> Limits {
    Limits {
        timeout: Some(Duration::from_secs(seconds)),
        ..Limits::default()
    }
}

// U-3, U-5, P-10: the edge case of all at once
#[test]
fn all_at_once_takes_one_cycle_and_leaves_no_trace() {
    let mut world = World::new([create("p")]);
    world.lifecycle = Lifecycle::AllAtOnce;
    world.want("p", ["a", "b"]);
    assert!(world.cycle().done);
    assert_eq!(world.called(), ["p create", "p/a create", "p/b create"]);
    let annotations = world.merge["metadata"]["annotations"].as_object().unwrap();
    assert!(annotations.keys().all(|key| !key.contains("/p")), "{annotations:?}");
    assert_eq!(world.traces(), Vec::<String>::new());
}

// U-2, U-5, U-6, U-9, L-6: the edge case of one by one
#[test]
fn by_default_one_sub_handler_is_called_in_each_cycle() {
    let mut world = World::new([create("p")]);
    world.want("p", ["b", "a"]);
    let came = world.cycle();
    assert_eq!((came.done, came.delay), (false, Some(Duration::ZERO)));
    assert_eq!(world.called(), ["p create", "p/b create"]);
    assert_eq!(world.subrefs("p"), ["p/a", "p/b"], "sorted");
    assert_eq!(
        world.traces(),
        ["kopf.zalando.org/p", "kopf.zalando.org/p.a", "kopf.zalando.org/p.b"]
    );
    assert!(world.record("p/b").unwrap().success);
    assert_eq!(world.record("p/a").unwrap().retries, 0, "it is waiting");
    assert!(world.cycle().done);
    assert_eq!(world.called(), ["p create", "p/a create"]);
    assert_eq!(world.traces(), Vec::<String>::new());
    world.settle();
    assert_eq!(world.called(), Vec::<String>::new());
}

// U-5, U-6, U-8, E-4: the edge case of one that is delayed
#[test]
fn a_parent_waits_for_the_first_of_its_sub_handlers() {
    let mut world = World::new([create("p")]);
    world.lifecycle = Lifecycle::AllAtOnce;
    world.want("p", ["a", "b", "c"]);
    world.answer("p/b", [wait(10)]).answer("p/c", [wait(20)]);
    assert_eq!(world.cycle().delay, Some(Duration::from_secs(10)));
    let record = world.record("p").unwrap();
    assert_eq!(record.delayed, world.record("p/b").unwrap().delayed);
    assert_eq!((record.retries, record.message), (0, None), "waiting is no attempt");
    world.called();
    // Others do not hold it up, and it does not hold up them.
    assert_eq!(world.pass(9).cycle().delay, Some(Duration::from_secs(1)));
    assert_eq!(world.called(), Vec::<String>::new());
    assert_eq!(world.pass(1).cycle().delay, Some(Duration::from_secs(10)));
    assert_eq!(world.called(), ["p create", "p/b create"]);
    assert!(world.pass(10).cycle().done);
    assert_eq!(world.called(), ["p create", "p/c create"]);
}

// U-6, U-9: the edge case of a set that shrinks
#[test]
fn the_record_of_a_dropped_sub_handler_goes_at_the_end() {
    let mut world = World::new([create("p")]);
    world.lifecycle = Lifecycle::AllAtOnce;
    world.want("p", ["a", "b", "c"]);
    world.answer("p/b", [wait(10)]).answer("p/c", [wait(10)]).cycle();
    world.answer("p/c", [wait(5)]).want("p", ["a", "c"]);
    assert!(!world.pass(10).cycle().done);
    assert_eq!(world.subrefs("p"), ["p/a", "p/b", "p/c"]);
    assert!(world.record("p/b").is_some(), "until the end");
    world.called();
    assert!(world.pass(5).cycle().done);
    assert_eq!(world.called(), ["p create", "p/c create"]);
    assert_eq!(
        world.merge["metadata"]["annotations"]["kopf.zalando.org/p.b"],
        Value::Null
    );
    assert_eq!(world.traces(), Vec::<String>::new());
    // When nothing is wanted any more, nothing is waited for.
    let mut world = World::new([create("p")]);
    world.want("p", ["a"]).answer("p/a", [wait(10)]).cycle();
    assert!(world.want("p", []).pass(10).cycle().done);
    assert_eq!(world.traces(), Vec::<String>::new());
}

// P-10, U-9: the edge cases of `subrefs`
#[test]
fn subrefs_are_a_sorted_union_and_what_is_absent_is_not_purged() {
    let mut world = World::new([create("p")]);
    let record =
        json!({"retries": 0, "success": false, "failure": false, "purpose": "create", "subrefs": ["p/sub9/2"]});
    world.annotate("kopf.zalando.org/p", json!(record.to_string()));
    world.want("p", ["sub2", "sub1"]).want("p/sub2", ["a"]);
    world.answer("p/sub2/a", [wait(5)]).answer("p/sub1", [wait(5)]);
    world.lifecycle = Lifecycle::AllAtOnce;
    world.cycle();
    assert_eq!(world.subrefs("p"), ["p/sub1", "p/sub2", "p/sub2/a", "p/sub9/2"]);
    assert_eq!(world.subrefs("p/sub2"), ["p/sub2/a"]);
    assert!(world.pass(5).cycle().done);
    let annotations = world.merge["metadata"]["annotations"].as_object().unwrap();
    let purged: Vec<&String> = annotations
        .iter()
        .filter(|(_, text)| text.is_null())
        .map(|(key, _)| key)
        .collect();
    assert_eq!(
        purged,
        [
            "kopf.zalando.org/p",
            "kopf.zalando.org/p.sub1",
            "kopf.zalando.org/p.sub2",
            "kopf.zalando.org/p.sub2.a"
        ]
    );
}

/// Finds nothing whose id it is not told.
#[derive(Debug)]
struct Unsearchable(StatusProgress);

impl ProgressStorage for Unsearchable {
    fn fetch(&self, body: &Body, id: &str, now: Timestamp) -> Option<Record> {
        self.0.fetch(body, id, now)
    }

    fn store(&self, body: &Body, id: &str, record: &Record, patch: &mut StatePatch) {
        self.0.store(body, id, record, patch);
    }

    fn purge(&self, body: &Body, id: &str, patch: &mut StatePatch) {
        self.0.purge(body, id, patch);
    }

    fn clear(&self, essence: &mut Value) {
        self.0.clear(essence);
    }
}

// P-10, B-022: a storage that cannot be searched
#[test]
fn records_that_cannot_be_searched_for_are_found_by_subrefs() {
    let mut world = World::new([create("p"), create("q")]);
    let settings = PersistenceSettings {
        progress: vec![Arc::new(Unsearchable(StatusProgress::new("status.mine")))],
        ..PersistenceSettings::default()
    };
    world.storages = Storages::new(&settings);
    world.lifecycle = Lifecycle::AllAtOnce;
    world.want("p", ["a", "b"]).want("p/a", ["x"]);
    world.answer("p/b", [wait(5)]).answer("q", [wait(9)]).cycle();
    assert!(world.record("p/a/x").is_some());
    world.want("p", ["b"]).pass(5).cycle();
    assert!(world.pass(4).cycle().done);
    assert_eq!(world.object["status"]["mine"], json!({}));
}

// U-4
#[test]
fn a_parent_that_fails_has_no_sub_handlers() {
    let mut world = World::new([create("p")]);
    world.lifecycle = Lifecycle::AllAtOnce;
    world
        .want("p", ["a", "b"])
        .answer("p", [wait(5), ok(), wait(7)])
        .answer("p/a", [wait(1)]);
    world.cycle();
    assert_eq!(
        (world.called(), world.record("p").unwrap().retries),
        (vec!["p create".into()], 1)
    );
    world.pass(5).cycle();
    assert_eq!(world.called(), ["p create", "p/a create", "p/b create"]);
    assert_eq!(world.pass(1).cycle().delay, Some(Duration::from_secs(7)));
    assert_eq!(
        (world.called(), world.record("p").unwrap().retries),
        (vec!["p create".into()], 2)
    );
    assert!(world.pass(7).cycle().done);
    assert_eq!(world.called(), ["p create", "p/a create"]);
    // What is ignored has failed nevertheless.
    let ignored = Limits {
        errors: Some(ErrorsMode::Ignored),
        ..Limits::default()
    };
    let mut world = World::new([limited(create("p"), ignored)]);
    let error = Outcome::Arbitrary { message: "no".into() };
    assert!(world.want("p", ["a"]).answer("p", [error]).cycle().done);
    assert_eq!(world.called(), ["p create"]);
}

// U-4, U-6: an error of the parent that is ignored is none of its sub-handlers'
#[test]
fn an_ignored_error_does_not_give_up_unfinished_sub_handlers() {
    let mut parent = create("p");
    parent.limits.errors = Some(ErrorsMode::Ignored);
    let mut world = World::new([parent]);
    world.lifecycle = Lifecycle::AllAtOnce;
    world.want("p", ["a", "b"]).answer("p/b", [wait(5)]);
    let error = Outcome::Arbitrary { message: "no".into() };
    world.answer("p", [Outcome::Success(None), error]);
    assert!(!world.cycle().done);
    assert!(!world.pass(5).cycle().done, "the second call of the parent has failed");
    assert!(world.pass(60).cycle().done);
    let called = |id: &str| world.calls.iter().filter(|made| made.id == id).count();
    assert_eq!([called("p"), called("p/a"), called("p/b")], [3, 1, 2]);
}

// U-7, E-15
#[test]
fn a_parent_succeeds_with_sub_handlers_that_failed_unless_it_wants_all() {
    for strict in [false, true] {
        let mut world = World::new([create("p"), create("q")]);
        world.lifecycle = Lifecycle::AllAtOnce;
        world.want("p", ["a", "b", "c"]).answer("q", [wait(99)]);
        world.answer("p/a", [give_up()]).answer("p/c", [wait(5)]);
        if strict {
            world.strict.insert("p".into());
        }
        world.cycle();
        // It is told at its next call.
        let plan = world.pass(5).plan(false);
        assert_eq!(plan.failures(0), [("a".to_owned(), "no".to_owned())]);
        world.cycle();
        let record = world.record("p").unwrap();
        assert_eq!((record.success, record.failure, record.retries), (!strict, strict, 1));
        assert_eq!(
            record.message.as_deref(),
            strict.then_some("sub-handlers have failed: p/a: no")
        );
    }
}

// U-7: those of the sub-handlers of a sub-handler are its own
#[test]
fn failures_are_those_of_the_own_sub_handlers() {
    let mut world = World::new([create("p")]);
    world.lifecycle = Lifecycle::AllAtOnce;
    world.want("p", ["a", "b/c", "d"]).want("p/a", ["x"]);
    world
        .answer("p/a/x", [give_up()])
        .answer("p/b/c", [give_up()])
        .answer("p/d", [wait(5)])
        .cycle();
    let plan = world.plan(false);
    assert_eq!(plan.failures(0), [("b/c".to_owned(), "no".to_owned())]);
}

// U-8: with few retries
#[test]
fn waiting_for_sub_handlers_uses_up_no_attempts() {
    let few = |retries| Limits {
        retries: Some(retries),
        ..Limits::default()
    };
    let mut world = World::new([limited(create("p"), few(1))]);
    world.want("p", ["a", "b", "c", "d", "e"]);
    world.settle();
    assert_eq!(world.called().len(), 10);
    assert!(world.calls.iter().all(|made| made.retry == 0));
    // What it fails of itself does.
    let mut world = World::new([limited(create("p"), few(3))]);
    world
        .want("p", ["a"])
        .answer("p", [wait(1), ok(), wait(1), wait(1)])
        .answer("p/a", [wait(1), wait(1)]);
    for _ in 0..5 {
        world.pass(1).cycle();
    }
    assert_eq!(world.called().iter().filter(|call| *call == "p create").count(), 4);
    assert_eq!((world.base(), world.traces()), (x(1), vec![]), "it has failed for good");
}

// L-2, U-8: they keep nobody from their turn
#[test]
fn the_attempts_of_sub_handlers_count_when_handlers_are_chosen() {
    let mut world = World::new([create("p"), create("q")]);
    world
        .want("p", ["a"])
        .answer("p/a", [wait(0), wait(0), ok()])
        .answer("q", [wait(0), ok()]);
    world.settle();
    let turns = ["p", "p/a", "q", "p", "p/a", "q", "p", "p/a"];
    assert_eq!(world.called(), turns.map(|id| format!("{id} create")));
}

// U-8, E-8
#[test]
fn the_timeout_of_a_parent_bounds_its_sub_handlers() {
    let mut world = World::new([limited(create("p"), timeout(12)), create("q")]);
    world.lifecycle = Lifecycle::AllAtOnce;
    world.want("p", ["a", "b"]).answer("q", [wait(99)]);
    world.answer("p/b", [wait(10), wait(10)]).cycle();
    assert!(!world.record("p").unwrap().finished());
    world.pass(10).cycle();
    // It is not waited for what will be too late.
    let record = world.record("p").unwrap();
    assert!(record.failure && record.message.unwrap().starts_with("would time out after 12s"));
    assert_eq!(
        world.traces(),
        ["kopf.zalando.org/p", "kopf.zalando.org/p.a", "kopf.zalando.org/q"]
    );
    assert!(world.pass(89).cycle().done);
    assert_eq!(world.traces(), Vec::<String>::new());
    // Nor is it called again when its time is up.
    let mut world = World::new([limited(create("p"), timeout(12))]);
    world.want("p", ["a"]).answer("p/a", [wait(10)]).cycle();
    world.called();
    assert!(world.pass(20).cycle().done);
    assert_eq!((world.called(), world.traces()), (vec![], vec![]));
}

// U-5: limits and filters of their own
#[test]
fn sub_handlers_have_limits_and_filters_of_their_own() {
    let mut world = World::new([create("p")]);
    world.lifecycle = Lifecycle::AllAtOnce;
    let mut once = template();
    once.limits.retries = Some(1);
    let mut labelled = template();
    labelled.filters.labels.push(("tier".into(), PRESENT));
    let mut broken = template();
    broken.limits.retries = Some(1);
    broken.filters.when.push(When::new(|_| Err("oh".into())));
    world.want_as("p", [("once", once), ("labelled", labelled), ("broken", broken)]);
    world.answer("p/once", [wait(5)]);
    assert!(
        world.cycle().done,
        "a filter that fails is a failure of its handler alone"
    );
    assert_eq!(world.called(), ["p create", "p/once create"]);
}

// U-10
#[test]
fn a_sub_handler_is_told_what_its_parent_is_told_or_a_part_of_it() {
    let mut world = World::settled([field("p", "spec.y")]);
    world.lifecycle = Lifecycle::AllAtOnce;
    world.annotate(BASE, json!("{\"spec\":{\"x\":1,\"y\":{\"a\":1,\"b\":1}}}\n"));
    world.edit(json!({"spec": {"y": {"a": 2, "b": 1}}}));
    let p = "p/spec.y";
    world.want_as(p, [("whole", template()), ("a", at("a")), ("b", at("b"))]);
    world.cycle();
    let told: Vec<(String, Value, Value)> = world
        .calls
        .drain(..)
        .map(|made| (made.id, made.old, made.new))
        .collect();
    let (old, new) = (json!({"a": 1, "b": 1}), json!({"a": 2, "b": 1}));
    assert_eq!(
        told,
        [
            (p.to_owned(), old.clone(), new.clone()),
            (format!("{p}/whole"), old, new),
            (format!("{p}/a"), json!(1), json!(2)),
        ],
        "no suffix, and the field must change"
    );
    // A field that is not there matters to the parent alone.
    let mut gone = with_field(create("c"), "spec.z");
    gone.filters.value = Some(ABSENT);
    let mut world = World::new([gone]);
    world.lifecycle = Lifecycle::AllAtOnce;
    world
        .want_as("c/spec.z", [("any", template()), ("some", at("w"))])
        .cycle();
    assert_eq!(world.called(), ["c/spec.z create", "c/spec.z/any create"]);
}

// U-11
#[test]
fn old_and_new_look_at_both_sides_of_a_change() {
    let mut world = World::settled([update("p")]);
    world.lifecycle = Lifecycle::AllAtOnce;
    let to = |value: i64| {
        let mut template = at("spec.x");
        template.filters.new = Some(crate::intents::criteria::equals(value));
        template
    };
    world.want_as("p", [("two", to(2)), ("three", to(3)), ("other", at("spec.other"))]);
    world.edit(x(2)).cycle();
    assert_eq!(world.changes(), ["p 1->2", "p/two null->null"]);
}

// R-5, U-14
#[test]
fn results_of_a_family_come_as_its_members_finish() {
    let mut world = World::new([create("p")]);
    let result = |text: &str| Outcome::Success(Some(json!(text)));
    world.want("p", ["a", "b"]);
    world.answer("p", [result("p1"), result("p2"), result("p3")]);
    world.answer("p/a", [result("a")]).answer("p/b", [wait(5), result("b")]);
    world.cycle();
    assert_eq!(world.object["status"], json!({"p/a": "a"}));
    world.cycle();
    world.pass(5).cycle();
    assert_eq!(world.object["status"], json!({"p": "p3", "p/a": "a", "p/b": "b"}));
}

// U-2, N-1, H-11
#[test]
fn ids_that_cannot_be_fail_the_parent_for_good() {
    let mut world = World::new([create("p"), create("other")]);
    let failure = |world: &mut World| {
        let mut plan = world.plan(false);
        match world.call(&mut plan, 0) {
            Outcome::Permanent { message } => message,
            outcome => panic!("{outcome:?}"),
        }
    };
    for (own, message) in [
        (["a", "a"], "two sub-handlers have the id `p/a`"),
        (["a", ""], "the id of a sub-handler is empty after `p/`"),
        (
            ["a/b", "a.b"],
            "the ids `p/a/b` and `p/a.b` of sub-handlers share the annotation name `p.a.b`",
        ),
    ] {
        assert_eq!(failure(world.want("p", own)), message);
    }
    world.handlers[1] = Arc::new(create("p/x"));
    assert_eq!(
        failure(world.want("p", ["x"])),
        "the sub-handler `p/x` and the handler `p/x` share the annotation name `p.x`"
    );
    // B-057: anything else will do.
    world.want("p", ["192.168.0.1:80", "größe", "a b", "10.0.0.0/8"]);
    world.lifecycle = Lifecycle::AllAtOnce;
    world.answer("p/größe", [wait(5)]);
    world.cycle();
    assert!(world.record("p/größe").is_some() && world.record("p/192.168.0.1:80").is_some());
    assert!(world.pass(5).cycle().done);
    // A field that nobody looks at.
    let mut world = World::new([create("p")]);
    world.want_as("p", [("a", at("status.phase"))]);
    assert!(failure(&mut world).starts_with("changes of `status.phase` are seen only if"));
}

// U-2: nested without end
#[test]
fn nesting_has_an_end() {
    let mut world = World::new([create("p")]);
    world.lifecycle = Lifecycle::AllAtOnce;
    let mut id = "p".to_owned();
    for _ in 0..9 {
        world.want(&id, ["n"]);
        id += "/n";
    }
    assert!(world.cycle().done);
    assert_eq!(world.called().len(), 9, "one, and eight below it");
    let mut world = World::new([create("q")]);
    world.want("q", ["n"]).want("q/n", ["n"]).answer("q/n/n", [wait(5)]);
    world.cycle();
    assert_eq!(world.subrefs("q"), ["q/n", "q/n/n"], "at any depth");
}
