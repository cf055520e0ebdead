//! Names that a Rust file uses from elsewhere, gathered while it is rendered.

use std::collections::{BTreeMap, BTreeSet};

use crate::rustfmt::{use_line, version_order};

/// What one file imports.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    /// Names which the file itself defines: what is called the same is written with its path.
    taken: BTreeSet<String>,
    /// From name to module.
    imports: BTreeMap<String, String>,
}

impl Scope {
    pub(super) fn new(taken: impl IntoIterator<Item = String>) -> Self {
        Self {
            taken: taken.into_iter().collect(),
            imports: BTreeMap::new(),
        }
    }

    /// How the file names `module::name`.
    pub(super) fn name(&mut self, module: &str, name: &str) -> String {
        let foreign = self.imports.get(name).is_some_and(|known| known != module);
        if foreign || self.taken.contains(name) {
            return format!("{module}::{name}");
        }
        self.imports.insert(name.to_owned(), module.to_owned());
        name.to_owned()
    }

    /// Imports one of the taken names itself: they are what another module defines.
    pub(super) fn own(&mut self, module: &str, name: &str) -> String {
        self.imports.insert(name.to_owned(), module.to_owned());
        name.to_owned()
    }

    /// How the file names something of the runtime.
    pub(super) fn runtime(&mut self, name: &str) -> String {
        self.name("kopf_runtime", name)
    }

    /// Everything imported: module and name.
    pub(super) fn imports(&self) -> Vec<(String, String)> {
        self.imports
            .iter()
            .map(|(name, module)| (module.clone(), name.clone()))
            .collect()
    }

    /// `use` lines in up to three blocks: std, other crates, this one.
    pub(super) fn uses(&self) -> Vec<Vec<String>> {
        let mut modules: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, module) in &self.imports {
            modules.entry(module).or_default().push(name);
        }
        let mut blocks = [const { Vec::new() }; 3];
        for (module, names) in modules {
            let block = match module.split("::").next() {
                Some("std") => 0,
                Some("crate") => 2,
                _ => 1,
            };
            blocks[block].push(use_line(module, names));
        }
        for block in &mut blocks {
            block.sort_by(|a, b| version_order(a, b));
        }
        blocks.into_iter().filter(|block| !block.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Scope;

    #[test]
    fn what_the_file_defines_is_named_by_path_elsewhere() {
        let mut scope = Scope::new(["Kind".to_owned()]);
        assert_eq!(scope.runtime("Kind"), "kopf_runtime::Kind");
        assert_eq!(scope.runtime("Served"), "Served");
        assert_eq!(scope.name("std::borrow", "Cow"), "Cow");
        assert_eq!(scope.name("crate::generated::item", "V10"), "V10");
        assert_eq!(scope.name("crate::generated::item", "V9"), "V9");
        assert_eq!(
            scope.name("crate::generated::other", "V9"),
            "crate::generated::other::V9"
        );
        assert_eq!(
            scope.uses(),
            [
                ["use std::borrow::Cow;"],
                ["use kopf_runtime::Served;"],
                ["use crate::generated::item::{V9, V10};"]
            ]
        );
    }
}
