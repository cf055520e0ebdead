//! `settings`.

use std::time::Duration;

use super::{Faults, paths};
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::model::{
    Background, DiffBaseStorage, Entry, Execution, Former, Networking, Origin, Persistence, Posting, ProgressStorage,
    Queueing, Resource, Settings,
};
use crate::naming;
use crate::spec::{self, FormerSpec, OperatorSpec, Spanned, StorageSpec};

/// Room for `/` and the longest name behind it that Kopf makes: 63 characters of the 253 that a key can have.
const PREFIX_LENGTH: usize = 189;

pub(super) fn persistence(spec: &OperatorSpec, resources: &[Resource], faults: &mut Faults) -> Option<Persistence> {
    let name = &spec.metadata.name;
    let given = &spec.settings.persistence;
    let own = resources
        .iter()
        .find(|resource| matches!(resource.origin, Origin::Own(_)));
    let (prefix, span) = match (&given.prefix, own) {
        (Some(prefix), _) => (prefix.value.clone(), prefix.span),
        (None, Some(own)) => (format!("{}.{}", name.value, own.reference.group), name.span),
        (None, None)
            if faults
                .iter()
                .any(|fault| fault.severity == crate::diagnostic::Severity::Error) =>
        {
            return None;
        }
        (None, None) => {
            let message = "`settings.persistence.prefix` is missing, and there is no own kind to derive it from";
            let help = format!(
                "write settings: {{persistence: {{prefix: {}.example.com}}}}, with a domain of yours",
                name.value
            );
            faults.push(Diagnostic::error(Code::Persistence, name.span, message).help(help));
            return None;
        }
    };
    // A derived prefix is only as good as the names it is made of, which have faults of their own.
    let good_group = own.is_some_and(|own| naming::is_dns_subdomain(&own.reference.group));
    if given.prefix.is_none() && !(good_group && naming::is_dns_1035_label(&name.value)) {
        return None;
    }
    check_prefix(&prefix, span, faults);
    let finalizer = given.finalizer.as_ref();
    if let Some(finalizer) = finalizer {
        check_finalizer(finalizer, &prefix, faults);
    }
    check_places(given, &prefix, faults);
    let finalizer = finalizer.map_or_else(|| format!("{prefix}/finalizer"), |name| name.value.clone());
    Some(Persistence {
        progress: given
            .progress
            .iter()
            .map(|storage| progress(storage, &prefix, faults))
            .collect(),
        diffbase: given
            .diffbase
            .iter()
            .map(|storage| diffbase(storage, &prefix, faults))
            .collect(),
        formerly: given
            .formerly
            .iter()
            .map(|former| self::former(former, &prefix, &finalizer, faults))
            .collect(),
        prefix,
        finalizer,
    })
}

fn check_prefix(prefix: &str, span: Span, faults: &mut Faults) {
    if !naming::is_dns_subdomain(prefix) {
        let message = format!("`{prefix}` is no prefix of an annotation: it must be a DNS subdomain");
        let fault = Diagnostic::error(Code::Persistence, span, message);
        faults.push(fault.help("write small letters, digits, `-` and `.`: greeter.example.com"));
    } else if prefix.len() > PREFIX_LENGTH {
        let message = format!(
            "the prefix `{prefix}` has {} characters, more than {PREFIX_LENGTH}",
            prefix.len()
        );
        faults.push(
            Diagnostic::error(Code::Persistence, span, message).help("set a shorter `settings.persistence.prefix`"),
        );
    }
}

fn check_finalizer(finalizer: &Spanned<String>, prefix: &str, faults: &mut Faults) {
    if !finalizer.value.contains('/') || !naming::is_qualified_name(&finalizer.value) {
        let message = format!("`{}` is no name of a finalizer", finalizer.value);
        let help = format!("a finalizer is domain/name, such as {prefix}/finalizer");
        faults.push(Diagnostic::error(Code::Persistence, finalizer.span, message).help(help));
    }
}

fn storage_prefix(given: Option<&Spanned<String>>, prefix: &str, faults: &mut Faults) -> String {
    let Some(given) = given else { return prefix.to_string() };
    check_prefix(&given.value, given.span, faults);
    given.value.clone()
}

fn status_field(field: &Spanned<String>, usual: &str, faults: &mut Faults) -> String {
    let is_path = field.value.split('.').all(|key| !key.is_empty());
    if !is_path || !field.value.starts_with("status.") {
        let message = format!("`{}` is no path in the status", field.value);
        faults.push(Diagnostic::error(Code::Storage, field.span, message).help(format!("write {usual} or the like")));
    }
    field.value.clone()
}

