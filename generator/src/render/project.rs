//! The crate's own files: manifest, lock, entry points, Dockerfile, README.

use std::collections::BTreeSet;

use serde::Serialize;
use toml_edit::Value;

use super::vendor::{workspace_package, workspace_version};
use super::{docs, memos};
use crate::cargo_lock::{CargoLock, Package};
use crate::fileset::{Class, File, FileSet, Part};
use crate::model::{Condition, Operator, Origin, Resource, RuntimeSource};
use crate::template::{embedded, fill};

/// The package for which the embedded lock was made.
pub(crate) const PLACEHOLDER: &str = "project";

#[derive(Serialize)]
struct Manifest {
    name: String,
    version: String,
    rust_version: String,
    description: Option<String>,
    dependencies: Vec<String>,
    dev_dependencies: Vec<String>,
}

#[derive(Serialize)]
struct Sources {
    library: String,
    modules: BTreeSet<String>,
    description: Vec<String>,
}

#[derive(Serialize)]
struct Image {
    binary: String,
    rust_version: String,
}

#[derive(Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a part of the text that may be there or not"
)]
struct Readme {
    name: String,
    description: String,
    kinds: Vec<ReadmeKind>,
    has_crds: bool,
    has_daemons: bool,
    has_indexes: bool,
    image: String,
    is_vendored: bool,
    has_sub_handlers: bool,
    removals: Vec<String>,
}

#[derive(Serialize)]
struct ReadmeKind {
    name: String,
    api_version: String,
    functions: String,
}

/// Adds the files; those with Rust in them must be there already, since they tell which crates are used.
pub(super) fn render(operator: &Operator, files: &mut FileSet) {
    let library = operator.crate_name.replace('-', "_");
    let about = description(operator);
    let mut modules = memos::root_modules(operator);
    modules.extend(["generated".to_owned(), "handlers".to_owned()]);
    let sources = Sources {
        library,
        modules,
        description: docs::lines(&about),
    };
    let memos = memos::root_modules(operator);
    files.insert(
        "src/lib.rs",
        File {
            contents: fill("src/lib.rs", &sources),
            class: Class::Seeded,
            owner: None,
            parts: memos.into_iter().map(Part::Module).collect(),
        },
    );
    files.add(Class::Seeded, "src/main.rs", fill("src/main.rs", &sources));

    let crates = Crates::used(operator, files);
    files.add(Class::Merged, "Cargo.toml", manifest(operator, crates));
    files.insert(
        "Cargo.lock",
        File {
            contents: lock(operator, crates),
            class: Class::Seeded,
            owner: None,
            parts: vec![Part::Packages],
        },
    );
    let image = Image {
        binary: operator.crate_name.clone(),
        rust_version: workspace_package("rust-version"),
    };
    files.add(Class::Merged, "Dockerfile", fill("Dockerfile", &image));
    files.add(Class::Merged, "README.md", fill("README.md", &readme(operator, &about)));
    for name in [".dockerignore", ".gitattributes", ".gitignore"] {
        files.add(Class::Merged, name, fill(name, &image));
    }
}

fn description(operator: &Operator) -> String {
    operator
        .description
        .clone()
        .unwrap_or_else(|| format!("The operator `{}`.", operator.name))
}

/// Which of the optional dependencies the project's own code names.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a crate that may be named or not")]
struct Crates {
    serde: bool,
    serde_json: bool,
    /// There is a seeded test.
    tests: bool,
    /// It reads YAML.
    serde_yaml: bool,
    /// The schemas of its kinds have rules, which the embedded API server checks only if it is built for that.
    rules: bool,
    /// Its entries have CEL conditions, which the runtime evaluates only if it is built for that.
    conditions: bool,
}

impl Crates {
    fn used(operator: &Operator, files: &FileSet) -> Self {
        let mentions = |folder: &str, word: &str| {
            files
                .iter()
                .any(|(path, file)| path.starts_with(folder) && file.contents.contains(word))
        };
        Self {
            serde: mentions("src/", "serde::"),
            serde_json: mentions("src/", "serde_json::"),
            tests: mentions("tests/", "serde_json::"),
            serde_yaml: mentions("tests/", "serde_yaml::"),
            rules: mentions("deploy/crds/", "x-kubernetes-validations"),
            conditions: has_conditions(operator),
        }
    }
}

fn has_conditions(operator: &Operator) -> bool {
    let entries = operator.resources.iter().flat_map(Resource::entries);
    entries
        .filter_map(|entry| entry.filters.when.as_ref())
        .any(Condition::has_cel)
}

