//! What a trial shows: sections of short, aligned lines on stdout.

use std::io::IsTerminal as _;
use std::time::Duration;
use std::{env, io};

use crate::cli::output;

/// How a text is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Bold,
    Quiet,
    Good,
    Careful,
    Bad,
}

/// The width of the labels of the first lines.
const FACTS: usize = 9;

/// The lines of a trial.
#[derive(Clone, Copy, Debug)]
pub(super) struct Screen {
    color: bool,
    /// Width of the labels below a step.
    labels: usize,
}

impl Screen {
    pub(super) fn new() -> Self {
        let plain = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            color: io::stdout().is_terminal() && !plain,
            labels: "status".len(),
        }
    }

    /// Makes the labels below a step as wide as the widest of these, within reason.
    pub(super) fn fit_labels(&mut self, labels: impl IntoIterator<Item = String>) {
        const WIDEST: usize = 24;
        let widths = labels.into_iter().map(|label| label.chars().count());
        let widest = widths.filter(|width| *width <= WIDEST).max().unwrap_or_default();
        self.labels = widest.max("status".len());
    }

    /// The operator, or an object.
    pub(super) fn heading(self, title: &str, aside: &str) {
        let aside = self.aside(aside);
        output::say(&format!("{}{aside}", self.paint(title, Tone::Bold)));
    }

    /// Something that is done.
    pub(super) fn done(self, label: &str, text: &str) {
        output::say(&format!("  {} {label:FACTS$}  {text}", self.mark(true)));
    }

    /// Something that is not going to be done.
    pub(super) fn failed(self, label: &str, text: &str) {
        output::say(&format!("  {} {label:FACTS$}  {text}", self.mark(false)));
    }

    /// The last line.
    pub(super) fn verdict(self, good: bool, text: &str) {
        output::say(&format!("{} {text}", self.mark(good)));
    }

    fn mark(self, good: bool) -> String {
        let (mark, tone) = if good { ("✓", Tone::Good) } else { ("✗", Tone::Bad) };
        self.paint(mark, tone)
    }

    /// What is done to an object.
    pub(super) fn step(self, name: &str, details: &str) {
        let details = self.aside(details);
        output::say(&format!("  {}{details}", self.paint(name, Tone::Bold)));
    }

    /// A line below a step; further lines of the text are aligned with its first one.
    pub(super) fn row(self, label: &str, text: &str, tone: Tone) {
        let width = self.labels;
        let mut label = format!("{label:width$}");
        for line in text.lines() {
            output::say(&format!("    {label}  {}", self.paint(line, tone)));
            label = " ".repeat(width);
        }
    }

    /// A line below a step, without a label.
    pub(super) fn line(self, text: &str, tone: Tone) {
        output::say(&format!("    {}", self.paint(text, tone)));
    }

    /// What stands beside a title.
    fn aside(self, text: &str) -> String {
        match text {
            "" => String::new(),
            text => format!("  {}", self.paint(text, Tone::Quiet)),
        }
    }

    pub(super) fn paint(self, text: &str, tone: Tone) -> String {
        let code = match tone {
            Tone::Plain => return text.to_owned(),
            Tone::Bold => 1,
            Tone::Quiet => 2,
            Tone::Good => 32,
            Tone::Careful => 33,
            Tone::Bad => 31,
        };
        if self.color {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

/// A blank line.
pub(super) fn blank() {
    output::say("");
}

/// `1 object`, `2 objects`.
pub(super) fn count(number: usize, noun: &str) -> String {
    if number == 1 {
        format!("1 {noun}")
    } else {
        format!("{number} {noun}s")
    }
}

/// `90s` as `1m30s`.
pub(super) fn duration(duration: Duration) -> String {
    let (seconds, millis) = (duration.as_secs(), duration.subsec_millis());
    if seconds == 0 {
        return format!("{millis}ms");
    }
    if seconds < 60 && millis > 0 {
        return format!("{}s", format!("{seconds}.{millis:03}").trim_end_matches('0'));
    }
    let parts = [(seconds / 3600, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s")];
    let shown = parts.iter().filter(|(number, _)| *number > 0);
    shown.fold(String::new(), |text, (number, unit)| text + &number.to_string() + unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short() {
        let texts = [0, 250, 1500, 60_000, 90_000, 3_600_000].map(|millis| duration(Duration::from_millis(millis)));
        assert_eq!(texts, ["0ms", "250ms", "1.5s", "1m", "1m30s", "1h"]);
    }
}
