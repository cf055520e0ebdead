//! Namespaces: what a request may change in them, and how one that is deleted ends.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::cluster::{Cluster, Place};
use crate::kinds::Kind;
use crate::objects::delete_options::DeleteOptions;
use crate::objects::deletion::{finalizers, is_deleted};
use crate::objects::metadata::check_qualified;
use crate::objects::writing::{Scope, name_of};
use crate::status::{Cause, Status};

/// The finalizer in the `spec` that stands for the contents.
const CONTENTS: &str = "kubernetes";

/// Namespaces that a cluster cannot be without.
const PROTECTED: [&str; 3] = ["default", "kube-system", "kube-public"];

/// What is left in a namespace.
#[derive(Debug, Default)]
struct Remains {
    /// How many objects of each kind, by `plural.group`.
    kinds: BTreeMap<String, usize>,
    /// How many objects each finalizer holds.
    finalizers: BTreeMap<String, usize>,
}

pub(crate) fn is_namespace(kind: &Kind) -> bool {
    kind.group.is_empty() && kind.plural == "namespaces"
}

/// Refuses to delete what a cluster cannot be without.
pub(crate) fn check_protection(kind: &Kind, name: &str) -> Result<(), Status> {
    if is_namespace(kind) && PROTECTED.contains(&name) {
        return Err(Status::forbidden(kind, name, "this namespace may not be deleted"));
    }
    Ok(())
}

/// Gives a new namespace what it has from the start.
pub(crate) fn complete(namespace: &mut Value) {
    if !namespace["spec"].is_object() {
        namespace["spec"] = json!({});
    }
    let mut held = held_by(namespace);
    if !held.iter().any(|name| name == CONTENTS) {
        held.push(CONTENTS.into());
    }
    namespace["spec"]["finalizers"] = json!(held);
}

/// Takes back what a request for a part of a namespace may not change.
pub(crate) fn restrain(current: &Value, namespace: &mut Value, scope: Scope) {
    match scope {
        Scope::Main => namespace["spec"] = current["spec"].clone(),
        Scope::Finalize => {
            namespace["status"] = current["status"].clone();
            if !namespace["spec"].is_object() {
                namespace["spec"] = json!({});
            }
            if held_by(namespace).is_empty()
                && let Some(spec) = namespace["spec"].as_object_mut()
            {
                spec.remove("finalizers");
            }
        }
        Scope::Status | Scope::Scale | Scope::All => {}
    }
}

/// The faults of a namespace that is written.
pub(crate) fn validate(namespace: &Value, new: bool, scope: Scope) -> Vec<Cause> {
    let mut causes = Vec::new();
    if new || scope == Scope::Finalize {
        for (index, name) in held_by(namespace).iter().enumerate() {
            let path = if new {
                "spec.finalizers".to_owned()
            } else {
                format!("spec.finalizers[{index}]")
            };
            let mut faults: Vec<_> = check_qualified(name).into_iter().collect();
            if !name.contains('/') && name != CONTENTS {
                faults.push("name is neither a standard finalizer name nor is it fully qualified".into());
            }
            causes.extend(faults.iter().map(|why| Cause::invalid(&path, &json!(name), why)));
        }
    }
    let phase = namespace["status"]["phase"].as_str();
    if scope == Scope::Status && phase.is_some_and(|phase| (phase == "Active") == is_deleted(namespace)) {
        let detail = if is_deleted(namespace) {
            "may only be 'Terminating' if `deletionTimestamp` is not empty"
        } else {
            "may only be 'Active' if `deletionTimestamp` is empty"
        };
        causes.push(Cause::invalid("status.Phase", &json!(phase), detail));
    }
    causes
}

/// Begins the end of a namespace.
pub(crate) fn terminate(namespace: &mut Value, now: &str) {
    namespace["metadata"]["deletionTimestamp"] = json!(now);
    namespace["status"]["phase"] = json!("Terminating");
}

/// Whether anything but finalizers in the metadata keeps a namespace.
pub(crate) fn is_held(namespace: &Value) -> bool {
    !held_by(namespace).is_empty()
}

impl Cluster {
    /// Removes the contents of a namespace that is deleted, and the namespace once it is empty.
    pub(crate) fn sync_namespace(&mut self, name: &str) {
        let Ok(place) = self.place("", "v1", "namespaces", None) else {
            return;
        };
        let waiting =
            |namespace: &Arc<Value>| is_deleted(namespace) && held_by(namespace).iter().any(|by| by == CONTENTS);
        let key = place.kind.key();
        if !self.store.get(&key, "", name).is_some_and(waiting) {
            return;
        }
        for (kind, name, namespace) in self.contents(name) {
            let version = kind.storage.clone();
            let place = Place {
                kind,
                version,
                namespace,
            };
            // An object may be gone with an earlier one.
            let _ = self.delete_alone(&place, &name, &DeleteOptions::default());
        }
        let remains = self.remains(name);
        let Some(stored) = self.store.get(&key, "", name).cloned() else {
            return;
        };
        let mut namespace = Value::clone(&stored);
        report(&mut namespace, &remains, &self.now());
        self.rewrite(&place.kind, &stored, namespace);
        if !remains.kinds.is_empty() {
            return;
        }
        let Some(stored) = self.store.get(&key, "", name).cloned() else {
            return;
        };
        let mut namespace = Value::clone(&stored);
        let held: Vec<_> = held_by(&stored).into_iter().filter(|by| by != CONTENTS).collect();
        namespace["spec"]["finalizers"] = json!(held);
        restrain(&stored, &mut namespace, Scope::Finalize);
        self.rewrite(&place.kind, &stored, namespace);
    }

