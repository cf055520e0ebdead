//! What an index is made of: values by key and contributor, and the contributors' keys.
//!
//! A contributor is one handler of one object, so that neither kinds nor handlers overwrite each other (I-1, I-6). It
//! keeps its own keys: the store need not know whose they are, and an update costs no more than these keys.

use std::any::Any;
use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::watch;

use super::indexes::Entries;

/// A store without its types.
pub(crate) trait AnyStore: Any + Send + Sync {
    /// A new contributor, without any values yet.
    fn contributor(self: Arc<Self>) -> Box<dyn Contribution>;
}

/// What one handler contributes for one object.
///
/// It does not go away by being dropped, so that the end of an operator does not empty its indexes before its handlers
/// have ended.
pub(crate) trait Contribution: Send + Sync + fmt::Debug {
    /// Takes what the handler has returned: [`Entries`] of the index's types.
    fn take(&mut self, entries: Box<dyn Any + Send>);

    /// Takes all values back.
    fn clear(&mut self);

    fn is_empty(&self) -> bool;
}

/// The values of one index.
///
/// Locks are held for a look or a change of the map, never while a value is compared or dropped.
pub(crate) struct Store<K, V> {
    values: RwLock<HashMap<K, Values<V>>>,
    /// The number of the next contributor.
    next: AtomicU64,
    changed: watch::Sender<()>,
}

/// The values under one key, by their contributors' numbers; never empty. Most often there is one, which costs nothing.
enum Values<V> {
    One(u64, Arc<V>),
    Many(BTreeMap<u64, Arc<V>>),
}

impl<V> Values<V> {
    fn get(&self, contributor: u64) -> Option<&Arc<V>> {
        match self {
            Self::One(number, value) => (*number == contributor).then_some(value),
            Self::Many(values) => values.get(&contributor),
        }
    }

    fn all(&self) -> Vec<Arc<V>> {
        match self {
            Self::One(_, value) => vec![Arc::clone(value)],
            Self::Many(values) => values.values().cloned().collect(),
        }
    }

    /// Returns the value that was there before.
    fn insert(&mut self, contributor: u64, value: Arc<V>) -> Option<Arc<V>> {
        match self {
            Self::One(number, known) if *number == contributor => Some(std::mem::replace(known, value)),
            Self::One(number, known) => {
                let values = [(*number, Arc::clone(known)), (contributor, value)];
                *self = Self::Many(values.into());
                None
            }
            Self::Many(values) => values.insert(contributor, value),
        }
    }

    /// Whether nothing is left, and what was taken.
    fn remove(&mut self, contributor: u64) -> (bool, Option<Arc<V>>) {
        match self {
            Self::One(number, value) if *number == contributor => (true, Some(Arc::clone(value))),
            Self::One(..) => (false, None),
            Self::Many(values) => {
                let removed = values.remove(&contributor);
                if values.len() == 1
                    && let Some((number, value)) = values.pop_first()
                {
                    *self = Self::One(number, value);
                }
                (false, removed)
            }
        }
    }
}

impl<K, V> Default for Store<K, V> {
    fn default() -> Self {
        Self {
            values: RwLock::default(),
            next: AtomicU64::new(0),
            changed: watch::Sender::new(()),
        }
    }
}

impl<K, V> Store<K, V> {
    /// Tells of each change from now on.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// A new contributor.
    pub(super) fn contribute(self: &Arc<Self>) -> Contributor<K, V> {
        Contributor {
            number: self.next.fetch_add(1, Ordering::Relaxed),
            store: Arc::clone(self),
            keys: Box::default(),
        }
    }
}

impl<K: Eq + Hash + Clone, V> Store<K, V> {
    fn look<T>(&self, look: impl FnOnce(&HashMap<K, Values<V>>) -> T) -> T {
        look(&self.values.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn get<Q>(&self, key: &Q) -> Vec<Arc<V>>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.look(|values| values.get(key).map(Values::all).unwrap_or_default())
    }

    pub(super) fn contains_key<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.look(|values| values.contains_key(key))
    }

    pub(super) fn keys(&self) -> Vec<K> {
        self.look(|values| values.keys().cloned().collect())
    }

