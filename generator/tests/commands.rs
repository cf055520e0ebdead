//! The commands: what they say, what they leave behind, and how they exit.

#![expect(clippy::unwrap_used, reason = "a failure is what the test is to show")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

const SPEC: &str = "\
# A comment that stays.
apiVersion: kopf-gen.dev/v1alpha1
kind: OperatorSpec
metadata: {name: greeter}
resources:
  - apiVersion: demo.example.com/v1
    kind: Greeting
    spec:
      who: string | required=true
    handlers:
      - {type: create, fn: greet}
";

fn kopf_gen(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kopf-gen"));
    command.args(arguments).current_dir(folder).env_remove("RUST_BACKTRACE");
    command.output().unwrap()
}

fn status(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A folder with `spec.yaml` and the project that `new` makes of it.
fn project() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("spec.yaml"), SPEC).unwrap();
    let output = kopf_gen(folder.path(), &["new", "spec.yaml"]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    folder
}

#[test]
fn new_writes_a_project_and_says_how_to_go_on() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("spec.yaml"), SPEC).unwrap();
    let output = kopf_gen(folder.path(), &["new", "spec.yaml"]);
    assert_eq!(status(&output), 0);
    let text = stdout(&output);
    assert!(text.starts_with("created the operator greeter in greeter ("), "{text}");
    for line in [
        "  src/handlers/greeting.rs  your code: greet",
        "  cd greeter",
        "  cargo test",
    ] {
        assert!(text.lines().any(|known| known == line), "{text}");
    }
    assert!(text.lines().count() < 20, "{text}");
    let spec = fs::read_to_string(folder.path().join("greeter/operator.yaml")).unwrap();
    assert!(spec.starts_with("# A comment that stays.\n"), "{spec}");
    assert!(spec.contains("prefix: greeter.demo.example.com"), "{spec}");

    let again = kopf_gen(folder.path(), &["new", "spec.yaml"]);
    assert_eq!(status(&again), 3);
    assert_eq!(
        stderr(&again),
        "error: greeter is not empty; choose another folder with --out\n"
    );
}

#[test]
fn new_makes_a_project_around_a_spec_that_is_alone_or_in_git() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("operator.yaml"), SPEC).unwrap();
    fs::create_dir(folder.path().join(".git")).unwrap();
    fs::write(folder.path().join(".gitignore"), "/target\n").unwrap();
    fs::write(folder.path().join("mine.txt"), "").unwrap();
    let arguments = ["new", "operator.yaml", "--out", "."];
    assert_eq!(status(&kopf_gen(folder.path(), &arguments)), 3);
    fs::remove_file(folder.path().join("mine.txt")).unwrap();
    let output = kopf_gen(folder.path(), &arguments);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert!(!stdout(&output).contains("  cd "), "{}", stdout(&output));
    let output = kopf_gen(folder.path(), &["generate"]);
    assert_eq!(stdout(&output), "nothing to do\n");
}

#[test]
fn new_keeps_the_way_to_the_runtime() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("checkout/runtime")).unwrap();
    let spec = SPEC.replace("resources:", "project: {runtime: {path: checkout}}\nresources:");
    fs::write(folder.path().join("spec.yaml"), &spec).unwrap();
    let output = kopf_gen(folder.path(), &["new", "spec.yaml", "--out", "deep/er/p"]);
    assert_eq!((status(&output), stderr(&output)), (0, String::new()));
    let text = fs::read_to_string(folder.path().join("deep/er/p/operator.yaml")).unwrap();
    assert!(text.contains("path: ../../../checkout}"), "{text}");
    let text = fs::read_to_string(folder.path().join("deep/er/p/Cargo.toml")).unwrap();
    assert!(text.contains("../../../checkout/runtime"), "{text}");

    fs::write(
        folder.path().join("lost.yaml"),
        spec.replace("path: checkout", "path: lost"),
    )
    .unwrap();
    let output = kopf_gen(folder.path(), &["new", "lost.yaml", "--out", "q"]);
    assert!(stderr(&output).contains("leads to no runtime"), "{}", stderr(&output));
}

#[test]
fn generate_has_nothing_to_do_after_new() {
    let folder = project();
    let inside = folder.path().join("greeter");
    let output = kopf_gen(&inside, &["generate"]);
    assert_eq!((status(&output), stdout(&output)), (0, "nothing to do\n".to_owned()));
    let output = kopf_gen(folder.path(), &["generate", "--check", "--project", "greeter"]);
    assert_eq!((status(&output), stdout(&output)), (0, "nothing to do\n".to_owned()));
}

#[test]
fn check_tells_what_would_change_and_writes_nothing() {
    let folder = project();
    let inside = folder.path().join("greeter");
    let spec = fs::read_to_string(inside.join("operator.yaml")).unwrap();
    fs::write(
        inside.join("operator.yaml"),
        spec + "      - {type: update, fn: change}\n",
    )
    .unwrap();
    let output = kopf_gen(&inside, &["generate", "--check"]);
    assert_eq!(status(&output), 1);
    let text = stdout(&output);
    assert!(text.contains("would update src/generated/mod.rs\n"), "{text}");
    assert!(
        text.contains("would add to src/handlers/greeting.rs: change\n"),
        "{text}"
    );
    assert!(
        !fs::read_to_string(inside.join("src/handlers/greeting.rs"))
            .unwrap()
            .contains("change")
    );
    let output = kopf_gen(&inside, &["generate"]);
    assert_eq!(status(&output), 0);
    assert!(stdout(&output).contains("added to src/handlers/greeting.rs: change\n"));
}

