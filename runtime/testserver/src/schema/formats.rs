//! Formats of texts, as they are read in Kubernetes: more leniently than their standards.

use std::net::{Ipv4Addr, Ipv6Addr};

use jiff::civil::Date;
use serde_json::Value;

use crate::schema::patterns::pattern;

/// The formats that count; others say nothing. Dashes in their names do not matter.
const KNOWN: [&str; 24] = [
    "bsonobjectid",
    "uri",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "cidr",
    "mac",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
    "isbn",
    "isbn10",
    "isbn13",
    "creditcard",
    "ssn",
    "hexcolor",
    "rgbcolor",
    "byte",
    "password",
    "date",
    "duration",
    "datetime",
];

/// The format of a schema, if it is one that counts.
pub(super) fn known_format(schema: &Value) -> Option<String> {
    let format = schema["format"].as_str()?;
    KNOWN
        .contains(&format.replace('-', "").as_str())
        .then(|| format.to_owned())
}

/// Whether a text has a format.
pub(super) fn has_format(format: &str, text: &str) -> bool {
    let matches = |expression: &str| {
        pattern(expression)
            .as_ref()
            .as_ref()
            .is_ok_and(|pattern| pattern.is_match(text))
    };
    match format.replace('-', "").as_str() {
        "bsonobjectid" => matches("^[0-9a-fA-F]{24}$"),
        "uri" => is_uri(text),
        "email" => is_email(text),
        "hostname" => is_hostname(text),
        "ipv4" => is_ipv4(text) || (text.contains('.') && text.parse::<Ipv6Addr>().is_ok()),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_cidr(text),
        "mac" => is_mac(text),
        "uuid" => is_uuid(text, "[0-9a-f]", "[0-9a-f]"),
        "uuid3" => is_uuid(text, "3", "[0-9a-f]"),
        "uuid4" => is_uuid(text, "4", "[89ab]"),
        "uuid5" => is_uuid(text, "5", "[89ab]"),
        "isbn" => is_isbn10(text) || is_isbn13(text),
        "isbn10" => is_isbn10(text),
        "isbn13" => is_isbn13(text),
        "creditcard" => is_credit_card(text),
        "ssn" => matches(r"^\d{3}[- ]?\d{2}[- ]?\d{4}$"),
        "hexcolor" => matches("^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"),
        "rgbcolor" => is_rgb(text),
        "byte" => matches("^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$"),
        "date" => is_date(text),
        "datetime" => is_date_time(text),
        "duration" => is_duration(text),
        _ => true,
    }
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && text.as_bytes()[4] == b'-' && text.parse::<Date>().is_ok()
}

fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let Some((date, time)) = lower.split_once('t') else {
        return false;
    };
    let pattern = pattern(r"^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$");
    let parts = pattern
        .as_ref()
        .as_ref()
        .ok()
        .and_then(|pattern| pattern.captures(time));
    is_date(date) && parts.is_some_and(|parts| &parts[1] <= "23" && &parts[2] <= "59" && &parts[3] <= "59")
}

/// Units, each with the words for it; longer words may follow the last one.
const UNITS: [&[&str]; 8] = [
    &["ns", "nano"],
    &["us", "µs", "micro"],
    &["ms", "milli"],
    &["s", "sec"],
    &["m", "min"],
    &["h", "hr", "hour"],
    &["d", "day"],
    &["w", "wk", "week"],
];

/// Numbers with units, somewhere in the text.
fn is_duration(text: &str) -> bool {
    if matches!(text, "0" | "+0" | "-0") {
        return true;
    }
    let number = pattern(r"^[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$");
    if number.as_ref().as_ref().is_ok_and(|pattern| pattern.is_match(text)) {
        return true;
    }
    let words = pattern(r"[0-9]+\s*([A-Za-zµ]+)");
    let Ok(words) = words.as_ref() else {
        return false;
    };
    words.captures_iter(text).any(|found| {
        let unit = found[1].to_lowercase();
        UNITS
            .iter()
            .any(|names| names.contains(&unit.as_str()) || names.last().is_some_and(|long| unit.starts_with(long)))
    })
}

