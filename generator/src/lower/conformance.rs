//! Whether a JSON value fits an `OpenAPI` schema, as far as the API server checks it.

use serde_json::{Map, Value};

use super::formats;
use super::patterns::{in_words, matches};

/// A misfit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Misfit {
    /// Keys and indices down to it.
    pub(super) path: Vec<String>,
    /// What is wrong.
    pub(super) message: String,
    /// The value is kept out by pruning rather than refused.
    pub(super) pruned: bool,
}

/// All misfits of a value.
pub(super) fn misfits(schema: &Map<String, Value>, value: &Value) -> Vec<Misfit> {
    let mut check = Check {
        path: Vec::new(),
        misfits: Vec::new(),
    };
    check.value(schema, value);
    check.misfits
}

struct Check {
    path: Vec<String>,
    misfits: Vec<Misfit>,
}

impl Check {
    fn misfit(&mut self, message: String) {
        self.misfits.push(Misfit {
            path: self.path.clone(),
            message,
            pruned: false,
        });
    }

    fn inner(&mut self, key: &str, schema: &Map<String, Value>, value: &Value) {
        self.path.push(key.to_string());
        self.value(schema, value);
        self.path.pop();
    }

    fn value(&mut self, schema: &Map<String, Value>, value: &Value) {
        if value.is_null() {
            let typed = schema.contains_key("type") || schema.contains_key("x-kubernetes-int-or-string");
            if typed && schema.get("nullable") != Some(&Value::Bool(true)) {
                self.misfit("cannot be null".to_string());
            }
            return;
        }
        if !self.has_type(schema, value) {
            return;
        }
        if let Some(Value::Array(values)) = schema.get("enum")
            && !values.contains(value)
        {
            let values: Vec<String> = values.iter().map(plain).collect();
            self.misfit(format!("must be one of {}, not {}", values.join(", "), plain(value)));
        }
        match value {
            Value::String(text) => self.text(schema, text),
            Value::Number(number) => self.number(schema, number.as_f64().unwrap_or_default()),
            Value::Array(items) => self.items(schema, items),
            Value::Object(object) => self.object(schema, object),
            _ => {}
        }
    }

