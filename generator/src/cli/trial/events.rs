//! Kubernetes events about one object, as a table.

use serde_json::Value;

/// The rows of the table, oldest event first; equal ones in a row are counted.
pub(super) fn table(events: &[Value]) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let time = |event: &Value| match event["eventTime"].as_str() {
        Some(time) => time.to_owned(),
        None => text(&event["lastTimestamp"]),
    };
    let mut sorted: Vec<&Value> = events.iter().collect();
    sorted.sort_by_key(|event| time(event));

    let mut rows: Vec<([String; 3], u64)> = Vec::new();
    for event in sorted {
        let row = [text(&event["type"]), text(&event["reason"]), text(&event["message"])];
        let times = event["count"].as_u64().unwrap_or(1);
        match rows.last_mut() {
            Some((last, count)) if *last == row => *count += times,
            _ => rows.push((row, times)),
        }
    }
    let width = |column: usize| rows.iter().map(|(row, _)| row[column].chars().count()).max();
    let (types, reasons) = (width(0).unwrap_or_default(), width(1).unwrap_or_default());
    let line = |([kind, reason, message], times): &([String; 3], u64)| {
        let line = format!("{kind:types$}  {reason:reasons$}  {message}");
        if *times > 1 {
            format!("{line}  (x{times})")
        } else {
            line
        }
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_are_aligned_in_the_order_of_time() {
        let event = |second: &str, kind: &str, reason: &str, message: &str| {
            let time = format!("2026-01-02T03:04:{second}Z");
            json!({"eventTime": time, "type": kind, "reason": reason, "message": message, "count": 1})
        };
        let events = [
            event("07.000000", "Warning", "InvalidSpec", "It does not fit"),
            event("05.000000", "Normal", "Logging", "Created"),
            event("06.000000", "Normal", "Logging", "Checked"),
            event("06.500000", "Normal", "Logging", "Checked"),
        ];
        assert_eq!(
            table(&events),
            [
                "Normal   Logging      Created",
                "Normal   Logging      Checked  (x2)",
                "Warning  InvalidSpec  It does not fit",
            ]
        );
    }
}
