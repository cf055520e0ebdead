//! `src/generated/indexes.rs`: a type for each index, so that handlers ask it with its own keys and values.
//!
//! All stand in one module, so that an index keeps its place when another kind begins to feed it.

use std::collections::BTreeSet;

use quote::quote;

use super::rust::{doc, formatted, generated_file, ident, path};
use super::scope::Scope;
use crate::fileset::{Class, FileSet};
use crate::model::{IndexMarker, Operator};

/// The module's name.
pub(super) const MODULE: &str = "indexes";

/// Adds the file, if there are indexes.
pub(super) fn render(operator: &Operator, files: &mut FileSet) {
    if operator.indexes.is_empty() {
        return;
    }
    let names: BTreeSet<String> = operator.indexes.iter().map(|index| index.type_name.clone()).collect();
    let mut scope = Scope::new(names);
    let blocks: Vec<String> = operator
        .indexes
        .iter()
        .map(|index| marker(operator, index, &mut scope))
        .collect();
    let uses = scope.uses().into_iter().map(|lines| lines.join("\n"));
    let blocks: Vec<String> = uses.chain(blocks).collect();
    let text = generated_file("The indexes: what handlers find in memory, by which key.", &blocks);
    files.add(Class::Generated, format!("src/generated/{MODULE}.rs"), text);
}

fn marker(operator: &Operator, index: &IndexMarker, scope: &mut Scope) -> String {
    let (name, id) = (ident(&index.type_name), &index.id);
    let about = doc(Some(&about(operator, index)));
    let key_trait = path(&scope.runtime("IndexKey"));
    let mut of_kind = |module: &str, name: &str| scope.name(&format!("crate::generated::{module}"), name);
    let key = path(&index.key.rust(&mut of_kind));
    let value = path(&index.value.rust(&mut of_kind));
    formatted(&quote! {
        #about
        #[derive(Clone, Copy, Debug)]
        pub struct #name;
        impl #key_trait for #name {
            const ID: &'static str = #id;
            type Key = #key;
            type Value = #value;
        }
    })
}

/// What it holds, who feeds it, and how a handler asks it.
fn about(operator: &Operator, index: &IndexMarker) -> String {
    let feeders = operator.resources.iter().filter(|resource| {
        let mut entries = resource.indexes.iter();
        entries.any(|entry| entry.entry.id == index.id)
    });
    let kinds: Vec<String> = feeders.map(|kind| format!("`{}`", kind.reference.kind)).collect();
    let (name, id, kinds) = (&index.type_name, &index.id, kinds.join(" and "));
    let (what, usage) = if index.key.is_unit() {
        (
            format!("Index `{id}`: values of `{}`, from each {kinds}.", index.value),
            format!("`indexes.of({name}).values()` lists them"),
        )
    } else {
        (
            format!(
                "Index `{id}`: values of `{}` under keys of `{}`, from each {kinds}.",
                index.value, index.key
            ),
            format!("`indexes.of({name}).get(&key)` lists what is found under a key"),
        )
    };
    format!("{what}\n\nIn any handler that takes `indexes` from its argument, {usage}.")
}
