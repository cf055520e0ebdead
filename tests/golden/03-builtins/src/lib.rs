//! Notes what happens to audited Pods.

pub mod generated;
pub mod handlers;
