//! `src/handlers`: one stub per function, in a file that is the author's from then on.

use std::fmt::Write as _;
use std::time::Duration;

use serde::Serialize;

use super::lints::allow_complex_text;
use super::registry::family_name;
use super::result::{Expression, first_value, type_name};
use super::scope::Scope;
use super::types;
use crate::fileset::{Class, File, FileSet, Part};
use crate::model::{ChangeType, ErrorsMode, Family, Function, Operator, Origin, Resource};
use crate::rustfmt::{CALL_WIDTH, WIDTH, signature};
use crate::template::fill;

#[derive(Serialize)]
struct Modules<'a> {
    modules: Vec<&'a str>,
}

#[derive(Serialize)]
struct Module<'a> {
    kind: &'a str,
    uses: Vec<String>,
    stubs: Vec<String>,
}

/// Adds `src/handlers/mod.rs` and a module for each resource.
pub(super) fn render(operator: &Operator, files: &mut FileSet) {
    let mut modules: Vec<&str> = operator
        .resources
        .iter()
        .map(|resource| resource.module.as_str())
        .collect();
    // Unlike imports, modules are sorted by bytes.
    modules.sort_unstable();
    files.insert(
        "src/handlers/mod.rs",
        File {
            contents: fill(
                "src/handlers/mod.rs",
                &Modules {
                    modules: modules.clone(),
                },
            ),
            class: Class::Seeded,
            owner: None,
            parts: modules
                .iter()
                .map(|module| Part::Module((*module).to_owned()))
                .collect(),
        },
    );
    for resource in &operator.resources {
        let path = format!("src/handlers/{}.rs", resource.module);
        files.insert(path, module(resource));
    }
}

fn module(resource: &Resource) -> File {
    let mut whole = new_scope(resource);
    let mut stubs = Vec::new();
    let mut parts = Vec::new();
    for function in &resource.functions {
        stubs.push(stub(resource, function, &mut whole));
        let mut scope = new_scope(resource);
        let text = stub(resource, function, &mut scope);
        parts.push(Part::Function {
            name: function.name.clone(),
            text,
            imports: scope.imports(),
        });
    }
    let uses = whole
        .uses()
        .into_iter()
        .map(|lines| format!("{}\n", lines.join("\n")))
        .collect();
    let values = Module {
        kind: &resource.reference.kind,
        uses,
        stubs,
    };
    File {
        contents: fill("src/handlers/kind.rs", &values),
        class: Class::Seeded,
        owner: Some(super::owner(resource)),
        parts,
    }
}

/// A function may be called like a type of the runtime, but only types are imported.
fn new_scope(resource: &Resource) -> Scope {
    Scope::new(types::type_names(resource))
}

fn stub(resource: &Resource, function: &Function, scope: &mut Scope) -> String {
    let module = format!("crate::generated::{}", resource.module);
    let kind = scope.own(&module, &resource.type_name);
    let family = scope.runtime(family_name(function.family));
    let result = scope.runtime("HandlerResult");
    let returns = function
        .returns
        .as_ref()
        .map(|returns| format!("<{}>", type_name(returns, &mut |name| scope.own(&module, name))));
    let mut text = String::new();
    for line in about(resource, function) {
        text.push_str(format!("/// {line}").trim_end());
        text.push('\n');
    }
    let output = format!("{result}{}", returns.unwrap_or_default());
    text.extend(allow_complex_text(&output).map(|line| format!("{line}\n")));
    let keyword = if function.blocking { "pub fn" } else { "pub async fn" };
    let (bindings, log) = body(resource, function, &family, &kind);
    let head = format!("{keyword} {}", function.name);
    let output = format!("-> {output}");
    text.push_str(&signature(0, &head, &argument(&family, &bindings, &kind), &output));
    let value = match &function.returns {
        Some(returns) => first_value(returns, &function.name, 4, &mut |name| scope.own(&module, name)),
        None => Expression::Plain("()".to_owned()),
    };
    write!(text, "\n{log}    // TODO: {}\n{}\n}}", to_do(function), value.as_ok()).expect("a String takes all");
    text
}

