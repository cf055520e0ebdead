//! Garbage collection by owner references, as the controller of a cluster does it.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::cluster::{Cluster, Place};
use crate::kinds::{Key, Kind};
use crate::objects::delete_options::{DeleteOptions, FOREGROUND, ORPHAN, Propagation};
use crate::objects::deletion::{finalizers, is_deleted, set_finalizers};
use crate::objects::writing::How;
use crate::owners::{references, uid};
use crate::store::{Action, Change, Spot};

/// The owners of one object, by what has become of them.
#[derive(Debug, Default)]
struct Owners {
    /// How many are there to stay.
    solid: usize,
    /// The references to owners that are not there.
    dangling: Vec<Value>,
    /// The references to owners that wait for their dependents to be gone.
    waiting: Vec<Value>,
}

/// An owner reference that cannot be judged: of a kind that is not served, or from outside into a namespace.
#[derive(Debug)]
struct Unclear;

impl Cluster {
    /// Does what follows from one change.
    pub(crate) fn collect_garbage(&mut self, key: &Key, change: &Change) {
        let (object, previous) = (&*change.object, change.previous.as_deref());
        let identity = object["metadata"]["uid"].as_str().unwrap_or_default();
        let (now, before) = (references(object), previous.map_or(&[][..], references));
        if change.action == Action::Deleted {
            for dependent in self.store.owners.dependents(identity) {
                self.judge(&dependent);
            }
            self.release(before, &change.namespace);
            return;
        }
        if !now.is_empty() && now != before {
            self.report_strange_owners(object);
            self.judge(&Spot::of(key, object));
        }
        if now != before {
            self.release(before, &change.namespace);
        }
        let starts = |finalizer| waits(object, finalizer) && !previous.is_some_and(|object| waits(object, finalizer));
        if starts(ORPHAN) {
            self.orphan_dependents(&Spot::of(key, object), identity);
        }
        if starts(FOREGROUND) {
            for dependent in self.store.owners.dependents(identity) {
                self.judge(&dependent);
            }
            self.judge(&Spot::of(key, object));
        }
    }

    /// Deletes an object whose owners are gone or going, and frees it from those that are when others stay.
    fn judge(&mut self, spot: &Spot) {
        let Some(item) = self.store.get(&spot.key, &spot.namespace, &spot.name).cloned() else {
            return;
        };
        let Some(kind) = self.kind_of(spot) else {
            return;
        };
        if waits(&item, FOREGROUND) {
            self.finish_foreground(&kind, &item);
            return;
        }
        // Events are never collected.
        if is_deleted(&item) || references(&item).is_empty() || kind.plural == "events" {
            return;
        }
        let Ok(owners) = self.classify(&kind, &item) else {
            return;
        };
        let gone = |reference: &Value| owners.dangling.contains(reference) || owners.waiting.contains(reference);
        if owners.solid > 0 {
            let kept: Vec<_> = references(&item)
                .iter()
                .filter(|&reference| !gone(reference))
                .cloned()
                .collect();
            self.rewrite(&kind, &item, with_references(&item, &kept));
            return;
        }
        let dependents = self.dependents_of(&item);
        let mut propagation = propagation_of(&item);
        if !owners.waiting.is_empty() && !dependents.is_empty() {
            if dependents.iter().any(|(_, dependent)| waits(dependent, FOREGROUND)) {
                // Objects that own each other would wait for each other.
                let freed: Vec<_> = references(&item).iter().map(unblocked).collect();
                self.rewrite(&kind, &item, with_references(&item, &freed));
            }
            propagation = Propagation::Foreground;
        }
        let version = kind.storage.clone();
        let place = Place {
            kind,
            version,
            namespace: spot.namespace.clone(),
        };
        // The object was there a moment ago.
        let _ = self.delete_alone(&place, &spot.name, &DeleteOptions::propagating(propagation));
    }

