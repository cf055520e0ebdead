//! What a run does to a project that is there: the contract of regeneration.

#![expect(clippy::unwrap_used, reason = "a failure is what the test is to show")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use kopf_gen::lock::{Lock, Persistence};
use kopf_gen::model::RuntimeSource;
use kopf_gen::write::{self, Action, Note, Plan};
use kopf_gen::{Generated, Options};
use tempfile::TempDir;

const SPEC: &str = "\
apiVersion: kopf-gen.dev/v1alpha1
kind: OperatorSpec
metadata: {name: greeter}
resources:
  - apiVersion: demo.example.com/v1
    kind: Greeting
    spec:
      who: string | required=true
    handlers:
      - {type: create, fn: greet, returns: {message: string}}
";

struct Project {
    folder: TempDir,
}

impl Project {
    fn new() -> Self {
        let project = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        project.run(SPEC);
        project
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.path(path), text).unwrap();
    }

    fn plan_with(&self, spec: &str, options: write::Options) -> Result<Plan, write::Error> {
        let generated = generated(spec);
        let lock = fs::read_to_string(self.path("kopf-gen.lock")).ok();
        let before = lock.map(|text| Lock::parse(&text).unwrap());
        let persistence = &generated.operator.persistence;
        let persistence = Persistence {
            prefix: persistence.prefix.clone(),
            finalizer: persistence.finalizer.clone(),
        };
        let record = Lock::new(generated.document.digest(), persistence);
        write::plan(self.folder.path(), &generated.files, before.as_ref(), record, options)
    }

    fn plan(&self, spec: &str) -> Plan {
        self.plan_with(spec, write::Options::default()).unwrap()
    }

    fn run(&self, spec: &str) -> Plan {
        let plan = self.plan(spec);
        assert!(plan.refusals().is_empty(), "{:?}", plan.refusals());
        plan.apply(self.folder.path()).unwrap();
        // Whatever it was for, one run is enough.
        let left = self.plan(spec);
        assert!(left.is_empty(), "{:?}", left.changes());
        plan
    }

    /// Every file with its text and its time.
    fn state(&self) -> BTreeMap<PathBuf, (String, SystemTime)> {
        let mut files = BTreeMap::new();
        collect(self.folder.path(), &mut files);
        files
    }
}

fn collect(folder: &Path, files: &mut BTreeMap<PathBuf, (String, SystemTime)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            let time = fs::metadata(&path).unwrap().modified().unwrap();
            files.insert(path.clone(), (fs::read_to_string(&path).unwrap(), time));
        }
    }
}

fn generated(spec: &str) -> Generated {
    let options = Options::default().runtime(RuntimeSource::Path("../checkout".to_owned()));
    kopf_gen::generate("operator.yaml", spec, &options).unwrap_or_else(|diagnostics| panic!("{diagnostics}"))
}

fn with_handler(line: &str) -> String {
    format!("{SPEC}      - {line}\n")
}

#[test]
fn a_second_run_writes_nothing() {
    let project = Project::new();
    let before = project.state();
    let plan = project.run(SPEC);
    assert!(plan.is_empty(), "{:?}", plan.changes());
    assert_eq!(project.state(), before);
}

#[test]
fn the_first_condition_in_cel_brings_its_packages_into_a_lock_as_cargo_writes_it() {
    let project = Project::new();
    assert!(!project.read("Cargo.lock").contains("name = \"kube-cel\""));
    let spec = with_handler("{type: update, fn: turn, when: {cel: \"object.spec.who != ''\"}}");
    project.run(&spec);
    let fresh = generated(&spec);
    assert_eq!(
        project.read("Cargo.lock"),
        fresh.files.get("Cargo.lock").unwrap().contents
    );
    assert!(project.read("Cargo.lock").contains(" \"thiserror 1.0.69\","));
}

#[test]
fn comments_of_the_spec_change_nothing() {
    let project = Project::new();
    assert!(project.plan(&format!("# A comment.\n{SPEC}")).is_empty());
}

