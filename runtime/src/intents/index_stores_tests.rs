use std::collections::HashMap;

use futures::FutureExt as _;

use super::*;
use crate::intents::indexes::{IndexKey, IndexView, Indexes};

type Words = Store<String, u32>;

fn entries<const N: usize>(entries: [(&str, u32); N]) -> Vec<(String, u32)> {
    entries.map(|(key, value)| (key.to_owned(), value)).into()
}

fn values(store: &Words, key: &str) -> Vec<u32> {
    store.get(key).iter().map(|value| **value).collect()
}

// I-2: emptied collections go with their keys, and duplicates are values of their own.
#[test]
fn each_key_has_the_values_of_its_contributors() {
    let store = Arc::<Words>::default();
    let [mut first, mut second, mut third] = [(); 3].map(|()| store.contribute());
    first.replace(entries([("k", 1)]));
    second.replace(entries([("k", 1)]));
    third.replace(entries([("j", 3), ("k", 2)]));
    assert_eq!((values(&store, "k"), values(&store, "j")), (vec![1, 1, 2], vec![3]));
    third.clear();
    assert!(!store.contains_key("j") && third.is_empty());
    assert_eq!(values(&store, "k"), [1, 1]);
    second.clear();
    assert_eq!((values(&store, "k"), store.len()), (vec![1], 1));
    first.clear();
    assert_eq!(store.len(), 0);
}

// I-3, I-5
#[test]
fn a_result_replaces_the_one_before_and_an_equal_value_stays_where_it_is() {
    let store = Arc::<Words>::default();
    let mut one = store.contribute();
    one.replace(entries([("a", 1), ("b", 2), ("c", 3)]));
    let before = store.get("a");
    let (mut seen, mut later) = (store.changes(), store.changes());
    assert!(
        !one.replace(entries([("a", 1), ("b", 2), ("c", 3)])),
        "nothing has changed"
    );
    assert!(seen.changed().now_or_never().is_none(), "and nobody is woken");
    assert!(one.replace(entries([("a", 1), ("b", 4)])));
    assert!(seen.changed().now_or_never().is_some() && later.changed().now_or_never().is_some());
    assert!(
        Arc::ptr_eq(&before[0], &store.get("a")[0]),
        "an equal value is not replaced"
    );
    assert_eq!((values(&store, "b"), store.len()), (vec![4], 2));
    one.take(Box::new(Entries::<String, u32>::keep()));
    assert_eq!(store.len(), 2);
    one.take(Box::new(Entries::<String, u32>::none()));
    assert_eq!(store.len(), 0);
    one.replace(entries([("a", 1), ("a", 2)]));
    assert_eq!(values(&store, "a"), [2], "as in a map");
}

// I-4: whatever yields pairs is a mapping, and so is what yields none; null is a value, and so is a mapping in one.
#[test]
fn any_mapping_counts_and_any_value_is_kept() {
    use serde_json::{Map, Value, json};

    let store = Arc::<Store<String, Value>>::default();
    let mut one = store.contribute();
    let object: Map<String, Value> = serde_json::from_value(json!({"a": null, "b": {"c": 1}})).unwrap();
    for entries in [
        Entries::from_iter(object.clone()),
        Entries::from_iter(object.clone().into_iter().collect::<HashMap<_, _>>()),
        Entries::from_iter(object.into_iter().collect::<BTreeMap<_, _>>()),
    ] {
        one.take(Box::new(entries));
        assert_eq!(
            (&*store.get("a")[0], &*store.get("b")[0]),
            (&Value::Null, &json!({"c": 1}))
        );
    }
    one.take(Box::new(None::<(String, Value)>.into_iter().collect::<Entries<_, _>>()));
    assert_eq!(store.len(), 0);
}

// I-6: what others contribute is not touched, nor looked at.
#[test]
fn memory_is_in_proportion_to_the_values_kept() {
    let store = Arc::<Store<u32, u32>>::default();
    let mut contributors: Vec<_> = (0..10_000).map(|_| store.contribute()).collect();
    for (contributor, number) in contributors.iter_mut().zip(0..) {
        contributor.replace(vec![(number, number), (0, 7)]);
    }
    assert_eq!((store.len(), store.get(&0).len()), (10_000, 10_000));
    let full = store.look(HashMap::capacity);
    for contributor in contributors.iter_mut().skip(10) {
        contributor.clear();
    }
    assert_eq!((store.len(), store.get(&0).len()), (10, 10));
    assert!(store.look(HashMap::capacity) < 100 && full >= 10_000);
    for contributor in contributors.iter_mut().skip(1) {
        contributor.clear();
    }
    store.look(|values| assert!(matches!(values.get(&0), Some(Values::One(_, value)) if **value == 7)));
}

