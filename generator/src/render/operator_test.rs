//! `tests/operator.rs`: a first test, which is the author's from then on.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use super::expectation::expectation;
use super::owner;
use super::yaml::{Yaml, documents, map};
use crate::fileset::{Class, FileSet};
use crate::matching;
use crate::model::{Operator, Resource};
use crate::rustfmt::{WIDTH, version_order};
use crate::template::fill;

#[derive(Serialize)]
struct Test {
    uses: Vec<String>,
    /// The environment variables without which the operator refuses to start.
    needed: Option<String>,
    type_name: String,
    namespace: String,
    /// Whether the operator keeps the last handled state of the objects.
    is_recorded: bool,
    last_handled: String,
    /// The declaration of the status key where the first result is stored.
    result: Option<String>,
    scene: Option<String>,
    edits: Option<String>,
    goes_away: bool,
    /// The declarations of the namespace and the name of the operator's service account.
    account: [String; 2],
    /// The declaration of the file with the kind's samples.
    samples: String,
}

/// Names which the test takes from elsewhere.
const TAKEN: [&str; 9] = [
    "Client",
    "Error",
    "Kind",
    "Reference",
    "Resource",
    "Server",
    "User",
    "Value",
    "Option",
];

/// Adds the test for the first kind that has handlers and a sample.
pub(super) fn render(operator: &Operator, files: &mut FileSet) {
    let has_work = |resource: &&Resource| !resource.samples.is_empty() && !resource.functions.is_empty();
    let Some(resource) = operator.resources.iter().find(has_work) else {
        return;
    };
    let is_taken = TAKEN.contains(&resource.type_name.as_str());
    let (type_name, rename) = if is_taken {
        ("Handled", " as Handled")
    } else {
        (resource.type_name.as_str(), "")
    };
    let generated = format!("use {}::generated", operator.crate_name.replace('-', "_"));
    let mut uses = vec![("operator", format!("{generated}::operator;"))];
    uses.push((
        &resource.module,
        format!("{generated}::{}::{}{rename};", resource.module, resource.type_name),
    ));
    uses.sort_by(|(a, _), (b, _)| version_order(a, b));

    let expected = expectation(operator, resource, &resource.samples[0]);
    let last_handled = matching::last_handled(operator).unwrap_or_default();
    let values = Test {
        uses: uses.into_iter().map(|(_, line)| line).collect(),
        needed: needed(operator),
        type_name: type_name.to_owned(),
        namespace: namespace(resource),
        is_recorded: expected.is_recorded,
        last_handled: constant("LAST_HANDLED", &last_handled),
        result: expected.result.map(|key| constant("RESULT", &key)),
        scene: scene(resource),
        edits: edits(&expected.edits),
        goes_away: expected.goes_away,
        account: [
            constant("OPERATOR_NAMESPACE", &operator.deploy.namespace),
            constant("ACCOUNT", &operator.name),
        ],
        samples: constant("SAMPLES", &format!("deploy/samples/{}.yaml", resource.module)),
    };
    files.add_owned(
        Class::Seeded,
        "tests/operator.rs",
        fill("tests/operator.rs", &values),
        &owner(resource),
    );
}

fn needed(operator: &Operator) -> Option<String> {
    let names = operator.needed_variables();
    let names: Vec<_> = names.into_iter().collect();
    (!names.is_empty()).then(|| names.join(", "))
}

fn namespace(resource: &Resource) -> String {
    if !resource.reference.namespaced {
        return "None".to_owned();
    }
    let object = &resource.samples[0].object;
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default");
    format!("Some({namespace:?})")
}

fn constant(name: &str, text: &str) -> String {
    let line = format!("const {name}: &str = {text:?};");
    let broken = format!("    {text:?};");
    // What fits on no line is left alone by rustfmt.
    if line.len() <= WIDTH || broken.len() > WIDTH {
        line
    } else {
        format!("const {name}: &str =\n{broken}")
    }
}

/// The namespaces of the samples, but for the one that every cluster has.
fn scene(resource: &Resource) -> Option<String> {
    let samples = resource.samples.iter();
    let names: BTreeSet<_> = samples
        .filter_map(|sample| sample.object["metadata"]["namespace"].as_str())
        .filter(|&name| name != "default")
        .collect();
    let namespace = |name| map! { "apiVersion" => "v1", "kind" => "Namespace", "metadata" => map! { "name" => name } };
    let namespaces: Vec<_> = names.into_iter().map(namespace).collect();
    (!namespaces.is_empty()).then(|| multi_line(&documents(&namespaces)))
}

fn edits(then: &[Value]) -> Option<String> {
    let edits: Vec<_> = then.iter().map(Yaml::object).collect();
    (!edits.is_empty()).then(|| multi_line(&documents(&edits)))
}

/// A string literal that keeps its lines, raw if it has to be.
fn multi_line(text: &str) -> String {
    if !text.contains(['"', '\\']) {
        return format!("\"\n{text}\"");
    }
    let mut hashes = String::from("#");
    while text.contains(&format!("\"{hashes}")) {
        hashes.push('#');
    }
    format!("r{hashes}\"\n{text}\"{hashes}")
}
