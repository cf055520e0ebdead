//! `mutants.yaml` fits the source; `cargo run -p kopf-tests --bin mutants` inverts the rules for real.

use std::collections::BTreeSet;

use kopf_tests::{mutants, rules, workspace};

/// The sections of Kopf's core behaviour.
const SECTIONS: &str = "Q C H L F K E P N B D Z R A W M I G T U X S";

#[test]
fn mutants_name_code_and_tests_that_there_are() {
    let tests = rules::tests();
    let mut faults = Vec::new();
    for mutant in mutants::all() {
        let text = std::fs::read_to_string(workspace().join(&mutant.file)).unwrap_or_default();
        faults.extend(mutant.apply(&text).err());
        faults.extend(mutant.test(&tests).err());
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn each_section_has_an_inverted_rule() {
    let all = mutants::all();
    let letter = |id: &str| id.split('-').next().unwrap_or_default().to_owned();
    let rules = all
        .iter()
        .map(|mutant| &mutant.rule)
        .filter(|id| id.len() < "B-000".len());
    let inverted: BTreeSet<String> = rules.map(|id| letter(id)).collect();
    let without: Vec<&str> = SECTIONS.split(' ').filter(|name| !inverted.contains(*name)).collect();
    assert!(without.is_empty(), "no rule is inverted of {without:?}");
    assert!(all.len() >= 30, "only {} rules are inverted", all.len());
}
