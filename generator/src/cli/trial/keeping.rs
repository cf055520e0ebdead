//! What stays up after the samples: the server, the operator, and a way for kubectl to reach them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use kopf_testserver::Listening;

use super::cache::Cache;
use super::screen::{Tone, blank};
use super::stage::{Gone, Stage};

/// The file with which kubectl finds the server; it goes with it.
pub(super) struct Kubeconfig(PathBuf);

impl Kubeconfig {
    /// Writes it into the operator's folder of the cache.
    pub(super) fn write(cache: &Cache, operator: &str, listening: &Listening) -> anyhow::Result<Self> {
        let path = cache.kubeconfig(operator, listening.address().port());
        fs::write(&path, listening.kubeconfig()).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Kubeconfig {
    fn drop(&mut self) {
        // Whoever was faster has done what was to be done.
        drop(fs::remove_file(&self.0));
    }
}

/// Shows the log while people do what they like; ends only if the operator does.
pub(super) async fn keep(stage: &mut Stage<'_>, kubeconfig: &Kubeconfig) -> Result<(), Gone> {
    let screen = stage.screen;
    screen.heading("kept up until Ctrl-C", "in another terminal:");
    screen.line(
        &format!("export KUBECONFIG={}", shell(&kubeconfig.0.display().to_string())),
        Tone::Plain,
    );
    for resource in &stage.operator.resources {
        let reference = &resource.reference;
        let everywhere = if reference.namespaced { " --all-namespaces" } else { "" };
        screen.line(&format!("kubectl get {}{everywhere}", reference.plural), Tone::Plain);
        if let Some(sample) = resource.samples.first() {
            let name = sample.object["metadata"]["name"].as_str().unwrap_or_default();
            let namespace = sample.object["metadata"]["namespace"].as_str();
            let namespace = namespace.map(|name| format!(" --namespace {name}")).unwrap_or_default();
            screen.line(
                &format!("kubectl delete {} {name}{namespace}", reference.singular),
                Tone::Plain,
            );
        }
    }
    blank();
    stage.current = None;
    stage.step("log", "");
    stage.show_all();
    stage.wait(Duration::MAX, |_, _| false).await.map(drop)
}

/// A word as a shell takes it.
fn shell(text: &str) -> String {
    if text
        .chars()
        .all(|char| char.is_ascii_alphanumeric() || "/._-+@".contains(char))
    {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::shell;

    #[test]
    fn paths_are_quoted_where_a_shell_would_split_them() {
        assert_eq!(shell("/home/me/.cache/x-1"), "/home/me/.cache/x-1");
        assert_eq!(shell("/home/it's me"), r"'/home/it'\''s me'");
    }
}
