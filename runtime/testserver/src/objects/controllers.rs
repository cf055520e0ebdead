//! What the controllers of a cluster do after each change, at once and in a fixed order.

use std::collections::BTreeSet;

use crate::cluster::Cluster;
use crate::kinds::{Key, crds};
use crate::objects::deletion::is_deleted;
use crate::objects::writing::name_of;
use crate::store::{Action, Change};

/// Something that is deleted with what is in it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Container {
    Namespace(String),
    Definition(String),
}

impl Cluster {
    /// Lets the controllers react to what changed, until nothing more does.
    pub(crate) fn reconcile(&mut self) {
        let mut waiting = BTreeSet::new();
        loop {
            if let Some((key, change)) = self.store.next_fresh() {
                self.collect_garbage(&key, &change);
                waiting.extend(containers(&key, &change));
            } else {
                // Only now, so that a namespace full of objects is looked at once, not after each of them.
                match waiting.pop_first() {
                    Some(Container::Namespace(name)) => self.sync_namespace(&name),
                    Some(Container::Definition(name)) => self.sync_definition(&name),
                    None => return,
                }
            }
        }
    }
}

/// The containers that a change may have brought nearer to their end.
fn containers((group, plural): &Key, change: &Change) -> Vec<Container> {
    let ending = change.action == Action::Deleted || is_deleted(&change.object);
    if !ending {
        return Vec::new();
    }
    let name = || name_of(&change.object);
    let mut found = vec![Container::Definition(format!("{plural}.{group}"))];
    match (group.as_str(), plural.as_str()) {
        ("", "namespaces") => found.push(Container::Namespace(name())),
        (crds::GROUP, crds::PLURAL) => found.push(Container::Definition(name())),
        _ if !change.namespace.is_empty() => found.push(Container::Namespace(change.namespace.clone())),
        _ => {}
    }
    found
}
