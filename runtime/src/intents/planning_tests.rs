//! Stories of objects over several cycles: the harness applies each cycle's patch, as the API server would.

#![expect(clippy::needless_pass_by_value, reason = "tests read better so")]

use std::any::TypeId;
use std::collections::VecDeque;

use serde_json::{Map, json};

use super::*;
use crate::actions::execution::{ErrorsMode, Limits, Outcome, conclude};
use crate::intents::filters::{ABSENT, Filters, PRESENT};
use crate::structs::patches::{PatchContents, merge_into};

const PREFIX: &str = "kopf.zalando.org";
const FINALIZER: &str = "kopf.zalando.org/KopfFinalizerMarker";
const BASE: &str = "kopf.zalando.org/last-handled-configuration";

fn handler(kind: ChangeKind, id: &str) -> Handler {
    struct Function;
    Handler {
        id: id.into(),
        function: TypeId::of::<Function>(),
        kind,
        field: None,
        filters: Filters::default(),
        limits: Limits::default(),
        optional: false,
        deleted: false,
        param: Value::Null,
        call: Arc::new(|_| Box::pin(async { Ok(None) })),
    }
}

fn create(id: &str) -> Handler {
    handler(ChangeKind::Create, id)
}

fn update(id: &str) -> Handler {
    handler(ChangeKind::Update, id)
}

fn delete(id: &str) -> Handler {
    handler(ChangeKind::Delete, id)
}

fn resume(id: &str) -> Handler {
    handler(ChangeKind::Resume, id)
}

fn field(id: &str, path: &str) -> Handler {
    with_field(handler(ChangeKind::Field, id), path)
}

fn with_field(handler: Handler, path: &str) -> Handler {
    Handler {
        id: format!("{}/{path}", handler.id),
        field: Some(path.into()),
        ..handler
    }
}

fn labelled(mut handler: Handler, key: &str, criterion: impl Into<crate::intents::filters::Criterion>) -> Handler {
    handler.filters.labels.push((key.into(), criterion.into()));
    handler
}

fn optional(handler: Handler) -> Handler {
    Handler {
        optional: true,
        ..handler
    }
}

fn ok() -> Outcome {
    Outcome::Success(None)
}

fn wait(seconds: u64) -> Outcome {
    Outcome::Temporary {
        delay: Some(Duration::from_secs(seconds)),
        message: "busy".into(),
    }
}

fn give_up() -> Outcome {
    Outcome::Permanent { message: "no".into() }
}

/// One call of a handler.
#[derive(Clone, Debug, PartialEq)]
struct Made {
    id: String,
    reason: Reason,
    old: Value,
    new: Value,
    retry: u32,
}

/// An object, the operator that looks after it, and the clock.
#[expect(clippy::struct_excessive_bools, reason = "these are independent facts")]
struct World {
    object: Value,
    handlers: Vec<Handler>,
    lifecycle: Lifecycle,
    storages: Storages,
    now: Timestamp,
    noticed_by_listing: bool,
    handled_once: bool,
    deletion_done: bool,
    timers_need: bool,
    /// What the handlers answer, by id; success when nothing is left.
    answers: std::collections::BTreeMap<String, VecDeque<Outcome>>,
    /// What the handlers write, by id.
    writes: std::collections::BTreeMap<String, Value>,
    calls: Vec<Made>,
    /// What the last cycle wrote.
    merge: Value,
}

/// What a cycle came to.
#[derive(Debug, PartialEq)]
struct Came {
    reason: Reason,
    finalizer: FinalizerStep,
    delay: Option<Duration>,
    done: bool,
    released: bool,
    stealth: bool,
}

impl World {
    fn new(handlers: impl IntoIterator<Item = Handler>) -> Self {
        Self {
            object: json!({
                "apiVersion": "g/v1", "kind": "Widget",
                "metadata": {"name": "w", "uid": "u1", "resourceVersion": "1"},
                "spec": {"x": 1},
            }),
            handlers: handlers.into_iter().collect(),
            lifecycle: Lifecycle::Asap,
            storages: Storages::new(PREFIX, FINALIZER),
            now: "2031-02-03T04:05:06Z".parse().unwrap(),
            noticed_by_listing: false,
            handled_once: false,
            deletion_done: false,
            timers_need: false,
            answers: std::collections::BTreeMap::new(),
            writes: std::collections::BTreeMap::new(),
            calls: Vec::new(),
            merge: Value::Null,
        }
    }

    /// The same object, when it was handled before.
    fn settled(handlers: impl IntoIterator<Item = Handler>) -> Self {
        let mut world = Self::new(handlers);
        let needs_finalizer = world.handlers.iter().any(is_mandatory);
        if needs_finalizer {
            world.object["metadata"]["finalizers"] = json!([FINALIZER]);
        }
        world.annotate(BASE, json!("{\"spec\":{\"x\":1}}\n"));
        world
    }