fn progress(storage: &StorageSpec, prefix: &str, faults: &mut Faults) -> ProgressStorage {
    let flag = |flag: &Option<Spanned<bool>>| flag.as_ref().map(|flag| flag.value);
    match storage {
        StorageSpec::Annotations { prefix: given, v1, .. } => ProgressStorage::Annotations {
            prefix: storage_prefix(given.as_ref(), prefix, faults),
            v1: flag(v1),
        },
        StorageSpec::Status { field, read_only, .. } => ProgressStorage::Status {
            field: status_field(field, spec::PROGRESS_FIELD, faults),
            read_only: flag(read_only),
        },
    }
}

fn diffbase(storage: &StorageSpec, prefix: &str, faults: &mut Faults) -> DiffBaseStorage {
    let paths = |fields: &[Spanned<String>]| fields.iter().map(|field| field.value.clone()).collect();
    match storage {
        StorageSpec::Annotations {
            prefix: given,
            v1,
            key,
            ignored_fields,
            ..
        } => DiffBaseStorage::Annotations {
            prefix: storage_prefix(given.as_ref(), prefix, faults),
            v1: v1.as_ref().map(|flag| flag.value),
            key: key.as_ref().map(|key| {
                if key.value.contains('/') || !naming::is_qualified_name(&key.value) {
                    let message = format!("`{}` cannot be the name of an annotation", key.value);
                    let help = "write a name without its domain, such as last-handled-configuration";
                    faults.push(Diagnostic::error(Code::Storage, key.span, message).help(help));
                }
                key.value.clone()
            }),
            ignored_fields: paths(ignored_fields),
        },
        StorageSpec::Status {
            field, ignored_fields, ..
        } => DiffBaseStorage::Status {
            field: status_field(field, spec::DIFFBASE_FIELD, faults),
            ignored_fields: paths(ignored_fields),
        },
    }
}

/// Where a storage keeps what it keeps.
enum Place<'a> {
    /// All annotations with a prefix that are records, or one with this name.
    Annotations(&'a str, Option<&'a str>),
    Field(&'a str),
}

impl Place<'_> {
    /// A field holds all that is below it.
    fn overlaps(&self, other: &Self) -> bool {
        let is_in = |inner: &str, outer: &str| {
            inner
                .strip_prefix(outer)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        match (self, other) {
            (Self::Field(one), Self::Field(other)) => is_in(one, other) || is_in(other, one),
            (Self::Annotations(prefix, name), Self::Annotations(other, other_name)) => {
                prefix == other && name == other_name
            }
            _ => false,
        }
    }
}

/// Two storages in one place overwrite each other, and what is moved from a former place cannot stay in it.
fn check_places(spec: &spec::Persistence, prefix: &str, faults: &mut Faults) {
    let mut taken: Vec<Place<'_>> = Vec::new();
    for (storages, name) in [
        (&spec.progress, None),
        (&spec.diffbase, Some("last-handled-configuration")),
    ] {
        for storage in storages {
            let (place, shown, span) = match storage {
                StorageSpec::Annotations {
                    prefix: given,
                    key,
                    span,
                    ..
                } => {
                    let prefix = given.as_ref().map_or(prefix, |prefix| prefix.value.as_str());
                    let name = key.as_ref().map(|key| key.value.as_str()).or(name);
                    (Place::Annotations(prefix, name), prefix, *span)
                }
                StorageSpec::Status { field, .. } => (Place::Field(&field.value), field.value.as_str(), field.span),
            };
            let is_former = |former: &FormerSpec| former.prefix.value == shown && shown != prefix;
            if taken.iter().any(|other| other.overlaps(&place)) {
                let message = format!("`{shown}` is the place of another storage, too: each overwrites the other");
                let help = format!(
                    "give it another place, or remove the item; usual ones are {} for `progress` and {} for `diffbase`",
                    spec::PROGRESS_FIELD,
                    spec::DIFFBASE_FIELD
                );
                faults.push(Diagnostic::error(Code::Storage, span, message).help(help));
            } else if spec.formerly.iter().any(is_former) {
                let message = format!("`{shown}` is a former prefix: nothing new is kept under it");
                let help = "remove the item: what is found under former prefixes is read without it";
                faults.push(Diagnostic::error(Code::Storage, span, message).help(help));
            }
            taken.push(place);
        }
    }
}

