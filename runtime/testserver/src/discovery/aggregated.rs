//! All of discovery in one answer, for clients that know the form.

use serde_json::{Value, json};

use super::{group_names, served_in, subresources, versions_of};
use crate::kinds::{Kind, Kinds};

/// The version of the form that the header asks for first, unless it asks for the old form before.
pub(crate) fn wanted(accept: &str) -> Option<&'static str> {
    for option in accept.split(',') {
        let has = |wanted: &str| option.split(';').any(|part| part.trim() == wanted);
        if !has("application/json") && !has("*/*") {
            continue;
        }
        let list = has("as=APIGroupDiscoveryList") && has("g=apidiscovery.k8s.io");
        if list && has("v=v2") {
            return Some("v2");
        }
        if list && has("v=v2beta1") {
            return Some("v2beta1");
        }
        if !option.contains("as=") {
            return None;
        }
    }
    None
}

/// The media type of an answer in this form, by which clients tell it.
pub(crate) fn content_type(version: &str) -> String {
    format!("application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList")
}

/// `/api` or `/apis`.
pub(crate) fn document(kinds: &Kinds, core: bool, form: &str) -> Value {
    let names = if core { vec![""] } else { group_names(kinds) };
    let items: Vec<_> = names.into_iter().map(|name| group(kinds, name)).collect();
    json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": format!("apidiscovery.k8s.io/{form}"), "metadata": {},
        "items": items,
    })
}

fn group(kinds: &Kinds, name: &str) -> Value {
    let versions = versions_of(kinds, name);
    let versions: Vec<_> = versions
        .into_iter()
        .map(|version| {
            let resources: Vec<_> = served_in(kinds, name, version)
                .map(|kind| resource(kind, version))
                .collect();
            json!({"version": version, "resources": resources, "freshness": "Current"})
        })
        .collect();
    let mut metadata = json!({"creationTimestamp": null});
    if !name.is_empty() {
        metadata["name"] = json!(name);
    }
    json!({"metadata": metadata, "versions": versions})
}

fn resource(kind: &Kind, version: &str) -> Value {
    let own = (kind.group.as_str(), version);
    let response_kind =
        |(group, version): (&str, &str), kind: &str| json!({"group": group, "version": version, "kind": kind});
    let mut resource = json!({
        "resource": kind.plural, "responseKind": response_kind(own, &kind.kind),
        "scope": if kind.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": kind.singular, "verbs": kind.verbs,
    });
    if !kind.short_names.is_empty() {
        resource["shortNames"] = json!(kind.short_names);
    }
    if !kind.categories.is_empty() {
        resource["categories"] = json!(kind.categories);
    }
    let parts: Vec<_> = subresources(kind, version)
        .into_iter()
        .map(|part| {
            json!({
                "subresource": part.name, "verbs": part.verbs,
                "responseKind": response_kind(part.of.unwrap_or(own), &part.kind),
            })
        })
        .collect();
    if !parts.is_empty() {
        resource["subresources"] = json!(parts);
    }
    resource
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_chosen_by_the_first_option_that_fits() {
        let new = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        let old = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
        assert_eq!(wanted(&format!("{new},{old},application/json")), Some("v2"));
        assert_eq!(wanted(&format!("{old},application/json")), Some("v2beta1"));
        assert_eq!(wanted(&format!("application/json,{new}")), None);
        assert_eq!(wanted(""), None);
    }
}
