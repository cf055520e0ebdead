//! A real kube-apiserver for the tests, started once per test process and ended with it.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock};

use crate::workspace;

/// A running control plane.
#[derive(Debug)]
pub struct ControlPlane {
    /// State and logs.
    pub folder: PathBuf,
    /// The administrator's access.
    pub kubeconfig: PathBuf,
    /// Such as `https://127.0.0.1:16443`.
    pub url: String,
    // The script ends when its standard input closes, be it by the death of this process.
    _script: Mutex<Child>,
}

/// The control plane of this process.
///
/// `None` if this machine has none; the test then says so and passes, except with `CI=true`.
///
/// # Panics
/// If there is none in CI, or if it does not start.
pub fn shared() -> Option<&'static ControlPlane> {
    static SHARED: OnceLock<Option<ControlPlane>> = OnceLock::new();
    let shared = SHARED.get_or_init(|| assets().map(|assets| ControlPlane::start(&assets)));
    if shared.is_none() {
        let advice = "make one with `tests/control-plane/build`, or name a folder with etcd, kube-apiserver and \
                      kube-controller-manager in KUBEBUILDER_ASSETS";
        assert!(!in_ci(), "no control plane: {advice}");
        eprintln!("skipped, since there is no control plane: {advice}");
    }
    shared.as_ref()
}

/// Whether a missing tool is a failure.
#[must_use]
pub fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|ci| ci == "true")
}

fn assets() -> Option<PathBuf> {
    let named = std::env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let folder = named.or_else(|| home.map(|home| home.join(".cache/kopf-gen/control-plane")))?;
    let complete = ["etcd", "kube-apiserver", "kube-controller-manager"]
        .iter()
        .all(|name| folder.join(name).exists());
    complete.then_some(folder)
}

impl ControlPlane {
    fn start(assets: &Path) -> Self {
        let folder = std::env::temp_dir().join(format!("kopf-gen-control-plane-{}", std::process::id()));
        let port = free_ports();
        let mut script = Command::new(workspace().join("tests/control-plane/run"))
            .arg(assets)
            .arg(&folder)
            .arg(port.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the script can be started");
        let mut line = String::new();
        let output = script.stdout.take().expect("the output is piped");
        BufReader::new(output)
            .read_line(&mut line)
            .expect("the script's output is text");
        assert_eq!(
            line.trim(),
            "ready",
            "the control plane did not start; see {}",
            folder.display()
        );
        Self {
            kubeconfig: folder.join("admin.kubeconfig"),
            folder,
            url: format!("https://127.0.0.1:{port}"),
            _script: Mutex::new(script),
        }
    }
}

/// The first of four free ports in a row.
fn free_ports() -> u16 {
    loop {
        let first = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let first = first.expect("a loopback port is free").port();
        let rest = (1..4).all(|next| {
            first
                .checked_add(next)
                .is_some_and(|port| TcpListener::bind(("127.0.0.1", port)).is_ok())
        });
        if rest {
            return first;
        }
    }
}
