//! `src/generated/mod.rs`: one adaptor per function, and what each handler is registered with.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::rust::{generated_file, ident, path};
use super::scope::Scope;
use super::types;
use crate::model::{
    ChangeType, Criterion, ErrorsMode, Family, Filters, Function, Handler, HandlerType, Limits, Operator, Resource,
    Schema, Timer,
};
use crate::rustfmt::use_line;

/// The text of the registry.
pub(super) fn render(operator: &Operator) -> String {
    let modules: BTreeSet<&str> = operator
        .resources
        .iter()
        .map(|resource| resource.module.as_str())
        .collect();
    let mut registry = Registry {
        scope: Scope::new(taken_names(operator)),
        types: TypeNames::of(operator),
    };
    let handlers = if modules.contains("handlers") {
        quote!(crate::handlers)
    } else {
        quote!(handlers)
    };
    let main = registry.operator(operator);
    let functions: Vec<_> = operator
        .resources
        .iter()
        .map(|resource| registry.resource(resource, &handlers))
        .collect();

    let mut blocks: Vec<TokenStream> = registry
        .scope
        .uses()
        .iter()
        .map(|lines| path(&lines.concat()))
        .collect();
    if !modules.contains("handlers") {
        blocks.push(quote!(
            use crate::handlers;
        ));
    }
    let declared = modules.iter().map(|module| ident(module));
    blocks.push(quote!(#(pub mod #declared;)*));
    blocks.push(path(&registry.types.uses()));
    blocks.push(main);
    blocks.extend(functions);
    generated_file("The registry: which function handles what.", &blocks)
}

/// A kind may be called like something of the runtime, a function like one of its helpers.
fn taken_names(operator: &Operator) -> BTreeSet<String> {
    let functions = operator
        .resources
        .iter()
        .flat_map(|resource| &resource.functions)
        .map(|function| function.name.clone());
    let modules = operator.resources.iter().map(|resource| resource.module.clone());
    functions
        .chain(modules)
        .chain(operator.resources.iter().flat_map(types::type_names))
        .collect()
}

/// The generated types that the registry names, and those of them that two modules define.
struct TypeNames {
    ambiguous: BTreeSet<String>,
    used: BTreeMap<String, BTreeSet<String>>,
}

impl TypeNames {
    fn of(operator: &Operator) -> Self {
        let mut seen = BTreeSet::new();
        let names = operator.resources.iter().flat_map(types::type_names);
        Self {
            ambiguous: names.filter(|name| !seen.insert(name.clone())).collect(),
            used: BTreeMap::new(),
        }
    }

    fn name(&mut self, module: &str, name: &str) -> TokenStream {
        if self.ambiguous.contains(name) {
            return path(&format!("{module}::{name}"));
        }
        self.used.entry(module.to_owned()).or_default().insert(name.to_owned());
        path(name)
    }

    fn uses(&self) -> String {
        let lines = self
            .used
            .iter()
            .map(|(module, names)| use_line(module, names.iter().map(String::as_str).collect()));
        lines.collect::<Vec<_>>().concat()
    }
}

struct Registry {
    scope: Scope,
    types: TypeNames,
}

impl Registry {
    fn operator(&mut self, operator: &Operator) -> TokenStream {
        let name = &operator.name;
        let kind = path(&self.scope.runtime("Operator"));
        let settings = settings(operator);
        let resources = operator
            .resources
            .iter()
            .map(|resource| ident(&function_name(resource)));
        quote! {
            /// The operator with all its handlers.
            pub fn operator() -> #kind {
                #kind::new(#name)
                    .settings(|settings| { #settings })
                    #(.resource(#resources()))*
            }
        }
    }

    fn resource(&mut self, resource: &Resource, handlers: &TokenStream) -> TokenStream {
        let name = ident(&function_name(resource));
        let kind = self.types.name(&resource.module, &resource.type_name);
        let resource_type = path(&self.scope.runtime("Resource"));
        let adaptors: Vec<_> = resource
            .functions
            .iter()
            .map(|function| self.adaptor(resource, function, &kind, handlers))
            .collect();
        let blocking: BTreeSet<&str> = resource
            .functions
            .iter()
            .filter(|function| function.blocking)
            .map(|function| function.name.as_str())
            .collect();
        let mut calls = Vec::new();
        for handler in &resource.handlers {
            let options = self.handler_options(handler);
            let function = self.reference(&handler.function, &blocking);
            let id = &handler.id;
            let method = ident(method(handler.handler_type));
            let field = (handler.handler_type == HandlerType::Change(ChangeType::Field))
                .then(|| field_path(handler.field.as_deref().unwrap_or_default()));
            let field = field.map(|field| quote!(#field,));
            calls.push(quote!(.#method(#id, #field #function, |o| o #options)));
        }
        for timer in &resource.timers {
            let options = self.timer_options(timer);
            let function = self.reference(&timer.function, &blocking);
            let id = &timer.id;
            calls.push(quote!(.timer(#id, #function, |o| o #options)));
        }
        quote! {
            fn #name() -> #resource_type<#kind> {
                #(#adaptors)*
                #resource_type::of::<#kind>() #(#calls)*
            }
        }
    }

    /// The function's exact signature, so that the compiler names the author's function where it differs.
    fn adaptor(
        &mut self,
        resource: &Resource,
        function: &Function,
        kind: &TokenStream,
        handlers: &TokenStream,
    ) -> TokenStream {
        let name = ident(&function.name);
        let module = ident(&resource.module);
        let family = path(&self.scope.runtime(family_name(function.family)));
        let result = path(&self.scope.runtime("HandlerResult"));
        let returns = function
            .returns
            .as_ref()
            .map(|returns| self.result_type(resource, returns));
        let returns = returns.map(|returns| quote!(<#returns>));
        if function.blocking {
            quote! {
                fn #name(args: #family<#kind>) -> #result #returns {
                    #handlers::#module::#name(args)
                }
            }
        } else {
            quote! {
                async fn #name(args: #family<#kind>) -> #result #returns {
                    #handlers::#module::#name(args).await
                }
            }
        }
    }

    fn result_type(&mut self, resource: &Resource, returns: &Schema) -> TokenStream {
        let (types, module) = (&mut self.types, &resource.module);
        let text = super::result::type_name(returns, &mut |name| types.name(module, name).to_string());
        path(&text)
    }

    fn reference(&mut self, function: &str, blocking: &BTreeSet<&str>) -> TokenStream {
        let name = ident(function);
        if !blocking.contains(function) {
            return quote!(#name);
        }
        let helper = path(&self.scope.runtime("blocking"));
        quote!(#helper(#name))
    }

    fn handler_options(&mut self, handler: &Handler) -> TokenStream {
        let limits = self.limits(&handler.limits);
        let is_field = handler.handler_type == HandlerType::Change(ChangeType::Field);
        let field = if is_field {
            None
        } else {
            field_option(handler.field.as_deref())
        };
        let filters = self.filters(&handler.filters);
        quote!(#limits #field #filters)
    }

    fn timer_options(&mut self, timer: &Timer) -> TokenStream {
        let interval = self.duration_option("interval", timer.interval);
        let idle = self.duration_option("idle", timer.idle);
        let sharp = timer.sharp.then(|| quote!(.sharp()));
        let initial_delay = self.duration_option("initial_delay", timer.initial_delay);
        let limits = self.limits(&timer.limits);
        let field = field_option(timer.field.as_deref());
        let filters = self.filters(&timer.filters);
        quote!(#interval #idle #sharp #initial_delay #limits #field #filters)
    }

    fn limits(&mut self, limits: &Limits) -> TokenStream {
        let retries = limits
            .retries
            .map(Literal::u32_unsuffixed)
            .map(|retries| quote!(.retries(#retries)));
        let timeout = self.duration_option("timeout", limits.timeout);
        let backoff = self.duration_option("backoff", limits.backoff);
        let errors = limits.errors.map(|errors| {
            let mode = path(&self.scope.runtime("ErrorsMode"));
            let errors = ident(match errors {
                ErrorsMode::Temporary => "Temporary",
                ErrorsMode::Permanent => "Permanent",
                ErrorsMode::Ignored => "Ignored",
            });
            quote!(.errors(#mode::#errors))
        });
        quote!(#retries #timeout #backoff #errors)
    }

    fn filters(&mut self, filters: &Filters) -> TokenStream {
        let mut options = Vec::new();
        for (method, criteria) in [("label", &filters.labels), ("annotation", &filters.annotations)] {
            let method = ident(method);
            for (key, criterion) in criteria {
                let value = match criterion {
                    Criterion::Equals(text) => quote!(#text),
                    Criterion::Present => path(&self.scope.runtime("PRESENT")),
                    Criterion::Absent => path(&self.scope.runtime("ABSENT")),
                };
                options.push(quote!(.#method(#key, #value)));
            }
        }
        quote!(#(#options)*)
    }

    fn duration_option(&mut self, option: &str, value: Option<Duration>) -> Option<TokenStream> {
        let (unit, count) = in_largest_unit(value?);
        let (option, unit) = (ident(option), path(&self.scope.runtime(unit)));
        let count = Literal::u128_unsuffixed(count);
        Some(quote!(.#option(#unit(#count))))
    }
}

/// `millis` is the finest that the format knows.
fn in_largest_unit(duration: Duration) -> (&'static str, u128) {
    let millis = duration.as_millis();
    let units = [("hours", 3_600_000), ("mins", 60_000), ("secs", 1000)];
    match units
        .into_iter()
        .find(|(_, length)| millis > 0 && millis.is_multiple_of(*length))
    {
        Some((unit, length)) => (unit, millis / length),
        None if millis == 0 => ("secs", 0),
        None => ("millis", millis),
    }
}

fn settings(operator: &Operator) -> TokenStream {
    let (prefix, finalizer) = (&operator.persistence.prefix, &operator.persistence.finalizer);
    let posting = &operator.posting;
    let enabled = (!posting.enabled).then(|| quote!(settings.posting.enabled = false;));
    let loggers = posting.loggers.then(|| quote!(settings.posting.loggers = true;));
    let level = (posting.level != "info").then(|| {
        let level = &posting.level;
        quote!(settings.posting.level = #level.into();)
    });
    quote! {
        settings.persistence.prefix = #prefix.into();
        settings.persistence.finalizer = #finalizer.into();
        #enabled
        #loggers
        #level
    }
}

/// The function of a kind's module; `operator` is that of the whole.
fn function_name(resource: &Resource) -> String {
    if resource.module == "operator" {
        "operator_resource".to_owned()
    } else {
        resource.module.clone()
    }
}

pub(super) fn family_name(family: Family) -> &'static str {
    match family {
        Family::Change => "Change",
        Family::Event => "Event",
        Family::Timer => "Timer",
    }
}

fn method(handler_type: HandlerType) -> &'static str {
    match handler_type {
        HandlerType::Change(ChangeType::Create) => "on_create",
        HandlerType::Change(ChangeType::Update) => "on_update",
        HandlerType::Change(ChangeType::Delete) => "on_delete",
        HandlerType::Change(ChangeType::Resume) => "on_resume",
        HandlerType::Change(ChangeType::Field) => "on_field",
        HandlerType::Event => "on_event",
    }
}

fn field_option(field: Option<&[String]>) -> Option<TokenStream> {
    let path = field_path(field?);
    Some(quote!(.field(#path)))
}

/// Dotted, or key by key where a key has a dot of its own.
fn field_path(keys: &[String]) -> TokenStream {
    if keys.iter().any(|key| key.contains('.')) {
        return quote!([#(#keys),*]);
    }
    let dotted = keys.join(".");
    quote!(#dotted)
}
