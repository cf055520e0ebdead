//! Everything that talks to the Kubernetes API; its errors are translated here.

pub(crate) mod api;
pub(crate) mod errors;
pub(crate) mod events;
pub(crate) mod fetching;
pub(crate) mod patching;
pub(crate) mod watching;
