//! A value that fits a schema.

use serde_json::{Map, Value, json};

use super::conformance::misfits;

/// An example, a default, or the simplest value; only required fields are filled in.
pub(super) fn example(schema: &Map<String, Value>) -> Option<Value> {
    let given = ["example", "default"].iter().find_map(|key| schema.get(*key));
    let first = schema
        .get("enum")
        .and_then(Value::as_array)
        .and_then(|values| values.first());
    if let Some(value) = given.or(first) {
        return Some(value.clone());
    }
    if schema.get("x-kubernetes-int-or-string").is_some() {
        return Some(if schema.contains_key("pattern") {
            json!("1Gi")
        } else {
            json!(80)
        });
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => text(schema),
        Some("integer") => number(schema, true),
        Some("number") => number(schema, false),
        Some("boolean") => Some(json!(true)),
        Some("array") => list(schema),
        Some("object") => object(schema),
        _ => Some(json!({})),
    }
}

/// The value with something at a path, if the schema has room there.
pub(super) fn with_field(schema: &Map<String, Value>, value: &Value, path: &[&str]) -> Option<Value> {
    let Some((key, rest)) = path.split_first() else {
        return Some(value.clone());
    };
    let mut object = value.as_object()?.clone();
    let property = schema
        .get("properties")
        .and_then(|properties| properties.get(*key))
        .or_else(|| schema.get("additionalProperties"))
        .and_then(Value::as_object);
    let free = Map::new();
    let inner = match (object.get(*key).filter(|inner| !inner.is_null()), property) {
        (Some(inner), _) => inner.clone(),
        (None, Some(property)) => example(property)?,
        (None, None) if rest.is_empty() => json!("example"),
        (None, None) => json!({}),
    };
    let inner = with_field(property.unwrap_or(&free), &inner, rest)?;
    object.insert((*key).to_string(), inner);
    Some(Value::Object(object))
}

fn text(schema: &Map<String, Value>) -> Option<Value> {
    let by_format = match schema.get("format").and_then(Value::as_str) {
        Some("date-time") => "2026-01-31T12:00:00Z",
        Some("date") => "2026-01-31",
        Some("byte") => "a29wZg==",
        Some("duration") => "30s",
        Some("ipv4") => "192.0.2.1",
        Some("ipv6") => "2001:db8::1",
        Some("cidr") => "192.0.2.0/24",
        Some("mac") => "00:00:5e:00:53:01",
        Some("uri") => "https://example.com/",
        Some("email") => "someone@example.com",
        Some("hostname") => "example.com",
        Some("uuid" | "uuid4") => "7f1f5e0b-52a4-4c3f-9d3e-0c0f3c1f5a10",
        _ => "example",
    };
    let length = |key: &str| {
        schema
            .get(key)
            .and_then(Value::as_u64)
            .and_then(|length| usize::try_from(length).ok())
    };
    let least = length("minLength").unwrap_or(0).min(4096);
    let padded = format!("{by_format}{}", "x".repeat(least.saturating_sub(by_format.len())));
    let cut: String = padded.chars().take(length("maxLength").unwrap_or(usize::MAX)).collect();
    let candidates = [
        cut.as_str(),
        "a",
        "A",
        "1",
        "30s",
        "a1",
        "example.com",
        "a.b",
        "a/b",
        "1.0",
        "v1",
        "1.0.0",
    ];
    candidates
        .into_iter()
        .map(|candidate| json!(candidate))
        .find(|value| misfits(schema, value).is_empty())
}

fn number(schema: &Map<String, Value>, whole: bool) -> Option<Value> {
    let limit = |key: &str| schema.get(key).and_then(Value::as_f64);
    let factor = limit("multipleOf").unwrap_or(1.0);
    let minimum = limit("minimum");
    let start = minimum.map_or(1.0, |minimum| (minimum / factor).ceil() * factor);
    let mut candidates = vec![start, start + factor, factor, 0.0];
    candidates.extend(limit("maximum"));
    candidates.extend(
        limit("maximum")
            .zip(minimum)
            .map(|(maximum, minimum)| f64::midpoint(maximum, minimum)),
    );
    candidates
        .into_iter()
        .map(|candidate| {
            if whole || candidate.fract() == 0.0 {
                whole_number(candidate)
            } else {
                json!(candidate)
            }
        })
        .find(|value| misfits(schema, value).is_empty())
}

fn whole_number(number: f64) -> Value {
    format!("{number:.0}").parse::<i64>().map_or(Value::Null, Value::from)
}

fn list(schema: &Map<String, Value>) -> Option<Value> {
    let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0);
    if least == 0 {
        return Some(json!([]));
    }
    let Some(Value::Object(item)) = schema.get("items") else {
        return None;
    };
    let item = example(item)?;
    Some(Value::Array(vec![item; usize::try_from(least.min(64)).ok()?]))
}

fn object(schema: &Map<String, Value>) -> Option<Value> {
    let mut object = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object);
    for key in schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        let Some(Value::Object(property)) = properties.and_then(|properties| properties.get(key)) else {
            return None;
        };
        object.insert(key.to_string(), example(property)?);
    }
    if schema.get("x-kubernetes-embedded-resource").is_some() && object.is_empty() {
        return Some(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "example"}}));
    }
    Some(Value::Object(object))
}
