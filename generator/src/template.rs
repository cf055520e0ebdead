//! The embedded files, and the one call to the template engine.

use serde::Serialize;
use tera::{Context, Tera};

static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The text of an embedded file, if there is such a file.
pub(crate) fn find_embedded(name: &str) -> Option<&'static str> {
    FILES.iter().find(|(path, _)| *path == name).map(|(_, text)| *text)
}

/// The text of an embedded file.
pub(crate) fn embedded(name: &str) -> &'static str {
    find_embedded(name).unwrap_or_else(|| panic!("{name} is not embedded"))
}

/// All embedded files below a folder, with their paths relative to it.
pub(crate) fn embedded_below(folder: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    FILES
        .iter()
        .filter_map(move |(path, text)| Some((path.strip_prefix(folder)?.strip_prefix('/')?, *text)))
}

/// The template for a file of the generated project, filled in; loops may leave blank lines behind.
pub(crate) fn fill(path: &str, values: &impl Serialize) -> String {
    let mut engine = Tera::new();
    let template = embedded(&format!("templates/crate/{path}.tera"));
    engine
        .add_raw_template(path, template)
        .unwrap_or_else(|error| panic!("template {path}: {error}"));
    let context = Context::from_serialize(values).expect("templates are filled from plain structs");
    let text = engine
        .render(path, &context)
        .unwrap_or_else(|error| panic!("template {path}: {error}"));
    tidy(&text)
}

/// One blank line at most, one line end at the end.
fn tidy(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        if !(line.is_empty() && out.ends_with("\n\n")) {
            out.push_str(line);
            out.push('\n');
        }
    }
    format!("{}\n", out.trim_end())
}
