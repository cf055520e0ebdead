//! Manifests as values with a fixed key order and comments, and their text.

use serde_json::Value;

use super::docs::is_bidirectional;

/// A YAML value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Yaml {
    Bool(bool),
    Number(serde_json::Number),
    Text(String),
    List(Vec<Yaml>),
    Map(Vec<(String, Yaml)>),
    Null,
    /// A comment above a list's item or a map's entry.
    Commented(String, Box<Yaml>),
}

/// A map with its keys in the order of writing.
macro_rules! map {
    ($($key:expr => $value:expr),* $(,)?) => {
        $crate::render::yaml::Yaml::Map(vec![$(($key.to_string(), $crate::render::yaml::Yaml::from($value))),*])
    };
}

/// A list.
macro_rules! list {
    ($($value:expr),* $(,)?) => {
        $crate::render::yaml::Yaml::List(vec![$($crate::render::yaml::Yaml::from($value)),*])
    };
}

pub(crate) use {list, map};

impl Yaml {
    pub(crate) fn comment(self, text: impl Into<String>) -> Self {
        Self::Commented(text.into(), Box::new(self))
    }

    /// Adds an entry at the end of a map.
    pub(crate) fn with(mut self, key: &str, value: impl Into<Yaml>) -> Self {
        if let Self::Map(entries) = &mut self {
            entries.push((key.to_owned(), value.into()));
        }
        self
    }

    /// As `with`, but only where there is something: empty lists and maps are not written.
    pub(crate) fn with_some(self, key: &str, value: impl Into<Yaml>) -> Self {
        let value = value.into();
        if value.is_empty() { self } else { self.with(key, value) }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::List(items) => items.is_empty(),
            Self::Map(entries) => entries.is_empty(),
            Self::Null => true,
            Self::Commented(_, value) => value.is_empty(),
            Self::Bool(_) | Self::Number(_) | Self::Text(_) => false,
        }
    }

    /// A whole object as people write it: identity first, the rest sorted.
    pub(crate) fn object(value: &Value) -> Self {
        let Self::Map(mut entries) = Self::from(value) else {
            return Self::from(value);
        };
        entries.sort_by_key(|(key, _)| rank(&["apiVersion", "kind", "metadata"], key));
        for (key, value) in &mut entries {
            if let (true, Self::Map(entries)) = (key == "metadata", value) {
                entries.sort_by_key(|(key, _)| rank(&["name", "namespace"], key));
            }
        }
        Self::Map(entries)
    }
}

fn rank(first: &[&str], key: &str) -> usize {
    first.iter().position(|known| *known == key).unwrap_or(first.len())
}

impl From<bool> for Yaml {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Yaml {
    fn from(value: i64) -> Self {
        Self::Number(value.into())
    }
}

impl From<u16> for Yaml {
    fn from(value: u16) -> Self {
        Self::Number(value.into())
    }
}

impl From<&str> for Yaml {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Yaml {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<&String> for Yaml {
    fn from(value: &String) -> Self {
        Self::Text(value.clone())
    }
}

impl<T: Into<Yaml>> From<Vec<T>> for Yaml {
    fn from(items: Vec<T>) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }
}

impl From<&Value> for Yaml {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => Self::Number(number.clone()),
            Value::String(text) => Self::Text(text.clone()),
            Value::Array(items) => Self::List(items.iter().map(Self::from).collect()),
            Value::Object(entries) => Self::Map(
                entries
                    .iter()
                    .map(|(key, value)| (key.clone(), Self::from(value)))
                    .collect(),
            ),
        }
    }
}

/// The text of one document, without a separator.
pub(crate) fn document(value: &Yaml) -> String {
    let mut text = String::new();
    write_block(&mut text, value, 0);
    text
}

/// The text of several documents in one file.
pub(crate) fn documents(values: &[Yaml]) -> String {
    values.iter().map(document).collect::<Vec<_>>().join("---\n")
}

fn write_block(out: &mut String, value: &Yaml, indent: usize) {
    match value {
        Yaml::Map(entries) if !entries.is_empty() => {
            for (key, value) in entries {
                let value = write_comments(out, value, indent);
                pad(out, indent);
                write_entry(out, key, value, indent);
            }
        }
        Yaml::List(items) if !items.is_empty() => {
            for item in items {
                write_item(out, item, indent);
            }
        }
        Yaml::Commented(..) => {
            let value = write_comments(out, value, indent);
            write_block(out, value, indent);
        }
        leaf => {
            pad(out, indent);
            write_leaf(out, leaf, indent);
        }
    }
}

fn write_comments<'a>(out: &mut String, mut value: &'a Yaml, indent: usize) -> &'a Yaml {
    while let Yaml::Commented(comment, inner) = value {
        for line in comment.lines() {
            pad(out, indent);
            out.push_str(format!("# {line}").trim_end());
            out.push('\n');
        }
        value = inner;
    }
    value
}

