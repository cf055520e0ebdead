//! What storages change on an object to keep state there (P-17).

use serde_json::{Map, Value};

use super::patches::{MetaValue, compose};

/// What a storage wants changed on the object. It is sent with all else of the cycle, in one merge patch (RFC 7386):
/// null removes, mappings merge, all else replaces.
///
/// ```
/// use kopf_runtime::storages::StatePatch;
/// use serde_json::json;
///
/// let mut patch = StatePatch::default();
/// patch.annotation("example.com/step", "2");
/// patch.annotation("example.com/draft", None);
/// patch.merge(json!({"status": {"steps": 2}}));
/// assert_eq!(
///     patch.merged(),
///     json!({
///         "metadata": {"annotations": {"example.com/step": "2", "example.com/draft": null}},
///         "status": {"steps": 2},
///     })
/// );
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatePatch(Map<String, Value>);

impl StatePatch {
    /// Sets an annotation, or removes it with `None`.
    pub fn annotation(&mut self, key: impl Into<String>, value: impl Into<MetaValue>) {
        let annotations = Map::from_iter([(key.into(), value.into().into_value())]);
        let metadata = Map::from_iter([("annotations".to_owned(), Value::Object(annotations))]);
        compose(
            &mut self.0,
            Map::from_iter([("metadata".to_owned(), Value::Object(metadata))]),
        );
    }

    /// Changes anywhere in the object. Anything but a mapping changes nothing.
    pub fn merge(&mut self, change: Value) {
        if let Value::Object(change) = change {
            compose(&mut self.0, change);
        }
    }

    /// The changes as one merge patch; for tests of storages.
    #[must_use]
    pub fn merged(&self) -> Value {
        Value::Object(self.0.clone())
    }

    pub(crate) fn into_merge(self) -> Map<String, Value> {
        self.0
    }
}
