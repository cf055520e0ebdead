//! The objects, their versions and the history of their changes; no HTTP, no clock of its own.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::watch;

use crate::kinds::Key;

/// How many changes of one kind can be replayed. A watcher that falls further behind gets "too old", as in a cluster.
const HISTORY: usize = 20_000;

/// What happened to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Added,
    Modified,
    Deleted,
}

/// One change, with the object after it and before it.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) version: u64,
    pub(crate) action: Action,
    pub(crate) namespace: String,
    pub(crate) object: Arc<Value>,
    pub(crate) previous: Option<Arc<Value>>,
}

/// The changes after the asked version are not known any more.
#[derive(Debug)]
pub(crate) struct TooOld;

/// What a watcher has missed.
#[derive(Debug)]
pub(crate) struct Missed {
    pub(crate) changes: Vec<Arc<Change>>,
    /// The version up to which nothing more is to come.
    pub(crate) upto: u64,
    /// Whether the kind ceased to be served after these changes.
    pub(crate) ended: bool,
}

#[derive(Debug, Default)]
struct Table {
    objects: BTreeMap<(String, String), Arc<Value>>,
    history: VecDeque<Arc<Change>>,
    /// Changes up to this version are forgotten.
    forgotten: u64,
    /// The version at which the kind ceased to be served, last.
    ended: u64,
}

/// All objects by kind, namespace and name.
#[derive(Debug)]
pub(crate) struct Store {
    version: u64,
    compacted: u64,
    tables: BTreeMap<Key, Table>,
    changed: watch::Sender<u64>,
}

impl Store {
    pub(crate) fn new() -> Self {
        // Version 0 has a meaning of its own in requests, so that objects start above it.
        Self {
            version: 1,
            compacted: 0,
            tables: BTreeMap::new(),
            changed: watch::Sender::new(1),
        }
    }

    /// The version of the last change of anything.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Fires after every change.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    pub(crate) fn get(&self, key: &Key, namespace: &str, name: &str) -> Option<&Arc<Value>> {
        self.tables
            .get(key)?
            .objects
            .get(&(namespace.to_owned(), name.to_owned()))
    }

    /// The objects of a kind in one namespace, or in all of them, by namespace and name.
    pub(crate) fn list<'a>(
        &'a self,
        key: &Key,
        namespace: Option<&'a str>,
    ) -> impl Iterator<Item = &'a Arc<Value>> + use<'a> {
        let start = (namespace.unwrap_or_default().to_owned(), String::new());
        let rows = self.tables.get(key).map(|table| table.objects.range(start..));
        rows.into_iter()
            .flatten()
            .take_while(move |((place, _), _)| namespace.is_none_or(|wanted| wanted == place))
            .map(|(_, object)| object)
    }

    /// Stores an object under a new version.
    pub(crate) fn put(&mut self, key: &Key, mut object: Value) -> Arc<Value> {
        let version = self.advance();
        object["metadata"]["resourceVersion"] = json!(version.to_string());
        let place = place(&object);
        let object = Arc::new(object);
        let compacted = self.compacted;
        let table = self.tables.entry(key.clone()).or_insert_with(|| Table {
            forgotten: compacted,
            ..Table::default()
        });
        let previous = table.objects.insert(place.clone(), Arc::clone(&object));
        let action = if previous.is_some() {
            Action::Modified
        } else {
            Action::Added
        };
        table.record(Change {
            version,
            action,
            namespace: place.0,
            object: Arc::clone(&object),
            previous,
        });
        self.changed.send_replace(version);
        object
    }

    /// Removes an object. What watchers get is the state that was stored last, under a version of its own.
    pub(crate) fn remove(&mut self, key: &Key, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let place = (namespace.to_owned(), name.to_owned());
        let table = self.tables.get_mut(key)?;
        let previous = table.objects.remove(&place)?;
        self.version += 1;
        let version = self.version;
        let mut object = Value::clone(&previous);
        object["metadata"]["resourceVersion"] = json!(version.to_string());
        let object = Arc::new(object);
        let (action, previous) = (Action::Deleted, Some(previous));
        table.record(Change {
            version,
            action,
            namespace: place.0,
            object: Arc::clone(&object),
            previous,
        });
        self.changed.send_replace(version);
        Some(object)
    }

    /// The changes of a kind after a version.
    pub(crate) fn missed(&self, key: &Key, after: u64) -> Result<Missed, TooOld> {
        let Some(table) = self.tables.get(key) else {
            return if after < self.compacted {
                Err(TooOld)
            } else {
                Ok(Missed {
                    changes: Vec::new(),
                    upto: self.version.max(after),
                    ended: false,
                })
            };
        };
        if after < table.forgotten {
            return Err(TooOld);
        }
        let start = table.history.partition_point(|change| change.version <= after);
        let ended = after < table.ended;
        let upto = if ended { table.ended } else { self.version.max(after) };
        let changes = table
            .history
            .range(start..)
            .take_while(|change| change.version <= upto)
            .cloned()
            .collect();
        Ok(Missed { changes, upto, ended })
    }

    /// Marks a kind as not served from now on.
    pub(crate) fn end(&mut self, key: &Key) {
        let version = self.advance();
        self.tables.entry(key.clone()).or_default().ended = version;
        self.changed.send_replace(version);
    }

    /// Marks a kind as served again: its earlier life cannot be resumed.
    pub(crate) fn begin(&mut self, key: &Key) {
        if let Some(table) = self.tables.get_mut(key) {
            table.history.clear();
            table.forgotten = table.ended;
        }
    }

    /// Forgets the history of all kinds.
    pub(crate) fn compact(&mut self) {
        self.compacted = self.version;
        for table in self.tables.values_mut() {
            table.history.clear();
            table.forgotten = self.version;
        }
    }

    fn advance(&mut self) -> u64 {
        self.version += 1;
        self.version
    }
}

