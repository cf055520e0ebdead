//! `kopf-gen try`, as people run it: what it prints and how it ends.
//!
//! The operators are built into `KOPF_GEN_TRY_TARGET`, if that is set, so that runs can share what cargo builds; else
//! into a folder below the workspace's own target folder.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use kopf_tests::workspace;
use serde_json::Value;

/// The binary itself: `cargo run` would set `CARGO` anew.
fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let arguments = [
            "build",
            "-q",
            "-p",
            "kopf-gen",
            "--bin",
            "kopf-gen",
            "--message-format=json",
        ];
        let output = Command::new(cargo)
            .args(arguments)
            .current_dir(workspace())
            .output()
            .expect("cargo can be run");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let messages = String::from_utf8(output.stdout).expect("cargo speaks UTF-8");
        let artifacts = messages
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut executables = artifacts.filter_map(|artifact| artifact["executable"].as_str().map(PathBuf::from));
        executables.next().expect("cargo has built a binary")
    })
}

/// `kopf-gen try`, with a cache of its own.
fn command(spec: &Path) -> Command {
    let mut command = Command::new(binary());
    command.arg("try").arg(spec).current_dir(workspace()).env(
        "XDG_CACHE_HOME",
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("try-cache"),
    );
    command
}

struct Tried {
    status: i32,
    stdout: String,
    stderr: String,
}

impl Tried {
    fn new(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("kopf-gen speaks UTF-8");
        Self {
            status: output.status.code().expect("it ended by itself"),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    fn of(command: &mut Command) -> Self {
        Self::new(command.output().expect("it can be run"))
    }

    /// The lines, one after the other, whatever stands between them.
    #[track_caller]
    fn says(&self, wanted: &[&str]) {
        let mut lines = self.stdout.lines();
        for line in wanted {
            assert!(
                lines.any(|other| other.trim() == *line),
                "no {line:?} (in this order) in\n{self}"
            );
        }
    }

    #[track_caller]
    fn ends_with(&self, status: i32) {
        assert_eq!(self.status, status, "{self}");
    }
}

impl std::fmt::Display for Tried {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "exit status {}\n{}{}", self.status, self.stdout, self.stderr)
    }
}

/// A spec in a file.
fn spec(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("operator.yaml");
    std::fs::write(&path, text).expect("writable");
    path
}

#[test]
fn the_smallest_operator_greets_and_posts_an_event() {
    let tried = Tried::of(&mut command(Path::new("specs/01-minimal.yaml")));
    tried.ends_with(0);
    tried.says(&[
        "greeter  specs/01-minimal.yaml",
        "Greeting default/hello",
        "create",
        "greet   Created Greeting hello",
        "status  greet: {message: greet of hello is done}",
        "delete",
        "object  is gone",
        "events",
        "Normal  Logging  Created Greeting hello",
        "✓ done: 1 object, 1 handler call, no failures",
    ]);
    assert!(!tried.stdout.contains('\u{1b}'), "colours are for terminals\n{tried}");
}

#[test]
fn edits_and_the_deletion_reach_their_handlers() {
    let tried = Tried::of(&mut command(Path::new("specs/02-lifecycle.yaml")));
    tried.ends_with(0);
    tried.says(&[
        "Bucket default/reports",
        "create",
        "provision    Handling create of Bucket reports, retry 0",
        "status       provision: {endpoint: provision of reports is done}",
        "edit  {spec: {public: true}}",
        "reconfigure  Updated Bucket reports: change spec.public: false -> true",
        "status       as before",
        "edit  {spec: {quota: \"5Gi\"}}",
        "resize       Changed spec.quota of Bucket reports: Some(\"1Gi\") to Some(\"5Gi\")",
        "delete",
        "release      Deleting Bucket reports, retry 0",
        "object       is gone",
        "✓ done: 1 object, 6 handler calls, no failures",
    ]);
}