#[test]
fn a_new_handler_is_appended_and_nothing_else_of_the_file_changes() {
    let project = Project::new();
    let path = "src/handlers/greeting.rs";
    let mine = project
        .read(path)
        .replace("// TODO: make the world match `spec`.", "let  odd = 1; let _ = odd;");
    project.write(path, &mine);
    let plan = project.run(&with_handler("{type: event, fn: saw}"));
    let appended = plan.changes().iter().find(|change| change.path == path).unwrap();
    assert_eq!(appended.action, Action::Append(vec!["saw".to_owned()]));
    let text = project.read(path);
    let added = "\npub async fn saw(Event { name, event, .. }: Event<Greeting>) -> HandlerResult {";
    assert!(text.contains(added), "{text}");
    let without: String = text.split("\n/// Runs for each watch event").next().unwrap().to_owned();
    assert_eq!(without.replace("use kopf_runtime::Event;\n", ""), mine);
    assert!(project.plan(&with_handler("{type: event, fn: saw}")).is_empty());
}

#[test]
fn a_stub_that_was_removed_on_purpose_stays_away() {
    let project = Project::new();
    project.write("src/handlers/greeting.rs", "//! Moved elsewhere.\n");
    assert!(project.plan(SPEC).is_empty());
}

#[test]
fn a_function_without_a_handler_stays_and_is_reported_once() {
    let project = Project::new();
    let more = with_handler("{type: update, fn: change}");
    project.run(&more);
    let plan = project.run(SPEC);
    let unused = plan.notes().iter().any(|note| {
        matches!(note, Note::UnusedFunction { path, name, .. } if path == "src/handlers/greeting.rs" && name == "change")
    });
    assert!(unused, "{:?}", plan.notes());
    assert!(project.read("src/handlers/greeting.rs").contains("fn change("));
    assert!(project.plan(SPEC).notes().is_empty());
}

#[test]
fn an_edit_of_a_generated_file_is_refused_unless_it_may_be_dropped() {
    let project = Project::new();
    let path = "deploy/operator/deployment.yaml";
    let generated = project.read(path);
    project.write(path, &generated.replace("replicas: 1", "replicas: 2"));
    let before = project.state();
    let plan = project.plan(&with_handler("{type: update, fn: change}"));
    assert_eq!(plan.refusals().len(), 1);
    assert!(
        plan.refusals()[0].diff.contains("+  replicas: 2"),
        "{}",
        plan.refusals()[0].diff
    );
    assert_eq!(project.state(), before);
    let options = write::Options {
        overwrite_generated: true,
    };
    project
        .plan_with(SPEC, options)
        .unwrap()
        .apply(project.folder.path())
        .unwrap();
    assert_eq!(project.read(path), generated);
}

#[test]
fn an_edited_merged_file_is_kept_and_named_where_it_would_have_changed() {
    let project = Project::new();
    let mine = format!("{}\nMine.\n", project.read("README.md"));
    project.write("README.md", &mine);
    assert!(project.plan(SPEC).is_empty());
    let plan = project.run(&with_handler("{type: update, fn: change}"));
    let diffs: Vec<_> = plan
        .notes()
        .iter()
        .filter_map(|note| match note {
            Note::Kept { path, diff } if path == "README.md" => Some(diff),
            _ => None,
        })
        .collect();
    assert_eq!(diffs.len(), 1);
    assert!(
        diffs[0].contains("+| Greeting | `demo.example.com/v1` | `greet`, `change` |"),
        "{}",
        diffs[0]
    );
    assert_eq!(project.read("README.md"), mine);
}

#[test]
fn a_change_that_was_made_by_hand_is_not_asked_for_again() {
    let project = Project::new();
    project.write("README.md", &format!("Mine.\n{}", project.read("README.md")));
    let more = with_handler("{type: update, fn: change}");
    assert!(is_kept(&project.run(&more)) && is_kept(&project.run(&more)));
    project.write(
        "README.md",
        &project.read("README.md").replace("`greet` |", "`greet`, `change` |"),
    );
    assert!(!is_kept(&project.run(&more)));
    assert!(project.plan(&more).is_empty());
    let plan = project.run(&with_handler("{type: update, fn: other}"));
    let asked = |note: &Note| matches!(note, Note::Kept { diff, .. } if diff.contains("-| Greeting | `demo.example.com/v1` | `greet`, `change` |"));
    assert!(plan.notes().iter().any(asked), "{:?}", plan.notes());
}

