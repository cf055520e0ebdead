//! The text of stubs: a function of the author's before anything was written in it.

use std::fmt::Write as _;

use super::about::{about, about_helper, fields};
use super::lints::allow_complex_text;
use super::memos;
use super::registry::family_name;
use super::result::{Expression, first_value, type_name};
use super::scope::Scope;
use crate::model::{ChangeType, Family, Function, Helper, HelperArgument, Operator, Resource};
use crate::rustfmt::{CALL_WIDTH, PATTERN_REST, PATTERN_WIDTH, WIDTH, signature};

/// A handler that logs and returns success.
pub(super) fn stub(operator: &Operator, resource: &Resource, function: &Function, scope: &mut Scope) -> String {
    let module = format!("crate::generated::{}", resource.module);
    let kind = scope.own(&module, &resource.type_name);
    let family = scope.runtime(family_name(function.family));
    let result = scope.runtime("HandlerResult");
    let returns = match (&function.returns, &function.indexed) {
        (Some(returns), _) => Some(type_name(returns, &mut |name| scope.own(&module, name))),
        (None, Some((key, value))) => {
            let entries = scope.runtime("Entries");
            let mut of_kind = |other: &str, name: &str| {
                if other == resource.module {
                    scope.own(&module, name)
                } else {
                    scope.name(&format!("crate::generated::{other}"), name)
                }
            };
            let key = key.rust(&mut of_kind);
            Some(format!("{entries}<{key}, {}>", value.rust(&mut of_kind)))
        }
        (None, None) => None,
    };
    let returns = returns.map(|returns| format!("<{returns}>"));
    let mut text = doc_comment(&about(resource, function));
    let output = format!("{result}{}", returns.unwrap_or_default());
    text.extend(allow_complex_text(&output).map(|line| format!("{line}\n")));
    let keyword = if function.blocking { "pub fn" } else { "pub async fn" };
    let (bindings, log) = body(operator, resource, function, &family, &kind);
    let head = format!("{keyword} {}", function.name);
    let output = format!("-> {output}");
    let mut argument = argument(&family, &bindings, &kind);
    if !argument.contains('\n') && argument.len() + 5 > WIDTH {
        argument = argument.replace(&format!("<{kind}>"), &format!("<\n        {kind},\n    >"));
    }
    text.push_str(&signature(0, &head, &argument, &output));
    let value = match (&function.returns, &function.indexed) {
        (Some(returns), _) => first_value(returns, &function.name, 4, &mut |name| scope.own(&module, name)),
        (None, Some(_)) => Expression::Plain(format!("{}::none()", scope.runtime("Entries"))),
        (None, None) => Expression::Plain("()".to_owned()),
    };
    let work = work(function, &resource.reference.kind, scope);
    write!(text, "\n{log}{work}{}\n}}", value.as_ok()).expect("a String takes all");
    text
}

/// A filter that takes everything, a value filter that takes whatever is there, or a delay of none.
pub(super) fn helper_stub(resource: &Resource, function: &Helper, scope: &mut Scope) -> String {
    let mut text = doc_comment(&about_helper(resource, function));
    let head = format!("pub fn {}", function.name);
    match function.argument {
        HelperArgument::Filter => {
            let kind = scope.own(&format!("crate::generated::{}", resource.module), &resource.type_name);
            let filter = scope.runtime("Filter");
            let argument = argument(&filter, &["name", "spec"], &kind);
            text.push_str(&signature(0, &head, &argument, "-> bool"));
            let log = log_call("Filtering {name}: {spec:?}", None).unwrap_or_default();
            let log = log.replace("::info!", "::trace!");
            write!(
                text,
                "\n{log}    // TODO: decide by `spec`, `labels` and the like.\n    true\n}}"
            )
        }
        HelperArgument::Delay => {
            let kind = scope.own(&format!("crate::generated::{}", resource.module), &resource.type_name);
            let (delay, duration) = (scope.runtime("Delay"), scope.name("std::time", "Duration"));
            let argument = argument(&delay, &["name", "spec"], &kind);
            text.push_str(&signature(0, &head, &argument, &format!("-> {duration}")));
            let log = log_call("Delaying {name}: {spec:?}", None).unwrap_or_default();
            let log = log.replace("::info!", "::trace!");
            write!(
                text,
                "\n{log}    // TODO: decide by `spec`, `labels` and the like.\n    {duration}::ZERO\n}}"
            )
        }
        HelperArgument::Value => {
            let filter = scope.runtime("ValueFilter");
            let argument = format!("{filter} {{ value, .. }}: {filter}");
            text.push_str(&signature(0, &head, &argument, "-> bool"));
            write!(
                text,
                "\n    // TODO: decide by the value; `None` stands for an absent one.\n    value.is_some()\n}}"
            )
        }
    }
    .expect("a String takes all");
    text
}

