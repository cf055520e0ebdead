//! `kopf-gen generate`.

use std::path::{Path, PathBuf};

use anyhow::ensure;
use kopf_gen::lock::{self, Persistence};
use kopf_gen::model::Operator;
use kopf_gen::write;

use super::{Status, output, project};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Write nothing; exit with 1 if anything would change
    #[arg(long)]
    check: bool,
    /// Drop edits of files that kopf-gen owns
    #[arg(long)]
    overwrite_generated: bool,
    /// The project's folder
    #[arg(long, value_name = "DIR", default_value = ".")]
    project: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let folder = arguments.project.as_path();
    let spec = folder.join(project::SPEC);
    ensure!(
        spec.is_file(),
        "there is no {} in {}; run `kopf-gen new SPEC` to start a project, or name one with --project",
        project::SPEC,
        shown(folder),
    );
    let Some(generated) = project::generated(project::SPEC, &project::read(&spec)?) else {
        return Ok(Status::Invalid);
    };
    output::diagnostics(&generated.warnings);
    let record = project::lock(folder)?;
    let persistence = project::persistence(&generated);
    if let Some(before) = record.as_ref().map(|record| &record.persistence)
        && *before != persistence
        && !is_former(before, &generated.operator)
    {
        refuse_move(before, &persistence);
        return Ok(Status::Invalid);
    }
    let options = write::Options {
        overwrite_generated: arguments.overwrite_generated,
    };
    let plan = project::plan(folder, &generated, record.as_ref(), options)?;
    if !plan.refusals().is_empty() {
        output::refusals(plan.refusals());
        return Ok(Status::Conflict);
    }
    if !arguments.check {
        plan.apply(folder)?;
    }
    output::changes(plan.changes(), arguments.check);
    output::notes(plan.notes());
    let is_done = plan.is_empty() && plan.is_complete();
    if is_done {
        output::say("nothing to do");
    } else if !plan.is_empty() && plan.changes().is_empty() {
        let verb = if arguments.check { "would update" } else { "updated" };
        output::say(&format!("{verb} {}, the record of the spec", lock::PATH));
    }
    if arguments.check && !is_done {
        return Ok(Status::Differs);
    }
    Ok(Status::Done)
}

fn shown(folder: &Path) -> String {
    if folder == Path::new(".") {
        "this folder".to_owned()
    } else {
        folder.display().to_string()
    }
}

/// Whether the operator takes over from what stood in the spec before.
fn is_former(before: &Persistence, operator: &Operator) -> bool {
    let mut formerly = operator.persistence.formerly.iter();
    formerly.any(|former| former.prefix == before.prefix && former.finalizer == before.finalizer)
}

fn refuse_move(before: &Persistence, after: &Persistence) {
    output::refuse(
        "settings.persistence has changed, so that every object would be handled as new and keep the old finalizer",
    );
    let values = [
        ("prefix", &before.prefix, &after.prefix),
        ("finalizer", &before.finalizer, &after.finalizer),
    ];
    for (key, before, after) in values.into_iter().filter(|(_, before, after)| before != after) {
        output::tell(&format!("  {key} {before} is now {after}"));
    }
    output::tell(&format!(
        "put the old value back into {}, or let the operator take over what it finds under the old names:",
        project::SPEC
    ));
    let Persistence { prefix, finalizer } = before;
    output::tell(&format!("  formerly: [{{prefix: {prefix}, finalizer: {finalizer}}}]"));
}
