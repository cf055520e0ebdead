//! What one run would do, as data.

use std::path::Path;

use super::disk::{self, Error, Replacement};
use crate::fileset::Class;
use crate::lock;

/// Everything one run would do, decided before anything is touched.
#[derive(Debug, Default)]
pub struct Plan {
    pub(super) changes: Vec<Change>,
    pub(super) refusals: Vec<Refusal>,
    pub(super) notes: Vec<Note>,
    pub(super) writes: Vec<Replacement>,
    pub(super) deletions: Vec<String>,
}

/// A change to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The file.
    pub path: String,
    /// Its class.
    pub class: Class,
    /// What happens.
    pub action: Action,
}

/// What happens to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// It was not there.
    Create,
    /// It was deleted by somebody.
    Recreate,
    /// Its new text is written.
    Update,
    /// These functions, modules or packages are added to the author's text.
    Append(Vec<String>),
    /// It is no longer part of the project.
    Delete,
}

/// A file that was edited although nobody edits it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The file.
    pub path: String,
    /// From the generated text to the one on the disk, as a unified diff.
    pub diff: String,
}

/// Something that people should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A merged file was edited and stays as it is, although the rendered text has changed.
    Kept {
        /// The file.
        path: String,
        /// What would have changed in it, as a unified diff.
        diff: String,
    },
    /// A file that is no longer rendered, but that somebody has worked on.
    Orphan {
        /// The file.
        path: String,
    },
    /// A function that the spec no longer names.
    UnusedFunction {
        /// The file.
        path: String,
        /// Counted from 1.
        line: usize,
        /// The function.
        name: String,
    },
    /// An author's file that is not Rust, so that nothing was added.
    Unparsable {
        /// The file.
        path: String,
        /// Counted from 1.
        line: usize,
        /// What the parser says.
        message: String,
        /// What it lacks.
        missing: Vec<String>,
    },
    /// A kind is gone from the project, but its definition and its objects are still in the cluster.
    Definition {
        /// Such as `greetings.demo.example.com`.
        name: String,
    },
}

impl Plan {
    /// In the order of paths.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// If there is one, nothing is written.
    pub fn refusals(&self) -> &[Refusal] {
        &self.refusals
    }

    /// What people should know.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Whether the project is as the spec wants it, the record included.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.deletions.is_empty()
    }

    /// Whether nothing is missing that could not be added.
    pub fn is_complete(&self) -> bool {
        !self.notes.iter().any(|note| matches!(note, Note::Unparsable { .. }))
    }

    /// Writes and deletes everything; the lock comes last, so that it never forgets what is still to be done.
    pub fn apply(&self, project: &Path) -> Result<(), Error> {
        let (record, files): (Vec<_>, Vec<_>) = self.writes.iter().partition(|write| write.path == lock::PATH);
        disk::replace(project, &files)?;
        self.deletions.iter().try_for_each(|path| disk::delete(project, path))?;
        disk::replace(project, &record)
    }
}
