//! Measures what each Meter names.

pub mod generated;
pub mod handlers;
