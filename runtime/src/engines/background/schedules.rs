//! What follows an attempt: the same series of attempts goes on, or a new one begins, or the handler is over (G-4, T-3
//! to T-6, T-10, T-12).

use std::time::Duration;

use tokio::time::Instant;

use crate::actions::execution::{SHORTEST_DELAY, Verdict};
use crate::intents::background::{OnPermanent, Restart, Schedule};

/// What follows an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The next attempt of the series.
    Retry(Duration),
    /// The first attempt of a new series.
    Anew(Duration),
    /// The first attempt of a new series, once the object has changed.
    WhenDisturbed,
    Over,
}

/// What an attempt is followed by. A daemon is started again after `pause`; the grid of a sharp timer begins at `grid`.
pub(super) fn next(schedule: &Schedule, verdict: &Verdict, pause: Duration, grid: Instant, now: Instant) -> Next {
    let failed = match verdict {
        Verdict::Retry(delay) => return Next::Retry((*delay).max(SHORTEST_DELAY)),
        Verdict::Failure(_) => true,
        Verdict::Success => false,
    };
    match *schedule {
        Schedule::Daemon { restart } => match restart {
            Restart::Always => Next::Anew(pause.max(SHORTEST_DELAY)),
            Restart::OnFailure if failed => Next::Anew(pause.max(SHORTEST_DELAY)),
            Restart::OnFailure | Restart::Never => Next::Over,
        },
        Schedule::Timer {
            on_permanent: OnPermanent::Stop,
            ..
        } if failed => Next::Over,
        Schedule::Timer {
            interval: Some(interval),
            sharp,
            ..
        } => {
            let interval = interval.max(SHORTEST_DELAY);
            Next::Anew(if sharp {
                until_grid(grid, interval, now)
            } else {
                interval
            })
        }
        Schedule::Timer { idle: Some(_), .. } => Next::WhenDisturbed,
        Schedule::Timer { .. } => Next::Over,
    }
}

/// The time to the next point of the grid `start + n × interval` that lies ahead of `now`; the interval is not zero.
fn until_grid(start: Instant, interval: Duration, now: Instant) -> Duration {
    let into = (now - start).as_nanos() % interval.as_nanos();
    interval.saturating_sub(Duration::from_nanos(u64::try_from(into).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn secs(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    // T-3
    #[test]
    fn sharp_timers_keep_to_the_grid() {
        let start = Instant::now();
        let at = |seconds: f64| until_grid(start, secs(1), start + Duration::from_secs_f64(seconds));
        assert_eq!(at(0.3), Duration::from_millis(700));
        assert_eq!(at(1.0), secs(1), "a call as long as the interval starts at 0 and 2");
        assert_eq!(at(2.25), Duration::from_millis(750), "no drift after a slow call");
    }

    // G-6, G-8, T-4, T-5, T-10, T-12
    #[test]
    fn what_follows_depends_on_the_schedule_and_the_verdict() {
        let now = Instant::now();
        let verdicts = [
            Verdict::Retry(secs(3)),
            Verdict::Failure("no".to_owned()),
            Verdict::Success,
        ];
        let all = |schedule: Schedule| {
            let [retry, failure, success] = verdicts
                .each_ref()
                .map(|verdict| next(&schedule, verdict, secs(7), now, now));
            assert_eq!(retry, Next::Retry(secs(3)), "{schedule:?}");
            [failure, success]
        };
        let daemon = |restart| all(Schedule::Daemon { restart });
        assert_eq!(daemon(Restart::Never), [Next::Over, Next::Over]);
        assert_eq!(daemon(Restart::OnFailure), [Next::Anew(secs(7)), Next::Over]);
        assert_eq!(daemon(Restart::Always), [Next::Anew(secs(7)), Next::Anew(secs(7))]);
        let timer = |interval, idle, on_permanent| {
            all(Schedule::Timer {
                interval,
                idle,
                sharp: false,
                on_permanent,
            })
        };
        let (some, then) = (Some(secs(5)), OnPermanent::Continue);
        assert_eq!(timer(some, None, then), [Next::Anew(secs(5)), Next::Anew(secs(5))]);
        assert_eq!(timer(some, some, OnPermanent::Stop), [Next::Over, Next::Anew(secs(5))]);
        assert_eq!(timer(None, some, then), [Next::WhenDisturbed, Next::WhenDisturbed]);
        assert_eq!(timer(None, None, then), [Next::Over, Next::Over]);
    }
}