    /// Lets an owner go that was waiting for its dependents, unless some of them still hold it.
    fn finish_foreground(&mut self, kind: &Arc<Kind>, owner: &Arc<Value>) {
        let identity = owner["metadata"]["uid"].as_str();
        let blocks = |reference: &Value| uid(reference) == identity && reference["blockOwnerDeletion"] == true;
        let dependents = self.dependents_of(owner);
        if dependents
            .iter()
            .any(|(_, object)| references(object).iter().any(blocks))
        {
            return;
        }
        self.drop_finalizer(kind, owner, FOREGROUND);
    }

    fn orphan_dependents(&mut self, owner: &Spot, identity: &str) {
        for dependent in self.store.owners.dependents(identity) {
            let stored = self
                .store
                .get(&dependent.key, &dependent.namespace, &dependent.name)
                .cloned();
            let (Some(stored), Some(kind)) = (stored, self.kind_of(&dependent)) else {
                continue;
            };
            let others = references(&stored)
                .iter()
                .filter(|reference| uid(reference) != Some(identity));
            let object = with_references(&stored, &others.cloned().collect::<Vec<_>>());
            self.rewrite(&kind, &stored, object);
        }
        let stored = self.store.get(&owner.key, &owner.namespace, &owner.name).cloned();
        if let (Some(stored), Some(kind)) = (stored, self.kind_of(owner)) {
            self.drop_finalizer(&kind, &stored, ORPHAN);
        }
    }

    fn drop_finalizer(&mut self, kind: &Arc<Kind>, stored: &Arc<Value>, finalizer: &str) {
        let mut object = Value::clone(stored);
        let others: Vec<_> = finalizers(stored)
            .into_iter()
            .filter(|name| name != finalizer)
            .collect();
        set_finalizers(&mut object, &others);
        self.rewrite(kind, stored, object);
    }

    /// Looks again at owners that may have waited for an object that named them.
    fn release(&mut self, references: &[Value], namespace: &str) {
        for reference in references {
            if let Ok(Some((spot, owner))) = self.owner(reference, namespace)
                && waits(&owner, FOREGROUND)
                && let Some(kind) = self.kind_of(&spot)
            {
                self.finish_foreground(&kind, &owner);
            }
        }
    }

    fn classify(&self, kind: &Kind, item: &Value) -> Result<Owners, Unclear> {
        let namespace = item["metadata"]["namespace"].as_str().unwrap_or_default();
        let mut owners = Owners::default();
        for reference in references(item) {
            if !kind.namespaced && self.kinds.of_object(reference).is_some_and(|(kind, _)| kind.namespaced) {
                return Err(Unclear);
            }
            match self.owner(reference, namespace)? {
                None => owners.dangling.push(reference.clone()),
                Some((_, owner)) if waits(&owner, FOREGROUND) => owners.waiting.push(reference.clone()),
                Some(_) => owners.solid += 1,
            }
        }
        Ok(owners)
    }

    /// The owner that a reference in a namespace means, if it exists.
    fn owner(&self, reference: &Value, namespace: &str) -> Result<Option<(Spot, Arc<Value>)>, Unclear> {
        let (kind, _) = self.kinds.of_object(reference).ok_or(Unclear)?;
        let spot = Spot {
            key: kind.key(),
            namespace: if kind.namespaced {
                namespace.to_owned()
            } else {
                String::new()
            },
            name: reference["name"].as_str().unwrap_or_default().to_owned(),
        };
        let found = self.store.get(&spot.key, &spot.namespace, &spot.name);
        let found = found
            .filter(|object| object["metadata"]["uid"].as_str() == uid(reference))
            .cloned();
        Ok(found.map(|owner| (spot, owner)))
    }

