//! What is kept in memory of the objects of one stream: a queue where one is needed, and a few flags for the rest.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use crate::engines::background::Background;
use crate::engines::indexing::Indexed;
use crate::intents::memos::Memo;
use crate::structs::bodies::Body;
use crate::structs::events::EventType;

/// What a worker finds in its queue.
#[derive(Clone, Debug)]
pub(crate) enum Incoming {
    /// The object as a listing or an event brought it.
    Object(EventType, Body),
    /// A complete listing lacks the object: it went away while nobody was watching (B-007).
    Vanished,
    /// A daemon or a timer ended, on which something may wait.
    Wake,
}

impl Incoming {
    pub(super) fn is_end(&self) -> bool {
        matches!(self, Self::Vanished | Self::Object(EventType::Deleted, _))
    }
}

/// What is remembered of an object between two cycles (M-2); nothing of it is persisted.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// First noticed by a listing, not by an event (C-5).
    pub(crate) noticed_by_listing: bool,
    /// A handler-running reason ended once (C-8).
    pub(crate) handled_once: bool,
    /// Handling of the deletion is complete; only the finalizer may be left to take away (Z-12).
    pub(crate) deletion_done: bool,
    /// The version of the freshest state that went through a cycle.
    pub(crate) version: Option<Box<str>>,
    /// Digest of the spec that did not fit and was reported.
    pub(crate) reported: Option<u64>,
    /// Digest of the failed filters that were reported.
    pub(crate) faults: Option<u64>,
    /// The object's memo, from its first event to its last (M-1).
    pub(crate) memo: Option<Memo>,
    /// What it has in the indexes, if the kind feeds any.
    pub(crate) indexed: Option<Box<Indexed>>,
    /// The daemons and timers, if the kind has any.
    pub(crate) background: Background,
}

/// The objects of one stream.
#[derive(Debug, Default)]
pub(crate) struct Inventory(Mutex<Objects>);

#[derive(Debug, Default)]
struct Objects {
    entries: HashMap<Box<str>, Entry>,
    /// Number of the current listing.
    listing: u64,
    /// The highest version that came since that listing began.
    highest: u64,
    /// The highest version that had come before.
    before: u64,
}

#[derive(Debug)]
struct Entry {
    queue: VecDeque<Incoming>,
    /// The listing that last brought the object, or during whose watch it changed.
    listing: u64,
    /// At rest, the memory is here; else a worker has it.
    state: State,
}

#[derive(Debug)]
enum State {
    Resting(Box<Memory>),
    Working(Arc<Notify>),
}

/// Work for a new worker.
pub(crate) struct Start {
    pub(crate) key: Box<str>,
    pub(crate) memory: Box<Memory>,
    pub(crate) notify: Arc<Notify>,
}

