//! Arguments of timers.

use super::live::{self, Live};
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
    }, for test: "a call for this object; nobody asks for its end, unless the test does by [`Stopped::set_for_test`]" = live::for_test
}

impl<K: Kind> From<BackgroundCall> for Timer<K> {
    fn from(call: BackgroundCall) -> Self {
        let stopped = call.common.context.stopped.clone();
        Self::from_common(call.common, stopped, Live::new(call.live))
    }
}
