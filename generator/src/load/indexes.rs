//! Entries of `indexes`.

use super::handler::entry;
use super::keys::INDEX;
use super::reader::{Faults, mapping, sequence, text};
use crate::spec::{IndexSpec, Mapping, Node, RustTypeSpec};

pub(super) fn indexes(node: Option<&Node>, faults: &mut Faults) -> Vec<IndexSpec> {
    sequence(node, "`indexes`", faults)
        .iter()
        .filter_map(|node| index(node, faults))
        .collect()
}

fn index(node: &Node, faults: &mut Faults) -> Option<IndexSpec> {
    let keys = mapping(node, &INDEX, faults)?;
    // `value` is no criterion here.
    let entry = entry(node, keys, "the index", &[], faults);
    Some(IndexSpec {
        key: rust_type(keys, "key", faults),
        value: rust_type(keys, "value", faults),
        entry: entry?,
    })
}

fn rust_type(keys: &Mapping, key: &str, faults: &mut Faults) -> Option<RustTypeSpec> {
    let node = keys.get(key)?;
    Some(RustTypeSpec {
        text: text(node, &format!("`{key}`"), faults)?,
        verbatim: node.as_scalar().and_then(|scalar| scalar.verbatim),
    })
}
