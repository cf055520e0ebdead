//! What has happened so far, as the operator's log tells it: which handler said what, how often each was called, and
//! what has failed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::record::{ObjectName, Outcome, Record, Severity};
use super::screen::Tone;
use super::stubs::Stub;

/// How long a line waits for the word of success that tells whose it is.
const PATIENCE: Duration = Duration::from_millis(300);

/// A line to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) object: Option<ObjectName>,
    /// The handler, or what else speaks; may be empty.
    pub(super) label: String,
    pub(super) text: String,
    pub(super) tone: Tone,
}

/// A line whose handler is not known yet.
#[derive(Debug)]
struct Held {
    line: Line,
    /// Who may have logged it; anybody, if empty.
    candidates: Vec<String>,
    since: Instant,
}

/// The log so far.
#[derive(Debug, Default)]
pub(super) struct Journal {
    stubs: Vec<Stub>,
    held: Vec<Held>,
    calls: BTreeMap<(ObjectName, String), usize>,
    retried: BTreeMap<(ObjectName, String), String>,
    failures: Vec<String>,
}

impl Journal {
    pub(super) fn new(stubs: Vec<Stub>) -> Self {
        Self {
            stubs,
            ..Self::default()
        }
    }

    /// Takes in a record; gives the lines that can be shown now.
    pub(super) fn take(&mut self, record: Record, now: Instant) -> Vec<Line> {
        if let (Some(report), Some(object)) = (record.report(), &record.object) {
            return self.report(object.clone(), report.id.to_owned(), report.outcome);
        }
        let is_runtime = record.logger.starts_with("kopf_runtime");
        let tone = match record.severity {
            Severity::Debug => return Vec::new(),
            Severity::Info if is_runtime || record.object.is_none() => return Vec::new(),
            Severity::Info => Tone::Plain,
            Severity::Warning => Tone::Careful,
            Severity::Error => Tone::Bad,
        };
        let line = Line {
            object: record.object,
            label: String::new(),
            text: record.text,
            tone,
        };
        // Handlers wait for an object that does not fit, perhaps for ever.
        let is_failure = tone == Tone::Bad || is_runtime && line.text.contains("does not fit its type");
        if is_failure {
            self.fail(line.object.as_ref(), &line.text);
        }
        match &line.object {
            Some(object) if !is_runtime => self.own(object.clone(), line, now),
            Some(_) => vec![line],
            None => vec![Line {
                label: "operator".into(),
                ..line
            }],
        }
    }

    /// A line of the operator's own code.
    fn own(&mut self, object: ObjectName, mut line: Line, now: Instant) -> Vec<Line> {
        let candidates = self
            .stubs
            .iter()
            .filter(|stub| stub.kind == object.kind && stub.logs(&line.text));
        let candidates: Vec<&Stub> = candidates.collect();
        if let [only] = candidates.as_slice() {
            line.label.clone_from(&only.label);
            if only.is_for_events {
                *self.calls.entry((object, line.label.clone())).or_default() += 1;
            }
            return vec![line];
        }
        let candidates = candidates.into_iter().map(|stub| stub.label.clone()).collect();
        self.held.push(Held {
            line,
            candidates,
            since: now,
        });
        Vec::new()
    }

    /// The end of an attempt: what was logged before is that handler's.
    fn report(&mut self, object: ObjectName, id: String, outcome: Outcome<'_>) -> Vec<Line> {
        let label = short(&id);
        let mut lines = self.release(&object, &label);
        *self.calls.entry((object.clone(), label.clone())).or_default() += 1;
        let key = (object.clone(), id);
        let (text, tone) = match outcome {
            Outcome::Succeeded => {
                self.retried.remove(&key);
                return lines;
            }
            Outcome::Retried(text) => {
                self.retried.insert(key, text.to_owned());
                (text, Tone::Careful)
            }
            Outcome::Failed(text) => {
                self.retried.remove(&key);
                self.fail(Some(&object), &format!("handler {label} {text}"));
                (text, Tone::Bad)
            }
        };
        lines.push(Line {
            object: Some(object),
            label,
            text: text.to_owned(),
            tone,
        });
        lines
    }

    /// The lines that this handler has logged: those that nobody else can have, and one that others can have, too.
    fn release(&mut self, object: &ObjectName, label: &str) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut is_shared_taken = false;
        self.held.retain(|held| {
            let is_anybodys = held.candidates.is_empty();
            let is_ours = is_anybodys || !is_shared_taken && held.candidates.iter().any(|other| other == label);
            if !is_ours || held.line.object.as_ref() != Some(object) {
                return true;
            }
            is_shared_taken |= !is_anybodys;
            lines.push(Line {
                label: label.to_owned(),
                ..held.line.clone()
            });
            false
        });
        lines
    }

    /// The lines that have waited too long to be led back to a handler.
    pub(super) fn overdue(&mut self, now: Instant) -> Vec<Line> {
        let is_overdue = |held: &mut Held| now.duration_since(held.since) >= PATIENCE;
        self.held
            .extract_if(.., is_overdue)
            .map(|held| Line {
                label: held.candidates.into_iter().next().unwrap_or_default(),
                ..held.line
            })
            .collect()
    }

    /// Notes a failure.
    pub(super) fn fail(&mut self, object: Option<&ObjectName>, text: &str) {
        self.failures.push(match object {
            Some(object) => format!("{} {}: {text}", object.kind, object.path()),
            None => text.to_owned(),
        });
    }

    /// How often a handler was called for an object.
    pub(super) fn calls(&self, object: &ObjectName, id: &str) -> usize {
        self.calls
            .get(&(object.clone(), short(id)))
            .copied()
            .unwrap_or_default()
    }

    /// How often any handler was called.
    pub(super) fn all_calls(&self) -> usize {
        self.calls.values().sum()
    }

    /// What has failed for good, and what had not recovered so far.
    pub(super) fn failures(&self) -> Vec<String> {
        let retried = self
            .retried
            .iter()
            .map(|((object, id), text)| format!("{} {}: handler {} {text}", object.kind, object.path(), short(id)));
        self.failures.iter().cloned().chain(retried).collect()
    }
}

/// An id without the field that the runtime appends.
fn short(id: &str) -> String {
    id.split('/').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
