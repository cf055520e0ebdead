//! `Cargo.lock` as cargo writes it: read, pruned, extended, written.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use toml_edit::{DocumentMut, Table};

/// All packages of a lock file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CargoLock {
    packages: Vec<Package>,
}

/// One `[[package]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) source: Option<String>,
    pub(crate) checksum: Option<String>,
    /// A name, with its version and then its source where several packages are called so.
    pub(crate) dependencies: Vec<String>,
}

impl CargoLock {
    /// Reads a lock file; `None` if it is not one that cargo wrote.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let document: DocumentMut = text.parse().ok()?;
        let Some(packages) = document.get("package") else {
            return Some(Self { packages: Vec::new() });
        };
        let packages = packages
            .as_array_of_tables()?
            .iter()
            .map(Package::read)
            .collect::<Option<_>>()?;
        Some(Self { packages })
    }

    /// Puts a package of the author's in the place of another one, and drops what nothing depends on any more.
    pub(crate) fn with_root(mut self, placeholder: &str, root: Package) -> Self {
        self.packages.retain(|package| package.name != placeholder);
        if self.packages.iter().any(|package| package.name == root.name) {
            self.qualify(&root.name);
        }
        let name = root.name.clone();
        self.packages.push(root);
        let kept = self.reachable(&name);
        self.packages = self
            .packages
            .into_iter()
            .enumerate()
            .filter(|(at, _)| kept.contains(at))
            .map(|(_, package)| package)
            .collect();
        self.sort();
        self.shorten_all();
        self
    }

    /// What a package depends on only with a feature that is off.
    pub(crate) fn drop_dependency(&mut self, package: &str, dependency: &str) {
        for package in self.packages.iter_mut().filter(|own| own.name == package) {
            package.dependencies.retain(|name| bare(name) != dependency);
        }
    }

    /// Adds what the packages of this project need and the lock lacks; a version of the author's stays where it will do.
    ///
    /// Gives the names of the added packages.
    pub(crate) fn add_missing(&mut self, wanted: &Self) -> Vec<String> {
        let mut wanted = wanted.clone();
        wanted.qualify_all();
        self.qualify_all();
        let mut added = Vec::new();
        for package in wanted.packages.iter().filter(|package| package.source.is_none()) {
            let Some(at) = self.packages.iter().position(|own| own.will_do_for(package)) else {
                self.take(&wanted, package, &mut added);
                continue;
            };
            let known: BTreeSet<String> = self.packages[at]
                .dependencies
                .iter()
                .map(|name| bare(name).to_owned())
                .collect();
            for dependency in package.dependencies.iter().filter(|name| !known.contains(bare(name))) {
                let line = self.take_dependency(&wanted, dependency, &mut added);
                self.packages[at].dependencies.push(line);
            }
        }
        self.sort();
        self.shorten_all();
        added
    }

    /// Adds a package with all that it depends on, unless there is one that will do; gives the line that names it.
    fn take(&mut self, wanted: &Self, package: &Package, added: &mut Vec<String>) -> String {
        if let Some(own) = self.packages.iter().find(|own| own.will_do_for(package)) {
            return own.line();
        }
        // It is there before what it needs, which may need it in turn.
        let at = self.packages.len();
        self.packages.push(package.clone());
        added.push(package.name.clone());
        let lines = package
            .dependencies
            .iter()
            .map(|dependency| self.take_dependency(wanted, dependency, added))
            .collect();
        self.packages[at].dependencies = lines;
        package.line()
    }

    fn take_dependency(&mut self, wanted: &Self, line: &str, added: &mut Vec<String>) -> String {
        match wanted.packages.iter().find(|package| package.line() == line) {
            Some(package) => self.take(wanted, package, added),
            None => line.to_owned(),
        }
    }

    /// Gives each dependency its version.
    fn qualify_all(&mut self) {
        let lines: BTreeMap<String, String> = self
            .packages
            .iter()
            .map(|package| (package.name.clone(), package.line()))
            .collect();
        for dependency in self.packages.iter_mut().flat_map(|package| &mut package.dependencies) {
            if let Some(line) = lines.get(dependency) {
                dependency.clone_from(line);
            }
        }
    }

    /// Leaves versions out where the name says enough, as cargo does, and sorts.
    fn shorten_all(&mut self) {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for package in &self.packages {
            *counts.entry(package.name.clone()).or_default() += 1;
        }
        for package in &mut self.packages {
            for dependency in &mut package.dependencies {
                if counts.get(bare(dependency)) == Some(&1) {
                    *dependency = bare(dependency).to_owned();
                }
            }
            package.dependencies.sort_by_key(|line| {
                let (name, version) = line.split_once(' ').unwrap_or((line, ""));
                (name.to_owned(), version_key(version))
            });
        }
    }

    /// What `name` alone meant gets its version, since another package will be called so.
    fn qualify(&mut self, name: &str) {
        let Some(version) = self
            .packages
            .iter()
            .find(|package| package.name == name)
            .map(|package| package.version.clone())
        else {
            return;
        };
        let dependencies = self.packages.iter_mut().flat_map(|package| &mut package.dependencies);
        dependencies
            .filter(|dependency| *dependency == name)
            .for_each(|dependency| *dependency = format!("{name} {version}"));
    }

    fn reachable(&self, root: &str) -> BTreeSet<usize> {
        let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, package) in self.packages.iter().enumerate() {
            by_name.entry(&package.name).or_default().push(at);
        }
        let last = self.packages.len() - 1;
        debug_assert_eq!(self.packages[last].name, root);
        let mut seen = BTreeSet::from([last]);
        let mut waiting = vec![last];
        while let Some(at) = waiting.pop() {
            for dependency in &self.packages[at].dependencies {
                let mut words = dependency.split(' ');
                let (name, version) = (words.next().unwrap_or_default(), words.next());
                let candidates = by_name.get(name).into_iter().flatten().copied();
                for found in candidates.filter(|at| version.is_none_or(|version| self.packages[*at].version == version))
                {
                    if seen.insert(found) {
                        waiting.push(found);
                    }
                }
            }
        }
        seen
    }

    fn sort(&mut self) {
        self.packages.sort_by(|a, b| {
            (&a.name, version_key(&a.version), &a.source).cmp(&(&b.name, version_key(&b.version), &b.source))
        });
    }

    /// The text, as cargo would write it.
    pub(crate) fn to_text(&self) -> String {
        let mut text = String::from(
            "# This file is automatically @generated by Cargo.\n# It is not intended for manual editing.\nversion = 4\n",
        );
        for package in &self.packages {
            package.write(&mut text).expect("a String takes all");
        }
        text
    }
}

