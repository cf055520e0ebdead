use serde_json::json;

use super::*;
use crate::configs::digests::restore;

const PREFIX: &str = "kopf.zalando.org";

fn storage() -> DiffBaseStorages {
    DiffBaseStorages::new(PREFIX, &[], [])
}

fn essence(body: Value) -> Value {
    storage().essence(&Body::new(body), &[])
}

fn stored(body: &Body, essence: &Value) -> String {
    let mut merge = Map::new();
    storage().store(&mut merge, body, essence);
    merge["metadata"]["annotations"]["kopf.zalando.org/last-handled-configuration"]
        .as_str()
        .unwrap()
        .to_owned()
}

// B-1
#[test]
fn a_body_of_kind_and_version_has_an_empty_essence() {
    assert_eq!(essence(json!({"apiVersion": "v1", "kind": "K"})), json!({}));
    assert_eq!(
        essence(json!({"metadata": {"labels": {}, "annotations": {}}, "status": {}})),
        json!({})
    );
}

// B-1, B-2
#[test]
fn system_metadata_and_status_are_not_essential_and_other_stanzas_are() {
    let body = json!({
        "apiVersion": "v1", "kind": "K", "spec": {"a": 1}, "data": {"b": "c"}, "rules": [],
        "status": {"x": 1},
        "metadata": {
            "name": "n", "uid": "u", "resourceVersion": "1", "generation": 2, "finalizers": ["f"],
            "managedFields": [{}], "labels": {"l": "x"}, "annotations": {"a": "y"},
        },
    });
    assert_eq!(
        essence(body),
        json!({
            "spec": {"a": 1}, "data": {"b": "c"}, "rules": [],
            "metadata": {"labels": {"l": "x"}, "annotations": {"a": "y"}},
        })
    );
}

// B-3, N-10
#[test]
fn operators_state_is_not_essential_whoever_they_are() {
    let annotations = json!({
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
        "kopf.zalando.org/h": "{}",
        "sub.kopf.zalando.org/z": "1",
        "x.example/y": "1",
        "x.example/kopf-managed": "yes",
        "kopf-domain.tld/z": "1",
        "domain.kopf.tld/z": "1",
        "unprefixed": "1",
    });
    assert_eq!(
        essence(json!({"metadata": {"annotations": annotations}})),
        json!({"metadata": {"annotations": {"kopf-domain.tld/z": "1", "domain.kopf.tld/z": "1", "unprefixed": "1"}}})
    );
    assert_eq!(
        essence(json!({"metadata": {"annotations": {"x.example/y": "1"}}})),
        json!({"metadata": {"annotations": {"x.example/y": "1"}}})
    );
}

// B-3: what a marker reveals later was no change.
#[test]
fn a_stored_copy_forgets_what_has_turned_out_to_be_state() {
    let text = "{\"metadata\":{\"annotations\":{\"x.example/y\":\"1\"}},\"spec\":{}}\n";
    let body = Body::new(json!({"metadata": {"annotations": {
        "kopf.zalando.org/last-handled-configuration": text, "x.example/y": "1", "x.example/kopf-managed": "yes",
    }}}));
    assert_eq!(storage().fetch(&body), Some(json!({"spec": {}})));
}

// B-5
#[test]
fn extra_fields_are_carried_into_the_essence() {
    let body = Body::new(json!({"status": {"phase": "x", "other": 1}, "metadata": {"generation": 3}, "spec": {}}));
    let extra = ["status.phase", "metadata.generation", "status.absent", "spec.x"].map(FieldPath::from);
    assert_eq!(
        storage().essence(&body, &extra),
        json!({"status": {"phase": "x"}, "metadata": {"generation": 3}, "spec": {}})
    );
}

// B-5, improved
#[test]
fn a_view_has_only_the_extra_field_that_was_asked_for() {
    let whole =
        json!({"spec": {"a": 1}, "status": {"x": 1, "y": 2}, "metadata": {"generation": 3, "labels": {"l": "v"}}});
    let common = json!({"spec": {"a": 1}, "metadata": {"labels": {"l": "v"}}});
    assert_eq!(project(&whole, None, &whole), common);
    assert_eq!(project(&whole, Some(&"spec.a".into()), &whole), common);
    let with_x = project(&whole, Some(&"status.x".into()), &whole);
    assert_eq!(
        with_x,
        json!({"spec": {"a": 1}, "status": {"x": 1}, "metadata": {"labels": {"l": "v"}}})
    );
}

