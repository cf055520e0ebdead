//! Timers and daemons.

use std::time::Duration;

use super::{resolve, with_fields};
use crate::model::{Configured, InitialDelay, OnPermanent, Operator, Restart};

fn with(entries: &str) -> Operator {
    resolve(&(with_fields("size: integer") + entries)).0
}

const fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

#[test]
fn delays_are_fixed_or_random_or_decided_by_a_function() {
    let variable = |default| Configured::Environment {
        name: "DELAY".to_owned(),
        default,
    };
    for (given, delay) in [
        ("2s", InitialDelay::Fixed(Configured::Plain(secs(2)))),
        ("{env: DELAY, default: 3}", InitialDelay::Fixed(variable(Some(secs(3))))),
        ("{upTo: 1m}", InitialDelay::UpTo(Configured::Plain(secs(60)))),
        ("{upTo: {env: DELAY}}", InitialDelay::UpTo(variable(None))),
        ("{fn: wait}", InitialDelay::By("wait".to_owned())),
    ] {
        let operator = with(&format!(
            "    daemons: [{{fn: look, optional: true, initialDelay: {given}}}]\n"
        ));
        let resource = &operator.resources[0];
        assert_eq!(resource.daemons[0].life.initial_delay.as_ref(), Some(&delay), "{given}");
        let helpers: Vec<&str> = resource.helpers.iter().map(|helper| helper.name.as_str()).collect();
        assert_eq!(
            helpers == ["wait"],
            delay == InitialDelay::By("wait".to_owned()),
            "{given}"
        );
        let needed = operator.needed_variables();
        assert_eq!(needed.contains("DELAY"), given.contains("{env: DELAY}"), "{given}");
    }
}

#[test]
fn one_delay_function_serves_timers_and_daemons() {
    let operator = with(
        "    timers: [{fn: look, interval: 1m, initialDelay: {fn: wait}}]
    daemons: [{fn: guard, optional: true, initialDelay: {fn: wait}}]
",
    );
    assert_eq!(operator.resources[0].helpers.len(), 1);
}

#[test]
fn choices_are_what_they_say() {
    let restart = |choice: &str| {
        let operator = with(&format!("    daemons: [{{fn: look, optional: true{choice}}}]\n"));
        operator.resources[0].daemons[0].restart.clone()
    };
    assert_eq!(restart(""), None);
    for (choice, expected) in [
        ("never", Restart::Never),
        ("onFailure", Restart::OnFailure),
        ("always", Restart::Always),
    ] {
        assert_eq!(
            restart(&format!(", restart: {choice}")),
            Some(Configured::Plain(expected))
        );
    }
    for (choice, expected) in [("continue", OnPermanent::Continue), ("stop", OnPermanent::Stop)] {
        let operator = with(&format!(
            "    timers: [{{fn: look, interval: 1s, onPermanent: {choice}}}]\n"
        ));
        let given = operator.resources[0].timers[0].on_permanent.clone();
        assert_eq!(given, Some(Configured::Plain(expected)));
    }
}

#[test]
fn only_daemons_that_hold_up_a_deletion_are_warned_of() {
    for (options, warned) in [
        ("", true),
        (", cancellationBackoff: 5s", true),
        (", cancellationTimeout: 5s", false),
        (", optional: true", false),
        (", optional: {env: OPTIONAL, default: true}", true),
        (", enabled: false", false),
    ] {
        let text = with_fields("size: integer") + &format!("    daemons: [{{fn: look{options}}}]\n");
        let (_, warnings) = resolve(&text);
        assert_eq!(warnings.contains("KG056"), warned, "{options}: {warnings}");
    }
}
