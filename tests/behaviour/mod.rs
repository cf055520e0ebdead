//! Scenarios: an operator, objects, and what must come of them.

mod causes;
mod finalizers;
mod fitting;
mod handling;
mod kit;
mod memos;
mod queueing;
mod refusals;
mod retries;
mod starting;
mod streams;
mod takeover;
mod throttling;
mod timers;
