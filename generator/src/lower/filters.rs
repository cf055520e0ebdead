//! Criteria and conditions, and the functions in them.

use super::entries::check_function;
use super::functions::all_entries;
use super::operator::{check_key, check_label_value};
use super::{Faults, cel};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Criterion, Filters, Helper, HelperArgument};
use crate::spec::{CriterionSpec, EntrySpec, ResourceSpec, Spanned};

pub(super) fn filters(entry: &EntrySpec, faults: &mut Faults) -> Filters {
    let spec = &entry.filters;
    for criterion in spec.labels.iter().chain(&spec.annotations) {
        check_key(&criterion.key, faults);
    }
    for criterion in &spec.labels {
        let text = match &criterion.criterion {
            Criterion::Equals(value) => value.as_str(),
            Criterion::Environment { default, .. } => default.as_deref(),
            _ => None,
        };
        if let Some(text) = text {
            check_label_value(text, criterion.span, faults);
        }
    }
    check_values(entry, faults);
    for (expression, start) in &spec.expressions {
        faults.extend(cel::fault(expression, *start));
    }
    let sorted = |criteria: &[CriterionSpec]| {
        let mut pairs: Vec<_> = criteria
            .iter()
            .map(|one| (one.key.value.clone(), one.criterion.clone()))
            .collect();
        pairs.sort_by(|a, b| a.0.cmp(&b.0));
        pairs
    };
    let plain = |criterion: &Option<Spanned<Criterion>>| criterion.as_ref().map(|spanned| spanned.value.clone());
    Filters {
        labels: sorted(&spec.labels),
        annotations: sorted(&spec.annotations),
        value: plain(&spec.value),
        old: plain(&spec.old),
        new: plain(&spec.new),
        when: spec.when.as_ref().map(|spanned| spanned.value.clone()),
    }
}

/// Criteria of values need a field, and either its value or how it changes.
fn check_values(entry: &EntrySpec, faults: &mut Faults) {
    let spec = &entry.filters;
    let changes = spec.old.as_ref().or(spec.new.as_ref());
    if let (Some(value), Some(_)) = (&spec.value, changes) {
        let fault = Diagnostic::error(Code::Contradiction, value.span, "`value` stands beside `old` or `new`");
        faults.push(
            fault.help("`value` is met by either side of a change: keep it, or say both sides by `old` and `new`"),
        );
    }
    if entry.field.is_some() {
        return;
    }
    for (key, criterion) in [("value", &spec.value), ("old", &spec.old), ("new", &spec.new)] {
        let Some(criterion) = criterion else { continue };
        let fault = Diagnostic::error(Code::MissingKey, criterion.span, format!("`{key}` without `field`"));
        faults.push(fault.help("name the field that it is about, by `field` and its path from the root of the object"));
    }
}

/// The distinct functions in order of first mention; each has one argument, and is no handler.
pub(super) fn helpers(spec: &ResourceSpec, faults: &mut Faults) -> Vec<Helper> {
    let mut helpers: Vec<Helper> = Vec::new();
    for (name, argument) in all_entries(spec).flat_map(|entry| &entry.filters.functions) {
        check_function(name, faults);
        let mut clash = |message: String, help: &str| {
            faults.push(Diagnostic::error(Code::TwoFamilies, name.span, message).help(help));
        };
        if all_entries(spec).any(|entry| entry.function.value == name.value) {
            let what = match argument {
                HelperArgument::Filter | HelperArgument::Value => "a filter",
                HelperArgument::Delay => "a delay",
            };
            let message = format!("`{}` is a handler and cannot be {what}, too", name.value);
            clash(
                message,
                "handlers act, filters and delays decide: name another function here",
            );
            continue;
        }
        match helpers.iter().find(|known| known.name == name.value) {
            None => helpers.push(Helper {
                name: name.value.clone(),
                argument: *argument,
            }),
            Some(known) if known.argument != *argument => {
                let taken = |argument| match argument {
                    HelperArgument::Filter => "Filter",
                    HelperArgument::Value => "ValueFilter",
                    HelperArgument::Delay => "Delay",
                };
                let message = format!(
                    "`{}` would get `{}` here and `{}` above",
                    name.value,
                    taken(*argument),
                    taken(known.argument)
                );
                clash(
                    message,
                    "a function is asked about whole objects, by `when`, about values, or about delays: name another one here",
                );
            }
            Some(_) => {}
        }
    }
    helpers
}
