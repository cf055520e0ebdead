use serde_json::{Value, json};

use super::*;
use crate::actions::execution::Limits;
use crate::arguments::{Daemon, Timer};
use crate::intents::background::{OnPermanent, Restart, Schedule};
use crate::intents::stoppers::Cancellation;
use crate::kind::Kind;
use crate::options::secs;
use crate::structs::references::Reference;

struct Cart;

impl Kind for Cart {
    type Spec = Value;
    type Status = Value;
    type Memo = ();
    const REFERENCE: Reference = Reference {
        group: "shop.example.com",
        version: "v1",
        kind: "Cart",
        plural: "carts",
        namespaced: true,
    };
}

async fn change(_: Change<Cart>) -> HandlerResult {
    Ok(())
}

async fn other_change(_: Change<Cart>) -> HandlerResult {
    Ok(())
}

async fn event(_: Event<Cart>) -> HandlerResult {
    Ok(())
}

async fn look(_: Timer<Cart>) -> HandlerResult {
    Ok(())
}

async fn watch(_: Daemon<Cart>) -> HandlerResult {
    Ok(())
}

fn carts() -> Resource<Cart> {
    Resource::of::<Cart>()
}

fn ids(resource: Resource<Cart>) -> Vec<String> {
    let Registry {
        changes,
        events,
        background,
        ..
    } = resource.into_registry();
    let changes = changes.iter().map(|handler| handler.id.clone());
    let events = events.into_iter().map(|handler| handler.id);
    changes
        .chain(events)
        .chain(background.iter().map(|handler| handler.id.clone()))
        .collect()
}

// H-8: an id is always given, so that it outlives a renamed or moved function.
#[test]
fn ids_are_what_they_are_given_as_whatever_the_function() {
    let resource = carts()
        .on_create("Fill.cart", change, |o| o)
        .on_delete("fill", |_: Change<Cart>| async { HandlerResult::Ok(()) }, |o| o)
        .on_event("seen", event, |o| o)
        .timer("look", look, |o| o.interval(secs(1)));
    assert_eq!(ids(resource), ["Fill.cart", "fill", "seen", "look"]);
}

// H-9, H-16: the edge case is the last of the changes.
#[test]
fn a_field_is_appended_to_the_id() {
    let resource = carts()
        .on_field("f", "spec.size", change, |o| o)
        .on_create("a", change, |o| o.field("spec.size"))
        .on_update("x", change, |o| o.field(["metadata", "labels", "a.b/c"]))
        .on_event("e", event, |o| o.field("spec"))
        .timer("t", look, |o| o.field("spec").interval(secs(1)));
    assert_eq!(
        ids(resource),
        [
            "f/spec.size",
            "a/spec.size",
            "x/metadata.labels.a.b/c",
            "e/spec",
            "t/spec"
        ]
    );
}

// H-12
#[test]
fn timers_and_other_handlers_do_not_share_an_id() {
    let check = |resource: Resource<Cart>| resource.into_registry().check();
    let timer = || carts().timer("t", look, |o| o.interval(secs(1)));
    assert_eq!(
        check(timer().timer("t", look, |o| o.interval(secs(2)))),
        Err("Cart: two daemons or timers have the id `t`".into())
    );
    let message = "Cart: two different functions have the handler id `t`";
    assert_eq!(check(timer().on_create("t", change, |o| o)), Err(message.into()));
    assert_eq!(check(timer().on_event("t", event, |o| o)), Err(message.into()));
    assert_eq!(check(timer().daemon("t", watch, |o| o)), Err(message.into()));
    assert_eq!(
        check(timer().timer("t", look, |o| o.field("spec"))),
        Ok(()),
        "their ids differ"
    );
}

// H-10, H-11
#[test]
fn one_function_may_have_one_id_for_several_reasons() {
    let check = |resource: Resource<Cart>| resource.into_registry().check();
    let filled = || carts().on_create("fill", change, |o| o);
    assert_eq!(check(filled().on_resume("fill", change, |o| o)), Ok(()));
    assert_eq!(
        check(filled().on_resume("fill", other_change, |o| o)),
        Err("Cart: two different functions have the handler id `fill`".into())
    );
}

