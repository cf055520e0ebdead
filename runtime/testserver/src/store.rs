//! The objects, their versions and the history of their changes; no HTTP, no clock of its own.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::watch;

use crate::kinds::Key;
use crate::owners::Owners;

/// How many changes of one kind can be replayed at first. A watcher that falls further behind gets "too old", as in a
/// cluster.
const HISTORY: usize = 10_000;

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

/// The asked version, or changes after it, are not known any more.
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

/// Where one object is kept.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spot {
    pub(crate) key: Key,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

#[derive(Debug)]
struct Table {
    /// By `namespace/name`, which is the order of lists in a cluster: `a-b` comes before `a`.
    objects: BTreeMap<String, Arc<Value>>,
    history: VecDeque<Arc<Change>>,
    /// Changes up to this version are forgotten.
    forgotten: u64,
    /// The version at which the kind began to be served, last: nobody could watch it before.
    begun: u64,
    /// The version at which the kind ceased to be served, last.
    ended: u64,
    changed: watch::Sender<u64>,
}

/// All objects by kind, namespace and name.
#[derive(Debug)]
pub(crate) struct Store {
    version: u64,
    compacted: u64,
    tables: BTreeMap<Key, Table>,
    /// Who depends on whom.
    pub(crate) owners: Owners,
    /// Changes that the controllers have not seen.
    fresh: VecDeque<(Key, Arc<Change>)>,
    changed: watch::Sender<u64>,
    /// How many changes of one kind can be replayed.
    pub(crate) kept: usize,
}

impl Store {
    pub(crate) fn new() -> Self {
        // Version 0 has a meaning of its own in requests, so that objects start above it.
        Self {
            version: 1,
            compacted: 0,
            tables: BTreeMap::new(),
            owners: Owners::default(),
            fresh: VecDeque::new(),
            changed: watch::Sender::new(1),
            kept: HISTORY,
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

    /// Fires after every change of a kind.
    pub(crate) fn subscribe_to(&mut self, key: &Key) -> watch::Receiver<u64> {
        self.table(key).changed.subscribe()
    }

    pub(crate) fn get(&self, key: &Key, namespace: &str, name: &str) -> Option<&Arc<Value>> {
        self.tables.get(key)?.objects.get(&path(namespace, name))
    }

    /// The objects of a kind in one namespace, or in all of them, by namespace and name.
    pub(crate) fn list<'a>(
        &'a self,
        key: &Key,
        namespace: Option<&str>,
    ) -> impl Iterator<Item = &'a Arc<Value>> + use<'a> {
        let objects = self.tables.get(key).map(|table| &table.objects);
        let prefix = prefix(namespace);
        let rows = objects.map(|objects| objects.range(prefix.clone()..));
        rows.into_iter()
            .flatten()
            .take_while(move |(path, _)| path.starts_with(&prefix))
            .map(|(_, object)| object)
    }

    /// The objects of a kind as they were at a version, in one namespace or in all, maybe only those after a path.
    pub(crate) fn list_at<'a>(
        &'a self,
        key: &Key,
        namespace: Option<&str>,
        version: u64,
        after: Option<&str>,
    ) -> Result<impl Iterator<Item = &'a Arc<Value>> + use<'a>, TooOld> {
        let table = self.tables.get(key);
        if version < table.map_or(self.compacted, |table| table.forgotten) {
            return Err(TooOld);
        }
        let prefix = prefix(namespace);
        let start = match after {
            Some(path) => Bound::Excluded(path.to_owned()),
            None => Bound::Included(prefix.clone()),
        };
        // What later changes did, undone: of each object the state before the first of them counts.
        let mut undone: BTreeMap<String, Option<&Arc<Value>>> = BTreeMap::new();
        if let Some(table) = table {
            let first = table.history.partition_point(|change| change.version <= version);
            for change in table.history.range(first..) {
                let earlier = undone.entry(place(&change.object));
                earlier.or_insert(change.previous.as_ref());
            }
        }
        let range = (start, Bound::Unbounded);
        let earlier: Vec<_> = undone
            .range(range.clone())
            .filter_map(|(path, object)| Some((Cow::<str>::Owned(path.clone()), (*object)?)))
            .collect();
        let current = table
            .into_iter()
            .flat_map(move |table| table.objects.range(range.clone()));
        let current = current.filter(move |(path, _)| !undone.contains_key(*path));
        let mut current = current.peekable();
        let mut earlier = earlier.into_iter().peekable();
        let merged = std::iter::from_fn(move || match (current.peek(), earlier.peek()) {
            (Some((one, _)), Some((other, _))) if other.as_ref() < one.as_str() => earlier.next(),
            (None, _) => earlier.next(),
            _ => current
                .next()
                .map(|(path, object)| (Cow::Borrowed(path.as_str()), object)),
        });
        let within = merged.take_while(move |(path, _)| path.starts_with(&prefix));
        Ok(within.map(|(_, object)| object))
    }

