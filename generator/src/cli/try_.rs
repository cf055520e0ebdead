//! `kopf-gen try`.

use std::path::PathBuf;

use super::{Status, output, project, trial};

const ABOUT_THE_CACHE: &str = "\
The project and all that cargo builds stay in kopf-gen/try of the cache folder, so that the next try takes seconds.

Environment:
  XDG_CACHE_HOME       The cache folder [default: ~/.cache]
  KOPF_GEN_TRY_TARGET  Another folder for what cargo builds
  CARGO                Another cargo";

#[derive(Debug, clap::Args)]
#[command(after_help = ABOUT_THE_CACHE)]
pub(crate) struct Arguments {
    /// The operator spec
    spec: PathBuf,
    /// Leave the samples and the operator up until Ctrl-C, for kubectl
    #[arg(long)]
    keep: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let name = arguments.spec.display().to_string();
    let text = project::read(&arguments.spec)?;
    let Some(generated) = project::generated(&name, &text) else {
        return Ok(Status::Invalid);
    };
    output::diagnostics(&generated.warnings);
    trial::run(&trial::Trial {
        spec: &arguments.spec,
        text: &text,
        keep: arguments.keep,
        generated,
    })
}
