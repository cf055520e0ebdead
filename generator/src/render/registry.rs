//! `src/generated/mod.rs`: one adaptor per function, and what each handler is registered with.
//!
//! Text rather than tokens: people read it beside the spec, so that the layout is chosen here.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::lints::{ALLOW_CONSTANTS, allow_complex_text, allow_constants};
use super::rust::generated_file;
use super::scope::Scope;
use super::settings::settings;
use super::{indexes, memos, options, result, types};
use crate::model::{
    ChangeType, Entry, Family, Function, Handler, HandlerType, Helper, HelperArgument, Operator, Resource, SubHandler,
};
use crate::rustfmt::{WIDTH, signature, use_line};

/// The text of the registry.
pub(super) fn render(operator: &Operator) -> String {
    let modules: BTreeSet<&str> = operator
        .resources
        .iter()
        .map(|resource| resource.module.as_str())
        .collect();
    let clashes = modules.contains("handlers");
    let handlers = if clashes { "crate::handlers" } else { "handlers" };
    let mut registry = Registry {
        scope: Scope::new(taken_names(operator)),
        types: TypeNames::of(operator),
        handlers,
    };
    let main = registry.operator(operator);
    let functions: Vec<_> = operator
        .resources
        .iter()
        .map(|resource| registry.resource(operator, resource))
        .collect();

    let mut blocks: Vec<String> = registry.scope.uses().iter().map(|lines| lines.join("\n")).collect();
    if !clashes {
        blocks.push("use crate::handlers;".to_owned());
    }
    let own = (!operator.indexes.is_empty()).then_some(indexes::MODULE);
    let modules: BTreeSet<&str> = modules.into_iter().chain(own).collect();
    blocks.push(
        modules
            .iter()
            .map(|module| format!("pub mod {module};"))
            .collect::<Vec<_>>()
            .join("\n"),
    );
    blocks.push(registry.types.uses());
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
    let helpers = operator
        .resources
        .iter()
        .flat_map(|resource| &resource.helpers)
        .map(|function| function.name.clone());
    let modules = operator.resources.iter().map(|resource| resource.module.clone());
    functions
        .chain(helpers)
        .chain(modules)
        .chain(operator.resources.iter().flat_map(types::type_names))
        .chain(operator.indexes.iter().map(|index| index.type_name.clone()))
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
        let markers = operator.indexes.iter().map(|index| index.type_name.clone());
        Self {
            ambiguous: names.chain(markers).filter(|name| !seen.insert(name.clone())).collect(),
            used: BTreeMap::new(),
        }
    }

    fn name(&mut self, module: &str, name: &str) -> String {
        if self.ambiguous.contains(name) {
            return format!("{module}::{name}");
        }
        self.used.entry(module.to_owned()).or_default().insert(name.to_owned());
        name.to_owned()
    }

    fn uses(&self) -> String {
        let lines = self
            .used
            .iter()
            .map(|(module, names)| use_line(module, names.iter().map(String::as_str).collect()));
        lines.collect::<Vec<_>>().join("\n")
    }
}

struct Registry<'a> {
    scope: Scope,
    types: TypeNames,
    /// How the registry calls the module of the author's functions.
    handlers: &'a str,
}