    /// Stores an object under a new version.
    pub(crate) fn put(&mut self, key: &Key, mut object: Value) -> Arc<Value> {
        let version = self.advance();
        object["metadata"]["resourceVersion"] = json!(version.to_string());
        let object = Arc::new(object);
        let previous = self.table(key).objects.insert(place(&object), Arc::clone(&object));
        let action = if previous.is_some() {
            Action::Modified
        } else {
            Action::Added
        };
        self.record(key, version, action, Arc::clone(&object), previous);
        object
    }

    /// Removes an object. What watchers get is the state that was stored last, under a version of its own.
    pub(crate) fn remove(&mut self, key: &Key, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let previous = self.tables.get_mut(key)?.objects.remove(&path(namespace, name))?;
        let version = self.advance();
        let mut object = Value::clone(&previous);
        object["metadata"]["resourceVersion"] = json!(version.to_string());
        let object = Arc::new(object);
        self.record(key, version, Action::Deleted, Arc::clone(&object), Some(previous));
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
        if after < table.forgotten.max(table.begun) {
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

    /// The next change that the controllers have not seen.
    pub(crate) fn next_fresh(&mut self) -> Option<(Key, Arc<Change>)> {
        self.fresh.pop_front()
    }

    /// Marks a kind as not served from now on.
    pub(crate) fn end(&mut self, key: &Key) {
        let version = self.advance();
        let table = self.table(key);
        table.ended = version;
        table.changed.send_replace(version);
        self.changed.send_replace(version);
    }

    /// Marks a kind as served from now on: an earlier life of it cannot be resumed.
    pub(crate) fn begin(&mut self, key: &Key) {
        let version = self.version;
        self.table(key).begun = version;
    }

    /// Every change of an object that is still kept, compacted or not, oldest first.
    pub(crate) fn history(&self, key: &Key, namespace: &str, name: &str) -> Vec<Arc<Change>> {
        let wanted = path(namespace, name);
        let changes = self.tables.get(key).into_iter().flat_map(|table| &table.history);
        changes
            .filter(|change| place(&change.object) == wanted)
            .cloned()
            .collect()
    }

    /// Makes all history useless for watches and lists.
    pub(crate) fn compact(&mut self) {
        self.compacted = self.version;
        for table in self.tables.values_mut() {
            table.forgotten = self.version;
        }
    }

    fn advance(&mut self) -> u64 {
        self.version += 1;
        self.version
    }

    fn table(&mut self, key: &Key) -> &mut Table {
        let forgotten = self.compacted;
        self.tables.entry(key.clone()).or_insert_with(|| Table {
            objects: BTreeMap::new(),
            history: VecDeque::new(),
            forgotten,
            begun: 0,
            ended: 0,
            changed: watch::Sender::new(0),
        })
    }

    fn record(&mut self, key: &Key, version: u64, action: Action, object: Arc<Value>, previous: Option<Arc<Value>>) {
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
        let now = (action != Action::Deleted).then_some(&*object);
        self.owners.note(key, previous.as_deref(), now);
        let change = Arc::new(Change {
            version,
            action,
            namespace,
            object,
            previous,
        });
        self.fresh.push_back((key.clone(), Arc::clone(&change)));
        let kept = self.kept;
        let table = self.table(key);
        table.history.push_back(change);
        while table.history.len() > kept
            && let Some(oldest) = table.history.pop_front()
        {
            table.forgotten = table.forgotten.max(oldest.version);
        }
        table.changed.send_replace(version);
        self.changed.send_replace(version);
    }
}

impl Spot {
    /// Where a stored object of a kind is.
    pub(crate) fn of(key: &Key, object: &Value) -> Self {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        Self {
            key: key.clone(),
            namespace: text("namespace"),
            name: text("name"),
        }
    }
}

fn place(object: &Value) -> String {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    path(text("namespace"), text("name"))
}

/// The place of an object within its kind.
pub(crate) fn path(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

fn prefix(namespace: Option<&str>) -> String {
    namespace.map(|namespace| format!("{namespace}/")).unwrap_or_default()
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

    fn paths_at(store: &Store, version: u64, after: Option<&str>) -> Option<Vec<String>> {
        let objects = store.list_at(&key(), None, version, after).ok()?;
        let shown = |object: &Arc<Value>| {
            format!("{}@{}", place(object), object["metadata"]["resourceVersion"]).replace('"', "")
        };
        Some(objects.map(shown).collect())
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
    fn every_version_that_is_remembered_can_be_listed() {
        let mut store = Store::new();
        for name in ["b", "c", "a"] {
            store.put(&key(), thing(name));
        }
        store.remove(&key(), "here", "b");
        store.put(&key(), thing("c"));
        assert_eq!(paths_at(&store, 1, None), Some(vec![]));
        assert_eq!(paths_at(&store, 3, None).unwrap(), ["here/b@2", "here/c@3"]);
        assert_eq!(paths_at(&store, 4, None).unwrap(), ["here/a@4", "here/b@2", "here/c@3"]);
        assert_eq!(paths_at(&store, 4, Some("here/a")).unwrap(), ["here/b@2", "here/c@3"]);
        assert_eq!(paths_at(&store, 6, None).unwrap(), ["here/a@4", "here/c@6"]);
        store.compact();
        assert_eq!(paths_at(&store, 4, None), None);
        assert_eq!(paths_at(&store, 6, None).unwrap().len(), 2);
    }

    #[test]
    fn lists_are_sorted_as_their_paths_and_limited_to_a_namespace() {
        let mut store = Store::new();
        for (namespace, name) in [("b", "1"), ("a", "2"), ("a", "1"), ("a-a", "1"), ("aa", "1")] {
            store.put(&key(), json!({"metadata": {"namespace": namespace, "name": name}}));
        }
        let names = |namespace| -> Vec<_> {
            let objects = store.list(&key(), namespace).map(|object| &object["metadata"]);
            objects
                .map(|meta| format!("{}/{}", meta["namespace"], meta["name"]).replace('"', ""))
                .collect()
        };
        assert_eq!(names(None), ["a-a/1", "a/1", "a/2", "aa/1", "b/1"]);
        assert_eq!(names(Some("a")), ["a/1", "a/2"]);
    }

    #[test]
    fn only_changes_of_a_kind_wake_its_watchers() {
        let mut store = Store::new();
        let other = (String::new(), "others".to_owned());
        let mut changes = store.subscribe_to(&key());
        changes.borrow_and_update();
        store.put(&other, thing("a"));
        assert!(!changes.has_changed().unwrap());
        store.put(&key(), thing("a"));
        assert!(changes.has_changed().unwrap());
    }
}
