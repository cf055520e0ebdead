use serde_json::json;

use super::*;

fn now() -> Timestamp {
    "2031-02-03T04:05:06.000789Z".parse().unwrap()
}

fn later() -> Timestamp {
    "2031-02-03T04:06:06.000999Z".parse().unwrap()
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

// P-1
#[test]
fn all_keys_stand_in_the_order_of_the_format() {
    let full = Record {
        stopped: Some(now()),
        subrefs: Some(vec!["sub1".into(), "sub2/a".into()]),
        handled: Some(json!({"spec": null})),
        ..busy()
    };
    let text = full.to_text();
    let places: Vec<_> = Stored::KEYS
        .iter()
        .map(|key| text.find(&format!("\"{key}\":")).unwrap())
        .collect();
    assert!(places.is_sorted(), "{text}");
    assert_eq!(Record::parse(&text, now()), Some(full));
}

// P-2
#[test]
fn messages_are_escaped_to_ascii() {
    let record = Record {
        message: Some("größer 😀".into()),
        ..Record::fresh(now())
    };
    assert!(
        record
            .to_text()
            .contains("\"message\":\"gr\\u00f6\\u00dfer \\ud83d\\ude00\""),
        "{}",
        record.to_text()
    );
    assert_eq!(Record::parse(&record.to_text(), now()), Some(record));
}

// P-5
#[test]
fn an_empty_record_is_a_fresh_handler() {
    assert_eq!(Record::parse("{}", now()), Some(Record::fresh(now())));
    assert_eq!(
        Record::parse("{\"retries\":null,\"success\":null}", now()),
        Some(Record::fresh(now()))
    );
}

// P-4, improved
#[test]
fn times_without_an_offset_are_utc() {
    let record = Record::parse("{\"started\":\"2031-02-03T04:05:06.000789\"}", later()).unwrap();
    assert_eq!(record.started, now());
}

// P-7, P-9
#[test]
fn the_delay_counts_until_the_handler_is_due() {
    assert_eq!(busy().delay(now()), Duration::from_micros(60_000_210));
    assert_eq!(busy().delay(later()), Duration::ZERO);
    assert_eq!(Record::fresh(now()).delay(now()), Duration::ZERO);
    assert_eq!(
        Record {
            success: true,
            ..busy()
        }
        .delay(now()),
        Duration::ZERO
    );
}
