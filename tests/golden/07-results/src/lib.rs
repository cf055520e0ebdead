//! Finds a flat for every Tenant.

pub mod generated;
pub mod handlers;
