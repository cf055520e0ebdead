//! One rule of casing for all names.

/// Cuts a name at what is neither letter nor digit, and where a capital starts a word. Acronyms are one word, their
/// plural included: `HTTPRoute`, `podCIDRs`, `TLSConfig` give `http route`, `pod cidrs`, `tls config`.
fn words(name: &str) -> Vec<String> {
    let characters: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (index, &character) in characters.iter().enumerate() {
        if !character.is_ascii_alphanumeric() {
            words.push(String::new());
            continue;
        }
        if character.is_ascii_uppercase() && starts_word(&characters, index) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push(character.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn starts_word(characters: &[char], index: usize) -> bool {
    let at = |index: usize| characters.get(index).copied().unwrap_or(' ');
    let Some(before) = index.checked_sub(1).map(at) else {
        return false;
    };
    if !before.is_ascii_uppercase() {
        return before.is_ascii_alphanumeric();
    }
    let plural_acronym = at(index + 1) == 's' && !at(index + 2).is_ascii_lowercase();
    at(index + 1).is_ascii_lowercase() && !plural_acronym
}

/// `http_route`.
pub(crate) fn snake_case(name: &str) -> String {
    words(name).join("_")
}

/// `HttpRoute`.
pub(crate) fn pascal_case(name: &str) -> String {
    words(name).iter().map(|word| capitalized(word)).collect()
}

fn capitalized(word: &str) -> String {
    let mut characters = word.chars();
    characters
        .next()
        .map(|first| first.to_ascii_uppercase().to_string() + characters.as_str())
        .unwrap_or_default()
}

/// Kubernetes' own style for fields.
pub(crate) fn is_camel_case(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(|c| c.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_start_where_people_see_them() {
        for (name, snake, pascal) in [
            ("HTTPRoute", "http_route", "HttpRoute"),
            ("TLSConfig", "tls_config", "TlsConfig"),
            ("podCIDRs", "pod_cidrs", "PodCidrs"),
            ("podIPs", "pod_ips", "PodIps"),
            ("fooBar", "foo_bar", "FooBar"),
            ("foo_bar", "foo_bar", "FooBar"),
            ("FooBar", "foo_bar", "FooBar"),
            ("foo-bar.baz", "foo_bar_baz", "FooBarBaz"),
            ("DNS", "dns", "Dns"),
            ("ipv4Address", "ipv4_address", "Ipv4Address"),
            ("s3Bucket", "s3_bucket", "S3Bucket"),
            ("X", "x", "X"),
            ("aB", "a_b", "AB"),
            ("", "", ""),
        ] {
            assert_eq!(
                (snake_case(name), pascal_case(name)),
                (snake.to_string(), pascal.to_string()),
                "{name}"
            );
        }
    }

    #[test]
    fn snake_case_is_its_own_image() {
        for name in ["HTTPRoute", "podCIDRs", "a1B2", "x__y", "éa", "2fa"] {
            let once = snake_case(name);
            assert_eq!(snake_case(&once), once, "{name}");
        }
    }
}