    fn answer(&mut self, id: &str, outcomes: impl IntoIterator<Item = Outcome>) -> &mut Self {
        self.answers.insert(id.into(), outcomes.into_iter().collect());
        self
    }

    fn edit(&mut self, change: Value) -> &mut Self {
        merge_into(&mut self.object, &change);
        self
    }

    fn annotate(&mut self, key: &str, value: Value) {
        self.edit(json!({"metadata": {"annotations": {key: value}}}));
    }

    fn delete(&mut self) -> &mut Self {
        self.edit(json!({"metadata": {"deletionTimestamp": "2031-02-03T04:00:00Z"}}))
    }

    fn pass(&mut self, seconds: i64) -> &mut Self {
        self.now += jiff::SignedDuration::from_secs(seconds);
        self
    }

    fn restart(&mut self) -> &mut Self {
        (self.noticed_by_listing, self.handled_once, self.deletion_done) = (true, false, false);
        self
    }

    fn annotation(&self, key: &str) -> Option<&str> {
        self.object["metadata"]["annotations"].get(key)?.as_str()
    }

    fn base(&self) -> Value {
        self.annotation(BASE)
            .map_or(Value::Null, |text| serde_json::from_str(text).unwrap())
    }

    fn record(&self, id: &str) -> Option<Record> {
        self.storages
            .progress
            .fetch(&Body::new(self.object.clone()), id, self.now)
    }

    /// The annotations under our prefix that are neither the diff-base nor a mark.
    fn traces(&self) -> Vec<String> {
        let annotations = self.object["metadata"]["annotations"]
            .as_object()
            .cloned()
            .unwrap_or_default();
        let ours = annotations
            .into_iter()
            .map(|(key, _)| key)
            .filter(|key| key.starts_with("kopf.zalando.org/"));
        ours.filter(|key| key != BASE && !key.starts_with("kopf.zalando.org/kopf-gen"))
            .collect()
    }

    fn plan(&self, deleted_event: bool) -> Plan {
        let body = Body::new(self.object.clone());
        plan(&Situation {
            body: &body,
            deleted_event,
            handlers: &self.handlers,
            initial: self.noticed_by_listing && !self.handled_once,
            deletion_done: self.deletion_done,
            timers_need: self.timers_need,
            storages: &self.storages,
            now: self.now,
        })
    }

    /// One cycle: plans, calls, stores.
    fn cycle(&mut self) -> Came {
        let plan = self.plan(false);
        let mut own = PatchContents::default();
        let mut finished = Vec::new();
        for index in plan.pick(self.lifecycle, |_| 0) {
            let (done, write) = self.call(&plan, index);
            finished.push(done);
            if let Some(Value::Object(write)) = write {
                crate::structs::patches::compose(&mut own.merge, write);
            }
        }
        let conclusion = finish(&plan, finished, &own, self.now);
        self.handled_once |= conclusion.fully_handled;
        self.deletion_done |= conclusion.done && plan.reason == Reason::Delete;
        self.merge = Value::Object(conclusion.merge);
        let merge = self.merge.clone();
        self.edit(merge);
        let finalizers = match plan.finalizer {
            FinalizerStep::Keep if !conclusion.release_finalizer => None,
            FinalizerStep::Add => Some(json!([FINALIZER])),
            FinalizerStep::Keep | FinalizerStep::Remove => Some(Value::Null),
        };
        if let Some(finalizers) = finalizers {
            self.edit(json!({"metadata": {"finalizers": finalizers}}));
        }
        Came {
            reason: plan.reason,
            finalizer: plan.finalizer,
            delay: conclusion.delay,
            done: conclusion.done,
            released: conclusion.release_finalizer,
            stealth: plan.stealth,
        }
    }

    fn call(&mut self, plan: &Plan, index: usize) -> (Finished, Option<Value>) {
        let step = &plan.steps[index];
        let handler = &self.handlers[step.handler];
        let outcome = if let Readiness::Refused(message) = &step.readiness {
            Outcome::Permanent {
                message: message.clone(),
            }
        } else {
            let value = |value: &Option<Arc<Value>>| value.as_deref().cloned().unwrap_or_default();
            assert_eq!(
                step.diff,
                crate::structs::diffs::diff(step.old.as_deref(), step.new.as_deref()),
                "one story"
            );
            self.calls.push(Made {
                id: step.id.clone(),
                reason: plan.reason,
                old: value(&step.old),
                new: value(&step.new),
                retry: step.record.retries,
            });
            self.answers
                .get_mut(&step.id)
                .and_then(VecDeque::pop_front)
                .unwrap_or_else(ok)
        };
        let result = outcome.result().cloned();
        let backoff = Duration::from_secs(60);
        let (record, verdict) = conclude(
            step.record.clone(),
            outcome,
            &handler.limits,
            ErrorsMode::Temporary,
            backoff,
            self.now,
        );
        (
            Finished {
                step: index,
                record,
                verdict,
                result,
            },
            self.writes.get(&step.id).cloned(),
        )
    }

