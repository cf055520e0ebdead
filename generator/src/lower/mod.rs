//! Spec to model, with all checks.

mod background;
mod builtins;
mod cel;
mod conformance;
mod derivation;
mod entries;
mod filters;
mod formats;
mod functions;
mod indexes;
mod memos;
mod operator;
mod options;
mod paths;
mod patterns;
mod re2;
mod resources;
mod results;
mod rust_types;
mod sample_metadata;
mod samples;
mod schema;
mod settings;
mod sub_handlers;
#[cfg(test)]
mod tests;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::model;
use crate::spec::Document;

type Faults = Vec<Diagnostic>;

/// Resolves a spec; warnings come with the result.
pub fn lower(document: &Document) -> Result<(model::Operator, Diagnostics), Diagnostics> {
    let mut faults = Faults::new();
    let operator = operator::operator(&document.spec, &mut faults);
    let diagnostics = Diagnostics::new(document.source.clone(), faults);
    match operator {
        Some(operator) if !diagnostics.has_errors() => Ok((operator, diagnostics)),
        _ => Err(diagnostics),
    }
}
