//! Entries of `handlers` and `timers`.

use super::operator::{check_key, check_label_value};
use super::{Faults, functions};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{ChangeType, Criterion, ErrorsMode, Filters, Handler, HandlerType, Limits, Timer};
use crate::naming;
use crate::spec::{CriterionSpec, EntrySpec, HandlerSpec, ResourceSpec, TimerSpec};

pub(super) fn entries(spec: &ResourceSpec, builtin: bool, faults: &mut Faults) -> (Vec<Handler>, Vec<Timer>) {
    let handlers = spec
        .handlers
        .iter()
        .flat_map(|handler| self::handlers(handler, builtin, faults))
        .collect();
    let timers = spec
        .timers
        .iter()
        .map(|timer| self::timer(timer, builtin, faults))
        .collect();
    functions::check_ids(spec, faults);
    (handlers, timers)
}

pub(super) fn handler_type(name: &str) -> HandlerType {
    match name {
        "create" => HandlerType::Change(ChangeType::Create),
        "update" => HandlerType::Change(ChangeType::Update),
        "delete" => HandlerType::Change(ChangeType::Delete),
        "resume" => HandlerType::Change(ChangeType::Resume),
        "field" => HandlerType::Change(ChangeType::Field),
        _ => HandlerType::Event,
    }
}

fn handlers(spec: &HandlerSpec, builtin: bool, faults: &mut Faults) -> Vec<Handler> {
    let entry = &spec.entry;
    check_entry(entry, faults);
    let filters = filters(entry, faults);
    let mut handlers = Vec::new();
    for name in &spec.types {
        let handler_type = handler_type(&name.value);
        match handler_type {
            HandlerType::Event => check_event(entry, faults),
            HandlerType::Change(ChangeType::Field) if entry.field.is_none() => {
                let message = "a handler of type `field` has no `field`";
                let fault = Diagnostic::error(Code::MissingKey, name.span, message);
                faults.push(fault.help("name the field to watch: field: spec.size"));
            }
            HandlerType::Change(ChangeType::Delete) if builtin && is_unfiltered(entry) => {
                let message = "this delete handler puts a finalizer on every object of a built-in kind";
                let fault = Diagnostic::warning(Code::MarksAllObjects, name.span, message);
                faults.push(fault.help("pick the objects by `labels` or `annotations`"));
            }
            HandlerType::Change(_) => {}
        }
        handlers.push(Handler {
            handler_type,
            function: entry.function.value.clone(),
            id: id(entry),
            field: entry.field.as_ref().map(|field| field.value.clone()),
            limits: limits(entry),
            filters: filters.clone(),
        });
    }
    handlers
}

fn timer(spec: &TimerSpec, builtin: bool, faults: &mut Faults) -> Timer {
    let entry = &spec.entry;
    check_entry(entry, faults);
    if spec.interval.is_none() && spec.idle.is_none() {
        let message = format!("timer `{}` has neither `interval` nor `idle`", entry.function.value);
        let fault = Diagnostic::error(Code::TimerWithoutClock, entry.function.span, message);
        faults.push(fault.help("write interval: 60s, or idle: 10m for one call after each pause"));
    }
    if builtin && is_unfiltered(entry) {
        let message = "this timer puts a finalizer on every object of a built-in kind";
        let fault = Diagnostic::warning(Code::MarksAllObjects, entry.function.span, message);
        faults.push(fault.help("pick the objects by `labels` or `annotations`"));
    }
    Timer {
        function: entry.function.value.clone(),
        id: id(entry),
        field: entry.field.as_ref().map(|field| field.value.clone()),
        interval: spec.interval.as_ref().map(|time| time.value),
        idle: spec.idle.as_ref().map(|time| time.value),
        sharp: spec.sharp.as_ref().is_some_and(|flag| flag.value),
        initial_delay: spec.initial_delay.as_ref().map(|time| time.value),
        limits: limits(entry),
        filters: filters(entry, faults),
    }
}

fn is_unfiltered(entry: &EntrySpec) -> bool {
    entry.labels.is_empty() && entry.annotations.is_empty() && entry.field.is_none()
}

