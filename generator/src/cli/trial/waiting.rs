//! How long timers are waited for: two calls of each, within reason.

use std::time::Duration;

use kopf_gen::model::{Timer, unset};

use super::screen::duration;

/// What the calls of one timer may take.
const BUDGET: Duration = Duration::from_secs(15);

/// What a call may be late.
const SLACK: Duration = Duration::from_secs(3);

/// What is waited for of one timer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Expected {
    pub(super) calls: usize,
    /// When to give up, from the last change of the object on.
    pub(super) within: Duration,
    /// What is not waited for, and why.
    pub(super) note: Option<String>,
}

pub(super) fn expected(timer: &Timer) -> Expected {
    let time = |option| unset(option).unwrap_or_default();
    let first = time(&timer.initial_delay).max(time(&timer.idle));
    if first > BUDGET {
        let note = format!("not waited for: its first call comes after {}", duration(first));
        return Expected {
            note: Some(note),
            ..Expected::default()
        };
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
    use kopf_gen::model::{Configured, Filters, Limits};

    use super::*;

    #[test]
    fn quick_timers_are_seen_twice_and_slow_ones_once_or_never() {
        let expected = |interval: Option<u64>, idle: Option<u64>, initial: Option<u64>| {
            let time = |seconds: Option<u64>| seconds.map(Duration::from_secs).map(Configured::Plain);
            let expected = expected(&Timer {
                function: "look".into(),
                id: "look".into(),
                field: None,
                interval: time(interval),
                idle: time(idle),
                sharp: None,
                initial_delay: time(initial),
                limits: Limits::default(),
                filters: Filters::default(),
                enabled: None,
                param: None,
                optional: None,
                cancellation_backoff: None,
                cancellation_timeout: None,
            });
            (
                expected.calls,
                expected.within.as_secs(),
                expected.note.unwrap_or_default(),
            )
        };
        assert_eq!(expected(Some(2), None, None), (2, 5, String::new()));
        assert_eq!(expected(None, None, Some(5)), (1, 8, String::new()));
        let slow = "not waited for any longer: it is called again after 1m";
        assert_eq!(expected(Some(60), Some(3), Some(1)), (1, 6, slow.into()));
        let late = "not waited for: its first call comes after 1m";
        assert_eq!(expected(Some(1), None, Some(60)), (0, 0, late.into()));
    }
}
