//! YAML text to spec, positions kept.

mod background;
mod comments;
mod digest;
mod edit;
mod environment;
mod field;
mod filters;
mod handler;
mod indexes;
mod keys;
mod line;
mod operator;
mod parse;
mod reader;
mod resource;
mod settings;
mod sub_handler;

#[cfg(test)]
mod tests;

pub use crate::spec::Document;

use std::sync::Arc;

use crate::diagnostic::{Diagnostics, Source};

/// Reads a spec. The faults are those of the text alone; what it asks for is checked by `lower`.
pub fn load(file_name: &str, text: &str) -> Result<Document, Diagnostics> {
    let source = Arc::new(Source {
        file_name: file_name.to_string(),
        text: text.to_string(),
    });
    let mut faults = Vec::new();
    let root = parse::parse(text, &mut faults);
    let spec = root.as_ref().and_then(|root| operator::operator(root, &mut faults));
    match (root, spec) {
        (Some(root), Some(spec)) if faults.is_empty() => Ok(Document { source, root, spec }),
        _ => Err(Diagnostics::new(source, faults)),
    }
}
