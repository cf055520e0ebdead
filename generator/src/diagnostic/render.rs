//! Faults as text, in the manner of rustc.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use super::{Diagnostic, Severity, Source};

pub(super) fn render(source: &Source, items: &[Diagnostic], color: bool) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.decor_style(DecorStyle::Ascii).term_width(WIDTH);
    let mut text = String::new();
    let shown = shown(items);
    for item in &shown {
        text.push_str(&one(source, item, &renderer));
        text.push_str("\n\n");
    }
    if shown.len() < items.len() {
        let more = format!("… and {} more\n\n", items.len() - shown.len());
        text.push_str(&more);
    }
    text.push_str(&count(source, items));
    text
}

/// More than anybody mends in one go.
const MOST: usize = 200;

/// All, or the first ones, errors before warnings.
fn shown(items: &[Diagnostic]) -> Vec<&Diagnostic> {
    let of = |severity| items.iter().filter(move |item| item.severity == severity);
    if items.len() <= MOST {
        items.iter().collect()
    } else {
        of(Severity::Error).chain(of(Severity::Warning)).take(MOST).collect()
    }
}

/// Wider than any line: an excerpt that is cut in the middle hides what YAML made of the line.
const WIDTH: usize = 1000;

fn one(source: &Source, item: &Diagnostic, renderer: &Renderer) -> String {
    let level = match item.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let snippet = Snippet::source(source.text.as_str())
        .path(source.file_name.as_str())
        .annotation(AnnotationKind::Primary.span(visible(&source.text, item)));
    let mut group = level
        .primary_title(item.message.as_str())
        .id(item.code.as_str())
        .element(snippet);
    if let Some(help) = &item.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    renderer.render(&[group])
}

/// Only the first line of the span, and at least one character where there is one.
fn visible(text: &str, item: &Diagnostic) -> std::ops::Range<usize> {
    let start = floor(text, item.span.start.min(text.len()));
    let end = floor(text, item.span.end.min(text.len())).max(start);
    let line = text[start..]
        .find(['\r', '\n'])
        .map_or(text.len(), |length| start + length);
    let mut end = end.min(line);
    if end == start && start < line {
        end += text[start..].chars().next().map_or(0, char::len_utf8);
    }
    start..end
}

fn floor(text: &str, mut index: usize) -> usize {
    while !text.is_char_boundary(index) {
        index -= 1;
    }
    index
}

fn count(source: &Source, items: &[Diagnostic]) -> String {
    let errors = items.iter().filter(|item| item.severity == Severity::Error).count();
    let warnings = items.len() - errors;
    let mut text = String::new();
    if errors > 0 {
        text = format!("error: {} in {}", number(errors, "fault"), source.file_name);
    }
    if warnings > 0 {
        let count = number(warnings, "warning");
        text = if errors > 0 {
            format!("{text}, {count}")
        } else {
            format!("warning: {count} in {}", source.file_name)
        };
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

fn number(count: usize, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{count} {noun}s")
    }
}
