//! Log lines of the operator, in its JSON format.

use serde::Deserialize;
use serde_json::{Map, Value};

/// A log record.
#[derive(Debug, Deserialize)]
pub(super) struct Record {
    pub(super) severity: Severity,
    /// The module that it comes from.
    pub(super) logger: String,
    message: String,
    /// What it is about.
    pub(super) object: Option<ObjectName>,
    /// The id of the handler that is called, with its field.
    pub(super) handler: Option<String>,
    /// All else: the time, and the fields of the record.
    #[serde(flatten)]
    fields: Map<String, Value>,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Severity {
    Debug,
    Info,
    Warn,
    Error,
}

/// An object, as people name it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
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
        serde_json::from_str(line).ok()
    }

    /// The message, and the fields after it.
    pub(super) fn text(&self) -> String {
        let mut text = self.message.clone();
        for (key, value) in self.fields.iter().filter(|(key, _)| *key != "timestamp") {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            text += &[" ", key, "=", &value].concat();
        }
        text
    }

    /// What the runtime says of the end of a call: `succeeded`, or how it failed.
    pub(super) fn outcome(&self) -> Option<&str> {
        let handler = self
            .handler
            .as_ref()
            .filter(|_| self.logger.starts_with("kopf_runtime"))?;
        self.message.strip_prefix(&format!("Handler {handler} "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(logger: &str, message: &str) -> Record {
        let line = format!(
            r#"{{"logger":"{logger}","message":"{message}","object":{{"apiVersion":"demo.example.com/v1","kind":"Greeting","name":"hello","namespace":"default","uid":"u"}},"handler":"greet/spec.who","retry":0,"severity":"info","timestamp":"2026-01-02T03:04:05.678000Z","who":"you"}}"#
        );
        Record::parse(&line).expect("a record")
    }

    #[test]
    fn a_record_names_its_object_and_keeps_its_fields() {
        let record = parse("greeter::handlers::greeting", "Created");
        assert_eq!(record.text(), "Created retry=0 who=you");
        assert_eq!(record.severity, Severity::Info);
        assert_eq!(
            record.object.as_ref().map(ObjectName::path).as_deref(),
            Some("default/hello")
        );
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
            assert!(Record::parse(line).is_none(), "{line}");
        }
    }

    #[test]
    fn outcomes_are_read_from_the_runtimes_records_only() {
        let text = "Handler greet/spec.who failed for good: too small";
        assert_eq!(
            parse("kopf_runtime::failures", text).outcome(),
            Some("failed for good: too small")
        );
        assert_eq!(parse("greeter::handlers", text).outcome(), None);
        assert_eq!(parse("kopf_runtime", "Handler of doors").outcome(), None);
    }
}
