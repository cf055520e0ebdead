//! Log lines of the operator, in its JSON format.

use serde_json::{Map, Value};

/// A log record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) severity: Severity,
    /// The module that it comes from.
    pub(super) logger: String,
    /// The message, and the fields after it.
    pub(super) text: String,
    /// What it is about.
    pub(super) object: Option<ObjectName>,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Severity {
    Debug,
    Info,
    Warning,
    Error,
}

/// An object, as people name it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ObjectName {
    pub(super) kind: String,
    /// None for cluster-scoped objects.
    pub(super) namespace: Option<String>,
    pub(super) name: String,
}

impl ObjectName {
    /// The name of an object as the API serves it.
    pub(super) fn of(object: &Value) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Self {
            kind: text(&object["kind"]).unwrap_or_default(),
            namespace: text(&object["metadata"]["namespace"]),
            name: text(&object["metadata"]["name"]).unwrap_or_default(),
        }
    }

    /// `namespace/name`, or `name`.
    pub(super) fn path(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{namespace}/{}", self.name),
            None => self.name.clone(),
        }
    }
}

impl Record {
    /// Reads a line; `None` for what is no record, such as the message of a panic.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let mut fields: Map<String, Value> = serde_json::from_str(line).ok()?;
        let mut text = |key: &str| fields.remove(key)?.as_str().map(str::to_owned);
        let (message, severity, logger) = (text("message")?, text("severity")?, text("logger")?);
        fields.remove("timestamp");
        let object = fields.remove("object").map(|object| ObjectName {
            kind: object["kind"].as_str().unwrap_or_default().to_owned(),
            namespace: object["namespace"].as_str().map(str::to_owned),
            name: object["name"].as_str().unwrap_or_default().to_owned(),
        });
        let plain = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let fields = fields
            .into_iter()
            .map(|(key, value)| format!(" {key}={}", plain(value)));
        Some(Self {
            severity: match severity.as_str() {
                "error" => Severity::Error,
                "warn" => Severity::Warning,
                "info" => Severity::Info,
                _ => Severity::Debug,
            },
            logger,
            text: message + &fields.collect::<String>(),
            object,
        })
    }

    /// The outcome of a handler's attempt, if the record tells one.
    pub(super) fn report(&self) -> Option<Report<'_>> {
        if !self.logger.starts_with("kopf_runtime") {
            return None;
        }
        let (id, rest) = self.text.strip_prefix("Handler ")?.split_once(' ')?;
        let outcome = match rest {
            "succeeded" => Outcome::Succeeded,
            rest if rest.starts_with("failed and is tried again") => Outcome::Retried(rest),
            rest if rest.starts_with("failed") => Outcome::Failed(rest),
            _ => return None,
        };
        Some(Report { id, outcome })
    }
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Report<'a> {
    /// The handler.
    pub(super) id: &'a str,
    pub(super) outcome: Outcome<'a>,
}

/// How an attempt ended, in the runtime's words if it ended badly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome<'a> {
    Succeeded,
    Retried(&'a str),
    Failed(&'a str),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(logger: &str, severity: &str, message: &str) -> Record {
        let line = format!(
            r#"{{"logger":"{logger}","message":"{message}","object":{{"apiVersion":"demo.example.com/v1","kind":"Greeting","name":"hello","namespace":"default","uid":"u"}},"retry":0,"severity":"{severity}","timestamp":"2026-01-02T03:04:05.678000Z","who":"you"}}"#
        );
        Record::parse(&line).expect("a record")
    }

    #[test]
    fn a_record_names_its_object_and_keeps_its_fields() {
        let record = parse("greeter::handlers::greeting", "info", "Created");
        assert_eq!(record.text, "Created retry=0 who=you");
        assert_eq!(record.severity, Severity::Info);
        assert_eq!(
            record.object.as_ref().map(ObjectName::path).as_deref(),
            Some("default/hello")
        );
        assert_eq!(record.report(), None);
    }

    #[test]
    fn what_is_no_record_is_left_alone() {
        for line in [
            "",
            "thread 'main' panicked at src/main.rs:1:1:",
            "{}",
            "[1]",
            r#"{"message":"x"}"#,
        ] {
            assert_eq!(Record::parse(line), None, "{line}");
        }
    }

    #[test]
    fn outcomes_are_read_from_the_runtimes_records_only() {
        let line = |message: &str| {
            let text = format!(r#"{{"logger":"kopf_runtime::failures","message":"{message}","severity":"warn"}}"#);
            Record::parse(&text).expect("a record")
        };
        let retried = line("Handler provision failed and is tried again in 15 s: no network");
        let outcome = Outcome::Retried("failed and is tried again in 15 s: no network");
        assert_eq!(
            retried.report(),
            Some(Report {
                id: "provision",
                outcome
            })
        );
        let failed = line("Handler resize/spec.quota failed for good: too small");
        assert_eq!(failed.report().map(|report| report.id), Some("resize/spec.quota"));
        assert_eq!(
            line("Handler greet succeeded").report().map(|report| report.outcome),
            Some(Outcome::Succeeded)
        );
        assert_eq!(line("Handler of doors").report(), None);
        assert_eq!(parse("greeter", "info", "Handler greet succeeded").report(), None);
    }
}
