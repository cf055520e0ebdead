//! `vendor/`: the sources of the runtime, each crate standing on its own.

use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value, value};

use crate::fileset::{Class, FileSet};
use crate::template::{embedded, embedded_below, find_embedded};

/// Adds the copies.
pub(super) fn render(files: &mut FileSet) {
    for (name, short) in [("kopf-runtime", "runtime"), ("kopf-testserver", "testserver")] {
        let manifest = standalone(embedded(&format!("{short}.toml")), embedded("workspace.toml"));
        files.add(Class::Vendored, format!("vendor/{name}/Cargo.toml"), manifest);
        files.add(Class::Vendored, format!("vendor/{name}/LICENSE"), embedded("LICENSE"));
        if let Some(readme) = find_embedded(&format!("{short}-README.md")) {
            files.add(Class::Vendored, format!("vendor/{name}/README.md"), readme);
        }
        for (path, text) in embedded_below(&format!("{short}-src")).filter(|(path, _)| !is_test(path)) {
            files.add(Class::Vendored, format!("vendor/{name}/src/{path}"), text);
        }
    }
}

/// Unit tests of the runtime need what only its own workspace has.
fn is_test(path: &str) -> bool {
    path.ends_with("tests.rs") || path.contains("tests/")
}

/// A value of the workspace's `[workspace.package]`.
pub(super) fn workspace_package(key: &str) -> String {
    let workspace = parse(embedded("workspace.toml"));
    workspace["workspace"]["package"][key]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// The version that the workspace asks of a dependency.
pub(super) fn workspace_version(name: &str) -> String {
    let workspace = parse(embedded("workspace.toml"));
    let dependency = &workspace["workspace"]["dependencies"][name];
    let version = dependency.as_str().or_else(|| dependency.get("version")?.as_str());
    version.unwrap_or("*").to_owned()
}

fn parse(text: &str) -> DocumentMut {
    text.parse().expect("embedded manifests are read by cargo, too")
}

/// The manifest without a word about its workspace, and without what only tests need.
fn standalone(manifest: &str, workspace: &str) -> String {
    let mut manifest = parse(manifest);
    let workspace = parse(workspace);
    for key in ["dev-dependencies", "lints", "test", "bench", "example"] {
        manifest.remove(key);
    }
    if let Some(package) = manifest.get_mut("package").and_then(Item::as_table_mut) {
        package.remove("readme");
        inherit_package(package, &workspace["workspace"]["package"]);
    }
    if let Some(dependencies) = manifest.get_mut("dependencies").and_then(Item::as_table_mut) {
        inherit_dependencies(dependencies, &workspace["workspace"]["dependencies"]);
    }
    format!("{}\n", manifest.to_string().trim())
}

fn inherit_package(package: &mut Table, workspace: &Item) {
    let inherited: Vec<String> = package
        .iter()
        .filter(|(_, item)| is_inherited(item))
        .map(|(key, _)| key.to_owned())
        .collect();
    for key in inherited {
        match workspace.get(&key).and_then(Item::as_value) {
            Some(found) => package[&key] = value(found.clone().decorated(" ", "")),
            None => drop(package.remove(&key)),
        }
    }
    for (mut key, _) in package.iter_mut() {
        key.fmt();
    }
}

fn inherit_dependencies(dependencies: &mut Table, workspace: &Item) {
    let names: Vec<String> = dependencies.iter().map(|(name, _)| name.to_owned()).collect();
    for name in names {
        let own = &dependencies[&name];
        if !is_inherited(own) {
            continue;
        }
        let merged = merged(own, workspace.get(&name).unwrap_or(&Item::None));
        dependencies[&name] = value(merged);
    }
    for (mut key, _) in dependencies.iter_mut() {
        key.fmt();
    }
    dependencies.set_dotted(false);
}

fn is_inherited(item: &Item) -> bool {
    item.get("workspace").and_then(Item::as_bool) == Some(true)
}

/// The workspace's entry with the features of both; a plain version where there is nothing else to say.
fn merged(own: &Item, shared: &Item) -> Value {
    let mut table = InlineTable::new();
    if let Some(shared) = shared.as_table_like() {
        for (key, item) in shared.iter().filter(|(key, _)| *key != "path") {
            if let Some(found) = item.as_value() {
                table.insert(key, found.clone().decorated(" ", ""));
            }
        }
    } else {
        table.insert("version", shared.as_str().unwrap_or("*").into());
    }
    let mut features = strings(shared.get("features"));
    features.extend(
        strings(own.get("features"))
            .into_iter()
            .filter(|feature| !strings(shared.get("features")).contains(feature)),
    );
    if !features.is_empty() {
        features.sort();
        table.insert("features", Value::Array(features.into_iter().collect::<Array>()));
    }
    if let Some(optional) = own.get("optional").and_then(Item::as_bool) {
        table.insert("optional", optional.into());
    }
    if let (1, Some(version)) = (table.len(), table.get("version")) {
        return version.clone();
    }
    table.fmt();
    Value::InlineTable(table)
}

fn strings(item: Option<&Item>) -> Vec<String> {
    let array = item.and_then(Item::as_array).into_iter().flatten();
    array.filter_map(|value| value.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::standalone;

    #[test]
    fn a_vendored_manifest_stands_alone() {
        let workspace = "[workspace.package]\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace.dependencies]\nserde = { version = \"1\", features = [\"derive\"] }\nanyhow = \"1\"\ntokio = { version = \"1.54\", default-features = false }\n";
        let manifest = "[package]\nname = \"x\"\nversion.workspace = true\nedition.workspace = true\nlicense.workspace = true\n\n[dependencies]\nanyhow.workspace = true\nserde.workspace = true\ntokio = { workspace = true, features = [\"time\", \"net\"] }\n\n[dev-dependencies]\ntokio.workspace = true\n\n[features]\nmore = []\n\n[lints]\nworkspace = true\n";
        assert_eq!(
            standalone(manifest, workspace),
            "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\nanyhow = \"1\"\nserde = { version = \"1\", features = [\"derive\"] }\ntokio = { version = \"1.54\", default-features = false, features = [\"net\", \"time\"] }\n\n[features]\nmore = []\n"
        );
    }
}
