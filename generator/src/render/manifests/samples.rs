//! `deploy/samples`: one object or more of each kind, the author's from the start.

use crate::fileset::{Class, FileSet};
use crate::model::Operator;
use crate::render::owner;
use crate::render::yaml::{Yaml, documents};

/// Adds a file per kind that has samples.
pub(super) fn render(operator: &Operator, files: &mut FileSet) {
    for resource in operator
        .resources
        .iter()
        .filter(|resource| !resource.samples.is_empty())
    {
        let objects: Vec<_> = resource
            .samples
            .iter()
            .map(|sample| Yaml::object(&sample.object))
            .collect();
        let path = format!("deploy/samples/{}.yaml", resource.module);
        files.add_owned(Class::Seeded, path, documents(&objects), &owner(resource));
    }
}