#[test]
fn every_raw_event_of_a_built_in_kind_is_seen() {
    let tried = Tried::of(&mut command(Path::new("specs/03-builtins.yaml")));
    tried.ends_with(0);
    tried.says(&[
        "Pod default/audited",
        "create",
        "audit   Observed an event of Pod audited: \"ADDED\"",
        "enrol   Created Pod audited",
        "edit  {metadata: {labels: {stage: late}}}",
        "audit   Observed an event of Pod audited: \"MODIFIED\"",
        "delete",
        "audit   Observed an event of Pod audited: \"DELETED\"",
        "object  is gone",
    ]);
}

#[test]
fn timers_are_waited_for() {
    let tried = Tried::of(&mut command(Path::new("specs/04-timers.yaml")));
    tried.ends_with(0);
    let measured = "measure  Checking Meter latency";
    tried.says(&["Meter default/latency", "create", measured, "timers", measured]);
    tried.says(&["timers", "tidy_up  Checking Meter latency"]);
    tried.says(&[
        "tidy_up  not waited for any longer: it is called again after 1m",
        "delete",
        "object   is gone",
    ]);
}

#[test]
fn daemons_are_seen_to_begin_and_to_end() {
    let tried = Tried::of(&mut command(Path::new("specs/10-daemons.yaml")));
    tried.ends_with(0);
    tried.says(&[
        "Beacon default/north-cape",
        "create",
        "edit  {spec: {turning: false}}",
        "delete",
        "object  is gone",
        "✓ done: 1 object, 3 handler calls, no failures",
    ]);
    let steps: Vec<&str> = tried.stdout.split("\n  ").collect();
    let stands_in = |step: &str, line: &str| {
        let begin = steps.iter().position(|other| other.starts_with(step));
        let lines = steps.iter().skip(begin.unwrap_or(steps.len()) + 1);
        // The lines of a step are indented further than its own; more flags may follow the first reason.
        let mut lines = lines.take_while(|other| other.starts_with("  "));
        assert!(
            lines.any(|other| other.trim().starts_with(line)),
            "no {line:?} in {step}\n{tried}"
        );
    };
    for name in ["shine ", "turn  ", "listen"] {
        stands_in("create", &format!("{name}  Looking after Beacon north-cape"));
    }
    stands_in("edit", "turn    Done with Beacon north-cape: FILTERS_MISMATCH");
    for name in ["shine ", "listen"] {
        let line = format!("{name}  Done with Beacon north-cape: RESOURCE_DELETED");
        stands_in("delete", &line);
    }
}

#[test]
fn indexes_are_asked_of_every_object() {
    let tried = Tried::of(&mut command(Path::new("specs/11-indexes.yaml")));
    tried.ends_with(0);
    for (object, line) in [
        ("Vessel default/aurora", "at_berth  Indexing Vessel aurora"),
        ("Vessel default/aurora", "moor      Created Vessel aurora"),
        ("Barge default/mole", "at_berth  Indexing Barge mole"),
        ("ConfigMap default/tides", "tides     Indexing ConfigMap tides"),
    ] {
        tried.says(&[object, "create", line, "delete", "object    is gone"]);
    }
}

#[test]
fn sub_handlers_have_lines_of_their_own() {
    let tried = Tried::of(&mut command(Path::new("specs/12-subhandlers.yaml")));
    tried.ends_with(0);
    for line in [
        "create_database/ada       Handling ada of Database orders, retry 0",
        "create_database/ada/read  Created read of Database orders",
        "create_database/bob       Handling bob of Database orders, retry 0",
        "configure/timeout         Handling timeout of Database orders",
        "change_users/eve          Handling eve of Database orders, retry 0",
        "configure/workers         Handling workers of Database orders",
        "object                    is gone",
    ] {
        tried.says(&[line]);
    }
}

