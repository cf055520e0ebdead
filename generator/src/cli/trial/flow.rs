//! Values as short YAML, a line for each key.

use serde_json::{Map, Value};

/// What fits beside a label.
const WIDTH: usize = 90;

/// The lines of a mapping: each key with its value in flow style, or in block style where that is too long.
pub(super) fn lines(value: &Value) -> String {
    let Value::Object(entries) = value else {
        return flow(value);
    };
    let entry = |(key, value): (&String, &Value)| {
        let line = format!("{}: {}", text(key), flow(value));
        if line.chars().count() <= WIDTH {
            return line;
        }
        let block = Value::Object(Map::from_iter([(key.clone(), value.clone())]));
        serde_yaml::to_string(&block).map_or(line, |block| block.trim_end().to_owned())
    };
    entries.iter().map(entry).collect::<Vec<_>>().join("\n")
}

/// A value in flow style, on one line.
pub(super) fn flow(value: &Value) -> String {
    match value {
        Value::String(string) => text(string),
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Object(entries) => {
            let entry = |(key, value): (&String, &Value)| format!("{}: {}", text(key), flow(value));
            format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// A string without quotes wherever YAML surely reads it as one.
fn text(string: &str) -> String {
    const WORDS: [&str; 9] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    let plain = string.starts_with(|first: char| first.is_ascii_alphabetic())
        && string.ends_with(|last: char| last.is_ascii_alphanumeric() || last == '.')
        && string
            .chars()
            .all(|char| char.is_ascii_alphanumeric() || " _-./@+".contains(char))
        && !WORDS.contains(&string.to_ascii_lowercase().as_str());
    if plain {
        string.to_owned()
    } else {
        Value::from(string).to_string()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn short_values_stand_on_the_line_of_their_key() {
        let status = json!({"greet": {"message": "greet of hello is done", "retries": 2}, "phase": "Ready"});
        assert_eq!(
            lines(&status),
            "greet: {message: greet of hello is done, retries: 2}\nphase: Ready"
        );
    }

    #[test]
    fn long_values_become_blocks() {
        let status = json!({"conditions": [{"type": "Ready", "message": "x".repeat(WIDTH)}]});
        let text = lines(&status);
        assert!(text.starts_with("conditions:\n"), "{text}");
        assert_eq!(serde_yaml::from_str::<Value>(&text).unwrap(), status);
    }

    #[test]
    fn what_yaml_would_read_otherwise_is_quoted() {
        for string in [
            "", "yes", "null", "10", "5Gi", "a: b", "a #b", " a", "a ", "a\nb", "{a}", "-", "1.5",
        ] {
            assert!(text(string).starts_with('"'), "{string:?}");
            assert_eq!(serde_yaml::from_str::<Value>(&text(string)).unwrap(), json!(string));
        }
        for string in ["north", "a-b.c/d", "Greeting hello was created", "e1"] {
            assert_eq!(text(string), string);
            assert_eq!(serde_yaml::from_str::<Value>(string).unwrap(), json!(string));
        }
    }
}
