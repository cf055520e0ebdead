//! Patterns in the syntax of RE2, which is nearly that of the regular expressions here.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use regex::Regex;

/// A pattern that was compiled, or why it cannot be.
pub(crate) type Pattern = Result<Regex, String>;

/// Compiles a pattern, once in the life of the process.
pub(crate) fn pattern(text: &str) -> Arc<Pattern> {
    static KNOWN: LazyLock<Mutex<HashMap<String, Arc<Pattern>>>> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(known.entry(text.to_owned()).or_insert_with(|| Arc::new(compile(text))))
}

fn compile(text: &str) -> Pattern {
    for group in ["(?=", "(?!", "(?<=", "(?<!"] {
        if text.contains(group) {
            let shown = &group[..group.len().min(3)];
            return Err(format!(
                "error parsing regexp: invalid or unsupported Perl syntax: `{shown}`"
            ));
        }
    }
    Regex::new(&translate(text)).map_err(|error| {
        let error = error.to_string();
        let reason = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
        let reason = match reason {
            "unclosed group" => "missing closing )",
            "unopened group" => "unexpected )",
            "unclosed character class" => "missing closing ]",
            other => other,
        };
        format!("error parsing regexp: {reason}: `{text}`")
    })
}

/// Rewrites what means something else here: classes know only ASCII, and have no operators.
fn translate(text: &str) -> String {
    let mut translated = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    let mut in_class = false;
    while let Some(character) = characters.next() {
        match character {
            '\\' => {
                let escaped = characters.next().unwrap_or('\\');
                match (escaped, in_class) {
                    ('d', true) => translated.push_str("0-9"),
                    ('w', true) => translated.push_str("0-9A-Za-z_"),
                    ('s', true) => translated.push_str("\\t\\n\\f\\r "),
                    ('d', false) => translated.push_str("[0-9]"),
                    ('w', false) => translated.push_str("[0-9A-Za-z_]"),
                    ('s', false) => translated.push_str("[\\t\\n\\f\\r ]"),
                    ('D', _) => translated.push_str("[^0-9]"),
                    ('W', _) => translated.push_str("[^0-9A-Za-z_]"),
                    ('S', _) => translated.push_str("[^\\t\\n\\f\\r ]"),
                    ('b', false) => translated.push_str("(?-u:\\b)"),
                    ('Q', false) => {
                        let rest: String = characters.by_ref().collect();
                        let (literal, rest) = rest.split_once("\\E").unwrap_or((&rest, ""));
                        return translated + &regex::escape(literal) + &translate(rest);
                    }
                    _ => translated.extend(['\\', escaped]),
                }
            }
            '[' if !in_class => {
                in_class = true;
                translated.push('[');
                // A bracket that comes first stands for itself.
                if characters.next_if_eq(&'^').is_some() {
                    translated.push('^');
                }
                if characters.next_if_eq(&']').is_some() {
                    translated.push_str("\\]");
                }
            }
            '[' if characters.peek() != Some(&':') => translated.push_str("\\["),
            '[' => {
                // A named class ends with a bracket of its own.
                translated.push('[');
                for inner in characters.by_ref() {
                    translated.push(inner);
                    if inner == ']' {
                        break;
                    }
                }
            }
            ']' if in_class => {
                in_class = false;
                translated.push(']');
            }
            '&' | '~' if in_class => translated.extend(['\\', character]),
            other => translated.push(other),
        }
    }
    translated
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_match(text: &str, value: &str) -> bool {
        let pattern = pattern(text);
        pattern
            .as_ref()
            .as_ref()
            .unwrap_or_else(|error| panic!("{error}"))
            .is_match(value)
    }

    #[test]
    fn classes_know_only_ascii() {
        assert!(is_match(r"^\d+$", "12"));
        assert!(!is_match(r"^\d+$", "١٢"));
        assert!(is_match(r"^[\w.]+$", "a_1."));
        assert!(!is_match(r"^[\w.]+$", "é"));
    }

    #[test]
    fn classes_have_no_operators() {
        assert!(is_match(r"^[a&&b]+$", "a&b"));
        assert!(is_match(r"^[[a]+$", "[a"));
        assert!(is_match(r"^[]a]+$", "]a"));
        assert!(is_match(r"^[[:alpha:]]+$", "abc"));
    }

    #[test]
    fn quoted_parts_are_literal() {
        assert!(is_match(r"^\Qa.b\E.$", "a.bc"));
        assert!(!is_match(r"^\Qa.b\E.$", "axbc"));
    }

    #[test]
    fn other_syntax_is_refused() {
        for text in ["(?=a)", "(?<!a)b", "(", r"(a)\1"] {
            assert!(pattern(text).is_err(), "{text}");
        }
    }
}
