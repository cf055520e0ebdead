//! Whether a request concerns a webhook, and in which version it is shown.

use std::sync::Mutex;

use serde_json::Value;

use crate::admission::hooks::{Hook, LabelSelector};
use crate::admission::matching::{self, Subject};
use crate::admission::{Attempt, Operation, conditions, lock, reviews};
use crate::cluster::{Cluster, Place};
use crate::kinds::representations;
use crate::status::Status;

/// A request, and the cluster that it is for.
pub(super) struct Relevance<'a> {
    pub(super) cluster: &'a Mutex<Cluster>,
    pub(super) attempt: &'a Attempt<'a>,
}

impl Relevance<'_> {
    /// The resource by the name that a webhook knows; nothing if the request does not concern it.
    pub(super) fn place_for(&self, hook: &Hook, object: &Value) -> Result<Option<Place>, Status> {
        let attempt = self.attempt;
        let cluster = lock(self.cluster);
        let namespace = reviews::namespace(attempt, object);
        // That the namespace is missing only matters if the webhook is concerned otherwise.
        let in_namespace = self.selects_namespace(&cluster, hook, namespace, object);
        if in_namespace == Ok(false) || !matching::selects_object(hook, attempt.old, object) {
            return Ok(None);
        }
        let kind = &attempt.place.kind;
        let subject = Subject {
            operation: attempt.operation,
            group: &kind.group,
            version: &attempt.place.version,
            plural: &kind.plural,
            subresource: attempt.subresource,
            namespace,
        };
        let alike = cluster.kinds.all().filter(|other| other.key() == kind.key());
        let names = alike.flat_map(|kind| {
            let versions = kind.versions.iter();
            versions.map(|version| (kind.group.as_str(), version.name.as_str(), kind.plural.as_str()))
        });
        let own = (subject.group, subject.version, subject.plural);
        let equivalents: Vec<_> = names.filter(|name| *name != own).collect();
        let Some((group, version, plural)) = matching::name_for(hook, subject, &equivalents) else {
            return Ok(None);
        };
        in_namespace?;
        let place = Place {
            namespace: attempt.place.namespace.clone(),
            ..cluster.place(group, version, plural, None)?
        };
        drop(cluster);
        Ok(conditions::hold(hook, attempt, &place, object)?.then_some(place))
    }

    fn selects_namespace(
        &self,
        cluster: &Cluster,
        hook: &Hook,
        namespace: &str,
        object: &Value,
    ) -> Result<bool, Status> {
        let selector = hook.namespace_selector.as_ref().filter(|selector| !selector.is_empty());
        let kind = &self.attempt.place.kind;
        let is_namespace = kind.group.is_empty() && kind.plural == "namespaces";
        let Some(selector) = selector.filter(|_| is_namespace || !namespace.is_empty()) else {
            return Ok(true);
        };
        let selects = |selector: &LabelSelector, object: &Value| selector.selects(&object["metadata"]["labels"]);
        let written = matches!(self.attempt.operation, Operation::Create | Operation::Update);
        if is_namespace && self.attempt.subresource.is_empty() && written {
            return Ok(selects(selector, object));
        }
        let namespaces = cluster.place("", "v1", "namespaces", None)?.kind;
        let found = cluster.store.get(&namespaces.key(), "", namespace);
        let found = found.ok_or_else(|| Status::not_found(&namespaces, namespace))?;
        Ok(selects(selector, found))
    }
}

/// An object in the version of a place.
pub(super) fn convert(object: &Value, place: &Place, attempt: &Attempt<'_>) -> Value {
    let mut object = object.clone();
    if object.is_object() && attempt.is_of_the_kind() {
        representations::convert(&mut object, &place.api_version());
    }
    object
}