fn doc_comment(lines: &[String]) -> String {
    let lines = lines
        .iter()
        .map(|line| format!("{}\n", format!("/// {line}").trim_end()));
    lines.collect()
}

/// On one line if rustfmt leaves it there, or as it stands in a list of arguments of their own lines.
fn argument(family: &str, bindings: &[&str], kind: &str) -> String {
    let inner = bindings.join(", ");
    let (open, separator, close) = if inner.len() <= PATTERN_REST {
        (" ", ", ", " ")
    } else if inner.len() <= PATTERN_WIDTH {
        ("\n        ", ", ", "\n    ")
    } else {
        ("\n        ", ",\n        ", "\n    ")
    };
    let inner = bindings.join(separator);
    format!("{family} {{{open}{inner}{separator}..{close}}}: {family}<{kind}>")
}

/// What the stub takes from its argument, and the lines which use it.
fn body(
    operator: &Operator,
    resource: &Resource,
    function: &Function,
    family: &str,
    kind: &str,
) -> (Vec<&'static str>, String) {
    let (mut bindings, message, rest) = log_of(function);
    let more = options_of(operator, resource, function);
    let fields = fields(resource, function);
    let field = escaped(fields.first().map_or("field", String::as_str));
    let full = message
        .replace("KIND", &resource.reference.kind)
        .replace("FIELD", &field);
    let short = message.replace("KIND ", "").replace("FIELD of ", "");
    let posts = operator.posting.by_handlers && function.family == Family::Change && rest.is_none();
    bindings.extend(posts.then_some("events"));
    bindings.extend(more.iter().map(|(binding, _)| *binding));
    let argument = argument(family, &bindings, kind);
    // rustfmt would break the pattern itself, which reads worse than a stub with fewer bindings.
    if !argument.contains('\n') && argument.len() + 5 > WIDTH {
        return plain(function);
    }
    let key = if bindings.contains(&"item") { ITEM_KEY } else { "" };
    let more: String = more.into_iter().map(|(_, text)| text).collect();
    if bindings.contains(&"events") {
        let post = |mut log: String| {
            log.push_str("    tracing::info!(\"{message}\");\n");
            writeln!(log, "    events.info(\"{}\", message);", reason(function)).expect("a String takes all");
            log
        };
        let mut candidates = [full + &more, short + &more].into_iter();
        return match candidates.find_map(|message| let_message(&message)) {
            Some(log) => (bindings, key.to_owned() + &post(log)),
            None => (
                vec!["name", "events"],
                post("    let message = format!(\"Handling {name}\");\n".to_owned()),
            ),
        };
    }
    let mut candidates = [full + &more, short + &more].into_iter();
    match candidates.find_map(|message| log_call(&message, rest)) {
        Some(log) => (bindings, key.to_owned() + &log),
        None => plain(function),
    }
}

/// Those that only sub-handlers have, which are told what they are for.
const ITEM_KEY: &str = "    let key = item.as_ref().map_or(\"\", |item| item.key.as_str());\n";

/// For what no line has room for.
fn plain(function: &Function) -> (Vec<&'static str>, String) {
    let bindings = match function.family {
        Family::Daemon => vec!["name", "stopped"],
        _ => vec!["name"],
    };
    (bindings, "    tracing::info!(\"Handling {name}\");\n".to_owned())
}

