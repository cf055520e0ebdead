//! `mutants.yaml` fits the source; `cargo run -p kopf-tests --bin mutants` inverts the rules for real.

use kopf_tests::{mutants, rules, workspace};

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
