//! The project's folder: reading, and replacing files as a whole.

use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};
use std::{fs, process};

/// A failure on the disk.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Reading.
    #[error("cannot read {0}")]
    Read(String, #[source] io::Error),
    /// Writing or renaming.
    #[error("cannot write {0}")]
    Write(String, #[source] io::Error),
    /// Removing.
    #[error("cannot delete {0}")]
    Delete(String, #[source] io::Error),
    /// A link below the project's folder.
    #[error("{0} is a link, or lies below one: files are not written through links")]
    Link(String),
    /// A path that is absolute or climbs.
    #[error("{0} leaves the project")]
    Outside(String),
    /// Somebody has protected it.
    #[error("{0} is read-only")]
    ReadOnly(String),
}

/// One file's new content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Replacement {
    pub(super) path: String,
    pub(super) contents: String,
}

/// The content of a file, if there is one.
pub(super) fn read(project: &Path, path: &str) -> Result<Option<Vec<u8>>, Error> {
    match fs::read(inside(project, path)?) {
        Ok(contents) => Ok(Some(contents)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(source) => Err(Error::Read(path.to_owned(), source)),
    }
}

/// The full path, once it is sure that it leads nowhere else.
fn inside(project: &Path, path: &str) -> Result<PathBuf, Error> {
    let relative = Path::new(path);
    if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(Error::Outside(path.to_owned()));
    }
    let mut full = project.to_owned();
    for part in relative.components() {
        full.push(part);
        if full.is_symlink() {
            return Err(Error::Link(path.to_owned()));
        }
    }
    Ok(full)
}

/// Writes all replacements beside their targets, then renames them in order.
pub(super) fn replace(project: &Path, replacements: &[&Replacement]) -> Result<(), Error> {
    let mut staged = Vec::new();
    let result = stage(project, replacements, &mut staged).and_then(|()| {
        staged
            .iter()
            .try_for_each(|(temporary, target, path): &(PathBuf, PathBuf, String)| {
                fs::rename(temporary, target).map_err(|source| Error::Write(path.clone(), source))
            })
    });
    if result.is_err() {
        for (temporary, ..) in &staged {
            // The first failure is the one to report.
            drop(fs::remove_file(temporary));
        }
    }
    result
}

fn stage(
    project: &Path,
    replacements: &[&Replacement],
    staged: &mut Vec<(PathBuf, PathBuf, String)>,
) -> Result<(), Error> {
    for Replacement { path, contents } in replacements {
        let target = inside(project, path)?;
        let failed = |source| Error::Write(path.clone(), source);
        let folder = target.parent().unwrap_or(project);
        fs::create_dir_all(folder).map_err(failed)?;
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let temporary = folder.join(format!(".{name}.{}.tmp", process::id()));
        let mut file = fs::File::create(&temporary).map_err(failed)?;
        staged.push((temporary, target.clone(), path.clone()));
        file.write_all(contents.as_bytes()).map_err(failed)?;
        if let Ok(before) = fs::metadata(&target) {
            file.set_permissions(before.permissions()).map_err(failed)?;
        }
        file.sync_all().map_err(failed)?;
    }
    Ok(())
}

/// Refuses what is protected, before anything is written.
pub(super) fn check_writable(project: &Path, path: &str) -> Result<(), Error> {
    let full = inside(project, path)?;
    let is_protected = |path: &Path| fs::metadata(path).is_ok_and(|metadata| metadata.permissions().readonly());
    // Renaming and deleting write into the folder, the nearest one that is there.
    let folder = full.ancestors().skip(1).find(|folder| folder.exists());
    if is_protected(&full) || folder.is_some_and(is_protected) {
        return Err(Error::ReadOnly(path.to_owned()));
    }
    Ok(())
}

/// Deletes a file, and the folders that are empty without it.
pub(super) fn delete(project: &Path, path: &str) -> Result<(), Error> {
    let target = inside(project, path)?;
    match fs::remove_file(&target) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(Error::Delete(path.to_owned(), error));
        }
        _ => {}
    }
    let folders = target.ancestors().skip(1).take_while(|folder| *folder != project);
    for folder in folders {
        // Fails on the first folder that still holds something.
        if fs::remove_dir(folder).is_err() {
            break;
        }
    }
    Ok(())
}
