//! The functions behind the entries, and who may share what.

use std::iter;

use super::Faults;
use super::entries::{full_id, handler_type, id};
use super::results::Results;
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{ChangeType, Criterion, Family, Function, HandlerType};
use crate::spec::{EntrySpec, ResourceSpec, SubHandlerSpec};

/// An entry with its family and the types that lead to it.
struct Use<'s> {
    entry: &'s EntrySpec,
    family: Family,
    types: Vec<HandlerType>,
    is_sub: bool,
}

impl Use<'_> {
    /// As it is stored and logged.
    fn id(&self) -> String {
        match self.family {
            Family::Index => id(self.entry),
            _ => full_id(self.entry),
        }
    }
}

fn uses(spec: &ResourceSpec) -> Vec<Use<'_>> {
    let handlers = spec.handlers.iter().flat_map(|handler| {
        let types: Vec<HandlerType> = handler.types.iter().map(|name| handler_type(&name.value)).collect();
        let family = if types.contains(&HandlerType::Event) {
            Family::Event
        } else {
            Family::Change
        };
        let subs = handler.for_each.iter().flat_map(|subs| &subs.value);
        let subs = subs.flat_map(SubHandlerSpec::entries).map(|entry| (entry, true));
        let of = move |(entry, is_sub)| Use {
            entry,
            family: if is_sub { Family::Change } else { family },
            types: types.clone(),
            is_sub,
        };
        iter::once((&handler.entry, false)).chain(subs).map(of)
    });
    let of = |entry, family| Use {
        entry,
        family,
        types: Vec::new(),
        is_sub: false,
    };
    let timers = spec.timers.iter().map(|timer| of(&timer.entry, Family::Timer));
    let daemons = spec.daemons.iter().map(|daemon| of(&daemon.entry, Family::Daemon));
    let indexes = spec.indexes.iter().map(|index| of(&index.entry, Family::Index));
    handlers.chain(timers).chain(daemons).chain(indexes).collect()
}

/// The same without those as a sub-handler, which have no ids of their own.
fn registered(spec: &ResourceSpec) -> Vec<Use<'_>> {
    let mut uses = uses(spec);
    uses.retain(|one| !one.is_sub);
    uses
}

/// All entries of a resource in registration order, but for those of sub-handlers.
pub(super) fn entries(spec: &ResourceSpec) -> impl Iterator<Item = &EntrySpec> {
    spec.handlers
        .iter()
        .map(|handler| &handler.entry)
        .chain(spec.timers.iter().map(|timer| &timer.entry))
        .chain(spec.daemons.iter().map(|daemon| &daemon.entry))
        .chain(spec.indexes.iter().map(|index| &index.entry))
}

/// The same with those of sub-handlers.
pub(super) fn all_entries(spec: &ResourceSpec) -> impl Iterator<Item = &EntrySpec> {
    let subs = spec.handlers.iter().filter_map(|handler| handler.for_each.as_ref());
    entries(spec).chain(subs.flat_map(|subs| &subs.value).flat_map(SubHandlerSpec::entries))
}

/// The distinct functions in order of first mention.
pub(super) fn functions(spec: &ResourceSpec, results: &Results, faults: &mut Faults) -> Vec<Function> {
    let mut functions: Vec<Function> = Vec::new();
    let uses = uses(spec);
    for (index, one) in uses.iter().enumerate() {
        let name = one.entry.function.value.as_str();
        let blocking = one.entry.blocking.as_ref().is_some_and(|flag| flag.value);
        let is_known = functions.iter().any(|function| function.name == name);
        if !is_known {
            functions.push(Function {
                name: name.to_string(),
                family: one.family,
                change_types: Vec::new(),
                sub_types: Vec::new(),
                blocking,
                returns: results.of(one.entry),
                indexed: None,
            });
        }
        let Some(function) = functions.iter_mut().find(|function| function.name == name) else {
            continue;
        };
        let types = if one.is_sub {
            &mut function.sub_types
        } else {
            &mut function.change_types
        };
        for kind in &one.types {
            if let HandlerType::Change(change) = kind
                && !types.contains(change)
            {
                types.push(*change);
            }
        }
        if let Some(first) = uses[..index].iter().find(|other| other.entry.function.value == name) {
            check_signature(first, one, results, faults);
        }
    }
    functions
}

