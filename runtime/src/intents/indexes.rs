//! In-memory indexes, as users see them: keys with the values that objects contribute (I).
//!
//! All indexes of an operator exist from before anything starts, and are empty until objects are indexed (I-1).

use std::any::{Any, TypeId, type_name};
use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use tokio::sync::watch;

use super::index_stores::{AnyStore, Store};

/// An index: its id, and the types of its keys and values. Generated for each index of the spec.
///
/// ```
/// use kopf_runtime::{Entries, HandlerResult, Index, IndexKey, Kind};
///
/// /// The names of carts by the shop that they stand in.
/// #[derive(Clone, Copy, Debug)]
/// struct ByShop;
///
/// impl IndexKey for ByShop {
///     const ID: &'static str = "by_shop";
///     type Key = String;
///     type Value = String;
/// }
///
/// // Registered by `Resource::index(ByShop, by_shop, |o| o)`; read anywhere by `indexes.of(ByShop)`.
/// async fn by_shop<K: Kind>(Index { name, labels, .. }: Index<K>) -> HandlerResult<Entries<String, String>> {
///     Ok(labels.get("shop").map(|shop| (shop.clone(), name)).into_iter().collect())
/// }
/// ```
pub trait IndexKey: Copy + Send + Sync + 'static {
    /// The name of the index; handlers of several kinds may feed one index (I-1).
    const ID: &'static str;
    /// What values are looked up by; `()` makes a flat index, a mere collection of values.
    type Key: Eq + Hash + Clone + fmt::Debug + Send + Sync + 'static;
    /// What is looked up. Equal values do not replace each other and wake nobody (I-5).
    type Value: PartialEq + fmt::Debug + Send + Sync + 'static;
}

/// What an index handler returns: all that the object contributes to the index from now on (I-3, I-5).
///
/// Of several values under one key, the last one counts, as in a map: each object has at most one value under a key.
///
/// ```
/// use kopf_runtime::Entries;
///
/// let one = Entries::one("eu", 1);
/// let two = Entries::from([("eu", 1), ("us", 2)]);
/// let many: Entries<String, usize> = ["a", "b"].iter().map(|name| (name.to_string(), name.len())).collect();
/// let flat = Entries::flat("a value without a key");
/// let unchanged = Entries::<String, usize>::keep();
/// # drop((one, two, many, flat, unchanged));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "return it from the index handler"]
pub struct Entries<K, V>(pub(super) Option<Vec<(K, V)>>);

impl<K, V> Entries<K, V> {
    /// One value.
    pub fn one(key: K, value: V) -> Self {
        Self(Some(vec![(key, value)]))
    }

    /// No values: what the object has contributed before is dropped.
    pub const fn none() -> Self {
        Self(Some(Vec::new()))
    }

    /// Nothing changes: what the object has contributed before stays. It is Kopf's result `None` (I-3).
    pub const fn keep() -> Self {
        Self(None)
    }
}

impl<V> Entries<(), V> {
    /// One value of a flat index.
    pub fn flat(value: V) -> Self {
        Self::one((), value)
    }
}

impl<K, V> FromIterator<(K, V)> for Entries<K, V> {
    fn from_iter<T: IntoIterator<Item = (K, V)>>(entries: T) -> Self {
        Self(Some(entries.into_iter().collect()))
    }
}

