//! What differs between two answers, and between an answer and an expectation.

use std::collections::BTreeSet;

use serde_json::Value;

/// How two answers differ: in their codes, else in what they are, else in the places where they differ.
pub(crate) fn of_answers(embedded: &Value, real: &Value) -> Vec<String> {
    let said = |answer: &Value| {
        format!(
            "{} {}",
            answer["code"],
            answer["body"]["message"].as_str().unwrap_or_default()
        )
    };
    if embedded["code"] != real["code"] {
        return vec![format!("code: embedded {}, real {}", said(embedded), said(real))];
    }
    let kinds = [embedded, real].map(|answer| &answer["body"]["kind"]);
    if kinds[0] != kinds[1] {
        return vec![format!("kind: embedded {}, real {}", kinds[0], kinds[1])];
    }
    differences(embedded, real)
}

/// The places where the embedded server's answer is not that of the real one.
fn differences(embedded: &Value, real: &Value) -> Vec<String> {
    let mut found = Vec::new();
    differ("", Some(embedded), Some(real), &mut found);
    found
}

fn differ(path: &str, embedded: Option<&Value>, real: Option<&Value>, found: &mut Vec<String>) {
    match (embedded, real) {
        (Some(Value::Object(ours)), Some(Value::Object(theirs))) => {
            let keys: BTreeSet<_> = ours.keys().chain(theirs.keys()).collect();
            for key in keys {
                differ(
                    &format!("{path}/{}", escape(key)),
                    ours.get(key),
                    theirs.get(key),
                    found,
                );
            }
        }
        (Some(Value::Array(ours)), Some(Value::Array(theirs))) => {
            for index in 0..ours.len().max(theirs.len()) {
                differ(&format!("{path}/{index}"), ours.get(index), theirs.get(index), found);
            }
        }
        _ if embedded == real => {}
        _ => found.push(format!("{path}: embedded {}, real {}", shown(embedded), shown(real))),
    }
}

/// The places where an answer lacks what is expected. Objects may have more fields, arrays may not have more items; an
/// expected null stands for nothing, an empty object for anything.
pub(crate) fn lacks(expected: &Value, actual: &Value) -> Vec<String> {
    let mut found = Vec::new();
    lack("", expected, Some(actual), &mut found);
    found
}

fn lack(path: &str, expected: &Value, actual: Option<&Value>, found: &mut Vec<String>) {
    match (expected, actual) {
        (Value::Null, None | Some(Value::Null)) => {}
        (Value::Object(wanted), Some(actual)) if wanted.is_empty() && !actual.is_null() => {}
        (Value::Object(wanted), Some(Value::Object(fields))) => {
            for (key, value) in wanted {
                lack(&format!("{path}/{}", escape(key)), value, fields.get(key), found);
            }
        }
        (Value::Array(wanted), Some(Value::Array(items))) if wanted.len() == items.len() => {
            for (index, value) in wanted.iter().enumerate() {
                lack(&format!("{path}/{index}"), value, items.get(index), found);
            }
        }
        _ if Some(expected) == actual => {}
        _ => found.push(format!("{path} is {}, expected {expected}", shown(actual))),
    }
}

/// Removes what a JSON pointer leads to; `*` stands for every key and index.
pub(crate) fn remove(value: &mut Value, pointer: &str) {
    let Some((head, rest)) = pointer
        .strip_prefix('/')
        .map(|path| path.split_once('/').unwrap_or((path, "")))
    else {
        return;
    };
    let rest = &pointer[pointer.len() - rest.len()..];
    let key = head.replace("~1", "/").replace("~0", "~");
    match (value, rest.is_empty()) {
        (Value::Object(fields), true) => fields.retain(|name, _| head != "*" && *name != key),
        (Value::Object(fields), false) => fields
            .iter_mut()
            .filter(|(name, _)| head == "*" || **name == key)
            .for_each(|(_, field)| remove(field, &format!("/{rest}"))),
        (Value::Array(items), true) => {
            let mut index = 0..;
            items.retain(|_| head != "*" && index.next().map(|index: usize| index.to_string()).as_ref() != Some(&key));
        }
        (Value::Array(items), false) => items
            .iter_mut()
            .enumerate()
            .filter(|(index, _)| head == "*" || index.to_string() == key)
            .for_each(|(_, item)| remove(item, &format!("/{rest}"))),
        _ => {}
    }
}

fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".into(), Value::to_string)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_answers_do_not_differ() {
        let answer = json!({"code": 200, "body": {"items": [1, {"a": null}]}});
        assert_eq!(differences(&answer, &answer), Vec::<String>::new());
    }

    #[test]
    fn differences_are_found_with_their_places() {
        let ours = json!({"a": 1, "b": [1, 2], "c/d": {"e": "x"}, "f": null});
        let theirs = json!({"a": 2, "b": [1], "c/d": {"e": "y"}});
        let found = differences(&ours, &theirs);
        assert_eq!(
            found,
            [
                "/a: embedded 1, real 2",
                "/b/1: embedded 2, real nothing",
                "/c~1d/e: embedded \"x\", real \"y\"",
                "/f: embedded null, real nothing",
            ]
        );
        assert_eq!(differences(&theirs, &ours).len(), 4);
    }

    #[test]
    fn answers_of_different_codes_are_not_compared_further() {
        let ours = json!({"code": 404, "body": {"kind": "Status", "message": "none"}});
        let theirs = json!({"code": 200, "body": {"kind": "Pod", "spec": {}}});
        assert_eq!(of_answers(&ours, &theirs), ["code: embedded 404 none, real 200 "]);
        let status = json!({"code": 200, "body": {"kind": "Status"}});
        assert_eq!(of_answers(&status, &theirs), [r#"kind: embedded "Status", real "Pod""#]);
        let other = json!({"code": 200, "body": {"kind": "Pod", "spec": 1}});
        assert_eq!(of_answers(&other, &theirs), ["/body/spec: embedded 1, real {}"]);
        assert!(of_answers(&theirs, &theirs).is_empty());
    }

    #[test]
    fn other_types_are_differences() {
        assert_eq!(differences(&json!({"a": "1"}), &json!({"a": 1})).len(), 1);
        assert_eq!(differences(&json!([]), &json!({})).len(), 1);
    }

    #[test]
    fn expectations_are_partial() {
        let answer = json!({"a": 1, "b": [{"c": 2, "d": 3}], "e": null});
        assert!(lacks(&json!({"b": [{"c": 2}], "e": null, "f": null}), &answer).is_empty());
        assert_eq!(lacks(&json!({"a": 2}), &answer), ["/a is 1, expected 2"]);
        assert_eq!(lacks(&json!({"f": 2}), &answer), ["/f is nothing, expected 2"]);
        assert_eq!(lacks(&json!({"a": null}), &answer), ["/a is 1, expected null"]);
        assert_eq!(lacks(&json!({"b": []}), &answer).len(), 1);
        assert!(lacks(&json!({"a": {}, "b": [{}]}), &answer).is_empty());
        assert_eq!(lacks(&json!({"e": {}}), &answer), ["/e is null, expected {}"]);
    }

    #[test]
    fn pointers_remove_one_or_every_place() {
        let mut answer = json!({"a/b": 1, "items": [{"x": 1, "y": 2}, {"x": 3}], "c": {"d": 1}});
        remove(&mut answer, "/a~1b");
        remove(&mut answer, "/items/*/x");
        remove(&mut answer, "/c/other");
        assert_eq!(answer, json!({"items": [{"y": 2}, {}], "c": {"d": 1}}));
        remove(&mut answer, "/items/1");
        assert_eq!(answer, json!({"items": [{"y": 2}], "c": {"d": 1}}));
    }
}
