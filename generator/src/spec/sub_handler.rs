//! Items of `forEach`.

use super::handler::EntrySpec;
use super::tree::Spanned;

/// An item of `forEach`: a sub-handler for each item of a list, each entry of a map, or a scalar.
#[derive(Clone, Debug)]
pub(crate) struct SubHandlerSpec {
    /// `path`, key by key: from the object's root, or within the item of the sub-handler above.
    pub(crate) path: Spanned<Vec<String>>,
    /// `key`, key by key, within the item.
    pub(crate) key: Option<Spanned<Vec<String>>>,
    /// The rest; without an id of its own.
    pub(crate) entry: EntrySpec,
    /// `forEach` within the item.
    pub(crate) for_each: Vec<SubHandlerSpec>,
}

impl SubHandlerSpec {
    /// Its own entry, and those of the sub-handlers below it.
    pub(crate) fn entries(&self) -> Vec<&EntrySpec> {
        let below = self.for_each.iter().flat_map(Self::entries);
        std::iter::once(&self.entry).chain(below).collect()
    }
}
