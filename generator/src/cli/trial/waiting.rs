//! How long timers, daemons and indexes are waited for: two calls of each timer, and one of the others, within reason.

use std::time::Duration;

use kopf_gen::model::{Daemon, Entry, Life, Resource, Timer, unset};

use super::screen::duration;

/// What the calls of one of them may take.
const BUDGET: Duration = Duration::from_secs(15);

/// What a call may be late.
const SLACK: Duration = Duration::from_secs(3);

/// What is waited for of one entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Expected {
    pub(super) calls: usize,
    /// When to give up, from the last change of the object on.
    pub(super) within: Duration,
    /// What is not waited for, and why.
    pub(super) note: Option<String>,
}

/// What is waited for of all timers, daemons and indexes of a kind, beside their lists.
pub(super) fn all(kind: &Resource) -> impl Iterator<Item = (&'static str, &Entry, Expected)> {
    let timers = kind.timers.iter().map(|timer| ("timer", &timer.entry, of_timer(timer)));
    let daemons = kind
        .daemons
        .iter()
        .map(|daemon| ("daemon", &daemon.entry, of_daemon(daemon)));
    let indexes = kind.indexes.iter().map(|index| ("index", &index.entry, once(SLACK)));
    timers.chain(daemons).chain(indexes)
}

fn once(within: Duration) -> Expected {
    Expected {
        calls: 1,
        within,
        note: None,
    }
}

/// The stub of a delay function waits for nothing.
fn delay(life: &Life) -> Duration {
    life.longest_delay().unwrap_or_default()
}

fn too_late(first: Duration) -> Option<Expected> {
    let note = || format!("not waited for: its first call comes after {}", duration(first));
    (first > BUDGET).then(|| Expected {
        note: Some(note()),
        ..Expected::default()
    })
}

fn of_daemon(daemon: &Daemon) -> Expected {
    let first = delay(&daemon.life);
    too_late(first).unwrap_or_else(|| once(first + SLACK))
}

fn of_timer(timer: &Timer) -> Expected {
    let first = delay(&timer.life).max(unset(&timer.idle).unwrap_or_default());
    if let Some(expected) = too_late(first) {
        return expected;
    }
    let (calls, last, note) = match unset(&timer.interval) {
        Some(interval) if first + interval <= BUDGET => (2, first + interval, None),
        Some(interval) => {
            let note = format!(
                "not waited for any longer: it is called again after {}",
                duration(interval)
            );
            (1, first, Some(note))
        }
        None => (1, first, None),
    };
    Expected {
        calls,
        within: last + SLACK,
        note,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is waited for of a timer or a daemon.
    fn expected(entry: &str) -> (usize, u64, String) {
        let spec = format!(
            "apiVersion: kopf-gen.dev/v1alpha1\nkind: OperatorSpec\nmetadata: {{name: op}}\nresources:\n\
             - apiVersion: demo.example.com/v1\n  kind: Cart\n  spec: {{a: string}}\n  {entry}\n"
        );
        let generated = kopf_gen::generate("operator.yaml", &spec, &kopf_gen::Options::default());
        let operator = generated.unwrap_or_else(|faults| panic!("{faults}")).operator;
        let (_, _, expected) = all(&operator.resources[0]).next().expect("the entry is one of these");
        (
            expected.calls,
            expected.within.as_secs(),
            expected.note.unwrap_or_default(),
        )
    }

    #[test]
    fn quick_timers_are_seen_twice_and_slow_ones_once_or_never() {
        let slow = "not waited for any longer: it is called again after 1m";
        let late = "not waited for: its first call comes after 1m";
        for (timer, calls, seconds, note) in [
            ("interval: 2s", 2, 5, ""),
            ("idle: 4s, initialDelay: 5s", 1, 8, ""),
            ("interval: 60s, idle: 3s, initialDelay: 1s", 1, 6, slow),
            ("interval: 1s, initialDelay: 60s", 0, 0, late),
            ("interval: 1s, initialDelay: {upTo: 60s}", 0, 0, late),
            ("interval: 1s, initialDelay: {fn: wait}", 2, 4, ""),
        ] {
            let entry = format!("timers: [{{fn: look, {timer}}}]");
            assert_eq!(expected(&entry), (calls, seconds, note.to_owned()), "{timer}");
        }
    }

    #[test]
    fn daemons_and_indexes_are_seen_once() {
        assert_eq!(expected("daemons: [{fn: look, optional: true}]"), (1, 3, String::new()));
        let slow = "daemons: [{fn: look, optional: true, initialDelay: 2s}]";
        assert_eq!(expected(slow), (1, 5, String::new()));
        let late = "daemons: [{fn: look, optional: true, initialDelay: 1h}]";
        let note = "not waited for: its first call comes after 1h";
        assert_eq!(expected(late), (0, 0, note.to_owned()));
        assert_eq!(expected("indexes: [{fn: look}]"), (1, 3, String::new()));
    }
}
