//! Entries of `indexes`, and the indexes that they feed.

use std::collections::BTreeMap;

use super::Faults;
use super::entries::{self, id};
use super::rust_types::{Known, rust_type};
use super::schema::TypeNames;
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::model::{Index, IndexMarker, IndexType, Resource, SchemaTypes, TypePart};
use crate::naming;
use crate::spec::{IndexSpec, ResourceSpec, RustTypeSpec};

/// An index with the kind that was the first to feed it.
struct Fed<'s> {
    marker: IndexMarker,
    kind: &'s str,
}

/// Lowers the indexes of all kinds, once their types are known.
pub(super) fn add(resources: &mut [(&ResourceSpec, Resource)], faults: &mut Faults) -> Vec<IndexMarker> {
    let modules: BTreeMap<String, SchemaTypes> = resources
        .iter()
        .map(|(_, resource)| (resource.module.clone(), resource.schema_types()))
        .collect();
    let mut names = TypeNames::default();
    let mut fed: Vec<Fed<'_>> = Vec::new();
    for (spec, resource) in resources {
        let home = resource.module.clone();
        let known = Known {
            modules: &modules,
            home: &home,
        };
        let mut indexes = Vec::new();
        for entry in &spec.indexes {
            let Some(index) = index(entry, &known, faults) else {
                continue;
            };
            check_function(resource, entry, &index, faults);
            feed(&mut fed, &mut names, spec, entry, &index, faults);
            indexes.push(index);
        }
        resource.indexes = indexes;
    }
    fed.into_iter().map(|fed| fed.marker).collect()
}

fn index(spec: &IndexSpec, known: &Known<'_>, faults: &mut Faults) -> Option<Index> {
    let entry = entries::entry(&spec.entry, id(&spec.entry), faults);
    let mut of = |given: Option<&RustTypeSpec>, is_key, otherwise: &str| match given {
        Some(given) => rust_type(given, is_key, known, faults),
        None => Some(IndexType {
            parts: vec![TypePart::Text(otherwise.to_owned())],
        }),
    };
    let key = of(spec.key.as_ref(), true, "String");
    let value = of(spec.value.as_ref(), false, "serde_json::Value");
    Some(Index {
        entry,
        key: key?,
        value: value?,
    })
}

/// The types are part of the function's signature.
fn check_function(resource: &mut Resource, spec: &IndexSpec, index: &Index, faults: &mut Faults) {
    let name = &index.entry.function;
    let Some(function) = resource.functions.iter_mut().find(|known| known.name == *name) else {
        return;
    };
    let types = (index.key.clone(), index.value.clone());
    if function.indexed.get_or_insert_with(|| types.clone()) != &types {
        let message = format!("`{name}` returns entries of different types in different indexes");
        let fault = Diagnostic::error(Code::Contradiction, place(spec), message);
        faults.push(fault.help("say the same `key` and `value` in all entries of the function"));
    }
}

/// Several kinds may feed one index.
fn feed<'s>(
    fed: &mut Vec<Fed<'s>>,
    names: &mut TypeNames,
    resource: &'s ResourceSpec,
    spec: &IndexSpec,
    index: &Index,
    faults: &mut Faults,
) {
    let id = &index.entry.id;
    let kind = resource.kind.value.as_str();
    let Some(first) = fed.iter().find(|fed| fed.marker.id == *id) else {
        let type_name = names.claim(&naming::type_name(id), id);
        let marker = IndexMarker {
            id: id.clone(),
            type_name,
            key: index.key.clone(),
            value: index.value.clone(),
        };
        fed.push(Fed { marker, kind });
        return;
    };
    let marker = &first.marker;
    if (&marker.key, &marker.value) == (&index.key, &index.value) {
        return;
    }
    let message = format!(
        "`{kind}` feeds index `{id}` with values `{}` under keys `{}`, and `{}` above with `{}` under `{}`",
        index.value, index.key, first.kind, marker.value, marker.key
    );
    let fault = Diagnostic::error(Code::IndexTypes, place(spec), message);
    faults.push(fault.help("say the same `key` and `value` in both places, or give one of them another `id`"));
}

/// Where its types stand, or else its name.
fn place(spec: &IndexSpec) -> Span {
    let given = spec.value.as_ref().or(spec.key.as_ref());
    given.map_or(spec.entry.function.span, |given| given.text.span)
}
