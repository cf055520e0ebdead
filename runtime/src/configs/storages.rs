//! Where state is kept on objects.

use super::diffbase::DiffBaseStorage;
use super::progress::ProgressStorage;

/// Where state is kept on objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Storages {
    pub(crate) prefix: String,
    pub(crate) finalizer: String,
    pub(crate) progress: ProgressStorage,
    pub(crate) diffbase: DiffBaseStorage,
}

impl Storages {
    pub(crate) fn new(prefix: &str, finalizer: &str) -> Self {
        Self {
            prefix: prefix.to_owned(),
            finalizer: finalizer.to_owned(),
            progress: ProgressStorage::new(prefix),
            diffbase: DiffBaseStorage::new(prefix),
        }
    }
}
