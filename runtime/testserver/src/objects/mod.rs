//! What the API does with objects of any kind.

pub(crate) mod deletion;
pub(crate) mod identity;
pub(crate) mod listing;
pub(crate) mod managed;
pub(crate) mod metadata;
pub(crate) mod patching;
pub(crate) mod selectors;
pub(crate) mod shapes;
pub(crate) mod watching;
pub(crate) mod writing;
