//! `src/generated/mod.rs`: one adaptor per function, and what each handler is registered with.
//!
//! Text rather than tokens: people read it beside the spec, so that the layout is chosen here.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use super::lints::allow_complex_text;
use super::rust::generated_file;
use super::scope::Scope;
use super::{result, types};
use crate::model::{
    ChangeType, Criterion, ErrorsMode, Family, Filters, Function, Handler, HandlerType, Limits, Operator, Resource,
    Timer,
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
        .map(|resource| registry.resource(resource))
        .collect();

    let mut blocks: Vec<String> = registry.scope.uses().iter().map(|lines| lines.join("\n")).collect();
    if !clashes {
        blocks.push("use crate::handlers;".to_owned());
    }
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
        text.push_str("        .settings(|settings| {\n");
        for setting in settings(operator) {
            writeln!(text, "            settings.{setting};").expect(INTO_STRING);
        }
        text.push_str("        })");
        for resource in &operator.resources {
            write!(text, "\n        .resource({}())", function_name(resource)).expect(INTO_STRING);
        }
        text.push_str("\n}\n");
        text
    }

    fn resource(&mut self, resource: &Resource) -> String {
        let kind = self.types.name(&resource.module, &resource.type_name);
        let resource_type = self.scope.runtime("Resource");
        let mut text = format!("fn {}() -> {resource_type}<{kind}> {{\n", function_name(resource));
        for function in &resource.functions {
            text.push_str(&self.adaptor(resource, function, &kind));
        }
        let mut calls = Vec::new();
        for handler in &resource.handlers {
            calls.push(self.handler(resource, handler));
        }
        for timer in &resource.timers {
            let arguments = vec![literal(&timer.id), self.reference(resource, &timer.function)];
            calls.push(Call {
                method: "timer",
                arguments,
                options: self.timer_options(timer),
            });
        }
        text.push_str(&chain(&format!("    {resource_type}::of::<{kind}>()"), &calls));
        text.push_str("\n}\n");
        text
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
        let mut arguments = vec![literal(&handler.id)];
        let mut options = self.limits(&handler.limits);
        let field = handler.field.as_deref().map(field_path);
        if handler.handler_type == HandlerType::Change(ChangeType::Field) {
            arguments.extend(field);
        } else {
            options.extend(field.map(|field| format!(".field({field})")));
        }
        arguments.push(self.reference(resource, &handler.function));
        options.extend(self.filters(&handler.filters));
        Call {
            method: method(handler.handler_type),
            arguments,
            options,
        }
    }

    fn timer_options(&mut self, timer: &Timer) -> Vec<String> {
        let mut options = Vec::new();
        options.extend(self.duration_option("interval", timer.interval));
        options.extend(self.duration_option("idle", timer.idle));
        options.extend(timer.sharp.then(|| ".sharp(true)".to_owned()));
        options.extend(self.duration_option("initial_delay", timer.initial_delay));
        options.extend(self.limits(&timer.limits));
        options.extend(
            timer
                .field
                .as_deref()
                .map(|field| format!(".field({})", field_path(field))),
        );
        options.extend(self.filters(&timer.filters));
        options
    }

    fn limits(&mut self, limits: &Limits) -> Vec<String> {
        let mut options = Vec::new();
        options.extend(limits.retries.map(|retries| format!(".retries({retries})")));
        options.extend(self.duration_option("timeout", limits.timeout));
        options.extend(self.duration_option("backoff", limits.backoff));
        options.extend(limits.errors.map(|errors| {
            let errors = match errors {
                ErrorsMode::Temporary => "Temporary",
                ErrorsMode::Permanent => "Permanent",
                ErrorsMode::Ignored => "Ignored",
            };
            format!(".errors({}::{errors})", self.scope.runtime("ErrorsMode"))
        }));
        options
    }

    fn filters(&mut self, filters: &Filters) -> Vec<String> {
        let labels = filters.labels.iter().map(|criterion| ("label", criterion));
        let annotations = filters.annotations.iter().map(|criterion| ("annotation", criterion));
        let options = labels.chain(annotations).map(|(method, (key, criterion))| {
            let value = match criterion {
                Criterion::Equals(text) => literal(text),
                Criterion::Present => self.scope.runtime("PRESENT"),
                Criterion::Absent => self.scope.runtime("ABSENT"),
            };
            format!(".{method}({}, {value})", literal(key))
        });
        options.collect()
    }

    fn duration_option(&mut self, option: &str, value: Option<Duration>) -> Option<String> {
        let (unit, count) = in_largest_unit(value?);
        Some(format!(".{option}({}({count}))", self.scope.runtime(unit)))
    }
}

const INTO_STRING: &str = "a String takes all";

/// One registration.
struct Call {
    method: &'static str,
    arguments: Vec<String>,
    options: Vec<String>,
}

impl Call {
    /// On one line, or else with an argument a line.
    fn layout(&self, indent: usize) -> String {
        let pad = " ".repeat(indent);
        let (method, options) = (self.method, self.options.concat());
        let line = format!("{pad}.{method}({}, |o| o{options})", self.arguments.join(", "));
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
            text.extend([&pad, "    |o| {\n", &pad, "        o", &self.options[0]]);
            for option in &self.options[1..] {
                text.extend(["\n", &pad, "            ", option]);
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

fn literal(text: &str) -> String {
    proc_macro2::Literal::string(text).to_string()
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

fn settings(operator: &Operator) -> Vec<String> {
    let (persistence, posting) = (&operator.persistence, &operator.posting);
    let mut settings = vec![
        format!("persistence.prefix = {}.into()", literal(&persistence.prefix)),
        format!("persistence.finalizer = {}.into()", literal(&persistence.finalizer)),
    ];
    settings.extend((!posting.enabled).then(|| "posting.enabled = false".to_owned()));
    settings.extend(posting.loggers.then(|| "posting.loggers = true".to_owned()));
    let level = match posting.level.as_str() {
        "debug" => Some("DEBUG"),
        "warning" => Some("WARN"),
        "error" => Some("ERROR"),
        // The runtime's default.
        _ => None,
    };
    settings.extend(level.map(|level| format!("posting.level = tracing::Level::{level}")));
    settings
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

/// Dotted, or key by key where a key has a dot of its own.
fn field_path(keys: &[String]) -> String {
    if keys.iter().any(|key| key.contains('.')) {
        let keys: Vec<_> = keys.iter().map(|key| literal(key)).collect();
        return format!("[{}]", keys.join(", "));
    }
    literal(&keys.join("."))
}
