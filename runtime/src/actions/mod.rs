//! One attempt of a handler: which are next, whether it may be made, and what its outcome means; and sending patches.

pub(crate) mod application;
pub(crate) mod classification;
pub(crate) mod execution;
pub(crate) mod invocation;
pub(crate) mod lifecycles;
