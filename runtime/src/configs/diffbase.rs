//! The essence of objects, and its copy of when it was handled last (B).

use serde_json::{Map, Value};

use crate::structs::bodies::Body;
use crate::structs::fields::FieldPath;

/// Keeps the essence that was handled last in an annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DiffBaseStorage {
    prefix: String,
}

impl DiffBaseStorage {
    pub(crate) fn new(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned() }
    }
}
