//! Settings, and the formats in which state is kept on objects.
//!
//! The storages of progress and of the diff-base do not know each other; what they share is in `conventions`.

pub(crate) mod conventions;
pub(crate) mod diffbase;
pub(crate) mod digests;
pub(crate) mod lifecycles;
pub(crate) mod persistence;
pub(crate) mod progress;
pub(crate) mod records;
pub(crate) mod settings;
pub(crate) mod storages;
