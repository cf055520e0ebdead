//! Faults at random, from a seed.

use std::sync::Arc;
use std::time::Duration;

use crate::access::Attributes;
use crate::faults::{Disturbance, Failure, Traffic};
use crate::http::{Api, lock};

/// Replays a run: its value is the seed of every [`Chaos`].
pub(super) const SEED: &str = "KOPF_TESTSERVER_SEED";

/// Faults at random: which requests, how often, and what may happen to them.
///
/// The same seed makes the same choices for the same sequence of requests.
#[derive(Debug, Clone)]
#[must_use]
pub struct Chaos {
    seed: u64,
    random: fastrand::Rng,
    traffic: Traffic,
    rate: f64,
    failures: Vec<Failure>,
}

impl Chaos {
    /// One request in ten, and everything that a sound operator has to live with. The environment variable
    /// `KOPF_TESTSERVER_SEED` replaces the seed.
    pub fn from_seed(seed: u64) -> Self {
        let seed = std::env::var(SEED)
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or(seed);
        let watch = |how| Failure::Watch { after: 3, how };
        Self {
            seed,
            random: fastrand::Rng::with_seed(seed),
            traffic: Traffic::any(),
            rate: 0.1,
            failures: vec![
                Failure::status(500),
                Failure::status(503).over_several_lines(),
                Failure::retry_after(429, 1),
                Failure::status(409),
                Failure::Reset,
                Failure::LostResponse,
                Failure::Cut,
                Failure::Delay(Duration::from_millis(700)),
                watch(Disturbance::Close),
                watch(Disturbance::Break),
                watch(Disturbance::Cut),
                watch(Disturbance::Error(410)),
                watch(Disturbance::Error(500)),
                watch(Disturbance::Malformed),
                watch(Disturbance::Duplicate),
                watch(Disturbance::Late(Duration::from_secs(2))),
            ],
        }
    }

    /// Of these requests only.
    pub fn of(mut self, traffic: Traffic) -> Self {
        self.traffic = traffic;
        self
    }

    /// This share of them, from 0 to 1.
    pub fn rate(mut self, rate: f64) -> Self {
        self.rate = rate;
        self
    }

    /// These failures only.
    pub fn failures(mut self, failures: impl IntoIterator<Item = Failure>) -> Self {
        self.failures = failures.into_iter().collect();
        self
    }

    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    pub(super) fn roll(&mut self, wanted: &Attributes, caller: &str, query: &str) -> Option<Failure> {
        if !self.traffic.includes(wanted, caller, query) || self.random.f64() >= self.rate {
            return None;
        }
        let reads = matches!(wanted.verb.as_str(), "get" | "list" | "watch");
        let may = |failure: &&Failure| {
            // Nothing conflicts with a read.
            failure.concerns(wanted) && !(reads && matches!(failure, Failure::Status { code: 409 | 422, .. }))
        };
        let choice: Vec<_> = self.failures.iter().filter(may).cloned().collect();
        self.random.choice(choice)
    }
}

/// Random faults in effect; dropping it ends them.
#[must_use = "dropping it ends the faults"]
pub struct Mischief {
    api: Arc<Api>,
    seed: u64,
}

impl Mischief {
    pub(super) fn new(api: Arc<Api>, seed: u64) -> Self {
        Self { api, seed }
    }
}

impl Drop for Mischief {
    fn drop(&mut self) {
        let chaos = &mut lock(&self.api.faults).chaos;
        // Not those that came later.
        if chaos.as_ref().is_some_and(|chaos| chaos.seed == self.seed) {
            *chaos = None;
        }
    }
}

impl std::fmt::Debug for Mischief {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Mischief")
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rolls(mut chaos: Chaos, verb: &str) -> Vec<Option<Failure>> {
        let wanted = Attributes {
            verb: verb.into(),
            ..Attributes::default()
        };
        (0..300).map(|_| chaos.roll(&wanted, "", "")).collect()
    }

    #[test]
    fn a_seed_decides_everything() {
        assert_eq!(rolls(Chaos::from_seed(7), "patch"), rolls(Chaos::from_seed(7), "patch"));
        assert_ne!(rolls(Chaos::from_seed(7), "patch"), rolls(Chaos::from_seed(8), "patch"));
    }

    #[test]
    fn the_rate_is_about_kept() {
        let failed = rolls(Chaos::from_seed(7).rate(0.5), "patch").iter().flatten().count();
        assert!((100..200).contains(&failed), "{failed}");
        assert_eq!(
            rolls(Chaos::from_seed(7).rate(0.0), "patch").iter().flatten().count(),
            0
        );
    }

    #[test]
    fn a_request_suffers_only_what_can_happen_to_it() {
        let gets = rolls(Chaos::from_seed(7).rate(1.0), "get");
        let impossible =
            |failure: &Failure| matches!(failure, Failure::Watch { .. } | Failure::Status { code: 409, .. });
        assert!(!gets.iter().flatten().any(impossible));
        let watches = rolls(Chaos::from_seed(7).rate(1.0), "watch");
        assert!(
            watches
                .iter()
                .flatten()
                .any(|failure| matches!(failure, Failure::Watch { .. }))
        );
    }
}