impl Table {
    fn record(&mut self, change: Change) {
        self.history.push_back(Arc::new(change));
        if self.history.len() > HISTORY
            && let Some(oldest) = self.history.pop_front()
        {
            self.forgotten = oldest.version;
        }
    }
}

fn place(object: &Value) -> (String, String) {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    (text("namespace"), text("name"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> Key {
        ("example.com".into(), "things".into())
    }

    fn thing(name: &str) -> Value {
        json!({"metadata": {"namespace": "here", "name": name}})
    }

    fn missed(store: &Store, after: u64) -> Option<Vec<(u64, Action)>> {
        let missed = store.missed(&key(), after).ok()?;
        Some(
            missed
                .changes
                .iter()
                .map(|change| (change.version, change.action))
                .collect(),
        )
    }

    #[test]
    fn changes_are_replayed_from_any_version() {
        let mut store = Store::new();
        store.put(&key(), thing("a"));
        store.put(&key(), thing("a"));
        store.remove(&key(), "here", "a");
        assert!(store.remove(&key(), "here", "a").is_none());
        assert_eq!(
            missed(&store, 2),
            Some(vec![(3, Action::Modified), (4, Action::Deleted)])
        );
        assert_eq!(missed(&store, 4), Some(vec![]));
    }

    #[test]
    fn forgotten_changes_are_not_replayed() {
        let mut store = Store::new();
        store.put(&key(), thing("a"));
        store.compact();
        assert_eq!(missed(&store, 1), None);
        assert_eq!(missed(&store, 2), Some(vec![]));
        for _ in 0..=HISTORY {
            store.put(&key(), thing("a"));
        }
        assert_eq!(missed(&store, 2), None);
        assert_eq!(missed(&store, 3).map(|changes| changes.len()), Some(HISTORY));
    }

    #[test]
    fn lists_are_sorted_and_limited_to_a_namespace() {
        let mut store = Store::new();
        for (namespace, name) in [("b", "1"), ("a", "2"), ("a", "1"), ("aa", "1")] {
            store.put(&key(), json!({"metadata": {"namespace": namespace, "name": name}}));
        }
        let names = |namespace| -> Vec<_> {
            let objects = store.list(&key(), namespace).map(|object| &object["metadata"]);
            objects
                .map(|meta| format!("{}/{}", meta["namespace"], meta["name"]).replace('"', ""))
                .collect()
        };
        assert_eq!(names(None), ["a/1", "a/2", "aa/1", "b/1"]);
        assert_eq!(names(Some("a")), ["a/1", "a/2"]);
    }
}
