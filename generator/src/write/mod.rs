//! Compares the rendered files with the disk, decides about each, and writes.

mod append;
mod decision;
mod disk;
mod plan;
mod qualify;
mod source;
mod work;

use std::path::Path;

use self::append::{Unparsable, append};
use self::decision::{Decision, Farewell, States, decide, part_with};
pub use self::disk::Error;
use self::disk::Replacement;
pub use self::plan::{Action, Change, Note, Plan, Refusal};
use self::work::{Work, has_change};
use crate::fileset::{Class, File, FileSet, Part};
use crate::lock::{self, Entry, Lock, sha256};

/// Pristine texts of merged files.
const BASE: &str = ".kopf-gen/base";

/// What to do about edits of files that nobody edits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Overwrites them.
    pub overwrite_generated: bool,
}

/// Decides about every file; `before` is the record of the last run, `record` an empty one for this run.
pub fn plan(
    project: &Path,
    files: &FileSet,
    before: Option<&Lock>,
    record: Lock,
    options: Options,
) -> Result<Plan, Error> {
    let mut planner = Planner {
        project,
        before,
        record,
        options,
        plan: Plan::default(),
    };
    for (path, file) in files.iter() {
        planner.file(path, file)?;
    }
    planner.part_with_the_rest(files)?;
    planner.finish()
}

struct Planner<'a> {
    project: &'a Path,
    before: Option<&'a Lock>,
    record: Lock,
    options: Options,
    plan: Plan,
}

