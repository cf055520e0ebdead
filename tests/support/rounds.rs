//! How often tests that repeat themselves do so.

/// The fewest repetitions that still say something.
const LEAST: usize = 50;

/// Repetitions of a test that makes `full` of them in a full run: all with `KOPF_GEN_ROUNDS=full` in the environment,
/// else a tenth, though never below fifty.
#[must_use]
pub fn rounds(full: usize) -> usize {
    match std::env::var("KOPF_GEN_ROUNDS").as_deref() {
        Ok("full") => full,
        _ => (full / 10).max(LEAST.min(full)),
    }
}
