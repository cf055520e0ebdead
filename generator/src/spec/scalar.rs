//! What a scalar stands for: YAML 1.2, with the booleans `true` and `false` alone.

use serde_json::{Number, Value};

use super::tree::{Content, Node, Scalar};
use crate::diagnostic::{Code, Diagnostic, quote_it};

/// What a scalar stands for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reading {
    /// Text.
    Text,
    /// Nothing, `~` or `null`.
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// Decimal, without leading zeros.
    Integer(i64),
    /// With a dot or an exponent.
    Float(f64),
    /// Something that readers of YAML disagree on, such as `yes` or `0x10`; with what some take it for.
    Ambiguous(&'static str),
}

impl Reading {
    /// What it is, for messages.
    #[must_use]
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Null => "empty",
            Self::Boolean(_) => "a boolean",
            Self::Integer(_) | Self::Float(_) => "a number",
            Self::Ambiguous(taken_for) => taken_for,
        }
    }
}

impl Scalar {
    /// What it stands for.
    #[must_use]
    pub(crate) fn reading(&self) -> Reading {
        if self.plain { plain(&self.text) } else { Reading::Text }
    }
}

fn plain(text: &str) -> Reading {
    match text {
        "" | "~" | "null" => return Reading::Null,
        "true" => return Reading::Boolean(true),
        "false" => return Reading::Boolean(false),
        _ => {}
    }
    match text.to_ascii_lowercase().as_str() {
        "true" | "false" | "yes" | "no" | "on" | "off" => return Reading::Ambiguous("a boolean"),
        "null" => return Reading::Ambiguous("null"),
        ".inf" | "-.inf" | "+.inf" | ".nan" => return Reading::Ambiguous("a number"),
        _ => {}
    }
    if is_date(text) {
        return Reading::Ambiguous("a date");
    }
    number(text)
}

fn number(text: &str) -> Reading {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let starts_like_a_number = digits.starts_with(|c: char| c.is_ascii_digit())
        || digits
            .strip_prefix('.')
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if !starts_like_a_number {
        return Reading::Text;
    }
    let odd_base = digits
        .strip_prefix("0x")
        .is_some_and(|rest| rest.chars().all(|c| c.is_ascii_hexdigit() || c == '_'))
        || digits
            .strip_prefix("0o")
            .is_some_and(|rest| rest.chars().all(|c| ('0'..='7').contains(&c)))
        || digits
            .strip_prefix("0b")
            .is_some_and(|rest| rest.chars().all(|c| c == '0' || c == '1'));
    let underscored = digits.contains('_') && digits.chars().all(|c| c.is_ascii_digit() || c == '_');
    if odd_base || underscored {
        return Reading::Ambiguous("a number");
    }
    if digits.chars().all(|c| c.is_ascii_digit()) {
        let zeros_first = digits.len() > 1 && digits.starts_with('0');
        return match text.parse() {
            Ok(integer) if !zeros_first => Reading::Integer(integer),
            _ => Reading::Ambiguous("a number"),
        };
    }
    if digits
        .chars()
        .all(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-'))
        && let Some(float) = text.parse::<f64>().ok().filter(|float| float.is_finite())
    {
        return Reading::Float(float);
    }
    Reading::Text
}

fn is_date(text: &str) -> bool {
    let day = text.split(['T', 't', ' ']).next().unwrap_or_default();
    let parts: Vec<&str> = day.split('-').collect();
    parts.len() == 3
        && parts[0].len() == 4
        && parts[1..].iter().all(|part| matches!(part.len(), 1 | 2))
        && parts.iter().all(|part| part.chars().all(|c| c.is_ascii_digit()))
}

impl Node {
    /// The node as JSON; values that readers of YAML disagree on are faults.
    pub(crate) fn to_json(&self, faults: &mut Vec<Diagnostic>) -> Value {
        match &self.content {
            Content::Sequence(items) => items.iter().map(|item| item.to_json(faults)).collect(),
            Content::Mapping(mapping) => {
                let pairs = mapping.entries.iter();
                Value::Object(
                    pairs
                        .map(|entry| (entry.key.value.clone(), entry.value.to_json(faults)))
                        .collect(),
                )
            }
            Content::Scalar(scalar) => match scalar.reading() {
                Reading::Text => Value::String(scalar.text.clone()),
                Reading::Null => Value::Null,
                Reading::Boolean(boolean) => Value::Bool(boolean),
                Reading::Integer(integer) => Value::Number(integer.into()),
                Reading::Float(float) => Number::from_f64(float).map_or(Value::Null, Value::Number),
                Reading::Ambiguous(taken_for) => {
                    let message = format!("readers of YAML disagree on `{}`: text or {taken_for}", scalar.text);
                    let help = format!("quote it if it is text: \"{}\"{}", scalar.text, otherwise(&scalar.text));
                    faults.push(Diagnostic::error(Code::QuoteIt, self.span, message).help(help));
                    Value::String(scalar.text.clone())
                }
            },
        }
    }

    /// The text of a node that must be text.
    pub(crate) fn to_text(&self, what: &str, faults: &mut Vec<Diagnostic>) -> Option<String> {
        if self.names_variable() {
            faults.push(crate::diagnostic::no_variable(self.span, what, "text"));
            return None;
        }
        let Content::Scalar(scalar) = &self.content else {
            faults.push(crate::diagnostic::wrong_type(self.span, what, "text", self.kind()));
            return None;
        };
        match scalar.reading() {
            Reading::Text => return Some(scalar.text.clone()),
            Reading::Null if scalar.text.is_empty() => {
                faults.push(crate::diagnostic::wrong_type(self.span, what, "text", "empty"));
            }
            Reading::Null => faults.push(quote_it(self.span, what, &scalar.text, "null")),
            reading => faults.push(quote_it(self.span, what, &scalar.text, reading.kind())),
        }
        None
    }
}

fn otherwise(text: &str) -> &'static str {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => "; else write true",
        "false" | "no" | "off" => "; else write false",
        "null" => "; else write null",
        _ => "; else write a decimal number",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars_are_read_as_yaml_1_2() {
        for (text, reading) in [
            ("", Reading::Null),
            ("~", Reading::Null),
            ("true", Reading::Boolean(true)),
            ("12", Reading::Integer(12)),
            ("-3", Reading::Integer(-3)),
            ("1.5", Reading::Float(1.5)),
            ("1e3", Reading::Float(1000.0)),
            ("1m30s", Reading::Text),
            ("4abc", Reading::Text),
            ("string | required=true", Reading::Text),
            ("1.2.3", Reading::Text),
            ("-", Reading::Text),
            ("yes", Reading::Ambiguous("a boolean")),
            ("True", Reading::Ambiguous("a boolean")),
            ("0x10", Reading::Ambiguous("a number")),
            ("012", Reading::Ambiguous("a number")),
            ("1_000", Reading::Ambiguous("a number")),
            ("2024-01-01", Reading::Ambiguous("a date")),
        ] {
            assert_eq!(plain(text), reading, "{text}");
        }
    }
}
