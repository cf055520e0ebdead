//! Deleting an object: protection, grace, finalizers, and what is left of it.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::access;
use crate::cluster::{Cluster, Place};
use crate::kinds::{Kind, crds};
use crate::objects::delete_options::DeleteOptions;
use crate::objects::{definitions, namespaces};
use crate::status::Status;

/// What is left after a deletion.
#[derive(Debug)]
pub(crate) enum Deleted {
    /// The object waits for its finalizers, or for its grace period to end.
    Pending(Arc<Value>),
    /// The object is gone; this was its last state.
    Gone(Arc<Value>),
}

/// How a deletion affects an object that has a grace period.
#[derive(Debug, PartialEq, Eq)]
enum Grace {
    /// Its kind knows of none.
    None,
    /// It was given this many seconds.
    Given(i64),
    /// It goes on waiting as before.
    Unchanged,
}

impl Cluster {
    /// Deletes an object, and lets the controllers do what follows from it.
    pub(crate) fn delete(&mut self, place: &Place, name: &str, options: &DeleteOptions) -> Result<Deleted, Status> {
        let deleted = self.delete_alone(place, name, options)?;
        self.reconcile();
        Ok(deleted)
    }

    /// Deletes an object and leaves everything else to the controllers.
    pub(crate) fn delete_alone(
        &mut self,
        place: &Place,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<Deleted, Status> {
        let kind = &place.kind;
        namespaces::check_protection(kind, name)?;
        let stored = self.store.get(&kind.key(), &place.namespace, name).cloned();
        let stored = stored.ok_or_else(|| Status::not_found(kind, name))?;
        options.check_preconditions(kind, name, &stored)?;
        let mut object = Value::clone(&stored);
        if namespaces::is_namespace(kind) {
            if !is_deleted(&stored) {
                set_finalizers(&mut object, &options.finalizers(kind, &finalizers(&stored)));
                namespaces::terminate(&mut object, &self.now());
                return Ok(Deleted::Pending(self.keep(place, &stored, object, options)));
            }
            if namespaces::is_held(&stored) {
                return Ok(Deleted::Pending(place.present(&stored)));
            }
        }
        if crds::is_crd(kind) && !is_deleted(&stored) {
            definitions::terminate(&mut object, &self.now());
            return Ok(Deleted::Pending(self.keep(place, &stored, object, options)));
        }
        let grace = if kind.group.is_empty() && kind.plural == "pods" {
            self.give_grace(&mut object, options.grace)
        } else {
            Grace::None
        };
        if grace == Grace::Unchanged {
            return Ok(Deleted::Pending(place.present(&stored)));
        }
        set_finalizers(&mut object, &options.finalizers(kind, &finalizers(&stored)));
        let held = !finalizers(&object).is_empty();
        if held && grace == Grace::None {
            mark(&mut object, &self.now(), 0);
        }
        let mut last = place.present(&stored);
        if held || grace != Grace::None {
            last = self.keep(place, &stored, object, options);
            if held || !matches!(grace, Grace::None | Grace::Given(0)) {
                return Ok(Deleted::Pending(last));
            }
        }
        if !options.dry_run {
            self.vanish(kind, &place.namespace, name);
        }
        Ok(Deleted::Gone(last))
    }

    /// Removes an object for good.
    pub(crate) fn vanish(&mut self, kind: &Arc<Kind>, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let last = self.store.remove(&kind.key(), namespace, name)?;
        if crds::is_crd(kind) {
            let served = crds::kind_of(&last).key();
            self.kinds.remove(&served);
            self.store.end(&served);
            self.settle_others(&last);
        }
        access::changed(self, kind, &last);
        Some(last)
    }

    /// Stores what a controller made of an object; one that was only waiting for that is gone instead.
    pub(crate) fn rewrite(&mut self, kind: &Arc<Kind>, stored: &Arc<Value>, object: Value) {
        let text = |field: &str| stored["metadata"][field].as_str().unwrap_or_default();
        if goes_with_update(kind, stored, &object) {
            self.vanish(kind, text("namespace"), text("name"));
        } else if object != **stored {
            let place = Place {
                kind: Arc::clone(kind),
                version: kind.storage.clone(),
                namespace: text("namespace").to_owned(),
            };
            self.put(&place, object);
        }
    }

    /// Stores an object that stays for now, if anything about it changed.
    fn keep(&mut self, place: &Place, stored: &Arc<Value>, object: Value, options: &DeleteOptions) -> Arc<Value> {
        if object == **stored {
            place.present(stored)
        } else if options.dry_run {
            place.present(&Arc::new(object))
        } else {
            self.put(place, object)
        }
    }

    /// Marks a pod as deleted after some seconds, or shortens the time that it has.
    fn give_grace(&self, pod: &mut Value, asked: Option<i64>) -> Grace {
        let metadata = &pod["metadata"];
        if is_deleted(pod) {
            let given = metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or_default();
            let Some(asked) = asked.filter(|&asked| asked < given) else {
                return if given == 0 { Grace::None } else { Grace::Unchanged };
            };
            let end = metadata["deletionTimestamp"]
                .as_str()
                .and_then(|text| text.parse().ok());
            let end: jiff::Timestamp = end.unwrap_or_else(|| self.timestamp());
            let moved = end.checked_sub(jiff::SignedDuration::from_secs(given.saturating_sub(asked)));
            pod["metadata"]["deletionTimestamp"] = json!(seconds(moved.unwrap_or(end)));
            pod["metadata"]["deletionGracePeriodSeconds"] = json!(asked);
            return Grace::Given(asked);
        }
        let unscheduled = pod["spec"]["nodeName"].as_str().is_none_or(str::is_empty);
        let over = matches!(pod["status"]["phase"].as_str(), Some("Failed" | "Succeeded"));
        let usual = pod["spec"]["terminationGracePeriodSeconds"]
            .as_i64()
            .unwrap_or_default();
        let grace = match asked.unwrap_or(usual) {
            _ if unscheduled || over => 0,
            ..0 => 1,
            grace => grace,
        };
        let now = self.timestamp();
        let end = now
            .checked_add(jiff::SignedDuration::from_secs(grace))
            .unwrap_or(jiff::Timestamp::MAX);
        mark(pod, &seconds(end), grace);
        Grace::Given(grace)
    }
}

/// Whether an update is the last thing that a deleted object was waiting for.
pub(crate) fn goes_with_update(kind: &Kind, stored: &Value, object: &Value) -> bool {
    is_deleted(stored)
        && finalizers(object).is_empty()
        && !(namespaces::is_namespace(kind) && namespaces::is_held(object))
        && matches!(
            stored["metadata"]["deletionGracePeriodSeconds"].as_i64(),
            None | Some(0)
        )
}

/// Whether the deletion of an object has begun.
pub(crate) fn is_deleted(object: &Value) -> bool {
    object["metadata"].get("deletionTimestamp").is_some()
}

/// The finalizers of an object.
pub(crate) fn finalizers(object: &Value) -> Vec<String> {
    let list = object["metadata"]["finalizers"].as_array();
    let names = list.into_iter().flatten().filter_map(Value::as_str);
    names.map(str::to_owned).collect()
}

/// Puts finalizers in place; an empty list is not kept.
pub(crate) fn set_finalizers(object: &mut Value, names: &[String]) {
    if !names.is_empty() {
        object["metadata"]["finalizers"] = json!(names);
    } else if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("finalizers");
    }
}

fn mark(object: &mut Value, end: &str, grace: i64) {
    if !is_deleted(object) {
        object["metadata"]["deletionTimestamp"] = json!(end);
        if let Some(generation) = object["metadata"]["generation"].as_i64() {
            object["metadata"]["generation"] = json!(generation.saturating_add(1));
        }
    }
    object["metadata"]["deletionGracePeriodSeconds"] = json!(grace);
}

fn seconds(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