/// The bindings, the message and what else goes into it.
fn log_of(function: &Function) -> (Vec<&'static str>, &'static str, Option<&'static str>) {
    match (function.family, function.change_types.as_slice()) {
        (Family::Change, []) => (vec!["name", "item"], log_of_item(function), None),
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
        (Family::Daemon, _) => (vec!["name", "stopped"], "Looking after KIND {name}", None),
        (Family::Index, _) => (vec!["name"], "Indexing KIND {name}", None),
    }
}

/// The message of a function that is a sub-handler and nothing else.
fn log_of_item(function: &Function) -> &'static str {
    match function.sub_types.as_slice() {
        [ChangeType::Create] => "Created {key} of KIND {name}",
        [ChangeType::Resume] => "Resumed {key} of KIND {name}",
        [ChangeType::Delete] => "Deleting {key} of KIND {name}",
        _ => "Handling {key} of KIND {name}",
    }
}

/// One word for a Kubernetes event.
fn reason(function: &Function) -> &'static str {
    let types = match function.change_types.as_slice() {
        [] => &function.sub_types,
        types => types,
    };
    match types {
        [ChangeType::Create] => "Created",
        [ChangeType::Resume] => "Resumed",
        [ChangeType::Delete] => "Deleting",
        [ChangeType::Update] => "Updated",
        [ChangeType::Field] => "Changed",
        _ => "Handling",
    }
}

/// The arguments that the options of a function's entries are about, and their share of the message.
fn options_of(operator: &Operator, resource: &Resource, function: &Function) -> Vec<(&'static str, &'static str)> {
    let mut options = Vec::new();
    if resource
        .entries_of(&function.name)
        .any(|entry| entry.limits.retries.is_some())
    {
        options.push(("retry", ", retry {retry}"));
    }
    if resource.entries_of(&function.name).any(|entry| entry.param.is_some()) {
        options.push(("param", ", param {param}"));
    }
    if memos::type_name(operator, resource).is_some() {
        options.push(("memo", ", memo {memo:?}"));
    }
    options
}

/// Nothing if it fits on no line.
fn log_call(message: &str, rest: Option<&str>) -> Option<String> {
    let arguments: Vec<String> = [format!("\"{message}\"")]
        .into_iter()
        .chain(rest.map(str::to_owned))
        .collect();
    call("tracing::info!", &arguments)
}

/// The message in a variable: on one line, with its value on the next, or broken as a call is; nothing if it fits
/// no way.
fn let_message(message: &str) -> Option<String> {
    let value = format!("format!(\"{message}\");");
    let line = format!("    let message = {value}");
    if line.len() <= WIDTH {
        return Some(line + "\n");
    }
    if value.len() + 8 <= WIDTH {
        return Some(format!("    let message =\n        {value}\n"));
    }
    call("let message = format!", &[format!("\"{message}\"")])
}

/// On one line, or with an argument a line; nothing if it fits neither way.
fn call(function: &str, arguments: &[String]) -> Option<String> {
    let inner = arguments.join(", ");
    // rustfmt lets a single argument be as wide as the line.
    let limit = if arguments.len() > 1 { CALL_WIDTH } else { WIDTH };
    let line = format!("    {function}({inner});\n");
    if inner.len() <= limit && line.trim_end().len() <= WIDTH {
        return Some(line);
    }
    let fits = arguments.iter().all(|argument| argument.len() + 9 <= WIDTH);
    // Macros take no comma behind the last argument.
    let last = if function.ends_with('!') { "" } else { "," };
    fits.then(|| {
        format!(
            "    {function}(\n        {}{last}\n    );\n",
            arguments.join(",\n        ")
        )
    })
}

/// For a string literal with placeholders.
fn escaped(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}").escape_debug().to_string()
}

/// What is left to the author, with the code around it.
fn work(function: &Function, kind: &str, scope: &mut Scope) -> String {
    let to_do = match (function.family, function.change_types.as_slice()) {
        (Family::Daemon, _) => return watch(function, kind, scope),
        (Family::Change, []) => match function.sub_types.as_slice() {
            [ChangeType::Delete] => "undo what was done for the item, `item.typed()`.",
            _ => "make the world match the item, `item.typed()`.",
        },
        (Family::Change, [ChangeType::Delete]) => "undo what the other handlers did.",
        (Family::Change, [ChangeType::Field]) => "act on the new value.",
        (Family::Change, _) => "make the world match `spec`.",
        (Family::Event, _) => "act on what was observed.",
        (Family::Timer, _) => "look at the world and act on it.",
        (Family::Index, _) => match &function.indexed {
            Some((key, _)) if key.is_unit() => "say what to keep, such as `Entries::flat(value)`.",
            _ => "say what to find under which key, such as `Entries::one(key, value)`.",
        },
    };
    format!("    // TODO: {to_do}\n")
}

