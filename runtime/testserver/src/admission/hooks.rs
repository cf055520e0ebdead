//! Webhooks as configurations declare them.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::kinds::Kind;

/// The group of everything that governs admission.
const GROUP: &str = "admissionregistration.k8s.io";

/// Whether webhooks may change what they are asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Power {
    Mutating,
    Validating,
}

impl Power {
    /// Of a kind of configurations; nothing of other kinds.
    pub(crate) fn of(kind: &Kind) -> Option<Self> {
        match kind.plural.as_str() {
            _ if kind.group != GROUP => None,
            "mutatingwebhookconfigurations" => Some(Self::Mutating),
            "validatingwebhookconfigurations" => Some(Self::Validating),
            _ => None,
        }
    }

    /// Where configurations of this power are kept.
    pub(super) fn key(self) -> (String, String) {
        let plural = match self {
            Self::Mutating => "mutatingwebhookconfigurations",
            Self::Validating => "validatingwebhookconfigurations",
        };
        (GROUP.into(), plural.into())
    }
}

/// The part of a configuration beside its metadata.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Configuration {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) webhooks: Vec<Hook>,
}

/// One webhook. What is optional here has a default, so that it is only missing before that was set.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Hook {
    #[serde(deserialize_with = "or_default")]
    pub(super) name: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) client_config: ClientConfig,
    #[serde(deserialize_with = "or_default")]
    pub(super) rules: Vec<Rule>,
    pub(super) failure_policy: Option<String>,
    pub(super) match_policy: Option<String>,
    pub(super) namespace_selector: Option<LabelSelector>,
    pub(super) object_selector: Option<LabelSelector>,
    pub(super) side_effects: Option<String>,
    pub(super) timeout_seconds: Option<i32>,
    #[serde(deserialize_with = "or_default")]
    pub(super) admission_review_versions: Vec<String>,
    pub(super) reinvocation_policy: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub(super) match_conditions: Vec<MatchCondition>,
}

impl Hook {
    /// Whether a call that fails counts as one that admits.
    pub(super) fn fails_open(&self) -> bool {
        self.failure_policy.as_deref() == Some("Ignore")
    }

    /// How long a call may take.
    pub(super) fn seconds(&self) -> u64 {
        self.timeout_seconds
            .and_then(|seconds| seconds.try_into().ok())
            .unwrap_or(10)
    }
}

/// Where a webhook is: exactly one of both.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ClientConfig {
    pub(super) url: Option<String>,
    pub(super) service: Option<ServiceReference>,
    /// Certificates as PEM, as base64.
    pub(super) ca_bundle: Option<String>,
}

/// A service of the cluster.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ServiceReference {
    #[serde(deserialize_with = "or_default")]
    pub(super) namespace: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) name: String,
    pub(super) path: Option<String>,
    pub(super) port: Option<i32>,
}

impl ServiceReference {
    pub(super) fn port(&self) -> i32 {
        self.port.unwrap_or(443)
    }
}

/// The requests that a webhook wants to see.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Rule {
    #[serde(deserialize_with = "or_default")]
    pub(super) operations: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    pub(super) api_groups: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    pub(super) api_versions: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    pub(super) resources: Vec<String>,
    pub(super) scope: Option<String>,
}

/// A further condition, in CEL.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct MatchCondition {
    #[serde(deserialize_with = "or_default")]
    pub(super) name: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) expression: String,
}

/// A selector of labels; an empty one selects everything.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct LabelSelector {
    #[serde(deserialize_with = "or_default")]
    pub(super) match_labels: BTreeMap<String, String>,
    #[serde(deserialize_with = "or_default")]
    pub(super) match_expressions: Vec<Requirement>,
}

/// What is required of one label.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Requirement {
    #[serde(deserialize_with = "or_default")]
    pub(super) key: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) operator: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) values: Vec<String>,
}

impl LabelSelector {
    pub(super) fn is_empty(&self) -> bool {
        self.match_labels.is_empty() && self.match_expressions.is_empty()
    }

    /// Whether these labels, an object or null, are selected.
    pub(super) fn selects(&self, labels: &Value) -> bool {
        let value = |key: &str| labels.get(key).and_then(Value::as_str);
        let mut pairs = self.match_labels.iter();
        pairs.all(|(key, wanted)| value(key) == Some(wanted))
            && self.match_expressions.iter().all(|requirement| {
                let found = value(&requirement.key);
                let among = found.is_some_and(|found| requirement.values.iter().any(|each| each == found));
                match requirement.operator.as_str() {
                    "In" => among,
                    "NotIn" => !among,
                    "Exists" => found.is_some(),
                    _ => found.is_none(),
                }
            })
    }
}

/// Null is as good as nothing.
fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(from: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    fn selects(selector: &Value, labels: &Value) -> bool {
        let selector: LabelSelector = from_value(selector.clone()).unwrap();
        selector.selects(labels)
    }

    #[test]
    fn every_requirement_of_a_selector_counts() {
        let labels = json!({"app": "web", "tier": "front"});
        let rows = [
            (json!({}), true),
            (json!({"matchLabels": {"app": "web", "tier": "front"}}), true),
            (json!({"matchLabels": {"app": "web", "tier": "back"}}), false),
            (json!({"matchLabels": {"none": ""}}), false),
            (
                json!({"matchExpressions": [{"key": "app", "operator": "In", "values": ["db", "web"]}]}),
                true,
            ),
            (
                json!({"matchExpressions": [{"key": "no", "operator": "In", "values": ["web"]}]}),
                false,
            ),
            (
                json!({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}),
                false,
            ),
            (
                json!({"matchExpressions": [{"key": "no", "operator": "NotIn", "values": ["web"]}]}),
                true,
            ),
            (
                json!({"matchExpressions": [{"key": "app", "operator": "Exists"}]}),
                true,
            ),
            (
                json!({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}),
                false,
            ),
            (
                json!({"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "no", "operator": "Exists"}]}),
                false,
            ),
        ];
        for (selector, wanted) in rows {
            assert_eq!(selects(&selector, &labels), wanted, "{selector}");
        }
        assert!(!selects(&json!({"matchLabels": {"app": "web"}}), &Value::Null));
        assert!(selects(
            &json!({"matchExpressions": [{"key": "no", "operator": "DoesNotExist"}]}),
            &Value::Null
        ));
    }
}
