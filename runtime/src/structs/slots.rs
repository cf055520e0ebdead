//! A worker's place among those that may work at once.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A place that is taken while there is work, and given back before every rest. Clones are the same place.
///
/// The default has no limit: it is always there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slot(Option<Arc<Place>>);

#[derive(Debug)]
struct Place {
    all: Arc<Semaphore>,
    held: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Slot {
    /// A place among so many, not taken yet; `None` for no limit.
    pub(crate) fn among(all: Option<&Arc<Semaphore>>) -> Self {
        Self(all.map(|all| {
            Arc::new(Place {
                all: Arc::clone(all),
                held: Mutex::default(),
            })
        }))
    }

    /// Waits for its turn, in the order of asking.
    pub(crate) async fn take(&self) {
        if let Some(place) = &self.0 {
            let permit = Arc::clone(&place.all).acquire_owned().await.ok();
            *place.held.lock().unwrap_or_else(PoisonError::into_inner) = permit;
        }
    }

    pub(crate) fn give_back(&self) {
        if let Some(place) = &self.0 {
            place.held.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    //
    #[test]
    fn a_place_is_free_for_others_once_it_is_given_back() {
        let all = Arc::new(Semaphore::new(1));
        let [one, other] = [(); 2].map(|()| Slot::among(Some(&all)));
        assert!(one.take().now_or_never().is_some());
        assert!(other.take().now_or_never().is_none());
        one.give_back();
        assert!(other.take().now_or_never().is_some());
        drop(other);
        assert!(one.take().now_or_never().is_some(), "whoever vanishes holds nothing");
        assert!(Slot::default().take().now_or_never().is_some());
    }
}
