//! What the server adds to objects of built-in kinds.

mod created;
mod derived;
mod tables;

use serde_json::Value;

use crate::cluster::Place;
use crate::kinds::paths::{at, each_mut};

/// Gives an object of a built-in kind the form in which the server keeps it.
pub(crate) fn complete(place: &Place, current: Option<&Value>, object: &mut Value) {
    if place.kind.custom {
        return;
    }
    if place.kind.plural != "customresourcedefinitions" {
        drop_empty(object);
    }
    let id = format!("{} {}", place.api_version(), place.kind.kind);
    // First, as some defaults follow from what it fills in.
    if current.is_none() {
        created::complete(&id, object);
    }
    if let Some((_, table)) = tables::KINDS.iter().find(|(kind, _)| *kind == id) {
        table.fill(object);
    }
}

/// Defaults of one type: its fields, what follows from other fields, and the types of parts of it.
struct Table {
    /// Lines such as `path.field = JSON if sibling=text`; each fills in a field where its parent exists.
    ///
    /// Conditions are `sibling=text`, `sibling` (present) and `!sibling` (absent), all of which must hold.
    lines: &'static str,
    derive: Option<fn(&mut Value)>,
    parts: &'static [(&'static str, &'static Table)],
}

impl Table {
    const fn of(lines: &'static str) -> Self {
        Self {
            lines,
            derive: None,
            parts: &[],
        }
    }

    const fn parts(mut self, parts: &'static [(&'static str, &'static Table)]) -> Self {
        self.parts = parts;
        self
    }

    const fn derive(mut self, derive: fn(&mut Value)) -> Self {
        self.derive = Some(derive);
        self
    }

    fn fill(&self, value: &mut Value) {
        if let Some(derive) = self.derive {
            derive(value);
        }
        for line in self.lines.lines().filter_map(Line::parse) {
            line.fill(value);
        }
        for (path, table) in self.parts {
            each_mut(value, path, &mut |part| table.fill(part));
        }
    }
}

struct Line<'a> {
    parent: &'a str,
    field: &'a str,
    value: &'a str,
    conditions: &'a str,
}

impl<'a> Line<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (path, rest) = text.trim().split_once(" = ")?;
        let (value, conditions) = rest.split_once(" if ").unwrap_or((rest, ""));
        let (parent, field) = path.rsplit_once('.').unwrap_or(("", path));
        Some(Self {
            parent,
            field,
            value,
            conditions,
        })
    }

    fn fill(&self, value: &mut Value) {
        each_mut(value, self.parent, &mut |parent| {
            let holds = self.conditions.split_whitespace().all(|each| holds(parent, each));
            let Some(fields) = parent.as_object_mut() else {
                return;
            };
            if holds && !fields.contains_key(self.field) {
                let value = serde_json::from_str(self.value).expect("the table holds JSON");
                fields.insert(self.field.to_owned(), value);
            }
        });
    }
}

fn holds(parent: &Value, condition: &str) -> bool {
    if let Some(absent) = condition.strip_prefix('!') {
        return at(parent, absent).is_null();
    }
    match condition.split_once('=') {
        Some((path, text)) => at(parent, path) == text,
        None => !at(parent, condition).is_null(),
    }
}

/// In a known type, null means that a field is left out; and no list is stored that has no items.
fn drop_empty(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null() && value.as_array().is_none_or(|items| !items.is_empty()));
            fields.values_mut().for_each(drop_empty);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_empty),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kinds::Kinds;

    fn check(table: &Table) {
        for text in table.lines.lines().filter(|text| !text.trim().is_empty()) {
            let line = Line::parse(text).unwrap_or_else(|| panic!("{text}"));
            assert!(serde_json::from_str::<Value>(line.value).is_ok(), "{text}");
        }
        table.parts.iter().for_each(|(_, part)| check(part));
    }

    #[test]
    fn the_tables_are_sound() {
        let kinds = Kinds::built_in();
        for (id, table) in tables::KINDS {
            let (api_version, kind) = id.split_once(' ').unwrap();
            let object = json!({"apiVersion": api_version, "kind": kind});
            assert!(kinds.of_object(&object).is_some(), "{id}");
            check(table);
        }
    }

    #[test]
    fn defaults_fill_what_is_missing_where_its_parent_exists() {
        let table = Table::of("a = {}\na.b = 1 if c=x\nd[].e = 2 if !f g");
        let mut object =
            json!({"c": "y", "a": {"c": "x"}, "d": [{"g": 0}, {"f": 0, "g": 0}, {}, {"e": 3, "g": 0}], "h": null});
        table.fill(&mut object);
        assert_eq!(
            object,
            json!({"c": "y", "a": {"c": "x", "b": 1}, "d": [{"e": 2, "g": 0}, {"f": 0, "g": 0}, {}, {"e": 3, "g": 0}], "h": null})
        );
    }

    #[test]
    fn wrong_types_are_no_reason_to_panic() {
        for (id, table) in tables::KINDS {
            for value in [
                json!(1),
                json!([]),
                json!("x"),
                json!({"spec": 1}),
                json!({"spec": {"template": []}}),
            ] {
                let mut object = value.clone();
                table.fill(&mut object);
                let mut object = value;
                created::complete(id, &mut object);
            }
        }
    }
}
