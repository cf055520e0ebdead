//! Faults of a spec: data first; `render` alone turns them into text.

mod codes;
mod messages;
mod render;
mod suggestion;

pub use codes::Code;
pub use suggestion::{did_you_mean, listed};

pub(crate) use messages::{cut_by_yaml, no_variable, not_supported_yet, quote_it, unknown_key, wrong_type};

use std::sync::Arc;

/// A range of bytes in the spec's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// From `start` up to but without `end`.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing is generated.
    Error,
    /// Accepted, but probably not what is wanted.
    Warning,
}

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable: what people search for.
    pub code: Code,
    /// Error or warning.
    pub severity: Severity,
    /// What is wrong, on one line.
    pub message: String,
    /// Where.
    pub span: Span,
    /// How to mend it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A fault that stops the generation.
    pub fn error(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: Severity::Error,
            message: message.into(),
            span,
            help: None,
        }
    }

    /// A fault that does not.
    pub fn warning(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(code, span, message)
        }
    }

    /// Says how to mend it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Says how to mend it, if that is known.
    #[must_use]
    pub fn maybe_help(mut self, help: Option<String>) -> Self {
        self.help = help.or(self.help);
        self
    }
}

/// What a file is called and what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// As shown in messages.
    pub file_name: String,
    /// The whole text.
    pub text: String,
}

/// The faults of one phase, sorted by position.
#[derive(Clone, Debug)]
pub struct Diagnostics {
    source: Arc<Source>,
    items: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Sorts the faults; those that say the same about the same place are one.
    pub fn new(source: Arc<Source>, mut items: Vec<Diagnostic>) -> Self {
        items.sort_by(|a, b| {
            (a.span, a.severity, a.code.as_str(), &a.message).cmp(&(b.span, b.severity, b.code.as_str(), &b.message))
        });
        items.dedup();
        Self { source, items }
    }

    /// Whether there is nothing to report.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Whether anything stops the generation.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.items.iter().any(|item| item.severity == Severity::Error)
    }

    /// In the order of the text.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.items.iter()
    }

    /// The text for people: each fault with its place, its line and its help, then a count.
    #[must_use]
    pub fn render(&self, color: bool) -> String {
        render::render(&self.source, &self.items, color)
    }
}

impl std::fmt::Display for Diagnostics {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.render(false))
    }
}

impl std::error::Error for Diagnostics {}
