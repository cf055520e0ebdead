//! Compares the rendered files with the disk, decides about each, and writes.

mod append;
mod decision;
mod disk;
mod source;

use std::path::Path;

use self::append::append;
use self::decision::{Decision, Farewell, States, decide, part_with};
pub use self::disk::Error;
use self::disk::Replacement;
use crate::fileset::{Class, File, FileSet, Part};
use crate::lock::{self, Entry, Lock, sha256};

/// Pristine texts of merged files.
const BASE: &str = ".kopf-gen/base";

/// Everything one run would do, decided before anything is touched.
#[derive(Debug)]
pub struct Plan {
    changes: Vec<Change>,
    refusals: Vec<Refusal>,
    notes: Vec<Note>,
    writes: Vec<Replacement>,
    deletions: Vec<String>,
}

/// A change to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The file.
    pub path: String,
    /// Its class.
    pub class: Class,
    /// What happens.
    pub action: Action,
}

/// What happens to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// It was not there.
    Create,
    /// It was deleted by somebody.
    Recreate,
    /// Its new text is written.
    Update,
    /// These functions, modules or packages are added to the author's text.
    Append(Vec<String>),
    /// It is no longer part of the project.
    Delete,
}

/// A file that was edited although nobody edits it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The file.
    pub path: String,
    /// From the generated text to the one on the disk, as a unified diff.
    pub diff: String,
}

/// Something that people should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A merged file was edited and stays as it is, although the rendered text has changed.
    Kept {
        /// The file.
        path: String,
        /// What would have changed in it, as a unified diff.
        diff: String,
    },
    /// A file that is no longer rendered, but that somebody has worked on.
    Orphan {
        /// The file.
        path: String,
    },
    /// A function that the spec no longer names.
    UnusedFunction {
        /// The file.
        path: String,
        /// Counted from 1.
        line: usize,
        /// The function.
        name: String,
    },
    /// An author's file that is not Rust, so that nothing was added.
    Unparsable {
        /// The file.
        path: String,
        /// Counted from 1.
        line: usize,
        /// What the parser says.
        message: String,
        /// What it lacks.
        missing: Vec<String>,
    },
    /// An import that a new stub needs, but whose name the file uses for something else.
    Clash {
        /// The file.
        path: String,
        /// Such as `kopf_runtime::Timer`.
        import: String,
    },
}

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
        plan: Plan {
            changes: Vec::new(),
            refusals: Vec::new(),
            notes: Vec::new(),
            writes: Vec::new(),
            deletions: Vec::new(),
        },
    };
    for (path, file) in files.iter() {
        planner.file(path, file)?;
    }
    planner.part_with_the_rest(files)?;
    planner.finish()
}

impl Plan {
    /// In the order of paths.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// If there is one, nothing is written.
    pub fn refusals(&self) -> &[Refusal] {
        &self.refusals
    }

    /// What people should know.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Whether the project is as the spec wants it, the record included.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.deletions.is_empty()
    }

    /// Writes and deletes everything; the lock comes last, so that it never forgets what is still to be done.
    pub fn apply(&self, project: &Path) -> Result<(), Error> {
        let (record, files): (Vec<_>, Vec<_>) = self.writes.iter().partition(|write| write.path == lock::PATH);
        disk::replace(project, &files)?;
        self.deletions.iter().try_for_each(|path| disk::delete(project, path))?;
        disk::replace(project, &record)
    }
}

struct Planner<'a> {
    project: &'a Path,
    before: Option<&'a Lock>,
    record: Lock,
    options: Options,
    plan: Plan,
}

/// What is on the disk, with LF line ends.
struct Work {
    text: String,
    raw: Option<String>,
    hash: String,
    crlf: bool,
}

impl Work {
    /// Text that is not UTF-8 is nothing that was generated.
    fn new(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(raw) => {
                let text = raw.replace("\r\n", "\n");
                let hash = sha256(text.as_bytes());
                Self {
                    crlf: raw.contains("\r\n"),
                    text,
                    raw: Some(raw),
                    hash,
                }
            }
            Err(error) => {
                let hash = sha256(error.as_bytes());
                Self {
                    text: String::from_utf8_lossy(error.as_bytes()).into_owned(),
                    raw: None,
                    hash,
                    crlf: false,
                }
            }
        }
    }
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
            (Decision::KeepAndTell, work) => {
                self.tell(path, file, base.is_some(), work.as_ref())?;
                entry.sha256 = base.map_or_else(String::new, |base| base.sha256);
            }
            (Decision::Keep, _) => entry = base.unwrap_or(entry),
            (Decision::Append, Some(work)) => {
                let seeded = base.as_ref().map(|base| base.stubs.clone()).unwrap_or_default();
                entry.sha256 = base.map_or(new, |base| base.sha256);
                entry.stubs = self.append(path, file, &seeded, &work);
            }
            (Decision::Nothing | Decision::Refuse | Decision::Append, _) => {}
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

    /// The change that the author has to make by hand, as far as it is known.
    fn tell(&mut self, path: &str, file: &File, was_ours: bool, work: Option<&Work>) -> Result<(), Error> {
        let pristine = disk::read(self.project, &format!("{BASE}/{path}"))?.map(Work::new);
        let from = match (&pristine, work) {
            (Some(pristine), _) if was_ours => &pristine.text,
            (_, Some(work)) => &work.text,
            _ => &file.contents,
        };
        self.plan.notes.push(Note::Kept {
            path: path.to_owned(),
            diff: diff(from, &file.contents),
        });
        Ok(())
    }

    /// Adds what is missing and gives the names of what the file is known to hold.
    fn append(&mut self, path: &str, file: &File, seeded: &[String], work: &Work) -> Vec<String> {
        let wanted = part_names(&file.parts);
        let Some(raw) = &work.raw else {
            return seeded.to_vec();
        };
        let appended = match append(raw, file, seeded) {
            Ok(appended) => appended,
            Err(error) => {
                let missing: Vec<_> = wanted.into_iter().filter(|name| !seeded.contains(name)).collect();
                if !missing.is_empty() {
                    let (line, message) = (error.line, error.message);
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
        for import in appended.clashes {
            self.plan.notes.push(Note::Clash {
                path: path.to_owned(),
                import,
            });
        }
        for name in seeded.iter().filter(|name| !wanted.contains(name)) {
            if let Some(line) = source::line_of(raw, name) {
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
