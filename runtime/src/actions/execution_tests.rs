use super::*;

fn start() -> Timestamp {
    "2031-02-03T04:05:06Z".parse().unwrap()
}

fn seconds(count: f64) -> Duration {
    Duration::from_secs_f64(count)
}

fn after(count: f64) -> Timestamp {
    start() + SignedDuration::try_from(seconds(count)).unwrap()
}

fn temporary(delay: Option<f64>) -> Outcome {
    Outcome::Temporary {
        delay: delay.map(seconds),
        message: "busy".into(),
    }
}

fn arbitrary() -> Outcome {
    Outcome::Arbitrary { message: "boom".into() }
}

fn defaults(errors: ErrorsMode) -> Defaults {
    Defaults {
        errors,
        backoff: seconds(60.0),
    }
}

fn moment(count: f64) -> Moment {
    Moment {
        now: after(count),
        random: 0.5,
    }
}

fn concluded(outcome: Outcome, limits: &Limits, errors: ErrorsMode) -> (Record, Verdict) {
    conclude(Record::fresh(start()), outcome, limits, defaults(errors), moment(1.0))
}

/// Calls a handler that always fails temporarily, waiting for each delay; the number of calls and the time of the end.
fn always(delay: f64, limits: &Limits) -> (u32, f64, String) {
    let (mut record, mut time, mut calls) = (Record::fresh(start()), 0.0, 0);
    loop {
        if let Some(message) = refuse(&record, limits, after(time)) {
            return (calls, time, message);
        }
        calls += 1;
        match conclude(
            record,
            temporary(Some(delay)),
            limits,
            defaults(ErrorsMode::Temporary),
            moment(time),
        ) {
            (next, Verdict::Retry(wait)) => {
                time += wait.as_secs_f64();
                record = next;
            }
            (_, Verdict::Failure(message)) => return (calls, time, message),
            (_, Verdict::Success) => panic!("succeeded"),
        }
    }
}

// E-4
#[test]
fn a_success_is_final_and_clears_the_message() {
    let before = Record {
        message: Some("busy".into()),
        delayed: Some(start()),
        retries: 2,
        ..Record::fresh(start())
    };
    let (record, verdict) = conclude(
        before,
        Outcome::Success(Some(serde_json::json!(1))),
        &Limits::default(),
        defaults(ErrorsMode::Temporary),
        moment(5.0),
    );
    assert_eq!(verdict, Verdict::Success);
    let expected = Record {
        stopped: Some(after(5.0)),
        retries: 3,
        success: true,
        ..Record::fresh(start())
    };
    assert_eq!(record, expected);
}

// E-4
#[test]
fn a_permanent_error_is_final_in_every_mode() {
    for mode in [ErrorsMode::Temporary, ErrorsMode::Permanent, ErrorsMode::Ignored] {
        let (record, verdict) = concluded(Outcome::Permanent { message: "no".into() }, &Limits::default(), mode);
        assert_eq!(verdict, Verdict::Failure("no".into()));
        assert!(record.failure && !record.success && record.retries == 1 && record.stopped == Some(after(1.0)));
        assert_eq!(record.message.as_deref(), Some("no"));
    }
}

// E-3
#[test]
fn a_temporary_error_is_retried_in_every_mode() {
    for mode in [ErrorsMode::Temporary, ErrorsMode::Permanent, ErrorsMode::Ignored] {
        let (record, verdict) = concluded(temporary(Some(30.0)), &Limits::default(), mode);
        assert_eq!(verdict, Verdict::Retry(seconds(30.0)));
        assert_eq!(
            (record.delayed, record.retries, record.finished()),
            (Some(after(31.0)), 1, false)
        );
        assert_eq!(record.message.as_deref(), Some("busy"));
    }
}

// E-4, E-5
#[test]
fn the_mode_decides_about_arbitrary_errors() {
    let (record, verdict) = concluded(arbitrary(), &Limits::default(), ErrorsMode::Temporary);
    assert_eq!(
        (verdict, record.delayed),
        (Verdict::Retry(seconds(60.0)), Some(after(61.0)))
    );
    let (record, verdict) = concluded(arbitrary(), &Limits::default(), ErrorsMode::Permanent);
    assert_eq!((verdict, record.failure), (Verdict::Failure("boom".into()), true));
    let (record, verdict) = concluded(arbitrary(), &Limits::default(), ErrorsMode::Ignored);
    assert_eq!(
        (verdict, record.success, record.message),
        (Verdict::Success, true, None)
    );
}

