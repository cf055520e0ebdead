//! Arguments of timers.

use std::sync::Arc;

use serde_json::Value;

use super::live::Live;
use crate::intents::invocation::BackgroundCall;
use crate::intents::stoppers::Stopped;
use crate::kind::Kind;

arguments! {
    /// Arguments of timers.
    Timer {
        /// Whether the timer was asked to stop, and why.
        stopped: Stopped,
        /// The object as it is now, also while the call goes on (K-11).
        live: Live<K>,
    }
}

impl<K: Kind> From<BackgroundCall> for Timer<K> {
    fn from(call: BackgroundCall) -> Self {
        let stopped = call.common.context.stopped.clone();
        Self::from_common(call.common, stopped, Live::new(call.live))
    }
}

impl<K: Kind> Timer<K> {
    /// The arguments of a call for this object, with a default memo. Nobody asks for an end, unless the test does by
    /// [`Stopped::set_for_test`].
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
        super::live::for_test::<K>(object.into(), memo.into()).into()
    }
}
