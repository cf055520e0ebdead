//! Entries of `resources`.

use super::background::{daemons, timers};
use super::field::{field, fields};
use super::handler::handlers;
use super::indexes::indexes;
use super::keys::{OTHER_IDENTITIES, OWN_KEYS, RESOURCE};
use super::reader::{Faults, any_mapping, boolean, choice, mapping, missing, sequence, text, texts};
use crate::spec::{Mapping, Node, ResourceSpec, SampleSpec, Spanned};

pub(super) fn resource(node: &Node, faults: &mut Faults) -> Option<ResourceSpec> {
    let keys = mapping(node, &RESOURCE, faults)?;
    let api_version = identity(node, keys, "apiVersion", faults);
    let kind = identity(node, keys, "kind", faults);
    let name = |key: &str, faults: &mut Faults| keys.get(key).and_then(|node| text(node, &format!("`{key}`"), faults));
    let resource = ResourceSpec {
        comment: node.comment.clone(),
        api_version: Spanned::new(String::new(), node.span),
        kind: Spanned::new(String::new(), node.span),
        plural: name("plural", faults),
        singular: name("singular", faults),
        list_kind: name("listKind", faults),
        module: name("module", faults),
        short_names: texts(keys.get("shortNames"), "`shortNames`", faults),
        scope: name("scope", faults),
        types: keys
            .get("types")
            .map(|node| fields(node, "`types`", faults))
            .unwrap_or_default(),
        spec: keys.get("spec").and_then(|node| field(node, None, "`spec`", faults)),
        status: keys
            .get("status")
            .and_then(|node| field(node, None, "`status`", faults)),
        status_subresource: keys
            .get("statusSubresource")
            .and_then(|node| boolean(node, "`statusSubresource`", faults)),
        preserve_unknown_fields: keys
            .get("preserveUnknownFields")
            .and_then(|node| choice(node, "`preserveUnknownFields`", &["status", "all", "none"], faults)),
        handlers: handlers(keys.get("handlers"), faults),
        timers: timers(keys.get("timers"), faults),
        daemons: daemons(keys.get("daemons"), faults),
        indexes: indexes(keys.get("indexes"), faults),
        memo: name("memo", faults),
        samples: sequence(keys.get("samples"), "`samples`", faults)
            .iter()
            .filter_map(|node| sample(node, faults))
            .collect(),
        own_keys: own_keys(keys),
    };
    Some(ResourceSpec {
        api_version: api_version?,
        kind: kind?,
        ..resource
    })
}

fn identity(node: &Node, keys: &Mapping, key: &str, faults: &mut Faults) -> Option<Spanned<String>> {
    if let Some(node) = keys.get(key) {
        return text(node, &format!("`{key}`"), faults);
    }
    if !keys
        .entries
        .iter()
        .any(|entry| OTHER_IDENTITIES.contains(&entry.key.value.as_str()))
    {
        let place = keys.entries.first().map_or(node.span, |entry| entry.key.span);
        faults.push(missing(place, key, "the resource").help("a resource is named by `apiVersion` and `kind`"));
    }
    None
}

fn own_keys(keys: &Mapping) -> Vec<Spanned<String>> {
    let own = keys
        .entries
        .iter()
        .filter(|entry| OWN_KEYS.contains(&entry.key.value.as_str()));
    own.map(|entry| entry.key.clone()).collect()
}

fn sample(node: &Node, faults: &mut Faults) -> Option<SampleSpec> {
    let keys = any_mapping(node, "a sample", faults)?;
    let then = sequence(keys.get("then"), "`then`", faults).to_vec();
    for patch in &then {
        any_mapping(patch, "an edit in `then`", faults);
    }
    Some(SampleSpec {
        node: node.clone(),
        then,
    })
}
