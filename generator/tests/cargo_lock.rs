//! The `Cargo.lock` that goes into each project: made by cargo, with the versions that this workspace is tested with.
//! There is one for projects whose runtime evaluates conditions in CEL and whose embedded API server checks the rules of
//! schemas; what only one of the two needs is left out of it later.
//!
//! `KOPF_GEN_BLESS=1 cargo test -p kopf-gen --test cargo_lock` renews it.
#![expect(clippy::unwrap_used, reason = "a test ends where its assumptions do")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the crate has a workspace")
        .to_owned()
}

/// A project with every dependency that a generated one can have.
fn manifest(runtime: &Path, features: &str) -> String {
    format!(
        "[package]\nname = \"project\"\nversion = \"0.1.0\"\nedition = \"2024\"\nrust-version = \"1.90\"\n\
         [lib]\npath = \"lib.rs\"\n\
         [dependencies]\nkopf-runtime = {{ path = {:?}, features = [{features}] }}\nserde = {{ version = \"1\", features = [\"derive\"] }}\n\
         serde_json = \"1\"\ntracing = \"0.1\"\n\
         [dev-dependencies]\nkopf-testserver = {{ path = {:?}, features = [{features}] }}\n\
         serde_yaml = {{ package = \"serde-saphyr\", version = \"2\", default-features = false, features = [\"deserialize\"] }}\n\
         tokio = {{ version = \"1\", default-features = false, features = [\"macros\", \"rt\", \"test-util\", \"time\"] }}\n\
         [workspace]\n",
        runtime.display().to_string(),
        runtime.join("testserver").display().to_string(),
    )
}

#[test]
fn the_embedded_locks_fit_the_runtime() {
    for (name, features) in [("Cargo.lock", ""), ("Cargo.cel.lock", "\"cel\"")] {
        check(name, features);
    }
}

fn check(name: &str, features: &str) {
    let bless = env::var_os("KOPF_GEN_BLESS").is_some();
    let embedded = repository().join("templates/crate").join(name);
    let folder = tempfile::tempdir().unwrap();
    let manifest = manifest(&repository().join("runtime"), features);
    fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
    fs::write(folder.path().join("lib.rs"), "").unwrap();
    let seed = if bless {
        repository().join("Cargo.lock")
    } else {
        embedded.clone()
    };
    fs::copy(seed, folder.path().join("Cargo.lock")).unwrap();

    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["update", "--workspace"]).current_dir(folder.path());
    if !bless {
        cargo.arg("--locked");
    }
    let output = cargo.output().unwrap();
    assert!(
        output.status.success(),
        "templates/crate/{name} is out of date; see the head of this test\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    if bless {
        fs::copy(folder.path().join("Cargo.lock"), embedded).unwrap();
    }
}
