//! Delivers parcels, sooner or later.

pub mod generated;
pub mod handlers;
