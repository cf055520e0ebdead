//! Which rules of the run-time core have a test, which are excused, and which are missing.
//!
//! The rules are those of Kopf's core behaviour, section by section, and the reported bugs of its areas. The table is
//! printed by `cargo test -p kopf-tests --test suite -- rules:: --nocapture`.

use std::collections::{BTreeMap, BTreeSet};

use kopf_tests::rules::{self, Test};
use kopf_tests::workspace;
use serde::Deserialize;

/// `rules/core.yaml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Core {
    /// The sections.
    sections: BTreeMap<String, Section>,
    /// The reported bugs of each area.
    bugs: BTreeMap<String, Vec<String>>,
    /// What has no test, with the reason.
    excused: BTreeMap<String, String>,
    /// Bugs that are played on the embedded server alone, with the reason.
    embedded: BTreeMap<String, String>,
    /// The tests of each section's edge cases, in the order of the lines; several for one line stand in one text. What
    /// has to wait says `later:` and why.
    edges: BTreeMap<String, Vec<String>>,
}

/// How much there is to be tested of a section.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    rules: usize,
    edges: usize,
}

/// The ids of a section or an area, in order.
struct Group {
    name: String,
    ids: Vec<String>,
}

impl Core {
    fn read() -> Self {
        let text = std::fs::read_to_string(workspace().join("tests/rules/core.yaml")).unwrap();
        serde_yaml::from_str(&text).expect("rules/core.yaml is as described here")
    }

    fn groups(&self) -> Vec<Group> {
        let sections = self.sections.iter().map(|(name, section)| Group {
            name: name.clone(),
            ids: (1..=section.rules).map(|number| format!("{name}-{number}")).collect(),
        });
        let areas = self.bugs.iter().map(|(name, ids)| Group {
            name: name.clone(),
            ids: ids.clone(),
        });
        sections.chain(areas).collect()
    }
}

fn is_bug(id: &str) -> bool {
    id.len() == "B-000".len()
}

#[test]
fn every_rule_has_a_test_or_an_excuse() {
    let core = Core::read();
    let mut tests: BTreeMap<&str, Vec<&Test>> = BTreeMap::new();
    let all = rules::tests();
    for test in &all {
        for id in &test.ids {
            tests.entry(id).or_default().push(test);
        }
    }
    let mut faults = Vec::new();
    let mut known = BTreeSet::new();
    println!("{:<10} {:>5} {:>7} {:>8}  missing", "", "rules", "tested", "excused");
    for group in core.groups() {
        let (mut tested, mut excused, mut missing) = (0, 0, Vec::new());
        for id in &group.ids {
            known.insert(id.clone());
            let has_test = tests.contains_key(id.as_str());
            let has_excuse = core.excused.contains_key(id);
            // Bugs are to be played on the real server too.
            let both = tests
                .get(id.as_str())
                .is_some_and(|tests| tests.iter().any(|test| test.both));
            let elsewhere = is_bug(id) && !both && !core.embedded.contains_key(id);
            let is_missing = !has_excuse && (!has_test || elsewhere);
            tested += usize::from(has_test);
            excused += usize::from(has_excuse);
            if is_missing {
                missing.push(id.as_str());
            }
            let mut fault = |condition: bool, text: &str| {
                if condition {
                    faults.push(format!("{id} {text}"));
                }
            };
            fault(is_missing && !has_test, "has neither a test nor an excuse");
            fault(
                is_missing && has_test,
                "is not played on the real server, without a reason",
            );
            fault(has_test && has_excuse, "has a test and needs no excuse");
            let needless = both && core.embedded.contains_key(id);
            fault(needless, "is played on both servers and needs no reason not to be");
        }
        let Group { name, ids } = &group;
        println!(
            "{name:<10} {:>5} {tested:>7} {excused:>8}  {} {}",
            ids.len(),
            missing.len(),
            missing.join(" ")
        );
    }
    for id in core.excused.keys().chain(core.embedded.keys()) {
        if !known.contains(id) {
            faults.push(format!("{id} is listed, but is no rule"));
        }
    }
    for (id, tests) in &tests {
        let of_section = id
            .split('-')
            .next()
            .is_some_and(|letter| core.sections.contains_key(letter));
        if of_section && !is_bug(id) && !known.contains(*id) {
            faults.push(format!("{id} at `{}` is no rule", tests[0].name));
        }
    }
    println!("excused:");
    for (id, reason) in &core.excused {
        println!("  {id}: {reason}");
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_edge_case_has_a_test() {
    let core = Core::read();
    let all = rules::tests();
    let mut faults = Vec::new();
    for (name, section) in &core.sections {
        let edges = core.edges.get(name).map_or(&[][..], Vec::as_slice);
        if edges.len() != section.edges {
            faults.push(format!("{name} has {} edge cases, not {}", section.edges, edges.len()));
        }
        for (index, tests) in edges.iter().enumerate() {
            if tests.starts_with("later: ") {
                println!("edge case {} of {name} is for {tests}", index + 1);
                continue;
            }
            for test in tests
                .split(' ')
                .filter(|test| all.iter().all(|known| known.name != *test))
            {
                faults.push(format!("edge case {} of {name}: there is no test `{test}`", index + 1));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn ids_are_read_from_the_comments_above_tests() {
    let text = r"
        @@ D-2 to D-4, B-019: words about D-7
        @@ and more of them.
        @@ C-1; K-9
        #[test]
        fn plain() {}

        @@ Q-1
        fn no_test() {}

        on_both_servers! {
            played;
        }

        @@ B-026 and Z-1, improved, Z-2
        #[expect(clippy::unused_async)]
        async fn played(cluster: &Cluster) {}
    "
    // Else this very file would have them.
    .replace("@@", "//");
    let tests = rules::read("a.rs".as_ref(), &text);
    let read: Vec<_> = tests
        .iter()
        .map(|test| (test.name.as_str(), test.ids.join(" "), test.both))
        .collect();
    assert_eq!(
        read,
        [
            ("plain", "D-2 D-3 D-4 B-019 C-1 K-9".to_owned(), false),
            ("played", "B-026 Z-1".to_owned(), true),
        ]
    );
}