// B-5
#[test]
fn only_fields_outside_of_the_common_essence_are_extra() {
    for extra in [
        "status",
        "status.x",
        "metadata.generation",
        "metadata.finalizers",
        "kind",
    ] {
        assert!(is_extra(&extra.into()), "{extra}");
    }
    for common in [
        "",
        "spec",
        "spec.x",
        "data",
        "metadata",
        "metadata.labels",
        "metadata.labels.x",
        "metadata.annotations",
    ] {
        assert!(!is_extra(&common.into()), "{common}");
    }
}

// B-7, B-10
#[test]
fn the_copy_is_compact_json_and_a_newline_and_read_with_any_white_space() {
    let body = Body::new(json!({}));
    let essence = json!({"spec": {"size": "1G", "note": "ä"}, "metadata": {"labels": {"team": "x"}}});
    let text = stored(&body, &essence);
    assert_eq!(
        text,
        "{\"metadata\":{\"labels\":{\"team\":\"x\"}},\"spec\":{\"note\":\"\\u00e4\",\"size\":\"1G\"}}\n"
    );
    for spaced in [text.clone(), format!(" \n{text}\n"), text.trim().to_owned()] {
        let body =
            Body::new(json!({"metadata": {"annotations": {"kopf.zalando.org/last-handled-configuration": spaced}}}));
        assert_eq!(storage().fetch(&body), Some(essence.clone()));
    }
}

#[test]
fn an_unreadable_copy_counts_as_absent() {
    for corrupt in ["{", "[]", "", "null"] {
        let body =
            Body::new(json!({"metadata": {"annotations": {"kopf.zalando.org/last-handled-configuration": corrupt}}}));
        assert_eq!(storage().fetch(&body), None, "{corrupt}");
    }
}

// B-054
#[test]
fn the_data_of_secrets_is_never_copied() {
    let body = Body::new(
        json!({"apiVersion": "v1", "kind": "Secret", "data": {"password": "aHVudGVyMg=="}, "type": "Opaque"}),
    );
    let essence = storage().essence(&body, &[]);
    let text = stored(&body, &essence);
    assert!(!text.contains("aHVudGVyMg"), "{text}");
    assert!(text.contains("\"type\":\"Opaque\""));

    let copy: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        restore(copy.clone(), Some(&essence)),
        essence,
        "unchanged data is put back"
    );
    let changed = json!({"data": {"password": "b3RoZXI="}, "type": "Opaque"});
    let restored = restore(copy, Some(&changed));
    assert!(restored["data"]["password"].as_str().unwrap().starts_with("sha256:"));
}

// B-054
#[test]
fn a_large_object_is_copied_with_digests_of_its_largest_parts() {
    let large = "x".repeat(150_000);
    let essence = json!({"spec": {"small": 1, "large": large, "list": [large.clone()]}});
    let body = Body::new(essence.clone());
    let text = stored(&body, &essence);
    assert!(text.len() <= TEXT_LIMIT, "{}", text.len());
    let copy: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(copy["spec"]["small"], json!(1), "small parts are kept");
    assert_eq!(restore(copy.clone(), Some(&essence)), essence);

    let mut edited = essence.clone();
    edited["spec"]["small"] = json!(2);
    let mut expected = essence;
    expected["spec"]["small"] = json!(1);
    assert_eq!(
        restore(copy, Some(&edited)),
        expected,
        "an edit elsewhere is seen exactly"
    );
}

// B-054
#[test]
fn other_annotations_leave_less_room() {
    let essence = json!({"spec": {"a": "x".repeat(199_000)}});
    let crowded = Body::new(json!({"metadata": {"annotations": {"big": "y".repeat(100_000)}}}));
    assert!(stored(&Body::new(json!({})), &essence).len() > 199_000);
    assert!(stored(&crowded, &essence).len() < 200);
}
