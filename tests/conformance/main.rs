//! The same requests to the embedded and to a real API server, and the same answers from both.
//!
//! The checks are tables, the files in `checks/`; `README.md` beside this file tells how to write one. Of each check
//! the embedded server's answers are compared with those of the real server, and on both with what the check expects.
//! A check of what is newer than the real server runs on the embedded one alone, against its expectations.
//!
//! `CONFORMANCE=text` in the environment runs those checks only whose group or sentence contains the text:
//!
//! ```sh
//! CONFORMANCE='lists: ' cargo test -p kopf-tests --test conformance
//! ```
#![expect(clippy::unwrap_used, reason = "a test ends where its assumptions do")]

/// The tables.
mod checks;
/// What differs between two answers, and between an answer and an expectation.
mod compare;
/// A check's steps with one server.
mod conversation;
/// Random requests.
mod fuzz;
/// Answers without what differs on every run.
mod normal;
/// The servers under comparison.
mod server;
/// A server of webhooks for both.
mod webhooks;

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write as _;

use futures::{StreamExt as _, stream};
use kopf_tests::control_plane;
use serde_json::Value;

use crate::checks::Check;
use crate::conversation::{Answer, Failed};
use crate::server::{Release, Server};

/// How many checks run at once; more only wait for the real server.
const AT_ONCE: usize = 6;

/// A table that lost its checks is a fault of this suite.
const AT_LEAST: usize = 150;

/// How a check went.
struct Outcome {
    group: String,
    compared: bool,
    failures: Vec<String>,
}

/// The checks of one file.
#[derive(Default)]
struct Count {
    all: usize,
    compared: usize,
    documented: usize,
    failed: usize,
}

#[tokio::test(flavor = "multi_thread")]
async fn both_servers_answer_alike() {
    let wanted = std::env::var("CONFORMANCE").unwrap_or_default();
    let (mut checks, mut failures) = checks::all();
    assert!(checks.len() >= AT_LEAST, "there are only {} checks", checks.len());
    checks.retain(|check| check.title().contains(&wanted));
    failures.retain(|fault| fault.contains(&wanted));
    assert!(!checks.is_empty(), "no check contains {wanted:?}");

    let real = match control_plane::shared() {
        Some(plane) => Some(Server::real(plane).await),
        None => None,
    };
    let release = match &real {
        Some(real) => Some(real.release().await),
        None => None,
    };
    let outcomes: Vec<Outcome> = stream::iter(checks.iter().enumerate())
        .map(|(number, check)| {
            // What is newer than the real server is not asked of it.
            let real = real
                .as_ref()
                .filter(|_| release.as_ref().is_some_and(|release| release.has(check.since)));
            run(check, number, real)
        })
        .buffered(AT_ONCE)
        .collect()
        .await;

    report(&outcomes, release.as_ref());
    failures.extend(outcomes.into_iter().flat_map(|outcome| outcome.failures));
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// One check, on the embedded server and, if given, on the real one.
async fn run(check: &Check, number: usize, real: Option<&Server>) -> Outcome {
    // The same names on both servers, so that they need not be normalised.
    let place = format!("check-{number}");
    // A server of its own: a difference must not spread to other checks.
    let embedded = Server::embedded();
    let ours = conversation::hold(&embedded, check, &place);
    let (ours, theirs) = match real {
        Some(real) => {
            let (ours, theirs) = futures::join!(ours, conversation::hold(real, check, &place));
            (ours, Some(theirs))
        }
        None => (ours.await, None),
    };
    let mut faults = Vec::new();
    note(&ours, "embedded", &mut faults);
    if let Some(theirs) = &theirs {
        note(theirs, "real", &mut faults);
        for (ours, theirs) in ours.answers.iter().zip(&theirs.answers) {
            let differences = compare::of_answers(&comparable(check, ours), &comparable(check, theirs));
            faults.extend(
                differences
                    .into_iter()
                    .map(|difference| format!("{}: {difference}", ours.step)),
            );
        }
    }
    let failures = if faults.is_empty() {
        Vec::new()
    } else {
        let faults = faults.join("\n    ").replace(&place, "{ns}");
        vec![format!("{}\n    {faults}", check.title())]
    };
    Outcome {
        group: check.group.clone(),
        compared: theirs.is_some(),
        failures,
    }
}

/// What a server did against the check's own expectations.
fn note(conversation: &conversation::Conversation, server: &str, faults: &mut Vec<String>) {
    let failed = conversation.failed.iter();
    faults.extend(failed.map(|Failed { step, why }| format!("{step}: {server} {why}")));
}

/// An answer without what the check excuses.
fn comparable(check: &Check, answer: &Answer) -> Value {
    let step = &check.steps[answer.index];
    let mut value = answer.normal.clone();
    for pointer in step.ignored() {
        compare::remove(&mut value["body"], pointer);
    }
    value
}

/// One line per group, past the capture of the test runner.
fn report(outcomes: &[Outcome], release: Option<&Release>) {
    let mut counts: BTreeMap<&str, Count> = BTreeMap::new();
    let mut total = Count::default();
    for outcome in outcomes {
        for count in [counts.entry(&outcome.group).or_default(), &mut total] {
            count.all += 1;
            count.compared += usize::from(outcome.compared);
            count.documented += usize::from(release.is_some() && !outcome.compared);
            count.failed += usize::from(!outcome.failures.is_empty());
        }
    }
    let mut lines: Vec<_> = counts
        .iter()
        .map(|(group, count)| format!("{group}: {count}"))
        .collect();
    lines.push(format!("all: {total}"));
    let version = release.map_or_else(
        || "nothing, since there is no real server".to_owned(),
        ToString::to_string,
    );
    let text = lines.join("\n").replace("{version}", &version);
    let mut stderr = std::io::stderr();
    writeln!(stderr, "\n{text}").unwrap();
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            all,
            compared,
            documented,
            failed,
        } = self;
        write!(
            f,
            "{all} checks, {compared} compared with {{version}}, {documented} by the documentation"
        )?;
        if *failed > 0 {
            write!(f, ", {failed} FAILED")?;
        }
        Ok(())
    }
}
