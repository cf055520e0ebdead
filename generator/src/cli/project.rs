//! What `new` and `generate` share: a project's folder, its record, and the plan for it.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use kopf_gen::lock::{self, Lock, Persistence};
use kopf_gen::write::{self, Plan};
use kopf_gen::{Generated, Options};

/// The spec in its project.
pub(crate) const SPEC: &str = "operator.yaml";

/// The spec's text, and its files in memory; what is wrong with it has been said when there is nothing.
pub(crate) fn generated(file_name: &str, text: &str) -> Option<Generated> {
    match kopf_gen::generate(file_name, text, &Options::default()) {
        Ok(generated) => Some(generated),
        Err(diagnostics) => {
            super::output::diagnostics(&diagnostics);
            None
        }
    }
}

/// A text file, by the name that people know it by.
pub(crate) fn read(path: &Path) -> anyhow::Result<String> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    String::from_utf8(bytes).with_context(|| format!("{} is not UTF-8", path.display()))
}

/// The record of the last run, if there was one.
pub(crate) fn lock(project: &Path) -> anyhow::Result<Option<Lock>> {
    let path = project.join(lock::PATH);
    if !path.exists() {
        return Ok(None);
    }
    Ok(Some(Lock::parse(&read(&path)?.replace("\r\n", "\n"))?))
}

/// Where this spec keeps state on the objects.
pub(crate) fn persistence(generated: &Generated) -> Persistence {
    let persistence = &generated.operator.persistence;
    Persistence {
        prefix: persistence.prefix.clone(),
        finalizer: persistence.finalizer.clone(),
    }
}

/// What has to be done in the folder.
pub(crate) fn plan(
    project: &Path,
    generated: &Generated,
    before: Option<&Lock>,
    options: write::Options,
) -> anyhow::Result<Plan> {
    let record = Lock::new(generated.document.digest(), persistence(generated));
    Ok(write::plan(project, &generated.files, before, record, options)?)
}
