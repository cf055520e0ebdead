//! Entries of `handlers` and `timers`.

use super::options::plain;
use super::{Faults, filters, functions, options};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{ChangeType, Configured, Handler, HandlerType, Timer};
use crate::naming;
use crate::spec::{EntrySpec, HandlerSpec, OptionSpec, ResourceSpec, Spanned, TimerSpec};

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
    functions::warn_of_repetition(spec, faults);
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
    options::check_handler(spec, faults);
    let filters = filters::filters(entry, faults);
    let mut handlers = Vec::new();
    for name in &spec.types {
        let handler_type = handler_type(&name.value);
        match handler_type {
            HandlerType::Change(ChangeType::Field) if entry.field.is_none() => {
                let message = "a handler of type `field` has no `field`";
                let fault = Diagnostic::error(Code::MissingKey, name.span, message);
                faults.push(fault.help("name the field to watch: field: spec.size"));
            }
            HandlerType::Change(ChangeType::Delete) if builtin && marks_all(entry) => {
                let message = "this delete handler puts a finalizer on every object of a built-in kind";
                let fault = Diagnostic::warning(Code::MarksAllObjects, name.span, message);
                faults.push(fault.help(PICK_OBJECTS));
            }
            HandlerType::Change(_) | HandlerType::Event => {}
        }
        let of = |change: ChangeType, option: &OptionSpec<bool>| {
            plain(option).filter(|_| handler_type == HandlerType::Change(change))
        };
        handlers.push(Handler {
            handler_type,
            function: entry.function.value.clone(),
            id: id(entry),
            field: entry.field.as_ref().map(|field| field.value.clone()),
            limits: options::limits(entry),
            filters: filters.clone(),
            enabled: plain(&entry.enabled),
            param: entry.param.clone(),
            optional: of(ChangeType::Delete, &entry.optional),
            deleted: of(ChangeType::Resume, &spec.deleted),
            covers_downtime: of(ChangeType::Resume, &spec.covers_downtime),
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
    if builtin && marks_all(entry) {
        let message = "this timer puts a finalizer on every object of a built-in kind";
        let fault = Diagnostic::warning(Code::MarksAllObjects, entry.function.span, message);
        faults.push(fault.help(PICK_OBJECTS));
    }
    Timer {
        function: entry.function.value.clone(),
        id: id(entry),
        field: entry.field.as_ref().map(|field| field.value.clone()),
        interval: plain(&spec.interval),
        idle: plain(&spec.idle),
        sharp: plain(&spec.sharp),
        initial_delay: plain(&spec.initial_delay),
        limits: options::limits(entry),
        filters: filters::filters(entry, faults),
        enabled: plain(&entry.enabled),
        param: entry.param.clone(),
        optional: plain(&entry.optional),
        cancellation_backoff: plain(&spec.cancellation_backoff),
        cancellation_timeout: plain(&spec.cancellation_timeout),
    }
}

const PICK_OBJECTS: &str = "pick the objects by `labels`, `annotations` or `when`, or set `optional: true`";

/// Whether it has a finalizer on every object.
fn marks_all(entry: &EntrySpec) -> bool {
    let filters = &entry.filters;
    let is_unfiltered =
        filters.labels.is_empty() && filters.annotations.is_empty() && filters.when.is_none() && entry.field.is_none();
    let is_optional = plain(&entry.optional) == Some(Configured::Plain(true));
    let is_off = plain(&entry.enabled) == Some(Configured::Plain(false));
    is_unfiltered && !is_optional && !is_off
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

pub(super) fn check_function(function: &Spanned<String>, faults: &mut Faults) {
    if let Some(message) = naming::function_fault(&function.value) {
        let snake = naming::snake_case(&function.value);
        let mended = naming::function_fault(&snake).is_none().then_some(snake);
        let fault = Diagnostic::error(Code::FunctionName, function.span, message);
        faults.push(fault.maybe_help(mended.map(|name| format!("write {name}"))));
    }
}

fn check_entry(entry: &EntrySpec, faults: &mut Faults) {
    let function = &entry.function;
    check_function(function, faults);
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
