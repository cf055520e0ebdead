//! The top level: names, peering, deployment.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Faults, memos, resources, settings};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Deploy, Operator, Peering, RuntimeSource};
use crate::naming;
use crate::spec::{self, OperatorSpec, PeeringSpec, Priority, Spanned, TextMap};

/// Probes; the Deployment, the network policy and the runtime agree on it.
const HEALTH_PORT: u16 = 8081;

/// The version of a crate that was just made.
const FIRST_VERSION: &str = "0.1.0";

pub(super) fn operator(spec: &OperatorSpec, faults: &mut Faults) -> Option<Operator> {
    let name = &spec.metadata.name;
    check_name(name, faults);
    let labels = labels(&spec.metadata.labels, true, faults);
    let annotations = self::labels(&spec.metadata.annotations, false, faults);
    let (resources, indexes) = resources::resources(&spec.resources, faults);
    let persistence = settings::persistence(spec, &resources, faults);
    settings::check_room(&spec.settings.persistence, &resources, faults);
    let memo = memos::memo(spec.memo.as_ref(), faults);
    let peering = peering(&spec.peering, &name.value, faults);
    let deploy = deploy(&spec.deploy, &name.value, faults);
    Some(Operator {
        name: name.value.clone(),
        crate_name: name.value.clone(),
        description: spec
            .metadata
            .description
            .as_ref()
            .map(|text| text.value.trim_end().to_string()),
        labels,
        annotations,
        resources,
        indexes,
        persistence: persistence?,
        posting: settings::posting(&spec.settings.posting),
        settings: settings::others(&spec.settings),
        memo,
        peering,
        deploy,
        runtime: spec.runtime.clone().unwrap_or(RuntimeSource::Vendored),
    })
}

fn check_name(name: &Spanned<String>, faults: &mut Faults) {
    let text = name.value.as_str();
    let fault = if text.is_empty() {
        Some(("`metadata.name` is empty".to_string(), None))
    } else if !naming::is_dns_1035_label(text) {
        let suggestion = naming::snake_case(text).replace('_', "-");
        let help = naming::is_dns_1035_label(&suggestion).then(|| format!("write {suggestion}"));
        Some((
            format!("`{text}` is not lower case letters, digits and dashes, starting with a letter"),
            help,
        ))
    } else if text.len() > 50 {
        Some((
            format!("`metadata.name` has {} characters, more than 50", text.len()),
            None,
        ))
    } else if naming::is_keyword(text) {
        Some((
            format!("`{text}` is a keyword of Rust and cannot name a crate"),
            Some(format!("write {text}-operator")),
        ))
    } else if naming::is_known_crate(text) {
        let message = format!("a crate named `{text}` would hide another, or cargo refuses it");
        Some((message, Some(format!("write {text}-operator"))))
    } else {
        None
    };
    if let Some((message, help)) = fault {
        faults.push(Diagnostic::error(Code::OperatorName, name.span, message).maybe_help(help));
    }
}

fn labels(pairs: &TextMap, are_labels: bool, faults: &mut Faults) -> BTreeMap<String, String> {
    for (key, value) in pairs {
        check_key(key, faults);
        if are_labels {
            check_label_value(&value.value, value.span, faults);
        }
    }
    pairs
        .iter()
        .map(|(key, value)| (key.value.clone(), value.value.clone()))
        .collect()
}

pub(super) fn check_key(key: &Spanned<String>, faults: &mut Faults) {
    if !naming::is_qualified_name(&key.value) {
        let message = format!("`{}` is no key of a label or an annotation", key.value);
        let help = "a key is a name of at most 63 letters, digits, `-`, `_` and `.`, behind an optional domain/";
        faults.push(Diagnostic::error(Code::LabelOrAnnotation, key.span, message).help(help));
    }
}

pub(super) fn check_label_value(value: &str, span: crate::diagnostic::Span, faults: &mut Faults) {
    if !naming::is_label_value(value) {
        let message = format!("`{value}` is no value of a label");
        let help = "a value is at most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends";
        faults.push(Diagnostic::error(Code::LabelOrAnnotation, span, message).help(help));
    }
}

fn peering(spec: &PeeringSpec, operator: &str, faults: &mut Faults) -> Option<Peering> {
    let PeeringSpec::With(spec) = spec else { return None };
    if let Some(name) = spec.name.as_ref().filter(|name| !naming::is_dns_subdomain(&name.value)) {
        let message = format!("`{}` cannot name a peering object", name.value);
        faults.push(Diagnostic::error(Code::PeeringName, name.span, message));
    }
    if let Some(lifetime) = spec
        .lifetime
        .as_ref()
        .filter(|lifetime| lifetime.value < Duration::from_secs(1))
    {
        faults.push(Diagnostic::error(
            Code::OutOfRange,
            lifetime.span,
            "`lifetime` must be at least one second",
        ));
    }
    let flag = |flag: &Option<Spanned<bool>>, otherwise: bool| flag.as_ref().map_or(otherwise, |flag| flag.value);
    Some(Peering {
        name: spec
            .name
            .as_ref()
            .map_or_else(|| operator.to_string(), |name| name.value.clone()),
        mandatory: flag(&spec.mandatory, false),
        priority: match spec.priority {
            Some(Priority::Random) => None,
            Some(Priority::Fixed(priority)) => Some(priority),
            None => Some(0),
        },
        lifetime: spec
            .lifetime
            .as_ref()
            .map_or(Duration::from_secs(60), |lifetime| lifetime.value),
        stealth: flag(&spec.stealth, false),
        // As in Kopf it follows the scope, and the operator watches all namespaces.
        clusterwide: flag(&spec.clusterwide, true),
    })
}

fn deploy(spec: &spec::Deploy, operator: &str, faults: &mut Faults) -> Deploy {
    if let Some(namespace) = spec
        .namespace
        .as_ref()
        .filter(|name| !naming::is_dns_label(&name.value))
    {
        let message = format!("`{}` cannot name a namespace", namespace.value);
        let help = "a namespace is at most 63 lower case letters, digits and dashes";
        faults.push(Diagnostic::error(Code::DeployName, namespace.span, message).help(help));
    }
    if let Some(image) = &spec.image {
        check_image(image, faults);
    }
    Deploy {
        namespace: spec
            .namespace
            .as_ref()
            .map_or_else(|| format!("{operator}-system"), |name| name.value.clone()),
        image: spec
            .image
            .as_ref()
            .map_or_else(|| operator.to_string(), |image| image.value.clone()),
        tag: FIRST_VERSION.to_string(),
        health_port: HEALTH_PORT,
    }
}

fn check_image(image: &Spanned<String>, faults: &mut Faults) {
    let text = image.value.as_str();
    let last = text.rsplit('/').next().unwrap_or_default();
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_' | '-' | '/' | ':');
    if text.contains('@') || (text.contains('/') || text.contains(':')) && last.contains(':') {
        let name = text.split('@').next().unwrap_or_default();
        let name = name
            .rsplit_once(':')
            .filter(|(_, tag)| !tag.contains('/'))
            .map_or(name, |(name, _)| name);
        let fault = Diagnostic::error(
            Code::DeployName,
            image.span,
            format!("`{text}` carries a tag or a digest"),
        );
        faults.push(fault.help(format!(
            "write {name}; the tag is the crate's version, or what an overlay says"
        )));
    } else if text.is_empty() || !text.chars().all(legal) || text.split('/').any(str::is_empty) {
        faults.push(Diagnostic::error(
            Code::DeployName,
            image.span,
            format!("`{text}` is no name of an image"),
        ));
    }
}
