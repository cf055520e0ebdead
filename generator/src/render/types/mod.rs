//! `src/generated/<module>.rs`: the kind, its spec and status, and the results of its handlers.

mod defaults;
mod schema;

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::quote;

pub(super) use self::defaults::can_default;
pub(super) use self::schema::others_name;

use self::schema::{Types, attribute_of_spec};
use super::memos;
use super::rust::{doc, formatted, generated_file, ident, path};
use super::scope::Scope;
use crate::model::{Fields, Operator, Origin, OwnKind, Resource, Schema, Shape};

const OBJECT_META: &str = "kopf_runtime::k8s_openapi::apimachinery::pkg::apis::meta::v1";

/// The text of the module.
pub(super) fn render(operator: &Operator, resource: &Resource) -> String {
    let mut scope = Scope::new(type_names(resource));
    let memo = memos::type_name(operator, resource).map_or_else(|| quote!(()), |memo| path(&memo));
    let blocks = match &resource.origin {
        Origin::Own(own) => own_kind(resource, own, &memo, &mut scope),
        Origin::Builtin => builtin(resource, &memo, &mut scope),
    };
    let group = match resource.reference.group.as_str() {
        "" => "the core group".to_owned(),
        group => format!("group `{group}`"),
    };
    let uses = scope.uses().into_iter().map(|lines| lines.join("\n"));
    let blocks: Vec<_> = uses.chain(blocks.iter().map(formatted)).collect();
    generated_file(&format!("Types of `{}`, {group}.", resource.reference.kind), &blocks)
}

/// All names that the module defines.
pub(super) fn type_names(resource: &Resource) -> BTreeSet<String> {
    let types = resource.schema_types();
    let kind = resource.type_name.clone();
    types.structs.into_iter().chain(types.enums).chain([kind]).collect()
}

fn builtin(resource: &Resource, memo: &TokenStream, scope: &mut Scope) -> Vec<TokenStream> {
    let name = ident(&resource.type_name);
    let about = doc(Some(&format!(
        "`{}` of Kubernetes, as raw JSON.",
        resource.reference.kind
    )));
    let raw = quote!(serde_json::Value);
    let kind = kind_impl(resource, scope, [&raw, &raw, memo]);
    vec![quote!(#about #[derive(Clone, Copy, Debug)] pub struct #name;), kind]
}

fn own_kind(resource: &Resource, own: &OwnKind, memo: &TokenStream, scope: &mut Scope) -> Vec<TokenStream> {
    let mut types = Types::new(scope);
    let kind = &resource.reference.kind;
    let spec = types.part(&own.spec, &format!("What is wanted of a `{kind}`."));
    let status = types.part(&own.status, &format!("What is there of a `{kind}`."));
    for function in &resource.functions {
        if let Some(returns) = &function.returns {
            let place =
                result_place(own, returns).map_or_else(String::new, |key| format!(", stored at `.status.{key}`"));
            types.part(returns, &format!("Result of `{}`{place}.", function.name));
        }
    }
    let defaults = attribute_of_spec(&own.spec);
    let definitions = types.finish();
    let mut blocks = vec![object_struct(resource, own, scope, &spec, &status, defaults.as_ref())];
    blocks.push(constructor(resource, scope, &spec));
    blocks.push(kind_impl(resource, scope, [&spec, &status, memo]));
    blocks.push(kube_impl(resource, scope));
    blocks.extend(definitions);
    blocks
}

/// The key in the status under which a result is stored.
pub(super) fn result_place<'a>(own: &'a OwnKind, returns: &Schema) -> Option<&'a str> {
    let Shape::Object(result) = &returns.shape else {
        return None;
    };
    let Shape::Object(status) = &own.status.shape else {
        return None;
    };
    find_by_type(&status.fields, &result.type_name)
}

fn find_by_type<'a>(fields: &'a Fields, type_name: &str) -> Option<&'a str> {
    let field = fields
        .iter()
        .find(|field| matches!(&field.schema.shape, Shape::Object(object) if object.type_name == type_name))?;
    Some(&field.wire_name)
}