// E-2, E-4
#[test]
fn a_handlers_own_mode_and_backoff_win() {
    let own = Limits {
        errors: Some(ErrorsMode::Temporary),
        backoff: Some(Growth::fixed(seconds(5.0))),
        ..Limits::default()
    };
    let (_, verdict) = concluded(arbitrary(), &own, ErrorsMode::Ignored);
    assert_eq!(verdict, Verdict::Retry(seconds(5.0)));
}

// E-12
#[test]
fn a_temporary_error_without_a_delay_leaves_the_handler_awake() {
    let (record, verdict) = concluded(temporary(None), &Limits::default(), ErrorsMode::Temporary);
    assert_eq!((verdict, record.delayed), (Verdict::Retry(Duration::ZERO), None));
    assert_eq!(record.delay(after(1.0)), Duration::ZERO);
}

// E-12
#[test]
fn a_backoff_of_zero_delays_until_now() {
    let zero = Limits {
        backoff: Some(Growth::fixed(Duration::ZERO)),
        ..Limits::default()
    };
    let (record, verdict) = concluded(arbitrary(), &zero, ErrorsMode::Temporary);
    assert_eq!(
        (verdict, record.delayed),
        (Verdict::Retry(Duration::ZERO), Some(after(1.0)))
    );
}

// E, *Improve on*
#[test]
fn a_growing_backoff_doubles_with_each_attempt_and_chance_never_exceeds_its_limit() {
    let growing = Limits {
        backoff: Some(Growth {
            initial: seconds(2.0),
            max: seconds(20.0),
            jitter: 0.5,
        }),
        ..Limits::default()
    };
    let wait = |retries: u32, random: f64| {
        let record = Record {
            retries,
            ..Record::fresh(start())
        };
        let moment = Moment { now: start(), random };
        match conclude(record, arbitrary(), &growing, defaults(ErrorsMode::Temporary), moment) {
            (record, Verdict::Retry(wait)) => {
                assert_eq!(record.delay(start()), wait, "what is waited is what is recorded");
                wait
            }
            (_, verdict) => panic!("{verdict:?}"),
        }
    };
    let all = |random| [0, 1, 2, 3, 4, 100, u32::MAX].map(|retries| wait(retries, random));
    assert_eq!(all(0.0), [2.0, 4.0, 8.0, 16.0, 20.0, 20.0, 20.0].map(seconds));
    assert_eq!(all(0.5), [2.5, 5.0, 10.0, 20.0, 20.0, 20.0, 20.0].map(seconds));
    assert_eq!(all(1.0), [3.0, 6.0, 12.0, 20.0, 20.0, 20.0, 20.0].map(seconds));
}

// E-8
#[test]
fn the_timeout_looks_ahead_at_the_wait_that_was_drawn() {
    let limits = Limits {
        backoff: Some(Growth {
            initial: seconds(8.0),
            max: seconds(20.0),
            jitter: 1.0,
        }),
        timeout: Some(seconds(10.0)),
        ..Limits::default()
    };
    let verdict = |random| {
        let moment = Moment {
            now: after(1.0),
            random,
        };
        let record = Record::fresh(start());
        conclude(record, arbitrary(), &limits, defaults(ErrorsMode::Temporary), moment).1
    };
    assert_eq!(verdict(0.0), Verdict::Retry(seconds(8.0)));
    assert!(matches!(verdict(0.5), Verdict::Failure(_)));
}

// E-4, E-5, E-12: the operator's own backoff, of zero.
#[test]
fn a_default_backoff_of_zero_delays_until_now() {
    let defaults = Defaults {
        errors: ErrorsMode::Temporary,
        backoff: Duration::ZERO,
    };
    let (record, verdict) = conclude(
        Record::fresh(start()),
        arbitrary(),
        &Limits::default(),
        defaults,
        moment(1.0),
    );
    assert_eq!(
        (verdict, record.delayed),
        (Verdict::Retry(Duration::ZERO), Some(after(1.0)))
    );
}

// E-7
#[test]
fn retries_allow_exactly_so_many_calls_without_a_last_wait() {
    let (calls, time, message) = always(
        1.23,
        &Limits {
            retries: Some(3),
            ..Limits::default()
        },
    );
    assert_eq!((calls, message.as_str()), (3, "would exceed 3 retries: busy"));
    assert!((time - 2.46).abs() < 1e-9, "{time}");
}

