//! `settings`.

use std::time::Duration;

use super::keys::{
    BACKGROUND, BACKGROUND_LACKS, DIFFBASE_ANNOTATIONS, DIFFBASE_STATUS, EXECUTION, FORMER, Keys, NETWORKING,
    PERSISTENCE, POSTING, PROGRESS_ANNOTATIONS, PROGRESS_STATUS, QUEUEING, SETTINGS, STORAGE,
};
use super::reader::{
    Faults, boolean, choice, count, duration, mapping, mapping_without, missing, sequence, text, texts,
};
use crate::diagnostic::{Code, Diagnostic};
use crate::spec::{
    Background, DIFFBASE_FIELD, Execution, FormerSpec, Mapping, Networking, Node, PROGRESS_FIELD, Persistence, Posting,
    Queueing, Settings, Spanned, StorageSpec,
};

pub(super) fn settings(node: &Node, faults: &mut Faults) -> Option<Settings> {
    let keys = mapping(node, &SETTINGS, faults)?;
    let persistence = keys.get("persistence").and_then(|node| persistence(node, faults));
    let posting = keys.get("posting").and_then(|node| posting(node, faults));
    let execution = keys.get("execution").and_then(|node| execution(node, faults));
    let background = keys.get("background").and_then(|node| background(node, faults));
    let queueing = keys.get("queueing").and_then(|node| queueing(node, faults));
    let networking = keys.get("networking").and_then(|node| networking(node, faults));
    Some(Settings {
        persistence: persistence.unwrap_or_default(),
        posting: posting.unwrap_or_default(),
        execution: execution.unwrap_or_default(),
        background: background.unwrap_or_default(),
        queueing: queueing.unwrap_or_default(),
        networking: networking.unwrap_or_default(),
    })
}

fn persistence(node: &Node, faults: &mut Faults) -> Option<Persistence> {
    let keys = mapping(node, &PERSISTENCE, faults)?;
    let mut storages = |key: &str, annotations: &Keys, status: &Keys, usual: &str| {
        let items = sequence(keys.get(key), &format!("`{key}`"), faults);
        let storages = items
            .iter()
            .filter_map(|node| storage(node, annotations, status, usual, faults));
        storages.collect()
    };
    let progress = storages("progress", &PROGRESS_ANNOTATIONS, &PROGRESS_STATUS, PROGRESS_FIELD);
    let diffbase = storages("diffbase", &DIFFBASE_ANNOTATIONS, &DIFFBASE_STATUS, DIFFBASE_FIELD);
    let formerly = sequence(keys.get("formerly"), "`formerly`", faults);
    Some(Persistence {
        prefix: keys.get("prefix").and_then(|node| text(node, "`prefix`", faults)),
        finalizer: keys.get("finalizer").and_then(|node| text(node, "`finalizer`", faults)),
        progress,
        diffbase,
        formerly: formerly.iter().filter_map(|node| former(node, faults)).collect(),
    })
}

fn storage(node: &Node, annotations: &Keys, status: &Keys, usual: &str, faults: &mut Faults) -> Option<StorageSpec> {
    let before = faults.len();
    let keys = mapping(node, &STORAGE, faults)?;
    let inner = match (keys.get("annotations"), keys.get("status")) {
        (Some(inner), None) => return annotations_storage(inner, annotations, faults),
        (None, Some(inner)) => inner,
        _ => {
            if faults.len() == before {
                let fault = Diagnostic::error(Code::NotAChoice, node.span, "a storage has one place");
                faults
                    .push(fault.help("write {annotations: {...}} or {status: {field: status.PATH}}, each as an item"));
            }
            return None;
        }
    };
    let keys = mapping(inner, status, faults)?;
    let field = if let Some(node) = keys.get("field") {
        text(node, "`field`", faults)
    } else {
        faults.push(missing(inner.span, "field", status.place).help(format!("name its place: {{field: {usual}}}")));
        None
    };
    let read_only = flag(keys, "readOnly", faults);
    let ignored_fields = texts(keys.get("ignoredFields"), "`ignoredFields`", faults);
    Some(StorageSpec::Status {
        field: field?,
        read_only,
        ignored_fields,
    })
}

fn annotations_storage(node: &Node, keys: &Keys, faults: &mut Faults) -> Option<StorageSpec> {
    let keys = mapping(node, keys, faults)?;
    Some(StorageSpec::Annotations {
        span: node.span,
        prefix: keys.get("prefix").and_then(|node| text(node, "`prefix`", faults)),
        v1: flag(keys, "v1", faults),
        key: keys.get("key").and_then(|node| text(node, "`key`", faults)),
        ignored_fields: texts(keys.get("ignoredFields"), "`ignoredFields`", faults),
    })
}

