//! The settings that differ from the runtime's defaults, as assignments.

use std::time::Duration;

use super::options::time;
use super::registry::literal;
use super::scope::Scope;
use crate::model::{DiffBaseStorage, Operator, Persistence, ProgressStorage};

/// Lines such as `posting.loggers = true`.
pub(super) fn settings(operator: &Operator, scope: &mut Scope) -> Vec<String> {
    let mut lines = persistence(&operator.persistence, scope);
    let posting = &operator.posting;
    lines.extend((!posting.enabled).then(|| "posting.enabled = false".to_owned()));
    lines.extend(posting.loggers.then(|| "posting.loggers = true".to_owned()));
    let level = match posting.level.as_str() {
        "debug" => Some("DEBUG"),
        "warning" => Some("WARN"),
        "error" => Some("ERROR"),
        // The runtime's default.
        _ => None,
    };
    lines.extend(level.map(|level| format!("posting.level = tracing::Level::{level}")));
    let groups = &operator.settings;
    let times = |name: &str, times: &Option<Vec<Duration>>, scope: &mut Scope| {
        let times: Vec<_> = times.as_ref()?.iter().map(|one| time(one, scope)).collect();
        Some(format!("{name} = vec![{}]", times.join(", ")))
    };
    let execution = &groups.execution;
    lines.extend(assigned(
        "execution.default_backoff",
        execution.default_backoff.as_ref(),
        scope,
    ));
    lines.extend(
        execution
            .lifecycle
            .map(|name| format!("execution.lifecycle = {}::{name}", scope.runtime("Lifecycle"))),
    );
    lines.extend(
        execution
            .max_workers
            .map(|count| format!("execution.max_workers = Some({count})")),
    );
    let background = &groups.background;
    lines.extend(assigned(
        "background.cancellation_polling",
        background.cancellation_polling.as_ref(),
        scope,
    ));
    lines.extend(
        background
            .timer_limit
            .map(|count| format!("background.timer_limit = Some({count})")),
    );
    let queueing = &groups.queueing;
    lines.extend(times("queueing.error_delays", &queueing.error_delays, scope));
    lines.extend(
        queueing
            .worker_limit
            .map(|count| format!("queueing.worker_limit = Some({count})")),
    );
    lines.extend(assigned("queueing.exit_timeout", queueing.exit_timeout.as_ref(), scope));
    let networking = &groups.networking;
    lines.extend(assigned(
        "networking.request_timeout",
        networking.request_timeout.as_ref(),
        scope,
    ));
    lines.extend(
        networking
            .connect_timeout
            .map(|limit| format!("networking.connect_timeout = Some({})", time(&limit, scope))),
    );
    lines.extend(times("networking.error_backoffs", &networking.error_backoffs, scope));
    lines.extend(
        networking
            .enforce_retry_after
            .map(|flag| format!("networking.enforce_retry_after = {flag}")),
    );
    lines
}

fn assigned(name: &str, value: Option<&Duration>, scope: &mut Scope) -> Option<String> {
    Some(format!("{name} = {}", time(value?, scope)))
}

fn persistence(persistence: &Persistence, scope: &mut Scope) -> Vec<String> {
    let mut lines = vec![
        format!("persistence.prefix = {}.into()", literal(&persistence.prefix)),
        format!("persistence.finalizer = {}.into()", literal(&persistence.finalizer)),
    ];
    let progress: Vec<_> = persistence
        .progress
        .iter()
        .map(|one| self::progress(one, scope))
        .collect();
    lines.extend(list("persistence.progress", &progress));
    let diffbase: Vec<_> = persistence
        .diffbase
        .iter()
        .map(|one| self::diffbase(one, scope))
        .collect();
    lines.extend(list("persistence.diffbase", &diffbase));
    let former = |former: &crate::model::Former| {
        let kind = scope.name("kopf_runtime::settings", "Former");
        format!(
            "{kind}::new({}, {})",
            literal(&former.prefix),
            literal(&former.finalizer)
        )
    };
    let formerly: Vec<_> = persistence.formerly.iter().map(former).collect();
    lines.extend(list("persistence.formerly", &formerly));
    lines
}

const STORAGES: &str = "kopf_runtime::storages";

fn list(name: &str, items: &[String]) -> Option<String> {
    (!items.is_empty()).then(|| format!("{name} = vec![{}]", items.join(", ")))
}

fn progress(storage: &ProgressStorage, scope: &mut Scope) -> String {
    let text = match storage {
        ProgressStorage::Annotations { prefix, v1 } => {
            let v1 = v1.map_or_else(String::new, |flag| format!(".v1({flag})"));
            format!(
                "{}::new({}){v1}",
                scope.name(STORAGES, "AnnotationsProgress"),
                literal(prefix)
            )
        }
        ProgressStorage::Status { field, read_only } => {
            let read_only = read_only.map_or_else(String::new, |flag| format!(".read_only({flag})"));
            format!(
                "{}::new({}){read_only}",
                scope.name(STORAGES, "StatusProgress"),
                literal(field)
            )
        }
    };
    shared(&text, scope)
}

fn diffbase(storage: &DiffBaseStorage, scope: &mut Scope) -> String {
    let (mut text, ignored) = match storage {
        DiffBaseStorage::Annotations {
            prefix,
            key,
            ignored_fields,
            v1,
        } => {
            let kind = scope.name(STORAGES, "AnnotationsDiffBase");
            let key = key
                .as_ref()
                .map_or_else(String::new, |key| format!(".key({})", literal(key)));
            let v1 = v1.map_or_else(String::new, |flag| format!(".v1({flag})"));
            (format!("{kind}::new({}){key}{v1}", literal(prefix)), ignored_fields)
        }
        DiffBaseStorage::Status { field, ignored_fields } => {
            let kind = scope.name(STORAGES, "StatusDiffBase");
            (format!("{kind}::new({})", literal(field)), ignored_fields)
        }
    };
    if !ignored.is_empty() {
        let paths: Vec<_> = ignored.iter().map(|path| literal(path)).collect();
        text.extend([".ignored_fields([", &paths.join(", "), "])"]);
    }
    shared(&text, scope)
}

fn shared(storage: &str, scope: &mut Scope) -> String {
    format!("{}::new({storage})", scope.name("std::sync", "Arc"))
}
