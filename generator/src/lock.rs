//! `kopf-gen.lock`: what was written, and out of which spec.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::fileset::Class;

/// The lock's place in a project.
pub const PATH: &str = "kopf-gen.lock";

const FORMAT: u32 = 1;

/// The oldest kopf-gen that reads this format.
const MINIMUM_VERSION: &str = "0.1.0";

/// The record of the last run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Lock {
    format: u32,
    minimum_version: String,
    /// SHA-256 of what the spec says.
    pub spec: String,
    /// Where state is kept on the objects: not to be changed in passing.
    pub persistence: Persistence,
    /// By path.
    pub files: BTreeMap<String, Entry>,
}

/// The resolved `settings.persistence`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Persistence {
    /// Annotation prefix.
    pub prefix: String,
    /// The finalizer.
    pub finalizer: String,
}

/// One file as it was generated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Who may change it.
    pub class: Class,
    /// The resource that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Of the content as generated.
    pub sha256: String,
    /// Functions and modules that were put into an author's file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stubs: Vec<String>,
}

/// A lock that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not a lock, or was damaged.
    #[error("{PATH} is not readable; restore it from version control")]
    Unreadable(#[source] serde_yaml::Error),
    /// A later kopf-gen wrote it.
    #[error("{PATH} was written by a newer kopf-gen: version {0} or later is needed")]
    TooNew(String),
}

impl Lock {
    /// A lock without files.
    #[must_use]
    pub fn new(spec: String, persistence: Persistence) -> Self {
        Self {
            format: FORMAT,
            minimum_version: MINIMUM_VERSION.to_owned(),
            spec,
            persistence,
            files: BTreeMap::new(),
        }
    }

    /// Reads the text of a lock.
    pub fn parse(text: &str) -> Result<Self, Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Head {
            format: u32,
            minimum_version: String,
        }
        let head: Head = serde_yaml::from_str(text).map_err(Error::Unreadable)?;
        if head.format > FORMAT {
            return Err(Error::TooNew(head.minimum_version));
        }
        serde_yaml::from_str(text).map_err(Error::Unreadable)
    }

    /// The text, sorted.
    #[must_use]
    pub fn to_text(&self) -> String {
        let text = serde_yaml::to_string(self).expect("a lock is plain data");
        format!(
            "# Written by kopf-gen: what it generated last. Commit it, and leave its contents alone.\n{}\n",
            text.trim_end()
        )
    }
}

/// In hexadecimal digits.
#[must_use]
pub fn sha256(text: &[u8]) -> String {
    Sha256::digest(text)
        .iter()
        .fold(String::new(), |digits, byte| digits + &format!("{byte:02x}"))
}
