//! Stories of objects over several cycles: the harness applies each cycle's patch, as the API server would.

#![expect(clippy::needless_pass_by_value, reason = "tests read better so")]

mod creation;
mod deletion;
mod fields;
mod filters;
mod identity;
mod persisting;
mod results;
mod resuming;
mod secrets;
mod stealth;
mod subhandlers;
mod updates;

use std::any::TypeId;
use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Map, json};

use super::*;
use crate::actions::execution::{Defaults, ErrorsMode, Limits, Moment, Outcome};
use crate::configs::persistence::PersistenceSettings;
use crate::intents::criteria::{ABSENT, Criterion, PRESENT};
use crate::intents::filters::Filters;
use crate::intents::handlers::ChangeKind;
use crate::intents::plans::{Origin, Template, Wants};
use crate::structs::patches::{PatchContents, merge_into};

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
        covers_downtime: false,
        param: Value::Null,
        each: Arc::default(),
        origin: Origin::default(),
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

fn labelled(mut handler: Handler, key: &str, criterion: impl Into<Criterion>) -> Handler {
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
    handlers: Vec<Arc<Handler>>,
    lifecycle: Lifecycle,
    storages: Storages,
    now: Timestamp,
    noticed_by_listing: bool,
    handled_once: bool,
    deletion_done: bool,
    background_needs: bool,
    /// What the handlers answer, by id; success when nothing is left.
    answers: std::collections::BTreeMap<String, VecDeque<Outcome>>,
    /// What the handlers write, by id.
    writes: std::collections::BTreeMap<String, Value>,
    /// The sub-handlers that the handlers want, by id.
    subs: std::collections::BTreeMap<String, Vec<(String, Template)>>,
    /// Those that fail with their sub-handlers.
    strict: BTreeSet<String>,
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
            handlers: handlers.into_iter().map(Arc::new).collect(),
            lifecycle: Lifecycle::Asap,
            storages: Storages::new(&PersistenceSettings::default()),
            now: "2031-02-03T04:05:06Z".parse().unwrap(),
            noticed_by_listing: false,
            handled_once: false,
            deletion_done: false,
            background_needs: false,
            answers: std::collections::BTreeMap::new(),
            writes: std::collections::BTreeMap::new(),
            subs: std::collections::BTreeMap::new(),
            strict: BTreeSet::new(),
            calls: Vec::new(),
            merge: Value::Null,
        }
    }

    /// The same object, when it was handled before.
    fn settled(handlers: impl IntoIterator<Item = Handler>) -> Self {
        let mut world = Self::new(handlers);
        let needs_finalizer = world.handlers.iter().any(|handler| handler.is_mandatory());
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
        let spec: Arc<dyn Any + Send + Sync> = Arc::new(self.object["spec"].clone());
        let memo: crate::intents::memos::Memo = Arc::new(());
        plan(&Situation {
            body: &body,
            spec: &spec,
            memo: &memo,
            deleted_event,
            handlers: &self.handlers,
            initial: self.noticed_by_listing && !self.handled_once,
            deletion_done: self.deletion_done,
            background_needs: self.background_needs,
            storages: &self.storages,
            now: self.now,
        })
    }

    /// Which of the handlers these steps are of.
    fn chosen(&self, steps: &[Step]) -> Vec<usize> {
        let index = |step: &Step| {
            self.handlers
                .iter()
                .position(|handler| Arc::ptr_eq(handler, &step.handler))
        };
        steps.iter().filter_map(index).collect()
    }

    /// One cycle: plans, calls, stores.
    fn cycle(&mut self) -> Came {
        let mut plan = self.plan(false);
        let mut own = PatchContents::default();
        let mut finished = Vec::new();
        for index in plan.pick(None, &self.lifecycle, |_| 0) {
            self.make(&mut plan, index, &mut own, &mut finished);
        }
        let conclusion = finish(&plan, finished, &own, self.now);
        self.handled_once |= conclusion.fully_handled;
        self.deletion_done |= conclusion.release_finalizer && !plan.ground.held;
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

    /// Makes a step, and those of its sub-handlers that are due.
    fn make(&mut self, plan: &mut Plan, index: usize, own: &mut PatchContents, finished: &mut Vec<Finished>) {
        let outcome = self.call(plan, index);
        if let Some(Value::Object(write)) = self.writes.get(plan.steps[index].id()) {
            crate::structs::patches::compose(&mut own.merge, write.clone());
        }
        for child in plan.pick(Some(index), &self.lifecycle, |_| 0) {
            self.make(plan, child, own, finished);
        }
        let defaults = Defaults {
            errors: ErrorsMode::Temporary,
            backoff: Duration::from_secs(60),
        };
        let moment = Moment {
            now: self.now,
            random: 0.5,
        };
        finished.push(settled(plan, index, outcome, finished, defaults, moment));
    }

    fn call(&mut self, plan: &mut Plan, index: usize) -> Outcome {
        let step = &plan.steps[index];
        if let Readiness::Refused(message) = &step.readiness {
            let message = message.clone();
            return Outcome::Permanent { message };
        }
        if let Readiness::Faulty(message) = &step.readiness {
            let message = message.clone();
            return Outcome::Arbitrary { message };
        }
        let value = |value: &Option<Arc<Value>>| value.as_deref().cloned().unwrap_or_default();
        assert_eq!(
            step.diff,
            crate::structs::diffs::diff(step.old.as_deref(), step.new.as_deref()),
            "one story"
        );
        self.calls.push(Made {
            id: step.id().to_owned(),
            reason: plan.reason,
            old: value(&step.old),
            new: value(&step.new),
            retry: step.record.retries,
        });
        let answer = self.answers.get_mut(step.id()).and_then(VecDeque::pop_front);
        let outcome = answer.unwrap_or_else(ok);
        let wants = Wants::of(step.id(), step.kind, plan.failures(index));
        for (own, template) in self.subs.get(step.id()).into_iter().flatten() {
            wants.lock().want(own.clone(), template.clone());
        }
        wants.lock().all_must_succeed = self.strict.contains(step.id());
        if let Outcome::Success(_) = outcome {
            let body = plan.ground.body.clone();
            let spec: Arc<dyn Any + Send + Sync> = Arc::new(self.object["spec"].clone());
            let memo: crate::intents::memos::Memo = Arc::new(());
            let asked = Asked {
                body: &body,
                spec: &spec,
                memo: &memo,
                view: None,
            };
            if let Err(outcome) = plan.branch(index, &wants, &asked, self.now) {
                return outcome;
            }
        }
        outcome
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
    assert_eq!(world.plan(false).pick(None, &Lifecycle::AllAtOnce, |_| 0), [2]);
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
            [Lifecycle::Asap, Lifecycle::AllAtOnce, Lifecycle::OneByOne][usize::try_from(random(3)).unwrap()].clone();
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
