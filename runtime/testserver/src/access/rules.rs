//! One rule of a role: what it matches, and which other rules it covers.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use crate::access::Attributes;

/// A rule as roles hold it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Rule {
    #[serde(deserialize_with = "texts")]
    pub(crate) verbs: Vec<String>,
    #[serde(deserialize_with = "texts", skip_serializing_if = "Vec::is_empty")]
    pub(crate) api_groups: Vec<String>,
    #[serde(deserialize_with = "texts", skip_serializing_if = "Vec::is_empty")]
    pub(crate) resources: Vec<String>,
    #[serde(deserialize_with = "texts", skip_serializing_if = "Vec::is_empty")]
    pub(crate) resource_names: Vec<String>,
    #[serde(
        rename = "nonResourceURLs",
        deserialize_with = "texts",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub(crate) non_resource_urls: Vec<String>,
}

/// A list that may be null.
fn texts<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

impl Rule {
    /// Whether the rule allows this.
    pub(crate) fn allows(&self, wanted: &Attributes) -> bool {
        if !has(&self.verbs, &wanted.verb) {
            return false;
        }
        if wanted.is_path() {
            return self.non_resource_urls.iter().any(|url| url_covers(url, &wanted.path));
        }
        has(&self.api_groups, &wanted.group)
            && self.has_resource(&wanted.resource, &wanted.subresource)
            && (self.resource_names.is_empty() || self.resource_names.contains(&wanted.name))
    }

    fn has_resource(&self, resource: &str, subresource: &str) -> bool {
        self.resources.iter().any(|each| match each.split_once('/') {
            _ if each == "*" => true,
            None => subresource.is_empty() && each == resource,
            Some((first, rest)) => {
                !subresource.is_empty() && rest == subresource && (first == "*" || first == resource)
            }
        })
    }

    /// Whether everything that the other rule allows is allowed by this one alone.
    fn covers(&self, other: &Self) -> bool {
        let names = self.resource_names.is_empty()
            || (!other.resource_names.is_empty() && all_in(&other.resource_names, &self.resource_names));
        let resource = |path: &String| {
            self.resources.contains(path)
                || path
                    .split_once('/')
                    .is_some_and(|(_, rest)| self.resources.contains(&format!("*/{rest}")))
        };
        let url = |path: &String| self.non_resource_urls.iter().any(|url| url_covers(url, path));
        (is_any(&self.verbs) || all_in(&other.verbs, &self.verbs))
            && (is_any(&self.api_groups) || all_in(&other.api_groups, &self.api_groups))
            && (is_any(&self.resources) || other.resources.iter().all(resource))
            && other.non_resource_urls.iter().all(url)
            && names
    }

    /// The smallest rules that say the same together.
    fn parts(&self) -> Vec<Self> {
        let mut parts = Vec::new();
        let one = |text: &String| vec![text.clone()];
        for group in &self.api_groups {
            for resource in &self.resources {
                for verb in &self.verbs {
                    let part = Self {
                        verbs: one(verb),
                        api_groups: one(group),
                        resources: one(resource),
                        ..Self::default()
                    };
                    if self.resource_names.is_empty() {
                        parts.push(part);
                        continue;
                    }
                    parts.extend(self.resource_names.iter().map(|name| Self {
                        resource_names: one(name),
                        ..part.clone()
                    }));
                }
            }
        }
        for url in &self.non_resource_urls {
            parts.extend(self.verbs.iter().map(|verb| Self {
                verbs: one(verb),
                non_resource_urls: one(url),
                ..Self::default()
            }));
        }
        parts
    }
}

/// As refusals word a rule.
impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = [
            ("APIGroups", &self.api_groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.non_resource_urls),
            ("ResourceNames", &self.resource_names),
            ("Verbs", &self.verbs),
        ];
        let fields = fields.iter().filter(|(_, texts)| !texts.is_empty());
        let fields: Vec<_> = fields
            .map(|(name, texts)| format!("{name}:{}", quoted(texts)))
            .collect();
        write!(formatter, "{{{}}}", fields.join(", "))
    }
}

/// A list of texts in the server's notation: `["a" "b"]`.
pub(crate) fn quoted(texts: &[String]) -> String {
    let texts: Vec<_> = texts.iter().map(|text| format!("{text:?}")).collect();
    format!("[{}]", texts.join(" "))
}

