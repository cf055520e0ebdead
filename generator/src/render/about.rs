//! Doc comments of stubs: when the function runs, and what becomes of its result and its errors.

use std::time::Duration;

use super::types;
use crate::model::{
    ChangeType, ErrorsMode, Family, Function, Helper, HelperArgument, Origin, Resource, Restart, SubHandler, unset,
};

/// The doc comment.
pub(super) fn about(resource: &Resource, function: &Function) -> Vec<String> {
    let kind = &resource.reference.kind;
    let when = match function.family {
        Family::Change => at_least_once(&changes(resource, function)),
        Family::Event => format!("Runs for each watch event of a `{kind}`."),
        Family::Timer => format!("Runs {} for each `{kind}`.", rhythm(resource, function)),
        Family::Daemon => format!("Runs beside each `{kind}` for as long as that is there."),
        Family::Index => format!("Says what {} of each `{kind}`.", holds(resource, function)),
    };
    let mut rest = Vec::new();
    if let (Origin::Own(own), Some(returns)) = (&resource.origin, &function.returns) {
        match types::result_place(own, returns) {
            Some(key) => rest.push(format!("The result is stored at `.status.{key}`.")),
            None => rest.push("The result is stored in the status.".to_owned()),
        }
    }
    match function.family {
        Family::Event => {}
        Family::Index => rest.push(index_errors(resource, function).to_owned()),
        _ => rest.push(errors(resource, function).to_owned()),
    }
    let mut lines: Vec<String> = when.lines().map(str::to_owned).collect();
    if !rest.is_empty() {
        lines.extend([String::new(), rest.join(" ")]);
    }
    if function.family == Family::Index {
        lines.push("Handlers ask it by its type in `crate::generated::indexes`.".to_owned());
    }
    if function.family == Family::Timer && holds_up(resource, function) {
        lines.push(
            "A deletion waits for a running call, by a finalizer, unless the spec says `optional: true`.".to_owned(),
        );
    }
    if function.family == Family::Daemon {
        lines.push(restarts(resource, function).to_owned());
        if holds_up(resource, function) {
            lines.push(
                "A deletion waits for its end, by a finalizer, unless the spec says `optional: true`.".to_owned(),
            );
        }
        lines.push("`live` is the object as it is now; all else is as it was when the attempt began.".to_owned());
    }
    if function.family == Family::Change {
        if !function.sub_types.is_empty() {
            lines.push("`item` is the one that the call is for.".to_owned());
        }
        if has_sub_handlers(resource, function) {
            lines.push("While its sub-handlers have not finished, it is called again before each of them.".to_owned());
        }
        lines.push("`retry` and `status` tell what was done before.".to_owned());
    }
    lines
}

/// Whether objects get a finalizer for a timer or a daemon of this function.
fn holds_up(resource: &Resource, function: &Function) -> bool {
    let mut lives = resource.lives().filter(|(entry, _)| entry.function == function.name);
    lives.any(|(_, life)| unset(&life.optional) != Some(true))
}

fn restarts(resource: &Resource, function: &Function) -> &'static str {
    let mut daemons = resource.daemons.iter();
    let daemon = daemons.find(|daemon| daemon.entry.function == function.name);
    match daemon.and_then(|daemon| unset(&daemon.restart)) {
        None | Some(Restart::Never) => "Once it has returned, it is not called again for this object.",
        Some(Restart::OnFailure) => "It is called again when it has failed for good, but not when it has returned.",
        Some(Restart::Always) => "It is called again whenever it has ended.",
    }
}

fn holds(resource: &Resource, function: &Function) -> String {
    let ids: Vec<String> = resource
        .entries_of(&function.name)
        .map(|entry| entry.id.clone())
        .collect();
    let ids = ticked(&ids).replace(" or ", " and ");
    if ids.contains(" and ") {
        format!("the indexes {ids} hold")
    } else {
        format!("the index {ids} holds")
    }
}

fn index_errors(resource: &Resource, function: &Function) -> &'static str {
    let mut entries = resource.entries_of(&function.name);
    match entries.next().and_then(|entry| unset(&entry.limits.errors)) {
        None | Some(ErrorsMode::Ignored) => {
            "It is called for each new state. Errors leave what was there; `Temporary` and `Permanent` take it out."
        }
        Some(ErrorsMode::Temporary) => {
            "It is called for each new state. Errors take the object out and are retried; `Permanent` ends the attempts."
        }
        Some(ErrorsMode::Permanent) => {
            "It is called for each new state. Errors take the object out for good; `Temporary` is retried."
        }
    }
}

