//! Entries of `resources`.

use super::field::{FieldSpec, NamedField};
use super::handler::{DaemonSpec, HandlerSpec, IndexSpec, TimerSpec};
use super::tree::{Node, Spanned};

/// A watched kind.
#[derive(Clone, Debug)]
pub(crate) struct ResourceSpec {
    /// The comment above it.
    pub(crate) comment: Option<String>,
    /// `apiVersion`.
    pub(crate) api_version: Spanned<String>,
    /// `kind`.
    pub(crate) kind: Spanned<String>,
    /// `plural`.
    pub(crate) plural: Option<Spanned<String>>,
    /// `singular`.
    pub(crate) singular: Option<Spanned<String>>,
    /// `listKind`.
    pub(crate) list_kind: Option<Spanned<String>>,
    /// `module`.
    pub(crate) module: Option<Spanned<String>>,
    /// `shortNames`.
    pub(crate) short_names: Vec<Spanned<String>>,
    /// `scope`.
    pub(crate) scope: Option<Spanned<String>>,
    /// `types`.
    pub(crate) types: Vec<NamedField>,
    /// `spec`.
    pub(crate) spec: Option<FieldSpec>,
    /// `status`.
    pub(crate) status: Option<FieldSpec>,
    /// `statusSubresource`.
    pub(crate) status_subresource: Option<Spanned<bool>>,
    /// `preserveUnknownFields`.
    pub(crate) preserve_unknown_fields: Option<Spanned<String>>,
    /// `handlers`.
    pub(crate) handlers: Vec<HandlerSpec>,
    /// `timers`.
    pub(crate) timers: Vec<TimerSpec>,
    /// `daemons`.
    pub(crate) daemons: Vec<DaemonSpec>,
    /// `indexes`.
    pub(crate) indexes: Vec<IndexSpec>,
    /// `memo`.
    pub(crate) memo: Option<Spanned<String>>,
    /// `samples`.
    pub(crate) samples: Vec<SampleSpec>,
    /// Keys that only own kinds take and that are there, with their places.
    pub(crate) own_keys: Vec<Spanned<String>>,
}

/// A sample object.
#[derive(Clone, Debug)]
pub(crate) struct SampleSpec {
    /// The whole entry.
    pub(crate) node: Node,
    /// `then`.
    pub(crate) then: Vec<Node>,
}
