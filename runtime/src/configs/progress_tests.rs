#![expect(clippy::needless_pass_by_value, reason = "tests read better so")]

use serde_json::json;

use super::*;

const PREFIX: &str = "kopf.zalando.org";

fn now() -> Timestamp {
    "2031-02-03T04:05:06.000789Z".parse().unwrap()
}

fn later() -> Timestamp {
    "2031-02-03T04:06:06.000999Z".parse().unwrap()
}

fn storage() -> ProgressStorages {
    ProgressStorages::new(PREFIX, &[], [])
}

fn annotated(annotations: Value) -> Body {
    Body::new(json!({"metadata": {"annotations": annotations}}))
}

fn stored(body: &Body, id: &str, record: &Record) -> Value {
    let mut merge = Map::new();
    storage().store(&mut merge, body, id, record);
    Value::Object(merge)
}

fn purged(body: &Body, id: &str) -> Value {
    let mut merge = Map::new();
    storage().purge(&mut merge, body, id);
    Value::Object(merge)
}

fn busy() -> Record {
    Record {
        delayed: Some(later()),
        purpose: Some("update".into()),
        retries: 1,
        message: Some("quota is busy".into()),
        ..Record::fresh(now())
    }
}

const BUSY: &str = "{\"started\":\"2031-02-03T04:05:06.000789+00:00\",\"delayed\":\"2031-02-03T04:06:06.000999+00:00\",\
                    \"purpose\":\"update\",\"retries\":1,\"success\":false,\"failure\":false,\"message\":\"quota is busy\"}";

// P-1, P-2
#[test]
fn records_are_written_byte_for_byte_as_kopf_writes_them() {
    assert_eq!(busy().to_text(), BUSY);
    assert_eq!(
        stored(&annotated(json!({})), "resize", &busy()),
        json!({"metadata": {"annotations": {"kopf.zalando.org/resize": BUSY}}})
    );
}

// P, improved
#[test]
fn an_unreadable_record_counts_as_absent_and_can_be_purged() {
    for corrupt in ["{", "[]", "\"x\"", "{\"retries\":\"many\"}"] {
        let body = annotated(json!({"kopf.zalando.org/h": corrupt}));
        assert_eq!(storage().fetch(&body, "h", now()), None, "{corrupt}");
        assert_eq!(
            purged(&body, "h"),
            json!({"metadata": {"annotations": {"kopf.zalando.org/h": null}}})
        );
    }
}

// P-6
#[test]
fn a_record_is_not_written_again_as_it_is() {
    assert_eq!(
        stored(&annotated(json!({"kopf.zalando.org/resize": BUSY})), "resize", &busy()),
        json!({})
    );
    let next = Record { retries: 2, ..busy() };
    assert_ne!(
        stored(&annotated(json!({"kopf.zalando.org/resize": BUSY})), "resize", &next),
        json!({})
    );
}

// N-6
#[test]
fn the_current_key_is_read_before_the_legacy_one() {
    let id = "a".repeat(50);
    let [current, legacy] = conventions::keys(PREFIX, &id, &annotated(json!({})))
        .try_into()
        .unwrap();
    let record = |retries: u32| Record {
        retries,
        ..Record::fresh(now())
    };
    let both = annotated(json!({&current: record(2).to_text(), &legacy: record(1).to_text()}));
    assert_eq!(storage().fetch(&both, &id, now()), Some(record(2)));
    let old = annotated(json!({&legacy: record(1).to_text()}));
    assert_eq!(storage().fetch(&old, &id, now()), Some(record(1)));
    // Written under the current key only, and the legacy one goes; at the end, too.
    assert_eq!(
        stored(&old, &id, &record(2)),
        json!({"metadata": {"annotations": {&current: record(2).to_text(), &legacy: null}}})
    );
    assert_eq!(purged(&old, &id), json!({"metadata": {"annotations": {&legacy: null}}}));
}

// P-16
#[test]
fn kopfs_status_records_are_read_and_purged_and_never_written() {
    let body = Body::new(json!({"status": {"kopf": {"progress": {"h/spec.x": {"retries": 3, "stopped": null}}}}}));
    assert_eq!(storage().fetch(&body, "h/spec.x", now()).unwrap().retries, 3);
    assert_eq!(
        purged(&body, "h/spec.x"),
        json!({"status": {"kopf": {"progress": {"h/spec.x": null}}}})
    );
    assert!(stored(&body, "h/spec.x", &busy()).get("status").is_none());
}