    pub(super) fn entries(&self) -> Vec<(K, Vec<Arc<V>>)> {
        self.look(|values| values.iter().map(|(key, values)| (key.clone(), values.all())).collect())
    }

    pub(super) fn values(&self) -> Vec<Arc<V>> {
        self.look(|values| values.values().flat_map(Values::all).collect())
    }

    pub(super) fn len(&self) -> usize {
        self.look(HashMap::len)
    }

    /// The values of a contributor, in the order of the keys.
    fn of(&self, contributor: u64, keys: &[K]) -> Vec<Option<Arc<V>>> {
        self.look(|values| {
            let value = |key| values.get(key)?.get(contributor).cloned();
            keys.iter().map(value).collect()
        })
    }

    /// Changes the values of a contributor. The old ones are dropped when the lock is free again.
    fn change(&self, contributor: u64, dropped: &[&K], set: &HashMap<K, Arc<V>>) {
        let mut old = Vec::new();
        let mut values = self.values.write().unwrap_or_else(PoisonError::into_inner);
        for key in dropped {
            let Some(known) = values.get_mut(*key) else { continue };
            let (is_empty, removed) = known.remove(contributor);
            old.extend(removed);
            if is_empty {
                values.remove(*key);
            }
        }
        for (key, value) in set {
            match values.get_mut(key) {
                Some(known) => old.extend(known.insert(contributor, Arc::clone(value))),
                None => {
                    values.insert(key.clone(), Values::One(contributor, Arc::clone(value)));
                }
            }
        }
        // What many objects have left is given back; where a few come and go, nothing is moved again and again.
        if values.capacity() > 64 && values.capacity() / 4 > values.len() {
            let room = values.len() * 2;
            values.shrink_to(room);
        }
        drop(values);
        self.changed.send_replace(());
    }
}

impl<K, V> AnyStore for Store<K, V>
where
    K: Eq + Hash + Clone + fmt::Debug + Send + Sync + 'static,
    V: PartialEq + Send + Sync + 'static,
{
    fn contributor(self: Arc<Self>) -> Box<dyn Contribution> {
        Box::new(self.contribute())
    }
}

/// A contributor with the keys that it has values under.
pub(super) struct Contributor<K, V> {
    store: Arc<Store<K, V>>,
    number: u64,
    keys: Box<[K]>,
}

impl<K: Eq + Hash + Clone, V: PartialEq> Contributor<K, V> {
    /// All that it contributes from now on; says whether anything has changed.
    pub(super) fn replace(&mut self, entries: Vec<(K, V)>) -> bool {
        let mut set: HashMap<K, Arc<V>> = entries.into_iter().map(|(key, value)| (key, Arc::new(value))).collect();
        let known = self.store.of(self.number, &self.keys);
        let mut dropped = Vec::new();
        let mut untouched = Vec::new();
        for (key, known) in self.keys.iter().zip(known) {
            match (set.get(key), known) {
                (Some(new), Some(known)) if **new == *known => {
                    untouched.push(key.clone());
                    set.remove(key);
                }
                (Some(_), _) => {}
                (None, _) => dropped.push(key),
            }
        }
        if dropped.is_empty() && set.is_empty() {
            return false;
        }
        self.store.change(self.number, &dropped, &set);
        untouched.extend(set.into_keys());
        self.keys = untouched.into();
        true
    }
}

impl<K, V> Contribution for Contributor<K, V>
where
    K: Eq + Hash + Clone + fmt::Debug + Send + Sync + 'static,
    V: PartialEq + Send + Sync + 'static,
{
    fn take(&mut self, entries: Box<dyn Any + Send>) {
        let entries = entries.downcast::<Entries<K, V>>();
        let Entries(entries) = *entries.expect("the types of the index were checked at the start");
        if let Some(entries) = entries {
            self.replace(entries);
        }
    }

    fn clear(&mut self) {
        self.replace(Vec::new());
    }

    fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

impl<K: fmt::Debug, V> fmt::Debug for Contributor<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Contributor")
            .field("number", &self.number)
            .field("keys", &self.keys)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "index_stores_tests.rs"]
mod tests;
