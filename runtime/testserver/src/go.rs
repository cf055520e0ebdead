//! Values as the server's messages print them: in the notation of Go.

use std::fmt::Write as _;

use serde_json::{Number, Value};

/// A value in the sentence of a fault: texts are quoted, nothing is `"null"`.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "\"null\"".into(),
        other => literal(other),
    }
}

/// A value as a literal of the language.
pub(crate) fn literal(value: &Value) -> String {
    let join = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::Null => "interface {}(nil)".into(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => plain(number),
        Value::String(text) => quoted(text),
        Value::Array(items) => format!("[]interface {{}}{{{}}}", join(items.iter().map(literal).collect())),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(key, value)| format!("{}:{}", quoted(key), literal(value)));
            format!("map[string]interface {{}}{{{}}}", join(fields.collect()))
        }
    }
}

/// A number without needless digits.
pub(crate) fn plain(number: &Number) -> String {
    match number.as_f64().filter(|_| number.is_f64()) {
        Some(float) => float_text(float),
        None => number.to_string(),
    }
}

/// A fraction, with an exponent if it is far from one.
pub(crate) fn float_text(float: f64) -> String {
    let scientific = format!("{float:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if float == 0.0 || (-4..6).contains(&exponent) {
        return float.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// A text in double quotes.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            control if control.is_ascii_control() => {
                // Writing to a text cannot fail.
                let _ = write!(quoted, "\\x{:02x}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// What Go's JSON decoder calls a value.
pub(crate) fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_printed_as_literals() {
        let value = json!({"b": [1, null], "a": {"x": "y\n"}, "c": true, "d": 1.5});
        assert_eq!(
            shown(&value),
            "map[string]interface {}{\"a\":map[string]interface {}{\"x\":\"y\\n\"}, \
             \"b\":[]interface {}{1, interface {}(nil)}, \"c\":true, \"d\":1.5}"
        );
        assert_eq!(shown(&Value::Null), "\"null\"");
    }

    #[test]
    fn fractions_are_short() {
        for (float, text) in [
            (1.0, "1"),
            (0.5, "0.5"),
            (1e6, "1e+06"),
            (123_456.5, "123456.5"),
            (1e-7, "1e-07"),
            (0.0, "0"),
        ] {
            assert_eq!(float_text(float), text);
        }
    }
}
