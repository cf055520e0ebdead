//! How many Kubernetes events one object may have, as the control plane's own components ration theirs: some at once,
//! then one now and then.
//!
//! A handler that fails every second must not fill the cluster's storage with events, nor push out those of others.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::structs::events::ObjectReference;

/// Events of one object at once.
const BURST: u32 = 25;
/// After them, one in this time.
const REFILL: Duration = Duration::from_secs(300);
/// Objects that are remembered; at some 150 bytes each a bounded amount of memory.
const KEPT: usize = 4096;

/// What is left to each object.
#[derive(Debug, Default)]
pub(crate) struct Rations(HashMap<String, Ration>);

#[derive(Debug)]
struct Ration {
    /// As many as were taken out and were not back yet at `at`.
    used: f64,
    at: Instant,
    /// Refused since the last event that was let through.
    refused: u64,
}

/// What is to be done with an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Post it; so many before it were refused.
    Post { refused: u64 },
    /// Refuse it.
    Refuse {
        /// The first one in a row: to be said.
        first: bool,
    },
}

impl Ration {
    fn used_at(&self, now: Instant) -> f64 {
        let back = now.saturating_duration_since(self.at).as_secs_f64() / REFILL.as_secs_f64();
        (self.used - back).max(0.0)
    }
}

impl Rations {
    /// Takes one event of an object out.
    pub(crate) fn take(&mut self, about: &ObjectReference, now: Instant) -> Verdict {
        let key = key(about);
        if self.0.len() >= KEPT && !self.0.contains_key(&key) {
            self.forget(now);
        }
        let ration = self.0.entry(key).or_insert(Ration {
            used: 0.0,
            at: now,
            refused: 0,
        });
        (ration.used, ration.at) = (ration.used_at(now), now);
        if ration.used + 1.0 <= f64::from(BURST) {
            ration.used += 1.0;
            let refused = std::mem::take(&mut ration.refused);
            return Verdict::Post { refused };
        }
        ration.refused += 1;
        Verdict::Refuse {
            first: ration.refused == 1,
        }
    }

    /// Makes room: forgets those that have all of theirs again; if there are none, the one that was quiet for longest.
    fn forget(&mut self, now: Instant) {
        self.0.retain(|_, ration| ration.used_at(now) > 0.0);
        if self.0.len() >= KEPT {
            let quiet = self.0.iter().min_by_key(|(_, ration)| ration.at);
            if let Some(key) = quiet.map(|(key, _)| key.clone()) {
                self.0.remove(&key);
            }
        }
    }
}

fn key(about: &ObjectReference) -> String {
    let ObjectReference {
        kind,
        name,
        namespace,
        uid,
        ..
    } = about;
    match uid {
        Some(uid) => uid.clone(),
        None => [kind, namespace.as_deref().unwrap_or_default(), name].join("/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(uid: &str) -> ObjectReference {
        ObjectReference {
            uid: Some(uid.into()),
            ..ObjectReference::default()
        }
    }

    const POST: Verdict = Verdict::Post { refused: 0 };

    // EVT-13, improved
    #[test]
    fn an_object_has_its_burst_and_then_one_event_in_five_minutes() {
        let (mut rations, begin) = (Rations::default(), Instant::now());
        for _ in 0..25 {
            assert_eq!(rations.take(&about("a"), begin), POST);
        }
        assert_eq!(rations.take(&about("a"), begin), Verdict::Refuse { first: true });
        assert_eq!(rations.take(&about("a"), begin), Verdict::Refuse { first: false });
        assert_eq!(rations.take(&about("b"), begin), POST, "others have their own");
        let later = begin + Duration::from_secs(301);
        assert_eq!(rations.take(&about("a"), later), Verdict::Post { refused: 2 });
        assert_eq!(rations.take(&about("a"), later), Verdict::Refuse { first: true });
    }

    #[test]
    fn only_so_many_objects_are_remembered() {
        let (mut rations, begin) = (Rations::default(), Instant::now());
        for _ in 0..=25 {
            rations.take(&about("busy"), begin + Duration::from_secs(1));
        }
        for number in 0..2 * KEPT {
            rations.take(&about(&number.to_string()), begin);
        }
        assert_eq!(rations.0.len(), KEPT);
        let again = rations.take(&about("busy"), begin + Duration::from_secs(1));
        assert_eq!(again, Verdict::Refuse { first: false }, "the busy one is not forgotten");
        rations.take(&about("new"), begin + Duration::from_secs(10_000));
        assert_eq!(rations.0.len(), 1, "all others have theirs again");
    }
}
