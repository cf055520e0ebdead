//! The mark that blocks deletion: when it is there, and the guarded patches that add and remove it (Z).

use serde_json::{Value, json};

use super::bodies::Body;
use super::patches::with_version_test;

/// Whether the object has this finalizer.
pub(crate) fn is_present(body: &Body, finalizer: &str) -> bool {
    body.finalizers().any(|name| name == finalizer)
}

/// The JSON patch after which the object has this finalizer and none of the former ones; `None` if it is so (Z-8).
///
/// The first former one is replaced where it stands, so that there is no moment without either.
pub(crate) fn exchange(body: &Body, finalizer: &str, former: &[&str]) -> Option<Vec<Value>> {
    let is_former = |value: &&Value| value.as_str().is_some_and(|name| former.contains(&name));
    let mut outdated = places(body, is_former);
    let mut operations = Vec::new();
    if !is_present(body, finalizer) {
        let first = (!outdated.is_empty()).then(|| outdated.remove(0));
        operations.push(match first {
            Some(index) => json!({"op": "replace", "path": path(index), "value": finalizer}),
            None if body.finalizers().next().is_some() => {
                json!({"op": "add", "path": "/metadata/finalizers/-", "value": finalizer})
            }
            None => json!({"op": "add", "path": "/metadata/finalizers", "value": [finalizer]}),
        });
    }
    operations.extend(removals(&outdated));
    (!operations.is_empty()).then(|| with_version_test(operations, body.resource_version()))
}

/// The JSON patch that takes away these finalizers and touches no other one; `None` if they are absent (Z-1, Z-8).
pub(crate) fn remove(body: &Body, finalizers: &[&str]) -> Option<Vec<Value>> {
    let ours = places(body, |value| {
        value.as_str().is_some_and(|name| finalizers.contains(&name))
    });
    if ours.is_empty() {
        return None;
    }
    let operations = if ours.len() == places(body, |_| true).len() {
        vec![json!({"op": "remove", "path": "/metadata/finalizers"})]
    } else {
        removals(&ours)
    };
    Some(with_version_test(operations, body.resource_version()))
}

/// The indexes of the finalizers that are wanted.
fn places(body: &Body, wanted: impl Fn(&&Value) -> bool) -> Vec<usize> {
    let list = body.metadata().and_then(|meta| meta.get("finalizers")?.as_array());
    list.into_iter()
        .flatten()
        .enumerate()
        .filter(|(_, value)| wanted(value))
        .map(|(index, _)| index)
        .collect()
}

/// From the end, so that the indexes before it stay true.
fn removals(indexes: &[usize]) -> Vec<Value> {
    let remove = |index: &usize| json!({"op": "remove", "path": path(*index)});
    indexes.iter().rev().map(remove).collect()
}

fn path(index: usize) -> String {
    format!("/metadata/finalizers/{index}")
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
            exchange(&body(&json!(["o1"])), FINALIZER, &[]),
            guarded(&json!({"op": "add", "path": "/metadata/finalizers/-", "value": FINALIZER}))
        );
        for none in [json!([]), json!(null)] {
            assert_eq!(
                exchange(&body(&none), FINALIZER, &[]),
                guarded(&json!({"op": "add", "path": "/metadata/finalizers", "value": [FINALIZER]}))
            );
        }
        assert_eq!(exchange(&body(&json!([FINALIZER])), FINALIZER, &[]), None);
    }

    // Z-8, B-039, B-041
    #[test]
    fn the_removal_names_its_own_index_only() {
        assert_eq!(
            remove(&body(&json!(["o1", FINALIZER, "o2"])), &[FINALIZER]),
            guarded(&json!({"op": "remove", "path": "/metadata/finalizers/1"}))
        );
    }

    // Z-8
    #[test]
    fn the_last_finalizer_takes_the_list_with_it() {
        assert_eq!(
            remove(&body(&json!([FINALIZER])), &[FINALIZER]),
            guarded(&json!({"op": "remove", "path": "/metadata/finalizers"}))
        );
    }

    // Z-8
    #[test]
    fn a_former_finalizer_is_exchanged_in_one_patch_and_released_with_the_other() {
        const FORMER: &str = "old.example.com/finalizer";
        let exchange = |list: Value| exchange(&body(&list), FINALIZER, &[FORMER, "older"]);
        let replace = |index: usize| json!({"op": "replace", "path": path(index), "value": FINALIZER});
        assert_eq!(exchange(json!(["o", FORMER])), guarded(&replace(1)));
        assert_eq!(
            exchange(json!([FINALIZER, FORMER, "o"])),
            guarded(&json!({"op": "remove", "path": path(1)}))
        );
        let both = exchange(json!(["older", "o", FORMER])).unwrap();
        assert_eq!(both[1..], [replace(0), json!({"op": "remove", "path": path(2)})]);
        assert_eq!(exchange(json!(["o", FINALIZER])), None);
        let removed = |list: Value| remove(&body(&list), &[FINALIZER, FORMER]).map(|patch| patch[1..].to_vec());
        assert_eq!(
            removed(json!([FORMER, "o", FINALIZER])),
            Some(vec![
                json!({"op": "remove", "path": path(2)}),
                json!({"op": "remove", "path": path(0)})
            ])
        );
        assert_eq!(
            removed(json!([FORMER, FINALIZER])),
            Some(vec![json!({"op": "remove", "path": "/metadata/finalizers"})])
        );
    }

    // Z-8
    #[test]
    fn an_absent_finalizer_is_not_removed() {
        for other in [json!(["o1"]), json!([]), json!(null)] {
            assert_eq!(remove(&body(&other), &[FINALIZER]), None);
        }
    }

    #[test]
    fn a_doubled_finalizer_is_removed_wholly() {
        let operations = remove(&body(&json!([FINALIZER, "o", FINALIZER])), &[FINALIZER]).unwrap();
        let paths: Vec<_> = operations[1..]
            .iter()
            .map(|operation| operation["path"].as_str().unwrap())
            .collect();
        assert_eq!(paths, ["/metadata/finalizers/2", "/metadata/finalizers/0"]);
    }
}
