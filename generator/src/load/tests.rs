//! Reading, editing and comparing specs.

use super::load;

const BODY: &str = "resources:
  - apiVersion: demo.example.com/v1
    kind: Greeting
    spec:
      # Who is greeted.
      who: string | required=true
";

fn spec(settings: &str) -> String {
    format!("apiVersion: kopf-gen.dev/v1alpha1\nkind: OperatorSpec\nmetadata: {{name: greeter}}\n{settings}{BODY}")
}

fn edited(text: &str) -> String {
    load("operator.yaml", text)
        .unwrap_or_else(|faults| panic!("{faults}"))
        .with_persistence("p.example.com", "p.example.com/f")
}

fn digest(text: &str) -> String {
    load("operator.yaml", text)
        .unwrap_or_else(|faults| panic!("{faults}"))
        .digest()
}

#[test]
fn persistence_is_written_into_any_layout() {
    let pair = "    prefix: p.example.com\n    finalizer: p.example.com/f\n";
    for (before, after) in [
        ("", format!("settings:\n  persistence:\n{pair}")),
        ("settings:\n", "settings: {persistence: {prefix: p.example.com, finalizer: p.example.com/f}}\n".into()),
        ("settings: {} # none\n", "settings: {persistence: {prefix: p.example.com, finalizer: p.example.com/f}} # none\n".into()),
        (
            "settings:\n  # Loud.\n  posting: {loggers: true} # yes\n",
            "settings:\n  persistence: {prefix: p.example.com, finalizer: p.example.com/f}\n  # Loud.\n  posting: {loggers: true} # yes\n"
                .into(),
        ),
        (
            "settings:\n  persistence:\n    prefix: a.example.com # mine\n",
            "settings:\n  persistence:\n    prefix: a.example.com # mine\n    finalizer: p.example.com/f\n".into(),
        ),
        (
            "settings: {persistence: {finalizer: a.example.com/x}}\n",
            "settings: {persistence: {finalizer: a.example.com/x, prefix: p.example.com}}\n".into(),
        ),
        ("# About the kinds.\n", format!("settings:\n  persistence:\n{pair}# About the kinds.\n")),
        (
            "settings: {persistence: {prefix: a.example.com, finalizer: a.example.com/x}}\n",
            "settings: {persistence: {prefix: a.example.com, finalizer: a.example.com/x}}\n".into(),
        ),
    ] {
        assert_eq!(edited(&spec(before)), spec(&after), "{before}");
        let windows = spec(before).replace('\n', "\r\n");
        assert_eq!(edited(&windows), spec(&after).replace('\n', "\r\n"), "{before} with CRLF");
    }
}

#[test]
fn persistence_finds_its_place_in_odd_layouts() {
    let odd = [
        spec("settings:\n  persistence:\n    prefix: p.example.com\n    finalizer: |-\n      p.example.com/f\n\n"),
        spec("settings:\n  persistence:\n    finalizer: |-\n      p.example.com/f\n\n"),
        spec("").replace("resources:\n", "? resources\n:\n"),
        spec("").replace('\n', "\r"),
        spec("settings:\n  posting: {loggers: true}\n").replace('\n', "\r"),
    ];
    for text in odd {
        let written = edited(&text);
        let again = load("operator.yaml", &written).unwrap_or_else(|faults| panic!("{written}\n{faults}"));
        let persistence = &again.spec.settings.persistence;
        assert!(
            persistence
                .prefix
                .as_ref()
                .is_some_and(|name| name.value == "p.example.com"),
            "{written}"
        );
        assert!(
            persistence
                .finalizer
                .as_ref()
                .is_some_and(|name| name.value == "p.example.com/f"),
            "{written}"
        );
    }
}

#[test]
fn a_digest_is_over_what_a_spec_says() {
    let plain = spec("settings: {posting: {loggers: true, level: info}}\n");
    let same = spec("# A comment.\nsettings:\n  posting:\n    level: \"info\" # quoted\n    loggers: true\n");
    assert_eq!(digest(&plain), digest(&same));
    assert_eq!(digest(&plain).len(), 64);
    assert_ne!(digest(&plain), digest(&plain.replace("level: info", "level: debug")));
    assert_ne!(
        digest(&plain),
        digest(&plain.replace("Who is greeted", "Who is meant")),
        "descriptions count"
    );
    let two = plain.replace("      who:", "      a: string\n      who:");
    let swapped = plain.replace("required=true\n", "required=true\n      a: string\n");
    assert_ne!(digest(&two), digest(&swapped), "fields come out in their order");
}

#[test]
fn quoted_and_long_forms_are_read_alike() {
    let one_line = spec("");
    let quoted = one_line.replace("who: string | required=true", "who: 'string | required=true'");
    assert_eq!(digest(&one_line), digest(&quoted));
    for text in [one_line, quoted] {
        assert!(load("operator.yaml", &text).is_ok());
    }
}
