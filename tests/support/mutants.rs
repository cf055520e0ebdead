//! Rules to be inverted, and the tests that must notice it.

use std::path::PathBuf;

use serde::Deserialize;

use crate::rules::Test;

/// One inverted decision: an entry of `mutants.yaml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mutant {
    /// The id of the rule.
    pub rule: String,
    /// The file with its code, seen from the root of the workspace.
    pub file: PathBuf,
    /// The code; it stands in the file once.
    pub from: String,
    /// What stands there instead.
    pub to: String,
    /// The test that must fail; the rule's id stands above it.
    pub test: String,
}

/// All entries of `mutants.yaml`.
///
/// # Panics
/// If the file is not as described here.
#[must_use]
pub fn all() -> Vec<Mutant> {
    let text = std::fs::read_to_string(crate::workspace().join("tests/mutants.yaml")).unwrap();
    serde_yaml::from_str(&text).expect("mutants.yaml is as described here")
}

impl Mutant {
    /// The file's text with the rule inverted.
    ///
    /// # Errors
    /// If the code does not stand in the text exactly once.
    pub fn apply(&self, text: &str) -> Result<String, String> {
        let Self {
            rule, file, from, to, ..
        } = self;
        match text.matches(from.as_str()).count() {
            1 => Ok(text.replacen(from.as_str(), to, 1)),
            count => Err(format!("{rule}: {} has {count} times: {from}", file.display())),
        }
    }

    /// The test that must fail.
    ///
    /// # Errors
    /// If there is none of this name above which the rule's id stands.
    pub fn test<'a>(&self, tests: &'a [Test]) -> Result<&'a Test, String> {
        let Self { rule, test, .. } = self;
        let mut found = tests
            .iter()
            .filter(|candidate| candidate.name == *test && candidate.ids.contains(rule));
        match (found.next(), found.next()) {
            (Some(only), None) => Ok(only),
            (None, _) => Err(format!("{rule}: no test `{test}` has this id above it")),
            (Some(_), Some(_)) => Err(format!("{rule}: several tests are named `{test}`")),
        }
    }
}

/// The arguments of `cargo test` that build the program with a test in it.
///
/// # Panics
/// If the test stands nowhere where tests are looked for.
#[must_use]
pub fn program(test: &Test) -> Vec<String> {
    let parts: Vec<_> = test.file.iter().map(|part| part.to_str().unwrap()).collect();
    let arguments: Vec<&str> = match parts[..] {
        ["runtime", "src", ..] => vec!["-p", "kopf-runtime", "--lib"],
        ["generator", "src", ..] => vec!["-p", "kopf-gen", "--lib"],
        ["runtime", "tests", file, ..] => vec!["-p", "kopf-runtime", "--test", file.trim_end_matches(".rs")],
        ["generator", "tests", file, ..] => vec!["-p", "kopf-gen", "--test", file.trim_end_matches(".rs")],
        ["tests", ..] => vec!["-p", "kopf-tests", "--test", "suite"],
        _ => panic!("{} has no tests", test.file.display()),
    };
    arguments.into_iter().map(str::to_owned).collect()
}

/// The part of a test's full name that no other test has.
#[must_use]
pub fn filter(test: &Test) -> String {
    if test.both {
        format!("{}::embedded", test.name)
    } else {
        format!("::{}", test.name)
    }
}