impl Inventory {
    fn with<T>(&self, act: impl FnOnce(&mut Objects) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts an object into its queue; says whether it needs a worker.
    ///
    /// Only what `is_observed` says of a state makes it count beside later ones: without that, an item of a repeated
    /// listing that is at rest in just this version is not queued at all, and a newer state takes the place of one that
    /// was not looked at yet, so that the queue of a busy object does not grow. An end is never replaced.
    pub(crate) fn put(&self, event_type: EventType, body: Body, is_observed: impl Fn(&Body) -> bool) -> Option<Start> {
        let key: Box<str> = body.key().into();
        self.with(|objects| {
            let listing = objects.listing;
            objects.highest = objects.highest.max(number(body.resource_version()).unwrap_or_default());
            let entry = objects.entries.entry(key.clone()).or_insert_with(|| Entry {
                queue: VecDeque::new(),
                listing,
                state: State::Resting(Box::new(Memory {
                    noticed_by_listing: event_type == EventType::Listed,
                    ..Memory::default()
                })),
            });
            entry.listing = listing;
            if let (State::Resting(memory), EventType::Listed) = (&entry.state, event_type)
                && memory.version.is_some()
                && memory.version.as_deref() == body.resource_version()
                && !is_observed(&body)
            {
                return None;
            }
            entry.make_way(event_type, is_observed);
            entry.enqueue(key, Incoming::Object(event_type, body))
        })
    }

    /// Wakes the object's worker, or asks for one.
    pub(crate) fn wake(&self, key: &str) -> Option<Start> {
        self.with(|objects| {
            let entry = objects.entries.get_mut(key)?;
            if matches!(entry.queue.front(), Some(Incoming::Wake)) {
                return None;
            }
            entry.enqueue(key.into(), Incoming::Wake)
        })
    }

    pub(crate) fn begin_listing(&self) {
        self.with(|objects| {
            objects.listing += 1;
            objects.before = std::mem::take(&mut objects.highest);
        });
    }

    /// Whether this version was there before the current listing began, which cannot bring an older one then, unless
    /// the cluster was restored from a backup.
    pub(crate) fn is_before_listing(&self, version: Option<&str>) -> bool {
        number(version).is_some_and(|version| self.with(|objects| version <= objects.before))
    }

    /// Tells the workers of the objects that the listing did not bring.
    pub(crate) fn end_listing(&self) -> Vec<Start> {
        self.with(|objects| {
            let listing = objects.listing;
            let missing = objects.entries.iter_mut().filter(|(_, entry)| entry.listing < listing);
            missing
                .filter_map(|(key, entry)| entry.enqueue(key.clone(), Incoming::Vanished))
                .collect()
        })
    }

    /// What is queued; an empty queue gives the memory back and ends the worker, in one step. A worker that has
    /// an index handler to call again goes on with nothing.
    pub(crate) fn take(&self, key: &str, memory: Box<Memory>) -> Result<(Vec<Incoming>, Box<Memory>), ()> {
        self.with(|objects| {
            let Some(entry) = objects.entries.get_mut(key) else {
                return Err(());
            };
            let is_waiting = memory.indexed.as_ref().is_some_and(|indexed| indexed.is_waiting());
            if entry.queue.is_empty() && !is_waiting {
                entry.state = State::Resting(memory);
                entry.queue.shrink_to_fit();
                return Err(());
            }
            Ok((entry.queue.drain(..).collect(), memory))
        })
    }

    /// What is queued, without ending.
    pub(crate) fn poll(&self, key: &str) -> Vec<Incoming> {
        self.with(|objects| {
            objects
                .entries
                .get_mut(key)
                .map(|entry| entry.queue.drain(..).collect())
                .unwrap_or_default()
        })
    }

    /// The last state that is queued, if any is.
    pub(crate) fn newest(&self, key: &str) -> Option<Body> {
        let state = |incoming: &Incoming| match incoming {
            Incoming::Object(_, body) => Some(body.clone()),
            Incoming::Vanished | Incoming::Wake => None,
        };
        self.with(|objects| objects.entries.get(key)?.queue.iter().rev().find_map(state))
    }

    /// The last that is queued of the object itself.
    pub(crate) fn last(&self, key: &str) -> Option<Incoming> {
        self.with(|objects| last(&objects.entries.get(key)?.queue))
    }

    /// Whether the object's end is queued, so that its worker has no reason to wait for anything else.
    pub(crate) fn has_ended(&self, key: &str) -> bool {
        self.with(|objects| {
            let queue = objects.entries.get(key).map(|entry| &entry.queue);
            queue.is_some_and(|queue| queue.iter().any(Incoming::is_end))
        })
    }

    /// How many objects are known, and how many events of them are queued.
    #[cfg(test)]
    pub(crate) fn size(&self) -> (usize, usize) {
        self.with(|objects| {
            let queued = objects.entries.values().map(|entry| entry.queue.len()).sum();
            (objects.entries.len(), queued)
        })
    }

    /// Drops all that is known of an object (M-1); whatever comes for it later makes a new entry.
    pub(crate) fn forget(&self, key: &str) {
        self.with(|objects| objects.entries.remove(key));
    }
}

/// The last of a queue that tells of the object itself.
pub(super) fn last(queue: &VecDeque<Incoming>) -> Option<Incoming> {
    let mut newest = queue.iter().rev();
    newest.find(|incoming| !matches!(incoming, Incoming::Wake)).cloned()
}

/// The number that a version is.
fn number(version: Option<&str>) -> Option<u64> {
    version?.parse().ok()
}

impl Entry {
    /// Drops what is queued last if only the next state counts.
    ///
    /// What a listing brought is replaced by another listing only: it says more than the state (see
    /// [`Inventory::is_before_listing`]).
    fn make_way(&mut self, event_type: EventType, is_observed: impl Fn(&Body) -> bool) {
        while let Some(Incoming::Object(last, body)) = self.queue.back() {
            let ends = *last == EventType::Deleted;
            let stays = *last == EventType::Listed && event_type != EventType::Listed;
            if ends || stays || is_observed(body) {
                return;
            }
            self.queue.pop_back();
        }
    }

