//! Fields of a schema.

use super::tree::{Node, Spanned};
use crate::diagnostic::Span;

/// All options of a field.
pub const FIELD_OPTIONS: &[&str] = &[
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
pub struct FieldSpec {
    /// Its place.
    pub span: Span,
    /// The comment above it.
    pub comment: Option<String>,
    /// Which of the forms.
    pub form: FieldForm,
    /// `required=true` and the like.
    pub options: Vec<FieldOption>,
}

/// The forms of a field.
#[derive(Clone, Debug)]
pub enum FieldForm {
    /// A type, on one line or in `$type`.
    Type(TypeExpr),
    /// A nested object.
    Fields(Vec<NamedField>),
    /// `openAPIV3Schema`.
    Raw(Node),
}

/// A field of an object.
#[derive(Clone, Debug)]
pub struct NamedField {
    /// On the wire.
    pub name: Spanned<String>,
    /// What it is.
    pub field: FieldSpec,
}

/// A type as written.
#[derive(Clone, Debug)]
pub struct TypeExpr {
    /// Its place.
    pub span: Span,
    /// Which form.
    pub form: TypeForm,
}

/// The forms of a type.
#[derive(Clone, Debug)]
pub enum TypeForm {
    /// `string`, or a name out of `types`.
    Named(String),
    /// `[]TYPE`.
    List(Box<TypeExpr>),
    /// `map[string]TYPE`.
    Map(Box<TypeExpr>),
}

/// An option of a field; its key is one of `FIELD_OPTIONS`.
#[derive(Clone, Debug)]
pub struct FieldOption {
    /// The key.
    pub key: Spanned<String>,
    /// The value.
    pub value: OptionValue,
}

/// The value of an option.
#[derive(Clone, Debug)]
pub enum OptionValue {
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
    pub fn span(&self) -> Span {
        match self {
            Self::Line { span, .. } => *span,
            Self::Node(node) => node.span,
        }
    }
}

impl FieldSpec {
    /// An option by its key.
    #[must_use]
    pub fn option(&self, key: &str) -> Option<&FieldOption> {
        self.options.iter().find(|option| option.key.value == key)
    }
}
