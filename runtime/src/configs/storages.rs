//! Where state is kept on objects: under which names now, and under which ones formerly.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::conventions;
use super::diffbase::DiffBaseStorages;
use super::persistence::{Former, PersistenceSettings};
use super::progress::{ProgressStorages, Record};
use crate::structs::bodies::Body;
use crate::structs::fields::FieldPath;
use crate::structs::finalizers;
use crate::structs::patches::compose;
use crate::structs::state_patches::StatePatch;

/// Where state is kept on objects.
#[derive(Clone, Debug)]
pub(crate) struct Storages {
    pub(crate) prefix: String,
    pub(crate) finalizer: String,
    pub(crate) progress: ProgressStorages,
    pub(crate) diffbase: DiffBaseStorages,
    former: Arc<[Former]>,
}

impl Storages {
    pub(crate) fn new(settings: &PersistenceSettings) -> Self {
        let PersistenceSettings {
            prefix,
            finalizer,
            progress,
            diffbase,
            formerly,
        } = settings;
        // A finalizer may have been renamed alone.
        let former_prefixes = || {
            formerly
                .iter()
                .map(|former| former.prefix.as_str())
                .filter(|former| former != prefix)
        };
        Self {
            prefix: prefix.clone(),
            finalizer: finalizer.clone(),
            progress: ProgressStorages::new(prefix, progress, former_prefixes()),
            diffbase: DiffBaseStorages::new(prefix, diffbase, former_prefixes()),
            former: formerly.as_slice().into(),
        }
    }

    /// The essence of a state of an object, without what the operator itself keeps there.
    pub(crate) fn essence(&self, body: &Body, extras: &[FieldPath]) -> Value {
        let mut essence = self.diffbase.essence(body, extras);
        self.progress.clear(&mut essence);
        essence
    }

    /// The finalizers under other names than now.
    pub(crate) fn former_finalizers(&self) -> impl Iterator<Item = &str> {
        self.former
            .iter()
            .map(|former| former.finalizer.as_str())
            .filter(|former| *former != self.finalizer)
    }

    /// Our finalizers that the object has, of now and former ones.
    pub(crate) fn holders<'a>(&'a self, body: &'a Body) -> impl Iterator<Item = &'a str> {
        std::iter::once(self.finalizer.as_str())
            .chain(self.former_finalizers())
            .filter(|finalizer| finalizers::is_present(body, finalizer))
    }

    /// Whether the object has any of our finalizers: each of them holds it.
    pub(crate) fn is_held(&self, body: &Body) -> bool {
        self.holders(body).next().is_some()
    }

    /// Whether the object has finalizers that are none of ours: it stays after we have let it go.
    pub(crate) fn is_held_by_others(&self, body: &Body) -> bool {
        body.finalizers()
            .any(|finalizer| self.holders(body).all(|ours| ours != finalizer))
    }

    /// Whether the object has our finalizer of now, and no former one that is to be exchanged for it.
    pub(crate) fn is_settled(&self, body: &Body) -> bool {
        finalizers::is_present(body, &self.finalizer) && !self.is_held_formerly(body)
    }

    fn is_held_formerly(&self, body: &Body) -> bool {
        self.former_finalizers()
            .any(|finalizer| finalizers::is_present(body, finalizer))
    }

    /// The JSON patch after which the object has our finalizer of now and no former one; `None` if it is so.
    pub(crate) fn hold(&self, body: &Body) -> Option<Vec<Value>> {
        let former: Vec<&str> = self.former_finalizers().collect();
        finalizers::exchange(body, &self.finalizer, &former)
    }

    /// The JSON patch that takes all our finalizers away; `None` if there is none.
    pub(crate) fn release(&self, body: &Body) -> Option<Vec<Value>> {
        let all: Vec<&str> = std::iter::once(self.finalizer.as_str())
            .chain(self.former_finalizers())
            .collect();
        finalizers::remove(body, &all)
    }

    /// Whether the state on the object was copied from another object: it names another uid (B-028).
    pub(crate) fn is_copied(&self, body: &Body) -> bool {
        std::iter::once(self.prefix.as_str())
            .chain(self.former_prefixes())
            .find_map(|prefix| conventions::is_copied(prefix, body))
            .unwrap_or_default()
    }

    /// The fields beyond the common ones that the stored diff-base covers; `None` if nobody noted them down.
    pub(crate) fn covered_fields(&self, body: &Body) -> Option<Vec<String>> {
        std::iter::once(self.prefix.as_str())
            .chain(self.former_prefixes())
            .find_map(|prefix| conventions::covered_fields(prefix, body))
    }

    /// Whether the object has state under a former name.
    pub(crate) fn has_former_state(&self, body: &Body) -> bool {
        self.former_keys(body).next().is_some()
    }

    /// Adds the removal of all state under former names to a merge patch.
    pub(crate) fn purge_former(&self, merge: &mut Map<String, Value>, body: &Body) {
        let mut patch = StatePatch::default();
        for key in self.former_keys(body) {
            patch.annotation(key, None);
        }
        compose(merge, patch.into_merge());
    }

    fn former_prefixes(&self) -> impl Iterator<Item = &str> {
        self.former
            .iter()
            .map(|former| former.prefix.as_str())
            .filter(|former| *former != self.prefix)
    }

    /// The annotations that are state under former names. Other annotations with a former prefix are somebody's content;
    /// for as long as there are any, the marker stays, so that they are not taken for news.
    fn former_keys<'a>(&'a self, body: &'a Body) -> impl Iterator<Item = String> + use<'a> {
        let inherits = conventions::inherits_annotations(body);
        self.former_prefixes().flat_map(move |prefix| {
            let marker = conventions::marker_key(prefix);
            let is_state = |key: &str, text: &str| {
                conventions::is_note(prefix, key, body)
                    || (Record::is_record(text) && (!inherits || conventions::is_for_inheritors(key)))
            };
            let (state, rest): (Vec<_>, Vec<_>) =
                conventions::annotations_under(prefix, body).partition(|(key, text)| is_state(key, text));
            let marker_goes = !inherits && !rest.is_empty() && rest.iter().all(|(key, _)| *key == marker);
            let state = state.into_iter().map(|(key, _)| key.to_owned());
            state.chain(marker_goes.then_some(marker))
        })
    }
}

#[cfg(test)]
#[path = "storages_tests.rs"]
mod tests;