pub(super) fn id(entry: &EntrySpec) -> String {
    entry.id.as_ref().unwrap_or(&entry.function).value.clone()
}

/// As it is stored: with `/<field>` behind it, as in Kopf.
pub(super) fn full_id(entry: &EntrySpec) -> String {
    match &entry.field {
        Some(field) => format!("{}/{}", id(entry), field.value.join(".")),
        None => id(entry),
    }
}

/// As long as other names in Kubernetes.
const ID_LENGTH: usize = 253;

fn is_id_part(part: &str) -> bool {
    let ends = |c: char| c.is_ascii_alphanumeric();
    part.starts_with(ends) && part.ends_with(ends) && part.chars().all(|c| ends(c) || matches!(c, '-' | '_' | '.'))
}

fn check_entry(entry: &EntrySpec, faults: &mut Faults) {
    let function = &entry.function;
    if let Some(message) = naming::function_fault(&function.value) {
        let snake = naming::snake_case(&function.value);
        let mended = if naming::function_fault(&snake).is_none() {
            Some(snake)
        } else {
            None
        };
        let fault = Diagnostic::error(Code::FunctionName, function.span, message);
        faults.push(fault.maybe_help(mended.map(|name| format!("write {name}"))));
    }
    let id = entry.id.as_ref().unwrap_or(function);
    // The runtime shortens what is too long for a key of an annotation.
    let legal = id.value.len() <= ID_LENGTH && id.value.split('/').all(is_id_part);
    if !legal && (entry.id.is_some() || naming::function_fault(&function.value).is_none()) {
        let message = format!(
            "`{}` cannot be an id, which becomes part of an annotation's name",
            id.value
        );
        let help = match entry.id {
            _ if id.value.len() > ID_LENGTH => "an id has at most 253 characters",
            Some(_) => "use letters, digits, `-`, `_` and `.`, with a letter or digit at both ends",
            None => "give the entry an `id` that starts and ends with a letter or digit",
        };
        faults.push(Diagnostic::error(Code::HandlerId, id.span, message).help(help));
    }
}

/// Raw events are handled once and forgotten.
fn check_event(entry: &EntrySpec, faults: &mut Faults) {
    let spans = [
        ("retries", entry.retries.as_ref().map(|option| option.span)),
        ("timeout", entry.timeout.as_ref().map(|option| option.span)),
        ("backoff", entry.backoff.as_ref().map(|option| option.span)),
        ("errors", entry.errors.as_ref().map(|option| option.span)),
    ];
    for (key, span) in spans {
        let Some(span) = span else { continue };
        let fault = Diagnostic::error(
            Code::MisplacedOption,
            span,
            format!("`{key}` on a handler of type `event`"),
        );
        faults.push(fault.help("raw events are handled once and never retried: remove it"));
    }
}

fn limits(entry: &EntrySpec) -> Limits {
    Limits {
        retries: entry.retries.as_ref().map(|count| count.value),
        timeout: entry.timeout.as_ref().map(|time| time.value),
        backoff: entry.backoff.as_ref().map(|time| time.value),
        errors: entry.errors.as_ref().map(|mode| match mode.value.as_str() {
            "permanent" => ErrorsMode::Permanent,
            "ignored" => ErrorsMode::Ignored,
            _ => ErrorsMode::Temporary,
        }),
    }
}

fn filters(entry: &EntrySpec, faults: &mut Faults) -> Filters {
    for criterion in entry.labels.iter().chain(&entry.annotations) {
        check_key(&criterion.key, faults);
    }
    for criterion in &entry.labels {
        if let Criterion::Equals(value) = &criterion.criterion {
            check_label_value(value, criterion.span, faults);
        }
    }
    let sorted = |criteria: &[CriterionSpec]| {
        let mut pairs: Vec<_> = criteria
            .iter()
            .map(|one| (one.key.value.clone(), one.criterion.clone()))
            .collect();
        pairs.sort_by(|a, b| a.0.cmp(&b.0));
        pairs
    };
    Filters {
        labels: sorted(&entry.labels),
        annotations: sorted(&entry.annotations),
    }
}
