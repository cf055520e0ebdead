//! The YAML tree, with the place of every node.

use crate::diagnostic::Span;

/// A value and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spanned<T> {
    /// The value.
    pub(crate) value: T,
    /// Its place.
    pub(crate) span: Span,
}

impl<T> Spanned<T> {
    /// A value at a place.
    pub(crate) fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }
}

/// A node of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// From its first to its last byte.
    pub(crate) span: Span,
    /// What stands there.
    pub(crate) content: Content,
    /// The comment directly above an item of a list.
    pub(crate) comment: Option<String>,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Text of any kind.
    Scalar(Scalar),
    /// A list.
    Sequence(Vec<Node>),
    /// Keys and values.
    Mapping(Mapping),
}

/// Text as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scalar {
    /// After unquoting.
    pub(crate) text: String,
    /// Without quotes, so that it may be a number, a boolean or null.
    pub(crate) plain: bool,
    /// Where the first character of `text` stands if the text stands in the file as it is.
    pub(crate) verbatim: Option<usize>,
}

/// Keys and values, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// The pairs.
    pub(crate) entries: Vec<Entry>,
    /// In braces.
    pub(crate) flow: bool,
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The key, unquoted.
    pub(crate) key: Spanned<String>,
    /// The value.
    pub(crate) value: Node,
    /// The comment directly above the key.
    pub(crate) comment: Option<String>,
}

impl Mapping {
    /// The value of a key.
    #[must_use]
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.entries
            .iter()
            .find(|entry| entry.key.value == key)
            .map(|entry| &entry.value)
    }
}

impl Node {
    /// The pairs of a mapping.
    #[must_use]
    pub(crate) fn as_mapping(&self) -> Option<&Mapping> {
        match &self.content {
            Content::Mapping(mapping) => Some(mapping),
            _ => None,
        }
    }

    /// Whether it is written as what comes from the environment.
    #[must_use]
    pub(crate) fn names_variable(&self) -> bool {
        self.as_mapping().is_some_and(|mapping| mapping.get("env").is_some())
    }

    /// The items of a list.
    #[must_use]
    pub(crate) fn as_sequence(&self) -> Option<&[Node]> {
        match &self.content {
            Content::Sequence(items) => Some(items),
            _ => None,
        }
    }

    /// The text of a scalar, whatever it may stand for.
    #[must_use]
    pub(crate) fn as_scalar(&self) -> Option<&Scalar> {
        match &self.content {
            Content::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// The deepest node on a path of keys and indices that is there.
    #[must_use]
    pub(crate) fn nearest<'n>(&'n self, path: &[String]) -> &'n Node {
        let Some((first, rest)) = path.split_first() else {
            return self;
        };
        let next = match &self.content {
            Content::Mapping(mapping) => mapping.get(first),
            Content::Sequence(items) => first.parse::<usize>().ok().and_then(|index| items.get(index)),
            Content::Scalar(_) => None,
        };
        next.map_or(self, |node| node.nearest(rest))
    }

    /// What it is, for messages.
    #[must_use]
    pub(crate) fn kind(&self) -> &'static str {
        match &self.content {
            Content::Scalar(scalar) => scalar.reading().kind(),
            Content::Sequence(_) => "a list",
            Content::Mapping(_) => "a mapping",
        }
    }
}