    fn enqueue(&mut self, key: Box<str>, incoming: Incoming) -> Option<Start> {
        match incoming {
            // In front, where it keeps no state from making way for a later one.
            Incoming::Wake => self.queue.push_front(incoming),
            Incoming::Object(..) | Incoming::Vanished => self.queue.push_back(incoming),
        }
        match &self.state {
            State::Working(notify) => {
                notify.notify_one();
                None
            }
            State::Resting(_) => {
                let notify = Arc::new(Notify::new());
                match std::mem::replace(&mut self.state, State::Working(Arc::clone(&notify))) {
                    State::Resting(memory) => Some(Start { key, memory, notify }),
                    State::Working(_) => None,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn body(uid: &str, version: &str) -> Body {
        Body::new(json!({"metadata": {"uid": uid, "resourceVersion": version}}))
    }

    fn observed(_: &Body) -> bool {
        true
    }

    fn unobserved(_: &Body) -> bool {
        false
    }

    //
    #[test]
    fn one_object_has_one_worker_at_a_time() {
        let inventory = Inventory::default();
        let start = inventory
            .put(EventType::Added, body("a", "1"), observed)
            .expect("a first event needs a worker");
        assert!(inventory.put(EventType::Modified, body("a", "2"), observed).is_none());
        assert!(inventory.put(EventType::Added, body("b", "3"), observed).is_some());
        let (batch, memory) = inventory.take(&start.key, start.memory).unwrap();
        assert_eq!(batch.len(), 2);
        assert!(inventory.take(&start.key, memory).is_err());
        assert!(inventory.put(EventType::Modified, body("a", "4"), observed).is_some());
    }

    // M-3, improved: objects without a uid are told apart as well as it goes, and so are their memos.
    #[test]
    fn objects_without_a_uid_are_not_remembered_as_one() {
        let body = |name: &str, created: &str| {
            let metadata = json!({"name": name, "namespace": "default", "creationTimestamp": created});
            Body::new(json!({"apiVersion": "v1", "kind": "ComponentStatus", "metadata": metadata}))
        };
        let (morning, noon) = ("2031-02-03T06:00:00Z", "2031-02-03T12:00:00Z");
        let inventory = Inventory::default();
        let start = |body| inventory.put(EventType::Added, body, observed);
        let first = start(body("a", morning)).expect("a first event");
        assert!(first.memory.memo.is_none());
        assert!(start(body("b", morning)).is_some(), "another object");
        assert!(start(body("a", noon)).is_some(), "made again under the same name");
        assert!(start(body("a", morning)).is_none(), "the first one has its worker");
    }

    // C-9
    #[test]
    fn a_repeated_listing_skips_what_is_known_and_at_rest() {
        let inventory = Inventory::default();
        let start = inventory.put(EventType::Listed, body("a", "1"), unobserved).unwrap();
        assert!(start.memory.noticed_by_listing);
        let (_, mut memory) = inventory.take(&start.key, start.memory).unwrap();
        memory.version = Some("1".into());
        assert!(inventory.take(&start.key, memory).is_err());
        assert!(inventory.put(EventType::Listed, body("a", "1"), unobserved).is_none());
        assert!(inventory.put(EventType::Listed, body("a", "2"), unobserved).is_some());
    }

    //
    #[test]
    fn the_queue_of_a_busy_object_grows_only_by_what_counts() {
        let inventory = Inventory::default();
        let is_observed = |body: &Body| body.resource_version() == Some("3");
        let start = inventory.put(EventType::Listed, body("a", "1"), is_observed).unwrap();
        for version in 2..100 {
            let modified = body("a", &version.to_string());
            assert!(inventory.put(EventType::Modified, modified, is_observed).is_none());
            assert!(inventory.wake("a").is_none());
            assert!(inventory.wake("a").is_none());
        }
        inventory.put(EventType::Deleted, body("a", "100"), is_observed);
        inventory.put(EventType::Added, body("a", "101"), is_observed);
        let (batch, _) = inventory.take(&start.key, start.memory).unwrap();
        let versions = batch.iter().map(|incoming| match incoming {
            Incoming::Object(_, body) => body.resource_version().unwrap(),
            Incoming::Vanished | Incoming::Wake => "",
        });
        assert_eq!(versions.collect::<Vec<_>>(), ["", "1", "3", "100", "101"]);
    }

    //
    #[test]
    fn listings_replace_what_they_brought_before() {
        let inventory = Inventory::default();
        let start = inventory.put(EventType::Listed, body("a", "1"), unobserved).unwrap();
        for version in 2..100 {
            inventory.put(EventType::Modified, body("a", "2"), unobserved);
            inventory.put(EventType::Listed, body("a", &version.to_string()), unobserved);
        }
        let (batch, _) = inventory.take(&start.key, start.memory).unwrap();
        assert!(
            matches!(&batch[..], [Incoming::Object(EventType::Listed, last)] if last.resource_version() == Some("99"))
        );
    }

    #[test]
    fn a_listing_tells_a_restored_cluster_from_a_faster_patch() {
        let inventory = Inventory::default();
        inventory.put(EventType::Added, body("a", "7"), unobserved);
        assert!(
            !inventory.is_before_listing(Some("7")),
            "it may be younger than the first listing"
        );
        inventory.begin_listing();
        inventory.put(EventType::Listed, body("a", "5"), unobserved);
        assert!(inventory.is_before_listing(Some("7")));
        assert!(
            !inventory.is_before_listing(Some("8")),
            "that came after the listing began"
        );
        assert!(!inventory.is_before_listing(Some("b")) && !inventory.is_before_listing(None));
        inventory.begin_listing();
        assert!(!inventory.is_before_listing(Some("7")), "the numbers have begun anew");
    }

    #[test]
    fn the_end_of_an_object_is_seen_while_it_is_queued() {
        let inventory = Inventory::default();
        inventory.put(EventType::Added, body("a", "1"), observed);
        assert!(!inventory.has_ended("a"));
        inventory.put(EventType::Deleted, body("a", "2"), observed);
        assert!(inventory.has_ended("a") && !inventory.has_ended("b"));
    }

    // B-007
    #[test]
    fn what_a_listing_lacks_has_vanished() {
        let inventory = Inventory::default();
        for uid in ["a", "b"] {
            let start = inventory.put(EventType::Added, body(uid, "1"), observed).unwrap();
            let (_, memory) = inventory.take(&start.key, start.memory).unwrap();
            assert!(inventory.take(&start.key, memory).is_err());
        }
        inventory.begin_listing();
        assert!(inventory.put(EventType::Listed, body("a", "1"), observed).is_some());
        let starts = inventory.end_listing();
        assert_eq!(starts.iter().map(|start| &*start.key).collect::<Vec<_>>(), ["b"]);
    }
}
