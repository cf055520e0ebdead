//! What an object has in the indexes of its kind, and what the outcome of an index handler means for that (I-3 to I-12).
//!
//! All of it is in memory only: a restart begins anew.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::actions::execution::{self, Defaults, ErrorsMode, Limits, Moment, Outcome, SHORTEST_DELAY, Verdict};
use crate::configs::progress::Record;
use crate::intents::index_stores::{AnyStore, Contribution};
use crate::intents::invocation::Returned;

/// What is remembered of an object that index handlers have seen.
#[derive(Debug, Default)]
pub(crate) struct Indexed {
    /// The version that was indexed last.
    pub(crate) version: Option<Box<str>>,
    /// By the order of the kind's index handlers.
    places: Box<[Place]>,
}

/// How one handler of one object stands.
#[derive(Debug, Default)]
pub(crate) struct Place {
    /// `None` where the object has no values.
    contribution: Option<Box<dyn Contribution>>,
    /// Where the attempts stand that have failed since the last success.
    failed: Option<Box<Record>>,
}

/// Whether a handler may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// At the next event.
    Ready,
    /// At once, event or not: it has failed, and the wait after that is over (I-11, *Improve on*).
    Due,
    /// Not before this wait is over.
    Waiting(Duration),
    /// Never again, as long as the object lives (I-10).
    Excluded,
}

/// What becomes of an object's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// They become what the handler has returned.
    Replace,
    /// They stay (I-9).
    Keep,
    /// They go (I-10, I-11).
    Clear,
}

/// How an attempt ended.
#[derive(Debug, PartialEq)]
pub(crate) struct Conclusion {
    pub(crate) effect: Effect,
    pub(crate) verdict: Verdict,
    /// What is remembered: only failures are.
    pub(crate) failed: Option<Record>,
}

/// What an outcome means; an arbitrary error is ignored by default (I-9 to I-12).
pub(crate) fn conclude(
    record: Record,
    outcome: Outcome,
    limits: &Limits,
    backoff: Duration,
    moment: Moment,
) -> Conclusion {
    let defaults = Defaults {
        errors: ErrorsMode::Ignored,
        backoff,
    };
    let is_error = outcome.error().is_some();
    let (record, verdict) = execution::conclude(record, outcome, limits, defaults, moment);
    let (effect, failed) = match verdict {
        Verdict::Success if is_error => (Effect::Keep, None),
        Verdict::Success => (Effect::Replace, None),
        Verdict::Failure(_) | Verdict::Retry(_) => (Effect::Clear, Some(record)),
    };
    Conclusion {
        effect,
        verdict,
        failed,
    }
}

impl Indexed {
    /// The places of so many handlers.
    pub(crate) fn places(&mut self, count: usize) -> &mut [Place] {
        if self.places.len() != count {
            self.places = std::iter::repeat_with(Place::default).take(count).collect();
        }
        &mut self.places
    }

    /// How long until a handler is due by itself, if one is.
    pub(crate) fn delay(&self, now: Timestamp) -> Option<Duration> {
        let delay = |place: &Place| match place.standing(now) {
            Standing::Due => Some(SHORTEST_DELAY),
            Standing::Waiting(delay) => Some(delay.max(SHORTEST_DELAY)),
            Standing::Ready | Standing::Excluded => None,
        };
        self.places.iter().filter_map(delay).min()
    }

    /// Whether a handler is to be called again by itself.
    pub(crate) fn is_waiting(&self) -> bool {
        let waits = |place: &Place| place.failed.as_ref().is_some_and(|record| !record.failure);
        self.places.iter().any(waits)
    }

    /// Takes the object out of all indexes, and forgets its failures (I-7, I-10).
    pub(crate) fn leave(&mut self) {
        for place in &mut self.places {
            place.clear();
        }
        *self = Self::default();
    }
}

impl Place {
    pub(crate) fn standing(&self, now: Timestamp) -> Standing {
        match &self.failed {
            None => Standing::Ready,
            Some(record) if record.failure => Standing::Excluded,
            Some(record) => match record.delayed.filter(|delayed| *delayed > now) {
                Some(delayed) => Standing::Waiting(Duration::try_from(delayed.duration_since(now)).unwrap_or_default()),
                None => Standing::Due,
            },
        }
    }

