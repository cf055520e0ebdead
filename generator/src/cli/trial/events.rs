//! Kubernetes events about one object, as a table.

use serde_json::Value;

/// The rows of the table, oldest event first; equal ones in a row are counted.
pub(super) fn table(events: &[Value]) -> Vec<(String, bool)> {
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
    let width = |column: usize| {
        rows.iter()
            .map(|(row, _)| row[column].chars().count())
            .max()
            .unwrap_or_default()
    };
    let (types, reasons) = (width(0), width(1));
    let line = |(row, count): &([String; 3], u64)| {
        let [kind, reason, message] = row;
        let times = if *count > 1 {
            format!("  (x{count})")
        } else {
            String::new()
        };
        (
            format!("{kind:types$}  {reason:reasons$}  {message}{times}"),
            kind == "Warning",
        )
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_are_aligned_in_the_order_of_time() {
        let event = |at: &str, kind: &str, reason: &str, message: &str| json!({"eventTime": at, "type": kind, "reason": reason, "message": message, "count": 1});
        let events = [
            event(
                "2026-01-02T03:04:07.000000Z",
                "Warning",
                "InvalidSpec",
                "It does not fit",
            ),
            event("2026-01-02T03:04:05.000000Z", "Normal", "Logging", "Created"),
            event("2026-01-02T03:04:06.000000Z", "Normal", "Logging", "Checked"),
            event("2026-01-02T03:04:06.500000Z", "Normal", "Logging", "Checked"),
        ];
        let rows = table(&events);
        let lines: Vec<_> = rows.iter().map(|(line, _)| line.as_str()).collect();
        assert_eq!(
            lines,
            [
                "Normal   Logging      Created",
                "Normal   Logging      Checked  (x2)",
                "Warning  InvalidSpec  It does not fit",
            ]
        );
        assert_eq!(
            rows.iter().map(|(_, warning)| *warning).collect::<Vec<_>>(),
            [false, false, true]
        );
        assert_eq!(table(&[]), []);
    }
}
