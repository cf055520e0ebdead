//! `kopf-gen new`.

use std::fs;
use std::path::{Component, Path, PathBuf};

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
    let folder = arguments
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from(&first.operator.name));
    if !is_free(&folder, &arguments.spec)? {
        output::refuse(&format!(
            "{} is not empty; choose another folder with --out",
            folder.display()
        ));
        return Ok(Status::Conflict);
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let text = match &first.operator.runtime {
        RuntimeSource::Path(path) => relocate(&text, path, &arguments.spec, &folder)?,
        RuntimeSource::Vendored => text,
    };
    // The record is that of the text which the project starts with.
    let Some(generated) = project::generated(project::SPEC, &text) else {
        return Ok(Status::Invalid);
    };
    let plan = project::plan(&folder, &generated, None, write::Options::default())?;
    let spec = folder.join(project::SPEC);
    fs::write(&spec, text).with_context(|| format!("cannot write {}", spec.display()))?;
    plan.apply(&folder)?;
    summary(&generated, &folder, plan.changes().len());
    output::notes(plan.notes());
    Ok(Status::Done)
}

/// Whether nothing can be lost in the folder: the spec itself may be there, and what git keeps.
fn is_free(folder: &Path, spec: &Path) -> anyhow::Result<bool> {
    if !folder.exists() {
        return Ok(true);
    }
    let failed = || format!("cannot use {}", folder.display());
    let spec = spec.canonicalize().with_context(failed)?;
    for entry in fs::read_dir(folder).with_context(failed)? {
        let entry = entry.with_context(failed)?;
        let is_gits = entry.file_name().to_string_lossy().starts_with(".git");
        if !is_gits && entry.path().canonicalize().with_context(failed)? != spec {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The spec's text with a relative `project.runtime.path` that leads from the project to where it led before.
fn relocate(text: &str, path: &str, spec: &Path, folder: &Path) -> anyhow::Result<String> {
    if Path::new(path).is_absolute() || folder.join(path).join("runtime").is_dir() {
        return Ok(text.to_owned());
    }
    let beside = spec.parent().unwrap_or(Path::new("")).join(path);
    let found = beside
        .canonicalize()
        .ok()
        .filter(|found| found.join("runtime").is_dir());
    let Some(found) = found else {
        output::warn(&format!(
            "project.runtime.path: `{path}` leads to no runtime, neither from the project nor from the spec"
        ));
        return Ok(text.to_owned());
    };
    let folder = folder
        .canonicalize()
        .with_context(|| format!("cannot use {}", folder.display()))?;
    let wanted = between(&folder, &found).display().to_string();
    let leads_there = |text: &String| {
        let generated = kopf_gen::generate(project::SPEC, text, &kopf_gen::Options::default());
        generated.is_ok_and(|generated| generated.operator.runtime == RuntimeSource::Path(wanted.clone()))
    };
    let relocated = text
        .match_indices(path)
        .map(|(at, _)| format!("{}{wanted}{}", &text[..at], &text[at + path.len()..]))
        .find(leads_there);
    if relocated.is_none() {
        output::warn(&format!(
            "project.runtime.path: from the project, the runtime is at `{wanted}`, not at `{path}`"
        ));
    }
    Ok(relocated.unwrap_or_else(|| text.to_owned()))
}

/// The way from one folder to another, both without links.
fn between(from: &Path, to: &Path) -> PathBuf {
    let shared = from
        .components()
        .zip(to.components())
        .take_while(|(a, b)| a == b)
        .count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(to.components().skip(shared)).collect()
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
    if folder != Path::new(".") {
        output::say(&format!("  cd {}", folder.display()));
    }
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
