//! What runs beside the handling of changes: posting, probing, timers, indexes.

pub(crate) mod indexing;
pub(crate) mod posting;
pub(crate) mod probing;
pub(crate) mod rationing;
pub(crate) mod readiness;
pub(crate) mod spans;
pub(crate) mod supervision;
pub(crate) mod timers;
