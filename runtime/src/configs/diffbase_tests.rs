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
    storage().store(&mut merge, body, essence, &[]);
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

// B-4
#[test]
fn ignored_fields_are_removed_last() {
    let given: [Arc<dyn DiffBaseStorage>; 2] = [
        Arc::new(AnnotationsDiffBase::new(PREFIX).ignored_fields(["a.b", "h"])),
        Arc::new(StatusDiffBase::new("status.op.base").ignored_fields(["status.phase", "c.d.e"])),
    ];
    let storages = DiffBaseStorages::new(PREFIX, &given, []);
    let extra = ["status".into()];
    let essence = |body: Value| storages.essence(&Body::new(body), &extra);
    assert_eq!(essence(json!({"a": {"b": 1, "e": 2}, "h": 3})), json!({"a": {"e": 2}}));
    assert_eq!(
        essence(json!({"a": {"e": 2}, "c": {"d": "no mapping"}, "status": {"phase": "x", "y": 1}})),
        json!({"a": {"e": 2}, "c": {"d": "no mapping"}, "status": {"y": 1}}),
        "also an extra field, and paths into what is no mapping lead nowhere"
    );
    let kept = Body::new(json!({"metadata": {"annotations": {
        "kopf.zalando.org/last-handled-configuration": "{\"a\":{\"b\":1,\"e\":2}}",
    }}}));
    assert_eq!(
        storages.fetch(&kept),
        Some(json!({"a": {"e": 2}})),
        "an older copy may have them"
    );
}

// B-8
#[test]
fn the_copy_in_the_status_is_one_text_and_no_part_of_the_essence() {
    let storage = StatusDiffBase::new("status.op.base");
    let essence = json!({"spec": {"size": "1G"}});
    let body = Body::new(json!({"spec": {"size": "1G"}, "status": {"phase": "x"}}));
    let mut patch = StatePatch::default();
    storage.store(&body, &Essence::for_test(&essence), &mut patch);
    assert_eq!(
        patch.merged(),
        json!({"status": {"op": {"base": "{\"spec\":{\"size\":\"1G\"}}"}}})
    );
    let kept = Body::new(patch.merged());
    assert_eq!(storage.fetch(&kept), Some(essence));
    let mut with_status = kept.value().clone();
    storage.clear(&mut with_status);
    assert_eq!(with_status, json!({}));
    let mut removal = StatePatch::default();
    storage.purge(&kept, &mut removal);
    storage.purge(&body, &mut removal);
    assert_eq!(removal.merged(), json!({"status": {"op": {"base": null}}}));
}

// B-8, B-054: an object of more than a mebibyte cannot be stored twice.
#[test]
fn the_copy_in_the_status_of_a_huge_object_is_short() {
    let essence = json!({"spec": {"small": 1, "huge": "x".repeat(1_200_000)}});
    let mut patch = StatePatch::default();
    StatusDiffBase::new("status.base").store(&Body::new(essence.clone()), &Essence::for_test(&essence), &mut patch);
    let text = patch.merged()["status"]["base"].as_str().unwrap().to_owned();
    assert!(text.len() < 200 && text.contains("\"small\":1"), "{text}");
}

// B-9
#[test]
fn of_several_storages_the_first_copy_is_read_and_all_are_written() {
    let given: [Arc<dyn DiffBaseStorage>; 2] = [
        Arc::new(AnnotationsDiffBase::new("one.example.com").key("base")),
        Arc::new(StatusDiffBase::new("status.op.base")),
    ];
    let storages = DiffBaseStorages::new(PREFIX, &given, []);
    let mut merge = Map::new();
    storages.store(&mut merge, &Body::new(json!({})), &json!({"spec": {}}), &[]);
    assert_eq!(
        merge["metadata"]["annotations"]["one.example.com/base"],
        "{\"spec\":{}}\n"
    );
    assert_eq!(merge["status"]["op"]["base"], "{\"spec\":{}}");
    let fetched = |annotation: Option<&str>, status: Option<&str>| {
        storages.fetch(&Body::new(json!({
            "metadata": {"annotations": {"one.example.com/base": annotation}}, "status": {"op": {"base": status}},
        })))
    };
    assert_eq!(fetched(Some("{\"a\":1}"), Some("{\"a\":2}")), Some(json!({"a": 1})));
    assert_eq!(fetched(None, Some("{\"a\":2}")), Some(json!({"a": 2})));
    assert_eq!(fetched(None, None), None);
    let body = json!({
        "spec": {}, "status": {"op": {"base": "x"}, "y": 1},
        "metadata": {"annotations": {"one.example.com/base": "x"}},
    });
    assert_eq!(
        storages.essence(&Body::new(body), &["status".into()]),
        json!({"spec": {}, "status": {"y": 1}}),
        "it passes through all"
    );
}

// N-6, N-7
#[test]
fn long_keys_have_an_older_name_and_replica_sets_of_deployments_names_of_their_own() {
    let key = "k".repeat(50);
    let legacy = conventions::keys(PREFIX, &key, &Body::new(json!({})))[1].clone();
    let written = |storage: &AnnotationsDiffBase, body: Value| {
        let mut patch = StatePatch::default();
        storage.store(&Body::new(body), &Essence::for_test(&json!({})), &mut patch);
        patch.merged()["metadata"]["annotations"].clone()
    };
    let storage = AnnotationsDiffBase::new(PREFIX).key(&*key);
    let current = format!("{PREFIX}/{key}");
    assert_eq!(written(&storage, json!({})), json!({&current: "{}\n"}));
    let older = json!({"metadata": {"annotations": {&legacy: "{}"}}});
    assert_eq!(storage.fetch(&Body::new(older.clone())), Some(json!({})));
    assert_eq!(
        written(&storage, older.clone()),
        json!({&current: "{}\n", &legacy: null})
    );
    assert_eq!(
        written(&storage.v1(true), older),
        json!({&current: "{}\n", &legacy: "{}\n"})
    );
    let replicas = json!({"kind": "ReplicaSet", "metadata": {"ownerReferences": [{"kind": "Deployment"}]}});
    assert_eq!(
        written(&AnnotationsDiffBase::new(PREFIX), replicas),
        json!({"kopf.zalando.org/last-handled-configuration-ofDRS": "{}\n"})
    );
}
