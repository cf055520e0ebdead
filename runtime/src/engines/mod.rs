//! What runs beside the handling of changes: posting, probing, daemons and timers, indexes.

pub(crate) mod background;
pub(crate) mod indexing;
pub(crate) mod posting;
pub(crate) mod probing;
pub(crate) mod rationing;
pub(crate) mod readiness;
pub(crate) mod spans;
