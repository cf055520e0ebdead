//! Greets whoever a Greeting names.

pub mod generated;
pub mod handlers;
