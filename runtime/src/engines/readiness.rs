//! The wait for complete indexes: until then, no handler is called but those of indexes (I-14, I-15).
//!
//! The gate opens once, when the last of its holds is dropped; whatever breaks drops its hold, too (I-19).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// How often the log says what a closed gate waits for.
const REPORTS: Duration = Duration::from_secs(30);

/// Closed until all that was there at the start is indexed. Clones are the same gate.
#[derive(Clone, Debug)]
pub(crate) struct Gate(Arc<State>);

#[derive(Debug)]
struct State {
    open: CancellationToken,
    holds: Mutex<Holds>,
}

/// What has to be dropped before the gate opens.
#[derive(Debug, Default)]
struct Holds {
    count: usize,
    /// Of the count, the streams whose first listing has not ended, by name.
    listings: BTreeMap<Arc<str>, usize>,
}

/// Keeps the gate closed.
#[derive(Debug)]
#[must_use = "dropping it may open the gate"]
pub(crate) struct Hold {
    gate: Gate,
    listing: Option<Arc<str>>,
}

impl Gate {
    /// A gate that its first hold keeps closed.
    pub(crate) fn closed() -> (Self, Hold) {
        let holds = Holds {
            count: 1,
            ..Holds::default()
        };
        let gate = Self(Arc::new(State {
            open: CancellationToken::new(),
            holds: Mutex::new(holds),
        }));
        let hold = Hold {
            gate: gate.clone(),
            listing: None,
        };
        (gate, hold)
    }

    fn with<T>(&self, act: impl FnOnce(&mut Holds) -> T) -> T {
        act(&mut self.0.holds.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn hold(&self, listing: Option<Arc<str>>) -> Option<Hold> {
        self.with(|holds| {
            if holds.count == 0 {
                return None;
            }
            holds.count += 1;
            if let Some(name) = &listing {
                *holds.listings.entry(Arc::clone(name)).or_default() += 1;
            }
            Some(Hold {
                gate: self.clone(),
                listing,
            })
        })
    }

    /// For one object, until it is indexed; `None` if the gate is open, which it stays.
    pub(crate) fn hold_for_object(&self) -> Option<Hold> {
        self.hold(None)
    }

    /// For a stream, until its first listing has ended.
    pub(crate) fn hold_for_listing(&self, name: &str) -> Option<Hold> {
        self.hold(Some(name.into()))
    }

    pub(crate) fn is_open(&self) -> bool {
        self.0.open.is_cancelled()
    }

    /// Returns once it is open.
    pub(crate) async fn opened(&self) {
        self.0.open.cancelled().await;
    }

    /// Says now and then what a closed gate waits for, until it opens.
    pub(crate) async fn report(self) {
        loop {
            tokio::select! {
                () = self.opened() => return,
                () = tokio::time::sleep(REPORTS) => {}
            }
            if let Some(waits) = self.waits() {
                tracing::warn!("All handlers wait until the indexes are complete: {waits}");
            }
        }
    }

    /// What the gate waits for, if it is closed.
    fn waits(&self) -> Option<String> {
        self.with(|holds| {
            let mut text = String::new();
            if !holds.listings.is_empty() {
                let names: Vec<&str> = holds.listings.keys().map(|name| &**name).collect();
                let _ = write!(text, "not listed yet: {}", names.join(", "));
            }
            let objects = holds.count - holds.listings.values().sum::<usize>();
            if objects > 0 {
                let comma = if text.is_empty() { "" } else { "; " };
                let _ = write!(text, "{comma}objects whose index handlers have not returned: {objects}");
            }
            (!text.is_empty()).then_some(text)
        })
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let is_last = self.gate.with(|holds| {
            if let Some(name) = &self.listing
                && let Some(count) = holds.listings.get_mut(name)
            {
                *count -= 1;
                if *count == 0 {
                    holds.listings.remove(name);
                }
            }
            holds.count -= 1;
            holds.count == 0
        });
        if is_last {
            self.gate.0.open.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // I-14
    #[test]
    fn a_gate_opens_with_its_last_hold_and_stays_open() {
        let (gate, starting) = Gate::closed();
        let carts = gate.hold_for_listing("carts");
        drop(starting);
        assert!(!gate.is_open());
        let object = gate.hold_for_object();
        drop(carts);
        assert!(!gate.is_open() && object.is_some());
        let later = gate.hold_for_object();
        drop(object);
        assert!(!gate.is_open());
        drop(later);
        assert!(gate.is_open());
        assert!(gate.hold_for_object().is_none() && gate.hold_for_listing("bags").is_none());
        assert!(gate.is_open());
    }

    // I-14
    #[test]
    fn a_gate_without_any_index_is_open() {
        let (gate, starting) = Gate::closed();
        drop(starting);
        assert!(gate.is_open());
    }

    #[test]
    fn what_the_gate_waits_for_is_named() {
        let (gate, starting) = Gate::closed();
        let listings = ["carts", "bags in one", "carts"].map(|name| gate.hold_for_listing(name));
        drop(starting);
        assert_eq!(gate.waits().as_deref(), Some("not listed yet: bags in one, carts"));
        let object = gate.hold_for_object();
        let objects = "objects whose index handlers have not returned: 1";
        assert_eq!(
            gate.waits(),
            Some(format!("not listed yet: bags in one, carts; {objects}"))
        );
        drop(listings);
        assert_eq!(gate.waits().as_deref(), Some(objects));
        drop(object);
        assert_eq!(gate.waits(), None);
    }
}
