//! How a custom resource definition that is deleted ends: after its objects.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::cluster::{Cluster, Place};
use crate::kinds::{Kind, crds};
use crate::objects::delete_options::DeleteOptions;
use crate::objects::deletion::{finalizers, is_deleted, set_finalizers};
use crate::objects::writing::name_of;
use crate::status::Status;

/// Holds a definition until its objects are gone.
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Begins the end of a definition.
pub(crate) fn terminate(definition: &mut Value, now: &str) {
    definition["metadata"]["deletionTimestamp"] = json!(now);
    let mut names = finalizers(definition);
    if !names.iter().any(|name| name == CLEANUP) {
        names.push(CLEANUP.into());
    }
    set_finalizers(definition, &names);
    let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    set_terminating(definition, "InstanceDeletionPending", message, now);
}

impl Cluster {
    /// Refuses new objects of a kind whose definition is being deleted.
    pub(crate) fn check_definition(&self, kind: &Kind) -> Result<(), Status> {
        if !kind.custom {
            return Ok(());
        }
        let key = (crds::GROUP.to_owned(), crds::PLURAL.to_owned());
        let definition = self.store.get(&key, "", &kind.qualified());
        if definition.is_some_and(|definition| is_deleted(definition)) {
            let message = "create not allowed while custom resource definition is terminating";
            let mut status = Status::new(405, "MethodNotAllowed", message);
            status.details = json!({"group": kind.group, "kind": kind.plural});
            return Err(status);
        }
        Ok(())
    }

    /// Removes the objects of a definition that is deleted, and the definition after the last of them.
    pub(crate) fn sync_definition(&mut self, name: &str) {
        let Ok(place) = self.place(crds::GROUP, "v1", crds::PLURAL, None) else {
            return;
        };
        let key = place.kind.key();
        let Some(stored) = self.store.get(&key, "", name).cloned() else {
            return;
        };
        if !is_deleted(&stored) || !finalizers(&stored).iter().any(|name| name == CLEANUP) {
            return;
        }
        let mut definition = Value::clone(&stored);
        let message = "CustomResource deletion is in progress";
        set_terminating(&mut definition, "InstanceDeletionInProgress", message, &self.now());
        self.rewrite(&place.kind, &stored, definition);
        let Some(kind) = self
            .kinds
            .all()
            .find(|kind| kind.custom && kind.qualified() == name)
            .cloned()
        else {
            return;
        };
        let instances: Vec<_> = self.store.list(&kind.key(), None).cloned().collect();
        for instance in instances.iter().filter(|instance| !is_deleted(instance)) {
            let (kind, version) = (Arc::clone(&kind), kind.storage.clone());
            let namespace = instance["metadata"]["namespace"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            let place = Place {
                kind,
                version,
                namespace,
            };
            // Nothing protects a custom object from its deletion.
            let _ = self.delete_alone(&place, &name_of(instance), &DeleteOptions::default());
        }
        if !instances.is_empty() {
            // Those that are gone bring the definition here again, when nothing depends on them any more.
            return;
        }
        let Some(stored) = self.store.get(&key, "", name).cloned() else {
            return;
        };
        let mut definition = Value::clone(&stored);
        let others: Vec<_> = finalizers(&stored).into_iter().filter(|name| name != CLEANUP).collect();
        set_finalizers(&mut definition, &others);
        set_done(&mut definition, &self.now());
        self.rewrite(&place.kind, &stored, definition);
    }
}

fn set_terminating(definition: &mut Value, reason: &str, message: &str, now: &str) {
    set_condition(definition, "True", reason, message, now);
}

fn set_done(definition: &mut Value, now: &str) {
    set_condition(
        definition,
        "False",
        "InstanceDeletionCompleted",
        "removed all instances",
        now,
    );
}

fn set_condition(definition: &mut Value, status: &str, reason: &str, message: &str, now: &str) {
    let conditions = &mut definition["status"]["conditions"];
    let mut list = conditions.as_array().cloned().unwrap_or_default();
    let before = list.iter().position(|condition| condition["type"] == "Terminating");
    let since = before
        .map(|index| &list[index])
        .filter(|condition| condition["status"] == status);
    let since = since.map_or_else(|| json!(now), |condition| condition["lastTransitionTime"].clone());
    let condition = json!({
        "type": "Terminating", "status": status, "reason": reason, "message": message, "lastTransitionTime": since,
    });
    match before {
        Some(index) => list[index] = condition,
        None => list.push(condition),
    }
    *conditions = json!(list);
}
