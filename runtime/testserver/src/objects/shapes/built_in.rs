//! The table of built-in types that merge in other ways than by default.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::objects::shapes::Shape;

/// A struct in the fields that the table has something to say about.
#[derive(Debug, Default)]
pub(crate) struct Type {
    pub(crate) fields: HashMap<&'static str, TypeField>,
}

#[derive(Debug)]
pub(crate) struct TypeField {
    /// What counts for ownership and for applied configurations.
    pub(crate) shape: Shape<'static>,
    pub(crate) present: bool,
    /// What counts for strategic merge patches, if the field is a list that they merge.
    pub(crate) patched: Option<&'static Elements>,
}

/// A list whose elements are told apart.
#[derive(Debug)]
pub(crate) struct Elements {
    /// With what stands for a key that is missing; none if the elements are scalars.
    pub(crate) keys: Vec<(&'static str, Value)>,
    pub(crate) item: Shape<'static>,
}

/// How objects of a kind merge.
pub(crate) fn kind(name: &str) -> &'static Type {
    TABLE.types.get(name).copied().unwrap_or(TABLE.other)
}

/// How the metadata of all objects merges.
pub(crate) fn metadata() -> &'static Type {
    kind("ObjectMeta")
}

struct Table {
    types: HashMap<&'static str, &'static Type>,
    /// For kinds without a row.
    other: &'static Type,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut reader = Reader {
        rows: rows(include_str!("types.txt")),
        types: HashMap::new(),
    };
    let names: Vec<_> = reader.rows.keys().copied().collect();
    for name in names {
        reader.read(name);
    }
    let mut other = Type::default();
    other.fields.insert("metadata", reader.field("ObjectMeta", true));
    Table {
        types: reader.types,
        other: Box::leak(Box::new(other)),
    }
});

fn rows(text: &'static str) -> HashMap<&'static str, Vec<&'static str>> {
    let mut rows = HashMap::new();
    let mut last = "";
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, words) = line.split_once(": ").unwrap_or((last, line));
        last = name;
        rows.entry(name)
            .or_insert_with(Vec::new)
            .extend(words.split_whitespace());
    }
    rows
}

/// The table as far as it is read. It is leaked, for it lives as long as the program.
struct Reader {
    rows: HashMap<&'static str, Vec<&'static str>>,
    types: HashMap<&'static str, &'static Type>,
}

impl Reader {
    /// The types of the API form no circles where the table knows them.
    fn read(&mut self, name: &'static str) -> &'static Type {
        if let Some(known) = self.types.get(name) {
            return known;
        }
        let mut fields = HashMap::new();
        for word in self.rows.get(name).cloned().unwrap_or_default() {
            let (name, shape) = word.split_once('=').unwrap_or((word, "open"));
            let plain = name.trim_end_matches('!');
            fields.insert(plain, self.field(shape, name.contains('!')));
        }
        let read: &'static Type = Box::leak(Box::new(Type { fields }));
        self.types.insert(name, read);
        read
    }

    fn field(&mut self, shape: &'static str, present: bool) -> TypeField {
        let (who, elements) = match shape.split_once('[') {
            Some((who, rest)) => {
                let (keys, item) = rest.split_once(']').unwrap_or((rest, ""));
                (who, Some((keys, item)))
            }
            None => (shape.trim_end_matches("-set"), None),
        };
        if elements.is_none() && !shape.ends_with("set") {
            return TypeField {
                shape: self.shape(shape),
                present,
                patched: None,
            };
        }
        let (keys, item) = elements.unwrap_or_default();
        let elements: &'static Elements = Box::leak(Box::new(Elements {
            keys: keys.split(',').filter(|key| !key.is_empty()).map(key).collect(),
            item: self.shape(item),
        }));
        TypeField {
            shape: if who == "patch" {
                Shape::Plain
            } else {
                Shape::Elements(elements)
            },
            present,
            patched: (who != "apply").then_some(elements),
        }
    }

    fn shape(&mut self, word: &'static str) -> Shape<'static> {
        match word {
            "" | "open" => Shape::Plain,
            "atomic" => Shape::Atomic,
            name => Shape::Struct(self.read(name)),
        }
    }
}

/// A key with what the API takes for it where it is missing: its default, else the zero of its type.
fn key(word: &'static str) -> (&'static str, Value) {
    match word.split_once(':') {
        Some((name, default)) => (name, json!(default)),
        None if word.to_lowercase().ends_with("port") => (word, json!(0)),
        None => (word, json!("")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_that_a_field_names_has_a_row() {
        let rows = rows(include_str!("types.txt"));
        for (name, words) in &rows {
            for word in words {
                let (_, shape) = word.split_once('=').expect(word);
                let of = shape.rsplit(']').next().unwrap_or_default();
                let known = matches!(of, "" | "open" | "atomic" | "set" | "apply-set") || rows.contains_key(of);
                assert!(known, "{name}: {word}");
            }
        }
    }

    #[test]
    fn containers_are_found_in_the_depth() {
        let mut shape = Shape::Struct(kind("Deployment"));
        for name in ["spec", "template", "spec", "containers"] {
            shape = shape.field(name).expect("built-in types are open").shape;
        }
        assert_eq!(
            shape.element(&json!({"name": "a", "image": "b"})).unwrap(),
            r#"k:{"name":"a"}"#
        );
        let ports = shape.item().field("ports").expect("built-in types are open");
        let element = ports.shape.element(&json!({"containerPort": 80})).unwrap();
        assert_eq!(element, r#"k:{"containerPort":80,"protocol":"TCP"}"#);
        assert_eq!(shape.item().patched("ports").key, Some("containerPort"));
        assert!(!shape.item().patched("args").merges);
    }

    #[test]
    fn lists_may_merge_for_patches_alone() {
        let status = Shape::Struct(kind("Job")).field("status").map(|field| field.shape);
        let status = status.expect("built-in types are open");
        assert!(
            !status
                .field("conditions")
                .is_some_and(|field| field.shape.is_associative())
        );
        assert_eq!(status.patched("conditions").key, Some("type"));
    }
}
