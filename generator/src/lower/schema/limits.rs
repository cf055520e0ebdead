//! Limits that contradict each other, patterns, and checks without a bound.

use super::super::Faults;
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Scalar, Schema, Shape};
use crate::spec::FieldSpec;

/// Formats of strings that the API server checks.
pub(super) const FORMATS: &[&str] = &[
    "bsonobjectid",
    "byte",
    "cidr",
    "creditcard",
    "date",
    "date-time",
    "duration",
    "email",
    "hexcolor",
    "hostname",
    "ipv4",
    "ipv6",
    "isbn",
    "isbn10",
    "isbn13",
    "mac",
    "password",
    "rgbcolor",
    "ssn",
    "uri",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
];

pub(super) fn check(field: &FieldSpec, schema: &Schema, faults: &mut Faults) {
    for (least, most) in [
        ("minimum", "maximum"),
        ("minLength", "maxLength"),
        ("minItems", "maxItems"),
        ("minProperties", "maxProperties"),
    ] {
        let limit = |key: &str| schema.keywords.get(key).and_then(serde_json::Value::as_f64);
        let (Some(option), Some(low), Some(high)) = (field.option(least), limit(least), limit(most)) else {
            continue;
        };
        if low > high {
            let message = format!("`{least}` {low} is above `{most}` {high}: no value fits");
            faults.push(Diagnostic::error(Code::FieldOptionValue, option.value.span(), message));
        }
    }
    for (flag, limit) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        let lone = schema.keywords.contains_key(flag) && !schema.keywords.contains_key(limit);
        if let Some(option) = field.option(flag).filter(|_| lone) {
            let message = format!("`{flag}` without `{limit}`");
            faults.push(Diagnostic::error(Code::MisplacedFieldOption, option.key.span, message));
        }
    }
    let unbounded = matches!(schema.shape, Shape::Scalar(Scalar::String)) && !schema.keywords.contains_key("maxLength");
    if let Some(option) = field.option("pattern").or(field.option("rule")).filter(|_| unbounded) {
        let message = format!("`{}` on a string without `maxLength`", option.key.value);
        let fault = Diagnostic::warning(Code::UnboundedCheck, option.key.span, message);
        faults.push(fault.help("the API server budgets such checks by length: add maxLength=…"));
    }
}
