//! Writes single values into the text of a spec and leaves every other byte alone.

use super::Document;
use crate::spec::{Entry, Mapping, Node};

impl Document {
    /// The text with `settings.persistence.prefix` and `finalizer` written in where absent.
    #[must_use]
    pub fn with_persistence(&self, prefix: &str, finalizer: &str) -> String {
        let text = self.text();
        let persistence = &self.spec.settings.persistence;
        let mut pairs = Vec::new();
        if persistence.prefix.is_none() {
            pairs.push(("prefix", scalar(prefix)));
        }
        if persistence.finalizer.is_none() {
            pairs.push(("finalizer", scalar(finalizer)));
        }
        let Some(top) = self.root.as_mapping().filter(|_| !pairs.is_empty()) else {
            return text.to_string();
        };
        let editor = Editor {
            text,
            newline: if text.contains("\r\n") {
                "\r\n"
            } else if text.contains('\n') || !text.contains('\r') {
                "\n"
            } else {
                "\r"
            },
        };
        let Some(settings) = find(top, "settings") else {
            return editor.new_settings(top, &self.root, &pairs);
        };
        match settings.value.as_mapping() {
            None => editor.fill_empty(settings, &format!("{{persistence: {}}}", flow(&pairs))),
            Some(inner) => match find(inner, "persistence") {
                None => editor.insert(settings, inner, &[("persistence", flow(&pairs))]),
                Some(entry) => match entry.value.as_mapping() {
                    None => editor.fill_empty(entry, &flow(&pairs)),
                    Some(inner) => editor.insert(entry, inner, &pairs),
                },
            },
        }
    }
}

fn find<'m>(mapping: &'m Mapping, key: &str) -> Option<&'m Entry> {
    mapping.entries.iter().find(|entry| entry.key.value == key)
}

/// Qualified names are plain in YAML, unless they could be read as a number.
fn scalar(text: &str) -> String {
    if text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        text.to_string()
    } else {
        format!("\"{text}\"")
    }
}

fn flow(pairs: &[(&str, String)]) -> String {
    let pairs: Vec<String> = pairs.iter().map(|(key, value)| format!("{key}: {value}")).collect();
    format!("{{{}}}", pairs.join(", "))
}

struct Editor<'t> {
    text: &'t str,
    newline: &'static str,
}

impl Editor<'_> {
    fn with(&self, at: usize, piece: &str) -> String {
        format!("{}{piece}{}", &self.text[..at], &self.text[at..])
    }

    /// A whole `settings` block, in front of `resources` as in all examples.
    fn new_settings(&self, top: &Mapping, root: &Node, pairs: &[(&str, String)]) -> String {
        if top.flow {
            let flow = format!("{{persistence: {}}}", flow(pairs));
            return self.insert_flow(root.span.start, top, &[("settings", flow)]);
        }
        let Some(place) = find(top, "resources").or(top.entries.last()) else {
            return self.text.to_string();
        };
        let (line, indent) = self.line_and_indent(place);
        let newline = self.newline;
        let inner = self.lines(pairs, &format!("{indent}    "));
        let block = format!("{indent}settings:{newline}{indent}  persistence:{newline}{inner}");
        self.with(self.above_comments(line), &block)
    }

    fn lines(&self, pairs: &[(&str, String)], indent: &str) -> String {
        let lines: Vec<String> = pairs
            .iter()
            .map(|(key, value)| format!("{indent}{key}: {value}{}", self.newline))
            .collect();
        lines.concat()
    }

    fn line_start(&self, offset: usize) -> usize {
        self.text[..offset].rfind(['\n', '\r']).map_or(0, |index| index + 1)
    }

    fn line_and_indent(&self, entry: &Entry) -> (usize, &str) {
        let start = entry.key.span.start;
        let line = self.line_start(start);
        let before = &self.text[line..start];
        // A key may stand behind a question mark.
        let indent = before.len() - before.trim_start_matches(' ').len();
        (line, &before[..indent])
    }

    /// The start of the comment lines directly above a line, but not of those that open the file.
    fn above_comments(&self, line: usize) -> usize {
        let mut start = line;
        while start > 0 {
            let behind = if self.text[..start].ends_with("\r\n") { 2 } else { 1 };
            let above = self.line_start(start - behind);
            if !self.text[above..start].trim_start().starts_with('#') {
                return start;
            }
            start = above;
        }
        line
    }

    /// New pairs in front of the first one of a mapping, or behind the last of its scalars.
    fn insert(&self, owner: &Entry, mapping: &Mapping, pairs: &[(&str, String)]) -> String {
        if mapping.flow {
            return self.insert_flow(owner.value.span.start, mapping, pairs);
        }
        let (Some(first), Some(last)) = (mapping.entries.first(), mapping.entries.last()) else {
            return self.text.to_string();
        };
        let (line, indent) = self.line_and_indent(first);
        let newline = self.newline;
        let block = self.lines(pairs, indent);
        let on_one_line = |entry: &Entry| {
            let span = entry.value.span;
            entry.value.as_scalar().is_some() && !self.text[span.start..span.end].contains(['\n', '\r'])
        };
        if !on_one_line(last) {
            return self.with(self.above_comments(line), &block);
        }
        match self.text[last.value.span.end..].find(newline) {
            Some(rest) => self.with(last.value.span.end + rest + newline.len(), &block),
            None => format!("{}{newline}{block}", self.text),
        }
    }

    fn insert_flow(&self, brace: usize, mapping: &Mapping, pairs: &[(&str, String)]) -> String {
        let pairs: Vec<String> = pairs.iter().map(|(key, value)| format!("{key}: {value}")).collect();
        let pairs = pairs.join(", ");
        match mapping.entries.last() {
            Some(last) if last.value.as_scalar().is_some() && last.value.span.end > last.key.span.end => {
                self.with(last.value.span.end, &format!(", {pairs}"))
            }
            Some(_) => self.with(brace + 1, &format!("{pairs}, ")),
            None => self.with(brace + 1, &pairs),
        }
    }

    /// A key without a value, or with `null`, gets one.
    fn fill_empty(&self, entry: &Entry, value: &str) -> String {
        let span = entry.value.span;
        let written = self.text.get(span.start..span.end).unwrap_or_default();
        if !written.is_empty() {
            return format!("{}{value}{}", &self.text[..span.start], &self.text[span.end..]);
        }
        let colon = self.text[entry.key.span.end..]
            .find(':')
            .map_or(0, |index| entry.key.span.end + index + 1);
        self.with(colon, &format!(" {value}"))
    }
}