#[test]
fn an_edit_of_a_vendored_file_is_refused_with_the_ways_out() {
    let folder = project();
    let inside = folder.path().join("greeter");
    let path = inside.join("vendor/kopf-runtime/src/lib.rs");
    fs::write(&path, fs::read_to_string(&path).unwrap() + "// mine\n").unwrap();
    let output = kopf_gen(&inside, &["generate"]);
    assert_eq!(status(&output), 3);
    let text = stderr(&output);
    assert!(
        text.starts_with("error: vendor/kopf-runtime/src/lib.rs was edited, but kopf-gen owns it\n"),
        "{text}"
    );
    assert!(
        text.contains("+// mine\n") && text.contains("--overwrite-generated"),
        "{text}"
    );
    let output = kopf_gen(&inside, &["generate", "--overwrite-generated"]);
    assert_eq!(
        (status(&output), stdout(&output)),
        (0, "updated vendor/kopf-runtime/src/lib.rs\n".to_owned())
    );
}

#[test]
fn another_way_to_say_the_same_updates_the_record_and_says_so() {
    let folder = project();
    let inside = folder.path().join("greeter");
    let spec = fs::read_to_string(inside.join("operator.yaml")).unwrap();
    for (timeout, verb) in [
        ("60", "added to"),
        ("1m", "updated kopf-gen.lock, the record of the spec\n"),
    ] {
        let line = format!("      - {{type: update, fn: change, timeout: {timeout}}}\n");
        fs::write(inside.join("operator.yaml"), spec.clone() + &line).unwrap();
        assert_eq!(status(&kopf_gen(&inside, &["generate", "--check"])), 1);
        let output = kopf_gen(&inside, &["generate"]);
        assert_eq!(status(&output), 0);
        assert!(stdout(&output).contains(verb), "{}", stdout(&output));
    }
}

#[test]
fn a_function_that_could_not_be_added_does_not_pass_the_check() {
    let folder = project();
    let inside = folder.path().join("greeter");
    let spec = fs::read_to_string(inside.join("operator.yaml")).unwrap();
    let line = "      - {type: update, fn: change}\n";
    fs::write(inside.join("operator.yaml"), spec + line).unwrap();
    fs::write(inside.join("src/handlers/greeting.rs"), "pub fn greet() {\n").unwrap();
    assert_eq!(status(&kopf_gen(&inside, &["generate"])), 0);
    let output = kopf_gen(&inside, &["generate", "--check"]);
    assert_eq!((status(&output), stdout(&output)), (1, String::new()));
    assert_eq!(
        stderr(&output),
        "warning: src/handlers/greeting.rs:1: a bracket or quote is not closed, or has no partner, near this line; \
         nothing was added, missing: change\n"
    );
}

#[test]
fn state_on_the_objects_does_not_move_in_passing() {
    let folder = project();
    let inside = folder.path().join("greeter");
    let spec = fs::read_to_string(inside.join("operator.yaml")).unwrap();
    let moved = spec.replace("prefix: greeter.demo.example.com", "prefix: other.example.com");
    fs::write(inside.join("operator.yaml"), moved).unwrap();
    let output = kopf_gen(&inside, &["generate"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("  prefix greeter.demo.example.com is now other.example.com"));
    assert!(!stderr(&output).contains("  finalizer"), "{}", stderr(&output));
}

#[test]
fn faults_have_their_own_statuses() {
    let folder = tempfile::tempdir().unwrap();
    let output = kopf_gen(folder.path(), &["generate"]);
    assert_eq!(status(&output), 4);
    assert!(
        stderr(&output).starts_with("error: there is no operator.yaml in this folder; "),
        "{}",
        stderr(&output)
    );

    assert_eq!(status(&kopf_gen(folder.path(), &["validate", "missing.yaml"])), 4);
    fs::write(folder.path().join("bad.yaml"), "kind: Other\n").unwrap();
    assert_eq!(status(&kopf_gen(folder.path(), &["validate", "bad.yaml"])), 2);
    assert_eq!(status(&kopf_gen(folder.path(), &["new", "bad.yaml"])), 2);
    fs::write(folder.path().join("good.yaml"), SPEC).unwrap();
    let output = kopf_gen(folder.path(), &["validate", "good.yaml"]);
    assert_eq!(status(&output), 0);
    assert_eq!(
        stdout(&output),
        "good.yaml is valid: operator greeter, watching Greeting\n"
    );
    assert_eq!(status(&kopf_gen(folder.path(), &["nonsense"])), 2);
    assert_eq!(status(&kopf_gen(folder.path(), &["--help"])), 0);
}

#[test]
fn a_move_with_its_former_names_is_made() {
    let folder = project();
    let inside = folder.path().join("greeter");
    let spec = fs::read_to_string(inside.join("operator.yaml")).unwrap();
    let former = "{prefix: greeter.demo.example.com, finalizer: greeter.demo.example.com/finalizer}";
    let moved = spec
        .replace("prefix: greeter.demo", "prefix: other.demo")
        .replace("finalizer: greeter.demo", "finalizer: other.demo");
    fs::write(inside.join("operator.yaml"), &moved).unwrap();
    let output = kopf_gen(&inside, &["generate"]);
    assert_eq!(status(&output), 2);
    let hint = format!("formerly: [{former}]");
    assert!(stderr(&output).contains(&hint), "{}", stderr(&output));

    let told = moved.replace("  persistence:\n", &format!("  persistence:\n    {hint}\n"));
    assert_ne!(told, moved);
    fs::write(inside.join("operator.yaml"), told).unwrap();
    let output = kopf_gen(&inside, &["generate"]);
    assert_eq!((status(&output), stderr(&output)), (0, String::new()));
    let registry = fs::read_to_string(inside.join("src/generated/mod.rs")).unwrap();
    assert!(
        registry.contains("Former::new(\"greeter.demo.example.com\""),
        "{registry}"
    );
}
