//! Builds the project with cargo.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::{env, io};

use serde::Deserialize;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{ChildStderr, ChildStdout, Command};

use super::progress::{CargoLine, Meter, next_line};
use crate::cli::use_color;

/// Why there is no binary.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// No cargo.
    #[error("cannot run {}: Rust is needed to build the operator; get it from https://rustup.rs", .0.display())]
    NoCargo(OsString, #[source] io::Error),
    /// The compiler, or cargo itself.
    #[error("the operator does not build (cargo ended with {status})")]
    Refused {
        /// What was said about it.
        messages: String,
        status: ExitStatus,
    },
    /// A pipe broke.
    #[error("cannot read what cargo says")]
    Read(#[source] io::Error),
    /// A build without the one thing that was wanted.
    #[error("cargo has built no binary called {0}")]
    NoBinary(String),
}

/// Builds the binary of this name, and says where it is.
pub(super) async fn build(project: &Path, target: &Path, binary: &str, meter: &mut Meter) -> Result<PathBuf, Failure> {
    let cargo = env::var_os("CARGO")
        .filter(|path| !path.is_empty())
        .unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(&cargo);
    command
        .args([
            "build",
            "--locked",
            "--bin",
            binary,
            "--message-format=json-render-diagnostics",
        ])
        .current_dir(project)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(is_of_another_build) {
            command.env_remove(name);
        }
    }
    command
        .env("CARGO_TARGET_DIR", target)
        // Nobody debugs a trial, and without debug information it builds faster.
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_TERM_PROGRESS_WHEN", "always")
        .env("CARGO_TERM_PROGRESS_WIDTH", "120")
        .env("CARGO_TERM_COLOR", if use_color() { "always" } else { "never" });
    let mut child = command.spawn().map_err(|source| Failure::NoCargo(cargo, source))?;
    let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
        unreachable!("both are piped");
    };
    let (executable, messages) =
        tokio::try_join!(executable(stdout, binary), messages(stderr, meter)).map_err(Failure::Read)?;
    let status = child.wait().await.map_err(Failure::Read)?;
    if !status.success() {
        return Err(Failure::Refused { messages, status });
    }
    executable.ok_or_else(|| Failure::NoBinary(binary.to_owned()))
}

/// Whether a variable describes the build that this very program came from, or would put the results elsewhere.
///
/// What cargo needs everywhere stays: its home, mirrors and proxies, and the compiler's wrapper and flags.
fn is_of_another_build(name: &str) -> bool {
    const PREFIXES: [&str; 7] = [
        "CARGO_BIN_",
        "CARGO_CFG_",
        "CARGO_FEATURE_",
        "CARGO_MANIFEST_",
        "CARGO_PKG_",
        "CARGO_PROFILE_",
        "CARGO_TERM_",
    ];
    const NAMES: [&str; 12] = [
        "CARGO",
        "CARGO_BUILD_BUILD_DIR",
        "CARGO_BUILD_TARGET",
        "CARGO_BUILD_TARGET_DIR",
        "CARGO_CRATE_NAME",
        "CARGO_ENCODED_RUSTFLAGS",
        "CARGO_MAKEFLAGS",
        "CARGO_PRIMARY_PACKAGE",
        "CARGO_TARGET_DIR",
        "CARGO_TARGET_TMPDIR",
        // Some build scripts ask to be run again whenever it changes, and much is built anew with them.
        "OUT_DIR",
        "RUSTC_WORKSPACE_WRAPPER",
    ];
    NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Finds the binary among what cargo says it has made.
async fn executable(stdout: ChildStdout, binary: &str) -> io::Result<Option<PathBuf>> {
    let mut found = None;
    let mut lines = BufReader::new(stdout).split(b'\n');
    while let Some(line) = lines.next_segment().await? {
        if let Some(path) = artifact(&line, binary) {
            found = Some(path);
        }
    }
    Ok(found)
}

fn artifact(line: &[u8], binary: &str) -> Option<PathBuf> {
    #[derive(Deserialize)]
    struct Artifact {
        target: Target,
        executable: Option<PathBuf>,
    }
    #[derive(Deserialize)]
    struct Target {
        name: String,
        kind: Vec<String>,
    }
    let artifact: Artifact = serde_json::from_slice(line).ok()?;
    let is_binary = artifact.target.name == binary && artifact.target.kind.iter().any(|kind| kind == "bin");
    artifact.executable.filter(|_| is_binary)
}

/// Shows the progress, and keeps what else was said.
async fn messages(stderr: ChildStderr, meter: &mut Meter) -> io::Result<String> {
    let mut kept = String::new();
    let mut stderr = BufReader::new(stderr);
    while let Some(line) = next_line(&mut stderr).await? {
        match CargoLine::read(&line) {
            CargoLine::Progress(text) => meter.show(&text),
            CargoLine::Chatter => {}
            CargoLine::Message(message) => kept.push_str(&(message + "\n")),
        }
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_another_build_are_dropped() {
        for name in [
            "CARGO",
            "CARGO_PKG_NAME",
            "CARGO_TARGET_DIR",
            "CARGO_BIN_EXE_kopf-gen",
            "OUT_DIR",
        ] {
            assert!(is_of_another_build(name), "{name}");
        }
        for name in [
            "CARGO_HOME",
            "CARGO_NET_OFFLINE",
            "CARGO_HTTP_PROXY",
            "RUSTFLAGS",
            "PATH",
        ] {
            assert!(!is_of_another_build(name), "{name}");
        }
    }

    #[test]
    fn the_binary_is_found_among_the_artifacts() {
        let line = |name: &str, kind: &str, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","target":{{"name":"{name}","kind":["{kind}"]}},"executable":{executable}}}"#
            )
        };
        let found = |line: String| artifact(line.as_bytes(), "greeter");
        assert_eq!(
            found(line("greeter", "bin", r#""/t/debug/greeter""#)),
            Some("/t/debug/greeter".into())
        );
        assert_eq!(found(line("greeter", "lib", "null")), None);
        assert_eq!(found(line("build-script-build", "custom-build", r#""/t/b""#)), None);
        assert_eq!(
            artifact(br#"{"reason":"build-finished","success":true}"#, "greeter"),
            None
        );
    }
}
