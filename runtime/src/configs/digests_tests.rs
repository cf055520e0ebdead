use serde_json::json;

use super::*;

#[test]
fn secrets_of_other_groups_are_copied_as_they_are() {
    let body = Body::new(json!({"apiVersion": "x.example/v1", "kind": "Secret", "data": {"a": "b"}}));
    assert_eq!(sealed(&body, json!({"data": {"a": "b"}})), json!({"data": {"a": "b"}}));
}

#[test]
fn sealing_twice_changes_nothing() {
    let body = Body::new(json!({"apiVersion": "v1", "kind": "Secret"}));
    let once = sealed(&body, json!({"data": {"a": "b"}}));
    assert_eq!(sealed(&body, once.clone()), once);
}

#[test]
fn fitting_takes_the_smallest_part_that_is_enough() {
    let value = json!({"a": "x".repeat(100), "b": "x".repeat(200), "c": {"d": "x".repeat(300)}});
    let fitted = fit(value.clone(), &value, &[], 480);
    let kept: Vec<bool> = [&fitted["a"], &fitted["b"], &fitted["c"]["d"]]
        .into_iter()
        .map(is_digest)
        .collect();
    assert_eq!(kept, [false, false, true]);
    let tight = fit(value.clone(), &value, &[], 10);
    assert!(
        ["a", "b", "c"].iter().all(|key| is_digest(&tight[*key])),
        "as small as it gets: {tight}"
    );
}

#[test]
fn what_counts_as_equal_has_one_digest() {
    assert_eq!(digest(&json!({"a": 1, "b": null})), digest(&json!({"a": 1.0})));
    assert_ne!(digest(&json!({"a": 1})), digest(&json!({"a": true})));
    assert_ne!(digest(&json!([null])), digest(&json!([])));
}

#[test]
fn a_value_that_looks_like_a_digest_is_left_alone() {
    let image = format!("sha256:{}", "0".repeat(64));
    let stored = json!({"spec": {"image": image}});
    assert_eq!(
        restore(stored.clone(), Some(&json!({"spec": {"image": "other"}}))),
        stored
    );
}

// B-5, B-054
#[test]
fn what_is_asked_for_is_kept_beside_the_digest_of_what_it_is_in() {
    let wide: Map<String, Value> = (0..100).map(|number| (format!("key{number}"), json!(number))).collect();
    let mut value = json!({"spec": wide, "other": 1});
    value["spec"]["x"] = json!({"y": 1, "z": 2});
    let asked = [FieldPath::from("spec.x.y"), FieldPath::from("spec.absent")];
    let short = fit(value.clone(), &value, &asked, 300);
    assert_eq!(short["spec"]["x"], json!({"y": 1, "z": 2}));
    assert!(is_digest(&short["spec"][WHOLE]) && short["spec"].as_object().unwrap().len() == 2);
    assert_eq!(restore(short.clone(), Some(&value)), value);
    let mut edited = value.clone();
    edited["spec"]["key1"] = json!("new");
    assert_eq!(restore(short.clone(), Some(&edited)), short);
    assert_eq!(shown(short, &edited), edited);
    assert_eq!(
        fit(value.clone(), &value, &asked, 10)["spec"]["x"]["y"],
        1,
        "as small as it gets"
    );
}