    /// Everything in a namespace that is not deleted yet, pods first.
    fn contents(&self, name: &str) -> Vec<(Arc<Kind>, String, String)> {
        let mut kinds: Vec<_> = self.kept_in_namespaces().collect();
        kinds.sort_by_key(|kind| kind.plural != "pods");
        let mut found = Vec::new();
        for kind in kinds {
            let objects = self
                .store
                .list(&kind.key(), Some(name))
                .filter(|object| !is_deleted(object));
            found.extend(objects.map(|object| (Arc::clone(kind), name_of(object), name.to_owned())));
        }
        found
    }

    fn remains(&self, name: &str) -> Remains {
        let mut remains = Remains::default();
        for kind in self.kept_in_namespaces() {
            for object in self.store.list(&kind.key(), Some(name)) {
                *remains
                    .kinds
                    .entry(format!("{}.{}", kind.plural, kind.group))
                    .or_default() += 1;
                for finalizer in finalizers(object) {
                    *remains.finalizers.entry(finalizer).or_default() += 1;
                }
            }
        }
        remains
    }

    /// The kinds whose objects lie in namespaces; of those that share their objects, the one they are stored as.
    fn kept_in_namespaces(&self) -> impl Iterator<Item = &Arc<Kind>> {
        let kinds = self.kinds.all().filter(|kind| kind.namespaced && kind.is_stored());
        kinds.filter(|kind| kind.key() == (kind.group.clone(), kind.plural.clone()))
    }
}

/// Tells in the conditions what a namespace is waiting for.
fn report(namespace: &mut Value, remains: &Remains, now: &str) {
    let shown = |counts: &BTreeMap<String, usize>, verb: &str| {
        let texts: Vec<_> = counts.iter().map(|(name, count)| tally(name, verb, *count)).collect();
        texts.join(", ")
    };
    let contents = if remains.kinds.is_empty() {
        ("False", "ContentRemoved", "All content successfully removed".to_owned())
    } else {
        let left = shown(&remains.kinds, "has");
        let message = format!("Some resources are remaining: {left}");
        ("True", "SomeResourcesRemain", message)
    };
    let held = if remains.finalizers.is_empty() {
        (
            "False",
            "ContentHasNoFinalizers",
            "All content-preserving finalizers finished".to_owned(),
        )
    } else {
        let left = shown(&remains.finalizers, "in");
        let message = format!("Some content in the namespace has finalizers remaining: {left}");
        ("True", "SomeFinalizersRemain", message)
    };
    let fine = |reason, message: &str| ("False", reason, message.to_owned());
    let all = [
        (
            "NamespaceDeletionDiscoveryFailure",
            fine("ResourcesDiscovered", "All resources successfully discovered"),
        ),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            fine("ParsedGroupVersions", "All legacy kube types successfully parsed"),
        ),
        (
            "NamespaceDeletionContentFailure",
            fine(
                "ContentDeleted",
                "All content successfully deleted, may be waiting on finalization",
            ),
        ),
        ("NamespaceContentRemaining", contents),
        ("NamespaceFinalizersRemaining", held),
    ];
    let mut conditions = namespace["status"]["conditions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    for (kind, (status, reason, message)) in all {
        let known = conditions.iter_mut().find(|condition| condition["type"] == kind);
        let same = known.as_ref().is_some_and(|condition| condition["status"] == status);
        let since = match &known {
            Some(condition) if same => condition["lastTransitionTime"].clone(),
            _ => json!(now),
        };
        let condition = json!({
            "type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": since,
        });
        match known {
            Some(place) => *place = condition,
            None => conditions.push(condition),
        }
    }
    namespace["status"]["conditions"] = json!(conditions);
}

fn tally(name: &str, verb: impl Display, count: usize) -> String {
    format!("{name} {verb} {count} resource instances")
}

fn held_by(namespace: &Value) -> Vec<String> {
    let list = namespace["spec"]["finalizers"].as_array();
    let names = list.into_iter().flatten().filter_map(Value::as_str);
    names.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remaining(counts: &[(&str, usize)]) -> Value {
        let mut namespace = json!({"status": {"phase": "Terminating"}});
        let kinds = counts.iter().map(|&(name, count)| (name.to_owned(), count)).collect();
        let remains = Remains {
            kinds,
            ..Remains::default()
        };
        report(&mut namespace, &remains, "now");
        namespace["status"]["conditions"][3].clone()
    }

    #[test]
    fn what_remains_is_told_by_kind() {
        let condition = remaining(&[("pods.", 2), ("leases.coordination.k8s.io", 1)]);
        let text = "Some resources are remaining: leases.coordination.k8s.io has 1 resource instances, pods. has 2 \
                    resource instances";
        assert_eq!(
            (&condition["status"], &condition["message"]),
            (&json!("True"), &json!(text))
        );
        assert_eq!(remaining(&[])["status"], "False");
    }

    #[test]
    fn times_of_conditions_change_with_their_status_only() {
        let mut namespace = json!({});
        let full = || Remains {
            kinds: [("pods.".to_owned(), 1)].into(),
            ..Remains::default()
        };
        report(&mut namespace, &full(), "1");
        report(&mut namespace, &full(), "2");
        assert_eq!(namespace["status"]["conditions"][3]["lastTransitionTime"], "1");
        report(&mut namespace, &Remains::default(), "3");
        let times = [0, 3].map(|index| namespace["status"]["conditions"][index]["lastTransitionTime"].clone());
        assert_eq!(times, ["1", "3"]);
    }

    #[test]
    fn contents_hold_every_namespace() {
        let mut namespace = json!({"spec": {"finalizers": ["example.com/x"]}});
        complete(&mut namespace);
        assert_eq!(held_by(&namespace), ["example.com/x", CONTENTS]);
        complete(&mut namespace);
        assert_eq!(held_by(&namespace).len(), 2);
    }
}
