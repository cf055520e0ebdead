//! The three formats of log lines (LOG-01 to LOG-04).

use std::fmt::{self, Write as _};

use jiff::Timestamp;
use serde_json::{Value, json};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::engines::spans::{Handling, LogRecord, plain};
use crate::structs::events::ObjectReference;

/// The shape of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// The message alone, after the object it is about.
    Plain,
    /// Time, logger, level, object, message.
    #[default]
    Full,
    /// One JSON object per line.
    Json,
}

/// Writes one record as one line.
pub(super) struct Lines(pub(super) LogFormat);

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut record = LogRecord::default();
        event.record(&mut record);
        let handling = context.event_scope().and_then(|scope| {
            scope
                .into_iter()
                .find_map(|span| span.extensions().get::<Handling>().cloned())
        });
        let (target, level) = (event.metadata().target(), *event.metadata().level());
        writeln!(
            writer,
            "{}",
            self.line(&record, target, level, handling.as_ref(), Timestamp::now())
        )
    }
}

impl Lines {
    fn line(
        &self,
        record: &LogRecord,
        target: &str,
        level: Level,
        handling: Option<&Handling>,
        now: Timestamp,
    ) -> String {
        match self.0 {
            LogFormat::Plain => text(record, handling),
            LogFormat::Full => {
                let time = now.strftime("%Y-%m-%d %H:%M:%S,%3f");
                // Kopf's column for the logger is twenty characters wide.
                format!(
                    "[{time}] {target:<20} [{:<8}] {}",
                    level_name(level),
                    text(record, handling)
                )
            }
            LogFormat::Json => {
                let mut line = record.fields.clone();
                line.insert("message".into(), record.message.clone().into());
                line.insert("timestamp".into(), format!("{now:.6}").into());
                line.insert("severity".into(), severity(level).into());
                line.insert("logger".into(), target.into());
                if let Some(handling) = handling {
                    line.insert("object".into(), reference(&handling.about));
                    if !handling.handler.is_empty() {
                        line.insert("handler".into(), handling.handler.clone().into());
                    }
                }
                Value::Object(line).to_string()
            }
        }
    }
}

fn text(record: &LogRecord, handling: Option<&Handling>) -> String {
    let prefix = handling.map(|handling| prefix(&handling.about)).unwrap_or_default();
    let mut text = format!("{prefix}{}", record.message);
    for (key, value) in &record.fields {
        let _ = write!(text, " {key}={}", plain(value));
    }
    text
}

fn prefix(about: &ObjectReference) -> String {
    match &about.namespace {
        Some(namespace) => format!("[{namespace}/{}] ", about.name),
        None => format!("[{}] ", about.name),
    }
}

fn reference(about: &ObjectReference) -> Value {
    json!({
        "apiVersion": about.api_version,
        "kind": about.kind,
        "name": about.name,
        "uid": about.uid,
        "namespace": about.namespace,
    })
}

fn level_name(level: Level) -> &'static str {
    match level {
        Level::ERROR => "ERROR",
        Level::WARN => "WARNING",
        Level::INFO => "INFO",
        Level::DEBUG => "DEBUG",
        Level::TRACE => "TRACE",
    }
}

fn severity(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warn",
        Level::INFO => "info",
        Level::DEBUG | Level::TRACE => "debug",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;

    fn line(format: LogFormat, namespace: Option<&str>) -> String {
        let record = LogRecord {
            message: "Done".into(),
            fields: Map::from_iter([("retry".into(), json!(2))]),
        };
        let about = ObjectReference {
            api_version: "v1".into(),
            kind: "Cart".into(),
            name: "c1".into(),
            namespace: namespace.map(str::to_owned),
            uid: Some("9f0".into()),
        };
        let now = "2026-01-02T03:04:05.678Z".parse().unwrap();
        let handling = Handling {
            about,
            handler: "fill".into(),
            ..Handling::default()
        };
        Lines(format).line(&record, "shop::handlers", Level::WARN, Some(&handling), now)
    }

    // LOG-01, LOG-04
    #[test]
    fn text_lines_begin_with_their_object() {
        assert_eq!(line(LogFormat::Plain, Some("shop")), "[shop/c1] Done retry=2");
        assert_eq!(line(LogFormat::Plain, None), "[c1] Done retry=2");
        assert_eq!(
            line(LogFormat::Full, Some("shop")),
            "[2026-01-02 03:04:05,678] shop::handlers       [WARNING ] [shop/c1] Done retry=2"
        );
    }

    // LOG-02, LOG-03
    #[test]
    fn json_lines_refer_to_their_object_without_a_prefix() {
        let line: Value = serde_json::from_str(&line(LogFormat::Json, None)).unwrap();
        assert_eq!(line["message"], "Done");
        assert_eq!(line["severity"], "warn");
        assert_eq!(line["object"]["namespace"], Value::Null);
        assert_eq!(line["object"]["uid"], "9f0");
        assert_eq!(line["handler"], "fill");
        assert_eq!(line["timestamp"], "2026-01-02T03:04:05.678000Z");
    }
}
