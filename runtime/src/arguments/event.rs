//! Arguments of handlers of raw events.

use std::sync::Arc;

use serde_json::Value;

use super::common;
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
    }
}

impl<K: Kind> From<EventCall> for Event<K> {
    fn from(call: EventCall) -> Self {
        let event = serde_json::json!({"type": call.event_type.as_str(), "object": call.common.body.value()});
        Self::from_common(call.common, call.event_type, event)
    }
}

impl<K: Kind> Event<K> {
    /// The arguments of an event that brings this object, with a default memo.
    ///
    /// # Panics
    /// If the object's spec does not fit `K::Spec`.
    #[must_use]
    pub fn for_test(object: impl Into<Value>) -> Self
    where
        K::Memo: Default,
    {
        Self::for_test_with(object, K::Memo::default())
    }

    /// The arguments of an event that brings this object, with this memo.
    ///
    /// # Panics
    /// If the object's spec does not fit `K::Spec`.
    #[must_use]
    pub fn for_test_with(object: impl Into<Value>, memo: impl Into<Arc<K::Memo>>) -> Self {
        EventCall {
            common: common::for_test::<K>(object.into(), memo.into()),
            event_type: EventType::Added,
        }
        .into()
    }
}
