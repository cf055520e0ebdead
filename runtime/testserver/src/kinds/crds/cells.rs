//! Cells of the columns that a definition asks for.

use jiff::Timestamp;
use jiff::civil::Date;
use serde_json::{Value, json};

use crate::go;
use crate::kinds::{Column, columns, jsonpath};

/// What a table shows of an object in a column: the first value at the path, if it fits the column's type.
pub(crate) fn cell(column: &Column, object: &Value, now: Timestamp) -> Value {
    let values = jsonpath::evaluate(&column.path, object);
    let Some(&value) = values.first() else {
        return Value::Null;
    };
    match (column.kind.as_str(), value) {
        ("string", Value::Null) => json!("<no value>"),
        ("string", Value::String(text)) => json!(text),
        ("string", Value::Number(number)) => json!(go::plain(number)),
        ("string", other) => json!(other.to_string()),
        ("integer", Value::Number(number)) => number
            .as_f64()
            .filter(|_| number.is_f64())
            .map_or_else(|| value.clone(), |float| json!(truncated(float))),
        ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => value.clone(),
        ("date", Value::String(text)) if is_time(text) => json!(columns::age(value, now)),
        ("date", Value::String(_)) => json!("<invalid>"),
        _ => Value::Null,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a fraction in a column of whole numbers is cut"
)]
fn truncated(float: f64) -> i64 {
    float as i64
}

fn is_time(text: &str) -> bool {
    // A day alone is no time.
    text.parse::<Timestamp>().is_ok() && (text.len() > 10 || text.parse::<Date>().is_err())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_show_the_first_value_of_their_type() {
        let object = json!({
            "list": [{"n": "a"}, {"n": "b"}], "float": 2.5, "int": 3, "flag": true, "none": null,
            "time": "2020-01-01T00:00:00Z", "day": "2020-01-01",
        });
        let now = "2020-01-01T00:01:00Z".parse().unwrap();
        for (kind, path, value) in [
            ("string", ".list[*].n", json!("a")),
            ("string", ".list[0]", json!("{\"n\":\"a\"}")),
            ("string", ".float", json!("2.5")),
            ("string", ".flag", json!("true")),
            ("string", ".none", json!("<no value>")),
            ("string", ".missing", Value::Null),
            ("integer", ".float", json!(2)),
            ("integer", ".flag", Value::Null),
            ("number", ".int", json!(3)),
            ("boolean", ".flag", json!(true)),
            ("date", ".time", json!("60s")),
            ("date", ".day", json!("<invalid>")),
            ("date", ".int", Value::Null),
        ] {
            let column = Column {
                name: "X".into(),
                kind: kind.into(),
                path: path.into(),
                format: String::new(),
                description: String::new(),
                priority: 0,
            };
            assert_eq!(cell(&column, &object, now), value, "{kind} {path}");
        }
    }
}
