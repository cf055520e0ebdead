//! One binary over all crates.

/// Imports between layers point one way.
mod architecture;
/// What operators do to objects, on the embedded and on a real API server.
mod behaviour;