fn is_kept(plan: &Plan) -> bool {
    plan.notes().iter().any(|note| matches!(note, Note::Kept { .. }))
}

#[test]
fn what_could_not_be_deleted_is_not_forgotten() {
    let project = Project::new();
    let other = format!("{SPEC}peering: false\n");
    let plan = project.plan(&other);
    let held = project.path("deploy/peering/crds/peerings.yaml");
    let text = project.read("deploy/peering/crds/peerings.yaml");
    fs::remove_file(&held).unwrap();
    fs::create_dir(&held).unwrap();
    plan.apply(project.folder.path()).unwrap_err();
    fs::remove_dir(&held).unwrap();
    fs::write(&held, text).unwrap();
    assert!(
        project
            .run(&other)
            .changes()
            .iter()
            .any(|change| change.action == Action::Delete)
    );
    assert!(!held.exists());
}

#[test]
fn deleted_files_come_back_only_where_nobody_edits() {
    let project = Project::new();
    for path in ["src/generated/mod.rs", "Dockerfile", "tests/operator.rs"] {
        fs::remove_file(project.path(path)).unwrap();
    }
    let plan = project.run(SPEC);
    let changes: Vec<_> = plan
        .changes()
        .iter()
        .map(|change| (change.path.as_str(), &change.action))
        .collect();
    assert_eq!(changes, [("src/generated/mod.rs", &Action::Recreate)]);
    assert!(!project.path("Dockerfile").exists());
}

#[test]
fn files_of_a_removed_kind_go_unless_they_were_the_authors() {
    let project = Project::new();
    let other = format!(
        "{SPEC}  - apiVersion: demo.example.com/v1\n    kind: Other\n    spec: {{}}\n    handlers:\n      - {{type: create, fn: other}}\n"
    );
    project.run(&other);
    assert!(
        project
            .read("src/handlers/mod.rs")
            .contains("pub mod greeting;\npub mod other;\n")
    );
    let plan = project.run(SPEC);
    assert!(!project.path("src/generated/other.rs").exists());
    assert!(!project.path("deploy/crds/others.demo.example.com.yaml").exists());
    assert!(project.path("src/handlers/other.rs").exists());
    let orphan = Note::Orphan {
        path: "src/handlers/other.rs".to_owned(),
    };
    assert!(plan.notes().contains(&orphan), "{:?}", plan.notes());
    let definition = Note::Definition {
        name: "others.demo.example.com".to_owned(),
    };
    assert!(plan.notes().contains(&definition), "{:?}", plan.notes());
}

#[test]
fn going_there_and_back_restores_what_is_generated() {
    let project = Project::new();
    let before = project.state();
    project.run(&with_handler("{type: update, fn: change}"));
    project.run(SPEC);
    for (path, (text, _)) in project.state() {
        let is_authors = path.ends_with("src/handlers/greeting.rs");
        assert!(is_authors || before[&path].0 == text, "{}", path.display());
    }
}

#[test]
fn windows_line_ends_stay_and_count_as_no_edit() {
    let project = Project::new();
    for path in ["src/handlers/greeting.rs", "src/generated/mod.rs", "README.md"] {
        project.write(path, &project.read(path).replace('\n', "\r\n"));
    }
    assert!(project.plan(SPEC).is_empty());
    project.run(&with_handler("{type: update, fn: change}"));
    for path in ["src/handlers/greeting.rs", "src/generated/mod.rs", "README.md"] {
        let text = project.read(path);
        assert!(text.contains("change"), "{path}");
        assert_eq!(text.matches('\n').count(), text.matches("\r\n").count(), "{path}");
    }
}