    /// Cycles until nothing is due for now.
    fn settle(&mut self) -> Came {
        for _ in 0..20 {
            let came = self.cycle();
            let idle = self.merge == json!({}) && came.finalizer == FinalizerStep::Keep && !came.released;
            if idle && came.delay != Some(Duration::ZERO) {
                return came;
            }
        }
        panic!("the cycles do not end: {:?}", self.calls);
    }

    /// The calls since the last look, as `id reason`.
    fn called(&mut self) -> Vec<String> {
        self.calls
            .drain(..)
            .map(|made| format!("{} {}", made.id, made.reason))
            .collect()
    }

    /// The calls since the last look, as `id old->new` of `spec.x`.
    fn changes(&mut self) -> Vec<String> {
        let x = |essence: &Value| essence.pointer("/spec/x").cloned().unwrap_or_default();
        self.calls
            .drain(..)
            .map(|made| format!("{} {}->{}", made.id, x(&made.old), x(&made.new)))
            .collect()
    }
}

fn x(value: u32) -> Value {
    json!({"spec": {"x": value}})
}

mod creation {
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
    fn one_function_for_creating_and_resuming_is_called_once_as_first_registered() {
        let mut world = World::new([create("f"), resume("f")]);
        let plan = world.restart().plan(false);
        assert_eq!(plan.steps.iter().map(|step| step.handler).collect::<Vec<_>>(), [0]);
        world.settle();
        assert_eq!(world.called(), ["f create"]);
    }

    // C-13, E-15
    #[test]
    fn a_permanent_failure_is_handled_and_not_tried_again() {
        let mut world = World::new([create("c1"), create("c2")]);
        world.answer("c1", [give_up()]).settle();
        assert_eq!(world.called(), ["c1 create", "c2 create"]);
        assert_eq!((world.base(), world.traces()), (x(1), vec![]));
    }

    // L-2, L-3
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

    // C, *Lost change*: the edit is told to whoever has handled another state.
    #[test]
    fn an_edit_during_creation_is_told_to_the_handlers_that_are_done() {
        let mut world = World::new([create("c1"), create("c2")]);
        world.answer("c2", [wait(60)]).settle();
        assert_eq!(world.changes(), ["c1 null->1", "c2 null->1"]);
        world.edit(x(2)).settle();
        assert_eq!(world.changes(), ["c1 1->2"]);
        world.pass(60).settle();
        assert_eq!(world.changes(), ["c2 null->2"]);
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
}

mod updates {
    use super::*;

    #[test]
    fn an_edit_is_an_update_from_what_was_handled() {
        let mut world = World::settled([create("c"), update("u")]);
        world.edit(x(2)).settle();
        assert_eq!(world.called(), ["u update"]);
        assert_eq!(world.base(), x(2));
    }

    // C-14
    #[test]
    fn edits_made_meanwhile_are_one_accumulated_update() {
        let mut world = World::settled([update("u")]);
        world.edit(x(2)).edit(x(3)).restart().settle();
        assert_eq!(world.changes(), ["u 1->3"]);
    }

    // B
    #[test]
    fn system_metadata_and_status_are_no_change() {
        let mut world = World::settled([update("u")]);
        world.edit(json!({"metadata": {"generation": 5, "resourceVersion": "9"}, "status": {"x": 1}}));
        let came = world.cycle();
        assert_eq!((came.reason, world.merge.clone()), (Reason::Noop, json!({})));
    }

    // C, *Lost change*
    #[test]
    fn a_handler_that_is_done_is_called_for_an_edit_made_while_others_are_not() {
        let mut world = World::settled([update("u1"), update("u2")]);
        world.answer("u2", [wait(60)]);
        world.edit(x(2)).settle();
        assert_eq!(world.changes(), ["u1 1->2", "u2 1->2"]);
        world.edit(x(3)).settle();
        assert_eq!(world.changes(), ["u1 2->3"]);
        world.pass(60).settle();
        assert_eq!(world.changes(), ["u2 1->3"]);
        assert_eq!((world.base(), world.traces()), (x(3), vec![]));
    }

    // C, *Lost change*
    #[test]
    fn a_handler_that_is_retried_about_a_later_edit_still_sees_what_it_has_handled() {
        let mut world = World::settled([update("u1"), update("u2")]);
        world.answer("u1", [ok(), wait(5)]).answer("u2", [wait(60)]);
        world.edit(x(2)).settle();
        world.changes();
        world.edit(x(3)).settle();
        world.pass(5).edit(x(4)).settle();
        assert_eq!(world.changes(), ["u1 2->3", "u1 2->4"]);
        assert_eq!(world.record("u1").unwrap().retries, 2);
    }

