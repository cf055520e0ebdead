//! `src/handlers`: one stub per function, in a file that is the author's from then on.

use serde::Serialize;

use super::scope::Scope;
use super::stubs::{helper_stub, stub};
use super::types;
use crate::fileset::{Class, File, FileSet, Part};
use crate::model::{Operator, Resource};
use crate::template::fill;

#[derive(Serialize)]
struct Modules<'a> {
    modules: Vec<&'a str>,
}

#[derive(Serialize)]
struct Module<'a> {
    kind: &'a str,
    uses: Vec<String>,
    stubs: Vec<String>,
}

/// Adds `src/handlers/mod.rs` and a module for each resource.
pub(super) fn render(operator: &Operator, files: &mut FileSet) {
    let mut modules: Vec<&str> = operator
        .resources
        .iter()
        .map(|resource| resource.module.as_str())
        .collect();
    // Unlike imports, modules are sorted by bytes.
    modules.sort_unstable();
    files.insert(
        "src/handlers/mod.rs",
        File {
            contents: fill(
                "src/handlers/mod.rs",
                &Modules {
                    modules: modules.clone(),
                },
            ),
            class: Class::Seeded,
            owner: None,
            parts: modules
                .iter()
                .map(|module| Part::Module((*module).to_owned()))
                .collect(),
        },
    );
    for resource in &operator.resources {
        let path = format!("src/handlers/{}.rs", resource.module);
        files.insert(path, module(operator, resource));
    }
}

fn module(operator: &Operator, resource: &Resource) -> File {
    let mut whole = new_scope(resource);
    let mut stubs = Vec::new();
    let mut parts = Vec::new();
    let mut add = |name: &str, render: &dyn Fn(&mut Scope) -> String| {
        stubs.push(render(&mut whole));
        let mut scope = new_scope(resource);
        let text = render(&mut scope);
        parts.push(Part::Function {
            name: name.to_owned(),
            text,
            imports: scope.imports(),
        });
    };
    for function in &resource.functions {
        add(&function.name, &|scope| stub(operator, resource, function, scope));
    }
    for function in &resource.helpers {
        add(&function.name, &|scope| helper_stub(resource, function, scope));
    }
    let uses = whole
        .uses()
        .into_iter()
        .map(|lines| format!("{}\n", lines.join("\n")))
        .collect();
    let values = Module {
        kind: &resource.reference.kind,
        uses,
        stubs,
    };
    File {
        contents: fill("src/handlers/kind.rs", &values),
        class: Class::Seeded,
        owner: Some(super::owner(resource)),
        parts,
    }
}

/// A function may be called like a type of the runtime, but only types are imported.
fn new_scope(resource: &Resource) -> Scope {
    Scope::new(types::type_names(resource))
}
