//! Kinds of watch events, and references to single objects.

use serde_json::Value;

use super::bodies::Body;

/// What a notice about an object says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventType {
    /// An item of the first or a repeated listing; Kopf's type `null`.
    Listed,
    /// The object was created.
    Added,
    /// The object was changed.
    Modified,
    /// The object is gone.
    Deleted,
}

impl EventType {
    /// As on the wire; `None` for items of listings.
    #[must_use]
    pub fn as_str(self) -> Option<&'static str> {
        match self {
            Self::Listed => None,
            Self::Added => Some("ADDED"),
            Self::Modified => Some("MODIFIED"),
            Self::Deleted => Some("DELETED"),
        }
    }
}

/// What Kubernetes events and log records say of their object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ObjectReference {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    pub(crate) uid: Option<String>,
}

impl ObjectReference {
    pub(crate) fn to(body: &Body) -> Self {
        let text = |key: &str| {
            body.value()
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        Self {
            api_version: text("apiVersion"),
            kind: text("kind"),
            name: body.name().unwrap_or_default().to_owned(),
            namespace: body.namespace().map(str::to_owned),
            uid: body.uid().map(str::to_owned),
        }
    }
}