fn check_signature(first: &Use<'_>, second: &Use<'_>, results: &Results, faults: &mut Faults) {
    let name = &second.entry.function.value;
    let span = second.entry.function.span;
    if first.family != second.family {
        let message = format!(
            "`{name}` would get `{}` here and `{}` above",
            argument(second.family),
            argument(first.family)
        );
        let help = "a function serves one family, since their arguments differ: name another function here";
        faults.push(Diagnostic::error(Code::TwoFamilies, span, message).help(help));
        return;
    }
    let blocking = |one: &Use<'_>| one.entry.blocking.as_ref().is_some_and(|flag| flag.value);
    if blocking(first) != blocking(second) {
        let span = second.entry.blocking.as_ref().map_or(span, |flag| flag.span);
        let message = format!("`{name}` is blocking in one entry and not in another");
        faults.push(
            Diagnostic::error(Code::Contradiction, span, message)
                .help("say `blocking: true` in all entries of the function, or in none"),
        );
    }
    if results.of(first.entry) != results.of(second.entry) {
        let span = second.entry.returns.as_ref().map_or(span, |returns| returns.span);
        let message = format!("`{name}` returns different things in different entries");
        faults.push(
            Diagnostic::error(Code::Contradiction, span, message)
                .help("say the same `returns` in all entries of the function"),
        );
    }
}

fn argument(family: Family) -> &'static str {
    match family {
        Family::Change => "Change",
        Family::Event => "Event",
        Family::Timer => "Timer",
        Family::Daemon => "Daemon",
        Family::Index => "Index",
    }
}

/// An id stands for one function, and for one entry of a type.
pub(super) fn check_ids(spec: &ResourceSpec, faults: &mut Faults) {
    let uses = registered(spec);
    for (index, one) in uses.iter().enumerate() {
        let id = one.id();
        let span = one.entry.id.as_ref().unwrap_or(&one.entry.function).span;
        let Some(other) = uses[..index].iter().find(|other| other.id() == id) else {
            continue;
        };
        if other.entry.function.value != one.entry.function.value {
            let message = format!(
                "id `{id}` stands for `{}` and for `{}`",
                other.entry.function.value, one.entry.function.value
            );
            let fault = Diagnostic::error(Code::DuplicateId, span, message);
            let help = if [one.family, other.family] == [Family::Index; 2] {
                "of one kind, one function feeds an index: let it return all entries, or give one of them another `id`"
            } else {
                "progress and results are stored by id: give one of them another `id`"
            };
            faults.push(fault.help(help));
        } else if other.family == one.family
            && (one.types.is_empty() || one.types.iter().any(|kind| other.types.contains(kind)))
        {
            let message = format!("id `{id}` is registered twice for the same type");
            let fault = Diagnostic::error(Code::DuplicateId, span, message);
            faults.push(fault.help("merge the two entries, or give one of them another `id`"));
        }
    }
}

/// Creation is a change of every field, too: a function of both would run twice for it.
pub(super) fn warn_of_repetition(spec: &ResourceSpec, faults: &mut Faults) {
    let uses = registered(spec);
    let is = |one: &Use<'_>, change| one.types.contains(&HandlerType::Change(change));
    for field in uses.iter().filter(|one| is(one, ChangeType::Field)) {
        let function = &field.entry.function;
        let starts_absent = |one: &&Use<'_>| is(one, ChangeType::Create) && one.entry.function.value == function.value;
        let needs_an_old_value = field
            .entry
            .filters
            .old
            .as_ref()
            .is_some_and(|old| !matches!(old.value, Criterion::Absent | Criterion::By(_)));
        if needs_an_old_value || !uses.iter().any(|one| starts_absent(&one)) {
            continue;
        }
        let message = format!(
            "`{}` runs twice when an object is created with this field",
            function.value
        );
        let help = "creation changes every field, too: keep one of the two entries, or say old: {present: true} here";
        faults.push(Diagnostic::warning(Code::RunsTwice, function.span, message).help(help));
    }
}
