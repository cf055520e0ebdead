//! `kopf-gen new`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use kopf_gen::Generated;
use kopf_gen::model::{Origin, RuntimeSource};
use kopf_gen::write;

use super::{Status, output, project};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The operator spec; a copy of it becomes the project's operator.yaml
    spec: PathBuf,
    /// The project's folder [default: the operator's name]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let name = arguments.spec.display().to_string();
    let Some(first) = project::generated(&name, &project::read(&arguments.spec)?) else {
        return Ok(Status::Invalid);
    };
    output::diagnostics(&first.warnings);
    let persistence = &first.operator.persistence;
    let text = first
        .document
        .with_persistence(&persistence.prefix, &persistence.finalizer);
    // The record is that of the text which the project starts with.
    let Some(generated) = project::generated(project::SPEC, &text) else {
        return Ok(Status::Invalid);
    };

    let folder = arguments
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from(&generated.operator.name));
    if !is_free(&folder)? {
        output::refuse(&format!(
            "{} is not empty; choose another folder with --out",
            folder.display()
        ));
        return Ok(Status::Conflict);
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let plan = project::plan(&folder, &generated, None, write::Options::default())?;
    let spec = folder.join(project::SPEC);
    fs::write(&spec, text).with_context(|| format!("cannot write {}", spec.display()))?;
    plan.apply(&folder)?;
    summary(&generated, &folder, plan.changes().len());
    Ok(Status::Done)
}

/// Whether nothing can be lost in the folder.
fn is_free(folder: &Path) -> anyhow::Result<bool> {
    if !folder.exists() {
        return Ok(true);
    }
    let mut entries = fs::read_dir(folder).with_context(|| format!("cannot use {}", folder.display()))?;
    Ok(entries.next().is_none())
}

fn summary(generated: &Generated, folder: &Path, files: usize) {
    let operator = &generated.operator;
    output::say(&format!(
        "created the operator {} in {} ({files} files)",
        operator.name,
        folder.display()
    ));
    output::say("");
    let mut rows = vec![(
        project::SPEC.to_owned(),
        "the spec: edit it, then run `kopf-gen generate`".to_owned(),
    )];
    for resource in &operator.resources {
        let functions: Vec<_> = resource
            .functions
            .iter()
            .map(|function| function.name.as_str())
            .collect();
        rows.push((
            format!("src/handlers/{}.rs", resource.module),
            format!("your code: {}", functions.join(", ")),
        ));
    }
    rows.push(("src/generated/".to_owned(), "types and registry".to_owned()));
    rows.push((
        "tests/operator.rs".to_owned(),
        "a test on an embedded API server".to_owned(),
    ));
    rows.push(("deploy/".to_owned(), "manifests; deploy/overlays is yours".to_owned()));
    if operator.runtime == RuntimeSource::Vendored {
        rows.push(("vendor/".to_owned(), "the runtime library".to_owned()));
    }
    let width = rows.iter().map(|(path, _)| path.len()).max().unwrap_or_default();
    for (path, about) in rows {
        output::say(&format!("  {path:width$}  {about}"));
    }
    output::say("\nnext:");
    output::say(&format!("  cd {}", folder.display()));
    output::say("  cargo test");
    if operator
        .resources
        .iter()
        .any(|resource| matches!(resource.origin, Origin::Own(_)))
    {
        output::say("  kubectl apply -k deploy/crds");
    }
    output::say("  cargo run -- run --all-namespaces --standalone");
}
