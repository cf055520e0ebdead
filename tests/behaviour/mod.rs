//! Scenarios: an operator, objects, and what must come of them.

mod arguments;
mod causes;
mod consistency;
mod filters;
mod finalizers;
mod fitting;
mod handling;
mod identity;
mod kit;
mod lifecycles;
mod limits;
mod memos;
mod patching;
mod queueing;
mod refusals;
mod reports;
mod results;
mod retries;
mod starting;
mod streams;
mod takeover;
mod throttling;
mod timers;
mod traces;
