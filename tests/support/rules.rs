//! Which rules the tests prove, as the comments right above them say.
//!
//! A line above a test that begins with ids names what the test proves: `// Z-8, B-039: and why`. Ids of rules have
//! one or two digits, ids of reported bugs have three; `Z-1 to Z-5` is a range. What follows the ids is for people.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Folders with tests, seen from the root of the workspace.
const FOLDERS: &[&str] = &[
    "generator/src",
    "generator/tests",
    "runtime/src",
    "runtime/tests",
    "tests",
];

/// A test, or a scenario that is played on several servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// Where it stands, seen from the root of the workspace.
    pub file: PathBuf,
    /// The name of its function.
    pub name: String,
    /// The ids in the comment above it.
    pub ids: Vec<String>,
    /// It is played on the embedded and on the real API server.
    pub both: bool,
}

/// All tests of the workspace, those without ids too.
///
/// # Panics
/// If the sources cannot be read.
#[must_use]
pub fn tests() -> Vec<Test> {
    let mut all = Vec::new();
    for folder in FOLDERS {
        read_folder(Path::new(folder), &mut all);
    }
    all
}

fn read_folder(folder: &Path, all: &mut Vec<Test>) {
    let Ok(entries) = std::fs::read_dir(crate::workspace().join(folder)) else {
        return;
    };
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    for name in names {
        let path = folder.join(&name);
        if crate::workspace().join(&path).is_dir() {
            read_folder(&path, all);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(crate::workspace().join(&path)).unwrap();
            all.extend(read(&path, &text));
        }
    }
}

/// The tests of one file.
#[must_use]
pub fn read(file: &Path, text: &str) -> Vec<Test> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let scenarios = scenarios(&lines);
    let mut tests = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = function(line) else { continue };
        let above = lines[..at]
            .iter()
            .rev()
            .take_while(|line| line.starts_with("//") || line.starts_with('#'));
        let mut above: Vec<&str> = above.copied().collect();
        above.reverse();
        let attributed = above
            .iter()
            .any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"));
        let scenario = scenarios.get(name).copied();
        if attributed || scenario.is_some() {
            tests.push(Test {
                file: file.to_owned(),
                name: name.to_owned(),
                ids: above.iter().flat_map(|line| ids(line)).collect(),
                both: scenario == Some(true),
            });
        }
    }
    tests
}

/// The scenarios that the macros of a file name, and whether the macro plays them on both servers.
fn scenarios<'a>(lines: &[&'a str]) -> BTreeMap<&'a str, bool> {
    let mut found = BTreeMap::new();
    let mut within = None;
    for line in lines {
        match within {
            None if line.ends_with("! {") && line.contains("_servers") && !line.starts_with("macro_rules") => {
                within = Some(line.starts_with("on_both_servers"));
            }
            Some(_) if *line == "}" => within = None,
            Some(both) => {
                if let Some(name) = line.strip_suffix(';') {
                    found.insert(name, both);
                }
            }
            None => {}
        }
    }
    found
}

/// The name of the function that begins on this line.
fn function(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ")?;
    let end = rest.find(|char: char| !char.is_alphanumeric() && char != '_')?;
    Some(&rest[..end])
}

/// The ids that a comment begins with.
fn ids(line: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let Some(mut rest) = line.strip_prefix("// ") else {
        return found;
    };
    let mut range = false;
    while let Some((id, after)) = split_id(rest) {
        let before = found.last().cloned().filter(|_| range);
        match before {
            Some(first) => found.extend(between(&first, &id)),
            None => found.push(id),
        }
        range = after.starts_with(" to ");
        let joint = [", ", "; ", " and ", " to "]
            .iter()
            .find_map(|joint| after.strip_prefix(joint));
        let Some(next) = joint else { break };
        rest = next;
    }
    found
}

/// An id at the beginning of a text, and the rest of it.
fn split_id(text: &str) -> Option<(String, &str)> {
    let (letter, rest) = text.split_once('-')?;
    let digits = rest.find(|char: char| !char.is_ascii_digit()).unwrap_or(rest.len());
    let is_id = letter.len() == 1 && letter.starts_with(|char: char| char.is_ascii_uppercase());
    (is_id && (1..=3).contains(&digits)).then(|| (format!("{letter}-{}", &rest[..digits]), &rest[digits..]))
}

/// The ids after the first one, up to the last one.
fn between(first: &str, last: &str) -> Vec<String> {
    let parts = |id: &str| {
        let (letter, number) = id.split_once('-').expect("ids have a dash");
        (
            letter.to_owned(),
            number.parse::<u32>().expect("ids have a number"),
            number.len(),
        )
    };
    let ((letter, from, _), (_, to, width)) = (parts(first), parts(last));
    (from + 1..=to)
        .map(|number| {
            if width == 3 {
                format!("{letter}-{number:03}")
            } else {
                format!("{letter}-{number}")
            }
        })
        .collect()
}