// E-8
#[test]
fn a_timeout_ends_as_soon_as_the_next_attempt_would_be_too_late() {
    let (calls, time, message) = always(
        1.23,
        &Limits {
            timeout: Some(seconds(4.0)),
            ..Limits::default()
        },
    );
    assert_eq!((calls, message.as_str()), (4, "would time out after 4s: busy"));
    assert!((time - 3.69).abs() < 1e-9, "{time}");
    let (calls, time, _) = always(
        3.45,
        &Limits {
            timeout: Some(seconds(10.0)),
            ..Limits::default()
        },
    );
    assert_eq!(calls, 3);
    assert!((time - 6.9).abs() < 1e-9, "{time}");
}

// B-036
#[test]
fn a_backoff_beyond_the_timeout_fails_at_once() {
    let limits = Limits {
        timeout: Some(seconds(10.0)),
        ..Limits::default()
    };
    let (record, verdict) = concluded(arbitrary(), &limits, ErrorsMode::Temporary);
    assert_eq!(verdict, Verdict::Failure("would time out after 10s: boom".into()));
    assert!(record.failure && record.delayed.is_none());
}

// E-11
#[test]
fn limits_do_not_overrule_ignored_errors() {
    let limits = Limits {
        retries: Some(1),
        timeout: Some(Duration::ZERO),
        ..Limits::default()
    };
    assert_eq!(concluded(arbitrary(), &limits, ErrorsMode::Ignored).1, Verdict::Success);
}

// E-9
#[test]
fn what_has_reached_its_limits_is_not_called() {
    let limits = |retries: Option<u32>, timeout: Option<f64>| Limits {
        retries,
        timeout: timeout.map(seconds),
        ..Limits::default()
    };
    let used = Record {
        retries: 100,
        ..Record::fresh(start())
    };
    assert_eq!(
        refuse(&used, &limits(Some(100), None), start()).as_deref(),
        Some("exceeded 100 retries")
    );
    assert_eq!(refuse(&used, &limits(Some(101), None), start()), None);
    let old = Record::fresh(start());
    assert_eq!(
        refuse(&old, &limits(None, Some(600.0)), after(600.0)).as_deref(),
        Some("timed out after 600s")
    );
    assert_eq!(refuse(&old, &limits(None, Some(600.0)), after(599.0)), None);
    // Zero means never.
    assert!(refuse(&old, &limits(Some(0), None), start()).is_some());
    assert!(refuse(&old, &limits(None, Some(0.0)), start()).is_some());
}

// E-9, E-6
#[test]
fn a_refusal_counts_as_an_attempt() {
    let used = Record {
        retries: 100,
        ..Record::fresh(start())
    };
    let refused = Outcome::Permanent {
        message: "exceeded 100 retries".into(),
    };
    let (record, _) = conclude(
        used,
        refused,
        &Limits::default(),
        defaults(ErrorsMode::Temporary),
        moment(0.0),
    );
    assert_eq!((record.retries, record.failure), (101, true));
}

// E-16, improved
#[test]
fn long_messages_are_cut_at_a_character() {
    let long = "ä".repeat(1000);
    let (record, verdict) = concluded(
        Outcome::Permanent { message: long.clone() },
        &Limits::default(),
        ErrorsMode::Temporary,
    );
    assert_eq!(record.message.map(|message| message.len()), Some(1024));
    assert_eq!(verdict, Verdict::Failure(long));
    assert_eq!(shortened(&format!("x{}", "ä".repeat(1000))).len(), 1023);
}

#[test]
fn absurd_delays_end_with_time_itself() {
    let forever = Outcome::Temporary {
        delay: Some(Duration::MAX),
        message: String::new(),
    };
    let (record, _) = concluded(forever, &Limits::default(), ErrorsMode::Temporary);
    assert_eq!(record.delayed, Some(Timestamp::MAX));
    assert!(record.delay(start()) > seconds(1e9));
}

// What else a record holds belongs to others.
#[test]
fn purpose_subrefs_and_notes_are_kept() {
    let before = Record {
        purpose: Some("update".into()),
        subrefs: Some(vec!["a".into()]),
        handled: Some(serde_json::json!({})),
        ..Record::fresh(start())
    };
    let outcome = temporary(Some(1.0));
    let (record, _) = conclude(
        before.clone(),
        outcome,
        &Limits::default(),
        defaults(ErrorsMode::Temporary),
        moment(0.0),
    );
    assert_eq!(
        (record.purpose, record.subrefs, record.handled),
        (before.purpose, before.subrefs, before.handled)
    );
}
