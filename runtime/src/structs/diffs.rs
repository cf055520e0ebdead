//! What differs between two states of an object (D).

use std::cmp::Ordering;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde_json::{Map, Number, Value};

use super::fields::FieldPath;

/// What happened to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// It was absent.
    Add,
    /// It was something else.
    Change,
    /// It is absent now.
    Remove,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Add => "add",
            Self::Change => "change",
            Self::Remove => "remove",
        })
    }
}

/// One difference. An absent value is null (D-2).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DiffItem {
    /// What happened.
    pub operation: Operation,
    /// Where: keys from the outermost inwards; empty for the whole value.
    pub path: Vec<String>,
    /// The value before.
    pub old: Value,
    /// The value after.
    pub new: Value,
}

impl fmt::Display for DiffItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {}",
            self.operation,
            if self.path.is_empty() {
                ".".into()
            } else {
                self.path.join(".")
            }
        )?;
        match self.operation {
            Operation::Add => write!(f, ": {}", short(&self.new)),
            Operation::Remove => write!(f, ": {}", short(&self.old)),
            Operation::Change => write!(f, ": {} -> {}", short(&self.old), short(&self.new)),
        }
    }
}

/// An ordered list of differences, cheap to clone: added keys first, then removed, then changed ones, each by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diff(Arc<[DiffItem]>);

impl Diff {
    /// The differences at or below a path, as seen from there (D-7).
    #[must_use]
    pub fn reduce(&self, path: &FieldPath) -> Self {
        let keys = path.keys();
        if keys.is_empty() {
            return self.clone();
        }
        let mut items = Vec::new();
        for item in self {
            if let Some(rest) = item.path.strip_prefix(keys) {
                items.push(DiffItem {
                    path: rest.to_vec(),
                    ..item.clone()
                });
            } else if let Some(rest) = keys.strip_prefix(item.path.as_slice()) {
                let rest = FieldPath::from(rest.to_vec());
                collect(
                    rest.resolve(&item.old),
                    rest.resolve(&item.new),
                    Scope::Full,
                    &mut Vec::new(),
                    &mut items,
                );
            }
        }
        Self(items.into())
    }
}

impl Deref for Diff {
    type Target = [DiffItem];

    fn deref(&self) -> &[DiffItem] {
        &self.0
    }
}

impl<'a> IntoIterator for &'a Diff {
    type Item = &'a DiffItem;
    type IntoIter = std::slice::Iter<'a, DiffItem>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl IntoIterator for Diff {
    type Item = DiffItem;
    type IntoIter = std::vec::IntoIter<DiffItem>;

    fn into_iter(self) -> Self::IntoIter {
        Vec::from(&self.0[..]).into_iter()
    }
}

impl fmt::Display for Diff {
    /// One line, such as `change spec.size: 1 -> 2; add spec.color: "red"`; long values are cut.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, item) in self.iter().enumerate() {
            write!(f, "{}{item}", if index == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

/// Which side's keys count (D-6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Both sides'.
    Full,
    /// Only what the left side has: what else the right side holds is ignored.
    Left,
}

/// The differences between two values; null is absent.
pub(crate) fn diff(old: Option<&Value>, new: Option<&Value>) -> Diff {
    diff_in(Scope::Full, old, new)
}

/// The differences within a scope (D-6).
pub(crate) fn diff_in(scope: Scope, old: Option<&Value>, new: Option<&Value>) -> Diff {
    let mut items = Vec::new();
    collect(present(old), present(new), scope, &mut Vec::new(), &mut items);
    Diff(items.into())
}

/// Whether two values are the same to us: null is absent, 1 is 1.0, true is not 1 (D-8).
pub(crate) fn equal(left: Option<&Value>, right: Option<&Value>) -> bool {
    match (present(left), present(right)) {
        (None, None) => true,
        (Some(Value::Object(left)), Some(Value::Object(right))) => left
            .keys()
            .chain(right.keys())
            .all(|key| equal(left.get(key), right.get(key))),
        (Some(left), Some(right)) => same(left, right),
        (None, Some(_)) | (Some(_), None) => false,
    }
}

/// As [`equal`], for values inside of lists, where null is a value.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => same_number(left, right),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(_), Value::Object(_)) => equal(Some(left), Some(right)),
        _ => left == right,
    }
}

fn same_number(left: &Number, right: &Number) -> bool {
    if left == right {
        return true;
    }
    // Integers that differ must not be compared as floats: above 2^53 those no longer tell them apart.
    if !left.is_f64() && !right.is_f64() {
        return false;
    }
    match (left.as_f64(), right.as_f64()) {
        (Some(left), Some(right)) => left.partial_cmp(&right) == Some(Ordering::Equal),
        _ => false,
    }
}

fn collect(old: Option<&Value>, new: Option<&Value>, scope: Scope, path: &mut Vec<String>, items: &mut Vec<DiffItem>) {
    let mut item = |operation, old: Option<&Value>, new: Option<&Value>| {
        items.push(DiffItem {
            operation,
            path: path.clone(),
            old: old.cloned().unwrap_or_default(),
            new: new.cloned().unwrap_or_default(),
        });
    };
    match (old, new) {
        (None, None) => {}
        (None, Some(_)) if scope == Scope::Left => {}
        (None, Some(_)) => item(Operation::Add, old, new),
        (Some(_), None) => item(Operation::Remove, old, new),
        (Some(Value::Object(old)), Some(Value::Object(new))) => collect_maps(old, new, scope, path, items),
        (Some(left), Some(right)) if same(left, right) => {}
        (Some(_), Some(_)) => item(Operation::Change, old, new),
    }
}

/// Added keys, then removed, then common ones (D-5); maps are sorted, so each group is.
fn collect_maps(
    old: &Map<String, Value>,
    new: &Map<String, Value>,
    scope: Scope,
    path: &mut Vec<String>,
    items: &mut Vec<DiffItem>,
) {
    let old_of = |key: &str| present(old.get(key));
    let new_of = |key: &str| present(new.get(key));
    let added = new.keys().filter(|key| old_of(key).is_none());
    let removed = old.keys().filter(|key| new_of(key).is_none());
    let common = old.keys().filter(|key| old_of(key).is_some() && new_of(key).is_some());
    for key in added.chain(removed).chain(common) {
        path.push(key.clone());
        collect(old_of(key), new_of(key), scope, path, items);
        path.pop();
    }
}

fn present(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| !value.is_null())
}

/// How much of a value a line shows.
const SHOWN: usize = 64;

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
#[path = "diffs_tests.rs"]
mod tests;
