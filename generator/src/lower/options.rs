//! Options of entries, and which of them go with which types.

use super::Faults;
use super::entries::handler_type;
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::model::{ChangeType, HandlerType, Limits, Optional};
use crate::spec::{EntrySpec, HandlerSpec, OptionSpec, Spanned, SubHandlerSpec};

/// The option without its place.
#[expect(clippy::ref_option, reason = "options are asked where they stand")]
pub(super) fn plain<T: Clone>(option: &OptionSpec<T>) -> Optional<T> {
    option.as_ref().map(|option| option.value.clone())
}

pub(super) fn limits(entry: &EntrySpec) -> Limits {
    Limits {
        retries: plain(&entry.retries),
        timeout: plain(&entry.timeout),
        backoff: entry.backoff.as_ref().map(|backoff| backoff.value.clone()),
        errors: plain(&entry.errors),
        interrupt: plain(&entry.interrupt),
    }
}

#[expect(clippy::ref_option, reason = "options are asked where they stand")]
fn place<T>(option: &Option<Spanned<T>>) -> Option<Span> {
    option.as_ref().map(|option| option.span)
}

/// Whether each option means something for the types of its entry.
pub(super) fn check_handler(spec: &HandlerSpec, faults: &mut Faults) {
    let types: Vec<HandlerType> = spec.types.iter().map(|name| handler_type(&name.value)).collect();
    if types.is_empty() {
        return;
    }
    let is = |change: ChangeType| types.contains(&HandlerType::Change(change));
    if types.contains(&HandlerType::Event) {
        check_event(spec, faults);
    }
    let entry = &spec.entry;
    let mut misplaced = |key: &str, span: Option<Span>, help: &str| {
        let Some(span) = span else { return };
        let names: Vec<_> = spec.types.iter().map(|name| format!("`{}`", name.value)).collect();
        let message = format!("`{key}` on a handler of type {}", names.join(", "));
        faults.push(Diagnostic::error(Code::MisplacedOption, span, message).help(help));
    };
    if !is(ChangeType::Delete) {
        let help = "it frees delete handlers and timers from the finalizer, which no other handler needs: remove it";
        misplaced("optional", place(&entry.optional), help);
    }
    if !is(ChangeType::Resume) {
        let help = "it makes resume handlers see objects that are being deleted: remove it, or add `resume`";
        misplaced("deleted", place(&spec.deleted), help);
        let help = "it makes resume handlers see objects created meanwhile: remove it, or add `resume`";
        misplaced("coversDowntime", place(&spec.covers_downtime), help);
    }
    let only_changes = types
        .iter()
        .all(|kind| matches!(kind, HandlerType::Change(ChangeType::Update | ChangeType::Field)));
    if !only_changes {
        let help = "only `update` and `field` handlers compare two values: use `value`, or an entry of its own";
        misplaced("old", place(&entry.filters.old), help);
        misplaced("new", place(&entry.filters.new), help);
    }
    let subs = spec.for_each.iter().flat_map(|subs| &subs.value);
    for entry in subs.flat_map(SubHandlerSpec::entries) {
        for (key, criterion) in [("old", &entry.filters.old), ("new", &entry.filters.new)] {
            let Some(criterion) = criterion.as_ref().filter(|_| !only_changes) else {
                continue;
            };
            let message = format!("`{key}` on a sub-handler of a handler that is not of type `update` or `field`");
            let fault = Diagnostic::error(Code::MisplacedOption, criterion.span, message);
            faults.push(fault.help("only these compare two values: use `value`, or put it under an entry of its own"));
        }
    }
}

/// Raw events are handled once and forgotten.
fn check_event(spec: &HandlerSpec, faults: &mut Faults) {
    let entry = &spec.entry;
    let spans = [
        ("retries", place(&entry.retries)),
        ("timeout", place(&entry.timeout)),
        ("interrupt", place(&entry.interrupt)),
        ("backoff", place(&entry.backoff)),
        ("errors", place(&entry.errors)),
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
    if let Some(for_each) = &spec.for_each {
        let message = "`forEach` on a handler of type `event`";
        let fault = Diagnostic::error(Code::MisplacedOption, for_each.span, message);
        faults.push(fault.help("sub-handlers need progress, which raw events have none of: take `create` or `update`"));
    }
}
