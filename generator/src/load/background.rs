//! Entries of `timers` and `daemons`.

use std::time::Duration;

use super::environment::{environment, option};
use super::filters::helper;
use super::handler::entry;
use super::keys::{DAEMON, INITIAL_DELAY, TIMER};
use super::reader::{Faults, boolean, choice, duration, mapping, sequence};
use crate::diagnostic::{Code, Diagnostic, wrong_type};
use crate::model::{Configured, HelperArgument, InitialDelay, OnPermanent, Restart};
use crate::spec::{DaemonSpec, EntrySpec, LifeSpec, Mapping, Node, Spanned, TimerSpec};

pub(super) fn timers(node: Option<&Node>, faults: &mut Faults) -> Vec<TimerSpec> {
    sequence(node, "`timers`", faults)
        .iter()
        .filter_map(|node| timer(node, faults))
        .collect()
}

pub(super) fn daemons(node: Option<&Node>, faults: &mut Faults) -> Vec<DaemonSpec> {
    sequence(node, "`daemons`", faults)
        .iter()
        .filter_map(|node| daemon(node, faults))
        .collect()
}

fn timer(node: &Node, faults: &mut Faults) -> Option<TimerSpec> {
    let keys = mapping(node, &TIMER, faults)?;
    let mut entry = entry(node, keys, "the timer", &["value"], faults);
    Some(TimerSpec {
        interval: option(keys, "interval", interval, faults),
        idle: option(keys, "idle", duration, faults),
        sharp: option(keys, "sharp", boolean, faults),
        on_permanent: option(keys, "onPermanent", on_permanent, faults),
        life: life(keys, entry.as_mut(), faults),
        entry: entry?,
    })
}

fn daemon(node: &Node, faults: &mut Faults) -> Option<DaemonSpec> {
    let keys = mapping(node, &DAEMON, faults)?;
    let mut entry = entry(node, keys, "the daemon", &["value"], faults);
    Some(DaemonSpec {
        restart: option(keys, "restart", restart, faults),
        life: life(keys, entry.as_mut(), faults),
        entry: entry?,
    })
}

/// A function in it is noted with those of the filters.
fn life(keys: &Mapping, entry: Option<&mut EntrySpec>, faults: &mut Faults) -> LifeSpec {
    LifeSpec {
        initial_delay: initial_delay(keys, entry, faults),
        cancellation_backoff: option(keys, "cancellationBackoff", duration, faults),
        cancellation_timeout: option(keys, "cancellationTimeout", duration, faults),
        cancellation_polling: option(keys, "cancellationPolling", above_zero, faults),
    }
}

const DELAY_FORMS: &str = "a delay is a duration, {upTo: 30s}, {fn: name} or {env: NAME, default: 30s}";

fn initial_delay(keys: &Mapping, entry: Option<&mut EntrySpec>, faults: &mut Faults) -> Option<Spanned<InitialDelay>> {
    let node = keys.get("initialDelay")?;
    if node.as_mapping().is_none() {
        let plain = duration(node, "`initialDelay`", faults)?;
        return Some(Spanned::new(
            InitialDelay::Fixed(Configured::Plain(plain.value)),
            plain.span,
        ));
    }
    let before = faults.len();
    let keys = mapping(node, &INITIAL_DELAY, faults)?;
    let given: Vec<&str> = ["upTo", "fn", "env"]
        .into_iter()
        .filter(|key| keys.get(key).is_some())
        .collect();
    let has_default = keys.get("default").is_some();
    let delay = match given.as_slice() {
        ["upTo"] if !has_default => InitialDelay::UpTo(option(keys, "upTo", duration, faults)?.value),
        ["fn"] if !has_default => {
            let name = helper(keys.get("fn")?, faults)?;
            if let Some(entry) = entry {
                entry.filters.functions.push((name.clone(), HelperArgument::Delay));
            }
            InitialDelay::By(name.value)
        }
        ["env"] => InitialDelay::Fixed(environment(node, keys, duration, faults)?.value),
        _ if faults.len() > before => return None,
        [] => {
            let fault = wrong_type(
                node.span,
                "`initialDelay`",
                "a duration or one of its forms",
                "a mapping",
            );
            faults.push(fault.help(DELAY_FORMS));
            return None;
        }
        [first, ..] => {
            let message = format!("`{first}` stands alone");
            faults.push(Diagnostic::error(Code::NotAChoice, node.span, message).help(DELAY_FORMS));
            return None;
        }
    };
    Some(Spanned::new(delay, node.span))
}

fn interval(node: &Node, what: &str, faults: &mut Faults) -> Option<Spanned<Duration>> {
    positive(node, what, "write how long to wait between two calls: 30s", faults)
}

fn above_zero(node: &Node, what: &str, faults: &mut Faults) -> Option<Spanned<Duration>> {
    positive(
        node,
        what,
        "write how long to wait between two lines of the log: 60s",
        faults,
    )
}

fn positive(node: &Node, what: &str, help: &str, faults: &mut Faults) -> Option<Spanned<Duration>> {
    let given = duration(node, what, faults)?;
    if given.value.is_zero() {
        let message = format!("{what} must be more than 0");
        faults.push(Diagnostic::error(Code::OutOfRange, given.span, message).help(help));
        return None;
    }
    Some(given)
}

fn on_permanent(node: &Node, what: &str, faults: &mut Faults) -> Option<Spanned<OnPermanent>> {
    let choice = choice(node, what, &["continue", "stop"], faults)?;
    let value = match choice.value.as_str() {
        "stop" => OnPermanent::Stop,
        _ => OnPermanent::Continue,
    };
    Some(Spanned::new(value, choice.span))
}

fn restart(node: &Node, what: &str, faults: &mut Faults) -> Option<Spanned<Restart>> {
    let choice = choice(node, what, &["never", "onFailure", "always"], faults)?;
    let value = match choice.value.as_str() {
        "onFailure" => Restart::OnFailure,
        "always" => Restart::Always,
        _ => Restart::Never,
    };
    Some(Spanned::new(value, choice.span))
}
