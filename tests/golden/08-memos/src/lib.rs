//! Connects calls and remembers lines.

pub mod generated;
pub mod handlers;
pub mod state;
