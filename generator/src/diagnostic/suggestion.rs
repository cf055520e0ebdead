//! "Did you mean".

/// The known name that `given` is most likely a slip of.
pub fn did_you_mean<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lowered = given.to_lowercase();
    let allowed = (given.chars().count() / 3).clamp(1, 3);
    known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&lowered, &name.to_lowercase()), name))
        .filter(|&(distance, name)| distance <= allowed && distance < name.chars().count())
        .min()
        .map(|(_, name)| name)
}

/// `a`, `b` or `c`, each in backticks.
pub fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_one_or_two_letters_are_found() {
        let known = ["retries", "timeout", "field", "update", "id", "fn"];
        assert_eq!(did_you_mean("retires", known), Some("retries"));
        assert_eq!(did_you_mean("feild", known), Some("field"));
        assert_eq!(did_you_mean("udpate", known), Some("update"));
        assert_eq!(did_you_mean("Timeout", known), Some("timeout"));
        assert_eq!(did_you_mean("colour", known), None);
        assert_eq!(did_you_mean("x", known), None);
    }

    #[test]
    fn lists_read_like_prose() {
        assert_eq!(listed(["a"]), "`a`");
        assert_eq!(listed(["a", "b", "c"]), "`a`, `b` or `c`");
    }
}
