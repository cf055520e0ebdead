//! What runs beside the handling of changes: posting, probing, timers.

pub(crate) mod posting;
pub(crate) mod probing;
pub(crate) mod rationing;
pub(crate) mod spans;
pub(crate) mod supervision;
pub(crate) mod timers;
