//! Fixtures of the test suite: clusters to run operators on, a kind to handle, generated projects, programs.
#![expect(clippy::unwrap_used, reason = "a test ends where its assumptions do")]

pub mod cluster;
pub mod control_plane;
pub mod kopf;
pub mod mutants;
pub mod programs;
pub mod projects;
mod rounds;
pub mod rules;
pub mod widgets;

pub use rounds::rounds;

/// The root of the workspace.
#[must_use]
pub fn workspace() -> std::path::PathBuf {
    let tests = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    tests
        .parent()
        .expect("the tests are a folder of the workspace")
        .to_owned()
}
