//! Cries out what happens to each Town.

pub mod generated;
pub mod handlers;