    // C, *Lost change*
    #[test]
    fn a_failure_is_called_again_for_a_later_edit() {
        let mut world = World::settled([update("u1"), update("u2")]);
        world.answer("u1", [give_up()]).answer("u2", [wait(60)]);
        world.edit(x(2)).settle();
        world.edit(x(3)).settle();
        assert_eq!(world.changes(), ["u1 1->2", "u2 1->2", "u1 2->3"]);
    }

    // C, *Revert*
    #[test]
    fn an_edit_that_is_taken_back_is_told_to_those_who_have_applied_it() {
        let mut world = World::settled([update("u1"), update("u2"), update("u3")]);
        world.answer("u3", [wait(60)]);
        world.edit(x(2)).settle();
        assert_eq!(world.changes(), ["u1 1->2", "u2 1->2", "u3 1->2"]);
        let came = world.edit(x(1)).cycle();
        assert_eq!(came.reason, Reason::Update);
        assert_eq!(world.record("u3"), None, "it has not applied anything");
        world.settle();
        assert_eq!(world.changes(), ["u1 2->1", "u2 2->1"]);
        assert_eq!((world.base(), world.traces()), (x(1), vec![]));
    }

    // C, *Revert*
    #[test]
    fn the_next_edit_after_a_taken_back_one_skips_nobody() {
        let mut world = World::settled([update("u1"), update("u2")]);
        world.answer("u2", [wait(60)]);
        world.edit(x(2)).settle();
        world.edit(x(1)).settle();
        world.changes();
        world.edit(x(3)).settle();
        assert_eq!(world.changes(), ["u1 1->3", "u2 1->3"]);
    }

    // C, *Revert*
    #[test]
    fn a_revert_that_fails_is_retried_from_what_was_handled() {
        let mut world = World::settled([update("u1"), update("u2")]);
        world.answer("u1", [ok(), wait(5)]).answer("u2", [wait(60)]);
        world.edit(x(2)).settle();
        let came = world.edit(x(1)).settle();
        assert_eq!(
            (came.reason, came.delay),
            (Reason::Update, Some(Duration::from_secs(5)))
        );
        world.pass(5).settle();
        assert_eq!(world.changes(), ["u1 1->2", "u2 1->2", "u1 2->1", "u1 2->1"]);
        assert_eq!((world.base(), world.traces()), (x(1), vec![]));
    }

    // C, *Revert*: nobody has applied the edit, so nothing is left of it.
    #[test]
    fn an_edit_taken_back_before_anyone_has_applied_it_is_a_noop() {
        let mut world = World::settled([update("u1")]);
        world.answer("u1", [wait(60)]);
        world.edit(x(2)).settle();
        let came = world.edit(x(1)).cycle();
        assert_eq!((came.reason, came.done, world.traces()), (Reason::Noop, true, vec![]));
    }

    // C, *Stale records*
    #[test]
    fn records_go_when_filters_stop_matching() {
        let mut world = World::settled([labelled(update("u1"), "on", PRESENT), update("u2")]);
        world.annotate(
            BASE,
            json!("{\"metadata\":{\"labels\":{\"on\":\"\"}},\"spec\":{\"x\":1}}\n"),
        );
        world.answer("u1", [wait(60)]).answer("u2", [wait(60)]);
        world
            .edit(json!({"metadata": {"labels": {"on": ""}}, "spec": {"x": 2}}))
            .settle();
        assert_eq!(world.record("u1").unwrap().retries, 1);
        world.edit(json!({"metadata": {"labels": {"on": null}}})).settle();
        assert_eq!(world.traces(), ["kopf.zalando.org/u2"]);
        world.edit(json!({"metadata": {"labels": {"on": ""}}})).settle();
        assert_eq!(world.record("u1").unwrap().retries, 1, "a new series");
    }

    // C, *Stale records*
    #[test]
    fn records_go_even_when_nobody_is_interested_any_more() {
        let mut world = World::settled([labelled(update("u"), "on", PRESENT)]);
        world.answer("u", [wait(60)]);
        world.edit(json!({"metadata": {"labels": {"on": ""}}})).settle();
        assert_eq!(world.traces().len(), 1);
        let came = world.edit(json!({"metadata": {"labels": {"on": null}}})).cycle();
        assert!(!came.stealth);
        assert_eq!(world.traces(), Vec::<String>::new());
        assert!(world.cycle().stealth);
    }

    // P-11, improved
    #[test]
    fn records_of_handlers_that_are_gone_from_the_code_are_purged() {
        let mut world = World::settled([update("u")]);
        world.annotate(
            "kopf.zalando.org/renamed",
            json!("{\"retries\":3,\"success\":false,\"failure\":false}"),
        );
        assert_eq!(world.cycle().reason, Reason::Noop);
        assert_eq!(world.traces(), Vec::<String>::new());
    }

