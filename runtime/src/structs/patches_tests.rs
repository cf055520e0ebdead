use super::*;

fn operations(body: &Value, function: impl Fn(&mut Value) + Send + Sync + 'static) -> Vec<Value> {
    json_operations(body, &[Arc::new(function)]).unwrap()
}

//
#[test]
fn clones_share_what_they_gather() {
    let patch = Patch::default();
    assert!(patch.is_empty());
    patch.clone().spec(json!({"a": 1}));
    patch.spec(json!({"b": null}));
    patch
        .meta()
        .label("l", "x")
        .annotation("a", None)
        .annotation("b", String::from("y"));
    let contents = patch.take();
    assert_eq!(
        Value::Object(contents.merge),
        json!({"spec": {"a": 1, "b": null}, "metadata": {"labels": {"l": "x"}, "annotations": {"a": null, "b": "y"}}})
    );
    assert!(patch.is_empty());
}

// E-10, improved: what a handler gathered before it ran out of time is discarded, also through its own handle.
#[test]
fn taking_a_patch_leaves_nothing_in_any_handle() {
    let patch = Patch::default();
    let handlers = patch.clone();
    handlers.spec(json!({"a": 2, "b": 3}));
    handlers.then(|_| {});
    patch.take();
    let contents = handlers.take();
    assert_eq!(
        (Value::Object(contents.merge), contents.functions.len()),
        (json!({}), 0)
    );
}

//
#[test]
fn a_later_change_wins_and_nulls_stay() {
    let patch = Patch::default();
    patch.merge(json!({"spec": {"a": {"x": 1}, "b": {"x": 1}, "c": null}}));
    patch.merge(json!({"spec": {"a": {"y": null}, "b": null, "c": {"z": 1}}}));
    patch.merge(json!("no mapping"));
    assert_eq!(
        Value::Object(patch.take().merge),
        json!({"spec": {"a": {"x": 1, "y": null}, "b": null, "c": {"z": 1}}})
    );
}

//
#[test]
fn a_function_alone_makes_a_patch() {
    let patch = Patch::default();
    patch.then(|_| {});
    assert!(!patch.is_empty());
}

//
#[test]
fn the_status_is_split_off_for_its_subresource_only() {
    let split = |merge: Value, subresource| {
        let contents = PatchContents {
            merge: merge.as_object().unwrap().clone(),
            functions: Vec::new(),
        };
        contents.split_status(subresource)
    };
    let both = json!({"spec": {"x": "y"}, "status": {"x": "y"}});
    assert_eq!(
        split(both.clone(), true),
        (Some(json!({"spec": {"x": "y"}})), Some(json!({"status": {"x": "y"}})))
    );
    assert_eq!(split(both.clone(), false), (Some(both), None));
    assert_eq!(
        split(json!({"status": null}), true),
        (None, Some(json!({"status": null})))
    );
    assert_eq!(split(json!({}), true), (None, None));
}

//
#[test]
fn operations_at_or_below_the_status_are_split_off() {
    let all = vec![
        json!({"op": "add", "path": "/status", "value": {}}),
        json!({"op": "add", "path": "/status/a", "value": 1}),
        json!({"op": "add", "path": "/statuses", "value": 1}),
        json!({"op": "add", "path": "/spec/status", "value": 1}),
    ];
    let (main, status) = split_operations(all.clone(), true);
    assert_eq!((main.as_slice(), status.as_slice()), (&all[2..], &all[..2]));
    assert_eq!(split_operations(all.clone(), false), (all, Vec::new()));
}

//
#[test]
fn functions_become_operations_with_escaped_keys() {
    let body = json!({"metadata": {"labels": {"a/b~c": "x"}}, "spec": {"list": [1, 2]}});
    let found = operations(&body, |object| {
        object["metadata"]["labels"]["a/b~c"] = json!("y");
        object["spec"]["list"][1] = json!(3);
    });
    assert_eq!(
        found,
        [
            json!({"op": "replace", "path": "/metadata/labels/a~1b~0c", "value": "y"}),
            json!({"op": "replace", "path": "/spec/list/1", "value": 3}),
        ]
    );
}

//
#[test]
fn a_function_that_does_nothing_makes_no_operation() {
    assert!(operations(&json!({"spec": {"a": 1}}), |_| {}).is_empty());
    assert!(json_operations(&json!({}), &[]).unwrap().is_empty());
}

#[test]
fn a_function_that_panics_is_an_error_of_its_own() {
    let function: PatchFunction = Arc::new(|_| panic!("on purpose"));
    assert_eq!(json_operations(&json!({}), &[function]), Err(FunctionPanicked));
}

