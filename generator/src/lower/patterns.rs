//! Patterns: what RE2 takes, and those of the format's own types.

use super::re2;

/// Kubernetes' quantities.
pub(super) const QUANTITY: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";

/// Durations as Go writes them.
pub(super) const DURATION: &str = r"^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$";

/// What a value is that does not match, in fewer words than the pattern has.
pub(super) fn in_words(pattern: &str) -> String {
    match pattern {
        QUANTITY => "is no quantity such as `500m` or `1Gi`".to_string(),
        DURATION => "is no duration such as `1m30s`".to_string(),
        other => format!("does not match `{other}`"),
    }
}

/// Why a pattern is none of RE2.
pub(super) fn pattern_fault(pattern: &str) -> Option<String> {
    re2::translate(pattern).err()
}

/// Whether the API server finds the pattern in a text; `None` if that is beyond what we compile.
pub(super) fn matches(pattern: &str, text: &str) -> Option<bool> {
    let translated = re2::translate(pattern).ok()?;
    let compiled = regex::Regex::new(&translated).ok()?;
    Some(compiled.is_match(text))
}
