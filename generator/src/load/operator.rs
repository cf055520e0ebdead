//! The top level.

use super::keys::{DEPLOY, METADATA, PEERING, PROJECT, RUNTIME, TOP};
use super::reader::{Faults, boolean, choice, duration, integer, is_empty, mapping, missing, sequence, text, text_map};
use super::resource::resource;
use super::settings::settings;
use crate::diagnostic::{Code, Diagnostic, Span, wrong_type};
use crate::model::RuntimeSource;
use crate::spec::{
    Deploy, Mapping, Metadata, Node, OperatorSpec, Peering, PeeringSpec, Priority, Reading, ResourceSpec,
};

const API_VERSION: &str = "kopf-gen.dev/v1alpha1";
const KIND: &str = "OperatorSpec";

/// The typed spec; `None` comes with faults.
pub(super) fn operator(root: &Node, faults: &mut Faults) -> Option<OperatorSpec> {
    let keys = mapping(root, &TOP, faults)?;
    let start = Span::new(root.span.start, root.span.start);
    header(keys, "apiVersion", API_VERSION, start, faults);
    header(keys, "kind", KIND, start, faults);
    let metadata = if let Some(node) = keys.get("metadata") {
        metadata(node, faults)
    } else {
        faults.push(missing(start, "metadata", "the operator spec").help("write metadata: {name: my-operator}"));
        None
    };
    let settings = keys
        .get("settings")
        .and_then(|node| settings(node, faults))
        .unwrap_or_default();
    let memo = keys.get("memo").and_then(|node| text(node, "`memo`", faults));
    let runtime = keys.get("project").and_then(|node| project(node, faults));
    let peering = keys
        .get("peering")
        .map_or_else(|| PeeringSpec::With(Peering::default()), |node| peering(node, faults));
    let deploy = keys
        .get("deploy")
        .and_then(|node| deploy(node, faults))
        .unwrap_or_default();
    let resources = resources(keys, start, faults);
    Some(OperatorSpec {
        metadata: metadata?,
        runtime,
        settings,
        memo,
        peering,
        deploy,
        resources,
    })
}

fn header(keys: &Mapping, key: &str, wanted: &str, start: Span, faults: &mut Faults) {
    let Some(node) = keys.get(key) else {
        faults.push(missing(start, key, "the operator spec").help(format!("write {key}: {wanted}")));
        return;
    };
    let Some(text) = text(node, &format!("`{key}`"), faults) else {
        return;
    };
    if text.value != wanted {
        let message = format!("`{key}` must be `{wanted}`, not `{}`", text.value);
        faults.push(Diagnostic::error(Code::WrongHeader, text.span, message));
    }
}

fn metadata(node: &Node, faults: &mut Faults) -> Option<Metadata> {
    let keys = mapping(node, &METADATA, faults)?;
    let name = if let Some(node) = keys.get("name") {
        text(node, "`metadata.name`", faults)
    } else {
        faults.push(missing(node.span, "name", "`metadata`"));
        None
    };
    let description = keys
        .get("description")
        .and_then(|node| text(node, "`description`", faults));
    let labels = text_map(keys.get("labels"), "`labels`", faults);
    let annotations = text_map(keys.get("annotations"), "`annotations`", faults);
    Some(Metadata {
        name: name?,
        description,
        labels,
        annotations,
    })
}

fn project(node: &Node, faults: &mut Faults) -> Option<RuntimeSource> {
    let runtime = mapping(node, &PROJECT, faults)?.get("runtime")?;
    if runtime.as_mapping().is_none() {
        choice(runtime, "`runtime`", &["vendored"], faults)?;
        return Some(RuntimeSource::Vendored);
    }
    let path = mapping(runtime, &RUNTIME, faults)?.get("path")?;
    let path = text(path, "`path`", faults)?;
    if path.value.is_empty() {
        faults.push(Diagnostic::error(Code::Empty, path.span, "`path` is empty"));
        return None;
    }
    Some(RuntimeSource::Path(path.value))
}

fn peering(node: &Node, faults: &mut Faults) -> PeeringSpec {
    if node
        .as_scalar()
        .is_some_and(|scalar| scalar.reading() == Reading::Boolean(false))
    {
        return PeeringSpec::Standalone;
    }
    if node.as_mapping().is_none() {
        let fault = wrong_type(node.span, "`peering`", "false or a mapping", node.kind());
        faults.push(fault.help("peering is on by default; write `peering: false` for a standalone operator"));
        return PeeringSpec::Standalone;
    }
    let Some(keys) = mapping(node, &PEERING, faults) else {
        return PeeringSpec::Standalone;
    };
    PeeringSpec::With(Peering {
        name: keys.get("name").and_then(|node| text(node, "`name`", faults)),
        mandatory: keys
            .get("mandatory")
            .and_then(|node| boolean(node, "`mandatory`", faults)),
        priority: keys.get("priority").and_then(|node| priority(node, faults)),
        lifetime: keys
            .get("lifetime")
            .and_then(|node| duration(node, "`lifetime`", faults)),
        stealth: keys.get("stealth").and_then(|node| boolean(node, "`stealth`", faults)),
        clusterwide: keys
            .get("clusterwide")
            .and_then(|node| boolean(node, "`clusterwide`", faults)),
    })
}

fn priority(node: &Node, faults: &mut Faults) -> Option<Priority> {
    match node.as_scalar() {
        Some(scalar) if scalar.reading() == Reading::Text && scalar.text == "random" => Some(Priority::Random),
        Some(scalar) if scalar.reading() == Reading::Text => {
            let found = format!("`{}`", scalar.text);
            faults.push(wrong_type(
                node.span,
                "`priority`",
                "a whole number or `random`",
                &found,
            ));
            None
        }
        _ => integer(node, "`priority`", faults).map(|priority| Priority::Fixed(priority.value)),
    }
}

fn deploy(node: &Node, faults: &mut Faults) -> Option<Deploy> {
    let keys = mapping(node, &DEPLOY, faults)?;
    Some(Deploy {
        namespace: keys.get("namespace").and_then(|node| text(node, "`namespace`", faults)),
        image: keys.get("image").and_then(|node| text(node, "`image`", faults)),
    })
}

fn resources(keys: &Mapping, start: Span, faults: &mut Faults) -> Vec<ResourceSpec> {
    let node = keys.get("resources");
    let items = sequence(node, "`resources`", faults);
    if node.is_none() {
        faults.push(missing(start, "resources", "the operator spec").help("list at least one kind"));
    } else if items.is_empty() && node.is_some_and(|node| is_empty(node) || node.as_sequence().is_some()) {
        let span = node.map_or(start, |node| node.span);
        faults.push(Diagnostic::error(
            Code::Empty,
            span,
            "`resources` is empty: an operator watches at least one kind",
        ));
    }
    items.iter().filter_map(|node| resource(node, faults)).collect()
}
