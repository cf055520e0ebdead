//! Log output with Kopf's formats, and log records that become Kubernetes events.
//!
//! [`Operator::main`](crate::Operator::main) sets this up. A program with its own subscriber adds [`layer`] to it
//! for the posting of records.

mod capture;
mod format;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

pub use crate::engines::spans::layer;
pub use capture::{Captured, capture};
pub use format::LogFormat;

/// How much is logged (LOG-05).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verbosity {
    /// Warnings and errors.
    Quiet,
    /// Also what handlers and the operator did.
    #[default]
    Normal,
    /// Also why.
    Verbose,
    /// Also what the libraries underneath do.
    Debug,
}

impl Verbosity {
    fn filter(self) -> EnvFilter {
        EnvFilter::new(match self {
            Self::Quiet => "warn",
            Self::Normal => "info,kube_client=warn",
            Self::Verbose => "debug,hyper=info,hyper_util=info,kube_client=info,rustls=info,tower=info",
            Self::Debug => "debug",
        })
    }
}

/// Writes log records to the standard error stream from now on; does nothing if a subscriber is set already.
///
/// The variable `RUST_LOG`, if set, decides instead of `verbosity`.
pub fn init(verbosity: Verbosity, format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| verbosity.filter());
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .event_format(format::Lines(format));
    // A second initialization, in tests for instance, keeps the first one.
    let _ = tracing_subscriber::registry()
        .with(filter)
        .with(layer())
        .with(lines)
        .try_init();
}
