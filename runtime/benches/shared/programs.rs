//! An operator as a program of its own, which is this very one: with `Operator::main`, a command line and signals.
//!
//! It answers each line on its standard input with its counters, so that the measuring process knows what it did.

use std::error::Error;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use kopf_runtime::Operator;

/// Which of the operators the program is to be.
const ROLE: &str = "KOPF_GEN_BENCH_ROLE";

/// The role of this process; `None` for the one that measures.
pub(crate) fn role() -> Option<String> {
    std::env::var(ROLE).ok()
}

/// Runs an operator as generated programs do; `counters` are told to whoever asks, and once more at the end.
pub(crate) fn operate<const N: usize>(operator: Operator, counters: fn() -> [usize; N]) -> ExitCode {
    let tell = move || {
        let counters: Vec<String> = counters().iter().map(usize::to_string).collect();
        println!("{}", counters.join(" "));
    };
    std::thread::spawn(move || std::io::stdin().lines().for_each(|_| tell()));
    let code = operator.main();
    tell();
    code
}

/// Another process with an operator.
pub(crate) struct Program {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Program {
    /// Starts this program in another role.
    pub(crate) fn start(role: &str, kubeconfig: &Path) -> Result<Self, Box<dyn Error>> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["run", "--all-namespaces", "--standalone", "--quiet"])
            .env(ROLE, role)
            .env("KUBECONFIG", kubeconfig)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(questions), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the pipes are missing".into());
        };
        Ok(Self {
            child,
            questions,
            answers: BufReader::new(answers),
        })
    }

    /// Its number, for `/proc`.
    pub(crate) fn process(&self) -> String {
        self.child.id().to_string()
    }

    /// What it counted so far.
    pub(crate) fn counters(&mut self) -> Result<Vec<usize>, Box<dyn Error>> {
        self.questions.write_all(b"\n")?;
        self.answer()
    }

    fn answer(&mut self) -> Result<Vec<usize>, Box<dyn Error>> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        let counters: Result<Vec<usize>, _> = line.split_whitespace().map(str::parse).collect();
        Ok(counters?)
    }

    /// Sends SIGTERM; returns how long the end took, and the last counters.
    ///
    /// One that takes longer than `limit` is killed, and that is an error, as is any exit code but 0.
    pub(crate) fn terminate(mut self, limit: Duration) -> Result<(Duration, Vec<usize>), Box<dyn Error>> {
        let begin = Instant::now();
        Command::new("kill").args(["-TERM", &self.process()]).status()?;
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            if begin.elapsed() > limit {
                self.child.kill()?;
                self.child.wait()?;
                return Err(format!("still there {} s after SIGTERM", limit.as_secs()).into());
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let took = begin.elapsed();
        if !status.success() {
            return Err(format!("the operator ended with {status}").into());
        }
        Ok((took, self.answer()?))
    }
}

impl Drop for Program {
    /// Where measuring failed, the operator must not stay.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
