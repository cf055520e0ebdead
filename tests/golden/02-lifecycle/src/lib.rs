//! Keeps storage buckets.

pub mod generated;
pub mod handlers;
