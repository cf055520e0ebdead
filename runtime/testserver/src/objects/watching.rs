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
use crate::objects::listing::{scope, too_large};
use crate::objects::selectors::Selector;
use crate::status::{Cause, Status};
use crate::store::{Action, Change};

/// The server's own pace of bookmarks.
const BOOKMARKS: Duration = Duration::from_secs(60);

/// How long before its end a watch is sent a last bookmark.
const FAREWELL: Duration = Duration::from_secs(2);

/// How long the watches of a kind outlive it: clients hear of its end before their streams break off.
const DRAIN: Duration = Duration::from_secs(1);

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
    /// Whether the current state comes first, and a bookmark that tells its end; the version decides if absent.
    pub(crate) initial_events: Option<bool>,
}

impl WatchOptions {
    /// Refuses combinations that mean nothing.
    pub(crate) fn check(&self, version_match: &str, token: &str) -> Result<(), Status> {
        let forbidden = |detail: &str| Cause::forbidden("resourceVersionMatch", detail);
        let mut causes = Vec::new();
        if self.initial_events.is_some() && version_match != "NotOlderThan" {
            let detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
            causes.push(forbidden(detail));
        }
        if !version_match.is_empty() {
            if self.initial_events.is_none() {
                let detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
                causes.push(forbidden(detail));
            }
            if version_match != "NotOlderThan" {
                let supported = [json!("NotOlderThan")];
                causes.push(Cause::unsupported(
                    "resourceVersionMatch",
                    &json!(version_match),
                    &supported,
                ));
            }
            if !token.is_empty() {
                causes.push(forbidden("resourceVersionMatch is forbidden when continue is provided"));
            }
        }
        if causes.is_empty() {
            Ok(())
        } else {
            Err(Status::invalid_options("ListOptions", &causes))
        }
    }
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
    /// When the stream ends, once nothing more is to come.
    end: Option<Instant>,
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
        let mut state = cluster.lock().unwrap_or_else(PoisonError::into_inner);
        let (key, current) = (place.kind.key(), state.store.version());
        let changes = state.store.subscribe_to(&key);
        let mut pending = VecDeque::new();
        let mut cursor = options.version;
        if options.initial_events.unwrap_or(options.version == 0) {
            if options.version > current {
                return Err(too_large(options.version, current));
            }
            cursor = current;
            let objects = state.store.list(&key, scope(&place));
            let objects = objects.filter(|object| options.selector.matches(object));
            pending.extend(objects.map(|object| Event {
                kind: "ADDED",
                object: place.present(object),
            }));
            if options.initial_events == Some(true) && options.bookmarks {
                pending.push_back(bookmark(&place, cursor, true));
            }
        } else if options.version == 0 {
            cursor = current;
        } else if state.store.missed(&key, cursor).is_err() && signals.borrow().refuse_old {
            return Err(too_old(cursor, current));
        }
        let now = Instant::now();
        let (errors, drops) = (signals.borrow().errors.len(), signals.borrow().drops);
        let deadline = now + options.timeout.unwrap_or(TIMEOUT);
        Ok(Self {
            cluster: Arc::clone(cluster),
            selector: options.selector,
            bookmarks: options.bookmarks,
            cursor,
            pending,
            end: None,
            changes,
            signals,
            errors,
            drops,
            deadline,
            bookmark: next_bookmark(now, deadline),
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
            if let Some(end) = self.end {
                sleep_until(end).await;
                return None;
            }
            if let Some(&code) = signals.errors.get(self.errors) {
                self.end_with(&refusal(code, "", None));
                continue;
            }
            self.changes.borrow_and_update();
            if !signals.held {
                self.collect();
                if self.end.is_some() || !self.pending.is_empty() {
                    continue;
                }
            }
            tokio::select! {
                biased;
                changed = self.signals.changed() => changed.ok()?,
                changed = self.changes.changed() => changed.ok()?,
                () = sleep_until(self.bookmark), if self.bookmarks => {
                    self.bookmark = next_bookmark(self.bookmark, self.deadline);
                    if !signals.held {
                        // Whatever happened to other kinds has moved the version on.
                        self.collect();
                    }
                    if self.pending.is_empty() && self.end.is_none() {
                        return Some(bookmark(&self.place, self.cursor, false));
                    }
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
        self.end = missed.ended.then(|| Instant::now() + DRAIN);
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
        self.end = Some(Instant::now());
    }
}

/// Every minute, and once shortly before the end.
fn next_bookmark(last: Instant, deadline: Instant) -> Instant {
    let regular = last + BOOKMARKS;
    match deadline.checked_sub(FAREWELL) {
        Some(farewell) if farewell > last => regular.min(farewell),
        _ => regular,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bookmarks_come_every_minute_and_shortly_before_the_end() {
        let start = Instant::now();
        let after = |last: u64, end: u64| {
            let seconds = Duration::from_secs;
            next_bookmark(start + seconds(last), start + seconds(end))
                .duration_since(start)
                .as_secs()
        };
        assert_eq!((after(0, 300), after(60, 300)), (60, 120));
        assert_eq!((after(240, 300), after(298, 300)), (298, 358));
        assert_eq!((after(0, 7), after(0, 1)), (5, 60));
    }

    #[test]
    fn initial_events_and_a_match_belong_together() {
        let check = |initial_events, version_match| {
            let options = WatchOptions {
                initial_events,
                ..WatchOptions::default()
            };
            options.check(version_match, "").is_ok()
        };
        assert!(check(None, "") && check(Some(true), "NotOlderThan") && check(Some(false), "NotOlderThan"));
        assert!(!check(Some(true), "") && !check(Some(true), "Exact") && !check(None, "NotOlderThan"));
    }
}