impl Registry<'_> {
    fn operator(&mut self, operator: &Operator) -> String {
        let kind = self.scope.runtime("Operator");
        let mut text = String::from("/// The operator with all its handlers.\n");
        write!(
            text,
            "pub fn operator() -> {kind} {{\n    {kind}::new({:?})\n",
            operator.name
        )
        .expect(INTO_STRING);
        if let Some(memo) = &operator.memo {
            writeln!(text, "        .memo({}::default())", memo.rust()).expect(INTO_STRING);
        }
        text.push_str("        .settings(|settings| {\n");
        for setting in settings(operator, &mut self.scope) {
            writeln!(text, "            settings.{setting};").expect(INTO_STRING);
        }
        text.push_str("        })");
        for resource in &operator.resources {
            write!(text, "\n        .resource({}())", function_name(resource)).expect(INTO_STRING);
        }
        text.push_str("\n}\n");
        text
    }

    fn resource(&mut self, operator: &Operator, resource: &Resource) -> String {
        let kind = self.types.name(&resource.module, &resource.type_name);
        let resource_type = self.scope.runtime("Resource");
        let mut text = format!("fn {}() -> {resource_type}<{kind}> {{\n", function_name(resource));
        for function in &resource.functions {
            text.push_str(&self.adaptor(resource, function, &kind));
        }
        for function in &resource.helpers {
            text.push_str(&self.helper(resource, function, &kind));
        }
        let mut calls = Vec::new();
        for handler in &resource.handlers {
            calls.push(self.handler(resource, handler));
        }
        for timer in &resource.timers {
            calls.push(Call {
                method: "timer",
                arguments: self.named(resource, &timer.entry),
                options: plain(options::of_timer(timer, &mut self.scope)),
            });
        }
        for daemon in &resource.daemons {
            calls.push(Call {
                method: "daemon",
                arguments: self.named(resource, &daemon.entry),
                options: plain(options::of_daemon(daemon, &mut self.scope)),
            });
        }
        for index in &resource.indexes {
            let marker = operator.indexes.iter().find(|marker| marker.id == index.entry.id);
            let marker = marker.map_or("", |marker| &marker.type_name);
            let marker = self.types.name(indexes::MODULE, marker);
            calls.push(Call {
                method: "index",
                arguments: vec![marker, self.reference(resource, &index.entry.function)],
                options: plain(options::of_index(index, &mut self.scope)),
            });
        }
        let scope = &mut self.scope;
        let constructor = memos::constructor(operator, resource, &resource_type, &kind, &mut || {
            scope.name("std::sync", "Arc")
        });
        text.push_str(&chain(&format!("    {constructor}"), &calls));
        text.push_str("\n}\n");
        let allowed = text.parse().ok().and_then(|tokens| allow_constants(&tokens));
        let allowed = allowed.map_or_else(String::new, |_| format!("{ALLOW_CONSTANTS}\n"));
        allowed + &text
    }

    /// The id and the function.
    fn named(&mut self, resource: &Resource, entry: &Entry) -> Vec<String> {
        vec![literal(&entry.id), self.reference(resource, &entry.function)]
    }

    /// The same for a function that decides on an option.
    fn helper(&mut self, resource: &Resource, function: &Helper, kind: &str) -> String {
        let (argument, output) = match function.argument {
            HelperArgument::Filter => (format!("{}<{kind}>", self.scope.runtime("Filter")), "bool".to_owned()),
            HelperArgument::Value => (self.scope.runtime("ValueFilter"), "bool".to_owned()),
            HelperArgument::Delay => (
                format!("{}<{kind}>", self.scope.runtime("Delay")),
                self.scope.name("std::time", "Duration"),
            ),
        };
        let (name, module) = (&function.name, &resource.module);
        let (argument, output) = (format!("args: {argument}"), format!("-> {output}"));
        let head = signature(4, &format!("fn {name}"), &argument, &output);
        format!("{head}\n        {}::{module}::{name}(args)\n    }}\n", self.handlers)
    }

    /// The function's exact signature, so that the compiler names the author's function where it differs.
    fn adaptor(&mut self, resource: &Resource, function: &Function, kind: &str) -> String {
        let family = self.scope.runtime(family_name(function.family));
        let result = self.scope.runtime("HandlerResult");
        let (types, module) = (&mut self.types, &resource.module);
        let returns = function
            .returns
            .as_ref()
            .map(|returns| format!("<{}>", result::type_name(returns, &mut |name| types.name(module, name))));
        let returns = match &function.indexed {
            Some((key, value)) => {
                let entries = self.scope.runtime("Entries");
                let key = key.rust(|module, name| self.types.name(module, name));
                let value = value.rust(|module, name| self.types.name(module, name));
                Some(format!("<{entries}<{key}, {value}>>"))
            }
            None => returns,
        };
        let (keyword, wait) = if function.blocking {
            ("fn", "")
        } else {
            ("async fn", ".await")
        };
        let name = &function.name;
        let output = format!("-> {result}{}", returns.unwrap_or_default());
        let head = signature(
            4,
            &format!("{keyword} {name}"),
            &format!("args: {family}<{kind}>"),
            &output,
        );
        let allowed = allow_complex_text(output.trim_start_matches("-> "))
            .map_or_else(String::new, |line| format!("    {line}\n"));
        format!(
            "{allowed}{head}\n        {}::{module}::{name}(args){wait}\n    }}\n",
            self.handlers
        )
    }

    fn reference(&mut self, resource: &Resource, function: &str) -> String {
        let blocking = resource
            .functions
            .iter()
            .any(|known| known.name == function && known.blocking);
        if blocking {
            format!("{}({function})", self.scope.runtime("blocking"))
        } else {
            function.to_owned()
        }
    }

    fn handler(&mut self, resource: &Resource, handler: &Handler) -> Call {
        let mut arguments = self.named(resource, &handler.entry);
        if handler.handler_type == HandlerType::Change(ChangeType::Field) {
            let field = handler.entry.field.as_deref().map(options::field_path);
            arguments.splice(1..1, field);
        }
        let mut options = plain(options::of_handler(handler, &mut self.scope));
        options.extend(handler.for_each.iter().map(|sub| self.sub_handler(resource, sub)));
        Call {
            method: method(handler.handler_type),
            arguments,
            options,
        }
    }

    fn sub_handler(&mut self, resource: &Resource, sub: &SubHandler) -> Choice {
        let key = match &sub.key {
            Some(path) => options::field_path(path),
            None => format!("{}::Natural", self.scope.runtime("EachKey")),
        };
        let function = self.reference(resource, &sub.entry.function);
        let mut options = plain(options::of_sub_handler(sub, &mut self.scope));
        options.extend(sub.for_each.iter().map(|below| self.sub_handler(resource, below)));
        Choice::Call(Call {
            method: "for_each",
            arguments: vec![options::field_path(&sub.path), key, function],
            options,
        })
    }
}