    fn dependents_of(&self, object: &Value) -> Vec<(Spot, Arc<Value>)> {
        let identity = object["metadata"]["uid"].as_str().unwrap_or_default();
        let spots = self.store.owners.dependents(identity).into_iter();
        spots
            .filter_map(|spot| {
                let object = self.store.get(&spot.key, &spot.namespace, &spot.name).cloned()?;
                Some((spot, object))
            })
            .collect()
    }

    fn kind_of(&self, spot: &Spot) -> Option<Arc<Kind>> {
        self.kinds.get(&spot.key.0, &spot.key.1).cloned()
    }

    /// Whether the owner that is meant lives in a namespace, but not in this one.
    fn is_elsewhere(&self, reference: &Value, namespace: &str) -> bool {
        let Some((kind, _)) = self.kinds.of_object(reference).filter(|(kind, _)| kind.namespaced) else {
            return false;
        };
        // Only for an owner that is not where it should be is it worth to look at all others.
        let missing = !matches!(self.owner(reference, namespace), Ok(Some(_)));
        missing
            && self
                .store
                .list(&kind.key(), None)
                .any(|owner| owner["metadata"]["uid"].as_str() == uid(reference))
    }

    /// Warns with an event of owners that live where the object cannot own them.
    fn report_strange_owners(&mut self, object: &Value) {
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
        let strange = references(object)
            .iter()
            .find(|reference| self.is_elsewhere(reference, namespace));
        let Some(reference) = strange else {
            return;
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let message = format!(
            "ownerRef [{}/{}, namespace: {namespace}, name: {}, uid: {}] does not exist in namespace {namespace:?}",
            text(&reference["apiVersion"]),
            text(&reference["kind"]),
            text(&reference["name"]),
            text(&reference["uid"]),
        );
        let (now, place) = (self.now(), if namespace.is_empty() { "default" } else { namespace });
        let name = format!(
            "{}.{:x}",
            text(&object["metadata"]["name"]),
            self.timestamp().as_nanosecond()
        );
        let mut involved = json!({
            "apiVersion": object["apiVersion"], "kind": object["kind"],
            "name": object["metadata"]["name"], "uid": object["metadata"]["uid"],
        });
        if !namespace.is_empty() {
            involved["namespace"] = json!(namespace);
        }
        let event = json!({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": place},
            "involvedObject": involved, "reason": "OwnerRefInvalidNamespace", "message": message, "type": "Warning",
            "source": {"component": "garbage-collector-controller"}, "reportingComponent": "",
            "reportingInstance": "", "eventTime": null, "firstTimestamp": now, "lastTimestamp": now, "count": 1,
        });
        if let Ok(place) = self.place("", "v1", "events", Some(place))
            && let Ok(mut draft) = self.draft_new(&place, event, How::default())
            && self.check(&mut draft).is_ok()
        {
            // Nothing depends on the event.
            let _ = self.commit_alone(draft);
        }
    }
}

/// Whether a deleted object is held by one of the garbage collector's finalizers.
fn waits(object: &Value, finalizer: &str) -> bool {
    is_deleted(object)
        && object["metadata"]["finalizers"]
            .as_array()
            .is_some_and(|all| all.contains(&json!(finalizer)))
}

/// How the dependents of an object are to be treated by its finalizers.
fn propagation_of(object: &Value) -> Propagation {
    let names = finalizers(object);
    if names.iter().any(|name| name == ORPHAN) {
        Propagation::Orphan
    } else if names.iter().any(|name| name == FOREGROUND) {
        Propagation::Foreground
    } else {
        Propagation::Background
    }
}

fn with_references(object: &Value, references: &[Value]) -> Value {
    let mut object = object.clone();
    if !references.is_empty() {
        object["metadata"]["ownerReferences"] = json!(references);
    } else if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("ownerReferences");
    }
    object
}

fn unblocked(reference: &Value) -> Value {
    let mut reference = reference.clone();
    if reference["blockOwnerDeletion"] == true {
        reference["blockOwnerDeletion"] = json!(false);
    }
    reference
}
