//! Callers whose clocks are wrong.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// Moves all times in a value, and keeps their precision.
pub(crate) fn shift_times(value: &mut Value, by: SignedDuration) {
    match value {
        Value::String(text) => {
            if let Some(shifted) = shifted(text, by) {
                *text = shifted;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| shift_times(item, by)),
        Value::Object(fields) => fields.values_mut().for_each(|field| shift_times(field, by)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn shifted(text: &str, by: SignedDuration) -> Option<String> {
    // A date alone, or a number, is no point in time.
    if !text.contains('T') || !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let time: Timestamp = text.parse().ok()?;
    let time = time.checked_add(by).ok()?;
    let digits = text
        .split_once('.')
        .map_or(0, |(_, rest)| rest.chars().take_while(char::is_ascii_digit).count());
    Some(match digits {
        0 => time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        digits => format!("{:.*}", digits.min(9), time),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_are_moved_and_all_else_stays() {
        let mut body = json!({
            "renewTime": "2020-01-01T00:00:00.123456Z",
            "list": [{"lastseen": "2020-01-01T00:00:00+00:00"}],
            "other": ["2020-01-01", "Tuesday", 5, "2020T"],
        });
        shift_times(&mut body, SignedDuration::from_secs(-90));
        assert_eq!(
            body,
            json!({
                "renewTime": "2019-12-31T23:58:30.123456Z",
                "list": [{"lastseen": "2019-12-31T23:58:30Z"}],
                "other": ["2020-01-01", "Tuesday", 5, "2020T"],
            })
        );
    }
}