fn object_struct(
    resource: &Resource,
    own: &OwnKind,
    scope: &mut Scope,
    spec: &TokenStream,
    status: &TokenStream,
    defaults: Option<&TokenStream>,
) -> TokenStream {
    let name = ident(&resource.type_name);
    let about = match &own.description {
        Some(description) => doc(Some(description)),
        None => doc(Some(&format!("A `{}` object.", resource.reference.kind))),
    };
    let derives = serde_derives(scope);
    let served = path(&scope.runtime("Served"));
    let meta = path(&scope.name(OBJECT_META, "ObjectMeta"));
    quote! {
        #about
        #[derive(Clone, Debug, #derives)]
        #[serde(rename_all = "camelCase")]
        pub struct #name {
            /// `apiVersion` and `kind`.
            #[serde(flatten, default)]
            pub served: #served<#name>,
            /// Name, namespace, labels and the like.
            #[serde(default)]
            pub metadata: #meta,
            /// What is wanted.
            #defaults
            pub spec: #spec,
            /// What is there.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub status: Option<#status>,
        }
    }
}

fn constructor(resource: &Resource, scope: &mut Scope, spec: &TokenStream) -> TokenStream {
    let name = ident(&resource.type_name);
    let meta = path(&scope.name(OBJECT_META, "ObjectMeta"));
    let served = path(&scope.runtime("Served"));
    let about = doc(Some(&format!("A new `{}` without status.", resource.reference.kind)));
    quote! {
        impl #name {
            #about
            pub fn new(name: impl Into<String>, spec: #spec) -> Self {
                Self {
                    served: #served::default(),
                    metadata: #meta { name: Some(name.into()), ..Default::default() },
                    spec,
                    status: None,
                }
            }
        }
    }
}

/// With the types of the spec, of the status and of the memo.
fn kind_impl(resource: &Resource, scope: &mut Scope, [spec, status, memo]: [&TokenStream; 3]) -> TokenStream {
    let name = ident(&resource.type_name);
    let (kind_trait, reference) = (path(&scope.runtime("Kind")), path(&scope.runtime("Reference")));
    let served = &resource.reference;
    let (group, version, kind, plural) = (&served.group, &served.version, &served.kind, &served.plural);
    let namespaced = served.namespaced;
    quote! {
        impl #kind_trait for #name {
            type Spec = #spec;
            type Status = #status;
            type Memo = #memo;
            const REFERENCE: #reference = #reference {
                group: #group,
                version: #version,
                kind: #kind,
                plural: #plural,
                namespaced: #namespaced,
            };
        }
    }
}

fn kube_impl(resource: &Resource, scope: &mut Scope) -> TokenStream {
    let name = ident(&resource.type_name);
    let kube = path(&scope.runtime("kube"));
    let cow = path(&scope.name("std::borrow", "Cow"));
    let meta = path(&scope.name(OBJECT_META, "ObjectMeta"));
    let reach = ident(if resource.reference.namespaced {
        "NamespaceResourceScope"
    } else {
        "ClusterResourceScope"
    });
    quote! {
        impl #kube::Resource for #name {
            type DynamicType = ();
            type Scope = #kube::core::#reach;
            fn kind(_: &()) -> #cow<'_, str> {
                Self::REFERENCE.kind.into()
            }
            fn group(_: &()) -> #cow<'_, str> {
                Self::REFERENCE.group.into()
            }
            fn version(_: &()) -> #cow<'_, str> {
                Self::REFERENCE.version.into()
            }
            fn plural(_: &()) -> #cow<'_, str> {
                Self::REFERENCE.plural.into()
            }
            fn meta(&self) -> &#meta {
                &self.metadata
            }
            fn meta_mut(&mut self) -> &mut #meta {
                &mut self.metadata
            }
        }
    }
}

/// `Serialize, Deserialize`, imported.
fn serde_derives(scope: &mut Scope) -> TokenStream {
    let (serialize, deserialize) = (
        path(&scope.name("serde", "Serialize")),
        path(&scope.name("serde", "Deserialize")),
    );
    quote!(#serialize, #deserialize)
}
