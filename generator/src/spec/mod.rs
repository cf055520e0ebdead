//! The YAML as written, with the place of everything: what `load` reads and `lower` resolves.

mod field;
mod handler;
mod operator;
mod resource;
mod scalar;
mod settings;
mod sub_handler;
mod tree;

pub(crate) use field::{FIELD_OPTIONS, FieldForm, FieldOption, FieldSpec, NamedField, OptionValue, TypeExpr, TypeForm};
pub(crate) use handler::{
    CriterionSpec, DaemonSpec, EntrySpec, FiltersSpec, HandlerSpec, IndexSpec, LifeSpec, OptionSpec, RustTypeSpec,
    TextMap, TimerSpec,
};
pub(crate) use operator::{Deploy, Metadata, OperatorSpec, Peering, PeeringSpec, Priority};
pub(crate) use resource::{ResourceSpec, SampleSpec};
pub(crate) use scalar::Reading;
pub(crate) use settings::{
    Background, DIFFBASE_FIELD, Execution, FormerSpec, Networking, PROGRESS_FIELD, Persistence, Posting, Queueing,
    Settings, StorageSpec,
};
pub(crate) use sub_handler::SubHandlerSpec;
pub(crate) use tree::{Content, Entry, Mapping, Node, Scalar, Spanned};

use std::sync::Arc;

use crate::diagnostic::Source;

/// A spec that was read, with its text.
#[derive(Clone, Debug)]
pub struct Document {
    pub(crate) source: Arc<Source>,
    pub(crate) root: Node,
    pub(crate) spec: OperatorSpec,
}

impl Document {
    /// The file's name, as shown in messages.
    #[must_use]
    pub fn file_name(&self) -> &str {
        &self.source.file_name
    }

    /// The file's text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.source.text
    }
}
