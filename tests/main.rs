//! One binary over all crates.

/// Imports between layers point one way.
mod architecture;
/// What operators do to objects, on the embedded and on a real API server.
mod behaviour;
/// Generated operators as programs, on the real control plane.
mod deployed;
/// What the compiler says of wrong handlers.
mod signatures;
