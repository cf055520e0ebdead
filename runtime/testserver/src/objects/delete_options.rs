//! How an object is to be deleted: what a request may say about it, and what kinds decide for themselves.

use serde_json::{Value, json};

use crate::kinds::Kind;
use crate::objects::writing::check_dry_run;
use crate::status::{Cause, Status};

/// Holds an owner until its dependents are free of it.
pub(crate) const ORPHAN: &str = "orphan";

/// Holds an owner until its dependents are gone.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";

/// The answer to the deletion of these is the object; of all others it is a status.
const RETURNED: &[(&str, &str)] = &[
    ("", "persistentvolumeclaims"),
    ("", "persistentvolumes"),
    ("", "pods"),
    ("", "podtemplates"),
    ("", "resourcequotas"),
    ("", "serviceaccounts"),
    ("", "services"),
    ("storage.k8s.io", "csidrivers"),
    ("storage.k8s.io", "csinodes"),
    ("storage.k8s.io", "storageclasses"),
    ("storage.k8s.io", "volumeattachments"),
];

/// Their dependents are orphaned unless a request says otherwise.
const ORPHANING: &[(&str, &str)] = &[("", "replicationcontrollers"), ("batch", "jobs")];

/// What happens to the dependents of a deleted object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// The options of a deletion.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) grace: Option<i64>,
    pub(crate) propagation: Option<Propagation>,
    /// The identity that the object must have.
    pub(crate) uid: Option<String>,
    /// The version that the object must have.
    pub(crate) version: Option<String>,
    pub(crate) dry_run: bool,
}

impl DeleteOptions {
    /// Reads the options of a request; null is for none.
    pub(crate) fn parse(options: &Value) -> Result<Self, Status> {
        let mut causes = Vec::new();
        let orphan = options["orphanDependents"].as_bool();
        let policy = options["propagationPolicy"].as_str();
        if let (Some(_), Some(policy)) = (orphan, policy) {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            causes.push(Cause::invalid("propagationPolicy", &json!(policy), detail));
        }
        let propagation = match policy {
            None => orphan.map(|orphan| {
                if orphan {
                    Propagation::Orphan
                } else {
                    Propagation::Background
                }
            }),
            Some("Background") => Some(Propagation::Background),
            Some("Foreground") => Some(Propagation::Foreground),
            Some("Orphan") => Some(Propagation::Orphan),
            Some(other) => {
                let supported = ["Foreground", "Background", "Orphan", "nil"].map(|each| json!(each));
                causes.push(Cause::unsupported("propagationPolicy", &json!(other), &supported));
                None
            }
        };
        let dry_run = list(&options["dryRun"]);
        causes.extend(check_dry_run(dry_run));
        if !causes.is_empty() {
            return Err(Status::invalid_options("DeleteOptions", &causes));
        }
        let text = |field: &str| options["preconditions"][field].as_str().map(str::to_owned);
        Ok(Self {
            // One second is what the server makes of less than nothing.
            grace: options["gracePeriodSeconds"]
                .as_i64()
                .map(|grace| if grace < 0 { 1 } else { grace }),
            propagation,
            uid: text("uid"),
            version: text("resourceVersion"),
            dry_run: !dry_run.is_empty(),
        })
    }

    /// Options with nothing but a way to treat the dependents.
    pub(crate) fn propagating(propagation: Propagation) -> Self {
        Self {
            propagation: Some(propagation),
            ..Self::default()
        }
    }

    /// Whether an object is the one that was meant, in the state that was meant.
    pub(crate) fn check_preconditions(&self, kind: &Kind, name: &str, stored: &Value) -> Result<(), Status> {
        let fields = [
            (
                &self.uid,
                "uid",
                "UID",
                "The object might have been deleted and then recreated",
            ),
            (
                &self.version,
                "resourceVersion",
                "ResourceVersion",
                "The object might have been modified",
            ),
        ];
        for (wanted, field, title, guess) in fields {
            let found = stored["metadata"][field].as_str().unwrap_or_default();
            if let Some(wanted) = wanted.as_deref().filter(|&wanted| wanted != found) {
                let why = format!(
                    "the {title} in the precondition ({wanted}) does not match the {title} in record ({found}). {guess}"
                );
                return Err(Status::failed_precondition(kind, name, &why));
            }
        }
        Ok(())
    }

    /// The finalizers of an object once the garbage collector has its orders.
    pub(crate) fn finalizers(&self, kind: &Kind, before: &[String]) -> Vec<String> {
        let mut after: Vec<_> = before
            .iter()
            .filter(|name| *name != ORPHAN && *name != FOREGROUND)
            .cloned()
            .collect();
        let among = |finalizer: &str| before.iter().any(|name| name == finalizer);
        let propagation = if is_one_of(&[("", "events"), ("events.k8s.io", "events")], kind) {
            // Nobody owns anything by an event.
            Propagation::Background
        } else if let Some(propagation) = self.propagation {
            propagation
        } else if among(ORPHAN) {
            Propagation::Orphan
        } else if among(FOREGROUND) {
            Propagation::Foreground
        } else if is_one_of(ORPHANING, kind) {
            Propagation::Orphan
        } else {
            Propagation::Background
        };
        match propagation {
            Propagation::Background => {}
            Propagation::Foreground => after.push(FOREGROUND.into()),
            Propagation::Orphan => after.push(ORPHAN.into()),
        }
        after
    }
}

/// Whether the answer to a deletion is the deleted object.
pub(crate) fn returns_object(kind: &Kind) -> bool {
    is_one_of(RETURNED, kind)
}

fn is_one_of(kinds: &[(&str, &str)], kind: &Kind) -> bool {
    kinds.contains(&(kind.group.as_str(), kind.plural.as_str()))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Kinds;

    fn finalizers(options: &Value, plural: (&str, &str), before: &[&str]) -> Vec<String> {
        let kinds = Kinds::built_in();
        let kind = kinds.get(plural.0, plural.1).unwrap();
        let before: Vec<_> = before.iter().map(|&name| name.to_owned()).collect();
        DeleteOptions::parse(options).unwrap().finalizers(kind, &before)
    }

    #[test]
    fn a_request_overrules_finalizers_and_kinds() {
        let pods = ("", "pods");
        let foreground = json!({"propagationPolicy": "Foreground"});
        assert_eq!(finalizers(&foreground, pods, &["a.b/c", ORPHAN]), ["a.b/c", FOREGROUND]);
        assert_eq!(finalizers(&Value::Null, pods, &["a.b/c", ORPHAN]), ["a.b/c", ORPHAN]);
        assert_eq!(
            finalizers(&json!({"propagationPolicy": "Background"}), pods, &[FOREGROUND]),
            [""; 0]
        );
        assert_eq!(finalizers(&json!({"orphanDependents": true}), pods, &[]), [ORPHAN]);
    }

    #[test]
    fn jobs_orphan_their_pods_by_default() {
        assert_eq!(finalizers(&Value::Null, ("batch", "jobs"), &[]), [ORPHAN]);
        assert_eq!(
            finalizers(&json!({"orphanDependents": false}), ("batch", "jobs"), &[]),
            [""; 0]
        );
        assert_eq!(finalizers(&Value::Null, ("apps", "deployments"), &[]), [""; 0]);
    }

    #[test]
    fn options_that_contradict_each_other_are_refused() {
        let both = json!({"orphanDependents": false, "propagationPolicy": "Nonsense", "dryRun": ["All", "x"]});
        let status = DeleteOptions::parse(&both).unwrap_err();
        assert_eq!(
            (status.code, status.details["causes"].as_array().unwrap().len()),
            (422, 3)
        );
    }
}
