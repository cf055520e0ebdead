//! Keeps shelves for whoever may have them.

pub mod generated;
pub mod handlers;
