//! Kubernetes events as Kopf writes them (EVT-07 to EVT-11).

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tracing::Level;

use super::api::{self, Api};
use super::errors::ApiError;
use crate::structs::events::ObjectReference;

/// The severity that `kubectl` shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventType {
    Normal,
    Warning,
}

/// An event to be posted.
#[derive(Clone, Debug)]
pub(crate) struct NewEvent {
    pub(crate) about: ObjectReference,
    pub(crate) event_type: EventType,
    /// Finer than the type: whether it is posted depends on it (EVT-02).
    pub(crate) level: Level,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) at: Timestamp,
}

/// Who posts.
#[derive(Clone, Debug)]
pub(crate) struct Reporter {
    pub(crate) name_prefix: String,
    pub(crate) component: String,
    pub(crate) instance: String,
}

const LONGEST_MESSAGE: usize = 1024;
const HEAD: usize = 511;
const TAIL: usize = 510;

pub(crate) async fn post(api: &Api, event: &NewEvent, reporter: &Reporter, limit: Duration) -> Result<(), ApiError> {
    // Events of cluster-scoped objects live in `default`, as those of the control plane do (EVT-09, B-082).
    let namespace = event.about.namespace.as_deref().unwrap_or("default");
    let path = format!("/api/v1/namespaces/{namespace}/events");
    api::request(api, api::post(&path, &body(event, reporter, namespace))?, limit)
        .await
        .map(drop)
}

fn body(event: &NewEvent, reporter: &Reporter, namespace: &str) -> Value {
    let at = format!("{:.6}", event.at);
    // The older fields hold whole seconds; only `eventTime` has fractions.
    let second = event.at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"namespace": namespace, "generateName": reporter.name_prefix},
        "action": event.reason,
        "type": match event.event_type { EventType::Normal => "Normal", EventType::Warning => "Warning" },
        "reason": event.reason,
        "message": cut(&event.message),
        "reportingComponent": reporter.component,
        "reportingInstance": reporter.instance,
        "source": {"component": reporter.component},
        "involvedObject": {
            "apiVersion": event.about.api_version,
            "kind": event.about.kind,
            "name": event.about.name,
            "uid": event.about.uid,
            "namespace": event.about.namespace,
        },
        "count": 1,
        "firstTimestamp": second,
        "lastTimestamp": second,
        "eventTime": at,
    })
}

/// Keeps head and tail of a message over 1024 bytes, on character boundaries (EVT-10, B-081).
///
/// The server counts bytes, so bytes are counted here too.
fn cut(message: &str) -> String {
    if message.len() <= LONGEST_MESSAGE {
        return message.to_owned();
    }
    let head = message.floor_char_boundary(HEAD);
    let tail = message.ceil_char_boundary(message.len() - TAIL);
    format!("{}...{}", &message[..head], &message[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;

    // EVT-10
    #[test]
    fn long_messages_keep_head_and_tail() {
        let text = cut(&format!("{}{}", "a".repeat(1000), "z".repeat(1000)));
        assert_eq!(text.len(), 1024);
        assert!(text.starts_with(&"a".repeat(511)) && text.ends_with(&"z".repeat(510)));
        assert_eq!(cut(&"x".repeat(1024)).len(), 1024);
    }

    // B-081
    #[test]
    fn characters_are_never_cut_in_half() {
        let text = cut(&"ü".repeat(5000));
        assert!(text.len() <= 1024 && text.contains("..."));
    }

    // EVT-07, EVT-09, EVT-I4
    #[test]
    fn events_name_their_object_and_carry_six_fraction_digits() {
        let event = NewEvent {
            about: ObjectReference {
                api_version: "v1".into(),
                kind: "Node".into(),
                name: "n1".into(),
                namespace: None,
                uid: Some("u".into()),
            },
            event_type: EventType::Warning,
            level: Level::WARN,
            reason: "Sold".into(),
            message: "3 items".into(),
            at: "2026-01-02T03:04:05Z".parse().unwrap(),
        };
        let reporter = Reporter {
            name_prefix: "kopf-event-".into(),
            component: "kopf".into(),
            instance: "dev".into(),
        };
        let body = body(&event, &reporter, "default");
        assert_eq!(body["eventTime"], "2026-01-02T03:04:05.000000Z");
        assert_eq!(body["metadata"]["namespace"], "default");
        assert_eq!(body["involvedObject"]["name"], "n1");
        assert_eq!(body["type"], "Warning");
    }
}