impl Package {
    /// How a dependency on it is written where its name alone says too little.
    fn line(&self) -> String {
        format!("{} {}", self.name, self.version)
    }

    /// Whether cargo would take it for the other one: in the project by name, else within the same breaking version.
    fn will_do_for(&self, other: &Self) -> bool {
        self.name == other.name
            && self.source.is_none() == other.source.is_none()
            && (self.source.is_none() || breaking(&self.version) == breaking(&other.version))
    }

    fn read(table: &Table) -> Option<Self> {
        let text = |key: &str| table.get(key).and_then(|value| value.as_str()).map(str::to_owned);
        let dependencies = match table.get("dependencies") {
            None => Vec::new(),
            Some(list) => list
                .as_array()?
                .iter()
                .map(|name| name.as_str().map(str::to_owned))
                .collect::<Option<_>>()?,
        };
        Some(Self {
            name: text("name")?,
            version: text("version")?,
            source: text("source"),
            checksum: text("checksum"),
            dependencies,
        })
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        write!(
            text,
            "\n[[package]]\nname = \"{}\"\nversion = \"{}\"\n",
            self.name, self.version
        )?;
        if let Some(source) = &self.source {
            writeln!(text, "source = \"{source}\"")?;
        }
        if let Some(checksum) = &self.checksum {
            writeln!(text, "checksum = \"{checksum}\"")?;
        }
        if !self.dependencies.is_empty() {
            text.push_str("dependencies = [\n");
            for dependency in &self.dependencies {
                writeln!(text, " \"{dependency}\",")?;
            }
            text.push_str("]\n");
        }
        Ok(())
    }
}

fn bare(dependency: &str) -> &str {
    dependency.split(' ').next().unwrap_or_default()
}

/// A version up to its first number that is not zero: versions that share it can stand for each other.
fn breaking(version: &str) -> &str {
    let mut end = 0;
    for number in version.split(['.', '-', '+']) {
        end += number.len();
        if number != "0" || end >= version.len() {
            break;
        }
        end += 1;
    }
    version.get(..end).unwrap_or(version)
}

