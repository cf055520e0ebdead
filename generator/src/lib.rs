//! Turns one YAML operator spec into a Rust operator.

mod cargo_lock;
pub mod diagnostic;
pub mod fileset;
pub mod load;
pub mod lower;
pub mod model;
mod naming;
pub mod render;
mod spec;
mod template;
