//! Kopf itself, as people install it.

use std::path::PathBuf;

use crate::control_plane::in_ci;

/// The Python that has Kopf 1.45.2; `KOPF_PYTHON` names another than the usual one.
///
/// `None` if this machine has none; the test then says so and passes, except with `CI=true`.
///
/// # Panics
/// If there is none in CI.
#[must_use]
pub fn python() -> Option<PathBuf> {
    let named = std::env::var_os("KOPF_PYTHON").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let python = named.or_else(|| home.map(|home| home.join(".cache/kopf-gen/kopf/bin/python")))?;
    if python.exists() {
        return Some(python);
    }
    let advice = "python3 -m venv ~/.cache/kopf-gen/kopf && ~/.cache/kopf-gen/kopf/bin/pip install kopf==1.45.2";
    assert!(!in_ci(), "no Kopf: {advice}");
    eprintln!("skipped, since there is no Kopf: {advice}");
    None
}
