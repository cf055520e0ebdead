#![expect(clippy::needless_pass_by_value, reason = "tests read better so")]

use super::*;
use serde_json::json;

fn brief(diff: &Diff) -> Vec<(Operation, String, Value, Value)> {
    diff.iter()
        .map(|item| (item.operation, item.path.join("."), item.old.clone(), item.new.clone()))
        .collect()
}

fn between(old: Value, new: Value) -> Vec<(Operation, String, Value, Value)> {
    brief(&diff(Some(&old), Some(&new)))
}

// D-1
#[test]
fn an_item_tells_what_happened_where_and_both_values() {
    let old = json!({"spec": {"kept": 1, "size": 1, "gone": {"a": 1}}});
    let new = json!({"spec": {"kept": 1, "size": [2], "a.b/c": true}});
    let item = |operation, key: &str, old: Value, new: Value| DiffItem {
        operation,
        path: vec!["spec".into(), key.into()],
        old,
        new,
    };
    assert_eq!(
        diff(Some(&old), Some(&new))[..],
        [
            item(Operation::Add, "a.b/c", json!(null), json!(true)),
            item(Operation::Remove, "gone", json!({"a": 1}), json!(null)),
            item(Operation::Change, "size", json!(1), json!([2])),
        ]
    );
    let whole = diff(Some(&old), None);
    let root = DiffItem {
        operation: Operation::Remove,
        path: Vec::new(),
        old,
        new: Value::Null,
    };
    assert_eq!(whole[..], [root]);
}

// D-2
#[test]
fn null_equals_absent_on_both_sides() {
    assert!(between(json!({"a": null}), json!({})).is_empty());
    assert!(between(json!({}), json!({"a": null})).is_empty());
    assert_eq!(
        between(json!({"a": null}), json!({"a": {}})),
        [(Operation::Add, "a".into(), json!(null), json!({}))]
    );
    assert_eq!(
        brief(&diff(None, Some(&json!({})))),
        [(Operation::Add, String::new(), json!(null), json!({}))]
    );
    assert!(diff(None, Some(&Value::Null)).is_empty());
}

// D-3
#[test]
fn lists_are_atomic() {
    assert_eq!(
        between(json!({"l": [1, 2]}), json!({"l": [1, 3]})),
        [(Operation::Change, "l".into(), json!([1, 2]), json!([1, 3]))]
    );
}

// D-4
#[test]
fn added_and_removed_trees_are_one_item() {
    assert_eq!(
        between(json!({"old": {"x": {"y": 1}}}), json!({"new": {"x": {"y": 1}}})),
        [
            (Operation::Add, "new".into(), json!(null), json!({"x": {"y": 1}})),
            (Operation::Remove, "old".into(), json!({"x": {"y": 1}}), json!(null)),
        ]
    );
}

// D-5
#[test]
fn the_order_is_added_removed_common_each_by_name() {
    let items = between(
        json!({"r2": 1, "r1": 1, "c2": 1, "c1": 1}),
        json!({"a2": 1, "a1": 1, "c2": 2, "c1": 2}),
    );
    let paths: Vec<_> = items.iter().map(|item| item.1.as_str()).collect();
    assert_eq!(paths, ["a1", "a2", "r1", "r2", "c1", "c2"]);
}

// D-6
#[test]
fn the_left_scope_ignores_what_only_the_right_has() {
    let (left, right) = (json!({"a": {"b": 1}, "x": 1}), json!({"a": {"b": 2, "c": 3}, "y": 1}));
    let found = brief(&diff_in(Scope::Left, Some(&left), Some(&right)));
    let paths: Vec<_> = found.iter().map(|item| (item.0, item.1.as_str())).collect();
    assert_eq!(paths, [(Operation::Remove, "x"), (Operation::Change, "a.b")]);
}