/// The store is what a list of all (contributor, key, value) says, after whatever was done.
#[test]
fn a_store_is_what_a_naive_model_is() {
    let mut random = fastrand::Rng::with_seed(17);
    for _ in 0..50 {
        let store = Arc::<Store<u8, u8>>::default();
        let mut contributors: Vec<_> = (0..random.usize(1..8)).map(|_| store.contribute()).collect();
        let mut model: BTreeMap<(usize, u8), u8> = BTreeMap::new();
        for _ in 0..100 {
            let who = random.usize(..contributors.len());
            let mut changes = store.changes();
            let before = model.clone();
            match random.u8(..4) {
                0 => {
                    contributors[who].clear();
                    model.retain(|(owner, _), _| *owner != who);
                }
                1 => contributors[who].take(Box::new(Entries::<u8, u8>::keep())),
                _ => {
                    let count = random.usize(..5);
                    let entry = || (random.u8(..6), random.u8(..3));
                    let entries: Vec<(u8, u8)> = std::iter::repeat_with(entry).take(count).collect();
                    model.retain(|(owner, _), _| *owner != who);
                    model.extend(entries.iter().map(|(key, value)| ((who, *key), *value)));
                    contributors[who].take(Box::new(Entries::from_iter(entries)));
                }
            }
            assert_eq!(changes.changed().now_or_never().is_some(), before != model);
            let mut expected: BTreeMap<u8, Vec<u8>> = BTreeMap::new();
            for ((_, key), value) in &model {
                expected.entry(*key).or_default().push(*value);
            }
            let plain = |values: Vec<Arc<u8>>| values.iter().map(|value| **value).collect::<Vec<u8>>();
            let all = store.entries().into_iter().map(|(key, values)| (key, plain(values)));
            assert_eq!(all.collect::<BTreeMap<_, _>>(), expected);
            assert_eq!((store.len(), store.values().len()), (expected.len(), model.len()));
            for key in 0..6 {
                assert_eq!(plain(store.get(&key)), expected.get(&key).cloned().unwrap_or_default());
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Sizes;

impl IndexKey for Sizes {
    const ID: &'static str = "sizes";
    type Key = ();
    type Value = u32;
}

#[derive(Clone, Copy)]
struct Names;

impl IndexKey for Names {
    const ID: &'static str = "names";
    type Key = String;
    type Value = String;
}

#[test]
fn indexes_of_unit_tests_hold_what_they_are_given() {
    let indexes = Indexes::for_test()
        .with(Sizes, [((), 1), ((), 2)])
        .with(Sizes, [((), 1)])
        .with(Names, [("a".to_owned(), "Ann".to_owned())]);
    let sizes: Vec<u32> = indexes.of(Sizes).values().iter().map(|size| **size).collect();
    assert_eq!(sizes, [1, 2, 1]);
    let names = indexes.of(Names);
    assert_eq!((names.get("a")[0].as_str(), names.get("b").len()), ("Ann", 0));
    assert_eq!(
        (names.keys(), names.len(), names.is_empty()),
        (vec!["a".to_owned()], 1, false)
    );
    assert_eq!(format!("{indexes:?} {names:?}"), r#"{"names", "sizes"} {"a": ["Ann"]}"#);
}

// I, *Improve on*: handlers can wait for changes.
#[tokio::test]
async fn a_view_tells_of_changes_since_it_was_made() {
    let indexes = Indexes::for_test().with(Names, []);
    let mut names = indexes.of(Names);
    let mut nobodys = indexes.of(Sizes);
    assert!(names.changed().now_or_never().is_none() && nobodys.is_empty());
    let indexes = indexes.with(Names, [("a".to_owned(), "Ann".to_owned())]);
    assert!(names.contains_key("a"), "a view is live");
    names.changed().await;
    assert!(names.changed().now_or_never().is_none(), "told once");
    assert!(nobodys.changed().now_or_never().is_none());
    let copy: IndexView<_, _> = indexes.of(Names).clone();
    assert_eq!(copy.entries().len(), 1);
}
