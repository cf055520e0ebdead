//! `cargo run -p kopf-tests --bin mutants [-- FILTER…]`: inverts one rule after another in a copy of the workspace,
//! and runs the test that must notice it. FILTER is a part of an id, or of the name of a file or of a test; of several,
//! any will do.
//!
//! A mutant is killed if its test is built and fails. It has survived if the test passes, hangs, or cannot be built.
#![expect(clippy::print_stdout, reason = "a program for the terminal")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use kopf_tests::mutants::{self, Mutant};
use kopf_tests::rules::{self, Test};
use kopf_tests::workspace;
use serde_json::Value;

/// How long a test may take.
const PATIENCE: Duration = Duration::from_secs(240);

fn main() -> Result<ExitCode> {
    let filters: Vec<String> = std::env::args().skip(1).collect();
    let tests = rules::tests();
    let mut chosen: Vec<(Mutant, &Test)> = Vec::new();
    for mutant in mutants::all() {
        let names = [&mutant.rule, &mutant.test, &mutant.file.display().to_string()];
        let wanted = |filter: &String| names.into_iter().any(|name| name.contains(filter.as_str()));
        if filters.is_empty() || filters.iter().any(wanted) {
            let test = mutant.test(&tests).map_err(|fault| anyhow!(fault))?;
            chosen.push((mutant, test));
        }
    }
    // One program after another: what has not changed is not built again.
    chosen.sort_by_key(|(_, test)| mutants::program(test));
    let copy = Copy::make()?;
    copy.check_original(&chosen)?;
    let mut survived = 0;
    println!("{:<6} {:<9} {:<70} test", "rule", "", "file");
    for (mutant, test) in &chosen {
        let fate = copy.try_out(mutant, test)?;
        survived += usize::from(fate != Fate::Killed);
        let fate = format!("{fate:?}").to_lowercase();
        println!(
            "{:<6} {fate:<9} {:<70} {}",
            mutant.rule,
            mutant.file.display(),
            mutant.test
        );
    }
    println!("{} killed, {survived} survived", chosen.len() - survived);
    Ok(if survived == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// What has become of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// The test failed.
    Killed,
    /// The test passed.
    Survived,
    /// The inverted code does not compile.
    Unbuilt,
    /// The test did not end.
    Hung,
}

/// A run of tests that has ended.
struct Ended {
    success: bool,
    output: String,
}

/// A copy of the workspace, with a target folder of its own that stays for the next run.
struct Copy {
    root: PathBuf,
    target: PathBuf,
}

impl Copy {
    fn make() -> Result<Self> {
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace().join("target"), PathBuf::from);
        let scratch = target.join("mutants");
        let copy = Self {
            root: scratch.join("workspace"),
            target: scratch.join("target"),
        };
        let listing = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(workspace())
            .output()
            .context("cannot ask git for the files")?;
        let listing = String::from_utf8(listing.stdout)?;
        copy.clear(&copy.root, &listing.split('\0').map(Path::new).collect())?;
        for name in listing.split('\0').filter(|name| !name.is_empty()) {
            // A file that was removed and not committed yet is listed too.
            if let Ok(content) = std::fs::read(workspace().join(name)) {
                copy.put(Path::new(name), &content)?;
            }
        }
        Ok(copy)
    }

    /// Removes what an earlier copy had and this one has not: a module that has moved would be there twice.
    fn clear(&self, folder: &Path, names: &BTreeSet<&Path>) -> Result<()> {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry?.path();
            if path.is_dir() {
                self.clear(&path, names)?;
            } else if !path
                .strip_prefix(&self.root)
                .is_ok_and(|name| names.contains(name) && workspace().join(name).exists())
            {
                std::fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
            }
        }
        Ok(())
    }

    /// Writes a file unless it is so already: what has not changed is not built again.
    fn put(&self, name: &Path, content: &[u8]) -> Result<()> {
        let path = self.root.join(name);
        if std::fs::read(&path).is_ok_and(|there| there == content) {
            return Ok(());
        }
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))
    }

    /// All tests pass as long as nothing is inverted.
    fn check_original(&self, chosen: &[(Mutant, &Test)]) -> Result<()> {
        let mut programs: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
        for (_, test) in chosen {
            programs
                .entry(mutants::program(test))
                .or_default()
                .push(mutants::filter(test));
        }
        for (program, filters) in programs {
            let built = self.build(&program)?;
            let built = built.with_context(|| format!("`{}` cannot be built", program.join(" ")))?;
            match self.run(&built, &filters)? {
                Some(Ended { success: true, .. }) => {}
                Some(Ended { output, .. }) => bail!("tests fail without any mutant:\n{output}"),
                None => bail!("tests hang without any mutant: {}", filters.join(" ")),
            }
        }
        Ok(())
    }

    fn try_out(&self, mutant: &Mutant, test: &Test) -> Result<Fate> {
        let original = std::fs::read_to_string(self.root.join(&mutant.file))?;
        let inverted = mutant.apply(&original).map_err(|fault| anyhow!(fault))?;
        self.put(&mutant.file, inverted.as_bytes())?;
        let fate = self.fate(test);
        self.put(&mutant.file, original.as_bytes())?;
        fate
    }

    fn fate(&self, test: &Test) -> Result<Fate> {
        let Some(built) = self.build(&mutants::program(test))? else {
            return Ok(Fate::Unbuilt);
        };
        Ok(match self.run(&built, &[mutants::filter(test)])? {
            None => Fate::Hung,
            Some(Ended { success: true, .. }) => Fate::Survived,
            Some(Ended { output, .. }) if output.contains("test result: FAILED") => Fate::Killed,
            Some(Ended { output, .. }) => bail!("the test has neither passed nor failed:\n{output}"),
        })
    }

    /// Builds the program with some tests in it; `None` if that fails.
    fn build(&self, program: &[String]) -> Result<Option<PathBuf>> {
        let built = Command::new(env!("CARGO"))
            .arg("test")
            .args(program)
            .args(["--no-run", "--quiet", "--message-format=json"])
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", &self.target)
            // Nobody debugs a mutant, and all of them are to be linked.
            .envs([("CARGO_PROFILE_DEV_DEBUG", "0"), ("CARGO_PROFILE_TEST_DEBUG", "0")])
            .env("CARGO_INCREMENTAL", "1")
            .stderr(Stdio::null())
            .output()?;
        if !built.status.success() {
            return Ok(None);
        }
        let messages = String::from_utf8_lossy(&built.stdout);
        let executable = |line: &str| {
            let message: Value = serde_json::from_str(line).ok()?;
            Some(PathBuf::from(message["executable"].as_str()?))
        };
        let found = messages.lines().filter_map(executable).next_back();
        found.context("cargo has built no program").map(Some)
    }

    /// Runs tests; `None` if they do not end.
    fn run(&self, built: &Path, filters: &[String]) -> Result<Option<Ended>> {
        let log = self.target.join("output");
        let file = File::create(&log)?;
        let mut child = Command::new(built)
            .args(filters)
            .current_dir(self.root.join("tests"))
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()?;
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if begin.elapsed() > PATIENCE {
                child.kill()?;
                child.wait()?;
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        Ok(Some(Ended {
            success: status.success(),
            output: std::fs::read_to_string(&log)?,
        }))
    }
}
