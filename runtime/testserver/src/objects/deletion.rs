//! Deleting: finalizers, preconditions, and the containers that go only when they are empty.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::access;
use crate::cluster::{Cluster, Place};
use crate::kinds::Kind;
use crate::kinds::crds;
use crate::objects::writing::name_of;
use crate::status::Status;

/// What is left after a deletion.
#[derive(Debug)]
pub(crate) enum Deleted {
    /// The object waits for its finalizers.
    Pending(Arc<Value>),
    /// The object is gone; this was its last state.
    Gone(Arc<Value>),
}

impl Cluster {
    /// Deletes an object; `options` is the body of the request, of which the preconditions count.
    pub(crate) fn delete(
        &mut self,
        place: &Place,
        name: &str,
        options: &Value,
        dry_run: bool,
    ) -> Result<Deleted, Status> {
        let kind = Arc::clone(&place.kind);
        let key = kind.key();
        let stored = self.store.get(&key, &place.namespace, name).cloned();
        let stored = stored.ok_or_else(|| Status::not_found(&kind, name))?;
        check_preconditions(&kind, name, &stored, &options["preconditions"])?;
        let held = stored["metadata"].get("finalizers").is_some();
        let container = is_namespace(&kind) || crds::is_crd(&kind);
        if dry_run {
            let shown = place.present(&stored);
            return Ok(if held {
                Deleted::Pending(shown)
            } else {
                Deleted::Gone(shown)
            });
        }
        if !held && !container {
            let last = self.vanish(&kind, &place.namespace, name).unwrap_or(stored);
            return Ok(Deleted::Gone(place.present(&last)));
        }
        let mut pending = stored;
        if pending["metadata"].get("deletionTimestamp").is_none() {
            let marked = self.mark(&kind, Value::clone(&pending));
            pending = self.store.put(&key, marked);
        }
        if container {
            self.sweep(&kind, &pending);
            if !held && self.is_vacant(&kind, name) {
                self.vanish(&kind, &place.namespace, name);
            }
        }
        Ok(Deleted::Pending(place.present(&pending)))
    }

    /// Removes an object for good, and whatever was only waiting for that.
    pub(crate) fn vanish(&mut self, kind: &Arc<Kind>, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let last = self.store.remove(&kind.key(), namespace, name)?;
        if crds::is_crd(kind) {
            let served = crds::kind_of(&last).key();
            self.kinds.remove(&served);
            self.store.end(&served);
            self.settle_others(&last);
        }
        if kind.namespaced {
            self.release("", "namespaces", namespace);
        }
        if kind.custom {
            self.release(crds::GROUP, crds::PLURAL, &kind.qualified());
        }
        access::changed(self, kind, &last);
        Some(last)
    }

    /// Whether nothing is left in a namespace, or of a custom kind; any other object is always vacant.
    pub(crate) fn is_vacant(&self, kind: &Kind, name: &str) -> bool {
        self.contents(kind, name).is_empty()
    }

    /// Removes a container that was waiting to become empty.
    fn release(&mut self, group: &str, plural: &str, name: &str) {
        let Some(kind) = self.kinds.get(group, plural).cloned() else {
            return;
        };
        let waits = self.store.get(&kind.key(), "", name).is_some_and(|object| {
            let metadata = &object["metadata"];
            metadata.get("deletionTimestamp").is_some() && metadata.get("finalizers").is_none()
        });
        if waits && self.is_vacant(&kind, name) {
            self.vanish(&kind, "", name);
        }
    }

    fn sweep(&mut self, kind: &Kind, container: &Value) {
        for (kind, namespace, name) in self.contents(kind, &name_of(container)) {
            let version = kind.storage.clone();
            // An object may have gone with an earlier one of the sweep.
            let _ = self.delete(
                &Place {
                    kind,
                    version,
                    namespace,
                },
                &name,
                &Value::Null,
                false,
            );
        }
    }

    fn contents(&self, container: &Kind, name: &str) -> Vec<(Arc<Kind>, String, String)> {
        let kinds: Vec<_> = if is_namespace(container) {
            self.kinds.all().filter(|kind| kind.namespaced).collect()
        } else if crds::is_crd(container) {
            self.kinds
                .all()
                .filter(|kind| kind.custom && kind.qualified() == name)
                .collect()
        } else {
            Vec::new()
        };
        let namespace = is_namespace(container).then_some(name);
        let text = |object: &Value, field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        let mut found = Vec::new();
        for kind in kinds {
            let objects = self.store.list(&kind.key(), namespace);
            found.extend(objects.map(|each| (Arc::clone(kind), text(each, "namespace"), text(each, "name"))));
        }
        found
    }

    fn mark(&self, kind: &Kind, mut object: Value) -> Value {
        let now = self.now();
        object["metadata"]["deletionTimestamp"] = json!(now);
        if is_namespace(kind) {
            object["status"]["phase"] = json!("Terminating");
        } else if crds::is_crd(kind) {
            crds::terminating(&mut object, &now);
        } else {
            object["metadata"]["deletionGracePeriodSeconds"] = json!(0);
        }
        if let Some(generation) = object["metadata"]["generation"].as_i64() {
            object["metadata"]["generation"] = json!(generation + 1);
        }
        object
    }
}

fn is_namespace(kind: &Kind) -> bool {
    kind.group.is_empty() && kind.plural == "namespaces"
}

fn check_preconditions(kind: &Kind, name: &str, stored: &Value, wanted: &Value) -> Result<(), Status> {
    let fields = [
        ("uid", "UID", "The object might have been deleted and then recreated"),
        (
            "resourceVersion",
            "ResourceVersion",
            "The object might have been modified",
        ),
    ];
    for (field, title, guess) in fields {
        let found = stored["metadata"][field].as_str().unwrap_or_default();
        if let Some(wanted) = wanted[field].as_str().filter(|&wanted| wanted != found) {
            let why = format!(
                "the {title} in the precondition ({wanted}) does not match the {title} in record ({found}). {guess}"
            );
            return Err(Status::conflict(kind, name, &why));
        }
    }
    Ok(())
}
