//! Arguments of handlers of raw events.

use serde_json::Value;

use crate::intents::invocation::EventCall;
use crate::kind::Kind;
use crate::structs::events::EventType;

arguments! {
    /// Arguments of handlers of raw events.
    Event {
        /// What the event says.
        event_type: EventType,
        /// The event as it came: `type` and `object`.
        event: Value,
    }, for test: "an event that brings this object" = |common| EventCall { common, event_type: EventType::Added }
}

impl<K: Kind> From<EventCall> for Event<K> {
    fn from(call: EventCall) -> Self {
        let event = serde_json::json!({"type": call.event_type.as_str(), "object": call.common.body.value()});
        Self::from_common(call.common, call.event_type, event)
    }
}
