//! The folder in which tries leave what the next one can use.
//!
//! ```text
//! kopf-gen/try/<operator>/project   the generated crate
//! kopf-gen/try/runtime/runtime      the runtime's sources, shared: cargo builds them once for all operators
//! kopf-gen/try/target               what cargo builds
//! kopf-gen/try/lock                 held until the operator is built and started
//! ```

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::{env, io};

use anyhow::Context as _;
use kopf_gen::fileset::FileSet;

/// Names another folder for what cargo builds.
const TARGET: &str = "KOPF_GEN_TRY_TARGET";

/// The folder of all tries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cache {
    root: PathBuf,
    target: PathBuf,
}

impl Cache {
    /// Finds the place; nothing is created yet.
    pub(super) fn locate() -> anyhow::Result<Self> {
        let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let folder = absolute("XDG_CACHE_HOME").or_else(|| Some(env::home_dir()?.join(".cache")));
        let folder = folder.context("there is no home folder; name a folder for the cache with XDG_CACHE_HOME")?;
        let root = folder.join("kopf-gen/try");
        let target = absolute(TARGET).unwrap_or_else(|| root.join("target"));
        Ok(Self { root, target })
    }

    /// The generated crate of an operator.
    pub(super) fn project(&self, operator: &str) -> PathBuf {
        self.root.join(operator).join("project")
    }

    /// How that crate reaches the shared sources of the runtime.
    pub(super) fn runtime_of_project() -> &'static str {
        "../../runtime"
    }

    /// What cargo builds.
    pub(super) fn target(&self) -> &Path {
        &self.target
    }

    /// Where kubectl finds the server at this port.
    pub(super) fn kubeconfig(&self, operator: &str, port: u16) -> PathBuf {
        self.root.join(operator).join(format!("kubeconfig-{port}"))
    }

    /// Keeps other tries from changing what this one builds, until the file is dropped.
    pub(super) fn lock(&self, waiting: impl FnOnce()) -> anyhow::Result<File> {
        let path = self.root.join("lock");
        let failed = || format!("cannot lock {}", path.display());
        fs::create_dir_all(&self.root).with_context(failed)?;
        let file = File::create(&path).with_context(failed)?;
        if file.try_lock().is_err() {
            waiting();
            file.lock().with_context(failed)?;
        }
        Ok(file)
    }

    /// Writes the crate, and its spec for whoever looks at it.
    pub(super) fn write_project(&self, operator: &str, spec: &str, files: &FileSet) -> anyhow::Result<()> {
        let mut wanted: BTreeMap<PathBuf, &str> = BTreeMap::from([(crate::cli::project::SPEC.into(), spec)]);
        wanted.extend(files.iter().map(|(path, file)| (path.into(), file.contents.as_str())));
        sync(&self.project(operator), &wanted)
    }

    /// Writes the runtime's sources, out of a project that holds them.
    pub(super) fn write_runtime(&self, files: &FileSet) -> anyhow::Result<()> {
        let mut wanted = BTreeMap::new();
        for (path, file) in files.iter() {
            if let Some(path) = path.strip_prefix("vendor/kopf-runtime/") {
                wanted.insert(PathBuf::from(path), file.contents.as_str());
            } else if let Some(path) = path.strip_prefix("vendor/kopf-testserver/") {
                wanted.insert(Path::new("testserver").join(path), file.contents.as_str());
            }
        }
        // An operator may be called `runtime`, too: its own folder is not touched.
        sync(&self.root.join("runtime/runtime"), &wanted)
    }
}

/// A path with `~` for the home folder.
pub(super) fn shown(path: &Path) -> String {
    let home = env::home_dir().filter(|home| home.components().count() > 1);
    match home.as_deref().and_then(|home| path.strip_prefix(home).ok()) {
        Some(inside) => format!("~/{}", inside.display()),
        None => path.display().to_string(),
    }
}

/// Makes a folder hold these files and no others. Files that are as they should be keep their times, for cargo.
fn sync(folder: &Path, wanted: &BTreeMap<PathBuf, &str>) -> anyhow::Result<()> {
    let present = files_below(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for path in present.iter().filter(|path| !wanted.contains_key(*path)) {
        let path = folder.join(path);
        fs::remove_file(&path).with_context(|| format!("cannot delete {}", path.display()))?;
    }
    for (path, contents) in wanted {
        let path = folder.join(path);
        if fs::read(&path).is_ok_and(|before| before == contents.as_bytes()) {
            continue;
        }
        let written = path.parent().map_or(Ok(()), fs::create_dir_all);
        written
            .and_then(|()| fs::write(&path, contents))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// The paths of all files, relative to the folder; links are not followed.
fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(inside) = folders.pop() {
        let entries = match fs::read_dir(folder.join(&inside)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            let path = inside.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_touched() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let sync = |files: &[(&str, &'static str)]| {
            let wanted = files.iter().map(|(path, text)| (PathBuf::from(path), *text)).collect();
            sync(folder, &wanted).unwrap();
        };
        let modified = || fs::metadata(folder.join("src/a.rs")).unwrap().modified().unwrap();
        sync(&[("src/a.rs", "1"), ("src/b.rs", "1"), ("old/c.rs", "1")]);
        let before = modified();
        sync(&[("src/a.rs", "1"), ("src/b.rs", "2")]);
        assert_eq!(modified(), before);
        assert_eq!(fs::read_to_string(folder.join("src/b.rs")).unwrap(), "2");
        let mut left = files_below(folder).unwrap();
        left.sort();
        assert_eq!(left, [Path::new("src/a.rs"), Path::new("src/b.rs")]);
    }
}
