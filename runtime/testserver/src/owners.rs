//! Who depends on whom: an index of owner references by the identity of the owner.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use crate::kinds::Key;
use crate::store::Spot;

/// The dependents of every owner that any object names, whether the owner exists or not.
#[derive(Debug, Default)]
pub(crate) struct Owners {
    dependents: HashMap<String, BTreeSet<Spot>>,
}

impl Owners {
    /// The objects that name this identity as an owner.
    pub(crate) fn dependents(&self, uid: &str) -> Vec<Spot> {
        let found = self.dependents.get(uid).into_iter().flatten();
        found.cloned().collect()
    }

    /// Keeps the index after a change of an object.
    pub(crate) fn note(&mut self, key: &Key, before: Option<&Value>, after: Option<&Value>) {
        let (old, new) = (before.map_or(&[][..], references), after.map_or(&[][..], references));
        if old == new {
            return;
        }
        let Some(spot) = before.or(after).map(|object| Spot::of(key, object)) else {
            return;
        };
        for uid in old.iter().filter_map(uid) {
            if let Some(dependents) = self.dependents.get_mut(uid) {
                dependents.remove(&spot);
                if dependents.is_empty() {
                    self.dependents.remove(uid);
                }
            }
        }
        for uid in new.iter().filter_map(uid) {
            self.dependents.entry(uid.to_owned()).or_default().insert(spot.clone());
        }
    }
}

/// The owner references of an object.
pub(crate) fn references(object: &Value) -> &[Value] {
    object["metadata"]["ownerReferences"]
        .as_array()
        .map_or(&[], Vec::as_slice)
}

/// The identity in an owner reference.
pub(crate) fn uid(reference: &Value) -> Option<&str> {
    reference["uid"].as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn dependents_are_found_by_the_identity_of_their_owners() {
        let key: Key = (String::new(), "pods".into());
        let mut owners = Owners::default();
        let of = |uids: &[&str]| {
            let references: Vec<_> = uids.iter().map(|uid| json!({"uid": uid})).collect();
            json!({"metadata": {"namespace": "here", "name": "a", "ownerReferences": references}})
        };
        let found = |owners: &Owners| ["1", "2"].map(|uid| owners.dependents(uid).len());
        owners.note(&key, None, Some(&of(&["1", "2"])));
        assert_eq!(found(&owners), [1, 1]);
        owners.note(&key, Some(&of(&["1", "2"])), Some(&of(&["2"])));
        assert_eq!(found(&owners), [0, 1]);
        owners.note(&key, Some(&of(&["2"])), None);
        assert!(owners.dependents.is_empty());
    }
}
