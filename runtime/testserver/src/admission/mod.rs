//! The admission chain: what may change the object of a request, or refuse it, before it is stored.

use std::sync::Mutex;

use serde_json::Value;

use crate::access::User;
use crate::cluster::{Cluster, Place};
use crate::status::Status;
use crate::warnings::Warnings;

/// What a request does, in the words of admission rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
    Connect,
}

/// What is to be admitted, beside the new object.
#[derive(Debug)]
pub(crate) struct Attempt<'a> {
    pub(crate) operation: Operation,
    pub(crate) place: &'a Place,
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

/// Lets mutating webhooks change the new object; it is null when one is deleted.
pub(crate) async fn mutate(
    _cluster: &Mutex<Cluster>,
    _attempt: &Attempt<'_>,
    _object: &mut Value,
) -> Result<(), Status> {
    Ok(())
}

/// Asks validating webhooks about the new object; it is null when one is deleted.
pub(crate) async fn validate(_cluster: &Mutex<Cluster>, _attempt: &Attempt<'_>, _object: &Value) -> Result<(), Status> {
    Ok(())
}