// P-10
#[test]
fn what_is_not_on_the_object_is_not_purged() {
    assert_eq!(
        purged(&annotated(json!({"kopf.zalando.org/other": BUSY})), "h"),
        json!({})
    );
}

// P-11, improved
#[test]
fn only_records_of_the_own_prefix_are_garbage() {
    let body = annotated(json!({
        "kopf.zalando.org/renamed": BUSY,
        "kopf.zalando.org/last-handled-configuration": "{\"spec\":{}}\n",
        "kopf.zalando.org/kopf-gen": "{\"uid\":\"u\",\"v\":1}",
        "kopf.zalando.org/touch-dummy": "2031-02-03T04:05:06",
        "kopf.zalando.org/note": "{\"retries\":1,\"success\":true,\"failure\":false,\"of\":\"someone else\"}",
        "kopf.zalando.org.example/h": BUSY,
        "other.example.com/h": BUSY,
    }));
    let mut merge = Map::new();
    storage().purge_all(&mut merge, &body);
    assert_eq!(
        Value::Object(merge),
        json!({"metadata": {"annotations": {"kopf.zalando.org/renamed": null}}})
    );
}

// N-7, P-11
#[test]
fn records_copied_from_a_deployment_are_left_alone() {
    let body = Body::new(json!({
        "kind": "ReplicaSet",
        "metadata": {"ownerReferences": [{"kind": "Deployment"}], "annotations": {"kopf.zalando.org/h": BUSY}},
    }));
    let mut merge = Map::new();
    storage().purge_all(&mut merge, &body);
    assert!(merge.is_empty());
    assert_eq!(storage().fetch(&body, "h", now()), None);
}

// P-18, improved by the dummy
#[test]
fn the_storage_clears_its_own_data_from_essences() {
    let mut essence = json!({
        "metadata": {"annotations": {"kopf.zalando.org/h": BUSY}},
        "status": {"kopf": {"progress": {"h": {}}, "dummy": "2031"}},
        "spec": {},
    });
    storage().clear(&mut essence);
    assert_eq!(essence, json!({"spec": {}}));
    let mut kept =
        json!({"metadata": {"annotations": {"a": "b"}}, "status": {"kopf": {"x": 1, "progress": {}}, "y": 1}});
    storage().clear(&mut kept);
    assert_eq!(
        kept,
        json!({"metadata": {"annotations": {"a": "b"}}, "status": {"kopf": {"x": 1}, "y": 1}})
    );
}

fn changes(act: impl FnOnce(&mut StatePatch)) -> Value {
    let mut patch = StatePatch::default();
    act(&mut patch);
    patch.merged()
}

// N-6: Kopf's older operators find it, too.
#[test]
fn the_older_name_is_written_only_if_that_is_wanted() {
    let id = "a".repeat(50);
    let [current, legacy] = conventions::keys(PREFIX, &id, &annotated(json!({})))
        .try_into()
        .unwrap();
    let both = AnnotationsProgress::new(PREFIX).v1(true);
    let text = busy().to_text();
    assert_eq!(
        changes(|patch| both.store(&annotated(json!({})), &id, &busy(), patch)),
        json!({"metadata": {"annotations": {&current: &text, &legacy: &text}}})
    );
    let kept = annotated(json!({&current: &text, &legacy: &text}));
    assert_eq!(changes(|patch| both.store(&kept, &id, &busy(), patch)), json!({}));
    assert_eq!(
        changes(|patch| both.purge(&kept, &id, patch)),
        json!({"metadata": {"annotations": {&current: null, &legacy: null}}})
    );
}

// P-13
#[test]
fn each_handler_has_an_annotation_and_a_prefix_is_needed() {
    let storage = AnnotationsProgress::new("op.example.com");
    let mut patch = StatePatch::default();
    for id in ["one", "two/spec.x"] {
        storage.store(&annotated(json!({})), id, &busy(), &mut patch);
    }
    let annotations = patch.merged()["metadata"]["annotations"].clone();
    assert_eq!(annotations["op.example.com/one"], BUSY);
    assert_eq!(annotations["op.example.com/two.spec.x"], BUSY);
    assert_eq!(annotations["op.example.com/kopf-managed"], "yes");
    assert_eq!(
        AnnotationsProgress::new("").check(),
        Err("the prefix of annotations is empty".into())
    );
    assert_eq!(storage.check(), Ok(()));
}

