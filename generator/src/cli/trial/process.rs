//! The running operator: a process whose log is read, and which ends on SIGTERM.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStderr, Command};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::time::timeout;

/// How long the operator may take to end: more than it gives its own handlers.
const GRACE: Duration = Duration::from_secs(20);

/// What would change the operator's log, or lead it elsewhere than to the embedded server.
const FOREIGN: [&str; 7] = [
    "RUST_LOG",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
];

/// The operator's process; it is killed when this is dropped.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    lines: UnboundedReceiver<String>,
}

impl Process {
    /// Starts the operator on the cluster that the kubeconfig names.
    pub(super) fn start(binary: &Path, kubeconfig: &Path) -> anyhow::Result<Self> {
        let mut command = Command::new(binary);
        command
            .args(["run", "--all-namespaces", "--standalone", "--log-format", "json"])
            .env("KUBECONFIG", kubeconfig)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            // Ctrl-C is for this program, which ends the operator in its own time.
            .process_group(0)
            .kill_on_drop(true);
        for name in FOREIGN {
            command.env_remove(name);
        }
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start {}", binary.display()))?;
        let (sender, lines) = mpsc::unbounded_channel();
        if let Some(stderr) = child.stderr.take() {
            tokio::spawn(read(stderr, sender));
        }
        Ok(Self { child, lines })
    }

    /// The next line of the log; `None` once the operator has ended.
    pub(super) async fn line(&mut self) -> Option<String> {
        self.lines.recv().await
    }

    /// How the operator ended by itself.
    pub(super) async fn ended(&mut self) -> String {
        match timeout(GRACE, self.child.wait()).await {
            Ok(Ok(status)) => status.to_string(),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "its log was closed, but it is still there".to_owned(),
        }
    }

    /// Asks the operator to end, and waits for it; one that does not is killed. Says what was wrong about its end.
    pub(super) async fn stop(&mut self) -> anyhow::Result<Option<String>> {
        let failed = "cannot end the operator";
        if self.child.try_wait().context(failed)?.is_some() {
            return Ok(None);
        }
        let pid = self.child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        if let Some(pid) = pid {
            // It may have ended just now; then there is a status to wait for all the same.
            let _ = kill_process(pid, Signal::TERM);
        }
        if let Ok(status) = timeout(GRACE, self.child.wait()).await {
            let status = status.context(failed)?;
            return Ok((!status.success()).then(|| format!("the operator was asked to end, and ended with {status}")));
        }
        self.child.kill().await.context(failed)?;
        let grace = GRACE.as_secs();
        Ok(Some(format!(
            "the operator did not end within {grace} s and was killed"
        )))
    }
}

async fn read(stderr: ChildStderr, sender: UnboundedSender<String>) {
    let mut lines = BufReader::new(stderr).split(b'\n');
    while let Ok(Some(line)) = lines.next_segment().await {
        if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
            break;
        }
    }
}
