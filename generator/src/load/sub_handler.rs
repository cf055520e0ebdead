//! `forEach`.

use super::handler::{entry, head, path};
use super::keys::{SUB_HANDLER, SUB_HANDLER_LACKS};
use super::reader::{Faults, is_empty, mapping_without, missing, sequence};
use crate::diagnostic::{Code, Diagnostic};
use crate::spec::{Mapping, Node, Spanned, SubHandlerSpec};

/// `forEach` of a handler, with the place of the key.
pub(super) fn for_each(keys: &Mapping, faults: &mut Faults) -> Option<Spanned<Vec<SubHandlerSpec>>> {
    let key = keys.entries.iter().find(|entry| entry.key.value == "forEach")?;
    let items = sequence(Some(&key.value), "`forEach`", faults);
    if is_empty(&key.value) || key.value.as_sequence().is_some_and(<[Node]>::is_empty) {
        let fault = Diagnostic::error(Code::Empty, key.key.span, "`forEach` lists no sub-handler");
        faults.push(fault.help("list at least one: [{path: spec.users, key: name, fn: create_user}]"));
    }
    let items = items.iter().filter_map(|node| sub_handler(node, faults)).collect();
    Some(Spanned::new(items, key.key.span))
}

fn sub_handler(node: &Node, faults: &mut Faults) -> Option<SubHandlerSpec> {
    let keys = mapping_without(node, &SUB_HANDLER, SUB_HANDLER_LACKS, faults)?;
    let path_of_items = if let Some(node) = keys.get("path") {
        path(node, "`path`", faults)
    } else {
        let help = "`path` leads to the list, the map or the scalar that it is for: spec.users";
        faults.push(missing(head(node), "path", "the sub-handler").help(help));
        None
    };
    let key = keys.get("key").and_then(|node| path(node, "`key`", faults));
    let below = for_each(keys, faults);
    let entry = entry(node, keys, "the sub-handler", &["value", "old", "new"], faults);
    Some(SubHandlerSpec {
        path: path_of_items?,
        key,
        entry: entry?,
        for_each: below.map_or_else(Vec::new, |below| below.value),
    })
}
