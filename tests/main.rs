//! One binary over all crates.
#![expect(clippy::unwrap_used, reason = "a test ends where its assumptions do")]

/// Imports between layers point one way.
mod architecture;
/// What operators do to objects, on the embedded and on a real API server.
mod behaviour;
/// Generated operators as programs, on the real control plane.
mod deployed;
/// Bad specs beside their exact messages.
mod diagnostics;
/// Generated projects build, test, lint and document themselves.
mod generated;
/// Each spec against its whole project.
mod golden;
/// Kopf's operators on the embedded and on a real API server.
mod kopf;
/// kubectl on the embedded server.
mod kubectl;
/// The inverted rules are those of this source.
mod mutants;
/// Names of annotations for any ids.
mod names;
/// Which rules the tests prove.
mod rules;
/// What the compiler says of wrong handlers.
mod signatures;
/// The command that runs an operator on its samples.
mod trial;
