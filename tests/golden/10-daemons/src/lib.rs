//! Keeps a light burning for each Beacon.

pub mod generated;
pub mod handlers;
