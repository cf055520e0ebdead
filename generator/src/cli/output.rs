//! What commands say: results on stdout, all else on stderr.

use std::io::{self, Write as _};

use kopf_gen::diagnostic::Diagnostics;
use kopf_gen::write::{Action, Change, Note, Refusal};

use super::use_color;

/// A line of the result; a reader that is gone is no failure.
pub(crate) fn say(line: &str) {
    drop(writeln!(io::stdout(), "{line}"));
}

/// A line beside the result.
pub(crate) fn tell(line: &str) {
    drop(writeln!(io::stderr(), "{line}"));
}

/// A failure with its causes, one a line.
pub(crate) fn error(error: &anyhow::Error) {
    tell(&format!("{} {error}", paint("error:", "31;1")));
    error
        .chain()
        .skip(1)
        .for_each(|cause| tell(&format!("  because: {cause}")));
}

/// A refusal in one line.
pub(crate) fn refuse(message: &str) {
    tell(&format!("{} {message}", paint("error:", "31;1")));
}

/// Something that needs attention.
pub(crate) fn warn(message: &str) {
    tell(&format!("{} {message}", paint("warning:", "33;1")));
}

fn paint(text: &str, code: &str) -> String {
    if use_color() {
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    } else {
        text.to_owned()
    }
}

/// Faults of the spec.
pub(crate) fn diagnostics(diagnostics: &Diagnostics) {
    if !diagnostics.is_empty() {
        tell(diagnostics.render(use_color()).trim_end());
    }
}

/// Each change on a line; whole folders of copies on one.
pub(crate) fn changes(changes: &[Change], is_check: bool) {
    let (vendored, others): (Vec<_>, Vec<_>) = changes.iter().partition(|change| change.path.starts_with("vendor/"));
    for change in others {
        say(&format!("{} {}", verb(&change.action, is_check), described(change)));
    }
    match vendored.as_slice() {
        [] => {}
        [change] => say(&format!("{} {}", verb(&change.action, is_check), change.path)),
        many => say(&format!(
            "{} vendor/ ({} files)",
            if is_check { "would update" } else { "updated" },
            many.len()
        )),
    }
}

fn described(change: &Change) -> String {
    match &change.action {
        Action::Append(names) if !names.is_empty() => format!("{}: {}", change.path, names.join(", ")),
        Action::Recreate => format!("{}, which was gone", change.path),
        _ => change.path.clone(),
    }
}

fn verb(action: &Action, is_check: bool) -> &'static str {
    match (action, is_check) {
        (Action::Create | Action::Recreate, false) => "created",
        (Action::Create | Action::Recreate, true) => "would create",
        (Action::Update, false) => "updated",
        (Action::Update, true) => "would update",
        (Action::Append(_), false) => "added to",
        (Action::Append(_), true) => "would add to",
        (Action::Delete, false) => "deleted",
        (Action::Delete, true) => "would delete",
    }
}

/// What was left alone, and what to do about it.
pub(crate) fn notes(notes: &[Note]) {
    for note in notes {
        match note {
            Note::Kept { path, diff } => {
                warn(&format!(
                    "{path} was edited and stays as it is; make this change by hand"
                ));
                excerpt(diff);
            }
            Note::Orphan { path } if path.starts_with("src/handlers/") => warn(&format!(
                "{path} is no longer part of the project; remove it and its line in src/handlers/mod.rs once nothing in it is needed"
            )),
            Note::Orphan { path } => warn(&format!(
                "{path} is no longer part of the project, but it is yours; remove it if it is of no more use"
            )),
            Note::UnusedFunction { path, line, name } => {
                warn(&format!(
                    "{path}:{line}: the spec no longer names `{name}`; remove the function if it is of no more use"
                ));
            }
            Note::Unparsable {
                path,
                line,
                message,
                missing,
            } => {
                warn(&format!(
                    "{path}:{line}: {message}; nothing was added, missing: {}",
                    missing.join(", ")
                ));
            }
            Note::Definition { name } => warn(&format!(
                "the definition of {name} stays in the cluster with all objects of the kind; once they are of no more \
                 use, `kubectl delete crd {name}` deletes it and all of them"
            )),
        }
    }
}

/// Edits of files that nobody edits, and the ways out.
pub(crate) fn refusals(refusals: &[Refusal]) {
    for refusal in refusals {
        refuse(&format!("{} was edited, but kopf-gen owns it", refusal.path));
        excerpt(&refusal.diff);
    }
    let advice = "nothing was written. Move the change into the spec, into src/handlers or into an overlay in \
                  deploy/overlays;\nthen restore the files, or run again with --overwrite-generated, which drops the edits";
    tell(advice);
}

/// The first lines of a diff, without its file names.
fn excerpt(diff: &str) {
    const LINES: usize = 14;
    let lines: Vec<&str> = diff.lines().skip(2).collect();
    lines.iter().take(LINES).for_each(|line| tell(&format!("  {line}")));
    if lines.len() > LINES {
        tell(&format!("  … {} more lines", lines.len() - LINES));
    }
}
