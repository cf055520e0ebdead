//! What became of an object, from its creation on.

use serde_json::Value;

use crate::http::lock;
use crate::store::Action;
use crate::{Resource, Server, place};

/// What happened to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// It was created.
    Added,
    /// It was changed.
    Modified,
    /// It was removed.
    Deleted,
}

/// One change of an object.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Change {
    /// What happened.
    pub kind: ChangeKind,
    /// The object after that; of a removed one the last state, under the version of its removal.
    pub object: Value,
}

impl Server {
    /// Every change of the objects of this name, oldest first, in the version asked for. It does not end with
    /// [compaction](crate::Faults::compact), but with the 10,000th later change of the kind, or as
    /// [`keep_changes`](Self::keep_changes) has it.
    pub fn history(&self, resource: Resource<'_>, namespace: Option<&str>, name: &str) -> Vec<Change> {
        let cluster = lock(&self.api.cluster);
        let Ok(place) = place(&cluster, resource, namespace) else {
            return Vec::new();
        };
        let changes = cluster.store.history(&place.kind.key(), &place.namespace, name);
        let shown = changes.iter().map(|change| Change {
            kind: match change.action {
                Action::Added => ChangeKind::Added,
                Action::Modified => ChangeKind::Modified,
                Action::Deleted => ChangeKind::Deleted,
            },
            object: Value::clone(&place.present(&change.object)),
        });
        shown.collect()
    }

    /// How many changes of each kind are kept from now on. Fewer than the 10,000 of the beginning are for large objects
    /// that change all the time; a watcher that falls further behind gets "too old".
    pub fn keep_changes(&self, count: usize) {
        lock(&self.api.cluster).store.kept = count;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_more_changes_are_kept_than_asked_for() {
        let server = Server::new();
        let maps = Resource::new("", "v1", "configmaps");
        let change = |number: usize| {
            let data = json!({"number": number.to_string()});
            let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data});
            server.apply(map).expect("the object is well-formed");
        };
        (0..5).for_each(change);
        assert_eq!(server.history(maps, Some("default"), "a").len(), 5);
        server.keep_changes(2);
        change(5);
        let left = server.history(maps, Some("default"), "a");
        let numbers: Vec<&Value> = left.iter().map(|change| &change.object["data"]["number"]).collect();
        assert_eq!(numbers, ["4", "5"]);
    }
}