fn is_hostname(text: &str) -> bool {
    let name = pattern(
        r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$",
    );
    text.len() <= 255
        && text.split('.').all(|label| label.len() <= 63)
        && name.as_ref().as_ref().is_ok_and(|name| name.is_match(text))
}

const ATOM: &str = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\x{80}-\x{10ffff}-]+";

/// An address, with or without a name before it.
fn is_email(text: &str) -> bool {
    let address = match text.trim().strip_suffix('>').and_then(|text| text.rsplit_once('<')) {
        Some((name, address)) if !name.contains('@') || name.trim().starts_with('"') => address,
        Some(_) => return false,
        None => text.trim(),
    };
    let whole = format!(r#"^({ATOM}(\.{ATOM})*|"([^"\\]|\\.)*")@({ATOM}(\.{ATOM})*|\[[^\]]*\])$"#);
    pattern(&whole)
        .as_ref()
        .as_ref()
        .is_ok_and(|whole| whole.is_match(address))
}

/// An absolute address, or an absolute path.
fn is_uri(text: &str) -> bool {
    if text.chars().any(|character| character.is_ascii_control()) || text.is_empty() {
        return false;
    }
    let scheme = pattern("^[a-zA-Z][a-zA-Z0-9+.-]*:");
    let scheme = scheme.as_ref().as_ref().ok().and_then(|scheme| scheme.find(text));
    let rest = scheme.map_or(text, |scheme| &text[scheme.end()..]);
    if !rest.starts_with('/') {
        return scheme.is_some();
    }
    let host = rest.strip_prefix("//").filter(|_| scheme.is_some()).unwrap_or_default();
    let host = host.split(['/', '?']).next().unwrap_or_default();
    let path = rest.split('?').next().unwrap_or_default();
    let escapes = path.split('%').skip(1).all(|tail| {
        let digits = tail.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    });
    escapes && !host.contains([' ', '<', '>', '"', '\\', '^', '`', '{', '|', '}'])
}

/// Four numbers; zeros may lead them.
fn is_ipv4(text: &str) -> bool {
    let parts: Vec<_> = text.split('.').collect();
    let plain = parts.iter().map(|part| match part.trim_start_matches('0') {
        "" if !part.is_empty() => "0",
        rest => rest,
    });
    plain.collect::<Vec<_>>().join(".").parse::<Ipv4Addr>().is_ok()
}

fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else {
        return false;
    };
    let digits = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
    let length: u8 = length.parse().unwrap_or(u8::MAX);
    digits && ((is_ipv4(address) && length <= 32) || (address.parse::<Ipv6Addr>().is_ok() && length <= 128))
}

/// 6, 8 or 20 bytes, with colons or dashes between them, or with dots between pairs.
fn is_mac(text: &str) -> bool {
    let groups = |separator: char, size: usize| {
        let groups: Vec<_> = text.split(separator).collect();
        let sound = groups
            .iter()
            .all(|group| group.len() == size && group.bytes().all(|byte| byte.is_ascii_hexdigit()));
        if sound { groups.len() * size / 2 } else { 0 }
    };
    [groups(':', 2), groups('-', 2), groups('.', 4)]
        .iter()
        .any(|bytes| matches!(bytes, 6 | 8 | 20))
}

fn is_uuid(text: &str, version: &str, variant: &str) -> bool {
    let version = if version.len() == 1 {
        format!("{version}[0-9a-f]{{3}}")
    } else {
        "[0-9a-f]{4}".into()
    };
    let whole = format!("(?i)^[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{version}-?{variant}[0-9a-f]{{3}}-?[0-9a-f]{{12}}$");
    pattern(&whole)
        .as_ref()
        .as_ref()
        .is_ok_and(|whole| whole.is_match(text))
}

