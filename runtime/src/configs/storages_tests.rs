use serde_json::json;

use super::*;

const RECORD: &str = "{\"retries\":1,\"success\":false,\"failure\":false}";

fn storages() -> Storages {
    Storages::new(&PersistenceSettings {
        prefix: "now.example.com".into(),
        formerly: vec![
            Former::new("old.example.com", "old.example.com/finalizer"),
            Former::new("older.example.com", "older.example.com/finalizer"),
            // Only the finalizer had another name.
            Former::new("now.example.com", "now.example.com/other"),
        ],
        ..PersistenceSettings::default()
    })
}

fn purged(body: Value) -> Vec<String> {
    let mut merge = Map::new();
    storages().purge_former(&mut merge, &Body::new(body));
    let annotations = merge
        .get("metadata")
        .and_then(|metadata| metadata["annotations"].as_object());
    annotations.into_iter().flatten().map(|(key, _)| key.clone()).collect()
}

// N-9, N-10
#[test]
fn former_state_goes_and_content_under_a_former_prefix_stays_marked() {
    let state = json!({
        "old.example.com/last-handled-configuration": "{}", "old.example.com/kopf-gen": "{}",
        "old.example.com/touch-dummy": "2031", "old.example.com/h": RECORD, "old.example.com/kopf-managed": "yes",
        "older.example.com/h": RECORD, "older.example.com/kopf-managed": "yes", "older.example.com/note": "mine",
        "now.example.com/h": RECORD, "elsewhere.example.com/h": RECORD,
    });
    assert_eq!(
        purged(json!({"metadata": {"annotations": state}})),
        [
            "old.example.com/h",
            "old.example.com/kopf-gen",
            "old.example.com/kopf-managed",
            "old.example.com/last-handled-configuration",
            "old.example.com/touch-dummy",
            "older.example.com/h",
        ]
    );
    let rest = json!({"metadata": {"annotations": {"older.example.com/kopf-managed": "yes", "older.example.com/note": "mine"}}});
    assert!(!storages().has_former_state(&Body::new(rest.clone())));
    assert_eq!(storages().essence(&Body::new(rest), &[]), json!({}), "it is no news");
}

// N-7: what is a Deployment's own comes back, so it stays.
#[test]
fn only_its_own_former_state_goes_from_a_replica_set_of_a_deployment() {
    let body = json!({
        "kind": "ReplicaSet",
        "metadata": {
            "ownerReferences": [{"kind": "Deployment"}],
            "annotations": {
                "old.example.com/h": RECORD, "old.example.com/last-handled-configuration": "{}",
                "old.example.com/kopf-managed": "yes", "old.example.com/h-ofDRS": RECORD,
                "old.example.com/last-handled-configuration-ofDRS": "{}",
            },
        },
    });
    assert_eq!(
        purged(body),
        [
            "old.example.com/h-ofDRS",
            "old.example.com/last-handled-configuration-ofDRS"
        ]
    );
}

// B-028
#[test]
fn the_mark_of_now_says_more_than_a_former_one() {
    let copied = |annotations: Value| {
        storages().is_copied(&Body::new(
            json!({"metadata": {"uid": "u", "annotations": annotations}}),
        ))
    };
    let mark = |uid: &str| json!(format!("{{\"uid\":\"{uid}\",\"v\":1}}"));
    assert!(copied(json!({"older.example.com/kopf-gen": mark("another")})));
    assert!(!copied(json!({"older.example.com/kopf-gen": mark("u")})));
    assert!(!copied(json!({
        "now.example.com/kopf-gen": mark("u"), "old.example.com/kopf-gen": mark("another"),
    })));
    assert!(!copied(json!({})));
}

// Z-1
#[test]
fn every_finalizer_that_was_ever_ours_is_ours() {
    let held = |finalizer: &str| storages().is_held(&Body::new(json!({"metadata": {"finalizers": [finalizer]}})));
    for ours in [
        "kopf.zalando.org/KopfFinalizerMarker",
        "old.example.com/finalizer",
        "now.example.com/other",
    ] {
        assert!(held(ours), "{ours}");
    }
    assert!(!held("elsewhere.example.com/finalizer"));
    let both = json!({"metadata": {"finalizers": ["now.example.com/other", "x", "old.example.com/finalizer"]}});
    let both = Body::new(both);
    let storages = storages();
    let holders: Vec<_> = storages.holders(&both).collect();
    assert_eq!(
        holders,
        ["old.example.com/finalizer", "now.example.com/other"],
        "what is to be taken away by hand"
    );
}
