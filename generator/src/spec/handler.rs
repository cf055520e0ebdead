//! Entries of `handlers` and `timers`.

use std::time::Duration;

use super::field::FieldSpec;
use super::tree::Spanned;
use crate::diagnostic::Span;

/// Keys and texts with their places.
pub(crate) type TextMap = Vec<(Spanned<String>, Spanned<String>)>;

/// What all entries have.
#[derive(Clone, Debug)]
pub(crate) struct EntrySpec {
    /// The whole entry.
    pub(crate) span: Span,
    /// `fn`.
    pub(crate) function: Spanned<String>,
    /// `id`.
    pub(crate) id: Option<Spanned<String>>,
    /// `field`, key by key.
    pub(crate) field: Option<Spanned<Vec<String>>>,
    /// `retries`.
    pub(crate) retries: Option<Spanned<u32>>,
    /// `timeout`.
    pub(crate) timeout: Option<Spanned<Duration>>,
    /// `backoff`.
    pub(crate) backoff: Option<Spanned<Duration>>,
    /// `errors`.
    pub(crate) errors: Option<Spanned<String>>,
    /// `labels`.
    pub(crate) labels: Vec<CriterionSpec>,
    /// `annotations`.
    pub(crate) annotations: Vec<CriterionSpec>,
    /// `blocking`.
    pub(crate) blocking: Option<Spanned<bool>>,
    /// `returns`.
    pub(crate) returns: Option<FieldSpec>,
}

/// A key of `labels` or `annotations` with its condition.
#[derive(Clone, Debug)]
pub(crate) struct CriterionSpec {
    /// The label or annotation.
    pub(crate) key: Spanned<String>,
    /// The text, or `present` or `absent`.
    pub(crate) criterion: crate::model::Criterion,
    /// Where the condition stands.
    pub(crate) span: Span,
}

/// An entry of `handlers`.
#[derive(Clone, Debug)]
pub(crate) struct HandlerSpec {
    /// `type`, one or several.
    pub(crate) types: Vec<Spanned<String>>,
    /// The rest.
    pub(crate) entry: EntrySpec,
}

/// An entry of `timers`.
#[derive(Clone, Debug)]
pub(crate) struct TimerSpec {
    /// `interval`.
    pub(crate) interval: Option<Spanned<Duration>>,
    /// `idle`.
    pub(crate) idle: Option<Spanned<Duration>>,
    /// `sharp`.
    pub(crate) sharp: Option<Spanned<bool>>,
    /// `initialDelay`.
    pub(crate) initial_delay: Option<Spanned<Duration>>,
    /// The rest.
    pub(crate) entry: EntrySpec,
}