#[test]
fn an_authors_file_that_is_not_rust_is_left_alone() {
    let project = Project::new();
    let broken = "fn greet() {}\nfn {\n";
    project.write("src/handlers/greeting.rs", broken);
    let more = with_handler("{type: update, fn: change}");
    let plan = project.run(&more);
    assert!(
        plan.notes()
            .iter()
            .any(|note| matches!(note, Note::Unparsable { line: 2, missing, .. } if missing == &["change"])),
        "{:?}",
        plan.notes()
    );
    assert_eq!(project.read("src/handlers/greeting.rs"), broken);
    assert!(project.plan(&more).is_empty() && !project.plan(&more).is_complete());
    fs::write(project.path("src/handlers/greeting.rs"), b"// \xff\n").unwrap();
    assert!(!project.plan(&more).is_complete());
    project.write("src/handlers/greeting.rs", "pub fn greet() {}\n");
    project.run(&more);
    assert!(
        project
            .read("src/handlers/greeting.rs")
            .contains("pub async fn change(")
    );
    assert!(project.plan(&more).is_complete());
}

#[cfg(unix)]
#[test]
fn nothing_is_written_through_links_or_over_protection() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let project = Project::new();
    let outside = tempfile::tempdir().unwrap();
    fs::remove_dir_all(project.path("deploy/crds")).unwrap();
    symlink(outside.path(), project.path("deploy/crds")).unwrap();
    let error = project.plan_with(SPEC, write::Options::default()).unwrap_err();
    assert!(error.to_string().contains("is a link"), "{error}");

    let project = Project::new();
    let path = project.path("src/generated/mod.rs");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    let changed = with_handler("{type: update, fn: change}");
    let error = project.plan_with(&changed, write::Options::default()).unwrap_err();
    assert_eq!(error.to_string(), "src/generated/mod.rs is read-only");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    project.run(&changed);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn memos_are_seeded_once_and_then_the_authors() {
    let project = Project::new();
    let with_memo = SPEC.replace("resources:", "memo: state::Shared\nresources:");
    project.run(&with_memo);
    assert!(
        project
            .read("src/lib.rs")
            .ends_with("pub mod generated;\npub mod handlers;\npub mod state;\n")
    );
    assert!(project.read("src/state.rs").contains("pub struct Shared {}"));

    let own = "//! Mine.\n\n#[derive(Default)]\npub struct Shared {\n    pub count: u32,\n}\n";
    project.write("src/state.rs", own);
    project.run(&with_memo);
    assert_eq!(project.read("src/state.rs"), own);
    let more = with_memo.replace("    spec:", "    memo: state::OfGreeting\n    spec:");
    project.run(&more);
    let text = project.read("src/state.rs");
    assert!(text.starts_with(own), "{text}");
    assert!(text.contains("impl From<&Shared> for OfGreeting"), "{text}");
    project.run(SPEC);
    assert_eq!(project.read("src/state.rs"), text);
}

#[test]
fn a_filter_is_appended_like_a_handler() {
    let project = Project::new();
    let before = project.read("src/handlers/greeting.rs");
    let filtered = SPEC.replace(
        "fn: greet,",
        "fn: greet, when: {fn: is_kind}, labels: {app: {fn: is_ours}},",
    );
    project.run(&filtered);
    let text = project.read("src/handlers/greeting.rs");
    assert!(
        text.contains("pub fn is_kind(Filter { name, spec, .. }: Filter<Greeting>) -> bool {"),
        "{text}"
    );
    assert!(
        text.contains("pub fn is_ours(ValueFilter { value, .. }: ValueFilter) -> bool {"),
        "{text}"
    );
    let kept = before.lines().filter(|line| !line.starts_with("use "));
    for line in kept {
        assert!(text.contains(line), "{line} is gone from\n{text}");
    }
}

#[test]
fn a_test_that_needs_a_variable_says_so() {
    let test = |spec: &str| generated(spec).files.get("tests/operator.rs").unwrap().contents.clone();
    assert!(!test(SPEC).contains("#[ignore"));
    let set = |value: &str| SPEC.replace("fn: greet,", &format!("fn: greet, retries: {value},"));
    assert!(!test(&set("{env: RETRIES, default: 3}")).contains("#[ignore"));
    assert!(test(&set("{env: RETRIES}")).contains("does not start without RETRIES in the environment"));
}
