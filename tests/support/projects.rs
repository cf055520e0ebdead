//! Generated projects, written to folders of their own and handed to cargo.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

use kopf_gen::model::RuntimeSource;
use kopf_gen::{Options, lock, lock::Lock, write};

use crate::workspace;

/// Whose turn it was last in the shared target folder.
static TURN: Mutex<Option<PathBuf>> = Mutex::new(None);

/// A generated project in a temporary folder.
#[derive(Debug)]
pub struct Project {
    folder: PathBuf,
    /// Removes the folder in the end.
    _temporary: tempfile::TempDir,
}

impl Project {
    /// Generates a spec, with the runtime of this workspace, so that all projects share one compiled copy.
    ///
    /// # Panics
    /// If the spec is not valid.
    #[must_use]
    pub fn of(spec: &str) -> Self {
        let options = Options::default().runtime(RuntimeSource::Path(workspace().display().to_string()));
        Self::generate(spec, &options)
    }

    /// Generates a spec as it is, by default with its own copy of the runtime.
    ///
    /// # Panics
    /// If the spec is not valid.
    #[must_use]
    pub fn vendored(spec: &str) -> Self {
        Self::generate(spec, &Options::default())
    }

    fn generate(spec: &str, options: &Options) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let generated = match kopf_gen::generate("operator.yaml", spec, options) {
            Ok(generated) => generated,
            Err(diagnostics) => panic!("{}", diagnostics.render(false)),
        };
        std::fs::write(folder.path().join("operator.yaml"), spec).expect("the folder is writable");
        let persistence = &generated.operator.persistence;
        let (prefix, finalizer) = (persistence.prefix.clone(), persistence.finalizer.clone());
        let record = Lock::new(generated.document.digest(), lock::Persistence { prefix, finalizer });
        let plan = write::plan(folder.path(), &generated.files, None, record, write::Options::default());
        plan.expect("nothing is in the way")
            .apply(folder.path())
            .expect("the project can be written");
        Self {
            folder: folder.path().to_owned(),
            _temporary: folder,
        }
    }

    /// The project in another place, whose folder must not exist yet.
    ///
    /// # Panics
    /// If it cannot be moved.
    #[must_use]
    pub fn moved_to(mut self, folder: &Path) -> Self {
        std::fs::rename(&self.folder, folder).expect("both are temporary folders");
        folder.clone_into(&mut self.folder);
        self
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Replaces a file of the project.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn put(&self, file: &str, text: &str) {
        std::fs::write(self.path().join(file), text).expect("the file can be written");
    }

    /// Runs cargo in the project, with the target folder that all projects share.
    ///
    /// # Panics
    /// If cargo cannot be started.
    pub fn cargo(&self, arguments: &[&str]) -> Output {
        let mut turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        self.run(&mut turn, arguments)
    }

    fn run(&self, turn: &mut Option<PathBuf>, arguments: &[&str]) -> Output {
        // To cargo, two projects of one name in one target folder are the same one, and what was built for the other
        // is newer than the sources of this one.
        if turn.as_deref() != Some(self.path()) {
            touch(&self.path().join("src"));
            touch(&self.path().join("tests"));
            *turn = Some(self.path().to_owned());
        }
        let mut command = Command::new("cargo");
        command
            .args(arguments)
            .current_dir(self.path())
            .env("CARGO_TARGET_DIR", target())
            .env("CARGO_TERM_COLOR", "never");
        // What the outer cargo says of this package must not be taken for the project's.
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") || name == "CARGO" {
                command.env_remove(name);
            }
        }
        command.output().expect("cargo can be started")
    }

    /// Runs cargo and expects success.
    ///
    /// # Panics
    /// With cargo's output, if it fails.
    pub fn cargo_ok(&self, arguments: &[&str]) {
        self.expect(arguments, &self.cargo(arguments));
    }

    fn expect(&self, arguments: &[&str], output: &Output) {
        let text = String::from_utf8_lossy(&output.stderr);
        let more = String::from_utf8_lossy(&output.stdout);
        let folder = self.path().display();
        assert!(
            output.status.success(),
            "cargo {} failed in {folder}:\n{text}{more}",
            arguments.join(" ")
        );
    }

    /// Builds the operator's program and says where it is.
    ///
    /// # Panics
    /// If it does not build.
    #[must_use]
    pub fn program(&self, name: &str) -> PathBuf {
        // Another project of that name is built into the same place.
        let mut turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let arguments = ["build", "--locked"];
        self.expect(&arguments, &self.run(&mut turn, &arguments));
        let copy = self.path().join(format!("{name}-program"));
        std::fs::copy(target().join("debug").join(name), &copy).expect("the program was built");
        copy
    }
}

/// One target folder for all generated projects, beside this test's own.
#[must_use]
pub fn target() -> PathBuf {
    let test = std::env::current_exe().expect("the test has a path");
    let target = test
        .ancestors()
        .nth(3)
        .expect("tests are built into target/<profile>/deps");
    target.join("projects")
}

/// Makes the sources below a folder newer than all that was built.
fn touch(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("the folder is readable").path();
        if path.is_dir() {
            touch(&path);
        } else {
            let file = std::fs::File::options()
                .append(true)
                .open(&path)
                .expect("the file is writable");
            file.set_modified(std::time::SystemTime::now())
                .expect("the file is writable");
        }
    }
}
