//! Turns one YAML operator spec into a Rust operator.
//!
//! The steps are [`mod@load`], [`mod@lower`], [`mod@render`] and [`mod@write`]; [`generate`] runs the first three, which
//! touch no disk.
//!
//! ```
//! let spec = "
//! apiVersion: kopf-gen.dev/v1alpha1
//! kind: OperatorSpec
//! metadata: {name: greeter}
//! resources:
//!   - apiVersion: demo.example.com/v1
//!     kind: Greeting
//!     spec:
//!       who: string | required=true
//!     handlers:
//!       - {type: create, fn: greet}
//! ";
//! let generated = kopf_gen::generate("operator.yaml", spec, &kopf_gen::Options::default())?;
//! assert!(generated.files.get("src/handlers/greeting.rs").is_some());
//! # Ok::<(), kopf_gen::diagnostic::Diagnostics>(())
//! ```

mod cargo_lock;
pub mod diagnostic;
pub mod fileset;
pub mod load;
pub mod lock;
pub mod lower;
pub mod matching;
pub mod model;
mod naming;
pub mod render;
mod rustfmt;
mod spec;
mod template;
pub mod write;

use diagnostic::Diagnostics;
use fileset::FileSet;
use load::Document;
use model::{Operator, RuntimeSource};

/// What a spec does not say.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// Takes the place of `project.runtime`.
    pub runtime: Option<RuntimeSource>,
}

impl Options {
    /// Takes the runtime from elsewhere than the spec says.
    #[must_use]
    pub fn runtime(mut self, runtime: RuntimeSource) -> Self {
        self.runtime = Some(runtime);
        self
    }
}

/// A project in memory.
#[derive(Debug)]
pub struct Generated {
    /// The spec as it was read.
    pub document: Document,
    /// The spec, resolved.
    pub operator: Operator,
    /// What is probably not as it was meant.
    pub warnings: Diagnostics,
    /// All files but the spec itself.
    pub files: FileSet,
}

/// Makes all files of a project out of its spec.
pub fn generate(file_name: &str, text: &str, options: &Options) -> Result<Generated, Diagnostics> {
    let document = load::load(file_name, text)?;
    let (mut operator, warnings) = lower::lower(&document)?;
    if let Some(runtime) = &options.runtime {
        operator.runtime = runtime.clone();
    }
    let files = render::render(&operator);
    Ok(Generated {
        document,
        operator,
        warnings,
        files,
    })
}