impl<K, V, const N: usize> From<[(K, V); N]> for Entries<K, V> {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

/// All indexes of the operator, read-only (I-2).
///
/// Before any handler but those of indexes is called, every index holds all objects that were there when the operator
/// started (I-14, I-15).
#[derive(Clone, Default)]
pub struct Indexes(Arc<BTreeMap<&'static str, Arc<dyn AnyStore>>>);

impl Indexes {
    /// Those that handlers were registered for; one id cannot have two types.
    pub(crate) fn declared(declarations: impl IntoIterator<Item = Declaration>) -> Result<Self, String> {
        let mut known: BTreeMap<&'static str, Declaration> = BTreeMap::new();
        for declaration in declarations {
            let id = declaration.id;
            if id.is_empty() {
                return Err("an index has an empty id".to_owned());
            }
            let first = known.entry(id).or_insert(declaration);
            if first.types != declaration.types {
                return Err(format!(
                    "the index `{id}` has two types, {} and {}; keys and values must be the same wherever it is fed",
                    first.names(),
                    declaration.names()
                ));
            }
        }
        let stores = known.into_iter().map(|(id, declaration)| (id, (declaration.make)()));
        Ok(Self(Arc::new(stores.collect())))
    }

    /// The index of this key, as it is from now on: what handlers see of it changes while they look.
    ///
    /// One that nobody has registered is empty, and never changes.
    ///
    /// # Panics
    /// If the id is registered with other types than those of `index`.
    pub fn of<I: IndexKey>(&self, index: I) -> IndexView<I::Key, I::Value> {
        let _ = index;
        let Some(store) = self.0.get(I::ID) else {
            return IndexView::of(Arc::default());
        };
        let store: Arc<dyn Any + Send + Sync> = Arc::clone(store) as _;
        let store = store.downcast().unwrap_or_else(|_| {
            let names = Declaration::of::<I>().names();
            panic!("the index `{}` has other types than {names}", I::ID)
        });
        IndexView::of(store)
    }

    /// What a handler contributes to; `None` if nobody registered it.
    pub(crate) fn store(&self, id: &str) -> Option<Arc<dyn AnyStore>> {
        self.0.get(id).cloned()
    }

    /// No indexes, for unit tests of handlers: see [`with`](Self::with).
    #[must_use]
    pub fn for_test() -> Self {
        Self::default()
    }

    /// Adds values to an index, for unit tests of handlers. Each is as if it came from an object of its own.
    ///
    /// ```
    /// # use kopf_runtime::{IndexKey, Indexes};
    /// # #[derive(Clone, Copy)]
    /// # struct ByShop;
    /// # impl IndexKey for ByShop {
    /// #     const ID: &'static str = "by_shop";
    /// #     type Key = String;
    /// #     type Value = u32;
    /// # }
    /// let indexes = Indexes::for_test().with(ByShop, [("eu".to_owned(), 1), ("eu".to_owned(), 2)]);
    /// assert_eq!(indexes.of(ByShop).get("eu").len(), 2);
    /// // arguments.indexes = indexes;
    /// ```
    ///
    /// # Panics
    /// If the id was given with other types before.
    #[must_use]
    pub fn with<I: IndexKey>(mut self, index: I, entries: impl IntoIterator<Item = (I::Key, I::Value)>) -> Self {
        let stores = Arc::make_mut(&mut self.0);
        stores.entry(I::ID).or_insert_with(Declaration::of::<I>().make);
        let store = self.of(index).store;
        for entry in entries {
            let _ = Store::contribute(&store).replace(vec![entry]);
        }
        self
    }
}

impl fmt::Debug for Indexes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// An index that handlers feed, as it is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Declaration {
    pub(crate) id: &'static str,
    types: TypeId,
    names: [&'static str; 2],
    make: fn() -> Arc<dyn AnyStore>,
}

impl Declaration {
    pub(crate) fn of<I: IndexKey>() -> Self {
        Self {
            id: I::ID,
            types: TypeId::of::<(I::Key, I::Value)>(),
            names: [type_name::<I::Key>(), type_name::<I::Value>()],
            make: || Arc::<Store<I::Key, I::Value>>::default(),
        }
    }

    fn names(&self) -> String {
        let [key, value] = self.names;
        format!("`{key}` to `{value}`")
    }
}

/// One index: each key has the values of all objects that contribute to it, the object that came first first (I-2).
///
/// Reading takes copies: of keys, and of pointers to the values. A later look may see more, or other, or fewer values.
pub struct IndexView<K, V> {
    store: Arc<Store<K, V>>,
    changes: watch::Receiver<()>,
}

impl<K: Eq + Hash + Clone, V> IndexView<K, V> {
    fn of(store: Arc<Store<K, V>>) -> Self {
        let changes = store.changes();
        Self { store, changes }
    }

    /// The values under a key; none if there is no such key.
    pub fn get<Q>(&self, key: &Q) -> Vec<Arc<V>>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.store.get(key)
    }

    /// Whether there are values under this key.
    pub fn contains_key<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.store.contains_key(key)
    }

    /// All keys, in no order. Each has a value at least.
    pub fn keys(&self) -> Vec<K> {
        self.store.keys()
    }

    /// All keys with their values.
    pub fn entries(&self) -> Vec<(K, Vec<Arc<V>>)> {
        self.store.entries()
    }

    /// All values, whatever their keys: all there is to a flat index.
    pub fn values(&self) -> Vec<Arc<V>> {
        self.store.values()
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.store.len()
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns at the next change: one since the view was made, or since this returned last.
    ///
    /// ```no_run
    /// # use kopf_runtime::{IndexKey, IndexView};
    /// async fn wait_for_eu(mut shops: IndexView<String, u32>) {
    ///     while !shops.contains_key("eu") {
    ///         shops.changed().await;
    ///     }
    /// }
    /// ```
    pub async fn changed(&mut self) {
        // The store is as old as the view.
        let _ = self.changes.changed().await;
    }
}

impl<K, V> Clone for IndexView<K, V> {
    fn clone(&self) -> Self {
        Self {
            store: Arc::clone(&self.store),
            changes: self.changes.clone(),
        }
    }
}

impl<K: Eq + Hash + Clone + fmt::Debug, V: fmt::Debug> fmt::Debug for IndexView<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.store.entries()).finish()
    }
}