    // P-10
    #[test]
    fn sub_handlers_records_are_purged_with_their_parents() {
        let mut world = World::settled([update("p")]);
        let parent = "{\"purpose\":\"update\",\"retries\":1,\"success\":false,\"failure\":false,\"subrefs\":[\"p/a\",\"p/absent\"]}";
        world.annotate("kopf.zalando.org/p", json!(parent));
        world.annotate(
            "kopf.zalando.org/p.a",
            json!("{\"retries\":1,\"success\":true,\"failure\":false}"),
        );
        world.edit(x(2)).cycle();
        assert_eq!(world.traces(), Vec::<String>::new());
        assert_eq!(
            world.merge["metadata"]["annotations"].get("kopf.zalando.org/p.absent"),
            None
        );
    }

    // P-12: "Kill the operator while a handler with retries is half-way".
    #[test]
    fn a_restart_goes_on_with_the_next_attempt_and_repeats_no_success() {
        let mut world = World::settled([update("u1"), update("u2")]);
        world.answer("u2", [wait(20), wait(20)]);
        world.edit(x(2)).settle();
        world.restart().pass(20).settle();
        world.restart().pass(20).settle();
        let retries: Vec<_> = world.calls.iter().map(|made| (made.id.as_str(), made.retry)).collect();
        assert_eq!(retries, [("u1", 0), ("u2", 0), ("u2", 1), ("u2", 2)]);
    }

    // Section 24, trace 3
    #[test]
    fn a_restart_during_retries_mixes_resuming_in_first() {
        let mut world = World::settled([resume("r"), update("u")]);
        world.answer("u", [wait(5), wait(20)]);
        world.edit(x(2)).settle();
        world.pass(5).settle();
        world.called();
        let came = world.restart().settle();
        assert_eq!(
            (world.called(), came.delay),
            (vec!["r update".to_owned()], Some(Duration::from_secs(20)))
        );
        world.pass(20).settle();
        assert_eq!(world.calls[0].retry, 2);
        assert_eq!(world.called(), ["u update"]);
    }

    // P-12, P-16: a cycle that Kopf has begun.
    #[test]
    fn a_cycle_begun_by_kopf_is_finished() {
        let mut world = World::settled([update("u1"), update("u2")]);
        world.edit(x(2));
        world.annotate("kopf.zalando.org/u1", json!("{\"started\":\"2031-02-03T04:00:00.000000+00:00\",\"stopped\":\"2031-02-03T04:00:01.000000+00:00\",\"purpose\":\"update\",\"retries\":1,\"success\":true,\"failure\":false}"));
        world.edit(json!({"status": {"kopf": {"progress": {"u2": {"purpose": "update", "retries": 4}}}}}));
        world.settle();
        assert_eq!(world.calls[0].retry, 4);
        assert_eq!(world.called(), ["u2 update"]);
        assert_eq!(world.object["status"], json!({"kopf": {"progress": {}}}));
    }

    // E-9
    #[test]
    fn a_handler_beyond_its_limits_fails_without_a_call() {
        let mut handler = update("u");
        handler.limits.retries = Some(100);
        let mut world = World::settled([handler]);
        world.annotate(
            "kopf.zalando.org/u",
            json!("{\"purpose\":\"update\",\"retries\":100,\"success\":false,\"failure\":false}"),
        );
        assert!(world.edit(x(2)).cycle().done);
        assert_eq!((world.called(), world.base()), (vec![], x(2)));
    }

    // B-034: a status of one's own is no change.
    #[test]
    fn retries_end_although_the_handler_writes_to_the_status() {
        let mut handler = update("u");
        handler.limits.retries = Some(3);
        let mut world = World::settled([handler]);
        world.answer("u", [wait(5), wait(5), wait(5)]);
        world.writes.insert("u".into(), json!({"status": {"lastError": "now"}}));
        world.edit(x(2)).settle();
        world.pass(5).settle();
        world.pass(5).settle();
        let came = world.pass(5).settle();
        assert_eq!((world.calls.len(), came.reason), (3, Reason::Noop));
    }

    #[test]
    fn a_record_notes_what_was_handled_as_a_patch_of_the_diff_base() {
        let mut world = World::settled([update("u1"), update("u2")]);
        world.edit(json!({"spec": {"x": null, "y": {"z": 1}}})).cycle();
        let record = world.record("u1").unwrap();
        assert_eq!(record.handled, Some(json!({"spec": {"x": null, "y": {"z": 1}}})));
        assert_eq!(world.record("u2").unwrap().handled, None);
        assert!(
            world
                .annotation("kopf.zalando.org/u1")
                .unwrap()
                .ends_with(",\"handled\":{\"spec\":{\"x\":null,\"y\":{\"z\":1}}}}")
        );
    }

    // B-054
    #[test]
    fn large_notes_are_digested_and_still_tell_edits_apart() {
        let mut world = World::settled([update("u1"), update("u2")]);
        world.answer("u2", [wait(60)]);
        world.edit(json!({"spec": {"big": "x".repeat(10_000)}})).settle();
        assert!(world.annotation("kopf.zalando.org/u1").unwrap().len() < 5_000);
        world.settle();
        assert_eq!(world.called(), ["u1 update", "u2 update"]);
        world.edit(json!({"spec": {"x": 7}})).settle();
        assert_eq!(world.changes(), ["u1 1->7"]);
    }
}

mod secrets {
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
}

mod fields {
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
        world.handlers.push(field("f", "status.phase"));
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
}

mod resuming {
    use super::*;

