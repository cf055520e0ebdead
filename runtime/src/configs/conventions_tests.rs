#![expect(clippy::needless_pass_by_value, reason = "tests read better so")]

use serde_json::json;

use super::*;

const PREFIX: &str = "kopf.zalando.org";

fn plain() -> Body {
    Body::new(json!({"kind": "Widget", "metadata": {}}))
}

fn annotated(annotations: Value) -> Body {
    Body::new(json!({"metadata": {"uid": "u1", "annotations": annotations}}))
}

// N-12, N-1
#[test]
fn kopfs_vectors_hold() {
    let a = |count: usize| "a".repeat(count);
    let cases = [
        ("fn/spec.field".to_owned(), vec!["fn.spec.field".to_owned()]),
        (
            "outer.<locals>.inner".to_owned(),
            vec!["outer._locals_.inner".to_owned()],
        ),
        (a(46), vec![a(46)]),
        (a(47), vec![a(47), a(39) + "-L2I79Q"]),
        (a(64), vec![a(56) + "-5Keq3A", a(39) + "-5Keq3A"]),
        (
            format!("create_fn/{}z", "item-".repeat(12)),
            vec![
                "create_fn.item-item-item-item-item-item-item-item-item-i-Xh2fLQ".to_owned(),
                "create_fn.item-item-item-item-item-item-NwOF5A".to_owned(),
            ],
        ),
    ];
    for (id, names) in cases {
        let expected: Vec<String> = names.iter().map(|name| format!("{PREFIX}/{name}")).collect();
        assert_eq!(keys(PREFIX, &id, &plain()), expected, "{id}");
    }
    let b = "b".repeat(70);
    assert_eq!(
        keys("op.example.com", &b, &plain()),
        [
            format!("op.example.com/{}-HIAfAA", &b[..56]),
            format!("op.example.com/{}-HIAfAA", &b[..41])
        ]
    );
}

// N-3, N-4, N-12
#[test]
fn the_suffix_is_a_digest_of_four_bytes_and_not_the_beginning_of_a_longer_one() {
    assert_eq!((suffix("hello").as_str(), suffix("").as_str()), ("-6mcG9w", "-EnHPJQ"));
    let cut = blake2::Blake2b512::digest("hello");
    let engine = base64::engine::general_purpose::STANDARD_NO_PAD;
    assert_eq!(engine.encode(&cut[..4]), "5M+jmg", "what a cut would give");
    // Two of the 64 characters are no letters or digits, but none of them ever comes last: that one has two bits only.
    let suffixes: Vec<String> = (0..2000).map(|number| suffix(&number.to_string())).collect();
    assert!(suffixes.iter().all(|suffix| suffix.len() == 7));
    assert!(
        suffixes
            .iter()
            .all(|suffix| suffix.ends_with(|char: char| char.is_ascii_alphanumeric()))
    );
    assert!(suffixes.iter().any(|suffix| suffix[1..].contains('.')));
    assert!(suffixes.iter().any(|suffix| suffix[1..].contains('-')));
}

// N-2
#[test]
fn ids_of_63_characters_are_kept_and_of_64_shortened() {
    assert_eq!(name(&"a".repeat(63)), "a".repeat(63));
    assert_eq!(name(&"a".repeat(64)).len(), 63);
}

// N-2, N-5
#[test]
fn the_schemes_hash_different_texts() {
    let id = format!("create_fn/{}", "x".repeat(80));
    let keys = keys(PREFIX, &id, &plain());
    let suffix_of = |key: &str| key.rsplit_once('-').unwrap().1.to_owned();
    assert_ne!(suffix_of(&keys[0]), suffix_of(&keys[1]));
}

// N-7
#[test]
fn replica_sets_of_deployments_have_names_of_their_own() {
    let owned = |kind: &str, owner: &str| {
        Body::new(json!({"kind": kind, "metadata": {"ownerReferences": [{"kind": owner, "name": "x"}]}}))
    };
    let first = |body: &Body| keys(PREFIX, "h", body)[0].clone();
    assert_eq!(first(&owned("ReplicaSet", "Deployment")), "kopf.zalando.org/h-ofDRS");
    assert_eq!(first(&owned("ReplicaSet", "Rollout")), "kopf.zalando.org/h");
    assert_eq!(first(&owned("Widget", "Deployment")), "kopf.zalando.org/h");
}

// N-8: Kopf degenerates to a bare suffix, or to a key that is too long; such keys cannot exist.
#[test]
fn long_prefixes_have_no_legacy_keys() {
    for length in [55, 56, 60, 62, 63, 100, 189] {
        let prefix = "p".repeat(length);
        assert_eq!(keys(&prefix, "some-longer-id", &plain()).len(), 1, "{length}");
    }
    assert_eq!(
        keys(&"p".repeat(54), "some-longer-id", &plain())[1],
        format!("{}/s{}", "p".repeat(54), "-MkwZJw").replace("-MkwZJw", &suffix("some-longer-id"))
    );
}

// N-1, improved, B-057
#[test]
fn characters_that_annotations_forbid_are_replaced_and_the_name_stays_unique() {
    let names = [
        "Sync/User@DB (v2)",
        "Sync/User_DB_(v2)",
        "größe-ändern",
        "192.168.0.1:80",
        "192.168.0.1_80",
    ]
    .map(name);
    assert!(names[0].starts_with("Sync.User_DB__v2_-"), "{}", names[0]);
    let unique: std::collections::BTreeSet<_> = names.iter().collect();
    assert_eq!(unique.len(), names.len());
    assert_eq!(names[4], "192.168.0.1_80");
}

