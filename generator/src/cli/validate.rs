//! `kopf-gen validate`.

use std::path::PathBuf;

use super::{Status, output, project};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The operator spec
    #[arg(default_value = project::SPEC)]
    spec: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let text = project::read(&arguments.spec)?;
    let name = arguments.spec.display().to_string();
    let Some(generated) = project::generated(&name, &text) else {
        return Ok(Status::Invalid);
    };
    output::diagnostics(&generated.warnings);
    let kinds: Vec<_> = generated
        .operator
        .resources
        .iter()
        .map(|resource| resource.reference.kind.as_str())
        .collect();
    output::say(&format!(
        "{name} is valid: operator {}, watching {}",
        generated.operator.name,
        kinds.join(", ")
    ));
    Ok(Status::Done)
}