/// What the schema does not know is pruned when it is written: state there would be lost.
pub(super) fn check_room(spec: &spec::Persistence, resources: &[Resource], faults: &mut Faults) {
    for (storages, below, usual) in [
        (&spec.progress, ".id", spec::PROGRESS_FIELD),
        (&spec.diffbase, "", spec::DIFFBASE_FIELD),
    ] {
        let fields = storages.iter().filter_map(|storage| match storage {
            StorageSpec::Status { field, .. } => Some(field),
            StorageSpec::Annotations { .. } => None,
        });
        let fields: Vec<&Spanned<String>> = fields.collect();
        for field in &fields {
            if let Some((resource, entry)) = result_at(resources, &field.value) {
                let message = format!(
                    "`{}` of `{}` stores its result at `status.{}`, too: each overwrites the other",
                    entry.function, resource.reference.kind, entry.full_id
                );
                let help = format!("give the storage another place, such as {usual}, or the handler another `id`");
                faults.push(Diagnostic::error(Code::Storage, field.span, message).help(help));
                continue;
            }
            let path = format!("{}{below}", field.value);
            let closed = resources.iter().find(|resource| match &resource.origin {
                Origin::Own(own) => !paths::has_room(own, &path),
                Origin::Builtin => fields.len() == storages.len(),
            });
            let Some(closed) = closed else { continue };
            let kind = &closed.reference.kind;
            let message = format!(
                "`{kind}` has no room at `{}`: what is written there is lost",
                field.value
            );
            let help = match closed.origin {
                Origin::Own(_) => {
                    "leave its status open, by `preserveUnknownFields: status`, or keep state in {annotations: {}}"
                }
                Origin::Builtin => "add {annotations: {}} to the list, which all kinds have",
            };
            faults.push(Diagnostic::error(Code::Storage, field.span, message).help(help));
        }
    }
}

/// The entry that stores its result at or above a path.
fn result_at<'r>(resources: &'r [Resource], path: &str) -> Option<(&'r Resource, &'r Entry)> {
    let key = path.split('.').nth(1)?;
    let entries = resources
        .iter()
        .flat_map(|resource| resource.entries().map(move |entry| (resource, entry)));
    let returns = |resource: &Resource, entry: &Entry| {
        let mut functions = resource.functions.iter();
        functions.any(|function| function.name == entry.function && function.returns.is_some())
    };
    let mut entries = entries.filter(|(_, entry)| entry.full_id == key);
    entries.find(|(resource, entry)| returns(resource, entry))
}

fn former(spec: &FormerSpec, prefix: &str, finalizer: &str, faults: &mut Faults) -> Former {
    check_prefix(&spec.prefix.value, spec.prefix.span, faults);
    if let Some(finalizer) = &spec.finalizer {
        check_finalizer(finalizer, &spec.prefix.value, faults);
    }
    let former = Former {
        prefix: spec.prefix.value.clone(),
        finalizer: spec
            .finalizer
            .as_ref()
            .map_or_else(|| format!("{}/finalizer", spec.prefix.value), |name| name.value.clone()),
    };
    if former.prefix == prefix && former.finalizer == finalizer {
        let message = format!("`{prefix}` and `{finalizer}` are the names of today, not former ones");
        let help = "name the prefix and the finalizer that were used before, or remove the item";
        faults.push(Diagnostic::error(Code::Contradiction, spec.prefix.span, message).help(help));
    }
    former
}

pub(super) fn posting(spec: &spec::Posting) -> Posting {
    Posting {
        enabled: spec.enabled.as_ref().is_none_or(|flag| flag.value),
        loggers: spec.loggers.as_ref().is_some_and(|flag| flag.value),
        by_handlers: spec.enabled.as_ref().is_some_and(|flag| flag.value)
            && spec.loggers.as_ref().is_none_or(|flag| !flag.value),
        level: spec
            .level
            .as_ref()
            .map_or_else(|| "info".to_string(), |level| level.value.clone()),
    }
}

/// The groups that keep the runtime's defaults where the author says nothing.
pub(super) fn others(spec: &spec::Settings) -> Settings {
    let time = |time: &Option<Spanned<Duration>>| time.as_ref().map(|time| time.value);
    let count = |count: &Option<Spanned<u32>>| count.as_ref().map(|count| count.value);
    let (execution, queueing, networking) = (&spec.execution, &spec.queueing, &spec.networking);
    Settings {
        execution: Execution {
            default_backoff: time(&execution.default_backoff),
            lifecycle: execution.lifecycle.as_ref().map(|name| lifecycle(&name.value)),
            max_workers: count(&execution.max_workers),
        },
        background: Background {
            cancellation_polling: time(&spec.background.cancellation_polling),
            timer_limit: count(&spec.background.timer_limit),
        },
        queueing: Queueing {
            error_delays: queueing.error_delays.clone(),
            worker_limit: count(&queueing.worker_limit),
            exit_timeout: time(&queueing.exit_timeout),
        },
        networking: Networking {
            request_timeout: time(&networking.request_timeout),
            connect_timeout: time(&networking.connect_timeout),
            error_backoffs: networking.error_backoffs.clone(),
            enforce_retry_after: networking.enforce_retry_after.as_ref().map(|flag| flag.value),
        },
    }
}

fn lifecycle(name: &str) -> &'static str {
    match name {
        "all_at_once" => "AllAtOnce",
        "one_by_one" => "OneByOne",
        "randomized" => "Randomized",
        "shuffled" => "Shuffled",
        _ => "Asap",
    }
}