const INTO_STRING: &str = "a String takes all";

/// One registration: of a handler, or of its sub-handlers.
struct Call {
    method: &'static str,
    arguments: Vec<String>,
    options: Vec<Choice>,
}

/// What is chosen by one option.
enum Choice {
    Plain(String),
    Call(Call),
}

fn plain(options: Vec<String>) -> Vec<Choice> {
    options.into_iter().map(Choice::Plain).collect()
}

impl Choice {
    fn line(&self) -> String {
        match self {
            Self::Plain(text) => text.clone(),
            Self::Call(call) => call.line(),
        }
    }

    /// Behind as many spaces, which are not part of it.
    fn layout(&self, indent: usize) -> String {
        match self {
            Self::Plain(text) => text.clone(),
            Self::Call(call) => call.layout(indent).trim_start().to_owned(),
        }
    }
}

impl Call {
    fn options(&self) -> String {
        self.options.iter().map(Choice::line).collect()
    }

    fn line(&self) -> String {
        let (method, arguments) = (self.method, self.arguments.join(", "));
        format!(".{method}({arguments}, |o| o{})", self.options())
    }

    /// On one line, or else with an argument a line.
    fn layout(&self, indent: usize) -> String {
        let pad = " ".repeat(indent);
        let (method, options) = (self.method, self.options());
        let line = format!("{pad}{}", self.line());
        if line.len() <= WIDTH {
            return line;
        }
        let mut text = format!("{pad}.{method}(\n");
        for argument in &self.arguments {
            text.extend([&pad, "    ", argument, ",\n"]);
        }
        let closure = format!("{pad}    |o| o{options},\n");
        if closure.trim_end().len() <= WIDTH {
            text.push_str(&closure);
        } else {
            let (first, rest) = match self.options.as_slice() {
                [one] => (one.layout(indent + 8), &[][..]),
                options => (options[0].layout(indent + 12), &options[1..]),
            };
            text.extend([&pad, "    |o| {\n", &pad, "        o", &first]);
            for option in rest {
                text.extend(["\n", &pad, "            ", &option.layout(indent + 12)]);
            }
            text.extend(["\n", &pad, "    },\n"]);
        }
        text + &pad + ")"
    }
}

fn chain(start: &str, calls: &[Call]) -> String {
    match calls {
        [call] => {
            let line = format!("{start}{}", call.layout(0));
            if !line.contains('\n') && line.len() <= WIDTH {
                line
            } else {
                format!("{start}\n{}", call.layout(8))
            }
        }
        calls => calls
            .iter()
            .fold(start.to_owned(), |text, call| format!("{text}\n{}", call.layout(8))),
    }
}

pub(super) fn literal(text: &str) -> String {
    proc_macro2::Literal::string(text).to_string()
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
        Family::Daemon => "Daemon",
        Family::Index => "Index",
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