impl Planner<'_> {
    fn base(&self, path: &str) -> Option<&Entry> {
        self.before.and_then(|lock| lock.files.get(path))
    }

    fn file(&mut self, path: &str, file: &File) -> Result<(), Error> {
        let work = disk::read(self.project, path)?.map(Work::new);
        let new = sha256(file.contents.as_bytes());
        let base = self.base(path).cloned();
        let states = States {
            base: base.as_ref().map(|entry| entry.sha256.as_str()),
            work: work.as_ref().map(|work| work.hash.as_str()),
            new: &new,
        };
        let mut decision = decide(file.class, states);
        if decision == Decision::Refuse && self.options.overwrite_generated {
            decision = Decision::Update;
        }
        let mut entry = Entry {
            class: file.class,
            owner: file.owner.clone(),
            sha256: new.clone(),
            stubs: part_names(&file.parts),
        };
        match (decision, work) {
            (Decision::Create, _) => self.write(path, file, Action::Create, false),
            (Decision::Recreate, _) => self.write(path, file, Action::Recreate, false),
            (Decision::Update, work) => self.write(path, file, Action::Update, work.is_some_and(|work| work.crlf)),
            (Decision::Refuse, Some(work)) => self.refuse(path, &file.contents, &work.text),
            (Decision::KeepAndTell, Some(work)) => {
                if self.tell_unless_made(path, file, base.is_some(), &work)? {
                    entry.sha256 = base.map_or_else(String::new, |base| base.sha256);
                }
            }
            (Decision::Keep, _) => entry = base.unwrap_or(entry),
            (Decision::Append, Some(work)) => {
                let seeded = base.map(|base| base.stubs).unwrap_or_default();
                entry.stubs = self.append(path, file, &seeded, &work);
            }
            (Decision::Nothing | Decision::Refuse | Decision::Append | Decision::KeepAndTell, _) => {}
        }
        if file.class == Class::Merged && matches!(decision, Decision::Create | Decision::Update | Decision::Nothing) {
            self.keep_pristine(path, &file.contents)?;
        }
        self.record.files.insert(path.to_owned(), entry);
        Ok(())
    }

    fn write(&mut self, path: &str, file: &File, action: Action, crlf: bool) {
        let contents = if crlf {
            file.contents.replace('\n', "\r\n")
        } else {
            file.contents.clone()
        };
        self.plan.writes.push(Replacement {
            path: path.to_owned(),
            contents,
        });
        self.change(path, file.class, action);
    }

    fn change(&mut self, path: &str, class: Class, action: Action) {
        self.plan.changes.push(Change {
            path: path.to_owned(),
            class,
            action,
        });
    }

    fn refuse(&mut self, path: &str, generated: &str, edited: &str) {
        self.plan.refusals.push(Refusal {
            path: path.to_owned(),
            diff: diff(generated, edited),
        });
    }

    /// Tells of the change that the author has to make by hand; one that is made becomes the base of later runs.
    fn tell_unless_made(&mut self, path: &str, file: &File, was_ours: bool, work: &Work) -> Result<bool, Error> {
        let pristine = disk::read(self.project, &format!("{BASE}/{path}"))?.map(Work::new);
        let pristine = pristine.filter(|_| was_ours).map(|pristine| pristine.text);
        if has_change(pristine.as_deref().unwrap_or_default(), &work.text, &file.contents) {
            self.keep_pristine(path, &file.contents)?;
            return Ok(false);
        }
        self.plan.notes.push(Note::Kept {
            path: path.to_owned(),
            diff: diff(pristine.as_deref().unwrap_or(&work.text), &file.contents),
        });
        Ok(true)
    }

    /// Adds what is missing and gives the names of what the file is known to hold.
    fn append(&mut self, path: &str, file: &File, seeded: &[String], work: &Work) -> Vec<String> {
        let wanted = part_names(&file.parts);
        let appended = match &work.raw {
            Some(raw) => append(raw, file, seeded),
            None => Err(Unparsable {
                line: 1,
                message: "this file is not UTF-8".to_owned(),
            }),
        };
        let appended = match appended {
            Ok(appended) => appended,
            Err(Unparsable { line, message }) => {
                let missing: Vec<_> = wanted.into_iter().filter(|name| !seeded.contains(name)).collect();
                if !missing.is_empty() {
                    self.plan.notes.push(Note::Unparsable {
                        path: path.to_owned(),
                        line,
                        message,
                        missing,
                    });
                }
                return seeded.to_vec();
            }
        };
        for name in seeded.iter().filter(|name| !wanted.contains(name)) {
            if let Some(line) = source::line_of(&work.text, name) {
                self.plan.notes.push(Note::UnusedFunction {
                    path: path.to_owned(),
                    line,
                    name: name.clone(),
                });
            }
        }
        if let Some(contents) = appended.text {
            self.plan.writes.push(Replacement {
                path: path.to_owned(),
                contents,
            });
            self.change(path, file.class, Action::Append(appended.added));
        }
        wanted
    }

    fn keep_pristine(&mut self, path: &str, contents: &str) -> Result<(), Error> {
        let path = format!("{BASE}/{path}");
        if disk::read(self.project, &path)?.is_none_or(|before| Work::new(before).text != contents) {
            self.plan.writes.push(Replacement {
                path,
                contents: contents.to_owned(),
            });
        }
        Ok(())
    }

    fn part_with_the_rest(&mut self, files: &FileSet) -> Result<(), Error> {
        let Some(before) = self.before else { return Ok(()) };
        for (path, entry) in before.files.iter().filter(|(path, _)| files.get(path).is_none()) {
            let work = disk::read(self.project, path)?.map(Work::new);
            match part_with(entry.class, &entry.sha256, work.as_ref().map(|work| work.hash.as_str())) {
                Farewell::Nothing => {}
                Farewell::Delete => {
                    if let Some(name) = definition(path) {
                        self.plan.notes.push(Note::Definition { name });
                    }
                    self.plan.deletions.push(path.clone());
                    self.plan.changes.push(Change {
                        path: path.clone(),
                        class: entry.class,
                        action: Action::Delete,
                    });
                }
                Farewell::Orphan => self.plan.notes.push(Note::Orphan { path: path.clone() }),
            }
            let pristine = format!("{BASE}/{path}");
            if entry.class == Class::Merged && disk::read(self.project, &pristine)?.is_some() {
                self.plan.deletions.push(pristine);
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Plan, Error> {
        let contents = self.record.to_text();
        let before = disk::read(self.project, lock::PATH)?.map(Work::new);
        if before.is_none_or(|before| before.text != contents) {
            self.plan.writes.push(Replacement {
                path: lock::PATH.to_owned(),
                contents,
            });
        }
        if self.plan.refusals.is_empty() {
            let paths = self
                .plan
                .writes
                .iter()
                .map(|write| &write.path)
                .chain(&self.plan.deletions);
            paths
                .into_iter()
                .try_for_each(|path| disk::check_writable(self.project, path))?;
        }
        Ok(self.plan)
    }
}

/// The name of the custom resource definition in a file.
fn definition(path: &str) -> Option<String> {
    let name = path.strip_prefix("deploy/crds/")?.strip_suffix(".yaml")?;
    // Beside the definitions lie their roles and a kustomization.
    name.rsplit_once('.')
        .is_some_and(|(_, last)| last != "roles")
        .then(|| name.to_owned())
}

fn part_names(parts: &[Part]) -> Vec<String> {
    let names = parts.iter().filter_map(|part| match part {
        Part::Function { name, .. } | Part::Module(name) => Some(name.clone()),
        Part::Packages => None,
    });
    names.collect()
}

fn diff(from: &str, to: &str) -> String {
    diffy::create_patch(from, to).to_string()
}
