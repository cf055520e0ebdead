//! How far cargo is, read from what it writes on stderr, and shown in one line.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// How often a line is written where none can be replaced.
const PAUSE: Duration = Duration::from_secs(10);

/// A line of cargo's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CargoLine {
    /// The progress bar.
    Building { done: usize, total: usize, package: String },
    /// Anything else that only says what cargo does.
    Doing(String),
    /// What the compiler or cargo has to say, with its colours.
    Message(String),
}

impl CargoLine {
    /// Reads a line, with or without colours.
    pub(super) fn read(line: &str) -> Self {
        let plain = without_escapes(line);
        let plain = plain.trim();
        if let Some((done, total, package)) = bar(plain) {
            return Self::Building { done, total, package };
        }
        // rustc never indents the first word of a message; cargo right-aligns its own to twelve columns.
        let verb = plain.split(' ').next().unwrap_or_default();
        let indented = without_escapes(line).starts_with(' ') || verb.len() >= 12;
        match verb {
            "Adding" | "Blocking" | "Building" | "Compiling" | "Dirty" | "Downloaded" | "Downloading" | "Fetch"
            | "Finished" | "Fresh" | "Locking" | "Updating" | "Waiting"
                if indented =>
            {
                Self::Doing(plain.to_owned())
            }
            _ => Self::Message(line.trim_end().to_owned()),
        }
    }
}

/// `Building [=====>    ] 34/137: serde(build), kube-core`.
fn bar(line: &str) -> Option<(usize, usize, String)> {
    let (_, rest) = line.strip_prefix("Building [")?.split_once("] ")?;
    let (numbers, packages) = rest.split_once(':').unwrap_or((rest, ""));
    let (done, total) = numbers.trim().split_once('/')?;
    let package = packages.split(',').next().unwrap_or_default();
    let package = package
        .split('(')
        .next()
        .unwrap_or_default()
        .trim()
        .trim_end_matches("...");
    Some((done.parse().ok()?, total.parse().ok()?, package.to_owned()))
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

/// Cuts a stream at line feeds and carriage returns.
#[derive(Debug, Default)]
pub(super) struct Cutter(Vec<u8>);

impl Cutter {
    /// The lines that are complete now, without empty ones.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        for byte in bytes {
            if matches!(byte, b'\n' | b'\r') {
                lines.extend(self.end());
            } else {
                self.0.push(*byte);
            }
        }
        lines
    }

    /// The last line, if it has no end.
    pub(super) fn end(&mut self) -> Option<String> {
        let line = String::from_utf8_lossy(&std::mem::take(&mut self.0)).into_owned();
        Some(line).filter(|line| !line.is_empty())
    }
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

    /// Shows a line of cargo's, if there is anything to see in it.
    pub(super) fn show(&mut self, line: &CargoLine) {
        let text = match line {
            CargoLine::Building { done, total, package } => format!("{done}/{total} {package}"),
            CargoLine::Doing(text)
                if ["Blocking", "Updating", "Down"]
                    .iter()
                    .any(|verb| text.starts_with(verb)) =>
            {
                text[..1].to_lowercase() + &text[1..]
            }
            CargoLine::Doing(_) | CargoLine::Message(_) => return,
        };
        if text == self.last || !(self.live || self.written.elapsed() >= PAUSE) {
            return;
        }
        let line: String = format!("  {}: {}", self.what, text.trim_end())
            .chars()
            .take(78)
            .collect();
        // Nobody needs progress that cannot be written.
        drop(if self.live {
            write!(io::stderr(), "\r\u{1b}[K{line}").and_then(|()| io::stderr().flush())
        } else {
            writeln!(io::stderr(), "{line}")
        });
        self.written = Instant::now();
        self.last = text;
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
        let line =
            "\u{1b}[K\u{1b}[1m\u{1b}[96m    Building\u{1b}[0m [=====>     ] 87/137: kube-client, hyper(build)...   ";
        let read = CargoLine::read(line);
        assert_eq!(
            read,
            CargoLine::Building {
                done: 87,
                total: 137,
                package: "kube-client".into()
            }
        );
        let read = CargoLine::read("    Building [      ] 0/1: pp(bin)   ");
        assert_eq!(
            read,
            CargoLine::Building {
                done: 0,
                total: 1,
                package: "pp".into()
            }
        );
    }

    #[test]
    fn messages_are_told_from_what_cargo_does() {
        let doing = |line: &str| matches!(CargoLine::read(line), CargoLine::Doing(_));
        assert!(doing("\u{1b}[1m\u{1b}[92m   Compiling\u{1b}[0m serde v1.0.0"));
        assert!(doing("    Blocking waiting for file lock on build directory"));
        assert!(doing("    Finished `dev` profile in 0.65s"));
        for line in [
            "error[E0308]: mismatched types",
            "  --> src/main.rs:3:5",
            "Compiling is hard",
            "   |",
        ] {
            assert_eq!(CargoLine::read(line), CargoLine::Message(line.into()));
        }
    }

    #[test]
    fn lines_end_at_carriage_returns_too() {
        let mut cutter = Cutter::default();
        assert_eq!(cutter.feed(b"one\r\ntw"), ["one"]);
        assert_eq!(cutter.feed(b"o\r"), ["two"]);
        assert_eq!(cutter.feed(b"three"), Vec::<String>::new());
        assert_eq!(cutter.end().as_deref(), Some("three"));
        assert_eq!(cutter.end(), None);
    }
}
