//! Indexes: what the types of their keys and values are, and what stands for them in Rust.

/// An index, which entries of one or of several kinds feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexMarker {
    /// Its id.
    pub id: String,
    /// The type that stands for it, such as `ByEngine`.
    pub type_name: String,
    /// The type of its keys.
    pub key: IndexType,
    /// The type of its values.
    pub value: IndexType,
}

/// The Rust type of keys or values, as a text with gaps: how a type is named depends on the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexType {
    /// One after the other.
    pub parts: Vec<TypePart>,
}

/// A piece of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypePart {
    /// The same in every file, such as `std::net::IpAddr` or `<`.
    Text(String),
    /// A type that is generated for a kind.
    Generated {
        /// The module of the kind.
        module: String,
        /// The type.
        name: String,
    },
    /// A type of the author's: its path from the crate's root.
    Own(Vec<String>),
}

impl IndexType {
    /// The type in a file that calls a generated type of a module by what `name` says.
    pub fn rust(&self, mut name: impl FnMut(&str, &str) -> String) -> String {
        let parts = self.parts.iter().map(|part| match part {
            TypePart::Text(text) => text.clone(),
            TypePart::Generated { module, name: inner } => name(module, inner),
            TypePart::Own(path) => format!("crate::{}", path.join("::")),
        });
        parts.collect()
    }

    /// Whether it is `()`.
    #[must_use]
    pub fn is_unit(&self) -> bool {
        self.parts == [TypePart::Text("()".to_owned())]
    }

    /// The types of the author's in it.
    pub fn own(&self) -> impl Iterator<Item = &[String]> {
        self.parts.iter().filter_map(|part| match part {
            TypePart::Own(path) => Some(path.as_slice()),
            TypePart::Text(_) | TypePart::Generated { .. } => None,
        })
    }
}

impl std::fmt::Display for IndexType {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.rust(|_, name| name.to_owned()))
    }
}
