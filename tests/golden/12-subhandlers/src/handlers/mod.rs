//! The handlers, one module for each kind.

pub mod database;
