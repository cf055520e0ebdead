//! Doc comments of stubs: when the function runs, and what becomes of its result and its errors.

use std::time::Duration;

use super::types;
use crate::model::{ChangeType, ErrorsMode, Family, FilterArgument, FilterFunction, Function, Origin, Resource, unset};

/// The doc comment.
pub(super) fn about(resource: &Resource, function: &Function) -> Vec<String> {
    let kind = &resource.reference.kind;
    let when = match function.family {
        Family::Change => format!(
            "Runs for each `{kind}` that {}: at least once, since a crash may repeat the call.",
            occasions(resource, function)
        ),
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
    let mut lines = vec![when];
    if !rest.is_empty() {
        lines.extend([String::new(), rest.join(" ")]);
    }
    if function.family == Family::Timer && holds_up(resource, function) {
        lines.push(
            "A deletion waits for a running call, by a finalizer, unless the spec says `optional: true`.".to_owned(),
        );
    }
    if function.family == Family::Change {
        lines.push("`retry` and `status` tell what was done before.".to_owned());
    }
    lines
}

/// Whether objects get a finalizer for a timer of this function.
fn holds_up(resource: &Resource, function: &Function) -> bool {
    let mut timers = resource.timers.iter().filter(|timer| timer.function == function.name);
    timers.any(|timer| unset(&timer.optional) != Some(true))
}

/// The doc comment of a filter.
pub(super) fn about_filter(resource: &Resource, function: &FilterFunction) -> Vec<String> {
    let handlers = resource.handlers.iter().map(|entry| (&entry.function, &entry.filters));
    let timers = resource.timers.iter().map(|entry| (&entry.function, &entry.filters));
    let mut users: Vec<String> = handlers
        .chain(timers)
        .filter(|(_, filters)| filters.functions().contains(&function.name.as_str()))
        .map(|(user, _)| user.clone())
        .collect();
    users.dedup();
    let users = ticked(&users).replace(" or ", ", ");
    let what = match function.argument {
        FilterArgument::Object => format!("Decides whether a `{}` is for", resource.reference.kind),
        FilterArgument::Value => "Decides whether a value is right for".to_owned(),
    };
    vec![
        format!("{what} {users}."),
        String::new(),
        "It is asked often, also several times for one change: it decides fast and changes nothing.".to_owned(),
    ]
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
pub(super) fn fields(resource: &Resource, function: &Function) -> Vec<String> {
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
    let every = unset(&timer.interval).map_or_else(
        || "again and again".to_owned(),
        |interval| format!("every {}", in_words(interval).trim_start_matches("1 ")),
    );
    match unset(&timer.idle) {
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
    match handlers.chain(timers).next().and_then(|limits| unset(&limits.errors)) {
        None | Some(ErrorsMode::Temporary) => "Any error is retried; `Permanent` ends the attempts.",
        Some(ErrorsMode::Permanent) => "Any error ends the attempts; `Temporary` is retried.",
        Some(ErrorsMode::Ignored) => "Errors are logged and count as success; `Temporary` is retried.",
    }
}
