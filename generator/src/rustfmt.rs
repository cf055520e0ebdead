//! The few of rustfmt's rules that rendered text has to follow by itself.

use std::cmp::Ordering;

/// The width that rustfmt keeps to.
pub(crate) const WIDTH: usize = 100;

/// How wide several arguments of a call may be together.
pub(crate) const CALL_WIDTH: usize = 60;

/// How wide the fields of a struct may be together to stand on one line in a pattern.
pub(crate) const PATTERN_WIDTH: usize = 18;

/// The same with `, ..` behind them, so that the whole pattern stands on one line.
pub(crate) const PATTERN_REST: usize = PATTERN_WIDTH - 4;

/// How much wider than the line the type of a result may be, with the brace on the next line.
const LENIENCE: usize = 2;

/// One `use` item as rustfmt writes it; it leaves the last column free.
pub(crate) fn use_line(module: &str, mut names: Vec<&str>) -> String {
    const ROOM: usize = WIDTH - 1;
    names.sort_by(|a, b| version_order(a, b));
    if let [name] = names.as_slice() {
        return format!("use {module}::{name};");
    }
    let line = format!("use {module}::{{{}}};", names.join(", "));
    if line.len() < ROOM {
        return line;
    }
    let mut rows: Vec<String> = Vec::new();
    for name in names {
        match rows.last_mut() {
            Some(row) if row.len() + name.len() + 2 <= ROOM => row.extend([" ", name, ","]),
            _ => rows.push(format!("    {name},")),
        }
    }
    format!("use {module}::{{\n{}\n}};", rows.join("\n"))
}

/// The head of a function with one argument, up to its opening brace.
pub(crate) fn signature(indent: usize, name: &str, argument: &str, output: &str) -> String {
    let pad = " ".repeat(indent);
    let line = format!("{pad}{name}({argument}) {output} {{");
    if line.len() <= WIDTH && !argument.contains('\n') {
        return line;
    }
    let last = indent + 2 + output.len();
    // Where only the brace has no room, it goes on by itself.
    let fits = last <= WIDTH + LENIENCE;
    let brace = if fits && last + 2 > WIDTH {
        format!("\n{pad}{{")
    } else {
        " {".to_owned()
    };
    let output = if fits {
        output.to_owned()
    } else {
        wrapped(indent, 2, 2, output)
    };
    format!("{pad}{name}(\n{pad}    {argument},\n{pad}) {output}{brace}")
}

/// A type, its arguments on lines of their own if it does not fit between what stands `before` and `after` it.
fn wrapped(indent: usize, before: usize, after: usize, text: &str) -> String {
    let (Some((head, rest)), true) = (text.split_once('<'), indent + before + text.len() + after > WIDTH) else {
        return text.to_owned();
    };
    // Tuples are left as they are.
    if head.contains('(') {
        return text.to_owned();
    }
    let inner = indent + 4;
    let (pad, end) = (" ".repeat(inner), " ".repeat(indent));
    let arguments = arguments(rest.strip_suffix('>').unwrap_or(rest));
    let lines = arguments.map(|argument| format!("{pad}{},\n", wrapped(inner, 0, 1, argument)));
    format!("{head}<\n{}{end}>", lines.collect::<String>())
}

/// The types between the outermost angle brackets.
fn arguments(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    let is_outer_comma = move |c: char| {
        match c {
            '<' | '(' => depth += 1,
            '>' | ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    };
    text.split(is_outer_comma).map(str::trim)
}

/// Digits count as numbers, as in rustfmt since edition 2024.
pub(crate) fn version_order(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        let (x, y) = (number(a), number(b));
        let order = match (x, y) {
            (Some((x, _)), Some((y, _))) => x.cmp(&y),
            _ => a.chars().next().cmp(&b.chars().next()),
        };
        if order != Ordering::Equal || a.is_empty() {
            return order;
        }
        (a, b) = match (x, y) {
            (Some((_, x)), Some((_, y))) => (x, y),
            _ => (rest(a), rest(b)),
        };
    }
}

fn number(text: &str) -> Option<(u128, &str)> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    Some((text[..text.len() - rest.len()].parse().ok()?, rest))
}

fn rest(text: &str) -> &str {
    let mut chars = text.chars();
    chars.next();
    chars.as_str()
}

#[cfg(test)]
mod tests {
    use super::use_line;

    #[test]
    fn long_lists_are_filled_row_by_row() {
        let names: Vec<String> = (10..30).map(|number| format!("Result{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let text = use_line("crate::generated::item", names);
        assert!(text.lines().all(|line| line.len() <= 100), "{text}");
        assert!(
            text.starts_with("use crate::generated::item::{\n    Result10, Result11,"),
            "{text}"
        );
    }
}
