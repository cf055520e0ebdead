//! Entries of `handlers` and `timers`.

use std::time::Duration;

use super::field::FieldSpec;
use super::tree::Spanned;
use crate::diagnostic::Span;

/// Keys and texts with their places.
pub type TextMap = Vec<(Spanned<String>, Spanned<String>)>;

/// What all entries have.
#[derive(Clone, Debug)]
pub struct EntrySpec {
    /// The whole entry.
    pub span: Span,
    /// `fn`.
    pub function: Spanned<String>,
    /// `id`.
    pub id: Option<Spanned<String>>,
    /// `field`, key by key.
    pub field: Option<Spanned<Vec<String>>>,
    /// `retries`.
    pub retries: Option<Spanned<u32>>,
    /// `timeout`.
    pub timeout: Option<Spanned<Duration>>,
    /// `backoff`.
    pub backoff: Option<Spanned<Duration>>,
    /// `errors`.
    pub errors: Option<Spanned<String>>,
    /// `labels`.
    pub labels: Vec<CriterionSpec>,
    /// `annotations`.
    pub annotations: Vec<CriterionSpec>,
    /// `blocking`.
    pub blocking: Option<Spanned<bool>>,
    /// `returns`.
    pub returns: Option<FieldSpec>,
}

/// A key of `labels` or `annotations` with its condition.
#[derive(Clone, Debug)]
pub struct CriterionSpec {
    /// The label or annotation.
    pub key: Spanned<String>,
    /// The text, or `present` or `absent`.
    pub criterion: crate::model::Criterion,
    /// Where the condition stands.
    pub span: Span,
}

/// An entry of `handlers`.
#[derive(Clone, Debug)]
pub struct HandlerSpec {
    /// `type`, one or several.
    pub types: Vec<Spanned<String>>,
    /// The rest.
    pub entry: EntrySpec,
}

/// An entry of `timers`.
#[derive(Clone, Debug)]
pub struct TimerSpec {
    /// `interval`.
    pub interval: Option<Spanned<Duration>>,
    /// `idle`.
    pub idle: Option<Spanned<Duration>>,
    /// `sharp`.
    pub sharp: Option<Spanned<bool>>,
    /// `initialDelay`.
    pub initial_delay: Option<Spanned<Duration>>,
    /// The rest.
    pub entry: EntrySpec,
}
