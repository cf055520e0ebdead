//! Files in memory: path, contents, and the class that says who may change them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Who may change a file once it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// Rewritten by each run; nobody edits it.
    Generated,
    /// A copy of the runtime's sources; nobody edits it.
    Vendored,
    /// Shared with the author; an edited one is kept.
    Merged,
    /// Written once, then the author's; only ever appended to.
    Seeded,
}

/// One file of the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The whole text, with LF line ends.
    pub contents: String,
    /// Who may change it.
    pub class: Class,
    /// The resource that it belongs to, such as `greetings.demo.example.com`.
    pub owner: Option<String>,
    /// What an author's file must hold, so that it can be appended if missing.
    pub parts: Vec<Part>,
}

/// A part of a seeded file that a later run may have to add.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The stub of a handler.
    Function {
        /// The function's identifier.
        name: String,
        /// Its text, without a blank line around it.
        text: String,
        /// What it must find in scope: the path of the module and the name in it.
        imports: Vec<(String, String)>,
    },
    /// `pub mod NAME;`
    Module(String),
    /// The packages of the tested `Cargo.lock`.
    Packages,
}

/// All files of a project, by path with forward slashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileSet {
    files: BTreeMap<String, File>,
}

impl FileSet {
    /// Adds a file without an owner or parts.
    pub fn add(&mut self, class: Class, path: impl Into<String>, contents: impl Into<String>) {
        self.insert(
            path,
            File {
                contents: contents.into(),
                class,
                owner: None,
                parts: Vec::new(),
            },
        );
    }

    /// Adds a file that belongs to a resource.
    pub fn add_owned(&mut self, class: Class, path: impl Into<String>, contents: impl Into<String>, owner: &str) {
        self.insert(
            path,
            File {
                contents: contents.into(),
                class,
                owner: Some(owner.to_owned()),
                parts: Vec::new(),
            },
        );
    }

    /// Adds a file; a path is written by one renderer only.
    pub fn insert(&mut self, path: impl Into<String>, file: File) {
        let path = path.into();
        let before = self.files.insert(path.clone(), file);
        debug_assert!(before.is_none(), "{path} is rendered twice");
    }

    /// The file at a path.
    pub fn get(&self, path: &str) -> Option<&File> {
        self.files.get(path)
    }

    /// All files, sorted by path.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &File)> {
        self.files.iter().map(|(path, file)| (path.as_str(), file))
    }
}
