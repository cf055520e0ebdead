//! Descriptions as doc comments: the same words, but nothing that rustdoc or clippy takes for markup gone wrong.

use std::fmt::Write as _;

/// The lines of a doc comment, without a leading space.
pub(super) fn lines(description: &str) -> Vec<String> {
    let text = description.replace("\r\n", "\n").replace(['\r', '\t'], " ");
    let text = text.trim();
    let lists = has_clean_lists(text);
    if text.is_empty() {
        return Vec::new();
    }
    let mut code = CodeSpans::default();
    text.lines()
        .map(|line| mend_start(line, lists))
        .map(|line| mend_inside(&line, &mut code))
        .collect()
}

/// Whether each item of a list is on one line, so that none has a lazy continuation.
fn has_clean_lists(text: &str) -> bool {
    text.lines()
        .zip(text.lines().skip(1))
        .all(|(line, next)| !is_list_item(line) || next.trim().is_empty() || is_list_item(next))
}

fn is_list_item(line: &str) -> bool {
    let line = line.trim_start();
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = digits.len() < line.len() && (digits.starts_with(". ") || digits.starts_with(") "));
    numbered || line.starts_with("- ") || line.starts_with("* ") || line.starts_with("+ ")
}

/// Indentation would make a code block, which `cargo test` runs.
fn mend_start(line: &str, lists: bool) -> String {
    let line = line.trim();
    if line.starts_with("```") || line.starts_with("~~~") || line.starts_with('>') {
        return format!("\\{line}");
    }
    if !lists && is_list_item(line) {
        let at = line.find(|c: char| !c.is_ascii_digit()).unwrap_or_default();
        return format!("{}\\{}", &line[..at], &line[at..]);
    }
    line.to_owned()
}

#[derive(Default)]
struct CodeSpans {
    /// Length of the run of backticks that opened the span.
    open: usize,
}

fn mend_inside(line: &str, code: &mut CodeSpans) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        if c == '\\' && code.open == 0 && rest.len() > 1 {
            let escaped = rest.chars().nth(1).map_or(1, |next| 1 + next.len_utf8());
            out.push_str(&rest[..escaped]);
            rest = &rest[escaped..];
        } else if c == '`' {
            let run = rest.len() - rest.trim_start_matches('`').len();
            let closes = code.open == run;
            let opens = code.open == 0 && closed_later(&rest[run..], run);
            code.open = if closes {
                0
            } else if opens {
                run
            } else {
                code.open
            };
            let plain = !closes && !opens && code.open == 0;
            out.push_str(&if plain { "\\`".repeat(run) } else { "`".repeat(run) });
            rest = &rest[run..];
        } else if code.open == 0 && (rest.starts_with("https://") || rest.starts_with("http://")) {
            let url = url(rest);
            out.extend(["<", url, ">"]);
            rest = &rest[url.len()..];
        } else if is_bidirectional(c) {
            // rustc refuses what makes text look different from what it is.
            write!(out, "U+{:04X}", u32::from(c)).expect("a String takes all");
            rest = &rest[c.len_utf8()..];
        } else {
            if code.open == 0 && matches!(c, '[' | ']' | '<') {
                out.push('\\');
            }
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

/// Whether a character changes the direction of the text behind it.
pub(super) fn is_bidirectional(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Spans end on their line here; Markdown would let them run on.
fn closed_later(rest: &str, run: usize) -> bool {
    let mut rest = rest;
    while let Some(at) = rest.find('`') {
        let found = rest[at..].len() - rest[at..].trim_start_matches('`').len();
        if found == run {
            return true;
        }
        rest = &rest[at + found..];
    }
    false
}

fn url(text: &str) -> &str {
    let end = text
        .find(|c: char| c.is_whitespace() || "<>[]`\"'".contains(c))
        .unwrap_or(text.len());
    text[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', ')'])
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn words_stay_and_markup_is_escaped() {
        let cases = [
            ("Plain.", vec!["Plain."]),
            ("See [x] and Vec<T>.", vec!["See \\[x\\] and Vec\\<T>."]),
            ("In `a[0]<T>` it is code", vec!["In `a[0]<T>` it is code"]),
            ("a ` alone [x]", vec!["a \\` alone \\[x\\]"]),
            ("At https://example.com/a.", vec!["At <https://example.com/a>."]),
            ("two\n\n    lines", vec!["two", "", "lines"]),
            ("```\nlet x;\n```", vec!["\\`\\`\\`", "let x;", "\\`\\`\\`"]),
            ("- a\n- b", vec!["- a", "- b"]),
            ("- a\nlazy", vec!["\\- a", "lazy"]),
            ("1. a\nlazy", vec!["1\\. a", "lazy"]),
            ("a\u{202e}b `c\u{2066}`", vec!["aU+202Eb `cU+2066`"]),
            ("", vec![]),
        ];
        for (description, expected) in cases {
            assert_eq!(lines(description), expected, "{description}");
        }
    }
}
