//! The one-line syntax of a field: `TYPE | key=value key="text with spaces"`.

use super::reader::Faults;
use crate::diagnostic::{Code, Diagnostic, Span, cut_by_yaml};
use crate::spec::{FieldOption, OptionValue, Spanned, TypeExpr, TypeForm};

/// The text of a field and its place in the file.
pub(super) struct Line<'t> {
    pub(super) text: &'t str,
    /// Where its first character stands, unless quoting changed the text.
    pub(super) verbatim: Option<usize>,
    /// The whole scalar.
    pub(super) whole: Span,
}

impl Line<'_> {
    fn span(&self, start: usize, end: usize) -> Span {
        self.verbatim
            .map_or(self.whole, |first| Span::new(first + start, first + end))
    }

    fn fault(&self, start: usize, end: usize, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(Code::FieldSyntax, self.span(start, end), message)
    }
}

pub(super) fn parse(line: &Line<'_>, faults: &mut Faults) -> Option<(TypeExpr, Vec<FieldOption>)> {
    let bar = line.text.find('|');
    let end = bar.unwrap_or(line.text.len());
    check_depth(line, end, faults)?;
    let expr = type_expr(line, 0, end, faults)?;
    let options = match bar {
        Some(bar) => options(line, bar + 1, faults)?,
        None => Vec::new(),
    };
    Some((expr, options))
}

pub(super) fn type_only(line: &Line<'_>, faults: &mut Faults) -> Option<TypeExpr> {
    if let Some(bar) = line.text.find('|') {
        let message = "`$type` holds a type alone";
        faults.push(
            line.fault(bar, line.text.len(), message)
                .help("write the options as keys beside `$type`"),
        );
        return None;
    }
    check_depth(line, line.text.len(), faults)?;
    type_expr(line, 0, line.text.len(), faults)
}

/// Lists and maps within each other, in one type.
const DEPTH: usize = 64;

fn check_depth(line: &Line<'_>, end: usize, faults: &mut Faults) -> Option<()> {
    let depth = line.text[..end].matches(']').count();
    if depth <= DEPTH {
        return Some(());
    }
    let message = format!("a type of {depth} lists and maps in each other, more than {DEPTH}");
    faults.push(Diagnostic::error(Code::TooLarge, line.span(0, end), message));
    None
}

fn type_expr(line: &Line<'_>, start: usize, end: usize, faults: &mut Faults) -> Option<TypeExpr> {
    let text = &line.text[start..end];
    let start = start + text.len() - text.trim_start().len();
    let text = text.trim();
    let end = start + text.len();
    let span = line.span(start, end);
    if let Some(item) = text.strip_prefix("[]") {
        let item = type_expr(line, end - item.len(), end, faults)?;
        return Some(TypeExpr {
            span,
            form: TypeForm::List(Box::new(item)),
        });
    }
    if let Some(rest) = text.strip_prefix("map[") {
        let Some(value) = rest.strip_prefix("string]") else {
            faults.push(
                line.fault(start, end, "keys of a map are strings")
                    .help("write map[string]TYPE"),
            );
            return None;
        };
        let value = type_expr(line, end - value.len(), end, faults)?;
        return Some(TypeExpr {
            span,
            form: TypeForm::Map(Box::new(value)),
        });
    }
    if text.is_empty() {
        faults.push(
            line.fault(start, end.max(start), "a field needs a type")
                .help("write TYPE | key=value …"),
        );
        return None;
    }
    if let Some(index) = text.find(char::is_whitespace) {
        let at = start + index + text[index..].len() - text[index..].trim_start().len();
        let fault = line.fault(at, end, format!("`{}` follows the type", text[index..].trim_start()));
        let like_options = text[index..].contains('=');
        faults.push(fault.help(if like_options {
            "options stand behind a bar: TYPE | key=value …"
        } else {
            "a type is one word"
        }));
        return None;
    }
    Some(TypeExpr {
        span,
        form: TypeForm::Named(text.to_string()),
    })
}

fn options(line: &Line<'_>, start: usize, faults: &mut Faults) -> Option<Vec<FieldOption>> {
    let mut options: Vec<FieldOption> = Vec::new();
    let mut at = start;
    loop {
        at += line.text[at..].len() - line.text[at..].trim_start().len();
        if at >= line.text.len() {
            break;
        }
        let (option, end) = option(line, at, faults)?;
        if options.iter().any(|other| other.key.value == option.key.value) {
            let message = format!("`{}` is given twice", option.key.value);
            faults.push(Diagnostic::error(Code::DuplicateKey, option.key.span, message));
        } else {
            options.push(option);
        }
        at = end;
    }
    Some(options)
}

fn option(line: &Line<'_>, start: usize, faults: &mut Faults) -> Option<(FieldOption, usize)> {
    let rest = &line.text[start..];
    let length = rest.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(rest.len());
    let key = &rest[..length];
    if !rest[length..].starts_with('=') || key.is_empty() {
        let fault = line.fault(start, start + length.max(1), format!("`{}` is no option", word(rest)));
        let flags = [
            "required",
            "nullable",
            "immutable",
            "deprecated",
            "exclusiveMinimum",
            "exclusiveMaximum",
        ];
        let help = if flags.contains(&key) {
            format!("write {key}=true")
        } else {
            "an option is key=value; a value with spaces stands in double quotes, or in the long form: {$type: …, key: …}".to_string()
        };
        faults.push(fault.help(help));
        return None;
    }
    let from = start + length + 1;
    let (value, end) = value(line, from, faults)?;
    let key = Spanned::new(key.to_string(), line.span(start, start + length));
    Some((FieldOption { key, value }, end))
}

fn word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

/// In quotes only `\"` is an escape, so that patterns stay as they are.
fn value(line: &Line<'_>, start: usize, faults: &mut Faults) -> Option<(OptionValue, usize)> {
    let rest = &line.text[start..];
    if !rest.starts_with('"') {
        let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
        if length == 0 {
            faults.push(
                line.fault(start.saturating_sub(1), start, "an option has no value")
                    .help("write key=value"),
            );
            return None;
        }
        let text = rest[..length].to_string();
        return Some((
            OptionValue::Line {
                text,
                quoted: false,
                span: line.span(start, start + length),
            },
            start + length,
        ));
    }
    let mut text = String::new();
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((index, character)) = characters.next() {
        match character {
            '\\' if characters.peek().is_some_and(|(_, next)| *next == '"') => {
                text.push('"');
                characters.next();
            }
            '"' => {
                let end = start + index + 1;
                if line.text[end..].starts_with(|c: char| !c.is_whitespace()) {
                    let message = format!("`{}` follows the closing quote", word(&line.text[end..]));
                    faults.push(
                        line.fault(end, line.text.len(), message)
                            .help("separate options with a space"),
                    );
                    return None;
                }
                return Some((
                    OptionValue::Line {
                        text,
                        quoted: true,
                        span: line.span(start, end),
                    },
                    end,
                ));
            }
            other => text.push(other),
        }
    }
    let span = line.span(start, line.text.len());
    faults.push(if line.verbatim.is_none_or(|first| first == line.whole.start) {
        cut_by_yaml(span, "the double quote is not closed: YAML has cut this line")
    } else {
        Diagnostic::error(Code::FieldSyntax, span, "the double quote is not closed")
    });
    None
}
