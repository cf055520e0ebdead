//! Turns one YAML operator spec into a Rust operator.

pub mod fileset;
pub mod model;
pub mod diagnostic;
pub mod load;
pub mod lower;
pub mod naming;
pub mod spec;
