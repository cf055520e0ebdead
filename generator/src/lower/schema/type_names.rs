//! The Rust types of one resource, allotted by schema path.

use std::collections::{BTreeMap, BTreeSet};

/// Type names, each with the path that owns it.
#[derive(Clone, Debug, Default)]
pub(crate) struct TypeNames {
    taken: BTreeSet<String>,
    by_path: BTreeMap<String, String>,
}

impl TypeNames {
    /// The name for a path: the wanted one, or with a number behind it if another path has that.
    pub(crate) fn claim(&mut self, wanted: &str, path: &str) -> String {
        if let Some(name) = self.by_path.get(path) {
            return name.clone();
        }
        let mut name = wanted.to_string();
        let mut number = 2;
        while self.taken.contains(&name) {
            name = format!("{wanted}{number}");
            number += 1;
        }
        self.taken.insert(name.clone());
        self.by_path.insert(path.to_string(), name.clone());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_keeps_its_name_and_a_second_path_gets_a_number() {
        let mut names = TypeNames::default();
        assert_eq!(names.claim("DatabaseSpec", "kind.spec"), "DatabaseSpec");
        assert_eq!(names.claim("DatabaseSpec", "types.databaseSpec"), "DatabaseSpec2");
        assert_eq!(names.claim("DatabaseSpec", "kind.spec"), "DatabaseSpec");
        assert_eq!(names.claim("DatabaseSpec", "types.databaseSpec"), "DatabaseSpec2");
    }
}
