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
