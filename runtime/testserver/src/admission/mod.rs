//! The admission chain: what may change the object of a request, or refuse it, before it is stored.

mod calls;
mod conditions;
pub(crate) mod configurations;
mod hooks;
mod matching;
mod mutating;
pub(crate) mod network;
mod relevance;
mod reviews;
mod setup;
mod tls;
mod urls;
mod validating;

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::access::User;
use crate::admission::hooks::{Configuration, Hook, Power};
use crate::cluster::{Cluster, Place};
use crate::status::Status;
use crate::warnings::Warnings;

/// What a request does, in the words of admission rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// What is to be admitted, beside the new object.
#[derive(Debug)]
pub(crate) struct Attempt<'a> {
    pub(crate) operation: Operation,
    pub(crate) place: &'a Place,
    /// Empty if it is to be generated, and if the objects of a collection are deleted.
    pub(crate) name: &'a str,
    /// Such as `status`; empty for the object itself.
    pub(crate) subresource: &'a str,
    /// The object as it is stored, in the version of the place.
    pub(crate) old: Option<&'a Value>,
    /// The options of the operation, such as `CreateOptions`.
    pub(crate) options: &'a Value,
    pub(crate) dry_run: bool,
    pub(crate) user: &'a User,
    pub(crate) warnings: &'a Warnings,
}

impl Attempt<'_> {
    /// Whether the objects are of the place's kind, unlike those of a subresource that scales, for example.
    fn is_of_the_kind(&self) -> bool {
        matches!(self.subresource, "" | "status")
    }
}

/// Lets mutating webhooks change the new object; it is null when one is deleted.
pub(crate) async fn mutate(cluster: &Mutex<Cluster>, attempt: &Attempt<'_>, object: &mut Value) -> Result<(), Status> {
    match hooks(cluster, Power::Mutating, attempt) {
        hooks if hooks.is_empty() => Ok(()),
        hooks => Box::pin(mutating::run(cluster, &hooks, attempt, object)).await,
    }
}

/// Asks validating webhooks about the new object; it is null when one is deleted.
pub(crate) async fn validate(cluster: &Mutex<Cluster>, attempt: &Attempt<'_>, object: &Value) -> Result<(), Status> {
    match hooks(cluster, Power::Validating, attempt) {
        hooks if hooks.is_empty() => Ok(()),
        hooks => Box::pin(validating::run(cluster, &hooks, attempt, object)).await,
    }
}

/// Never kept while a webhook is asked.
fn lock(cluster: &Mutex<Cluster>) -> MutexGuard<'_, Cluster> {
    cluster.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The webhooks of all configurations, in the order of names.
fn hooks(cluster: &Mutex<Cluster>, power: Power, attempt: &Attempt<'_>) -> Vec<Hook> {
    // Nobody is asked about configurations, so that none can lock everyone out of mending it.
    if Power::of(&attempt.place.kind).is_some() {
        return Vec::new();
    }
    let cluster = lock(cluster);
    let configurations = cluster.store.list(&power.key(), None);
    let configurations = configurations.map(|object| Configuration::deserialize(&**object).unwrap_or_default());
    configurations
        .flat_map(|configuration| configuration.webhooks)
        .collect()
}

/// What becomes of a call without a verdict.
fn failed(hook: &Hook, why: &str) -> Result<(), Status> {
    if hook.fails_open() {
        return Ok(());
    }
    Err(internal_error(&format!(
        "failed calling webhook {:?}: {why}",
        hook.name
    )))
}

/// A refusal in the name of a webhook: its status, if it can be one of a refusal.
fn denied(hook: &Hook, status: &Value) -> Status {
    let text = |field: &str| status[field].as_str().unwrap_or_default();
    let by = format!("admission webhook {:?} denied the request", hook.name);
    let message = match (text("message"), text("reason")) {
        ("", "") => format!("{by} without explanation"),
        ("", reason) => format!("{by}: {reason}"),
        (message, _) => format!("{by}: {message}"),
    };
    let code = status["code"].as_u64().and_then(|code| u16::try_from(code).ok());
    let code = code.filter(|code| (400..1000).contains(code)).unwrap_or(400);
    let mut denial = Status::new(code, text("reason"), message);
    denial.details = status["details"].clone();
    denial
}

fn internal_error(why: &str) -> Status {
    let mut status = Status::new(500, "InternalError", format!("Internal error occurred: {why}"));
    status.details = json!({"causes": [{"message": why}]});
    status
}

#[cfg(test)]
mod tests {
    use serde_json::from_value;

    use super::*;

    #[test]
    fn denials_speak_for_the_webhook() {
        let hook: Hook = from_value(json!({"name": "a.b.c"})).unwrap();
        let by = "admission webhook \"a.b.c\" denied the request";
        for (status, code, reason, message) in [
            (json!(null), 400, "", " without explanation"),
            (json!({"message": "no"}), 400, "", ": no"),
            (
                json!({"message": "no", "code": 418, "reason": "Teapot"}),
                418,
                "Teapot",
                ": no",
            ),
            (json!({"reason": "Teapot"}), 400, "Teapot", ": Teapot"),
            (json!({"code": 200, "message": "no"}), 400, "", ": no"),
        ] {
            let denial = denied(&hook, &status);
            assert_eq!((denial.code, denial.reason.as_str()), (code, reason), "{status}");
            assert_eq!(denial.message, format!("{by}{message}"));
        }
    }
}