fn argument(family: &str, bindings: &[&str], kind: &str) -> String {
    format!("{family} {{ {}, .. }}: {family}<{kind}>", bindings.join(", "))
}

/// What the stub takes from its argument, and the log line which uses it.
fn body(resource: &Resource, function: &Function, family: &str, kind: &str) -> (Vec<&'static str>, String) {
    let (bindings, message, rest) = log_of(function);
    // rustfmt would break the pattern itself, which reads worse than a stub with fewer bindings.
    if argument(family, &bindings, kind).len() + 5 > WIDTH {
        return (vec!["name"], "    tracing::info!(\"Handling {name}\");\n".to_owned());
    }
    let fields = fields(resource, function);
    let field = escaped(fields.first().map_or("field", String::as_str));
    let full = message
        .replace("KIND", &resource.reference.kind)
        .replace("FIELD", &field);
    let short = message.replace("KIND ", "").replace("FIELD of ", "");
    let candidates = [full, short].map(|message| log_call(&message, rest));
    (bindings, candidates.into_iter().flatten().next().unwrap_or_default())
}

/// The bindings, the message and what else goes into it.
fn log_of(function: &Function) -> (Vec<&'static str>, &'static str, Option<&'static str>) {
    match (function.family, function.change_types.as_slice()) {
        (Family::Change, [ChangeType::Create]) => (vec!["name"], "Created KIND {name}", None),
        (Family::Change, [ChangeType::Resume]) => (vec!["name"], "Resumed KIND {name}", None),
        (Family::Change, [ChangeType::Delete]) => (vec!["name"], "Deleting KIND {name}", None),
        (Family::Change, [ChangeType::Update]) => (vec!["name", "diff"], "Updated KIND {name}: {diff}", None),
        (Family::Change, [ChangeType::Field]) => (
            vec!["name", "old", "new"],
            "Changed FIELD of KIND {name}: {old:?} to {new:?}",
            None,
        ),
        (Family::Change, _) => (vec!["name", "reason"], "Handling {reason} of KIND {name}", None),
        (Family::Event, _) => (
            vec!["name", "event"],
            "Observed an event of KIND {name}: {}",
            Some("event[\"type\"]"),
        ),
        (Family::Timer, _) => (vec!["name"], "Checking KIND {name}", None),
    }
}

/// On one line, or with an argument a line; nothing if it fits neither way.
fn log_call(message: &str, rest: Option<&str>) -> Option<String> {
    let arguments: Vec<String> = [format!("\"{message}\"")]
        .into_iter()
        .chain(rest.map(str::to_owned))
        .collect();
    let inner = arguments.join(", ");
    // rustfmt lets a single argument be as wide as the line.
    let limit = if rest.is_some() { CALL_WIDTH } else { WIDTH };
    let line = format!("    tracing::info!({inner});\n");
    if inner.len() <= limit && line.trim_end().len() <= WIDTH {
        return Some(line);
    }
    let fits = arguments.iter().all(|argument| argument.len() + 9 <= WIDTH);
    fits.then(|| {
        format!(
            "    tracing::info!(\n        {}\n    );\n",
            arguments.join(",\n        ")
        )
    })
}

/// For a string literal with placeholders.
fn escaped(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}").escape_debug().to_string()
}

fn to_do(function: &Function) -> &'static str {
    match (function.family, function.change_types.as_slice()) {
        (Family::Change, [ChangeType::Delete]) => "undo what the other handlers did.",
        (Family::Change, [ChangeType::Field]) => "act on the new value.",
        (Family::Change, _) => "make the world match `spec`.",
        (Family::Event, _) => "act on what was observed.",
        (Family::Timer, _) => "look at the world and act on it.",
    }
}

