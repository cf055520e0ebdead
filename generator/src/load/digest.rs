//! What a spec says, without how it says it.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::Document;
use crate::spec::{Content, Node};

impl Document {
    /// SHA-256 in hexadecimal digits. Quoting, the order of keys and comments that describe nothing do not count;
    /// the order of lists and of the fields of a schema does, since the output follows it.
    #[must_use]
    pub fn digest(&self) -> String {
        let canonical = canonical(&self.root, &mut Vec::new()).to_string();
        Sha256::digest(canonical.as_bytes())
            .iter()
            .fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            })
    }
}

fn canonical(node: &Node, path: &mut Vec<String>) -> Value {
    match &node.content {
        Content::Scalar(scalar) => match node.to_json(&mut Vec::new()) {
            Value::String(_) => Value::String(scalar.text.clone()),
            other => other,
        },
        Content::Sequence(items) => items
            .iter()
            .map(|item| {
                path.push("[]".to_string());
                let value = with_comment(canonical(item, path), item.comment.as_ref().filter(|_| describes(path)));
                path.pop();
                value
            })
            .collect(),
        Content::Mapping(mapping) => {
            let mut pairs = BTreeMap::new();
            let mut order = Vec::new();
            for entry in &mapping.entries {
                path.push(entry.key.value.clone());
                let comment = entry.comment.as_ref().filter(|_| describes(path));
                pairs.insert(
                    entry.key.value.clone(),
                    with_comment(canonical(&entry.value, path), comment),
                );
                path.pop();
                order.push(entry.key.value.clone());
            }
            if is_schema(path) {
                json!([pairs, order])
            } else {
                json!(pairs)
            }
        }
    }
}

fn with_comment(value: Value, comment: Option<&String>) -> Value {
    match comment {
        Some(comment) => json!({"#": comment, "": value}),
        None => value,
    }
}

/// Whether a comment at this place describes something: a kind, or a field of its schemas.
fn describes(path: &[String]) -> bool {
    path == ["resources", "[]"] || (path.len() > 3 && is_schema(path))
}

fn is_schema(path: &[String]) -> bool {
    matches!(path, [resources, _, part, ..] if resources == "resources" && matches!(part.as_str(), "spec" | "status" | "types"))
}