    /// Begins or repeats an attempt: where its series stands. Whatever happens then, it is not repeated by itself
    /// unless [`Place::settle`] says so.
    pub(crate) fn attempt(&mut self, now: Timestamp) -> Record {
        self.failed.take().map_or_else(|| Record::fresh(now), |record| *record)
    }

    /// Takes what an attempt came to.
    pub(crate) fn settle(
        &mut self,
        effect: Effect,
        failed: Option<Record>,
        returned: &Returned,
        store: Arc<dyn AnyStore>,
    ) {
        self.failed = failed.map(Box::new);
        match effect {
            Effect::Keep => {}
            Effect::Clear => self.clear(),
            Effect::Replace => {
                if let Some(entries) = returned.take() {
                    let contribution = self.contribution.get_or_insert_with(|| store.contributor());
                    contribution.take(entries);
                }
                self.contribution.take_if(|contribution| contribution.is_empty());
            }
        }
    }

    /// The object does not belong into the index now: what counts is its next state. An exclusion remains.
    pub(crate) fn withdraw(&mut self) {
        self.failed.take_if(|record| !record.failure);
        self.clear();
    }

    /// Takes the object's values back.
    fn clear(&mut self) {
        if let Some(mut contribution) = self.contribution.take() {
            contribution.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(errors: Option<ErrorsMode>, outcome: Outcome, retries: u32) -> Conclusion {
        let now = Timestamp::UNIX_EPOCH;
        let limits = Limits {
            retries: Some(3),
            errors,
            ..Limits::default()
        };
        let record = Record {
            retries,
            ..Record::fresh(now)
        };
        conclude(
            record,
            outcome,
            &limits,
            Duration::from_secs(60),
            Moment { now, random: 0.0 },
        )
    }

    fn arbitrary() -> Outcome {
        Outcome::Arbitrary {
            message: "down".to_owned(),
        }
    }

    fn temporary() -> Outcome {
        Outcome::Temporary {
            delay: None,
            message: "not yet".to_owned(),
        }
    }

    // I-9 to I-12
    #[test]
    fn outcomes_decide_about_values_and_memory() {
        let of = |errors, outcome, retries| {
            let Conclusion { effect, failed, .. } = after(errors, outcome, retries);
            (effect, failed.map(|record| (record.failure, record.retries)))
        };
        assert_eq!(of(None, Outcome::Success(None), 2), (Effect::Replace, None));
        assert_eq!(of(None, arbitrary(), 1), (Effect::Keep, None), "ignored by default");
        let temporarily = Some(ErrorsMode::Temporary);
        assert_eq!(of(temporarily, arbitrary(), 1), (Effect::Clear, Some((false, 2))));
        assert_eq!(of(temporarily, arbitrary(), 2), (Effect::Clear, Some((true, 3))));
        assert_eq!(
            of(Some(ErrorsMode::Permanent), arbitrary(), 0),
            (Effect::Clear, Some((true, 1)))
        );
        assert_eq!(of(None, temporary(), 0), (Effect::Clear, Some((false, 1))));
        let permanent = Outcome::Permanent {
            message: "never".to_owned(),
        };
        assert_eq!(of(None, permanent, 0), (Effect::Clear, Some((true, 1))));
    }

    // I-10, I-11
    #[test]
    fn a_failure_waits_or_excludes() {
        let now = Timestamp::UNIX_EPOCH;
        let mut indexed = Indexed::default();
        assert!(indexed.places(1)[0].standing(now) == Standing::Ready && !indexed.is_waiting());
        let mut settle = |failed: Option<Record>| {
            indexed.places(1)[0].failed = failed.map(Box::new);
            (
                indexed.places[0].standing(now),
                indexed.delay(now),
                indexed.is_waiting(),
            )
        };
        let minute = Duration::from_secs(60);
        let retried = after(Some(ErrorsMode::Temporary), arbitrary(), 0).failed;
        assert_eq!(settle(retried), (Standing::Waiting(minute), Some(minute), true));
        assert_eq!(
            settle(after(None, temporary(), 0).failed),
            (Standing::Due, Some(SHORTEST_DELAY), true)
        );
        let excluded = after(None, temporary(), 2).failed;
        assert_eq!(settle(excluded), (Standing::Excluded, None, false));
        indexed.places(1)[0].withdraw();
        assert_eq!(
            indexed.places[0].standing(now),
            Standing::Excluded,
            "whatever the filters say"
        );
        indexed.leave();
        assert_eq!(indexed.places(1)[0].standing(now), Standing::Ready, "until it is gone");
    }
}
