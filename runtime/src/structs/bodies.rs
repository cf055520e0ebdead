//! One object as the API sent it.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

/// An object's content at a moment: raw, read-only and cheap to clone.
///
/// Missing stanzas read as absent, and so does null (K-5, K-6).
#[derive(Clone, PartialEq)]
pub struct Body(Arc<Value>);

impl Body {
    /// Takes an object as it came.
    pub fn new(value: Value) -> Self {
        Self(Arc::new(value))
    }

    /// The whole object.
    pub fn value(&self) -> &Value {
        &self.0
    }

    /// `.apiVersion`.
    pub fn api_version(&self) -> Option<&str> {
        self.0.get("apiVersion")?.as_str()
    }

    /// `.kind`.
    pub fn kind(&self) -> Option<&str> {
        self.0.get("kind")?.as_str()
    }

    /// `.metadata`.
    pub fn metadata(&self) -> Option<&Map<String, Value>> {
        self.0.get("metadata")?.as_object()
    }

    /// `.metadata.name`.
    pub fn name(&self) -> Option<&str> {
        self.meta_text("name")
    }

    /// `.metadata.namespace`; absent for cluster-scoped objects.
    pub fn namespace(&self) -> Option<&str> {
        self.meta_text("namespace")
    }

    /// `.metadata.uid`.
    pub fn uid(&self) -> Option<&str> {
        self.meta_text("uid")
    }

    /// `.metadata.resourceVersion`.
    pub fn resource_version(&self) -> Option<&str> {
        self.meta_text("resourceVersion")
    }

    /// `.metadata.generation`.
    pub fn generation(&self) -> Option<i64> {
        self.metadata()?.get("generation")?.as_i64()
    }

    /// `.metadata.deletionTimestamp`; null counts as absent (C-10).
    pub fn deletion_timestamp(&self) -> Option<&str> {
        self.meta_text("deletionTimestamp")
    }

    /// `.metadata.labels`.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts("labels")
    }

    /// `.metadata.annotations`.
    pub fn annotations(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts("annotations")
    }

    /// The value of one label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.metadata()?.get("labels")?.get(key)?.as_str()
    }

    /// The value of one annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata()?.get("annotations")?.get(key)?.as_str()
    }

    /// `.metadata.finalizers`.
    pub fn finalizers(&self) -> impl Iterator<Item = &str> {
        let list = self.metadata().and_then(|meta| meta.get("finalizers")?.as_array());
        list.into_iter().flatten().filter_map(Value::as_str)
    }

    /// `.spec`.
    pub fn spec(&self) -> Option<&Value> {
        self.0.get("spec").filter(|value| !value.is_null())
    }

    /// `.status`.
    pub fn status(&self) -> Option<&Value> {
        self.0.get("status").filter(|value| !value.is_null())
    }

    /// What tells this object from all others of its kind: the uid, or else what identifies it best.
    pub fn key(&self) -> String {
        if let Some(uid) = self.uid() {
            return uid.to_owned();
        }
        let parts = [
            self.kind(),
            self.api_version(),
            self.name(),
            self.namespace(),
            self.meta_text("creationTimestamp"),
        ];
        parts.map(|part| part.unwrap_or("-")).join("//")
    }

    /// The whole object, to be kept.
    pub(crate) fn shared(&self) -> Arc<Value> {
        Arc::clone(&self.0)
    }

    /// Whether both are one and the same in memory.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn meta_text(&self, key: &str) -> Option<&str> {
        self.metadata()?.get(key)?.as_str()
    }

    fn texts(&self, stanza: &str) -> impl Iterator<Item = (&str, &str)> {
        let map = self.metadata().and_then(|meta| meta.get(stanza)?.as_object());
        map.into_iter()
            .flatten()
            .filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
    }
}

impl From<Value> for Body {
    fn from(value: Value) -> Self {
        Self::new(value)
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Body({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    // K-5, K-6
    #[test]
    fn missing_stanzas_and_nulls_read_as_absent() {
        for value in [
            json!({}),
            json!({"metadata": null, "spec": null, "status": null}),
            json!({"metadata": {}}),
        ] {
            let body = Body::new(value);
            assert_eq!((body.name(), body.namespace(), body.uid()), (None, None, None));
            assert_eq!((body.spec(), body.status()), (None, None));
            assert_eq!(
                body.labels().count() + body.annotations().count() + body.finalizers().count(),
                0
            );
        }
    }

    // C-10
    #[test]
    fn a_null_deletion_timestamp_is_no_deletion() {
        assert_eq!(
            Body::new(json!({"metadata": {"deletionTimestamp": null}})).deletion_timestamp(),
            None
        );
    }

    //
    #[test]
    fn objects_without_uid_are_told_apart_by_their_names() {
        let body = Body::new(json!({"kind": "K", "apiVersion": "g/v1", "metadata": {"name": "n"}}));
        assert_eq!(body.key(), "K//g/v1//n//-//-");
        assert_eq!(Body::new(json!({"metadata": {"uid": "u", "name": "n"}})).key(), "u");
        assert_eq!(Body::new(json!({})).key(), "-//-//-//-//-");
    }
}
