//! Indexes and the types of their keys and values.

use super::{HEAD, refused, resolve, with_fields};
use crate::model::{IndexType, TypePart};

/// The type of the values, if this is given for them.
fn value(text: &str) -> IndexType {
    let spec = with_fields("owner: user\nmode: mode");
    let (operator, _) = resolve(&format!("{spec}    indexes: [{{fn: find, value: '{text}'}}]\n"));
    operator.indexes[0].value.clone()
}

#[test]
fn types_are_known_by_name_or_by_path() {
    let generated = |name: &str| TypePart::Generated {
        module: "database".to_owned(),
        name: name.to_owned(),
    };
    let text = |text: &str| TypePart::Text(text.to_owned());
    for (given, parts) in [
        ("String", vec![text("String")]),
        ("()", vec![text("()")]),
        ("( String,u8 )", vec![text("(String, u8)")]),
        ("(u8,)", vec![text("(u8,)")]),
        ("Vec<Option<bool>>", vec![text("Vec<Option<bool>>")]),
        ("serde_json::Value", vec![text("serde_json::Value")]),
        (
            "std::collections::BTreeMap<String, f64>",
            vec![text("std::collections::BTreeMap<String, f64>")],
        ),
        ("::other::Thing", vec![text("::other::Thing")]),
        ("User", vec![generated("User")]),
        ("database::Mode", vec![generated("Mode")]),
        (
            "Vec<DatabaseSpec>",
            vec![text("Vec<"), generated("DatabaseSpec"), text(">")],
        ),
        ("state::Note", vec![TypePart::Own(vec!["state".into(), "Note".into()])]),
        (
            "crate::state::Note",
            vec![TypePart::Own(vec!["state".into(), "Note".into()])],
        ),
    ] {
        assert_eq!(value(given).parts, parts, "{given}");
    }
}

#[test]
fn keys_are_texts_and_values_are_json_unless_the_spec_says_more() {
    let (operator, _) = resolve(&(with_fields("size: integer") + "    indexes: [{fn: find}]\n"));
    let index = &operator.indexes[0];
    assert_eq!(
        (index.key.to_string(), index.value.to_string()),
        ("String".to_owned(), "serde_json::Value".to_owned())
    );
}

#[test]
fn several_kinds_feed_one_index_and_each_index_has_a_name_of_its_own() {
    let (operator, _) = resolve(&format!(
        "{HEAD}  - {{apiVersion: a.io/v1, kind: Item, spec: {{x: string}}, indexes: [{{fn: by_name}}, {{fn: other, id: by-name}}]}}
  - {{apiVersion: v1, kind: Pod, indexes: [{{fn: pods, id: by_name, field: metadata.name}}]}}\n"
    ));
    let names: Vec<(&str, &str)> = operator
        .indexes
        .iter()
        .map(|index| (index.id.as_str(), index.type_name.as_str()))
        .collect();
    assert_eq!(names, [("by_name", "ByName"), ("by-name", "ByName2")]);
    let pods = &operator.resources[1].indexes[0].entry;
    assert_eq!(
        (pods.id.as_str(), pods.full_id.as_str()),
        ("by_name", "by_name"),
        "no suffix"
    );
}

#[test]
fn kinds_that_disagree_are_both_named() {
    let faults = refused(&format!(
        "{HEAD}  - {{apiVersion: a.io/v1, kind: Item, spec: {{x: string}}, indexes: [{{fn: by_name, value: String}}]}}
  - {{apiVersion: v1, kind: Pod, indexes: [{{fn: pods, id: by_name, value: u8}}]}}\n"
    ));
    assert!(faults.contains("KG058"), "{faults}");
    assert!(
        faults.contains("`Pod` feeds") && faults.contains("`Item` above"),
        "{faults}"
    );
}