/// The doc comment.
fn about(resource: &Resource, function: &Function) -> Vec<String> {
    let kind = &resource.reference.kind;
    let when = match function.family {
        Family::Change => format!("Runs for each `{kind}` that {}.", occasions(resource, function)),
        Family::Event => format!("Runs for each watch event of a `{kind}`."),
        Family::Timer => format!("Runs {} for each `{kind}`.", rhythm(resource, function)),
    };
    let mut rest = Vec::new();
    if let (Origin::Own(own), Some(returns)) = (&resource.origin, &function.returns) {
        match types::result_place(own, returns) {
            Some(key) => rest.push(format!("The result is stored at `.status.{key}`.")),
            None => rest.push("The result is stored in the status.".to_owned()),
        }
    }
    if function.family != Family::Event {
        rest.push(errors(resource, function).to_owned());
    }
    if rest.is_empty() {
        vec![when]
    } else {
        vec![when, String::new(), rest.join(" ")]
    }
}

fn occasions(resource: &Resource, function: &Function) -> String {
    let occasions = function.change_types.iter().map(|change| match change {
        ChangeType::Create => "was created".to_owned(),
        ChangeType::Update => "has changed".to_owned(),
        ChangeType::Delete => "is being deleted".to_owned(),
        ChangeType::Resume => "was there when the operator started".to_owned(),
        ChangeType::Field => format!("has another {}", ticked(&fields(resource, function))),
    });
    let occasions: Vec<_> = occasions.collect();
    match occasions.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => "has changed".to_owned(),
    }
}

/// The paths that field handlers of a function watch.
fn fields(resource: &Resource, function: &Function) -> Vec<String> {
    let own = resource
        .handlers
        .iter()
        .filter(|handler| handler.function == function.name);
    let mut fields: Vec<String> = own
        .filter_map(|handler| handler.field.as_ref())
        .map(|field| field.join("."))
        .collect();
    fields.dedup();
    fields
}

fn ticked(names: &[String]) -> String {
    names
        .iter()
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(" or ")
}

fn rhythm(resource: &Resource, function: &Function) -> String {
    let mut timers = resource.timers.iter().filter(|timer| timer.function == function.name);
    let (Some(timer), None) = (timers.next(), timers.next()) else {
        return "again and again".to_owned();
    };
    let every = timer.interval.map_or_else(
        || "again and again".to_owned(),
        |interval| format!("every {}", in_words(interval).trim_start_matches("1 ")),
    );
    match timer.idle {
        Some(idle) => format!("{every}, once nothing has changed it for {},", in_words(idle)),
        None => every,
    }
}

fn in_words(duration: Duration) -> String {
    let millis = duration.as_millis();
    let units = [
        ("hour", 3_600_000),
        ("minute", 60_000),
        ("second", 1000),
        ("millisecond", 1),
    ];
    let (unit, length) = units
        .into_iter()
        .find(|(_, length)| millis > 0 && millis.is_multiple_of(*length))
        .unwrap_or(("second", 1000));
    match millis / length {
        1 => format!("1 {unit}"),
        count => format!("{count} {unit}s"),
    }
}

fn errors(resource: &Resource, function: &Function) -> &'static str {
    let handlers = resource
        .handlers
        .iter()
        .filter(|handler| handler.function == function.name)
        .map(|handler| &handler.limits);
    let timers = resource
        .timers
        .iter()
        .filter(|timer| timer.function == function.name)
        .map(|timer| &timer.limits);
    match handlers.chain(timers).next().and_then(|limits| limits.errors) {
        None | Some(ErrorsMode::Temporary) => "Any error is retried; `Permanent` ends the attempts.",
        Some(ErrorsMode::Permanent) => "Any error ends the attempts; `Temporary` is retried.",
        Some(ErrorsMode::Ignored) => "Errors are logged and count as success; `Temporary` is retried.",
    }
}
