//! Spec to model, with all checks.

use crate::diagnostic::Diagnostics;
use crate::load::Document;
use crate::model;

/// Resolves a spec; warnings come with the result.
pub fn lower(_document: &Document) -> Result<(model::Operator, Diagnostics), Diagnostics> {
    unimplemented!("being built")
}
