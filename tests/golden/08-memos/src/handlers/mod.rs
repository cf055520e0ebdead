//! The handlers, one module for each kind.

pub mod call;
pub mod desk;
