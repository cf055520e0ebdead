//! Plain data: objects, differences, patches. Nothing here knows settings, clusters or handlers.

pub(crate) mod bodies;
pub(crate) mod clocks;
pub(crate) mod diffs;
pub(crate) mod errors;
pub(crate) mod events;
pub(crate) mod fields;
pub(crate) mod finalizers;
pub(crate) mod heartbeat;
pub(crate) mod patches;
pub(crate) mod references;
pub(crate) mod slots;
pub(crate) mod state_patches;
pub(crate) mod values;
