//! Operators as programs of their own.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A running operator; killed when dropped.
#[derive(Debug)]
pub struct Program {
    child: Child,
    log: PathBuf,
}

impl Program {
    /// Starts a program, with all that it prints appended to the log.
    ///
    /// # Panics
    /// If it cannot be started.
    #[must_use]
    pub fn start(program: &Path, kubeconfig: &Path, arguments: &[&str], log: &Path) -> Self {
        Self::run(Command::new(program).args(arguments), kubeconfig, log)
    }

    /// The same of a command with its arguments and its environment.
    ///
    /// # Panics
    /// If it cannot be started.
    #[must_use]
    pub fn run(command: &mut Command, kubeconfig: &Path, log: &Path) -> Self {
        let output = File::options().create(true).append(true).open(log).unwrap();
        let child = command
            .env("KUBECONFIG", kubeconfig)
            .stdout(output.try_clone().unwrap())
            .stderr(output)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        Self {
            child,
            log: log.to_owned(),
        }
    }

    /// What it has printed so far.
    ///
    /// # Panics
    /// If the log is gone.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// SIGKILL: the program can do nothing about it.
    ///
    /// # Panics
    /// If it cannot be killed.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM; the program must end well, and soon.
    ///
    /// # Panics
    /// If it does not.
    pub fn terminate(mut self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").arg(&id).status().unwrap().success());
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(
                begin.elapsed() < Duration::from_secs(20),
                "SIGTERM does not end the program"
            );
            std::thread::sleep(Duration::from_millis(50));
        };
        assert!(status.success(), "{status}: {}", self.log());
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the operator's log:\n{}", self.log());
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The handler calls that the log tells of, in order: our test handlers log `call <what>`.
#[must_use]
pub fn calls(log: &str) -> Vec<String> {
    let call = |line: &str| line.split_once("call ").map(|(_, rest)| rest.trim().to_owned());
    // "Traceback (most recent call last)" tells of no call.
    let lines = log.lines().filter(|line| !line.starts_with("Traceback"));
    lines.filter_map(call).collect()
}