// P-14
#[test]
fn records_in_the_status_are_mappings_by_the_ids_with_nulls_for_what_is_absent() {
    let storage = StatusProgress::new("status.op.progress");
    let record = json!({
        "started": "2031-02-03T04:05:06.000789+00:00", "stopped": null,
        "delayed": "2031-02-03T04:06:06.000999+00:00", "purpose": "update", "retries": 1, "success": false,
        "failure": false, "message": "quota is busy", "subrefs": null, "handled": null,
    });
    let at = |record: Value| json!({"status": {"op": {"progress": {"h/spec.x": record}}}});
    let empty = Body::new(json!({}));
    let store = |body: &Body| changes(|patch| storage.store(body, "h/spec.x", &busy(), patch));
    assert_eq!(store(&empty), at(record.clone()));
    // What the server made of it: nulls are not kept.
    let mut kept = record.clone();
    kept.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    let kept = Body::new(at(kept));
    assert_eq!(storage.fetch(&kept, "h/spec.x", later()), Some(busy()));
    assert_eq!(store(&kept), json!({}), "it is stored as it is (P-6)");
    let stale = Body::new(at(json!({"stopped": "2031-02-03T04:05:06.000789+00:00"})));
    assert_eq!(store(&stale), at(record), "an older end is erased");
    assert_eq!(
        changes(|patch| storage.purge(&kept, "h/spec.x", patch)),
        at(Value::Null)
    );
    assert_eq!(changes(|patch| storage.purge(&empty, "h/spec.x", patch)), json!({}));
    assert_eq!(changes(|patch| storage.purge_all(&kept, patch)), at(Value::Null));
    let read_only = storage.read_only(true);
    assert_eq!(changes(|patch| read_only.store(&empty, "h", &busy(), patch)), json!({}));
    assert_eq!(
        changes(|patch| read_only.purge_all(&kept, patch)),
        json!({}),
        "they may be another's"
    );
    assert_eq!(read_only.fetch(&kept, "h/spec.x", later()), Some(busy()));
}

// P-15
#[test]
fn of_several_storages_the_first_record_is_read_and_all_are_written() {
    let given: [Arc<dyn ProgressStorage>; 2] = [
        Arc::new(AnnotationsProgress::new("one.example.com")),
        Arc::new(StatusProgress::new("status.op.progress")),
    ];
    let storages = ProgressStorages::new(PREFIX, &given, []);
    let mut merge = Map::new();
    storages.store(&mut merge, &annotated(json!({})), "h", &busy());
    assert_eq!(merge["metadata"]["annotations"]["one.example.com/h"], BUSY);
    assert_eq!(merge["status"]["op"]["progress"]["h"]["retries"], 1);
    let retries = |annotation: Option<u32>, status: Option<u32>| {
        let record = |retries| Record {
            retries,
            ..Record::fresh(now())
        };
        let annotation = annotation.map(|retries| record(retries).to_text());
        let status = status.map(|retries| record(retries).to_json());
        let body = json!({
            "metadata": {"annotations": {"one.example.com/h": annotation}},
            "status": {"op": {"progress": {"h": status}}},
        });
        storages
            .fetch(&Body::new(body), "h", now())
            .map(|record| record.retries)
    };
    assert_eq!(retries(Some(1), Some(2)), Some(1));
    assert_eq!(retries(None, Some(2)), Some(2));
    assert_eq!(retries(None, None), None);
    let mut removal = Map::new();
    let body = Body::new(Value::Object(merge));
    storages.purge(&mut removal, &body, "h");
    assert_eq!(
        Value::Object(removal),
        json!({"metadata": {"annotations": {"one.example.com/h": null}}, "status": {"op": {"progress": {"h": null}}}})
    );
    let mut essence =
        json!({"metadata": {"annotations": {"one.example.com/h": "x", "a": "b"}}, "status": {"op": {"progress": {}}}});
    storages.clear(&mut essence);
    assert_eq!(essence, json!({"metadata": {"annotations": {"a": "b"}}}));
}

// P-18, improved: what wakes Kopf up is no change, under any name of its storage.
#[test]
fn touches_in_the_status_are_cleared_and_fields_of_that_name_elsewhere_are_not() {
    let cleared = |field: &str, mut status: Value| {
        StatusProgress::new(field).clear(&mut status);
        status
    };
    let status = json!({"status": {"op": {"progress": {}, "dummy": "2031"}, "kopf": {"dummy": "2031"}, "dummy": 1}});
    assert_eq!(cleared("status.op.progress", status), json!({"status": {"dummy": 1}}));
    let status = json!({"status": {"progress": {}, "dummy": 1}});
    assert_eq!(cleared("status.progress", status), json!({"status": {"dummy": 1}}));
}