// A, *Improve on*: it is known before anything is sent; the merge comes first, as on the server.
#[test]
fn a_function_is_tried_on_the_merged_object() {
    let patch = Patch::default();
    patch.status(json!({"count": 1}));
    patch.then(|object| object["status"]["count"] = json!(object["status"]["count"].as_i64().unwrap() + 1));
    let body = crate::structs::bodies::Body::new(json!({"metadata": {}}));
    assert_eq!(patch.check(&body), Ok(()));
    patch.then(|_| panic!("always"));
    assert_eq!(patch.check(&body), Err(FunctionPanicked));
    assert!(!patch.is_empty());
}

//
#[test]
fn the_version_test_comes_first_and_may_be_null() {
    let tested = with_version_test(vec![json!({"op": "remove", "path": "/spec"})], Some("5"));
    assert_eq!(
        tested[0],
        json!({"op": "test", "path": "/metadata/resourceVersion", "value": "5"})
    );
    assert_eq!(tested.len(), 2);
    assert_eq!(with_version_test(Vec::new(), None)[0]["value"], json!(null));
    let again = with_version_test(tested, Some("6"));
    assert_eq!((again.len(), &again[0]["value"]), (2, &json!("6")));
}

// whatever the functions do, the operations do the same.
#[test]
fn operations_reproduce_every_list_change() {
    let lists = [
        json!([]),
        json!([1]),
        json!([1, 2, 3]),
        json!([3, 2]),
        json!([{"a": 1}, 2]),
        json!([2, {"a": 2}, 5, 6]),
    ];
    for before in &lists {
        for after in &lists {
            let (old, new) = (json!({"l": before}), after.clone());
            let found = operations(&old, move |object| object["l"] = new.clone());
            let patch: json_patch::Patch = serde_json::from_value(json!(found)).unwrap();
            let mut patched = old.clone();
            json_patch::patch(&mut patched, &patch).unwrap();
            assert_eq!(patched, json!({"l": after}), "{before} {found:?}");
        }
    }
}

//
#[test]
fn results_are_delivered_under_the_whole_id() {
    let mut merge = Map::new();
    deliver(&mut merge, "h/spec.x", json!(100));
    deliver(&mut merge, "none", Value::Null);
    deliver(&mut merge, "empty", json!({}));
    assert_eq!(Value::Object(merge), json!({"status": {"h/spec.x": 100, "empty": {}}}));
}

//
#[test]
fn mapping_results_are_merged_shallowly() {
    let mut merge = json!({"status": {"h": {"kept": 1, "a": {"x": 1}}, "s": 1}})
        .as_object()
        .unwrap()
        .clone();
    deliver(&mut merge, "h", json!({"a": {"y": 2}}));
    deliver(&mut merge, "s", json!({"m": 1}));
    assert_eq!(
        Value::Object(merge),
        json!({"status": {"h": {"kept": 1, "a": {"y": 2}}, "s": {"m": 1}}})
    );
}

// a patch that removes the whole status does not swallow the result.
#[test]
fn a_result_survives_a_null_status() {
    let mut merge = json!({"status": null}).as_object().unwrap().clone();
    deliver(&mut merge, "h", json!(1));
    assert_eq!(Value::Object(merge), json!({"status": {"h": 1}}));
}

#[test]
fn the_patch_between_two_values_leads_from_one_to_the_other() {
    let values = [
        json!({}),
        json!({"a": 1}),
        json!({"a": 1.0, "b": {}}),
        json!({"a": null, "b": {"c": "x"}}),
        json!({"a": {"b": {"c": 1}}}),
        json!({"a": {"b": [1, {"c": null}]}}),
        json!({"a": "text", "b": {"c": "x", "d": {}}}),
    ];
    for old in &values {
        for new in &values {
            let patch = between(old.as_object().unwrap(), new.as_object().unwrap());
            let mut merged = old.clone();
            merge_into(&mut merged, &Value::Object(patch.clone()));
            assert!(equal(Some(&merged), Some(new)), "{old} {new} {patch:?}");
            assert_eq!(patch.is_empty(), equal(Some(old), Some(new)), "{old} {new} {patch:?}");
        }
    }
}

#[test]
fn what_a_patch_does_is_taken_back_by_its_inverse() {
    let before = json!({"a": {"b": 1, "c": 2}, "d": "text", "e": {"f": 3}});
    let patch = json!({"a": {"b": 5, "c": null}, "d": {"now": "a mapping"}, "e": "a text", "g": {"h": {"i": 1}}});
    let mut object = before.clone();
    merge_into(&mut object, &patch);
    let back = inverse(patch.as_object().unwrap(), &before);
    merge_into(&mut object, &Value::Object(back));
    let mut expected = before;
    expected["g"] = json!({"h": {}});
    assert_eq!(object, expected);
}