fn former(node: &Node, faults: &mut Faults) -> Option<FormerSpec> {
    let keys = mapping(node, &FORMER, faults)?;
    let prefix = if let Some(node) = keys.get("prefix") {
        text(node, "`prefix`", faults)
    } else {
        let help = "name the old prefix, and the old finalizer if it was another than <prefix>/finalizer";
        faults.push(missing(node.span, "prefix", FORMER.place).help(help));
        None
    };
    let finalizer = keys.get("finalizer").and_then(|node| text(node, "`finalizer`", faults));
    Some(FormerSpec {
        prefix: prefix?,
        finalizer,
    })
}

fn posting(node: &Node, faults: &mut Faults) -> Option<Posting> {
    let keys = mapping(node, &POSTING, faults)?;
    Some(Posting {
        enabled: flag(keys, "enabled", faults),
        loggers: flag(keys, "loggers", faults),
        level: keys
            .get("level")
            .and_then(|node| choice(node, "`level`", &["debug", "info", "warning", "error"], faults)),
    })
}

const LIFECYCLES: &[&str] = &["asap", "all_at_once", "one_by_one", "randomized", "shuffled"];

fn execution(node: &Node, faults: &mut Faults) -> Option<Execution> {
    let keys = mapping(node, &EXECUTION, faults)?;
    Some(Execution {
        default_backoff: time(keys, "defaultBackoff", faults),
        lifecycle: keys
            .get("lifecycle")
            .and_then(|node| choice(node, "`lifecycle`", LIFECYCLES, faults)),
        max_workers: at_least_one(keys, "maxWorkers", faults),
    })
}

fn background(node: &Node, faults: &mut Faults) -> Option<Background> {
    let keys = mapping_without(node, &BACKGROUND, BACKGROUND_LACKS, faults)?;
    Some(Background {
        cancellation_polling: time(keys, "cancellationPolling", faults).filter(|time| is_some_time(time, faults)),
        timer_limit: at_least_one(keys, "timerLimit", faults),
    })
}

/// Without a pause there would be no end of what is said.
fn is_some_time(time: &Spanned<Duration>, faults: &mut Faults) -> bool {
    if time.value.is_zero() {
        let message = "`cancellationPolling` must be more than 0";
        let fault = Diagnostic::error(Code::OutOfRange, time.span, message);
        faults.push(fault.help("write how often the log says that a task is still ending: 60s"));
    }
    !time.value.is_zero()
}

fn queueing(node: &Node, faults: &mut Faults) -> Option<Queueing> {
    let keys = mapping(node, &QUEUEING, faults)?;
    Some(Queueing {
        error_delays: times(keys, "errorDelays", faults),
        worker_limit: at_least_one(keys, "workerLimit", faults),
        exit_timeout: time(keys, "exitTimeout", faults),
    })
}

fn networking(node: &Node, faults: &mut Faults) -> Option<Networking> {
    let keys = mapping(node, &NETWORKING, faults)?;
    Some(Networking {
        request_timeout: time(keys, "requestTimeout", faults),
        connect_timeout: time(keys, "connectTimeout", faults),
        error_backoffs: times(keys, "errorBackoffs", faults),
        enforce_retry_after: flag(keys, "enforceRetryAfter", faults),
    })
}

fn flag(keys: &Mapping, key: &str, faults: &mut Faults) -> Option<Spanned<bool>> {
    boolean(keys.get(key)?, &format!("`{key}`"), faults)
}

fn time(keys: &Mapping, key: &str, faults: &mut Faults) -> Option<Spanned<Duration>> {
    duration(keys.get(key)?, &format!("`{key}`"), faults)
}

fn times(keys: &Mapping, key: &str, faults: &mut Faults) -> Option<Vec<Duration>> {
    let node = keys.get(key)?;
    let item = format!("an item of `{key}`");
    let items = sequence(Some(node), &format!("`{key}`"), faults);
    let times = items.iter().filter_map(|node| duration(node, &item, faults));
    Some(times.map(|time| time.value).collect())
}

fn at_least_one(keys: &Mapping, key: &str, faults: &mut Faults) -> Option<Spanned<u32>> {
    let count = count(keys.get(key)?, &format!("`{key}`"), faults)?;
    if count.value == 0 {
        let fault = Diagnostic::error(Code::OutOfRange, count.span, format!("`{key}` must be at least 1"));
        faults.push(fault.help("leave it out for no limit"));
        return None;
    }
    Some(count)
}
