//! The handlers, one module for each kind.

pub mod barge;
pub mod config_map;
pub mod vessel;
