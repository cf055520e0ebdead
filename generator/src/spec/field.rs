//! Fields of a schema.

use super::tree::{Node, Spanned};
use crate::diagnostic::Span;

/// All options of a field.
pub(crate) const FIELD_OPTIONS: &[&str] = &[
    "required",
    "default",
    "nullable",
    "immutable",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "enum",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "listType",
    "listMapKey",
    "mapType",
    "rule",
    "message",
    "description",
    "example",
    "deprecated",
    "rust",
    "renamedFrom",
];

/// What stands at the place of a schema.
#[derive(Clone, Debug)]
pub(crate) struct FieldSpec {
    /// Its place.
    pub(crate) span: Span,
    /// The comment above it.
    pub(crate) comment: Option<String>,
    /// Which of the forms.
    pub(crate) form: FieldForm,
    /// `required=true` and the like.
    pub(crate) options: Vec<FieldOption>,
}

/// The forms of a field.
#[derive(Clone, Debug)]
pub(crate) enum FieldForm {
    /// A type, on one line or in `$type`.
    Type(TypeExpr),
    /// A nested object.
    Fields(Vec<NamedField>),
    /// `openAPIV3Schema`.
    Raw(Node),
}

/// A field of an object.
#[derive(Clone, Debug)]
pub(crate) struct NamedField {
    /// On the wire.
    pub(crate) name: Spanned<String>,
    /// What it is.
    pub(crate) field: FieldSpec,
}

/// A type as written.
#[derive(Clone, Debug)]
pub(crate) struct TypeExpr {
    /// Its place.
    pub(crate) span: Span,
    /// Which form.
    pub(crate) form: TypeForm,
}

/// The forms of a type.
#[derive(Clone, Debug)]
pub(crate) enum TypeForm {
    /// `string`, or a name out of `types`.
    Named(String),
    /// `[]TYPE`.
    List(Box<TypeExpr>),
    /// `map[string]TYPE`.
    Map(Box<TypeExpr>),
}

/// An option of a field; its key is one of `FIELD_OPTIONS`.
#[derive(Clone, Debug)]
pub(crate) struct FieldOption {
    /// The key.
    pub(crate) key: Spanned<String>,
    /// The value.
    pub(crate) value: OptionValue,
}

/// The value of an option.
#[derive(Clone, Debug)]
pub(crate) enum OptionValue {
    /// On one line, after `=`.
    Line {
        /// Without its quotes.
        text: String,
        /// In double quotes.
        quoted: bool,
        /// Its place.
        span: Span,
    },
    /// In the long form.
    Node(Node),
}

impl OptionValue {
    /// Its place.
    #[must_use]
    pub(crate) fn span(&self) -> Span {
        match self {
            Self::Line { span, .. } => *span,
            Self::Node(node) => node.span,
        }
    }
}

impl FieldSpec {
    /// An option by its key.
    #[must_use]
    pub(crate) fn option(&self, key: &str) -> Option<&FieldOption> {
        self.options.iter().find(|option| option.key.value == key)
    }
}