// H-13
#[test]
fn a_parameter_is_kept_verbatim_and_is_null_by_default() {
    let param = json!({"list": [1, 1.0, null, "x"], "no": {"end": false}});
    let registry = carts()
        .on_create("a", change, |o| o.param(param.clone()))
        .on_create("b", change, |o| o)
        .on_event("e", event, |o| o.param("text"))
        .timer("t", look, |o| o.param(7))
        .into_registry();
    assert_eq!(
        (&registry.changes[0].param, &registry.changes[1].param),
        (&param, &Value::Null)
    );
    assert_eq!(
        (&registry.events[0].param, &registry.background[0].param),
        (&json!("text"), &json!(7))
    );
}

// H-15: what a family does not have does not compile.
#[test]
fn everything_is_unset_by_default() {
    let registry = carts()
        .on_create("c", change, |o| o)
        .on_update("u", change, |o| o)
        .on_field("f", "spec", change, |o| o)
        .on_delete("d", change, |o| o)
        .on_resume("r", change, |o| o)
        .on_event("e", event, |o| o)
        .timer("t", look, |o| o)
        .daemon("m", watch, |o| o)
        .into_registry();
    let timer = Schedule::Timer {
        interval: None,
        idle: None,
        sharp: false,
        on_permanent: OnPermanent::Continue,
    };
    let daemon = Schedule::Daemon {
        restart: Restart::Never,
    };
    let unset = |limits: &Limits| {
        let Limits {
            retries,
            timeout,
            backoff,
            errors,
            interrupt,
        } = limits;
        retries.is_none() && timeout.is_none() && backoff.is_none() && errors.is_none() && *interrupt
    };
    for handler in &registry.changes {
        assert!(!handler.optional && !handler.deleted && !handler.covers_downtime);
        assert!(unset(&handler.limits) && handler.filters.is_empty());
    }
    for (handler, schedule) in registry.background.iter().zip([timer, daemon]) {
        assert!(unset(&handler.limits) && handler.filters.is_empty() && !handler.optional);
        assert!(handler.initial_delay.is_none());
        assert_eq!(
            (handler.cancellation, handler.schedule),
            (Cancellation::default(), schedule)
        );
    }
    assert!(registry.events[0].filters.is_empty());
}

// H-14
#[test]
fn contradicting_options_are_faults_that_name_the_handler() {
    let faults = |resource: Resource<Cart>| resource.into_registry().faults;
    let one = |fault: &str| vec![format!("the handler {fault}")];
    assert_eq!(
        faults(carts().on_create("c", change, |o| o.value(1))),
        one("`c`: `value` needs `field`, whose value it is")
    );
    assert_eq!(
        faults(carts().on_field("f", "spec.x", change, |o| o.value(1).new(2))),
        one("`f/spec.x`: `new` cannot stand beside `value`")
    );
    for on in [Resource::on_create, Resource::on_delete, Resource::on_resume] {
        assert_eq!(
            faults(on(carts(), "h", change, |o: ChangeOptions<Cart>| o
                .field("spec.x")
                .old(1))),
            one("`h/spec.x`: `old` is for update and field handlers only")
        );
    }
    assert_eq!(
        faults(carts().on_event("e", event, |o| o.label("", "x"))),
        one("`e`: `label` has an empty key")
    );
    assert_eq!(
        faults(carts().timer("t", look, |o| o.annotation("a", Value::Null))),
        one("`t`: `annotation` `a` is always a text, never null")
    );
    let fine = carts()
        .on_update("u", change, |o| o.field("spec.x").old(1).new(2))
        .on_field("f", "spec.x", change, |o| o.value(1))
        .on_event("e", event, |o| o.field("spec.x").value(1).label("a", "1"))
        .timer("t", look, |o| o.field("spec.x").value(crate::ABSENT).interval(secs(1)));
    assert_eq!(faults(fine), Vec::<String>::new());
}

// G-12
#[test]
fn an_ending_that_is_spoken_of_all_the_time_is_a_fault() {
    let faults = |polling| {
        let resource = carts().daemon("d", watch, |o| o.cancellation_polling(polling));
        resource.into_registry().faults
    };
    assert_eq!(
        faults(secs(0)),
        ["the handler `d`: `cancellation_polling` is zero: with no time between, the log says nothing else"]
    );
    assert_eq!(faults(secs(1)), Vec::<String>::new());
}
