//! Names of annotations for any ids of handlers.

use kopf_runtime::Body;
use kopf_runtime::jiff::Timestamp;
use kopf_runtime::storages::{AnnotationsProgress, ProgressStorage, Record, StatePatch};
use kopf_tests::rounds;
use serde_json::{Value, json};

/// What Kubernetes asks of the names of labels, annotations and finalizers.
fn is_qualified_name(key: &str) -> bool {
    let Some((prefix, name)) = key.split_once('/') else {
        return false;
    };
    let label = |label: &str| {
        let inner = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit();
        label.starts_with(inner) && label.ends_with(inner) && label.chars().all(|char| inner(char) || char == '-')
    };
    let alphanumeric = |char: char| char.is_ascii_alphanumeric();
    let allowed = |char: char| char.is_ascii_alphanumeric() || "-_.".contains(char);
    prefix.len() <= 253
        && prefix.split('.').all(label)
        && (1..=63).contains(&name.len())
        && name.starts_with(alphanumeric)
        && name.ends_with(alphanumeric)
        && name.chars().all(allowed)
}

fn keys(patch: &StatePatch) -> Vec<String> {
    let merged = patch.merged();
    let annotations = merged["metadata"]["annotations"].as_object().cloned();
    annotations
        .unwrap_or_default()
        .into_iter()
        .map(|(key, _)| key)
        .collect()
}

// B-056, N-1, N-2, N-5, N-8
#[test]
fn whatever_the_id_its_names_are_valid_and_lead_back_to_the_record() {
    const AWKWARD: &[char] = &[
        '/', '.', '-', '_', '<', '>', ':', '@', ' ', '(', '\0', '"', 'ä', 'λ', '中', '😀', '\u{301}',
    ];
    let mut random = fastrand::Rng::with_seed(7);
    let now: Timestamp = "2031-02-03T04:05:06.000789Z".parse().unwrap();
    let prefixes = [
        "kopf.zalando.org",
        "op.example.com",
        &"p".repeat(54),
        &"p".repeat(55),
        &"p".repeat(189),
    ];
    for round in 0..rounds(100_000) {
        let length = random.usize(1..=300);
        let mut id: Vec<char> = (0..length)
            .map(|_| {
                if random.u8(..4) == 0 {
                    *random.choice(AWKWARD).unwrap()
                } else {
                    random.alphanumeric()
                }
            })
            .collect();
        if random.bool() {
            *id.first_mut().unwrap() = *random.choice(AWKWARD).unwrap();
        }
        if random.bool() {
            *id.last_mut().unwrap() = *random.choice(AWKWARD).unwrap();
        }
        let id: String = id.into_iter().collect();
        let storage = AnnotationsProgress::new(prefixes[round % prefixes.len()]).v1(true);
        let record = Record::parse(&format!("{{\"retries\":{round}}}"), now).unwrap();
        let mut patch = StatePatch::default();
        let empty = Body::new(json!({"kind": "Widget", "metadata": {"name": "a"}}));
        storage.store(&empty, &id, &record, &mut patch);
        for key in keys(&patch) {
            assert!(is_qualified_name(&key), "{id:?} has {key:?}");
        }
        let kept = Body::new(patch.merged());
        assert_eq!(storage.fetch(&kept, &id, now).as_ref(), Some(&record), "{id:?}");
        let mut removal = StatePatch::default();
        storage.purge(&kept, &id, &mut removal);
        let left: Vec<_> = keys(&patch)
            .into_iter()
            .filter(|key| !keys(&removal).contains(key))
            .collect();
        assert!(left.iter().all(|key| key.ends_with("/kopf-managed")), "{left:?}");
    }
}

// N-1, B-057: what is replaced alike is told apart.
#[test]
fn ids_that_differ_in_what_is_replaced_have_names_of_their_own() {
    let storage = AnnotationsProgress::new("kopf.zalando.org");
    let record = Record::parse("{}", Timestamp::UNIX_EPOCH).unwrap();
    let key = |id: &str| -> String {
        let mut patch = StatePatch::default();
        storage.store(&Body::new(Value::Null), id, &record, &mut patch);
        keys(&patch).remove(0)
    };
    let ids = [
        "a:b",
        "a@b",
        "a b",
        "a_b",
        "ä_b",
        "Sync/User@DB (v2)",
        "Sync/User_DB_(v2)",
        "192.168.0.1:80",
    ];
    let names: std::collections::BTreeSet<String> = ids.iter().map(|id| key(id)).collect();
    assert_eq!(names.len(), ids.len(), "{names:?}");
}