    // C-5, C-8, C-9
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
}

mod deletion {
    use super::*;

    // Z-2, Z-6
    #[test]
    fn a_deletion_waits_for_its_handlers_and_is_then_released() {
        let mut world = World::settled([delete("d1"), delete("d2")]);
        world.answer("d2", [wait(30), give_up()]);
        let came = world.delete().settle();
        assert_eq!(
            (came.reason, came.delay, came.released),
            (Reason::Delete, Some(Duration::from_secs(30)), false)
        );
        world.pass(30);
        // Z: a permanent failure releases all the same; B-042: once, after all.
        assert!(world.cycle().released);
        assert_eq!(world.called(), ["d1 delete", "d2 delete", "d2 delete"]);
        assert_eq!(world.cycle().reason, Reason::Free);
    }

    // C-16
    #[test]
    fn a_deletion_supersedes_an_unfinished_creation_at_once() {
        let mut world = World::new([create("c"), delete("d")]);
        world.answer("c", [wait(600)]).answer("d", [wait(5)]);
        world.settle();
        let came = world.delete().cycle();
        assert_eq!(
            (came.reason, came.delay),
            (Reason::Delete, Some(Duration::from_secs(5)))
        );
        let changed = &world.merge["metadata"]["annotations"];
        assert_eq!(changed["kopf.zalando.org/c"], Value::Null);
        assert!(
            changed["kopf.zalando.org/d"]
                .as_str()
                .unwrap()
                .contains("\"purpose\":\"delete\"")
        );
    }

    // C-15: a success of another purpose is none.
    #[test]
    fn one_function_for_creating_and_deleting_is_called_for_both() {
        let mut world = World::new([create("f"), delete("f"), create("c")]);
        world.answer("c", [wait(600)]).settle();
        world.called();
        world.delete().settle();
        assert_eq!(world.called(), ["f delete"]);
    }

    // Z-12, improved
    #[test]
    fn a_deletion_that_is_done_is_not_done_again_while_timers_end() {
        let mut world = World::settled([delete("d")]);
        world.timers_need = true;
        world.delete().cycle();
        world.edit(json!({"metadata": {"finalizers": [FINALIZER]}}));
        let came = world.edit(json!({"status": {"x": 1}})).cycle();
        assert_eq!(
            (came.reason, came.released, world.merge.clone()),
            (Reason::Delete, true, json!({}))
        );
        world.edit(json!({"metadata": {"finalizers": [FINALIZER]}}));
        world.edit(x(9)).cycle();
        assert_eq!(
            (world.called(), world.merge.clone()),
            (vec!["d delete".to_owned()], json!({}))
        );
    }

    // C-4, Z-5, B-040
    #[test]
    fn an_object_deleted_without_our_finalizer_is_free() {
        let mut world = World::new([create("c"), delete("d")]);
        world.edit(json!({"metadata": {"finalizers": ["other/x"]}}));
        let came = world.delete().cycle();
        assert_eq!(
            (came.reason, came.finalizer, world.merge.clone()),
            (Reason::Free, FinalizerStep::Keep, json!({}))
        );
        assert_eq!(world.called(), Vec::<String>::new());
    }

    // C: a `DELETED` event is the end, whatever the object says.
    #[test]
    fn an_object_that_is_gone_is_not_touched() {
        let mut world = World::settled([delete("d"), update("u")]);
        let plan = world.edit(x(2)).delete().plan(true);
        assert_eq!(
            (plan.reason, plan.finalizer, plan.steps.len()),
            (Reason::Gone, FinalizerStep::Keep, 0)
        );
        let conclusion = finish(&plan, Vec::new(), &PatchContents::default(), world.now);
        assert_eq!(
            (conclusion.merge, conclusion.delay, conclusion.release_finalizer),
            (Map::new(), None, false)
        );
    }

    // Z-9, improved
    #[test]
    fn optional_handlers_see_every_deletion() {
        let mut world = World::settled([optional(delete("o"))]);
        world.edit(json!({"metadata": {"finalizers": ["other/x"]}}));
        world.settle();
        assert_eq!(world.object["metadata"]["finalizers"], json!(["other/x"]));
        let came = world.delete().cycle();
        assert_eq!((came.reason, came.finalizer), (Reason::Delete, FinalizerStep::Keep));
        assert_eq!(world.called(), ["o delete"]);
        assert_eq!(world.cycle().reason, Reason::Free);
        assert_eq!(world.called(), Vec::<String>::new());
    }