/// The doc comment of a function that an option names.
pub(super) fn about_helper(resource: &Resource, function: &Helper) -> Vec<String> {
    let name = function.name.as_str();
    let filtered = resource
        .entries()
        .filter(|entry| entry.filters.functions().contains(&name));
    let delayed = resource.lives().filter(|(_, life)| life.waits_by() == Some(name));
    let mut users: Vec<String> = filtered
        .chain(delayed.map(|(entry, _)| entry))
        .map(|entry| entry.function.clone())
        .collect();
    users.dedup();
    let users = ticked(&users).replace(" or ", ", ");
    let what = match function.argument {
        HelperArgument::Delay => {
            return vec![format!(
                "Says how long the first call of {users} for a `{}` waits.",
                resource.reference.kind
            )];
        }
        HelperArgument::Filter => format!("Decides whether a `{}` is for", resource.reference.kind),
        HelperArgument::Value => "Decides whether a value is right for".to_owned(),
    };
    vec![
        format!("{what} {users}."),
        String::new(),
        "It is asked often, also several times for one change: it decides fast and changes nothing.".to_owned(),
    ]
}

fn at_least_once(changes: &str) -> String {
    let line = format!("Runs {changes}: at least once, since a crash may repeat the call.");
    if line.len() <= 116 {
        return line;
    }
    format!("Runs {changes}.\nIt is called at least once, since a crash may repeat the call.")
}

/// What a function of changes runs for, as a handler and as a sub-handler.
fn changes(resource: &Resource, function: &Function) -> String {
    let kind = &resource.reference.kind;
    let mut parts = Vec::new();
    if !function.change_types.is_empty() {
        let fields = fields(resource, function);
        parts.push(format!(
            "for each `{kind}` that {}",
            occasions(&function.change_types, &fields)
        ));
    }
    if !function.sub_types.is_empty() {
        let (places, fields) = items(resource, function);
        let occasions = occasions(&function.sub_types, &fields);
        parts.push(format!(
            "for each item of {} of a `{kind}` that {occasions}",
            ticked(&places)
        ));
    }
    parts.join(", and ")
}

/// The places of the items that it is a sub-handler for, and the fields that their handlers watch.
fn items(resource: &Resource, function: &Function) -> (Vec<String>, Vec<String>) {
    fn collect(subs: &[SubHandler], above: &str, function: &str, places: &mut Vec<String>) {
        for sub in subs {
            let place = format!("{above}{}", sub.path.join("."));
            collect(&sub.for_each, &format!("{place}[]."), function, places);
            if sub.entry.function == function && !places.contains(&place) {
                places.push(place);
            }
        }
    }
    let (mut all, mut fields) = (Vec::new(), Vec::new());
    for handler in &resource.handlers {
        let mut places = Vec::new();
        collect(&handler.for_each, "", &function.name, &mut places);
        let field = handler.entry.field.iter().filter(|_| !places.is_empty());
        fields.extend(field.map(|field| field.join(".")));
        places.retain(|place| !all.contains(place));
        all.extend(places);
    }
    fields.dedup();
    (all, fields)
}

fn has_sub_handlers(resource: &Resource, function: &Function) -> bool {
    fn nested(subs: &[SubHandler], function: &str) -> bool {
        let has_own = |sub: &SubHandler| sub.entry.function == function && !sub.for_each.is_empty();
        subs.iter().any(|sub| has_own(sub) || nested(&sub.for_each, function))
    }
    resource.handlers.iter().any(|handler| {
        let is_own = handler.entry.function == function.name;
        is_own && !handler.for_each.is_empty() || nested(&handler.for_each, &function.name)
    })
}

fn occasions(types: &[ChangeType], fields: &[String]) -> String {
    let occasions = types.iter().map(|change| match change {
        ChangeType::Create => "was created".to_owned(),
        ChangeType::Update => "has changed".to_owned(),
        ChangeType::Delete => "is being deleted".to_owned(),
        ChangeType::Resume => "was there when the operator started".to_owned(),
        ChangeType::Field => format!("has another {}", ticked(fields)),
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
    let own = resource.handlers.iter().map(|handler| &handler.entry);
    let mut fields: Vec<String> = own
        .filter(|entry| entry.function == function.name)
        .filter_map(|entry| entry.field.as_ref())
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
    let mut timers = resource
        .timers
        .iter()
        .filter(|timer| timer.entry.function == function.name);
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
    let mut entries = resource.entries_of(&function.name);
    match entries.next().and_then(|entry| unset(&entry.limits.errors)) {
        None | Some(ErrorsMode::Temporary) => "Any error is retried; `Permanent` ends the attempts.",
        Some(ErrorsMode::Permanent) => "Any error ends the attempts; `Temporary` is retried.",
        Some(ErrorsMode::Ignored) => "Errors are logged and count as success; `Temporary` is retried.",
    }
}
