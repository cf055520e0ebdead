//! Patterns: what RE2 takes, and those of the format's own types.

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

/// Why a pattern is none of RE2; Rust's own syntax is a little wider.
pub(super) fn pattern_fault(pattern: &str) -> Option<String> {
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
