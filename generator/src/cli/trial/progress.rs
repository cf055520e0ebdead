//! How far cargo is, read from what it writes on stderr, and shown in one line.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// How often a line is written where none can be replaced.
const PAUSE: Duration = Duration::from_secs(10);

/// A line of cargo's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CargoLine {
    /// How far it is, or what it waits for, in short.
    Progress(String),
    /// Anything else that only says what cargo does.
    Chatter,
    /// What the compiler or cargo has to say, with its colours.
    Message(String),
}

impl CargoLine {
    /// Reads a line, with or without colours.
    pub(super) fn read(line: &str) -> Self {
        let plain = without_escapes(line);
        let text = plain.trim();
        if let Some(progress) = bar(text) {
            return Self::Progress(progress);
        }
        // rustc never indents the first word of a message; cargo right-aligns its own.
        let (verb, rest) = text.split_once(' ').unwrap_or((text, ""));
        match verb {
            _ if !plain.starts_with(' ') => Self::Message(line.trim_end().to_owned()),
            "Blocking" => Self::Progress(rest.to_owned()),
            "Downloading" | "Updating" => Self::Progress(format!("{} {rest}", verb.to_lowercase())),
            "Adding" | "Building" | "Compiling" | "Dirty" | "Downloaded" | "Fetch" | "Finished" | "Fresh"
            | "Locking" | "Waiting" => Self::Chatter,
            _ => Self::Message(line.trim_end().to_owned()),
        }
    }
}

/// `Building [=====>    ] 34/137: serde(build), kube-core` as `34/137 serde`.
fn bar(line: &str) -> Option<String> {
    let (_, rest) = line.strip_prefix("Building [")?.split_once("] ")?;
    let (numbers, packages) = rest.split_once(':').unwrap_or((rest, ""));
    let package = packages.split([',', '(']).next().unwrap_or_default();
    let package = package.trim().trim_end_matches("...");
    Some(format!("{numbers} {package}").trim_end().to_owned())
}

fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = after
            .find(|char: char| char.is_ascii_alphabetic())
            .map_or("", |end| &after[end + 1..]);
    }
    plain + rest
}

/// The next line that is not empty, ended by a line feed or a carriage return.
pub(super) async fn next_line(reader: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    loop {
        match reader.read_u8().await {
            Ok(b'\n' | b'\r') if line.is_empty() => {}
            Ok(b'\n' | b'\r') => break,
            Ok(byte) => line.push(byte),
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(error),
            Err(_) if line.is_empty() => return Ok(None),
            Err(_) => break,
        }
    }
    Ok(Some(String::from_utf8_lossy(&line).into_owned()))
}

/// The line that shows the progress: replaced on a terminal, elsewhere written now and then.
#[derive(Debug)]
pub(super) struct Meter {
    what: String,
    live: bool,
    written: Instant,
    last: String,
}

impl Meter {
    pub(super) fn new(what: String) -> Self {
        Self {
            what,
            live: io::stderr().is_terminal(),
            written: Instant::now(),
            last: String::new(),
        }
    }

    /// Shows how far it is. A wait for another cargo is said at once, since nothing else comes until its end.
    pub(super) fn show(&mut self, text: &str) {
        let is_due = self.live || text.starts_with("waiting") || self.written.elapsed() >= PAUSE;
        if text == self.last || !is_due {
            return;
        }
        let line: String = format!("  {}: {text}", self.what).chars().take(78).collect();
        // Nobody needs progress that cannot be written.
        drop(if self.live {
            write!(io::stderr(), "\r\u{1b}[K{line}").and_then(|()| io::stderr().flush())
        } else {
            writeln!(io::stderr(), "{line}")
        });
        self.written = Instant::now();
        text.clone_into(&mut self.last);
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        if self.live && !self.last.is_empty() {
            drop(write!(io::stderr(), "\r\u{1b}[K").and_then(|()| io::stderr().flush()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_is_read_through_its_colours() {
        let progress = |text: &str| CargoLine::Progress(text.into());
        let line =
            "\u{1b}[K\u{1b}[1m\u{1b}[96m    Building\u{1b}[0m [=====>     ] 87/137: kube-client, hyper(build)...   ";
        assert_eq!(CargoLine::read(line), progress("87/137 kube-client"));
        assert_eq!(
            CargoLine::read("    Building [      ] 0/1: pp(bin)   "),
            progress("0/1 pp")
        );
        let line = "    Blocking waiting for file lock on build directory";
        assert_eq!(
            CargoLine::read(line),
            progress("waiting for file lock on build directory")
        );
    }

    #[test]
    fn messages_are_told_from_what_cargo_does() {
        for line in [
            "\u{1b}[1m\u{1b}[92m   Compiling\u{1b}[0m serde v1.0.0",
            "    Finished `dev` profile in 0.65s",
        ] {
            assert_eq!(CargoLine::read(line), CargoLine::Chatter);
        }
        for line in [
            "error[E0308]: mismatched types",
            "  --> src/main.rs:3:5",
            "Compiling is hard",
            "   |",
        ] {
            assert_eq!(CargoLine::read(line), CargoLine::Message(line.into()));
        }
    }

    #[tokio::test]
    async fn lines_end_at_carriage_returns_too() {
        let mut text = &b"one\r\ntwo\rthree"[..];
        for line in [Some("one"), Some("two"), Some("three"), None] {
            assert_eq!(next_line(&mut text).await.unwrap().as_deref(), line);
        }
    }
}