fn is_isbn10(text: &str) -> bool {
    let text = text.replace([' ', '-'], "");
    let digits: Option<Vec<u32>> = text
        .chars()
        .enumerate()
        .map(|(index, digit)| {
            if index == 9 && digit == 'X' {
                Some(10)
            } else {
                digit.to_digit(10)
            }
        })
        .collect();
    digits.is_some_and(|digits| {
        digits.len() == 10 && (1..).zip(digits).map(|(weight, digit)| weight * digit).sum::<u32>() % 11 == 0
    })
}

fn is_isbn13(text: &str) -> bool {
    let text = text.replace([' ', '-'], "");
    let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(10)).collect();
    let weights = [1, 3].into_iter().cycle();
    digits.is_some_and(|digits| {
        digits.len() == 13 && weights.zip(digits).map(|(weight, digit)| weight * digit).sum::<u32>() % 10 == 0
    })
}

fn is_credit_card(text: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let issuers = pattern(
        r"^(4[0-9]{12}([0-9]{3})?|5[1-5][0-9]{14}|6(011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(0[0-5]|[68][0-9])[0-9]{11}|(2131|1800|35\d{3})\d{11})$",
    );
    let luhn = digits.chars().rev().enumerate().map(|(index, digit)| {
        let digit = digit.to_digit(10).unwrap_or_default();
        let digit = if index % 2 == 1 { digit * 2 } else { digit };
        digit / 10 + digit % 10
    });
    issuers.as_ref().as_ref().is_ok_and(|issuers| issuers.is_match(&digits)) && luhn.sum::<u32>() % 10 == 0
}

fn is_rgb(text: &str) -> bool {
    const PART: &str = r"\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*";
    let whole = format!(r"^rgb\({PART},{PART},{PART}\)$");
    pattern(&whole)
        .as_ref()
        .as_ref()
        .is_ok_and(|whole| whole.is_match(text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn formats_tell_texts_apart() {
        for (format, right, wrong) in [
            ("date", "2024-02-29", "2023-02-29"),
            ("date-time", "2024-01-02T03:04:05.6z", "2024-01-02 03:04:05"),
            ("duration", "1h30m", "soon"),
            ("duration", "2 weeks", "2 moons"),
            ("email", "Ann <a.b@example.com>", "a@"),
            ("hostname", "a-b.example.com", "-a"),
            ("ipv4", "10.020.0.1", "10.0.0"),
            ("ipv6", "::1", "10.0.0.1"),
            ("cidr", "10.0.0.0/8", "10.0.0.0/33"),
            ("mac", "00:11:22:aa:bb:cc", "00:11"),
            ("uri", "https://example.com/a?b=c", "example"),
            ("uri", "/a/b", "http://a b/"),
            ("uuid", "A987FBC9-4BED-3078-CF07-9141BA07C9F3", "a987"),
            (
                "uuid4",
                "57b73598-8764-4ad0-a76a-679bb6640eb1",
                "A987FBC9-4BED-3078-CF07-9141BA07C9F3",
            ),
            ("byte", "aGk=", "a"),
            ("isbn", "978-0321751041", "978-0321751042"),
            ("isbn10", "0321751043", "0321751044"),
            ("creditcard", "4111 1111 1111 1111", "4111 1111 1111 1112"),
            ("ssn", "111-11-1111", "11-1"),
            ("hexcolor", "#FFFFFF", "#FFFFFG"),
            ("rgbcolor", "rgb(1, 2,255)", "rgb(1,2,256)"),
            ("bsonobjectid", "507f1f77bcf86cd799439011", "507f"),
        ] {
            assert!(has_format(format, right), "{format}: {right}");
            assert!(!has_format(format, wrong), "{format}: {wrong}");
        }
    }

    #[test]
    fn other_formats_say_nothing() {
        assert_eq!(known_format(&json!({"format": "int32"})), None);
        assert_eq!(
            known_format(&json!({"format": "date-time"})).as_deref(),
            Some("date-time")
        );
    }
}
