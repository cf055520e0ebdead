//! How long timers are waited for: two calls of each, within reason.

use std::time::Duration;

use kopf_gen::model::Timer;

/// What all timers of one object together may take.
pub(super) const BUDGET: Duration = Duration::from_secs(15);

/// What a call may be late.
const SLACK: Duration = Duration::from_secs(3);

/// What is waited for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WaitingPlan {
    /// How many calls of which timer.
    pub(super) calls: Vec<(String, usize)>,
    /// When to give up.
    pub(super) limit: Duration,
    /// What is not waited for, and why.
    pub(super) skipped: Vec<(String, String)>,
}

/// Plans the waiting, from the last change of the object on.
pub(super) fn plan<'a>(timers: impl IntoIterator<Item = &'a Timer>) -> WaitingPlan {
    let mut plan = WaitingPlan::default();
    for timer in timers {
        let first = timer
            .initial_delay
            .unwrap_or_default()
            .max(timer.idle.unwrap_or_default());
        let second = timer.interval.map(|interval| first + interval);
        let (calls, last) = match second {
            _ if first > BUDGET => (0, None),
            Some(second) if second <= BUDGET => (2, Some(second)),
            _ => (1, Some(first)),
        };
        if let Some(last) = last {
            plan.calls.push((timer.id.clone(), calls));
            plan.limit = plan.limit.max(last + SLACK);
        }
        match second {
            _ if calls == 0 => plan.skip(
                timer,
                format!("not waited for: its first call comes after {}", shown(first)),
            ),
            Some(_) if calls == 1 => {
                let interval = shown(timer.interval.unwrap_or_default());
                plan.skip(
                    timer,
                    format!("not waited for any longer: it is called again after {interval}"),
                );
            }
            _ => {}
        }
    }
    plan
}

impl WaitingPlan {
    fn skip(&mut self, timer: &Timer, why: String) {
        self.skipped.push((timer.id.clone(), why));
    }

    /// Whether all calls that are waited for have come.
    pub(super) fn is_met(&self, calls: impl Fn(&str) -> usize) -> bool {
        self.calls.iter().all(|(id, wanted)| calls(id) >= *wanted)
    }
}

/// `90s` as `1m30s`.
pub(super) fn shown(duration: Duration) -> String {
    let (seconds, millis) = (duration.as_secs(), duration.subsec_millis());
    if seconds == 0 {
        return format!("{millis}ms");
    }
    if seconds < 60 && millis > 0 {
        return format!("{}s", format!("{seconds}.{millis:03}").trim_end_matches('0'));
    }
    let mut text = String::new();
    for (number, unit) in [(seconds / 3600, 'h'), (seconds / 60 % 60, 'm'), (seconds % 60, 's')] {
        if number > 0 {
            text.push_str(&number.to_string());
            text.push(unit);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use kopf_gen::model::{Filters, Limits};

    use super::*;

    fn timer(id: &str, interval: Option<u64>, idle: Option<u64>, initial: Option<u64>) -> Timer {
        Timer {
            function: id.into(),
            id: id.into(),
            field: None,
            interval: interval.map(Duration::from_secs),
            idle: idle.map(Duration::from_secs),
            sharp: false,
            initial_delay: initial.map(Duration::from_secs),
            limits: Limits::default(),
            filters: Filters::default(),
        }
    }

    #[test]
    fn quick_timers_are_seen_twice_and_slow_ones_once_or_never() {
        let timers = [
            timer("quick", Some(2), None, None),
            timer("slow", Some(60), Some(3), Some(1)),
            timer("late", Some(1), None, Some(60)),
            timer("once", None, None, Some(5)),
        ];
        let plan = plan(&timers);
        assert_eq!(
            plan.calls,
            [("quick".into(), 2), ("slow".into(), 1), ("once".into(), 1)]
        );
        assert_eq!(plan.limit, Duration::from_secs(5) + SLACK);
        let skipped: Vec<_> = plan.skipped.iter().map(|(id, why)| format!("{id} {why}")).collect();
        assert_eq!(
            skipped,
            [
                "slow not waited for any longer: it is called again after 1m",
                "late not waited for: its first call comes after 1m",
            ]
        );
        assert!(!plan.is_met(|_| 1));
        assert!(plan.is_met(|id| if id == "quick" { 2 } else { 1 }));
    }

    #[test]
    fn without_timers_nothing_is_waited_for() {
        let plan = plan(&[]);
        assert!(plan.is_met(|_| 0));
        assert_eq!(plan.limit, Duration::ZERO);
    }

    #[test]
    fn durations_are_short() {
        let texts = [0, 250, 1500, 60_000, 90_000, 3_600_000].map(|millis| shown(Duration::from_millis(millis)));
        assert_eq!(texts, ["0ms", "250ms", "1.5s", "1m", "1m30s", "1h"]);
    }
}
