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
    /// [compaction](crate::Faults::compact), but with the 10,000th later change of the kind.
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
}
