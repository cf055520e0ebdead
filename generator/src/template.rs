//! The embedded files, and the one call to the template engine.

use serde::Serialize;
use tera::{Context, Tera};

static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The text of an embedded file.
pub(crate) fn embedded(name: &str) -> &'static str {
    FILES.iter().find(|(path, _)| *path == name).map_or_else(|| panic!("{name} is not embedded"), |(_, text)| text)
}

/// All embedded files below a folder, with their paths relative to it.
pub(crate) fn embedded_below(folder: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    FILES.iter().filter_map(move |(path, text)| Some((path.strip_prefix(folder)?.strip_prefix('/')?, *text)))
}

/// The template for a file of the generated project, filled in.
pub(crate) fn fill(path: &str, values: &impl Serialize) -> String {
    let mut engine = Tera::new();
    let template = embedded(&format!("templates/crate/{path}.tera"));
    engine.add_raw_template(path, template).unwrap_or_else(|error| panic!("template {path}: {error}"));
    let context = Context::from_serialize(values).expect("templates are filled from plain structs");
    engine.render(path, &context).unwrap_or_else(|error| panic!("template {path}: {error}"))
}
