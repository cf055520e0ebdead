//! Bounds of numbers; those of whole ones are whole too.

use serde_json::{Number, Value, json};

use crate::go;
use crate::schema::validate::Outcome;
use crate::status::Cause;

pub(super) fn check_number(schema: &Value, number: &Number, path: &str) -> Outcome {
    let mut outcome = Outcome {
        matches: 1,
        ..Outcome::default()
    };
    let value = json!(number);
    let fail = |outcome: &mut Outcome, detail: &str| {
        outcome.add(Cause::invalid(path, &value, &format!("{path} in body {detail}")));
    };
    let whole = number.as_i64();
    let factor = schema["multipleOf"].as_f64();
    match (factor, whole) {
        (Some(factor), Some(number)) => match truncated(factor) {
            positive if positive > 0 && number % positive == 0 => {}
            positive if positive > 0 => fail(&mut outcome, &format!("should be a multiple of {positive}")),
            other => {
                let detail = format!("factor MultipleOf declared for {path} must be positive: {other}");
                outcome.add(Cause::invalid(path, &json!(other), &detail));
            }
        },
        (Some(factor), None) if !is_multiple(number.as_f64().unwrap_or_default(), factor) => {
            fail(
                &mut outcome,
                &format!("should be a multiple of {}", go::float_text(factor)),
            );
        }
        _ => {}
    }
    for (bound, exclusive, word, sign) in [
        ("minimum", "exclusiveMinimum", "greater", 1.0),
        ("maximum", "exclusiveMaximum", "less", -1.0),
    ] {
        let Some(limit) = schema[bound].as_f64() else {
            continue;
        };
        let strict = schema[exclusive] == true;
        let (order, shown) = match whole {
            Some(number) => (number.cmp(&truncated(limit)), truncated(limit).to_string()),
            None => (
                number.as_f64().unwrap_or_default().total_cmp(&limit),
                go::float_text(limit),
            ),
        };
        let beyond = if sign > 0.0 { order.is_lt() } else { order.is_gt() };
        if beyond || (strict && order.is_eq()) {
            let or_equal = if strict { "" } else { " or equal to" };
            let detail = format!("{path} in body should be {word} than{or_equal} {shown}");
            outcome.add(Cause::invalid(path, &value, &detail));
        }
    }
    outcome
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "that is what happens to the bounds of whole numbers"
)]
fn truncated(bound: f64) -> i64 {
    bound as i64
}

fn is_multiple(number: f64, factor: f64) -> bool {
    let times = if factor < 1.0 {
        1.0 / factor * number
    } else {
        number / factor
    };
    (times - times.round()).abs() < 1e-9 * times.abs().max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(schema: &Value, number: &Value) -> Vec<String> {
        let Value::Number(number) = number else {
            panic!("{number} is no number");
        };
        check_number(schema, number, "n")
            .causes
            .into_iter()
            .map(|cause| cause.message)
            .collect()
    }

    #[test]
    fn bounds_may_be_exclusive() {
        let schema = json!({"minimum": 1, "maximum": 3, "exclusiveMaximum": true});
        assert_eq!(faults(&schema, &json!(1)), Vec::<String>::new());
        assert_eq!(
            faults(&schema, &json!(3)),
            ["Invalid value: 3: n in body should be less than 3"]
        );
        assert_eq!(
            faults(&schema, &json!(0.5)),
            ["Invalid value: 0.5: n in body should be greater than or equal to 1"]
        );
    }

    #[test]
    fn multiples_are_exact_enough() {
        assert_eq!(faults(&json!({"multipleOf": 0.1}), &json!(0.3)), Vec::<String>::new());
        assert_eq!(
            faults(&json!({"multipleOf": 3}), &json!(7)),
            ["Invalid value: 7: n in body should be a multiple of 3"]
        );
        assert_eq!(
            faults(&json!({"multipleOf": 0.5}), &json!(1)),
            ["Invalid value: 0: factor MultipleOf declared for n must be positive: 0"]
        );
    }
}