/// What `wanted` allows and `held` does not, with the verbs for one thing together.
pub(crate) fn missing(held: &[Rule], wanted: &[Rule]) -> Vec<Rule> {
    let parts = wanted.iter().flat_map(Rule::parts);
    let mut found: Vec<Rule> = Vec::new();
    for part in parts.filter(|part| !held.iter().any(|rule| rule.covers(part))) {
        let like = |rule: &&mut Rule| {
            rule.api_groups == part.api_groups
                && rule.resources == part.resources
                && rule.resource_names == part.resource_names
        };
        // Only rules for resources are put together.
        let same = found
            .iter_mut()
            .find(|rule| part.non_resource_urls.is_empty() && rule.non_resource_urls.is_empty() && like(rule));
        match same {
            Some(rule) if rule.verbs.contains(&part.verbs[0]) => {}
            Some(rule) => rule.verbs.extend(part.verbs),
            None => found.push(part),
        }
    }
    found
}

fn is_any(texts: &[String]) -> bool {
    texts.iter().any(|text| text == "*")
}

fn has(texts: &[String], wanted: &str) -> bool {
    texts.iter().any(|text| text == "*" || text == wanted)
}

fn all_in(texts: &[String], others: &[String]) -> bool {
    texts.iter().all(|text| others.contains(text))
}

fn url_covers(rule: &str, path: &str) -> bool {
    rule == path || rule.strip_suffix('*').is_some_and(|prefix| path.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn rule(value: Value) -> Rule {
        serde_json::from_value(value).unwrap()
    }

    fn of(verbs: &[&str], groups: &[&str], resources: &[&str]) -> Rule {
        rule(json!({"verbs": verbs, "apiGroups": groups, "resources": resources}))
    }

    fn wants(verb: &str, group: &str, resource: &str, name: &str) -> Attributes {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        Attributes {
            verb: verb.into(),
            group: group.into(),
            resource: resource.into(),
            subresource: subresource.into(),
            name: name.into(),
            ..Attributes::default()
        }
    }

    #[test]
    fn verb_group_and_resource_all_have_to_match() {
        let rule = of(&["get"], &["apps"], &["deployments"]);
        assert!(rule.allows(&wants("get", "apps", "deployments", "a")));
        assert!(!rule.allows(&wants("list", "apps", "deployments", "")));
        assert!(!rule.allows(&wants("get", "", "deployments", "a")));
        assert!(!rule.allows(&wants("get", "apps", "daemonsets", "a")));
    }

    #[test]
    fn stars_match_anything_but_resources_do_not_match_their_subresources() {
        let all = of(&["*"], &["*"], &["*"]);
        assert!(all.allows(&wants("get", "", "pods/log", "a")));
        let pods = of(&["get"], &[""], &["pods"]);
        assert!(!pods.allows(&wants("get", "", "pods/log", "a")));
        let scales = of(&["get"], &["*"], &["*/scale"]);
        assert!(scales.allows(&wants("get", "apps", "deployments/scale", "a")));
        assert!(!scales.allows(&wants("get", "apps", "deployments", "a")));
        assert!(!scales.allows(&wants("get", "apps", "deployments/status", "a")));
    }

    #[test]
    fn names_restrict_a_rule_so_that_it_does_not_allow_lists() {
        let rule =
            rule(json!({"verbs": ["*"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a", "b"]}));
        assert!(rule.allows(&wants("get", "", "secrets", "b")));
        assert!(!rule.allows(&wants("get", "", "secrets", "c")));
        assert!(!rule.allows(&wants("list", "", "secrets", "")));
    }

    #[test]
    fn paths_match_whole_or_by_their_beginning() {
        let rule = rule(json!({"verbs": ["get"], "nonResourceURLs": ["/healthz", "/apis/*"]}));
        let wants = |path: &str| Attributes {
            verb: "get".into(),
            path: path.into(),
            ..Attributes::default()
        };
        assert!(rule.allows(&wants("/healthz")) && rule.allows(&wants("/apis/apps/v1")));
        assert!(!rule.allows(&wants("/healthz/ping")) && !rule.allows(&wants("/apis")));
    }

    #[test]
    fn what_is_missing_is_told_with_its_verbs_together() {
        let held = [
            of(&["get"], &[""], &["configmaps"]),
            of(&["*"], &["apps"], &["*/scale"]),
        ];
        let wanted = [
            of(&["get", "list", "watch"], &[""], &["configmaps", "pods"]),
            of(&["update"], &["apps"], &["deployments/scale"]),
        ];
        let missing: Vec<_> = missing(&held, &wanted).iter().map(Rule::to_string).collect();
        assert_eq!(
            missing,
            [
                r#"{APIGroups:[""], Resources:["configmaps"], Verbs:["list" "watch"]}"#,
                r#"{APIGroups:[""], Resources:["pods"], Verbs:["get" "list" "watch"]}"#,
            ]
        );
    }

    #[test]
    fn a_rule_for_names_does_not_cover_one_without() {
        let named = rule(json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]}));
        let all = of(&["get"], &[""], &["pods"]);
        let (named, all) = ([named], [all]);
        assert_eq!(missing(&named, &all), all);
        assert_eq!(missing(&all, &named), []);
    }
}
