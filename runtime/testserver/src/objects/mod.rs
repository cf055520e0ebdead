//! What the API does with objects of any kind.

pub(crate) mod continuing;
pub(crate) mod controllers;
pub(crate) mod definitions;
pub(crate) mod delete_options;
pub(crate) mod deletion;
pub(crate) mod field_selectors;
pub(crate) mod garbage;
pub(crate) mod identity;
pub(crate) mod label_selectors;
pub(crate) mod listing;
pub(crate) mod managed;
pub(crate) mod metadata;
pub(crate) mod namespaces;
pub(crate) mod patching;
pub(crate) mod scale;
pub(crate) mod selectors;
pub(crate) mod shapes;
pub(crate) mod watching;
pub(crate) mod writing;
