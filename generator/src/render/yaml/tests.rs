use serde_json::{Value, json};

use super::{Yaml, document, documents};

#[test]
fn keeps_the_order_and_writes_comments_above() {
    let rule = map! { "apiGroups" => list![""], "verbs" => list!["get", "list"] };
    let value = map! {
        "kind" => "Role",
        "apiVersion" => "v1",
        "rules" => list![rule.comment("for whom:\nfor them")],
    };
    assert_eq!(
        document(&value),
        "kind: Role\napiVersion: v1\nrules:\n# for whom:\n# for them\n- apiGroups:\n  - \"\"\n  verbs:\n  - get\n  - list\n"
    );
}

#[test]
fn comes_back_as_it_was() {
    let texts = [
        "",
        " ",
        "on",
        "Yes",
        "~",
        "null",
        "1e3",
        "012",
        "0x10",
        "1_000",
        "12:30:45",
        "2026-01-02",
        ".5",
        ".inf",
        ".nan",
        "a: b",
        "a #b",
        "a:",
        "- x",
        "#x",
        "&a",
        "*a",
        "!x",
        "%x",
        "@x",
        "`x`",
        "{a}",
        "[a]",
        "a\nb",
        "a\nb\n",
        "a\n\nb",
        " a\nb",
        "a \nb",
        "a\n\n",
        "tab\there",
        "bell\u{7}",
        "grün",
        "\u{2028}",
        "\u{1F600}",
        "'",
        "\"",
        "\\",
        "=",
        "<<",
        "?",
        "-",
        "--- x",
        "...",
        ".spec.x",
        "self.a != 'b' || self.c == 1",
        "n",
        "N",
        "y",
        "true",
        "v1",
        "demo.example.com/v1",
        "trailing ",
        "a\u{85}b",
        "+1",
        "1.",
        "0o7",
        "1Gi",
        "/healthz",
        "a, b",
        "e1",
        "none",
    ];
    for text in texts {
        let value = json!({"a": text, "b": [text, [text], {text: text}]});
        let written = document(&Yaml::from(&value));
        let read: Value = serde_yaml::from_str(&written).unwrap_or_else(|error| panic!("{error}: {written}"));
        assert_eq!(read, value, "{written}");
    }
}

#[test]
fn an_object_starts_with_what_it_is() {
    let value = json!({"kind": "A", "apiVersion": "v1", "spec": {}, "metadata": {"labels": {"a": "b"}, "name": "x"}});
    let text = documents(&[Yaml::object(&value), Yaml::object(&json!({}))]);
    assert_eq!(
        text,
        "apiVersion: v1\nkind: A\nmetadata:\n  name: x\n  labels:\n    a: b\nspec: {}\n---\n{}\n"
    );
}
