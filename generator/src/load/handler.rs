//! Entries of `handlers`, and what the entries of all lists have in common.

use super::environment::option;
use super::field::field;
use super::filters::filters;
use super::keys::{BACKOFF, HANDLER};
use super::reader::{Faults, boolean, choice, count, duration, mapping, missing, sequence, text};
use super::sub_handler::for_each;
use crate::diagnostic::{Code, Diagnostic, Span, listed, wrong_type};
use crate::model::{Backoff, ErrorsMode};
use crate::spec::{EntrySpec, HandlerSpec, Mapping, Node, Reading, Scalar, Spanned};

const HANDLER_TYPES: &[&str] = &["create", "update", "delete", "resume", "field", "event"];

pub(super) fn handlers(node: Option<&Node>, faults: &mut Faults) -> Vec<HandlerSpec> {
    sequence(node, "`handlers`", faults)
        .iter()
        .filter_map(|node| handler(node, faults))
        .collect()
}

fn handler(node: &Node, faults: &mut Faults) -> Option<HandlerSpec> {
    let keys = mapping(node, &HANDLER, faults)?;
    let types = if let Some(node) = keys.get("type") {
        handler_types(node, faults)
    } else {
        let help = "`type` is one of `create`, `update`, `delete`, `resume`, `field` or `event`";
        faults.push(missing(head(node), "type", "the handler").help(help));
        Vec::new()
    };
    Some(HandlerSpec {
        types,
        deleted: option(keys, "deleted", boolean, faults),
        covers_downtime: option(keys, "coversDowntime", boolean, faults),
        for_each: for_each(keys, faults),
        entry: entry(node, keys, "the handler", &["value", "old", "new"], faults)?,
    })
}

fn handler_types(node: &Node, faults: &mut Faults) -> Vec<Spanned<String>> {
    let Some(items) = node.as_sequence() else {
        return choice(node, "`type`", HANDLER_TYPES, faults).into_iter().collect();
    };
    if items.is_empty() {
        let fault = Diagnostic::error(Code::Empty, node.span, "`type` is an empty list");
        faults.push(fault.help(format!(
            "it holds one or more of {}",
            listed(HANDLER_TYPES[..4].iter().copied())
        )));
    }
    let mut types: Vec<Spanned<String>> = Vec::new();
    for item in items {
        let Some(kind) = choice(item, "`type`", HANDLER_TYPES, faults) else {
            continue;
        };
        if types.iter().any(|other| other.value == kind.value) {
            let message = format!("`{}` is listed twice in `type`", kind.value);
            let fault = Diagnostic::error(Code::Duplicate, kind.span, message);
            faults.push(fault.help("leave one of them out; for a second call, write an entry with an `id` of its own"));
        } else if items.len() > 1 && matches!(kind.value.as_str(), "field" | "event") {
            let message = format!("`{}` stands in a list of types", kind.value);
            let help = "a list holds `create`, `update`, `delete` and `resume` only; write an entry of its own";
            faults.push(Diagnostic::error(Code::MisplacedOption, kind.span, message).help(help));
        } else {
            types.push(kind);
        }
    }
    types
}

/// A whole entry may span many lines; its first key is enough to find it.
pub(super) fn head(node: &Node) -> Span {
    node.as_mapping()
        .and_then(|mapping| mapping.entries.first())
        .map_or(node.span, |entry| entry.key.span)
}

/// `values` names the keys which are criteria of the field.
pub(super) fn entry(
    node: &Node,
    keys: &Mapping,
    place: &str,
    values: &[&str],
    faults: &mut Faults,
) -> Option<EntrySpec> {
    let function = if let Some(node) = keys.get("fn") {
        text(node, "`fn`", faults)
    } else {
        faults.push(missing(head(node), "fn", place).help("`fn` names the Rust function"));
        None
    };
    let options = EntrySpec {
        span: head(node),
        function: Spanned::new(String::new(), node.span),
        id: keys.get("id").and_then(|node| text(node, "`id`", faults)),
        enabled: option(keys, "enabled", boolean, faults),
        param: keys.get("param").map(|node| node.to_json(faults)),
        field: keys.get("field").and_then(|node| path(node, "`field`", faults)),
        retries: option(keys, "retries", count, faults),
        timeout: option(keys, "timeout", duration, faults),
        backoff: backoff(keys, faults),
        errors: option(keys, "errors", errors_mode, faults),
        interrupt: option(keys, "interrupt", boolean, faults),
        optional: option(keys, "optional", boolean, faults),
        filters: filters(keys, values, faults),
        blocking: keys
            .get("blocking")
            .and_then(|node| boolean(node, "`blocking`", faults)),
        returns: keys
            .get("returns")
            .and_then(|node| field(node, None, "`returns`", faults)),
    };
    Some(EntrySpec {
        function: function?,
        ..options
    })
}