#[test]
fn filters_let_through_what_is_for_their_handlers() {
    let tried = Tried::of(&mut command(Path::new("specs/05-filters.yaml")));
    tried.ends_with(0);
    tried.says(&[
        "build       Created Shelf poetry",
        "weld        Created Shelf poetry",
        "edit  {spec: {books: 40}}",
        "reinforce   Changed spec.books of Shelf poetry: Some(0) to Some(40)",
        "move_books  Updated Shelf poetry: change spec.books: 0 -> 40",
        "Shelf default/attic",
        "reinforce   Changed spec.books of Shelf attic: Some(0) to Some(3)",
        "✓ done: 2 objects, 5 handler calls, no failures",
    ]);
    for refused in [
        "build       Created Shelf attic",
        "weld        Created Shelf attic",
        "Updated Shelf attic",
    ] {
        assert!(!tried.stdout.contains(refused), "a filter says no\n{tried}");
    }
}

#[test]
fn options_of_errors_and_results_reach_the_operator() {
    let tried = Tried::of(&mut command(Path::new("specs/06-errors.yaml")));
    tried.ends_with(0);
    tried.says(&[
        "deliver    Created Parcel gift, retry 0",
        "✓ done: 1 object, 4 handler calls, no failures",
    ]);
    let tried = Tried::of(&mut command(Path::new("specs/07-results.yaml")));
    tried.ends_with(0);
    tried.says(&[
        "find_flat: {street: find_flat of ada is done}",
        "moved         Changed spec.rooms of Tenant ada: Some(2) to Some(3)",
        "moved/spec.rooms: {}",
    ]);
}

#[test]
fn memos_are_made_for_the_operator_and_for_each_object() {
    let tried = Tried::of(&mut command(Path::new("specs/08-memos.yaml")));
    tried.ends_with(0);
    tried.says(&[
        "connect  Handling create of Call home, memo Connection",
        "listen   Checking Call home, memo Connection",
        "set_up   Created Desk window, memo Lines",
    ]);
}

#[test]
fn events_of_handlers_are_posted() {
    let tried = Tried::of(&mut command(Path::new("specs/09-events.yaml")));
    tried.ends_with(0);
    tried.says(&[
        "found    Created Town riverside",
        "events",
        "Normal  Created   Created Town riverside",
        "Normal  Changed   Changed spec.people of Town riverside: Some(120) to Some(121)",
        "Normal  Deleting  Deleting Town riverside",
    ]);
}

#[test]
fn a_refused_edit_is_a_failure() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "
apiVersion: kopf-gen.dev/v1alpha1
kind: OperatorSpec
metadata: {name: refused}
resources:
  - apiVersion: demo.example.com/v1
    kind: Door
    spec: {width: integer}
    status: {phase: string}
    handlers:
      - {type: create, fn: open}
    samples:
      - metadata: {name: front}
        then:
          - {status: {phase: 5}}
";
    let tried = Tried::of(&mut command(&spec(folder.path(), text)));
    tried.ends_with(6);
    tried.says(&[
        "open    Created Door front",
        "edit  {status: {phase: 5}}",
        "object  is gone",
    ]);
    tried.says(&["✗ failed: 1 object, 1 handler call, 1 failure"]);
    let reason = "error: Door default/front: the API server refused the edit: ";
    assert!(
        tried.stderr.contains(reason) && tried.stderr.contains("status.phase"),
        "{tried}"
    );
}

#[test]
fn a_bad_spec_is_not_tried() {
    let folder = tempfile::tempdir().expect("a folder");
    let tried = Tried::of(&mut command(&spec(folder.path(), "kind: OperatorSpec\n")));
    tried.ends_with(2);
    assert_eq!(tried.stdout, "");
    assert!(tried.stderr.contains("error[KG"), "{tried}");
}

#[test]
fn an_operator_that_does_not_build_is_not_run() {
    let mut command = command(Path::new("specs/01-minimal.yaml"));
    let tried = Tried::of(command.env("CARGO", "false"));
    tried.ends_with(5);
    assert!(tried.stderr.contains("error: the operator does not build"), "{tried}");
    let tried = Tried::of(command.env("CARGO", "/nowhere/cargo"));
    tried.ends_with(5);
    assert!(tried.stderr.contains("https://rustup.rs"), "{tried}");
}
