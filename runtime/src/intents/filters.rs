//! Which objects a handler is for (F).

use crate::structs::bodies::Body;

/// What a label or an annotation must be: an exact text, [`PRESENT`] or [`ABSENT`] (F-2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Criterion {
    /// Exactly this text.
    Equals(String),
    /// Anything, also the empty text (F-3).
    Present,
    /// Nothing.
    Absent,
}

/// The key is there, with whatever value.
pub const PRESENT: Criterion = Criterion::Present;

/// The key is not there.
pub const ABSENT: Criterion = Criterion::Absent;

impl Criterion {
    fn accepts(&self, value: Option<&str>) -> bool {
        match self {
            Self::Equals(wanted) => value == Some(wanted),
            Self::Present => value.is_some(),
            Self::Absent => value.is_none(),
        }
    }
}

impl From<&str> for Criterion {
    fn from(text: &str) -> Self {
        Self::Equals(text.to_owned())
    }
}

impl From<String> for Criterion {
    fn from(text: String) -> Self {
        Self::Equals(text)
    }
}

/// What an object must be like, all of it (F-1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filters {
    pub(crate) labels: Vec<(String, Criterion)>,
    pub(crate) annotations: Vec<(String, Criterion)>,
}

impl Filters {
    /// Whether the object as it is now satisfies all criteria (F-1, F-4).
    ///
    /// These criteria are the same for matching and prematching: none of them is about the change itself (F-17).
    pub(crate) fn matches(&self, body: &Body) -> bool {
        self.labels
            .iter()
            .all(|(key, criterion)| criterion.accepts(body.label(key)))
            && self
                .annotations
                .iter()
                .all(|(key, criterion)| criterion.accepts(body.annotation(key)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn filters(label: impl Into<Criterion>) -> Filters {
        Filters {
            labels: vec![("a".into(), label.into())],
            ..Filters::default()
        }
    }

    fn labelled(labels: &serde_json::Value) -> Body {
        Body::new(json!({"metadata": {"labels": labels}}))
    }

    // F-2, F-3
    #[test]
    fn an_empty_text_is_present() {
        assert!(!filters(ABSENT).matches(&labelled(&json!({"a": ""}))));
        assert!(filters(PRESENT).matches(&labelled(&json!({"a": ""}))));
        assert!(filters("").matches(&labelled(&json!({"a": ""}))));
    }

    // F-2
    #[test]
    fn an_absent_key_satisfies_absent_only() {
        for labels in [json!({}), json!({"b": "x"}), json!({"a": null}), json!(null)] {
            assert!(filters(ABSENT).matches(&labelled(&labels)));
            assert!(!filters(PRESENT).matches(&labelled(&labels)));
            assert!(!filters("x").matches(&labelled(&labels)));
        }
    }

    // F-1, F-3
    #[test]
    fn all_criteria_must_hold_and_none_always_does() {
        let both = Filters {
            labels: vec![("a".into(), "1".into()), ("b".into(), PRESENT)],
            annotations: vec![("c".into(), ABSENT)],
        };
        let body = |labels, annotations| Body::new(json!({"metadata": {"labels": labels, "annotations": annotations}}));
        assert!(both.matches(&body(json!({"a": "1", "b": "x"}), json!({}))));
        assert!(!both.matches(&body(json!({"a": "1"}), json!({}))));
        assert!(!both.matches(&body(json!({"a": "1", "b": "x"}), json!({"c": "x"}))));
        assert!(Filters::default().matches(&body(json!(null), json!(null))));
    }
}