    // Z-9, B-040
    #[test]
    fn mandatory_handlers_are_skipped_where_the_finalizer_is_missing() {
        let mut world = World::settled([delete("d"), optional(delete("o"))]);
        world
            .edit(json!({"metadata": {"finalizers": ["other/x"]}}))
            .delete()
            .cycle();
        assert_eq!(world.called(), ["o delete"]);
    }

    // Z-9, improved
    #[test]
    fn a_finalizer_that_is_left_over_gives_optional_handlers_their_chance() {
        let mut world = World::settled([optional(delete("o"))]);
        world.edit(json!({"metadata": {"finalizers": [FINALIZER]}}));
        let came = world.delete().cycle();
        assert!(came.released && came.finalizer == FinalizerStep::Keep);
        assert_eq!(world.called(), ["o delete"]);
    }

    // Z-4
    #[test]
    fn a_finalizer_that_nobody_needs_any_more_is_removed() {
        let mut world = World::settled([labelled(delete("d"), "on", PRESENT), update("u")]);
        world.edit(json!({"metadata": {"labels": {"on": ""}}})).settle();
        let came = world.edit(json!({"metadata": {"labels": null}})).cycle();
        assert_eq!(
            (came.finalizer, came.done, world.merge.clone()),
            (FinalizerStep::Remove, false, json!({}))
        );
        world.settle();
        world.called();
        assert_eq!(world.delete().cycle().reason, Reason::Free);
        assert_eq!(world.called(), Vec::<String>::new());
    }

    // Z-2, Z-3, Z-4 for objects that only timers look after (F-20)
    #[test]
    fn timers_need_the_finalizer_without_any_handler() {
        let mut world = World::new([]);
        world.timers_need = true;
        let came = world.cycle();
        assert_eq!((came.finalizer, came.stealth), (FinalizerStep::Add, true));
        assert_eq!(world.cycle().finalizer, FinalizerStep::Keep);
        assert_eq!(world.delete().plan(false).finalizer, FinalizerStep::Keep);
        world.timers_need = false;
        assert_eq!(world.cycle().finalizer, FinalizerStep::Remove);
    }

    // Z-1 to Z-5: the whole table.
    #[test]
    fn the_finalizer_step_follows_need_and_presence() {
        for reason in [Reason::Create, Reason::Update, Reason::Resume, Reason::Noop] {
            for work in [false, true] {
                assert_eq!(finalizer_step(reason, true, false, work), FinalizerStep::Add);
                assert_eq!(finalizer_step(reason, false, true, work), FinalizerStep::Remove);
                assert_eq!(finalizer_step(reason, true, true, work), FinalizerStep::Keep);
                assert_eq!(finalizer_step(reason, false, false, work), FinalizerStep::Keep);
            }
        }
        for bits in 0..8 {
            let (needed, present, work) = (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0);
            let step = finalizer_step(Reason::Delete, needed, present, work);
            assert_eq!(step == FinalizerStep::Remove, !needed && present && !work);
            for reason in [Reason::Free, Reason::Gone] {
                assert_eq!(finalizer_step(reason, needed, present, work), FinalizerStep::Keep);
            }
        }
    }

    // F-18
    #[test]
    fn a_deletion_is_awaited_by_mandatory_handlers_that_match() {
        let body = Body::new(json!({"metadata": {"labels": {"on": ""}}, "spec": {"x": 1}}));
        let awaited = |handler: Handler| deletion_is_awaited(&[handler], &body);
        assert!(awaited(delete("d")) && awaited(with_field(delete("d"), "spec.x")));
        assert!(!awaited(optional(delete("d"))) && !awaited(labelled(delete("d"), "on", ABSENT)));
        assert!(!awaited(update("u")) && !awaited(with_field(delete("d"), "spec.y")));
    }
}

mod stealth {
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
}

mod results {
    use super::*;

    // R-1, R-2, R-3
    #[test]
    fn results_of_several_cycles_stand_side_by_side() {
        let mut world = World::new([create("h1"), with_field(create("h2"), "spec.x")]);
        world.answer("h1", [Outcome::Success(Some(json!({"a": 1})))]);
        world.answer("h2/spec.x", [Outcome::Success(Some(json!(100)))]);
        world.settle();
        assert_eq!(world.object["status"], json!({"h1": {"a": 1}, "h2/spec.x": 100}));
    }

    // R-2
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

