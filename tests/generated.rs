//! Generated projects build, test, lint, format and document themselves, as a user would have it.

use std::path::Path;

use kopf_tests::projects::Project;
use kopf_tests::workspace;

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(workspace().join(path)).unwrap()
}

/// Everything that a user would run first.
fn check(project: &Project) {
    project.cargo_ok(&["build", "--locked"]);
    project.cargo_ok(&["test", "--locked"]);
    project.cargo_ok(&["clippy", "--locked", "--all-targets", "--", "-D", "warnings"]);
    project.cargo_ok(&["fmt", "--check"]);
    project.cargo_ok(&["rustdoc", "--locked", "--lib", "--", "-D", "warnings"]);
}

#[test]
fn projects_of_all_specs_are_clean() {
    let mut specs: Vec<_> = std::fs::read_dir(workspace().join("specs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    specs.sort();
    assert!(specs.len() >= 9);
    for spec in specs {
        check(&Project::of(&read(spec)));
    }
}

#[test]
fn a_project_with_everything_is_clean() {
    check(&Project::of(&read("tests/ui/wide/wide.yaml")));
}

/// The runtime's sources come with the project, which is a root of its own even inside another workspace.
#[test]
fn a_vendored_project_builds_inside_another_workspace() {
    let project = Project::vendored(&read("specs/01-minimal.yaml"));
    let outer = tempfile::tempdir().unwrap();
    std::fs::write(
        outer.path().join("Cargo.toml"),
        "[workspace]\nmembers = [\"*\"]\nresolver = \"3\"\n",
    )
    .unwrap();
    let project = project.moved_to(&outer.path().join("greeter"));
    project.cargo_ok(&["test", "--locked"]);
    project.cargo_ok(&["clippy", "--locked", "--all-targets", "--", "-D", "warnings"]);
}