/// A loop that ends when the daemon is to end, and that waits in between.
fn watch(function: &Function, kind: &str, scope: &mut Scope) -> String {
    let pause = format!("{}(60)", scope.runtime("secs"));
    let wait = if function.blocking {
        format!("block_for({pause})")
    } else {
        format!("wait_for({pause}).await")
    };
    let messages = [
        format!("Done with {kind} {{name}}: {{}}"),
        "Done with {name}: {}".to_owned(),
    ];
    let end = messages
        .iter()
        .find_map(|message| log_call(message, Some("stopped.reason()")));
    format!(
        "    while !stopped.{wait} {{\n        // TODO: look at the world and act on it; `live.spec()` is the newest.\n    \
         }}\n{}",
        end.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    /// The author's file of a kind with a handler for labels of all lengths.
    fn stubs(posts: bool, options: &str) -> String {
        let mut spec = format!(
            "apiVersion: kopf-gen.dev/v1alpha1\nkind: OperatorSpec\nmetadata: {{name: op}}\nsettings: {{posting: {{enabled: \
             {posts}}}}}\nresources:\n- apiVersion: demo.example.com/v1\n  kind: Cart\n  spec: {{size: integer}}\n  handlers:\n"
        );
        for length in 1..=110_usize {
            // What stands before the slash may be longer than what stands behind it, and each part of it may not.
            let label = match length {
                1..=60 => "a".repeat(length),
                _ => format!("{}.b/{}", "a".repeat(50), "c".repeat(length - 53)),
            };
            let entry = format!("{{type: field, fn: go{length}, field: [metadata, labels, {label}]{options}}}");
            spec.extend(["  - ", &entry, "\n"]);
        }
        let generated = crate::generate("operator.yaml", &spec, &crate::Options::default());
        let files = generated.unwrap_or_else(|faults| panic!("{faults}")).files;
        files
            .get("src/handlers/cart.rs")
            .expect("the kind has a file")
            .contents
            .clone()
    }

    fn formatted(text: &str) -> String {
        let mut rustfmt = Command::new("rustfmt")
            .args(["--edition", "2024"])
            .current_dir(std::env::temp_dir())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("rustfmt is part of the toolchain");
        let mut input = rustfmt.stdin.take().expect("it is piped");
        let text = text.to_owned();
        let feed = std::thread::spawn(move || input.write_all(text.as_bytes()));
        let output = rustfmt.wait_with_output().expect("it ends");
        feed.join().expect("no panic").expect("it reads all");
        assert!(output.status.success(), "rustfmt refuses the text");
        String::from_utf8(output.stdout).expect("it writes text")
    }

    #[test]
    fn messages_of_every_length_are_complete_and_in_the_form_of_rustfmt() {
        for posts in [true, false] {
            for options in ["", ", param: 1", ", param: 1, retries: 3"] {
                let text = stubs(posts, options);
                assert_eq!(formatted(&text), text, "posting {posts}{options}");
                for function in text.split("\npub async fn ").skip(1) {
                    let (head, body) = function.split_once("HandlerResult {\n").expect("a function has a body");
                    let (pattern, _) = head.split_once("}:").expect("its argument is a pattern");
                    let (_, bindings) = pattern.split_once('{').expect("its argument is a pattern");
                    for name in bindings.split(',').map(str::trim).filter(|name| *name != "..") {
                        let forms = [format!("{{{name}}}"), format!("{{{name}:"), format!("{name}.")];
                        assert!(forms.iter().any(|form| body.contains(form)), "{name} of {function}");
                    }
                    let uses = body.contains("{message}");
                    assert_eq!(uses, body.contains("let message ="), "{function}");
                    assert!(body.contains("tracing::info!"), "{function}");
                }
            }
        }
    }
}