    // R-2
    #[test]
    fn errors_and_nothing_deliver_nothing() {
        let mut world = World::new([create("h1"), create("h2"), create("h3")]);
        world
            .answer("h1", [give_up()])
            .answer("h2", [Outcome::Success(Some(Value::Null))]);
        world.settle();
        assert_eq!(world.object.get("status"), None);
    }
}

// P-7: one reading of the clock decides about selection and delay alike.
#[test]
fn a_handler_that_is_due_right_now_is_awake() {
    let mut world = World::settled([update("u")]);
    world.answer("u", [wait(0)]);
    assert_eq!(world.edit(x(2)).cycle().delay, Some(Duration::ZERO));
    assert_eq!(world.plan(false).steps[0].readiness, Readiness::Awake);
}

// L-1
#[test]
fn only_due_steps_are_picked() {
    let mut world = World::settled([update("u1"), update("u2"), update("u3")]);
    world.lifecycle = Lifecycle::AllAtOnce;
    world.answer("u1", [wait(60)]).answer("u3", [wait(0)]);
    world.edit(x(2)).cycle();
    assert_eq!(world.plan(false).pick(Lifecycle::AllAtOnce, |_| 0), [2]);
}

// A: what raw-event handlers wrote is sent although the finalizer comes first.
#[test]
fn a_preempted_cycle_keeps_what_was_gathered() {
    let world = World::new([delete("d")]);
    let own = PatchContents {
        merge: x(5).as_object().unwrap().clone(),
        functions: Vec::new(),
    };
    let conclusion = finish(&world.plan(false), Vec::new(), &own, world.now);
    assert_eq!((Value::Object(conclusion.merge), conclusion.done), (x(5), false));
}

// N-7
#[test]
fn a_replica_set_does_not_take_its_deployments_state_for_its_own() {
    let mut world = World::new([create("c")]);
    world.edit(json!({"kind": "ReplicaSet", "metadata": {"ownerReferences": [{"kind": "Deployment"}]}}));
    world.annotate(BASE, json!("{\"spec\":{}}"));
    world.annotate(
        "kopf.zalando.org/kopf-gen",
        json!("{\"uid\":\"of-the-deployment\",\"v\":1}"),
    );
    world.settle();
    assert_eq!(world.called(), ["c create"]);
    assert_eq!(
        world.annotation(BASE),
        Some("{\"spec\":{}}"),
        "it would be copied again and again"
    );
    assert!(
        world
            .annotation("kopf.zalando.org/last-handled-configuration-ofDRS")
            .is_some()
    );
}

// C, *Improve on*: whatever happens in whatever order, each handler is told a gapless story up to the last state.
#[test]
fn no_change_is_lost_or_told_twice() {
    for seed in 0..500_u64 {
        let mut state = seed;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let ids = ["u1", "u2", "u3"];
        let mut world = World::settled(ids.map(update).into_iter().chain([field("f", "spec.x"), resume("r")]));
        world.lifecycle =
            [Lifecycle::Asap, Lifecycle::AllAtOnce, Lifecycle::OneByOne][usize::try_from(random(3)).unwrap()];
        let told = ["u1", "u2", "u3", "f/spec.x"];
        // What each handler was told last and has finished with.
        let mut known: std::collections::BTreeMap<&str, Value> = told.map(|id| (id, json!(1))).into();
        for step in 0..40 {
            let ending = step >= 30;
            match random(if ending { 2 } else { 5 }) {
                0 => drop(world.pass(i64::try_from(random(8)).unwrap())),
                1 => {
                    let outcome = |dice| {
                        if dice < 4 {
                            wait(5)
                        } else if dice < 5 {
                            give_up()
                        } else {
                            ok()
                        }
                    };
                    for id in told {
                        let dice = if ending { 9 } else { random(10) };
                        world.answer(id, [outcome(dice)]);
                    }
                    world.cycle();
                    for made in std::mem::take(&mut world.calls).iter().filter(|made| made.id != "r") {
                        let finished = world.answers[&made.id].is_empty();
                        let x = |value: &Value| value.pointer("/spec/x").unwrap_or(value).clone();
                        assert!(finished);
                        assert_ne!(x(&made.old), x(&made.new), "seed {seed}: {made:?}");
                        let handled = world.record(&made.id).is_none_or(|record| record.finished());
                        // A failed attempt may be repeated from an older state, never from a newer one.
                        if handled {
                            assert_eq!(x(&made.old), known[made.id.as_str()], "seed {seed}: {made:?}");
                            let id = told.into_iter().find(|id| *id == made.id).unwrap();
                            known.insert(id, x(&made.new));
                        }
                    }
                }
                2 => drop(world.restart()),
                _ => drop(world.edit(x(u32::try_from(1 + random(3)).unwrap()))),
            }
        }
        world.pass(100);
        world.answers.clear();
        world.settle();
        for made in world.calls.iter().filter(|made| made.id != "r") {
            let x = |value: &Value| value.pointer("/spec/x").unwrap_or(value).clone();
            assert_eq!(x(&made.old), known[made.id.as_str()], "seed {seed}: {made:?}");
            known.insert(told.into_iter().find(|id| *id == made.id).unwrap(), x(&made.new));
        }
        let last = world.object["spec"]["x"].clone();
        assert!(
            known.values().all(|value| *value == last),
            "seed {seed}: {known:?} {last}"
        );
        assert_eq!(
            (world.base(), world.traces()),
            (json!({"spec": {"x": last}}), vec![]),
            "seed {seed}"
        );
    }
}
