//! The mark that blocks deletion: when it is there, and the guarded patches that add and remove it (Z).

use serde_json::{Value, json};

use super::bodies::Body;
use super::patches::with_version_test;

/// Whether the object has this finalizer.
pub(crate) fn is_present(body: &Body, finalizer: &str) -> bool {
    body.finalizers().any(|name| name == finalizer)
}

/// The JSON patch that appends the finalizer; `None` if it is there (Z-8).
pub(crate) fn add(body: &Body, finalizer: &str) -> Option<Vec<Value>> {
    if is_present(body, finalizer) {
        return None;
    }
    let operation = if body.finalizers().next().is_some() {
        json!({"op": "add", "path": "/metadata/finalizers/-", "value": finalizer})
    } else {
        json!({"op": "add", "path": "/metadata/finalizers", "value": [finalizer]})
    };
    Some(with_version_test(vec![operation], body.resource_version()))
}

/// The JSON patch that takes away this finalizer and touches no other one; `None` if it is absent (Z-1, Z-8).
pub(crate) fn remove(body: &Body, finalizer: &str) -> Option<Vec<Value>> {
    let all: Vec<&Value> = body
        .value()
        .pointer("/metadata/finalizers")?
        .as_array()?
        .iter()
        .collect();
    let ours: Vec<usize> = (0..all.len()).filter(|&index| all[index] == finalizer).collect();
    let operations = if ours.is_empty() {
        return None;
    } else if ours.len() == all.len() {
        vec![json!({"op": "remove", "path": "/metadata/finalizers"})]
    } else {
        // From the end, so that the indexes before it stay true.
        ours.iter()
            .rev()
            .map(|index| json!({"op": "remove", "path": format!("/metadata/finalizers/{index}")}))
            .collect()
    };
    Some(with_version_test(operations, body.resource_version()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINALIZER: &str = "kopf.zalando.org/KopfFinalizerMarker";

    fn body(finalizers: &Value) -> Body {
        Body::new(json!({"metadata": {"resourceVersion": "7", "finalizers": finalizers}}))
    }

    #[expect(clippy::unnecessary_wraps, reason = "it is compared with what may be absent")]
    fn guarded(operation: &Value) -> Option<Vec<Value>> {
        Some(vec![
            json!({"op": "test", "path": "/metadata/resourceVersion", "value": "7"}),
            operation.clone(),
        ])
    }

    // Z-8
    #[test]
    fn the_finalizer_is_appended_once() {
        assert_eq!(
            add(&body(&json!(["o1"])), FINALIZER),
            guarded(&json!({"op": "add", "path": "/metadata/finalizers/-", "value": FINALIZER}))
        );
        for none in [json!([]), json!(null)] {
            assert_eq!(
                add(&body(&none), FINALIZER),
                guarded(&json!({"op": "add", "path": "/metadata/finalizers", "value": [FINALIZER]}))
            );
        }
        assert_eq!(add(&body(&json!([FINALIZER])), FINALIZER), None);
    }

    // Z-8, B-039, B-041
    #[test]
    fn the_removal_names_its_own_index_only() {
        assert_eq!(
            remove(&body(&json!(["o1", FINALIZER, "o2"])), FINALIZER),
            guarded(&json!({"op": "remove", "path": "/metadata/finalizers/1"}))
        );
    }

    // Z-8
    #[test]
    fn the_last_finalizer_takes_the_list_with_it() {
        assert_eq!(
            remove(&body(&json!([FINALIZER])), FINALIZER),
            guarded(&json!({"op": "remove", "path": "/metadata/finalizers"}))
        );
    }

    // Z-8
    #[test]
    fn an_absent_finalizer_is_not_removed() {
        for other in [json!(["o1"]), json!([]), json!(null)] {
            assert_eq!(remove(&body(&other), FINALIZER), None);
        }
    }

    #[test]
    fn a_doubled_finalizer_is_removed_wholly() {
        let operations = remove(&body(&json!([FINALIZER, "o", FINALIZER])), FINALIZER).unwrap();
        let paths: Vec<_> = operations[1..]
            .iter()
            .map(|operation| operation["path"].as_str().unwrap())
            .collect();
        assert_eq!(paths, ["/metadata/finalizers/2", "/metadata/finalizers/0"]);
    }
}
