//! Entries of `handlers` and `timers`.

use super::field::field;
use super::keys::{BACKOFF, CRITERION, HANDLER, INITIAL_DELAY, Keys, TIMER};
use super::reader::{
    Faults, any_mapping, boolean, choice, count, duration, is_empty, mapping, missing, sequence, text,
};
use crate::diagnostic::{Code, Diagnostic, Span, not_supported_yet, wrong_type};
use crate::model::Criterion;
use crate::spec::{CriterionSpec, EntrySpec, HandlerSpec, Mapping, Node, Spanned, TimerSpec};

const HANDLER_TYPES: &[&str] = &["create", "update", "delete", "resume", "field", "event"];

pub(super) fn handlers(node: Option<&Node>, faults: &mut Faults) -> Vec<HandlerSpec> {
    sequence(node, "`handlers`", faults)
        .iter()
        .filter_map(|node| handler(node, faults))
        .collect()
}

pub(super) fn timers(node: Option<&Node>, faults: &mut Faults) -> Vec<TimerSpec> {
    sequence(node, "`timers`", faults)
        .iter()
        .filter_map(|node| timer(node, faults))
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
        entry: entry(node, keys, "the handler", faults)?,
    })
}

fn handler_types(node: &Node, faults: &mut Faults) -> Vec<Spanned<String>> {
    let Some(items) = node.as_sequence() else {
        return choice(node, "`type`", HANDLER_TYPES, faults).into_iter().collect();
    };
    if items.is_empty() {
        faults.push(Diagnostic::error(Code::Empty, node.span, "`type` is an empty list"));
    }
    let mut types: Vec<Spanned<String>> = Vec::new();
    for item in items {
        let Some(kind) = choice(item, "`type`", HANDLER_TYPES, faults) else {
            continue;
        };
        if types.iter().any(|other| other.value == kind.value) {
            faults.push(Diagnostic::error(
                Code::Duplicate,
                kind.span,
                format!("`{}` is listed twice in `type`", kind.value),
            ));
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

fn timer(node: &Node, faults: &mut Faults) -> Option<TimerSpec> {
    let keys = mapping(node, &TIMER, faults)?;
    let initial_delay = plain_duration(keys, "initialDelay", &INITIAL_DELAY, faults);
    let interval = keys
        .get("interval")
        .and_then(|node| duration(node, "`interval`", faults));
    if let Some(interval) = interval.as_ref().filter(|interval| interval.value.is_zero()) {
        faults.push(Diagnostic::error(
            Code::OutOfRange,
            interval.span,
            "`interval` must be more than 0",
        ));
    }
    Some(TimerSpec {
        interval,
        idle: keys.get("idle").and_then(|node| duration(node, "`idle`", faults)),
        sharp: keys.get("sharp").and_then(|node| boolean(node, "`sharp`", faults)),
        initial_delay,
        entry: entry(node, keys, "the timer", faults)?,
    })
}

/// A whole entry may span many lines; its first key is enough to find it.
fn head(node: &Node) -> Span {
    node.as_mapping()
        .and_then(|mapping| mapping.entries.first())
        .map_or(node.span, |entry| entry.key.span)
}

fn entry(node: &Node, keys: &Mapping, place: &str, faults: &mut Faults) -> Option<EntrySpec> {
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
        field: keys.get("field").and_then(|node| field_path(node, faults)),
        retries: keys.get("retries").and_then(|node| count(node, "`retries`", faults)),
        timeout: keys.get("timeout").and_then(|node| duration(node, "`timeout`", faults)),
        backoff: plain_duration(keys, "backoff", &BACKOFF, faults),
        errors: keys
            .get("errors")
            .and_then(|node| choice(node, "`errors`", &["temporary", "permanent", "ignored"], faults)),
        labels: criteria(keys.get("labels"), "`labels`", faults),
        annotations: criteria(keys.get("annotations"), "`annotations`", faults),
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

/// A duration whose mapping form is not built yet.
fn plain_duration(
    keys: &Mapping,
    key: &str,
    forms: &Keys,
    faults: &mut Faults,
) -> Option<Spanned<std::time::Duration>> {
    let node = keys.get(key)?;
    if node.as_mapping().is_some() {
        let before = faults.len();
        mapping(node, forms, faults);
        if faults.len() > before && faults[before..].iter().all(|fault| fault.code == Code::NotSupportedYet) {
            faults.truncate(before);
            faults.push(not_supported_yet(node.span, &format!("{key}: {{…}}")));
        }
        return None;
    }
    duration(node, &format!("`{key}`"), faults)
}

fn field_path(node: &Node, faults: &mut Faults) -> Option<Spanned<Vec<String>>> {
    let path: Vec<String> = match node.as_sequence() {
        Some(keys) => keys
            .iter()
            .filter_map(|key| text(key, "a key of `field`", faults))
            .map(|key| key.value)
            .collect(),
        None => text(node, "`field`", faults)?
            .value
            .split('.')
            .map(str::to_string)
            .collect(),
    };
    if path.is_empty() || path.iter().any(String::is_empty) {
        let fault = Diagnostic::error(Code::UnknownFieldPath, node.span, "a key of the path is empty");
        faults.push(fault.help("write a path such as `spec.size`, without a leading dot"));
        return None;
    }
    Some(Spanned::new(path, node.span))
}

fn criteria(node: Option<&Node>, what: &str, faults: &mut Faults) -> Vec<CriterionSpec> {
    let Some(mapping) = node
        .filter(|node| !is_empty(node))
        .and_then(|node| any_mapping(node, what, faults))
    else {
        return Vec::new();
    };
    let mut criteria = Vec::new();
    for entry in &mapping.entries {
        if let Some(criterion) = criterion(&entry.value, &entry.key.value, faults) {
            criteria.push(CriterionSpec {
                key: entry.key.clone(),
                criterion,
                span: entry.value.span,
            });
        }
    }
    criteria
}

fn criterion(node: &Node, key: &str, faults: &mut Faults) -> Option<Criterion> {
    if node.as_mapping().is_none() {
        return text(node, &format!("`{key}`"), faults).map(|text| Criterion::Equals(text.value));
    }
    let before = faults.len();
    let keys = mapping(node, &CRITERION, faults)?;
    for (name, criterion) in [("present", Criterion::Present), ("absent", Criterion::Absent)] {
        let Some(value) = keys.get(name) else { continue };
        let flag = boolean(value, &format!("`{name}`"), faults)?;
        if !flag.value || keys.entries.len() > 1 {
            let message = format!("`{name}` stands alone and is true");
            let help = "a condition is a text, {present: true} or {absent: true}";
            faults.push(Diagnostic::error(Code::NotAChoice, node.span, message).help(help));
            return None;
        }
        return Some(criterion);
    }
    if faults.len() == before {
        faults.push(wrong_type(
            node.span,
            &format!("`{key}`"),
            "a text, {present: true} or {absent: true}",
            "empty",
        ));
    }
    None
}
