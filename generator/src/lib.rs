//! Turns one YAML operator spec into a Rust operator.

pub mod fileset;
pub mod model;