fn write_entry(out: &mut String, key: &str, value: &Yaml, indent: usize) {
    out.push_str(&scalar(key));
    out.push(':');
    match value {
        Yaml::Map(entries) if !entries.is_empty() => {
            out.push('\n');
            write_block(out, value, indent + 2);
        }
        // Items stand below their key without further indentation, as kubectl and kustomize write them.
        Yaml::List(items) if !items.is_empty() => {
            out.push('\n');
            write_block(out, value, indent);
        }
        leaf => {
            out.push(' ');
            write_leaf(out, leaf, indent + 2);
        }
    }
}

fn write_item(out: &mut String, item: &Yaml, indent: usize) {
    let item = write_comments(out, item, indent);
    match item {
        Yaml::Map(entries) if !entries.is_empty() => {
            let (key, value) = &entries[0];
            // There is no room for a comment behind the dash.
            let value = write_comments(out, value, indent);
            pad(out, indent);
            out.push_str("- ");
            write_entry(out, key, value, indent + 2);
            write_rest(out, &entries[1..], indent + 2);
        }
        Yaml::List(items) if !items.is_empty() => {
            pad(out, indent);
            out.push_str("-\n");
            write_block(out, item, indent + 2);
        }
        leaf => {
            pad(out, indent);
            out.push_str("- ");
            write_leaf(out, leaf, indent + 2);
        }
    }
}

fn write_rest(out: &mut String, entries: &[(String, Yaml)], indent: usize) {
    for (key, value) in entries {
        let value = write_comments(out, value, indent);
        pad(out, indent);
        write_entry(out, key, value, indent);
    }
}

fn write_leaf(out: &mut String, value: &Yaml, indent: usize) {
    match value {
        Yaml::Text(text) if is_block_text(text) => {
            out.push_str(if text.ends_with('\n') { "|\n" } else { "|-\n" });
            for line in text.lines() {
                if !line.is_empty() {
                    pad(out, indent.max(2));
                    out.push_str(line);
                }
                out.push('\n');
            }
            return;
        }
        Yaml::Text(text) => out.push_str(&scalar(text)),
        Yaml::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Yaml::Number(number) => out.push_str(&number_text(number)),
        Yaml::List(_) => out.push_str("[]"),
        Yaml::Map(_) => out.push_str("{}"),
        Yaml::Null => out.push_str("null"),
        Yaml::Commented(_, value) => return write_leaf(out, value, indent),
    }
    out.push('\n');
}

fn pad(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}

/// Whether a text can stand as a literal block and come back as it was.
fn is_block_text(text: &str) -> bool {
    text.trim_end_matches('\n').contains('\n')
        && !text.ends_with("\n\n")
        && !text.starts_with([' ', '\n', '\t'])
        && text
            .lines()
            .all(|line| !line.ends_with([' ', '\t', '\r']) && !line.starts_with('\t'))
        && text.chars().all(|c| c == '\n' || is_printable(c))
}

fn is_printable(c: char) -> bool {
    !c.is_control()
        && !is_bidirectional(c)
        && !matches!(
            c,
            '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
}

/// YAML 1.1 takes an exponent for a number only after a dot and with a sign.
fn number_text(number: &serde_json::Number) -> String {
    let text = number.to_string();
    let Some((mantissa, exponent)) = text.split_once('e') else {
        return text;
    };
    let mantissa = if mantissa.contains('.') {
        mantissa.to_owned()
    } else {
        format!("{mantissa}.0")
    };
    let exponent = if exponent.starts_with(['+', '-']) {
        exponent.to_owned()
    } else {
        format!("+{exponent}")
    };
    format!("{mantissa}e{exponent}")
}

/// A text or key on one line: plain where no reader of YAML 1.1 or 1.2 can take it for something else.
fn scalar(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { quoted(text) }
}

/// Words that YAML 1.1 or 1.2 take for booleans, null or merging.
const WORDS: [&str; 12] = [
    "y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan", "inf",
];

fn is_plain(text: &str) -> bool {
    let Some(first) = text.chars().next() else { return false };
    let starts_well = first.is_alphabetic() || matches!(first, '_' | '/') || (first == '.' && !looks_numeric(text));
    let inner = |c: char| c.is_alphanumeric() || " _-./:;,+=()<>'\"!?^@$~|*&%".contains(c);
    starts_well
        && text.chars().all(|c| inner(c) && is_printable(c))
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.ends_with([':', ' '])
        && !WORDS.contains(&text.to_ascii_lowercase().as_str())
}

fn looks_numeric(text: &str) -> bool {
    let rest = text.trim_start_matches('.');
    rest.is_empty()
        || rest.starts_with(|c: char| c.is_ascii_digit())
        || WORDS.contains(&rest.to_ascii_lowercase().as_str())
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if is_printable(c) => out.push(c),
            c => out.push_str(&escape(u32::from(c))),
        }
    }
    out.push('"');
    out
}

fn escape(code: u32) -> String {
    match code {
        0..=0xff => format!("\\x{code:02X}"),
        0x100..=0xffff => format!("\\u{code:04X}"),
        _ => format!("\\U{code:08X}"),
    }
}

#[cfg(test)]
mod tests;