/// Numbers first, then pre-releases before the release, as far as sorting needs it.
fn version_key(version: &str) -> (Vec<u64>, bool, String) {
    let core = version.split('+').next().unwrap_or_default();
    let (numbers, pre) = core.split_once('-').unwrap_or((core, ""));
    (
        numbers
            .split('.')
            .map(|number| number.parse().unwrap_or_default())
            .collect(),
        pre.is_empty(),
        version.to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::{CargoLock, Package};

    const LOCK: &str = "\
# This file is automatically @generated by Cargo.
# It is not intended for manual editing.
version = 4

[[package]]
name = \"a\"
version = \"1.0.0\"
source = \"registry+x\"
checksum = \"00\"
dependencies = [
 \"b 2.0.0\",
]

[[package]]
name = \"b\"
version = \"2.0.0\"
source = \"registry+x\"

[[package]]
name = \"b\"
version = \"10.0.0\"
source = \"registry+x\"

[[package]]
name = \"project\"
version = \"0.1.0\"
dependencies = [
 \"a\",
 \"b 10.0.0\",
]
";

    fn root(name: &str, dependencies: &[&str]) -> Package {
        Package {
            name: name.to_owned(),
            version: "0.1.0".to_owned(),
            source: None,
            checksum: None,
            dependencies: dependencies.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    #[test]
    fn comes_back_as_cargo_wrote_it() {
        assert_eq!(CargoLock::parse(LOCK).unwrap().to_text(), LOCK);
    }

    #[test]
    fn keeps_only_what_the_project_uses() {
        let lock = CargoLock::parse(LOCK).unwrap().with_root("project", root("aa", &["a"]));
        let names: Vec<_> = lock
            .packages
            .iter()
            .map(|package| format!("{} {}", package.name, package.version))
            .collect();
        assert_eq!(names, ["a 1.0.0", "aa 0.1.0", "b 2.0.0"]);
    }

    #[test]
    fn a_project_called_like_a_package_is_told_apart() {
        let lock = CargoLock::parse(LOCK)
            .unwrap()
            .with_root("project", root("a", &["a 1.0.0"]));
        let text = lock.to_text();
        assert!(
            text.contains("name = \"a\"\nversion = \"0.1.0\"\ndependencies = [\n \"a 1.0.0\",\n]"),
            "{text}"
        );
    }

    #[test]
    fn an_authors_lock_gains_what_it_lacks_and_keeps_the_rest() {
        let mut lock = CargoLock::parse(LOCK)
            .unwrap()
            .with_root("project", root("mine", &["a"]));
        let before = lock.to_text();
        let wanted = CargoLock::parse(LOCK)
            .unwrap()
            .with_root("project", root("mine", &["a", "b 10.0.0"]));
        lock.add_missing(&lock.clone());
        assert_eq!(lock.to_text(), before);
        lock.add_missing(&wanted);
        assert!(
            lock.to_text().contains("\"a\",\n \"b 10.0.0\",\n]"),
            "{}",
            lock.to_text()
        );
    }

    #[test]
    fn a_second_version_comes_beside_the_first_and_both_are_told_apart() {
        let lock = |package: &[(&str, &str, &[&str])]| CargoLock {
            packages: package
                .iter()
                .map(|(name, version, dependencies)| Package {
                    version: (*version).to_owned(),
                    source: (*name != "mine").then(|| "registry+x".to_owned()),
                    ..root(name, dependencies)
                })
                .collect(),
        };
        let mut own = lock(&[("b", "2.0.1", &["c"]), ("c", "0.4.9", &[]), ("mine", "0.1.0", &["b"])]);
        let wanted = lock(&[
            ("a", "1.0.0", &["b 1.0.0", "c"]),
            ("b", "1.0.0", &[]),
            ("b", "2.0.0", &["c", "unused"]),
            ("c", "0.4.2", &[]),
            ("mine", "0.1.0", &["a", "b 2.0.0"]),
            ("unused", "1.0.0", &[]),
        ]);
        assert_eq!(own.add_missing(&wanted), ["a", "b"]);
        let merged = lock(&[
            ("a", "1.0.0", &["b 1.0.0", "c"]),
            ("b", "1.0.0", &[]),
            ("b", "2.0.1", &["c"]),
            ("c", "0.4.9", &[]),
            ("mine", "0.1.0", &["a", "b 2.0.1"]),
        ]);
        assert_eq!(own, merged);
    }

    #[test]
    fn versions_stand_for_each_other_up_to_their_first_number() {
        for (version, part) in [
            ("1.2.3", "1"),
            ("0.4.2", "0.4"),
            ("0.0.3", "0.0.3"),
            ("0.0.0", "0.0.0"),
            ("10.0.0-a.1", "10"),
        ] {
            assert_eq!(super::breaking(version), part);
        }
    }
}
