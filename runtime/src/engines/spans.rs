//! Which object a log record is about, and the posting of records as Kubernetes events (EVT-03, EVT-04).
//!
//! A call runs in a span which names its object; the layer keeps a [`Handling`] beside that span, so that records
//! find it from wherever the span travels: spawned tasks, blocking threads.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, RwLock};

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Level, Span, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use crate::actions::execution::Verdict;
use crate::clients::events::{EventType, NewEvent};
use crate::configs::progress::Record;
use crate::intents::contexts::EventSink;
use crate::structs::events::ObjectReference;

/// What is posted of the records of one operator.
#[derive(Clone)]
pub(crate) struct Posting {
    /// The operator's crate: only its records are posted, and the runtime's on failed handlers.
    pub(crate) crate_name: String,
    /// The least level.
    pub(crate) level: Level,
    pub(crate) sink: EventSink,
}

/// Where failed handlers are logged.
const FAILURES: &str = "kopf_runtime::failures";

/// Operators that post records, by number: spans carry plain numbers only.
static POSTING: LazyLock<RwLock<HashMap<u64, Posting>>> = LazyLock::new(RwLock::default);
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Keeps an operator's posting known for as long as it lives.
pub(crate) struct Registered(u64);

impl Registered {
    /// Goes into the spans of the operator's calls.
    pub(crate) fn number(&self) -> u64 {
        self.0
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        if let Ok(mut operators) = POSTING.write() {
            operators.remove(&self.0);
        }
    }
}

/// Makes an operator's records postable; without `posting`, they stay log lines.
pub(crate) fn register(posting: Option<Posting>) -> Registered {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    if let (Some(posting), Ok(mut operators)) = (posting, POSTING.write()) {
        operators.insert(number, posting);
    }
    Registered(number)
}

/// The span of one call. `operator` is 0 for calls that never post: raw events (EVT-03).
pub(crate) fn handler_span(operator: u64, id: &str, about: &ObjectReference) -> Span {
    // The level makes the span survive every filter: records need their object also in quiet mode.
    tracing::error_span!(
        target: "kopf_runtime::handler",
        "handler",
        operator,
        id,
        api_version = about.api_version,
        kind = about.kind,
        name = about.name,
        namespace = about.namespace,
        uid = about.uid,
    )
}

/// Logs how an attempt ended; failures also become Kubernetes events where records do.
pub(crate) fn report(id: &str, verdict: &Verdict, record: &Record) {
    let message = record.message.as_deref().unwrap_or_default();
    match verdict {
        Verdict::Success => tracing::info!(target: "kopf_runtime", "Handler {id} succeeded"),
        Verdict::Failure(message) => tracing::error!(target: FAILURES, "Handler {id} failed for good: {message}"),
        Verdict::Retry(delay) => {
            let seconds = delay.as_secs_f32();
            tracing::warn!(target: FAILURES, "Handler {id} failed and is tried again in {seconds} s: {message}");
        }
    }
}

/// The layer that knows which object a record is about, and posts records where `settings.posting.loggers` is on.
pub fn layer<S>() -> impl Layer<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    ObjectLayer
}

struct ObjectLayer;

/// Kept beside the span of a call.
#[derive(Clone, Default)]
pub(crate) struct Handling {
    pub(crate) about: ObjectReference,
    /// The handler's id; empty where no handler is called.
    pub(crate) handler: String,
    /// Whose posting it is; 0 for calls that never post.
    pub(crate) operator: u64,
}

impl<S> Layer<S> for ObjectLayer
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if attributes.metadata().target() != "kopf_runtime::handler" {
            return;
        }
        let mut handling = Handling::default();
        attributes.record(&mut handling);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(handling);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let metadata = event.metadata();
        let Some(scope) = context.event_scope(event) else {
            return;
        };
        for span in scope {
            let extensions = span.extensions();
            let Some(handling) = extensions.get::<Handling>() else {
                continue;
            };
            let Ok(operators) = POSTING.read() else { return };
            let Some(posting) = operators.get(&handling.operator) else {
                return;
            };
            if *metadata.level() > posting.level || !posting.covers(metadata.target()) {
                return;
            }
            let mut record = LogRecord::default();
            event.record(&mut record);
            (posting.sink)(NewEvent {
                about: handling.about.clone(),
                event_type: if *metadata.level() <= Level::WARN {
                    EventType::Warning
                } else {
                    EventType::Normal
                },
                level: *metadata.level(),
                reason: "Logging".into(),
                message: record.message,
                at: jiff::Timestamp::now(),
            });
            return;
        }
    }
}

impl Posting {
    fn covers(&self, target: &str) -> bool {
        target == FAILURES
            || target
                .strip_prefix(&self.crate_name)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    }
}

impl Visit for Handling {
    fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}

    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "operator" {
            self.operator = value;
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let value = value.to_owned();
        match field.name() {
            "id" => self.handler = value,
            "api_version" => self.about.api_version = value,
            "kind" => self.about.kind = value,
            "name" => self.about.name = value,
            "namespace" => self.about.namespace = Some(value),
            "uid" => self.about.uid = Some(value),
            _ => {}
        }
    }
}

/// The message and the other fields of a record.
#[derive(Default)]
pub(crate) struct LogRecord {
    pub(crate) message: String,
    pub(crate) fields: Map<String, Value>,
}

impl LogRecord {
    fn put(&mut self, field: &Field, value: Value) {
        if field.name() == "message" {
            self.message = plain(&value);
        } else if !field.name().starts_with("log.") {
            self.fields.insert(field.name().to_owned(), value);
        }
    }
}

impl Visit for LogRecord {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }
}

/// Strings without quotes.
pub(crate) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    // EVT-03, EVT-04
    #[test]
    fn records_of_the_operators_crate_become_events_of_their_object() {
        let posted = Arc::new(Mutex::new(Vec::new()));
        let sink: EventSink = {
            let posted = Arc::clone(&posted);
            Arc::new(move |event: NewEvent| posted.lock().unwrap().push(event))
        };
        let operator = register(Some(Posting {
            crate_name: "shop".into(),
            level: Level::INFO,
            sink,
        }));
        let about = ObjectReference {
            kind: "Cart".into(),
            name: "c1".into(),
            ..ObjectReference::default()
        };
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer()), || {
            handler_span(operator.number(), "fill", &about).in_scope(|| {
                tracing::info!(target: "shop::handlers", "Filled {}", 3);
                tracing::debug!(target: "shop::handlers", "too quiet");
                tracing::error!(target: "shopping::x", "another crate");
                tracing::info_span!("inner").in_scope(|| tracing::warn!(target: "shop", "Careful"));
            });
            handler_span(0, "audit", &about).in_scope(|| tracing::info!(target: "shop", "raw events never post"));
        });
        let posted = posted.lock().unwrap();
        let texts: Vec<_> = posted
            .iter()
            .map(|event| (event.event_type, event.message.as_str()))
            .collect();
        assert_eq!(
            texts,
            [(EventType::Normal, "Filled 3"), (EventType::Warning, "Careful")]
        );
        assert_eq!(posted[0].about.name, "c1");
        assert_eq!(posted[0].reason, "Logging");
    }
}
