//! The columns that the real server prints of built-in kinds.

mod cells;
mod pods;
mod table;

pub(crate) use cells::selector_text;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::kinds::Kind;

/// A column of a built-in kind.
#[derive(Clone, Copy)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) kind: &'static str,
    /// Above zero in wide tables only.
    pub(crate) priority: i64,
    cell: fn(&Value, Timestamp) -> Value,
}

impl Column {
    pub(crate) fn cell(&self, object: &Value, now: Timestamp) -> Value {
        (self.cell)(object, now)
    }

    pub(crate) fn format(&self) -> &'static str {
        if self.name == "Name" { "name" } else { "" }
    }
}

/// The columns of a kind; those that every kind has, if it has none of its own.
pub(crate) fn of(kind: &Kind) -> &'static [Column] {
    let found = table::KINDS.iter().find(|(plural, _)| *plural == kind.plural);
    found.map_or(table::PLAIN, |(_, columns)| columns)
}

/// The time since a timestamp, in at most two units and three digits or so.
pub(crate) fn age(since: &Value, now: Timestamp) -> String {
    let Some(since) = since.as_str().and_then(|text| text.parse::<Timestamp>().ok()) else {
        return "<unknown>".into();
    };
    duration(now.duration_since(since))
}

fn duration(duration: SignedDuration) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    const YEAR: i64 = 365 * DAY;
    let seconds = duration.as_secs();
    let two = |large: i64, large_unit: &str, small: i64, small_unit: &str| {
        let (whole, rest) = (seconds / large, seconds % large / small);
        if rest == 0 {
            format!("{whole}{large_unit}")
        } else {
            format!("{whole}{large_unit}{rest}{small_unit}")
        }
    };
    match seconds {
        ..-1 => "<invalid>".into(),
        -1..=0 => "0s".into(),
        _ if seconds < 2 * MINUTE => format!("{seconds}s"),
        _ if seconds < 10 * MINUTE => two(MINUTE, "m", 1, "s"),
        _ if seconds < 3 * HOUR => format!("{}m", seconds / MINUTE),
        _ if seconds < 8 * HOUR => two(HOUR, "h", MINUTE, "m"),
        _ if seconds < 2 * DAY => format!("{}h", seconds / HOUR),
        _ if seconds < 8 * DAY => two(DAY, "d", HOUR, "h"),
        _ if seconds < 2 * YEAR => format!("{}d", seconds / DAY),
        _ if seconds < 8 * YEAR => two(YEAR, "y", DAY, "d"),
        _ => format!("{}y", seconds / YEAR),
    }
}

fn text(text: impl Into<String>) -> Value {
    json!(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Kinds;

    #[test]
    fn ages_are_short() {
        for (seconds, text) in [
            (-5, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (130, "2m10s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (10_860, "3h1m"),
            (28_800, "8h"),
            (172_800, "2d"),
            (180_000, "2d2h"),
            (700_000, "8d"),
            (64_000_000, "2y10d"),
            (300_000_000, "9y"),
        ] {
            assert_eq!(duration(SignedDuration::from_secs(seconds)), text, "{seconds}");
        }
        assert_eq!(age(&json!("nonsense"), Timestamp::UNIX_EPOCH), "<unknown>");
    }

    #[test]
    fn every_kind_of_the_table_exists_and_copes_with_empty_objects() {
        let kinds = Kinds::built_in();
        for (plural, columns) in table::KINDS {
            assert!(kinds.all().any(|kind| kind.plural == *plural), "{plural}");
            for object in [
                json!({}),
                json!({"spec": {}, "status": {}}),
                json!({"spec": 1, "status": []}),
            ] {
                for column in *columns {
                    column.cell(&object, Timestamp::UNIX_EPOCH);
                }
            }
        }
    }
}