    fn has_type(&mut self, schema: &Map<String, Value>, value: &Value) -> bool {
        if schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
            let fits = value.is_string() || value.is_i64();
            if !fits {
                self.misfit(format!("must be a whole number or text, not {}", kind(value)));
            }
            return fits;
        }
        let (wanted, fits) = match schema.get("type").and_then(Value::as_str) {
            Some("string") => ("text", value.is_string()),
            Some("integer") => ("a whole number", value.is_i64() || value.is_u64()),
            Some("number") => ("a number", value.is_number()),
            Some("boolean") => ("true or false", value.is_boolean()),
            Some("array") => ("a list", value.is_array()),
            Some("object") => ("a mapping", value.is_object()),
            _ => return true,
        };
        if !fits {
            self.misfit(format!("must be {wanted}, not {}", kind(value)));
        }
        fits
    }

    fn text(&mut self, schema: &Map<String, Value>, text: &str) {
        let length = text.chars().count() as u64;
        self.bounds(schema, "minLength", "maxLength", length, "characters");
        if let Some(pattern) = schema.get("pattern").and_then(Value::as_str)
            && matches(pattern, text) == Some(false)
        {
            self.misfit(format!("cannot be `{text}`, which {}", in_words(pattern)));
        }
        if let Some(fault) = schema
            .get("format")
            .and_then(Value::as_str)
            .and_then(|format| formats::fault(format, text))
        {
            self.misfit(fault);
        }
    }

    fn number(&mut self, schema: &Map<String, Value>, number: f64) {
        let limit = |key: &str| schema.get(key).and_then(Value::as_f64);
        let exclusive = |key: &str| schema.get(key) == Some(&Value::Bool(true));
        if let Some(minimum) = limit("minimum")
            && (number < minimum || (exclusive("exclusiveMinimum") && number <= minimum))
        {
            let bound = if exclusive("exclusiveMinimum") {
                "more than"
            } else {
                "at least"
            };
            self.misfit(format!("must be {bound} {minimum}, not {number}"));
        }
        if let Some(maximum) = limit("maximum")
            && (number > maximum || (exclusive("exclusiveMaximum") && number >= maximum))
        {
            let bound = if exclusive("exclusiveMaximum") {
                "less than"
            } else {
                "at most"
            };
            self.misfit(format!("must be {bound} {maximum}, not {number}"));
        }
        if let Some(factor) = limit("multipleOf").filter(|factor| *factor > 0.0) {
            let ratio = number / factor;
            if (ratio - ratio.round()).abs() > 1e-9 {
                self.misfit(format!("must be a multiple of {factor}, not {number}"));
            }
        }
        if schema.get("format").and_then(Value::as_str) == Some("int32") && number.abs() > f64::from(i32::MAX) {
            self.misfit(format!("must fit into 32 bits, not {number}"));
        }
    }

    fn items(&mut self, schema: &Map<String, Value>, items: &[Value]) {
        self.bounds(schema, "minItems", "maxItems", items.len() as u64, "items");
        let Some(Value::Object(item_schema)) = schema.get("items") else {
            return;
        };
        for (index, item) in items.iter().enumerate() {
            self.inner(&index.to_string(), item_schema, item);
        }
        self.distinct(schema, items);
    }

    fn distinct(&mut self, schema: &Map<String, Value>, items: &[Value]) {
        let keys: Vec<&str> = match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
            Some("set") => Vec::new(),
            Some("map") => match schema.get("x-kubernetes-list-map-keys") {
                Some(Value::Array(keys)) => keys.iter().filter_map(Value::as_str).collect(),
                _ => return,
            },
            _ => return,
        };
        let identity = |item: &Value| -> Value {
            if keys.is_empty() {
                item.clone()
            } else {
                keys.iter().map(|key| item.get(key).cloned()).collect()
            }
        };
        for (index, item) in items.iter().enumerate() {
            if items[..index].iter().any(|other| identity(other) == identity(item)) {
                self.path.push(index.to_string());
                self.misfit("stands twice in the list".to_string());
                self.path.pop();
            }
        }
    }

    fn object(&mut self, schema: &Map<String, Value>, object: &Map<String, Value>) {
        self.bounds(schema, "minProperties", "maxProperties", object.len() as u64, "entries");
        let properties = schema.get("properties").and_then(Value::as_object);
        if let Some(Value::Array(required)) = schema.get("required") {
            for key in required
                .iter()
                .filter_map(Value::as_str)
                .filter(|key| !object.contains_key(*key))
            {
                self.misfit(format!("has no `{key}`, which is required"));
            }
        }
        let open = schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true));
        let embedded = schema.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true));
        let additional = schema.get("additionalProperties");
        if embedded {
            self.identity(properties, object);
        }
        for (key, value) in object {
            match (properties.and_then(|properties| properties.get(key)), additional) {
                (Some(Value::Object(schema)), _) | (None, Some(Value::Object(schema))) => {
                    self.inner(key, schema, value);
                }
                (None, Some(Value::Bool(true))) => {}
                (None, _) if open => {}
                (None, _) if embedded && matches!(key.as_str(), "apiVersion" | "kind" | "metadata") => {}
                _ => {
                    let known = properties.into_iter().flat_map(Map::keys).map(String::as_str);
                    let hint = crate::diagnostic::did_you_mean(key, known);
                    let hint = hint.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
                    self.path.push(key.clone());
                    self.misfit(format!("is not in the schema{hint}"));
                    self.path.pop();
                    if let Some(last) = self.misfits.last_mut() {
                        last.pruned = true;
                    }
                }
            }
        }
    }

    /// What the server asks of an object within an object.
    fn identity(&mut self, properties: Option<&Map<String, Value>>, object: &Map<String, Value>) {
        for key in ["apiVersion", "kind"] {
            let has_default = || {
                let property = properties.and_then(|properties| properties.get(key));
                property.is_some_and(|property| property.get("default").is_some())
            };
            match object.get(key) {
                Some(Value::String(text)) if !text.is_empty() => {}
                None if has_default() => {}
                _ => self.misfit(format!("has no `{key}`, which an embedded object needs")),
            }
        }
        if object.get("metadata").is_some_and(|metadata| !metadata.is_object()) {
            self.misfit("has a `metadata` that is no mapping".to_string());
        }
    }

    fn bounds(&mut self, schema: &Map<String, Value>, least: &str, most: &str, count: u64, unit: &str) {
        if let Some(least) = schema.get(least).and_then(Value::as_u64).filter(|least| count < *least) {
            self.misfit(format!("has {count} {unit}, fewer than {least}"));
        }
        if let Some(most) = schema.get(most).and_then(Value::as_u64).filter(|most| count > *most) {
            self.misfit(format!("has {count} {unit}, more than {most}"));
        }
    }
}

pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), |text| format!("`{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn messages(schema: Value, value: &Value) -> Vec<String> {
        let Value::Object(schema) = schema else {
            panic!("a schema is a mapping")
        };
        misfits(&schema, value)
            .into_iter()
            .map(|misfit| format!("{}: {}", misfit.path.join("."), misfit.message))
            .collect()
    }

    #[test]
    fn values_are_held_against_their_schema() {
        let schema = json!({
            "type": "object",
            "required": ["name"],
            "properties": {
                "name": {"type": "string", "maxLength": 3, "pattern": "^[a-z]+$"},
                "size": {"type": "integer", "minimum": 1},
                "port": {"x-kubernetes-int-or-string": true},
                "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string", "enum": ["a", "b"]}},
                "more": {"type": "object", "additionalProperties": {"type": "boolean"}},
            }
        });
        assert!(
            messages(
                schema.clone(),
                &json!({"name": "abc", "size": 1, "port": "80%", "tags": ["a"], "more": {"x": true}})
            )
            .is_empty()
        );
        assert_eq!(
            messages(
                schema,
                &json!({"size": 0, "nam": "a", "port": 1.5, "tags": ["a", "a", "c"], "more": {"x": "y"}})
            ),
            [
                ": has no `name`, which is required",
                "more.x: must be true or false, not text",
                "nam: is not in the schema; did you mean `name`?",
                "port: must be a whole number or text, not a number",
                "size: must be at least 1, not 0",
                "tags.2: must be one of `a`, `b`, not `c`",
                "tags.1: stands twice in the list",
            ]
        );
    }
}