/// One duration, a mapping that says how it grows, or a variable that says it.
fn backoff(keys: &Mapping, faults: &mut Faults) -> Option<Spanned<Backoff>> {
    let node = keys.get("backoff")?;
    let inner = node.as_mapping();
    let is_growing = inner.is_some_and(|inner| inner.get("env").is_none() && inner.get("default").is_none());
    if !is_growing {
        let option = option(keys, "backoff", duration, faults)?;
        return Some(Spanned::new(Backoff::Fixed(option.value), option.span));
    }
    let keys = mapping(node, &BACKOFF, faults)?;
    let mut needed = |key: &str| {
        if let Some(node) = keys.get(key) {
            return duration(node, &format!("`{key}`"), faults);
        }
        let help = "write the first wait and the longest one: {initial: 1s, max: 5m}";
        faults.push(missing(node.span, key, "`backoff`").help(help));
        None
    };
    let (initial, max) = (needed("initial"), needed("max"));
    let jitter = match keys.get("jitter") {
        Some(node) => Some(part(node, faults)?),
        None => None,
    };
    let (initial, max) = (initial?, max?);
    if initial.value.is_zero() || initial.value > max.value {
        let message = "`initial` must be more than 0 and at most `max`";
        let fault = Diagnostic::error(Code::OutOfRange, initial.span, message);
        faults.push(fault.help("write the first wait and the longest one: {initial: 1s, max: 5m}"));
        return None;
    }
    let growing = Backoff::Growing {
        initial: initial.value,
        max: max.value,
        jitter,
    };
    Some(Spanned::new(growing, node.span))
}

/// A number between 0 and 1.
fn part(node: &Node, faults: &mut Faults) -> Option<f64> {
    let number = match node.as_scalar().map(Scalar::reading) {
        Some(Reading::Float(number)) => number,
        Some(Reading::Integer(number @ (0 | 1))) => f64::from(u8::from(number == 1)),
        Some(Reading::Integer(_)) => f64::NAN,
        _ => {
            let fault = wrong_type(node.span, "`jitter`", "a number", node.kind());
            faults.push(fault.help("write the part of the wait that is random, from 0 to 1: 0.2"));
            return None;
        }
    };
    if (0.0..=1.0).contains(&number) {
        return Some(number);
    }
    let fault = Diagnostic::error(Code::OutOfRange, node.span, "`jitter` must be between 0 and 1");
    faults.push(fault.help("it is the part of the wait that is random: 0.2"));
    None
}

fn errors_mode(node: &Node, what: &str, faults: &mut Faults) -> Option<Spanned<ErrorsMode>> {
    let mode = choice(node, what, &["temporary", "permanent", "ignored"], faults)?;
    let value = match mode.value.as_str() {
        "permanent" => ErrorsMode::Permanent,
        "ignored" => ErrorsMode::Ignored,
        _ => ErrorsMode::Temporary,
    };
    Some(Spanned::new(value, mode.span))
}

/// A path of keys: with dots, or a list where a key has a dot of its own.
pub(super) fn path(node: &Node, what: &str, faults: &mut Faults) -> Option<Spanned<Vec<String>>> {
    let path: Vec<String> = match node.as_sequence() {
        Some(keys) => keys
            .iter()
            .filter_map(|key| text(key, &format!("a key of {what}"), faults))
            .map(|key| key.value)
            .collect(),
        None => text(node, what, faults)?.value.split('.').map(str::to_string).collect(),
    };
    if path.is_empty() || path.iter().any(String::is_empty) {
        let fault = Diagnostic::error(Code::UnknownFieldPath, node.span, "a key of the path is empty");
        let example = if what == "`key`" { "name" } else { "spec.size" };
        faults.push(fault.help(format!("write a path such as `{example}`, without a leading dot")));
        return None;
    }
    Some(Spanned::new(path, node.span))
}
