//! Arguments of timers.

use std::sync::Arc;

use serde_json::Value;

use super::common;
use crate::intents::invocation::TimerCall;
use crate::intents::stoppers::Stopped;
use crate::kind::Kind;

arguments! {
    /// Arguments of timers.
    Timer {
        /// Whether the timer was asked to stop.
        stopped: Stopped,
    }
}

impl<K: Kind> From<TimerCall> for Timer<K> {
    fn from(call: TimerCall) -> Self {
        let stopped = call.common.context.stopped.clone();
        Self::from_common(call.common, stopped)
    }
}

impl<K: Kind> Timer<K> {
    /// The arguments of a call for this object, with a default memo.
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

    /// The arguments of a call for this object, with this memo.
    ///
    /// # Panics
    /// If the object's spec does not fit `K::Spec`.
    #[must_use]
    pub fn for_test_with(object: impl Into<Value>, memo: impl Into<Arc<K::Memo>>) -> Self {
        TimerCall {
            common: common::for_test::<K>(object.into(), memo.into()),
        }
        .into()
    }
}
