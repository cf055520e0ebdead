//! Specs of absurd size are refused, and soon.

use super::{HEAD, refused, resolve, with_fields};

fn numbered(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect()
}

fn nested(depth: usize) -> String {
    let mut text = String::new();
    for level in 0..depth {
        text.extend([&" ".repeat(level), "a:\n"]);
    }
    text + &format!("{}b: string\n", " ".repeat(depth))
}

fn with_types(types: &str, field: &str) -> String {
    format!(
        "{HEAD}  - apiVersion: db.example.com/v1\n    kind: Database\n    types:\n{types}    spec:\n      a: {field}\n"
    )
}

#[test]
fn deep_types_are_refused() {
    for text in [
        with_fields(&format!("a: '{}string'", "[]".repeat(5000))),
        with_fields(&format!("a: '{}string'", "map[string]".repeat(65))),
        with_fields(&format!("a: {{$type: '{}string'}}", "[]".repeat(65))),
        with_fields(&nested(90)),
        with_fields(&nested(1000)),
        with_fields(&format!("a: {}string{}", "{a: ".repeat(4000), "}".repeat(4000))),
        with_fields(&format!("a: {}{}", "[".repeat(4000), "]".repeat(4000))),
    ] {
        let faults = refused(&text);
        assert!(faults.contains("KG018") || faults.contains("KG001"), "{faults}");
    }
    resolve(&with_fields(&format!("a: '{}string'", "[]".repeat(40))));
    resolve(&with_fields(&nested(40)));
}

#[test]
fn types_that_grow_out_of_each_other_are_refused() {
    let chain = |length: usize, item: &str| -> String {
        let line = |index: usize| format!("      t{index}: {}\n", item.replace('N', &(index + 1).to_string()));
        numbered(length, line)
    };
    let end = |length: usize| format!("      t{length}: string\n");
    let twice = with_types(&(chain(25, "{a: tN, b: tN}") + &end(25)), "t0");
    assert!(refused(&twice).contains("once its types are written out"));
    let long = with_types(&(chain(3000, "tN") + &end(3000)), "t0");
    assert!(refused(&long).contains("levels deep"));
    let deep = with_types(&(chain(60, "{a: tN}") + &end(60)), "t0");
    assert!(refused(&deep).contains("levels deep"));
    let lists = with_types(&(chain(60, &format!("'{}tN'", "[]".repeat(60))) + &end(60)), "t0");
    assert!(refused(&lists).contains("levels deep"));
    resolve(&with_types(&(chain(10, "{a: tN, b: tN}") + &end(10)), "t0"));
}

#[test]
fn too_many_fields_are_refused() {
    let lines = |count: usize| -> String { numbered(count, |index| format!("f{index}: string\n")) };
    assert!(refused(&with_fields(&lines(60_000))).contains("more than 20000 fields"));
    let flow = lines(60_000).trim().replace('\n', ", ");
    assert!(refused(&with_fields(&format!("a: {{{flow}}}"))).contains("more than 20000 fields"));
    resolve(&with_fields(&lines(2000)));
}

#[test]
fn a_flood_of_faults_is_cut() {
    let lines = numbered(3000, |index| format!("f_{index}: strin\n"));
    let faults = refused(&with_fields(&lines));
    assert!(
        faults.contains("unknown type `strin`") && faults.contains("… and 5800 more"),
        "{}",
        faults.len()
    );
}
