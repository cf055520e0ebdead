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

/// Why a pattern is none of RE2; Rust's own syntax is a little wider.
pub(crate) fn pattern_fault(pattern: &str) -> Option<String> {
    if let Some(part) = ["(?=", "(?!", "(?<=", "(?<!"]
        .into_iter()
        .find(|part| pattern.contains(part))
    {
        return Some(format!("look-around `{part}` is not part of it"));
    }
    let wide = ["&&", "--", "~~", "[["]
        .into_iter()
        .find(|part| class_holds(pattern, part));
    if let Some(part) = wide.filter(|part| *part != "[[" || !pattern.contains("[[:")) {
        return Some(format!("`{part}` within brackets is not part of it"));
    }
    let error = regex::Regex::new(pattern).err()?;
    let text = error.to_string();
    let reason = text
        .lines()
        .rev()
        .find_map(|line| line.trim().strip_prefix("error: "))
        .unwrap_or("not a pattern");
    Some(reason.replace(
        "look-around, including look-ahead and look-behind, is",
        "look-around is",
    ))
}

fn class_holds(pattern: &str, part: &str) -> bool {
    pattern
        .split('[')
        .skip(1)
        .any(|class| class.split(']').next().is_some_and(|class| class.contains(part)))
        || (part == "[[" && pattern.contains("[["))
}

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
        if let Some(option) = field.option(flag).filter(|_| !schema.keywords.contains_key(limit)) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_re2() {
        for good in [
            "^[a-z_]+$",
            r"\d+",
            "[[:alpha:]]",
            "a|b",
            "(?i)x",
            "^$",
            "a-b--c",
            r"[\-a]",
        ] {
            assert_eq!(pattern_fault(good), None, "{good}");
        }
        for bad in ["(?=a)", "(?<!a)b", r"(a)\1", "[a-z&&b]", "[[a]b]", "(", "a{2,1}"] {
            assert!(pattern_fault(bad).is_some(), "{bad}");
        }
    }
}
