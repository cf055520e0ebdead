//! Values of Kubernetes that are a number or a text.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A port, a percentage, a quantity: Kubernetes takes a whole number or a text, and gives back what it was given.
///
/// ```
/// use kopf_runtime::IntOrString;
///
/// let size: IntOrString = serde_json::from_str("5368709120").unwrap();
/// assert_eq!(size, IntOrString::from(5_368_709_120));
/// assert_eq!(IntOrString::from("80%").to_string(), "80%");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum IntOrString {
    /// A whole number.
    Int(i64),
    /// A text.
    String(String),
}

impl Default for IntOrString {
    /// Zero.
    fn default() -> Self {
        Self::Int(0)
    }
}

impl fmt::Display for IntOrString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => number.fmt(f),
            Self::String(text) => text.fmt(f),
        }
    }
}

impl From<i64> for IntOrString {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<String> for IntOrString {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<&str> for IntOrString {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // B-111
    #[test]
    fn both_forms_come_back_as_they_were() {
        for text in ["80", "\"80%\"", "\"80\"", "5368709120"] {
            let value: IntOrString = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&value).unwrap(), text);
        }
    }
}