// B-055
#[test]
fn long_ids_with_a_common_beginning_stay_distinct() {
    let common = "reconcile_the_downstream_database_credentials_secret_of_every_tenant";
    assert_ne!(name(&format!("{common}/spec.a")), name(&format!("{common}/spec.b")));
}

// N-8
#[test]
fn prefixes_are_validated() {
    for valid in ["kopf.zalando.org", "op.example.com", "a", "a-b.c0", &"a".repeat(189)] {
        assert_eq!(validate_prefix(valid), Ok(()), "{valid}");
    }
    assert_eq!(validate_prefix(""), Err(PrefixError::Empty));
    assert_eq!(
        validate_prefix(&"a".repeat(190)),
        Err(PrefixError::TooLong("a".repeat(190)))
    );
    for invalid in ["A.b", "a_b", "-a", "a-", "a..b", ".a", "a.", "a/b", "a b", "ä"] {
        assert_eq!(
            validate_prefix(invalid),
            Err(PrefixError::NotSubdomain(invalid.into())),
            "{invalid}"
        );
    }
}

#[test]
fn finalizers_need_a_name_and_may_have_a_domain() {
    for valid in [
        "kopf.zalando.org/KopfFinalizerMarker",
        "op.example.com/finalizer",
        "a/b",
        "foregroundDeletion",
    ] {
        assert_eq!(validate_qualified_name(valid), Ok(()));
    }
    for invalid in ["", "/a", "-a", "a/", "a/-", "A/b", "a/b/c", "a/ä"] {
        assert!(validate_qualified_name(invalid).is_err(), "{invalid}");
    }
}

// N-10
#[test]
fn prefixes_are_owned_if_they_are_kopfs_or_marked() {
    let body = annotated(json!({"x.example/kopf-managed": "yes", "y.example/other": "1"}));
    for owned in ["kopf.zalando.org", "sub.kopf.zalando.org", "x.example"] {
        assert!(is_owned(owned, &body), "{owned}");
    }
    for foreign in [
        "y.example",
        "kopf-domain.tld",
        "domain.kopf.tld",
        "xkopf.zalando.org",
        "kopf.example.org",
    ] {
        assert!(!is_owned(foreign, &body), "{foreign}");
    }
}

// N-9, N-11 improved
#[test]
fn every_prefix_that_is_not_well_known_is_marked_once() {
    let marked = |prefix: &str, annotations: Value| {
        let mut merge = Map::new();
        store_marks(&mut merge, prefix, &annotated(annotations), &[]);
        Value::Object(merge)
            .pointer("/metadata/annotations")
            .and_then(|all| all.get(format!("{prefix}/kopf-managed")))
            .cloned()
    };
    assert_eq!(marked("op.example.com", json!({})), Some(json!("yes")));
    assert_eq!(marked("kopf.example.org", json!({})), Some(json!("yes")));
    assert_eq!(
        marked("op.example.com", json!({"op.example.com/kopf-managed": "yes"})),
        None
    );
    assert_eq!(marked("kopf.zalando.org", json!({})), None);
    assert_eq!(marked("sub.kopf.zalando.org", json!({})), None);
}

// B-028
#[test]
fn state_of_another_object_is_recognised_by_its_uid() {
    let mut merge = Map::new();
    store_marks(&mut merge, PREFIX, &annotated(json!({})), &[]);
    let mark = merge["metadata"]["annotations"]["kopf.zalando.org/kopf-gen"].clone();
    assert_eq!(mark, json!("{\"uid\":\"u1\",\"v\":1}"));

    let own = annotated(json!({"kopf.zalando.org/kopf-gen": mark}));
    assert_eq!(is_copied(PREFIX, &own), Some(false));
    let mut again = Map::new();
    store_marks(&mut again, PREFIX, &own, &[]);
    assert!(again.is_empty());

    let copy = Body::new(json!({"metadata": {"uid": "u2", "annotations": {"kopf.zalando.org/kopf-gen": mark}}}));
    assert_eq!(is_copied(PREFIX, &copy), Some(true));
    assert_eq!(
        is_copied(PREFIX, &annotated(json!({}))),
        None,
        "Kopf's state has no mark"
    );
    assert_eq!(
        is_copied(PREFIX, &annotated(json!({"kopf.zalando.org/kopf-gen": "?"}))),
        None
    );
}

// P-2
#[test]
fn json_is_written_as_python_writes_it() {
    let value = json!({"b": "ä😀\u{7f}\n\u{1}\"\\/", "a": [1, 1.5, null, true]});
    assert_eq!(
        ascii_json(&value),
        "{\"a\":[1,1.5,null,true],\"b\":\"\\u00e4\\ud83d\\ude00\\u007f\\n\\u0001\\\"\\\\/\"}"
    );
    assert_eq!(serde_json::from_str::<Value>(&ascii_json(&value)).unwrap(), value);
}

// P-3, P-4
#[test]
fn times_are_written_with_six_digits_and_read_with_any_offset() {
    let time: Timestamp = "2031-02-03T04:05:06.000789Z".parse().unwrap();
    assert_eq!(format_time(time), "2031-02-03T04:05:06.000789+00:00");
    assert_eq!(
        format_time("2031-02-03T04:05:06Z".parse().unwrap()),
        "2031-02-03T04:05:06.000000+00:00"
    );
    for text in [
        "2031-02-03T04:05:06.000789+00:00",
        "2031-02-03T04:05:06.000789Z",
        "2031-02-03T05:35:06.000789+01:30",
        "2031-02-03T04:05:06.000789",
    ] {
        assert_eq!(parse_time(text), Some(time), "{text}");
    }
    assert_eq!(parse_time("yesterday"), None);
}