// D-8, improved
#[test]
fn one_equals_one_point_zero_but_not_true() {
    assert!(between(json!({"a": 1, "l": [1]}), json!({"a": 1.0, "l": [1.0]})).is_empty());
    assert_eq!(between(json!({"a": 1}), json!({"a": true})).len(), 1);
    assert_eq!(between(json!({"a": 0}), json!({"a": false})).len(), 1);
}

#[test]
fn large_integers_are_told_apart() {
    assert_eq!(
        between(
            json!({"a": 9_007_199_254_740_993_u64}),
            json!({"a": 9_007_199_254_740_992_u64})
        )
        .len(),
        1
    );
    assert!(between(json!({"a": -1}), json!({"a": -1.0})).is_empty());
}

// D-7
#[test]
fn a_reduction_shortens_paths_at_or_below_it() {
    let whole = diff(Some(&json!({"x": {"y": 1, "z": 2}})), Some(&json!({"x": {"y": 2}})));
    let reduced = whole.reduce(&FieldPath::from("x"));
    assert_eq!(
        brief(&reduced),
        [
            (Operation::Remove, "z".into(), json!(2), json!(null)),
            (Operation::Change, "y".into(), json!(1), json!(2))
        ]
    );
    assert_eq!(whole.reduce(&FieldPath::default()), whole);
    assert!(whole.reduce(&FieldPath::from("w")).is_empty());
}

// D-7
#[test]
fn a_reduction_looks_into_items_above_it() {
    let created = diff(None, Some(&json!({"spec": {"x": 1}})));
    assert_eq!(
        brief(&created.reduce(&FieldPath::from("spec.x"))),
        [(Operation::Add, String::new(), json!(null), json!(1))]
    );
    assert!(created.reduce(&FieldPath::from("spec.q")).is_empty());
}

// D-7
#[test]
fn a_reduction_looks_into_changed_mappings() {
    // Mappings are compared key by key, so such an item only comes from outside; the rule holds all the same.
    let item = DiffItem {
        operation: Operation::Change,
        path: vec!["k".into()],
        old: json!({"a": 1, "c": 1}),
        new: json!({"b": 1, "c": 2}),
    };
    let whole = Diff(vec![item].into());
    let operations = |dotted: &str| -> Vec<_> {
        whole
            .reduce(&FieldPath::from(dotted))
            .iter()
            .map(|item| item.operation)
            .collect()
    };
    assert_eq!(operations("k.b"), [Operation::Add]);
    assert_eq!(operations("k.a"), [Operation::Remove]);
    assert_eq!(operations("k.c"), [Operation::Change]);
    assert!(operations("k.c.d").is_empty());
}

// F-10
#[test]
fn a_change_of_presence_is_a_change() {
    assert_eq!(
        between(json!({"a": {}}), json!({})),
        [(Operation::Remove, "a".into(), json!({}), json!(null))]
    );
}

#[test]
fn a_diff_is_shown_in_one_line_and_cut() {
    let long = "x".repeat(200);
    let shown = diff(Some(&json!({"a": 1, "c": 1})), Some(&json!({"b": long, "c": 2}))).to_string();
    assert!(shown.starts_with("add b: \"xxx"), "{shown}");
    assert!(shown.ends_with("…; remove a: 1; change c: 1 -> 2"), "{shown}");
}

#[test]
fn equality_agrees_with_emptiness_of_the_diff() {
    let values = [
        json!(null),
        json!({}),
        json!({"a": null}),
        json!({"a": {}}),
        json!({"a": {"b": null}}),
        json!([null]),
        json!([{}]),
        json!([{"a": null}]),
        json!(1),
        json!(1.0),
        json!(true),
        json!("1"),
        json!({"a": [1, {"b": 1.0}]}),
        json!({"a": [1.0, {"b": 1, "c": null}]}),
    ];
    for left in &values {
        for right in &values {
            assert_eq!(
                equal(Some(left), Some(right)),
                diff(Some(left), Some(right)).is_empty(),
                "{left} {right}"
            );
        }
    }
}
