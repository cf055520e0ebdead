//! The model as files.

mod about;
mod docs;
mod expectation;
mod handlers;
mod indexes;
mod lints;
mod manifests;
mod memos;
mod operator_test;
mod options;
mod project;
mod registry;
mod result;
mod rust;
mod scope;
mod settings;
mod stubs;
mod types;
mod vendor;
mod yaml;

use crate::fileset::{Class, FileSet};
use crate::model::{Operator, Resource, RuntimeSource};

/// All files of the operator's project.
#[must_use]
pub fn render(operator: &Operator) -> FileSet {
    let mut files = FileSet::default();
    files.add(Class::Generated, "src/generated/mod.rs", registry::render(operator));
    for resource in &operator.resources {
        let path = format!("src/generated/{}.rs", resource.module);
        files.add_owned(
            Class::Generated,
            path,
            types::render(operator, resource),
            &owner(resource),
        );
    }
    indexes::render(operator, &mut files);
    handlers::render(operator, &mut files);
    memos::render(operator, &mut files);
    operator_test::render(operator, &mut files);
    manifests::render(operator, &mut files);
    // Last of the project's own: its dependencies follow from the files.
    project::render(operator, &mut files);
    if operator.runtime == RuntimeSource::Vendored {
        vendor::render(&mut files);
    }
    files
}

/// What the lock calls a resource.
fn owner(resource: &Resource) -> String {
    match resource.reference.group.as_str() {
        "" => resource.reference.plural.clone(),
        group => format!("{}.{group}", resource.reference.plural),
    }
}
