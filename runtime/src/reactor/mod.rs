//! What moves everything: streams fill queues, workers empty them, one object at a time.
//!
//! A watch event travels like this: `clients::watching` lists and watches one kind in one namespace and tells of each
//! object; [`queueing`] puts it into the object's queue and makes sure that one worker empties it; `indexing` brings the
//! indexes up to the newest state; [`processing`]
//! runs the cycle: raw-event handlers (`observing`), timers (`tending`), then the plan of `intents::planning`, which
//! `handling` carries out, and what was gathered goes out as one patch. The answer to the patch is the freshest state
//! there is; the next cycle runs on it at once, so that nothing waits for an echo.

mod fitting;
mod handling;
mod indexing;
pub(crate) mod inventory;
mod observing;
pub(crate) mod processing;
pub(crate) mod queueing;
pub(crate) mod running;
mod storing;
mod tending;
mod throttling;
