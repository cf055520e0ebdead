//! Bad specs beside what is said of them, and good ones beside what becomes of them.
//!
//! `KOPF_GEN_BLESS=1 cargo test -p kopf-tests diagnostics` renews the texts.

use std::fs;
use std::path::{Path, PathBuf};

use kopf_gen::diagnostic::Diagnostics;
use kopf_gen::load::load;
use kopf_gen::lower::lower;
use kopf_gen::model::{Operator, Origin};

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors()
        .find(|folder| folder.join("specs").is_dir())
        .expect("the workspace holds specs")
        .to_path_buf()
}

fn resolve(file_name: &str, text: &str) -> Result<(Operator, Diagnostics), Diagnostics> {
    lower(&load(file_name, text)?)
}

fn specs(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    paths.sort();
    paths
}

fn shown(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("a spec is text");
    let name = path.file_name().expect("a file has a name").to_string_lossy();
    match resolve(&name, &text) {
        Ok((_, warnings)) => warnings.render(false),
        Err(faults) => faults.render(false),
    }
}

#[test]
fn bad_specs_get_their_exact_messages() {
    let bless = std::env::var_os("KOPF_GEN_BLESS").is_some();
    let paths = specs(&root().join("tests/ui/specs"));
    assert!(paths.len() >= 24, "only {} bad specs were found", paths.len());
    let mut differing = Vec::new();
    for path in paths {
        let answer = shown(&path);
        let expected = path.with_extension("stderr");
        if bless {
            fs::write(&expected, &answer).expect("writable");
        } else if fs::read_to_string(&expected).unwrap_or_default().replace("\r\n", "\n") != answer {
            differing.push(format!("{}:\n{answer}", path.display()));
        }
    }
    assert!(
        differing.is_empty(),
        "unexpected messages; KOPF_GEN_BLESS=1 renews them\n{}",
        differing.join("\n")
    );
}

#[test]
fn every_bad_spec_says_something() {
    for path in specs(&root().join("tests/ui/specs")) {
        assert!(!shown(&path).is_empty(), "{} passes without a word", path.display());
    }
}

fn example(name: &str) -> (Operator, Diagnostics) {
    let text = fs::read_to_string(root().join("specs").join(name)).expect("the example is there");
    resolve(name, &text).unwrap_or_else(|faults| panic!("{name}:\n{faults}"))
}

/// Handlers and timers as `type id function`.
fn entries(operator: &Operator) -> Vec<String> {
    let resource = &operator.resources[0];
    let handlers = resource
        .handlers
        .iter()
        .map(|handler| format!("{:?} {} {}", handler.handler_type, handler.id, handler.function));
    let timers = resource
        .timers
        .iter()
        .map(|timer| format!("Timer {} {}", timer.id, timer.function));
    handlers.chain(timers).collect()
}

#[test]
fn the_examples_resolve_without_a_warning() {
    for path in specs(&root().join("specs")) {
        let name = path.file_name().expect("a file has a name").to_string_lossy();
        let (_, warnings) = example(&name);
        assert!(warnings.is_empty(), "{}", warnings.render(false));
    }
}

#[test]
fn the_examples_yield_the_names_of_their_registries() {
    let (operator, _) = example("01-minimal.yaml");
    assert_eq!(operator.persistence.prefix, "greeter.demo.example.com");
    assert_eq!(operator.persistence.finalizer, "greeter.demo.example.com/finalizer");
    assert!(operator.posting.loggers);
    assert_eq!(entries(&operator), ["Change(Create) greet greet"]);
    assert_eq!(
        (
            operator.resources[0].module.as_str(),
            operator.resources[0].type_name.as_str()
        ),
        ("greeting", "Greeting")
    );

    let (operator, _) = example("02-lifecycle.yaml");
    assert_eq!(
        entries(&operator),
        [
            "Change(Create) provision provision",
            "Change(Resume) provision provision",
            "Change(Update) reconfigure reconfigure",
            "Change(Field) resize resize",
            "Change(Delete) release release",
        ]
    );
    let functions = &operator.resources[0].functions;
    assert_eq!(
        functions
            .iter()
            .map(|function| function.name.as_str())
            .collect::<Vec<_>>(),
        ["provision", "reconfigure", "resize", "release"]
    );

    let (operator, _) = example("03-builtins.yaml");
    assert_eq!(entries(&operator), ["Change(Create) enrol enrol", "Event audit audit"]);
    assert!(matches!(operator.resources[0].origin, Origin::Builtin));

    let (operator, _) = example("04-timers.yaml");
    assert_eq!(entries(&operator), ["Timer measure measure", "Timer tidy_up tidy_up"]);
}

#[test]
fn results_have_a_place_in_the_status() {
    let (operator, _) = example("02-lifecycle.yaml");
    let Origin::Own(own) = &operator.resources[0].origin else {
        panic!("Bucket is an own kind")
    };
    let status = own.status.openapi();
    assert_eq!(
        status["properties"]["provision"]["properties"]["endpoint"]["type"],
        "string"
    );
    assert_eq!(status["properties"]["phase"]["type"], "string");
    assert_eq!(status["x-kubernetes-preserve-unknown-fields"], true);
}

#[test]
fn written_persistence_survives_a_second_reading() {
    for path in specs(&root().join("specs")) {
        let text = fs::read_to_string(&path).expect("the example is there");
        let document = load("operator.yaml", &text).expect("the example is good");
        let (operator, _) = lower(&document).expect("the example is good");
        let persistence = &operator.persistence;
        let written = document.with_persistence(&persistence.prefix, &persistence.finalizer);
        let again = load("operator.yaml", &written).expect("still a spec");
        let (operator, _) = lower(&again).expect("still a good one");
        assert_eq!(&operator.persistence, persistence);
        assert_eq!(again.with_persistence("other", "other/finalizer"), written);
        for line in text.lines().filter(|line| !line.contains("persistence:")) {
            assert!(written.contains(line), "{} lost {line:?}", path.display());
        }
    }
}