fn manifest(operator: &Operator, crates: Crates) -> String {
    let (runtime, testserver) = match &operator.runtime {
        RuntimeSource::Vendored => ("vendor/kopf-runtime".to_owned(), "vendor/kopf-testserver".to_owned()),
        RuntimeSource::Path(path) => {
            let path = path.trim_end_matches('/');
            (format!("{path}/runtime"), format!("{path}/runtime/testserver"))
        }
    };
    let serde_json = format!("serde_json = {}", quoted(&workspace_version("serde_json")));
    let features = |cel: bool| if cel { ", features = [\"cel\"]" } else { "" };
    let mut dependencies = vec![format!(
        "kopf-runtime = {{ path = {}{} }}",
        quoted(&runtime),
        features(crates.conditions)
    )];
    if crates.serde {
        let version = quoted(&workspace_version("serde"));
        dependencies.push(format!("serde = {{ version = {version}, features = [\"derive\"] }}"));
    }
    if crates.serde_json {
        dependencies.push(serde_json.clone());
    }
    dependencies.push(format!("tracing = {}", quoted(&workspace_version("tracing"))));

    let mut dev_dependencies = vec![format!(
        "kopf-testserver = {{ path = {}{} }}",
        quoted(&testserver),
        features(crates.rules)
    )];
    if crates.tests && !crates.serde_json {
        dev_dependencies.push(serde_json);
    }
    if crates.serde_yaml {
        let version = quoted(&workspace_version("serde_yaml"));
        dev_dependencies.push(format!(
            "serde_yaml = {{ package = \"serde-saphyr\", version = {version}, default-features = false, features = [\"deserialize\"] }}"
        ));
    }
    let version = quoted(&workspace_version("tokio"));
    dev_dependencies.push(format!(
        "tokio = {{ version = {version}, default-features = false, features = [\"macros\", \"rt\", \"test-util\", \"time\"] }}"
    ));
    let values = Manifest {
        name: quoted(&operator.crate_name),
        version: quoted(&operator.deploy.tag),
        rust_version: quoted(&workspace_package("rust-version")),
        description: operator.description.as_deref().map(|text| quoted(text.trim())),
        dependencies,
        dev_dependencies,
    };
    fill("Cargo.toml", &values)
}

fn lock(operator: &Operator, crates: Crates) -> String {
    let mut dependencies = vec!["kopf-runtime", "kopf-testserver", "tokio", "tracing"];
    if crates.serde {
        dependencies.push("serde");
    }
    if crates.serde_json || crates.tests {
        dependencies.push("serde_json");
    }
    if crates.serde_yaml {
        dependencies.push("serde-saphyr");
    }
    dependencies.sort_unstable();
    let root = Package {
        name: operator.crate_name.clone(),
        version: operator.deploy.tag.clone(),
        source: None,
        checksum: None,
        dependencies: dependencies.into_iter().map(str::to_owned).collect(),
    };
    let name = if crates.rules || crates.conditions {
        "Cargo.cel.lock"
    } else {
        "Cargo.lock"
    };
    let tested = embedded(&format!("templates/crate/{name}"));
    let mut tested = CargoLock::parse(tested).expect("the embedded lock is cargo's");
    // That lock is for both.
    for (package, is_used) in [("kopf-runtime", crates.conditions), ("kopf-testserver", crates.rules)] {
        if !is_used {
            tested.drop_dependency(package, "kube-cel");
        }
    }
    tested.with_root(PLACEHOLDER, root).to_text()
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn readme(operator: &Operator, description: &str) -> Readme {
    let own: Vec<&Resource> = operator
        .resources
        .iter()
        .filter(|resource| matches!(resource.origin, Origin::Own(_)))
        .collect();
    let mut handlers = operator.resources.iter().flat_map(|resource| &resource.handlers);
    let kinds = operator.resources.iter().map(|resource| ReadmeKind {
        name: resource.reference.kind.clone(),
        api_version: resource.reference.api_version(),
        functions: resource
            .functions
            .iter()
            .map(|function| format!("`{}`", function.name))
            .collect::<Vec<_>>()
            .join(", "),
    });
    let removals = own.iter().map(|resource| {
        let everywhere = if resource.reference.namespaced {
            " --all-namespaces"
        } else {
            ""
        };
        format!("kubectl delete {} --all{everywhere}", super::owner(resource))
    });
    Readme {
        name: operator.name.clone(),
        description: description.trim().to_owned(),
        kinds: kinds.collect(),
        has_crds: !own.is_empty(),
        has_daemons: operator.resources.iter().any(|resource| !resource.daemons.is_empty()),
        has_indexes: !operator.indexes.is_empty(),
        image: format!("{}:{}", operator.deploy.image, operator.deploy.tag),
        is_vendored: operator.runtime == RuntimeSource::Vendored,
        has_sub_handlers: handlers.any(|handler| !handler.for_each.is_empty()),
        removals: removals.collect(),
    }
}
