//! What people own is laid out as rustfmt would do it, whatever the names are.

use std::fmt::Write as _;
use std::process::Command;
use std::{fs, iter};

/// Kinds, functions and fields of every length, in every kind of stub.
fn spec() -> String {
    let mut spec = String::from(
        "apiVersion: kopf-gen.dev/v1alpha1\nkind: OperatorSpec\nmetadata: {name: formatted}\nresources:\n",
    );
    for length in 2..=59 {
        let kind: String = iter::once('K')
            .chain("abcdefghij".chars().cycle())
            .take(length)
            .collect();
        let word = kind.to_lowercase();
        let field: String = word.chars().take(40).collect();
        write!(
            spec,
            "  - apiVersion: length{length}.example.com/v1
    kind: {kind}
    module: m{length}
    spec: {{{field}: string}}
    handlers:
      - {{type: create, fn: c_{word}, id: c, returns: {{{field}: string, other: integer}}}}
      - {{type: update, fn: u_{word}, id: u}}
      - {{type: delete, fn: d_{word}, id: d, returns: {{a: 'string | required=true', b: {{c: string | required=true}}}}}}
      - {{type: resume, fn: r_{word}, id: r, returns: {{x: 'integer | required=true'}}}}
      - {{type: [create, update], fn: m_{word}, id: m, blocking: true}}
      - {{type: field, fn: f_{word}, id: f, field: spec.{field}}}
      - {{type: event, fn: e_{word}, id: e}}
    timers:
      - {{fn: t_{word}, id: t, interval: 10s, returns: {{value: string}}, initialDelay: {{fn: w_{word}}}}}
    daemons:
      - {{fn: g_{word}, id: g, optional: true, param: 1, retries: 3}}
      - {{fn: b_{word}, id: b, optional: true, blocking: true, returns: {{value: string}}}}
    indexes:
      - {{fn: i_{word}, id: i{length}, value: '{kind}Spec'}}
      - {{fn: n_{word}, id: n{length}, key: '()', value: 'std::collections::BTreeMap<String, Vec<{kind}Spec>>'}}
"
        )
        .expect("a String takes all");
    }
    spec
}

/// Results that go deep, with field names of every length.
fn deep_spec() -> String {
    let mut spec = String::from(
        "apiVersion: kopf-gen.dev/v1alpha1\nkind: OperatorSpec\nmetadata: {name: deep}\nresources:\n  - apiVersion: deep.example.com/v1\n    kind: Kind\n    spec: any\n    status: any\n    handlers:\n",
    );
    for depth in 1..=9 {
        let (maps, lists) = ("map[string]".repeat(depth), "[]".repeat(depth));
        for (name, returns) in [("maps", maps + "integer"), ("lists", lists + "string")] {
            let line = format!("      - {{type: create, fn: {name}{depth}, returns: '{returns}'}}\n");
            spec.push_str(&line);
        }
    }
    for length in 20..=63 {
        let field: String = "abcdefghij".chars().cycle().take(length).collect();
        write!(
            spec,
            "      - type: create
        fn: f{length}
        returns:
          {field}: string
          a{{field}}: 'string | required=true'
          inner: {{$required: true, {field}: string, b: 'integer | required=true', deeper: {{$required: true, {field}: 'string | required=true', c: '[]string | required=true'}}}}
          optional: {{{field}: 'string | required=true'}}
          short: {{$required: true, {field}: {{$required: true, c: integer}}}}
"
        )
        .expect("a String takes all");
    }
    spec
}

#[test]
fn rustfmt_agrees_with_every_length_of_names() {
    check(&spec());
}

#[test]
fn rustfmt_agrees_with_deep_results() {
    check(&deep_spec());
}

fn check(spec: &str) {
    let generated = kopf_gen::generate("operator.yaml", spec, &kopf_gen::Options::default())
        .unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let mut paths = Vec::new();
    for (path, file) in generated.files.iter() {
        let is_owned = path.starts_with("src/handlers/") || path.starts_with("tests/") || path == "src/main.rs";
        if is_owned && !path.ends_with("/mod.rs") {
            let target = folder.path().join(path.replace('/', "_"));
            fs::write(&target, &file.contents).expect("the folder is writable");
            paths.push(target);
        }
    }
    assert!(!paths.is_empty());
    let output = Command::new("rustfmt")
        .args(["--edition", "2024", "--check"])
        .args(&paths)
        .current_dir(&folder)
        .output();
    let output = output.expect("rustfmt comes with the toolchain");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
