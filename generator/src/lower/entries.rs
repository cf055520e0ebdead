//! Entries of `handlers`, and what the entries of all lists have in common.

use super::options::plain;
use super::{Faults, background, filters, functions, options, sub_handlers};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{ChangeType, Configured, Daemon, Entry, Handler, HandlerType, Timer};
use crate::naming;
use crate::spec::{EntrySpec, HandlerSpec, OptionSpec, ResourceSpec, Spanned};

/// The entries of a kind, but for its indexes, whose types may be those of other kinds.
pub(super) struct Entries {
    pub(super) handlers: Vec<Handler>,
    pub(super) timers: Vec<Timer>,
    pub(super) daemons: Vec<Daemon>,
}

pub(super) fn entries(spec: &ResourceSpec, builtin: bool, faults: &mut Faults) -> Entries {
    let handlers = spec
        .handlers
        .iter()
        .flat_map(|handler| self::handlers(handler, builtin, faults))
        .collect();
    let timers = spec
        .timers
        .iter()
        .map(|timer| background::timer(timer, builtin, faults))
        .collect();
    let daemons = spec
        .daemons
        .iter()
        .map(|daemon| background::daemon(daemon, builtin, faults))
        .collect();
    functions::check_ids(spec, faults);
    functions::warn_of_repetition(spec, faults);
    Entries {
        handlers,
        timers,
        daemons,
    }
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
    let lowered = self::entry(entry, full_id(entry), faults);
    options::check_handler(spec, faults);
    let subs = spec.for_each.as_ref().map_or(&[][..], |subs| &subs.value);
    let for_each = sub_handlers::sub_handlers(subs, &lowered, faults);
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
            entry: lowered.clone(),
            handler_type,
            optional: of(ChangeType::Delete, &entry.optional),
            deleted: of(ChangeType::Resume, &spec.deleted),
            covers_downtime: of(ChangeType::Resume, &spec.covers_downtime),
            for_each: for_each.clone(),
        });
    }
    handlers
}

/// What all entries have in common.
pub(super) fn entry(spec: &EntrySpec, full_id: String, faults: &mut Faults) -> Entry {
    check_entry(spec, faults);
    Entry {
        function: spec.function.value.clone(),
        id: id(spec),
        full_id,
        field: spec.field.as_ref().map(|field| field.value.clone()),
        limits: options::limits(spec),
        filters: filters::filters(spec, faults),
        enabled: plain(&spec.enabled),
        param: spec.param.clone(),
    }
}

pub(super) const PICK_OBJECTS: &str = "pick the objects by `labels`, `annotations` or `when`, or set `optional: true`";

/// Whether it has a finalizer on every object.
pub(super) fn marks_all(entry: &EntrySpec) -> bool {
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
