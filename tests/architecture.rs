//! Reads the `crate::` paths of every file and fails on an import that points upwards.
//!
//! The layers are those of each crate's documentation, from the lowest to the highest. A file may use its own layer
//! and all below it; layers on one line must not know each other.

use std::path::{Path, PathBuf};

/// Layers from low to high; names are the modules right below `src`.
const RUNTIME: &[&[&str]] = &[
    &["structs"],
    &["configured"],
    &["configs"],
    &["clients"],
    &["actions"],
    &["intents"],
    &["engines"],
    &["reactor"],
    &["kind"],
    &["arguments"],
    &["options"],
    &["resource"],
    &["served"],
    &["logging"],
    &["operator", "cli"],
    &["lib"],
];

const GENERATOR: &[&[&str]] = &[
    &["naming", "diagnostic", "rustfmt"],
    &["model", "fileset"],
    &["spec", "template", "lock", "cargo_lock", "matching"],
    &["load"],
    &["lower", "render", "write"],
    &["lib"],
    &["trial"],
    &["cli"],
    &["main"],
];

/// Modules of one layer that are a cycle by nature, with the reason.
const TOGETHER: &[(&str, &str)] = &[
    ("operator", "cli"), // `Operator::main` is the command line
];

/// Within the lower layers of the runtime, siblings that must not know each other.
const STRANGERS: &[(&str, &str)] = &[
    ("configs/progress", "configs/diffbase"),
    ("configs/diffbase", "configs/progress"),
];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the tests are a folder of the workspace")
        .to_owned()
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// The module right below `src` that a file belongs to.
fn module_of(file: &Path, src: &Path) -> String {
    let inside = file.strip_prefix(src).unwrap();
    let first = inside
        .components()
        .next()
        .unwrap()
        .as_os_str()
        .to_string_lossy()
        .into_owned();
    first.trim_end_matches(".rs").to_owned()
}

/// The first segments of all `crate::…` paths in a text, also of grouped ones.
fn imports(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines().map(str::trim_start).filter(|line| !line.starts_with("//")) {
        for (at, _) in line.match_indices("crate::") {
            let rest = &line[at + "crate::".len()..];
            let name: String = rest
                .chars()
                .take_while(|char| char.is_alphanumeric() || *char == '_')
                .collect();
            if name.chars().next().is_some_and(char::is_lowercase) {
                found.push(name);
            }
        }
    }
    found
}

fn violations(crate_folder: &str, layers: &[&[&str]]) -> Vec<String> {
    let src = workspace().join(crate_folder).join("src");
    let level = |module: &str| layers.iter().position(|layer| layer.contains(&module));
    let mut violations = Vec::new();
    for file in sources(&src) {
        let module = module_of(&file, &src);
        let Some(own) = level(&module) else {
            violations.push(format!("{}: module `{module}` stands in no layer", file.display()));
            continue;
        };
        for import in imports(&std::fs::read_to_string(&file).unwrap()) {
            let together = TOGETHER
                .iter()
                .any(|pair| [(module.as_str(), import.as_str()), (import.as_str(), module.as_str())].contains(pair));
            match level(&import) {
                Some(other) if other > own || (other == own && import != module && !together) => {
                    violations.push(format!("{}: `{module}` must not import `{import}`", file.display()));
                }
                _ => {}
            }
        }
    }
    violations
}

#[test]
fn imports_of_the_runtime_point_down() {
    assert_eq!(violations("runtime", RUNTIME), Vec::<String>::new());
}

#[test]
fn imports_of_the_generator_point_down() {
    assert_eq!(violations("generator", GENERATOR), Vec::<String>::new());
}

#[test]
fn storages_do_not_know_each_other() {
    for (one, other) in STRANGERS {
        let file = workspace().join("runtime/src").join(format!("{one}.rs"));
        let text = std::fs::read_to_string(&file).unwrap();
        let name = other.rsplit('/').next().unwrap();
        assert!(!text.contains(&format!("{name}::")), "{} knows {name}", file.display());
    }
}

/// What the API does knows nothing of requests and responses; the store knows nothing of what the API does.
#[test]
fn imports_of_the_testserver_point_down() {
    const BEHAVIOURS: &[&str] = &[
        "access",
        "admission",
        "cluster",
        "discovery",
        "kinds",
        "objects",
        "schema",
    ];
    const STORE: &[&str] = &["go", "owners", "status", "store", "warnings"];
    let src = workspace().join("runtime/testserver/src");
    let mut violations = Vec::new();
    for file in sources(&src) {
        let module = module_of(&file, &src);
        let above: &[&str] = match module.as_str() {
            // Kinds are the words in which everything is said.
            lowest if STORE.contains(&lowest) => &[
                "http",
                "access",
                "admission",
                "cluster",
                "discovery",
                "objects",
                "schema",
            ],
            behaviour if BEHAVIOURS.contains(&behaviour) => &["http"],
            _ => continue,
        };
        let found = imports(&std::fs::read_to_string(&file).unwrap());
        violations.extend(
            found
                .into_iter()
                .filter(|import| above.contains(&import.as_str()))
                .map(|import| format!("{}: `{module}` must not import `{import}`", file.display())),
        );
    }
    assert_eq!(violations, Vec::<String>::new());
}

/// Generator, runtime and testserver meet in text and HTTP only.
#[test]
fn crates_do_not_know_each_other() {
    let manifest = |folder: &str| std::fs::read_to_string(workspace().join(folder).join("Cargo.toml")).unwrap();
    assert!(!manifest("runtime/testserver").contains("kopf-runtime"));
    let client = manifest("runtime/testserver")
        .lines()
        .any(|line| line.starts_with("kube.") || line.starts_with("kube "));
    assert!(!client, "the embedded server is spoken to over HTTP only");
    assert!(!manifest("runtime").contains("kopf-gen"));
    assert!(!manifest("generator").contains("kopf-runtime"));
}

#[test]
fn an_upward_import_is_found() {
    let text = "use crate::reactor::running;\n// crate::cli\nlet x = crate::structs::bodies::Body;\nuse crate::Top;";
    assert_eq!(imports(text), ["reactor", "structs"]);
}
