//! What the compiler says of wrong handlers: each file of `ui/signatures` takes the place of the author's file in the
//! project of `specs/02-lifecycle.yaml`, and the answer stands beside it.
//!
//! `KOPF_GEN_BLESS=1` writes the answers anew.

use std::fmt::Write as _;

use kopf_tests::projects::Project;
use kopf_tests::workspace;

/// Leaves out what changes with the runtime's sources and with the place of the checkout.
fn normalize(stderr: &str, project: &Project) -> String {
    let folder = project.path().display().to_string();
    let mut in_runtime = false;
    let mut text = String::new();
    for line in stderr.lines() {
        let line = line
            .replace(&folder, "")
            .replace(&workspace().display().to_string(), "$KOPF");
        // Where other crates and the standard library are kept is this machine's business.
        let line = match line.find("/registry/src/").or_else(|| line.find("/rustc/")) {
            Some(_) => format!("{}--> $ELSEWHERE", line.split("--> ").next().unwrap_or_default()),
            None => line,
        };
        if let Some((indent, place)) = line.split_once("--> ").or_else(|| line.split_once("::: ")) {
            in_runtime = place.starts_with('$');
            let file = place.split(':').next().unwrap_or(place);
            let place = if in_runtime { file } else { place };
            let _ = writeln!(text, "{indent}--> {place}");
        } else if in_runtime && line.trim_start().starts_with(|first: char| first.is_ascii_digit()) {
            let code = line.split_once('|').map_or("", |(_, code)| code);
            let _ = writeln!(text, "LL |{code}");
        } else {
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
    text
}

#[test]
fn wrong_handlers_are_named_in_plain_words() {
    let spec = std::fs::read_to_string(workspace().join("specs/02-lifecycle.yaml")).unwrap();
    let project = Project::of(&spec);
    let bless = std::env::var("KOPF_GEN_BLESS").is_ok();
    let mut faults = Vec::new();
    let mut cases: Vec<_> = std::fs::read_dir(workspace().join("tests/ui/signatures"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    cases.sort();
    assert!(cases.len() >= 10);
    for case in cases {
        project.put("src/handlers/bucket.rs", &std::fs::read_to_string(&case).unwrap());
        let output = project.cargo(&["check", "--quiet", "--lib", "--locked"]);
        let name = case.file_stem().unwrap().to_string_lossy().into_owned();
        if output.status.success() {
            faults.push(format!("{name} compiles"));
            continue;
        }
        let answer = normalize(&String::from_utf8_lossy(&output.stderr), &project);
        let expected = case.with_extension("stderr");
        if bless {
            std::fs::write(&expected, &answer).unwrap();
        } else if std::fs::read_to_string(&expected).unwrap_or_default() != answer {
            faults.push(format!("{name}: the compiler says\n{answer}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
