//! Entries of `resources`.

use super::field::{FieldSpec, NamedField};
use super::handler::{HandlerSpec, TimerSpec};
use super::tree::{Node, Spanned};
use crate::diagnostic::Span;

/// A watched kind.
#[derive(Clone, Debug)]
pub struct ResourceSpec {
    /// The whole entry.
    pub span: Span,
    /// The comment above it.
    pub comment: Option<String>,
    /// `apiVersion`.
    pub api_version: Spanned<String>,
    /// `kind`.
    pub kind: Spanned<String>,
    /// `plural`.
    pub plural: Option<Spanned<String>>,
    /// `singular`.
    pub singular: Option<Spanned<String>>,
    /// `listKind`.
    pub list_kind: Option<Spanned<String>>,
    /// `module`.
    pub module: Option<Spanned<String>>,
    /// `shortNames`.
    pub short_names: Vec<Spanned<String>>,
    /// `scope`.
    pub scope: Option<Spanned<String>>,
    /// `types`.
    pub types: Vec<NamedField>,
    /// `spec`.
    pub spec: Option<FieldSpec>,
    /// `status`.
    pub status: Option<FieldSpec>,
    /// `statusSubresource`.
    pub status_subresource: Option<Spanned<bool>>,
    /// `preserveUnknownFields`.
    pub preserve_unknown_fields: Option<Spanned<String>>,
    /// `handlers`.
    pub handlers: Vec<HandlerSpec>,
    /// `timers`.
    pub timers: Vec<TimerSpec>,
    /// `samples`.
    pub samples: Vec<SampleSpec>,
    /// Keys that only own kinds take and that are there, with their places.
    pub own_keys: Vec<Spanned<String>>,
}

/// A sample object.
#[derive(Clone, Debug)]
pub struct SampleSpec {
    /// The whole entry.
    pub node: Node,
    /// `then`.
    pub then: Vec<Node>,
}
