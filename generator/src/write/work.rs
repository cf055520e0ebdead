//! A file of the project as it is now, and whether an author has made a change by hand.

use std::collections::BTreeMap;

use crate::lock::sha256;

/// What is on the disk, with LF line ends.
pub(super) struct Work {
    pub(super) text: String,
    /// As it is, if it is UTF-8.
    pub(super) raw: Option<String>,
    pub(super) hash: String,
    pub(super) crlf: bool,
}

impl Work {
    /// Text that is not UTF-8 is nothing that was generated.
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(raw) => {
                let text = raw.replace("\r\n", "\n");
                let hash = sha256(text.as_bytes());
                Self {
                    crlf: raw.contains("\r\n"),
                    text,
                    raw: Some(raw),
                    hash,
                }
            }
            Err(error) => {
                let hash = sha256(error.as_bytes());
                Self {
                    text: String::from_utf8_lossy(error.as_bytes()).into_owned(),
                    raw: None,
                    hash,
                    crlf: false,
                }
            }
        }
    }
}

/// Whether `work` has everything that leads from `base` to `new`, at whatever place.
pub(super) fn has_change(base: &str, work: &str, new: &str) -> bool {
    if diffy::merge(base, work, new).is_ok_and(|merged| merged == work) {
        return true;
    }
    let (base, work, new) = (counted(base), counted(work), counted(new));
    let count = |lines: &BTreeMap<&str, usize>, line: &&str| lines.get(line).copied().unwrap_or_default();
    let mut changed = base
        .keys()
        .chain(new.keys())
        .filter(|line| count(&base, line) != count(&new, line))
        .peekable();
    changed.peek().is_some()
        && changed.all(|line| {
            let (had, has, wanted) = (count(&base, line), count(&work, line), count(&new, line));
            if wanted > had { has >= wanted } else { has <= wanted }
        })
}

fn counted(text: &str) -> BTreeMap<&str, usize> {
    let mut lines = BTreeMap::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        *lines.entry(line).or_default() += 1;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::has_change;

    #[test]
    fn a_change_is_found_wherever_it_was_made() {
        let (base, new) = ("a\nb\nc\n", "a\nb2\nc\nd\n");
        for (work, has) in [
            ("a\nb2\nc\nd\n", true),
            ("mine\na\nb2\nc\nd\n", true),
            ("d\na\nb2\nmine\n", true),
            ("a\nb2\nc\nmine\n", false),
            ("a\nb\nb2\nc\nd\n", false),
            ("a\nb\nc\nmine\n", false),
        ] {
            assert_eq!(has_change(base, work, new), has, "{work:?}");
        }
        assert!(has_change("", "x\na\n", "a\n"));
    }
}
