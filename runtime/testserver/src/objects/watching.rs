//! Watches: where a stream starts, what it is sent, and when it ends.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::cluster::{Cluster, Place};
use crate::faults::{Signals, Switchboard, refusal};
use crate::objects::selectors::Selector;
use crate::status::Status;
use crate::store::{Action, Change};

/// The server's own pace of bookmarks.
const BOOKMARKS: Duration = Duration::from_secs(60);

/// Real servers end a watch after 30 to 60 minutes, at random; here it is always the same.
const TIMEOUT: Duration = Duration::from_secs(45 * 60);

/// The query of a watch.
#[derive(Debug, Default)]
pub(crate) struct WatchOptions {
    pub(crate) selector: Selector,
    /// The version after which events are wanted; 0 asks for the current state first.
    pub(crate) version: u64,
    pub(crate) bookmarks: bool,
    pub(crate) timeout: Option<Duration>,
    /// The current state first, and a bookmark that tells its end.
    pub(crate) initial_events: bool,
}

/// What a watcher gets.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) kind: &'static str,
    pub(crate) object: Arc<Value>,
}

pub(crate) struct Watch {
    cluster: Arc<Mutex<Cluster>>,
    place: Place,
    selector: Selector,
    bookmarks: bool,
    /// Everything up to this version was delivered or is pending.
    cursor: u64,
    pending: VecDeque<Event>,
    ended: bool,
    changes: watch::Receiver<u64>,
    signals: watch::Receiver<Signals>,
    errors: usize,
    drops: usize,
    deadline: Instant,
    bookmark: Instant,
}

impl Watch {
    pub(crate) fn start(
        cluster: &Arc<Mutex<Cluster>>,
        switchboard: &Switchboard,
        place: Place,
        options: WatchOptions,
    ) -> Result<Self, Status> {
        let signals = switchboard.subscribe();
        let state = cluster.lock().unwrap_or_else(PoisonError::into_inner);
        let from_now = options.version == 0 || options.initial_events;
        let mut pending = VecDeque::new();
        let mut cursor = options.version;
        if from_now {
            cursor = state.store.version();
            let namespace = Some(place.namespace.as_str()).filter(|name| !name.is_empty());
            let objects = state.store.list(&place.kind.key(), namespace);
            let objects = objects.filter(|object| options.selector.matches(object));
            pending.extend(objects.map(|object| Event {
                kind: "ADDED",
                object: place.present(object),
            }));
        } else if state.store.missed(&place.kind.key(), cursor).is_err() && signals.borrow().refuse_old {
            return Err(too_old(cursor, state.store.version()));
        }
        if options.initial_events {
            pending.push_back(bookmark(&place, cursor, true));
        }
        let now = Instant::now();
        let (errors, drops) = (signals.borrow().errors.len(), signals.borrow().drops);
        Ok(Self {
            cluster: Arc::clone(cluster),
            selector: options.selector,
            bookmarks: options.bookmarks,
            cursor,
            pending,
            ended: false,
            changes: state.store.subscribe(),
            signals,
            errors,
            drops,
            deadline: now + options.timeout.unwrap_or(TIMEOUT),
            bookmark: now + BOOKMARKS,
            place,
        })
    }

    /// The next event; nothing when the stream is over.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            let signals = self.signals.borrow_and_update().clone();
            if signals.drops > self.drops {
                return None;
            }
            if let Some(event) = self.pending.pop_front() {
                return Some(event);
            }
            if self.ended {
                return None;
            }
            if let Some(&code) = signals.errors.get(self.errors) {
                self.end_with(&refusal(code, "", None));
                continue;
            }
            self.changes.borrow_and_update();
            if !signals.held {
                self.collect();
                if self.ended || !self.pending.is_empty() {
                    continue;
                }
            }
            tokio::select! {
                changed = self.changes.changed() => changed.ok()?,
                changed = self.signals.changed() => changed.ok()?,
                () = sleep_until(self.bookmark), if self.bookmarks => {
                    self.bookmark += BOOKMARKS;
                    return Some(bookmark(&self.place, self.cursor, false));
                }
                () = sleep_until(self.deadline) => return None,
            }
        }
    }

    /// The time that ages are counted to.
    pub(crate) fn now(&self) -> Timestamp {
        self.cluster.lock().unwrap_or_else(PoisonError::into_inner).timestamp()
    }

    /// Takes what was missed since the last time.
    fn collect(&mut self) {
        let cluster = self.cluster.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(missed) = cluster.store.missed(&self.place.kind.key(), self.cursor) else {
            let status = too_old(self.cursor, cluster.store.version());
            drop(cluster);
            self.end_with(&status);
            return;
        };
        drop(cluster);
        self.pending = missed.changes.iter().filter_map(|change| self.event(change)).collect();
        self.cursor = missed.upto;
        self.ended = missed.ended;
    }

    /// How a change looks through the selector: what stops to match is deleted, what starts to match is added.
    fn event(&self, change: &Change) -> Option<Event> {
        if !self.place.namespace.is_empty() && self.place.namespace != change.namespace {
            return None;
        }
        let before = change
            .previous
            .as_deref()
            .is_some_and(|object| self.selector.matches(object));
        let after = change.action != Action::Deleted && self.selector.matches(&change.object);
        let (kind, object) = match (before, after) {
            (false, false) => return None,
            (false, true) => ("ADDED", Arc::clone(&change.object)),
            (true, true) => ("MODIFIED", Arc::clone(&change.object)),
            (true, false) if change.action == Action::Deleted => ("DELETED", Arc::clone(&change.object)),
            (true, false) => {
                let mut last = change.previous.as_deref().cloned().unwrap_or_default();
                last["metadata"]["resourceVersion"] = json!(change.version.to_string());
                ("DELETED", Arc::new(last))
            }
        };
        Some(Event {
            kind,
            object: self.place.present(&object),
        })
    }

    fn end_with(&mut self, status: &Status) {
        self.pending.push_back(Event {
            kind: "ERROR",
            object: Arc::new(status.to_value()),
        });
        self.ended = true;
    }
}

fn too_old(asked: u64, current: u64) -> Status {
    Status::expired(format!("too old resource version: {asked} ({current})"))
}

fn bookmark(place: &Place, version: u64, initial_events_end: bool) -> Event {
    let mut object = json!({
        "apiVersion": place.api_version(),
        "kind": place.kind.kind,
        "metadata": {"resourceVersion": version.to_string(), "creationTimestamp": null},
    });
    if initial_events_end {
        object["metadata"]["annotations"] = json!({"k8s.io/initial-events-end": "true"});
    }
    Event {
        kind: "BOOKMARK",
        object: Arc::new(object),
    }
}
