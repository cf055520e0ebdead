//! Log records of a test, for its assertions.

use std::io;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use tracing::Dispatch;
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;

use super::{LogFormat, Verbosity, format, layer};

/// The log of this thread since [`capture`] was called; dropping it ends that.
#[must_use = "dropping it ends the capture"]
#[derive(Debug)]
pub struct Captured {
    written: Written,
    _guard: DefaultGuard,
}

/// Keeps the log of this thread, with posting as in [`init`](super::init).
///
/// Tests on tokio's current-thread runtime run the operator on the thread of the test, so that this is all of its log
/// but that of blocking functions. Lines are as with `--log-format=plain`.
///
/// ```
/// use kopf_runtime::logging::{Verbosity, capture};
///
/// let log = capture(Verbosity::Normal);
/// tracing::info!("Filled the cart");
/// assert!(log.text().contains("Filled the cart"));
/// ```
pub fn capture(verbosity: Verbosity) -> Captured {
    let written = Written::default();
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(written.clone())
        .with_ansi(false)
        .event_format(format::Lines(LogFormat::Plain));
    let subscriber = tracing_subscriber::registry()
        .with(verbosity.filter())
        .with(layer())
        .with(lines);
    LazyLock::force(&SECOND);
    let guard = tracing::subscriber::set_default(subscriber);
    Captured { written, _guard: guard }
}

/// Where one subscriber is all there is, a place in the code that another thread comes by first counts as unwanted by
/// all: whether records are wanted is then asked of that thread. A second one makes it asked of everybody.
static SECOND: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(tracing_subscriber::registry()));

impl Captured {
    /// Everything logged so far, one record a line.
    #[must_use]
    pub fn text(&self) -> String {
        let bytes = self.written.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

#[derive(Clone, Debug, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Written {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_kept_until_the_capture_ends() {
        let log = capture(Verbosity::Quiet);
        tracing::warn!(retry = 2, "Trouble");
        tracing::info!("No trouble");
        assert_eq!(log.text(), "Trouble retry=2\n");
        drop(log);
        let later = capture(Verbosity::Quiet);
        assert_eq!(later.text(), "");
    }
}
