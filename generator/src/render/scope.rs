//! Names that a Rust file uses from elsewhere, gathered while it is rendered.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

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
        Self { taken: taken.into_iter().collect(), imports: BTreeMap::new() }
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
        self.imports.iter().map(|(name, module)| (module.clone(), name.clone())).collect()
    }

    /// `use` lines in up to three blocks: std, other crates, this one.
    pub(super) fn uses(&self) -> Vec<Vec<String>> {
        let mut modules: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, module) in &self.imports {
            modules.entry(module).or_default().push(name);
        }
        let mut blocks = [const { Vec::new() }; 3];
        for (module, mut names) in modules {
            names.sort_by(|a, b| version_order(a, b));
            let block = match module.split("::").next() {
                Some("std") => 0,
                Some("crate") => 2,
                _ => 1,
            };
            blocks[block].push(use_line(module, &names));
        }
        for block in &mut blocks {
            block.sort_by(|a, b| version_order(a, b));
        }
        blocks.into_iter().filter(|block| !block.is_empty()).collect()
    }
}

/// One `use` item as rustfmt writes it.
pub(crate) fn use_line(module: &str, names: &[&str]) -> String {
    let line = match names {
        [name] => return format!("use {module}::{name};"),
        _ => format!("use {module}::{{{}}};", names.join(", ")),
    };
    if line.len() <= 100 {
        return line;
    }
    let mut rows = vec![String::new()];
    for name in names {
        let row = rows.last_mut().expect("there is always a row");
        let longer = if row.is_empty() { format!("    {name},") } else { format!("{row} {name},") };
        if longer.len() <= 100 || row.is_empty() {
            *row = longer;
        } else {
            rows.push(format!("    {name},"));
        }
    }
    format!("use {module}::{{\n{}\n}};", rows.join("\n"))
}

/// Digits count as numbers, as in rustfmt since edition 2024.
pub(crate) fn version_order(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        let (x, y) = (number(a), number(b));
        let order = match (x, y) {
            (Some((x, _)), Some((y, _))) => x.cmp(&y),
            _ => a.chars().next().cmp(&b.chars().next()),
        };
        if order != Ordering::Equal || a.is_empty() {
            return order;
        }
        match (x, y) {
            (Some((_, x)), Some((_, y))) => (a, b) = (x, y),
            _ => (a, b) = (rest(a), rest(b)),
        }
    }
}

fn number(text: &str) -> Option<(u128, &str)> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    Some((text[..text.len() - rest.len()].parse().ok()?, rest))
}

fn rest(text: &str) -> &str {
    let mut chars = text.chars();
    chars.next();
    chars.as_str()
}

#[cfg(test)]
mod tests {
    use super::{Scope, use_line};

    #[test]
    fn what_the_file_defines_is_named_by_path_elsewhere() {
        let mut scope = Scope::new(["Kind".to_owned()]);
        assert_eq!(scope.runtime("Kind"), "kopf_runtime::Kind");
        assert_eq!(scope.runtime("Served"), "Served");
        assert_eq!(scope.name("std::borrow", "Cow"), "Cow");
        assert_eq!(scope.name("crate::generated::item", "V10"), "V10");
        assert_eq!(scope.name("crate::generated::item", "V9"), "V9");
        assert_eq!(scope.name("crate::generated::other", "V9"), "crate::generated::other::V9");
        assert_eq!(
            scope.uses(),
            [["use std::borrow::Cow;"], ["use kopf_runtime::Served;"], ["use crate::generated::item::{V9, V10};"]]
        );
    }

    #[test]
    fn long_lists_are_filled_row_by_row() {
        let names: Vec<String> = (10..30).map(|number| format!("Result{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let text = use_line("crate::generated::item", &names);
        assert!(text.lines().all(|line| line.len() <= 100), "{text}");
        assert!(text.starts_with("use crate::generated::item::{\n    Result10, Result11,"), "{text}");
    }
}
