//! Bad specs beside what is said of them, and good ones beside what becomes of them.
//!
//! `KOPF_GEN_BLESS=1 cargo test -p kopf-tests diagnostics` renews the texts.

use std::fs;
use std::path::{Path, PathBuf};

use kopf_gen::diagnostic::{Code, Diagnostics};
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
        .map(|handler| (format!("{:?}", handler.handler_type), &handler.entry));
    let timers = resource.timers.iter().map(|timer| ("Timer".to_owned(), &timer.entry));
    let entries = handlers.chain(timers);
    entries
        .map(|(list, entry)| format!("{list} {} {}", entry.id, entry.function))
        .collect()
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

fn with_handlers(handlers: &str) -> String {
    format!(
        "apiVersion: kopf-gen.dev/v1alpha1\nkind: OperatorSpec\nmetadata: {{name: op}}\nresources:\n\
         - apiVersion: demo.example.com/v1\n  kind: Cart\n  spec: {{size: integer}}\n  handlers:\n{handlers}"
    )
}

// B-021: the generator warns about the overlap.
#[test]
fn a_function_of_creation_and_of_a_field_is_warned_of() {
    let create = "  - {type: create, fn: go}\n";
    for (field, warned) in [
        ("  - {type: field, fn: go, field: spec.size}\n", true),
        (
            "  - {type: field, fn: go, field: spec.size, old: {absent: true}}\n",
            true,
        ),
        (
            "  - {type: field, fn: go, field: spec.size, old: {present: true}}\n",
            false,
        ),
        ("  - {type: field, fn: other, field: spec.size}\n", false),
    ] {
        let (_, warnings) = resolve("operator.yaml", &with_handlers(&format!("{create}{field}"))).unwrap();
        let runs_twice = warnings.iter().any(|warning| warning.code == Code::RunsTwice);
        assert_eq!(runs_twice, warned, "{field}");
    }
}

// B-057: refused with the place and a hint.
#[test]
fn ids_that_no_annotation_can_carry_are_refused() {
    for (id, refused) in [
        ("Sync/User@DB (v2)", true),
        ("größe-ändern", true),
        ("-sync", true),
        ("a//b", true),
        ("sync/user.v2", false),
    ] {
        let text = with_handlers(&format!("  - {{type: create, fn: go, id: \"{id}\"}}\n"));
        let faults = resolve("operator.yaml", &text).err();
        assert_eq!(faults.is_some(), refused, "{id}");
        for fault in faults.iter().flat_map(Diagnostics::iter) {
            assert_eq!(fault.code, Code::HandlerId);
            assert_eq!(text[fault.span.start..fault.span.end], format!("\"{id}\""), "{id}");
            assert!(fault.help.is_some(), "{id}");
        }
    }
}

/// The author's file of the kind, as it is seeded.
fn stubs(spec: &str) -> String {
    let generated = kopf_gen::generate("operator.yaml", spec, &kopf_gen::Options::default());
    let files = generated.unwrap_or_else(|faults| panic!("{faults}")).files;
    files
        .get("src/handlers/cart.rs")
        .expect("the kind has a file")
        .contents
        .clone()
}

// B-029: the stub says so, and hands over the number of the attempt where there may be several.
#[test]
fn stubs_tell_that_a_call_may_be_repeated() {
    for kind in ["create", "update", "delete", "resume", "field"] {
        let field = if kind == "field" { ", field: spec.size" } else { "" };
        let text = stubs(&with_handlers(&format!(
            "  - {{type: {kind}, fn: go, retries: 3{field}}}\n"
        )));
        assert!(
            text.contains("at least once, since a crash may repeat the call."),
            "{text}"
        );
        assert!(
            text.contains("/// `retry` and `status` tell what was done before."),
            "{text}"
        );
        assert!(text.contains("retry {retry}"), "{text}");
    }
    let once = stubs(&with_handlers("  - {type: event, fn: see}\n"));
    assert!(!once.contains("at least once"), "{once}");
}

// B-046: the stub mentions the finalizer and how to go without.
#[test]
fn stubs_of_timers_and_daemons_tell_that_a_deletion_waits() {
    let timer = |more: &str| {
        let text = with_handlers("  - {type: create, fn: go}\n");
        stubs(&format!("{text}  timers:\n  - {{fn: look, interval: 1m{more}}}\n"))
    };
    assert!(timer("").contains("A deletion waits for a running call"));
    assert!(!timer(", optional: true").contains("A deletion waits"));
    let daemon = |more: &str| {
        let text = with_handlers("  - {type: create, fn: go}\n");
        stubs(&format!("{text}  daemons:\n  - {{fn: look{more}}}\n"))
    };
    assert!(daemon("").contains("A deletion waits for its end"));
    assert!(!daemon(", optional: true").contains("A deletion waits"));
}
