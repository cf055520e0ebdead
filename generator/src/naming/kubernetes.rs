//! Names as Kubernetes takes them.

/// Group suffixes that belong to Kubernetes itself.
pub(crate) const RESERVED_GROUPS: &[&str] = &["k8s.io", "kubernetes.io"];

/// Lower case, digits and dashes; 63 characters; may start with a digit.
pub(crate) fn is_dns_label(name: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    (1..=63).contains(&name.len())
        && name.chars().all(|c| inner(c) || c == '-')
        && name.starts_with(inner)
        && name.ends_with(inner)
}

/// As `is_dns_label`, but starts with a letter.
pub(crate) fn is_dns_1035_label(name: &str) -> bool {
    is_dns_label(name) && name.starts_with(|c: char| c.is_ascii_lowercase())
}

/// Labels with dots between them; 253 characters.
pub(crate) fn is_dns_subdomain(name: &str) -> bool {
    name.len() <= 253 && name.split('.').all(|part| !part.is_empty() && is_subdomain_part(part))
}

/// Parts of a subdomain have no limit of their own.
fn is_subdomain_part(part: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    part.chars().all(|c| inner(c) || c == '-') && part.starts_with(inner) && part.ends_with(inner)
}

/// The key of a label or an annotation: an optional subdomain, a slash, and a name of at most 63 characters.
pub(crate) fn is_qualified_name(name: &str) -> bool {
    match name.split_once('/') {
        Some((prefix, name)) => is_dns_subdomain(prefix) && is_name_part(name),
        None => is_name_part(name),
    }
}

fn is_name_part(name: &str) -> bool {
    let ends = |c: char| c.is_ascii_alphanumeric();
    (1..=63).contains(&name.len())
        && name.chars().all(|c| ends(c) || matches!(c, '-' | '_' | '.'))
        && name.starts_with(ends)
        && name.ends_with(ends)
}

/// The value of a label.
pub(crate) fn is_label_value(value: &str) -> bool {
    value.is_empty() || is_name_part(value)
}

/// The plural of a kind by the simple rule: in lower case, with `s`, `es` or `ies`.
pub(crate) fn plural(kind: &str) -> String {
    let name = kind.to_lowercase();
    if let Some(stem) = name
        .strip_suffix('y')
        .filter(|stem| !stem.ends_with(['a', 'e', 'i', 'o', 'u']))
    {
        return format!("{stem}ies");
    }
    let hissing = ["s", "x", "ch", "sh"].iter().any(|ending| name.ends_with(ending));
    format!("{name}{}", if hissing { "es" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_follow_the_simple_rule() {
        for (kind, expected) in [
            ("HelloWorld", "helloworlds"),
            ("FunctionBuild", "functionbuilds"),
            ("Policy", "policies"),
            ("Box", "boxes"),
            ("Ingress", "ingresses"),
            ("Gateway", "gateways"),
            ("DNS", "dnses"),
            ("OS", "oses"),
            ("X", "xes"),
            ("DB2", "db2s"),
            ("Postgres", "postgreses"),
            ("Batch", "batches"),
        ] {
            assert_eq!(plural(kind), expected, "{kind}");
            assert!(is_dns_1035_label(&plural(kind)));
        }
    }

    #[test]
    fn names_are_checked_as_the_api_server_does() {
        assert!(is_dns_subdomain("2fa.example.com") && is_dns_subdomain("concourse-ci.org"));
        assert!(!is_dns_subdomain("a..b") && !is_dns_subdomain("-a.b") && !is_dns_subdomain("A.b"));
        assert!(is_dns_1035_label("a1") && !is_dns_1035_label("1a") && !is_dns_1035_label("a_b"));
        assert!(is_qualified_name("a.b/C_d.e") && is_qualified_name("app"));
        assert!(!is_qualified_name("a/b/c") && !is_qualified_name("/b") && !is_qualified_name("A.b/c"));
        assert!(is_label_value("") && is_label_value("Yes") && !is_label_value("-a") && !is_label_value("a b"));
    }
}
