//! Formats of text that the API server checks in defaults and in objects.

use std::net::{Ipv4Addr, Ipv6Addr};

/// What a text of a format looks like, for messages, if this one is none.
pub(super) fn fault(format: &str, text: &str) -> Option<String> {
    let (fits, wanted) = match format {
        "date-time" => (is_date_time(text), "date and time such as 2026-01-31T12:00:00Z"),
        "date" => (is_date(text), "date such as 2026-01-31"),
        "byte" => (is_base64(text), "base64 such as a29wZg=="),
        "duration" => (is_duration(text), "duration such as 1m30s"),
        "ipv4" => (text.parse::<Ipv4Addr>().is_ok(), "IPv4 address such as 192.0.2.1"),
        "ipv6" => (text.parse::<Ipv6Addr>().is_ok(), "IPv6 address such as 2001:db8::1"),
        "cidr" => (is_cidr(text), "network such as 192.0.2.0/24"),
        "mac" => (is_mac(text), "MAC address such as 00:00:5e:00:53:01"),
        "uri" => (is_uri(text), "URI such as https://example.com/"),
        "email" => (is_email(text), "address such as someone@example.com"),
        "hostname" => (is_hostname(text), "host name such as example.com"),
        "uuid" => (is_uuid(text, None), "UUID"),
        "uuid3" => (is_uuid(text, Some('3')), "UUID of version 3"),
        "uuid4" => (is_uuid(text, Some('4')), "UUID of version 4"),
        "uuid5" => (is_uuid(text, Some('5')), "UUID of version 5"),
        "bsonobjectid" => (text.len() == 24 && is_hex(text), "id of 24 hexadecimal digits"),
        "hexcolor" => (is_hex_color(text), "colour such as #ff8800"),
        _ => return None,
    };
    (!fits).then(|| format!("`{text}` is no {wanted}"))
}

fn is_hex(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_hexdigit())
}

fn digits(text: &str, length: usize) -> Option<u32> {
    let fits = text.len() == length && text.chars().all(|c| c.is_ascii_digit());
    fits.then(|| text.parse().ok()).flatten()
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else {
        return false;
    };
    let (Some(year), Some(month), Some(day)) = (digits(year, 4), digits(month, 2), digits(day, 2)) else {
        return false;
    };
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't']) else {
        return false;
    };
    let Some(zone) = time.find(['Z', 'z', '+', '-']) else {
        return false;
    };
    let (time, zone) = time.split_at(zone);
    let (time, fraction) = time
        .split_once('.')
        .map_or((time, "0"), |(time, fraction)| (time, fraction));
    let in_range = |text: &str, limits: &[u32]| {
        let parts: Vec<&str> = text.split(':').collect();
        parts.len() == limits.len()
            && parts
                .iter()
                .zip(limits)
                .all(|(part, limit)| digits(part, 2).is_some_and(|number| number < *limit))
    };
    let zone_fits = matches!(zone, "Z" | "z") || in_range(&zone[1..], &[24, 60]);
    let fraction_fits = !fraction.is_empty() && fraction.chars().all(|c| c.is_ascii_digit());
    is_date(date) && in_range(time, &[24, 60, 60]) && fraction_fits && zone_fits
}

/// In the standard alphabet, padded.
fn is_base64(text: &str) -> bool {
    let bare = text.trim_end_matches('=');
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/');
    text.len().is_multiple_of(4) && text.len() - bare.len() <= 2 && bare.chars().all(fits)
}

/// As Go writes them, or with words as in `2 days`.
fn is_duration(text: &str) -> bool {
    const UNITS: &[&str] = &[
        "ns",
        "us",
        "µs",
        "μs",
        "ms",
        "s",
        "m",
        "h",
        "d",
        "w",
        "nanosecond",
        "nano",
        "microsecond",
        "micro",
        "millisecond",
        "milli",
        "second",
        "sec",
        "minute",
        "min",
        "hour",
        "hr",
        "day",
        "week",
        "wk",
    ];
    let mut rest = text.trim().trim_start_matches(['+', '-']);
    if rest == "0" {
        return true;
    }
    let is_empty = rest.is_empty();
    while !rest.is_empty() {
        let number = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (amount, after) = rest.split_at(number);
        let after = after.trim_start();
        let unit = after
            .find(|c: char| c.is_ascii_digit() || c.is_whitespace() || c == '.')
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(unit);
        let known = UNITS.contains(&unit) || unit.strip_suffix('s').is_some_and(|one| UNITS.contains(&one));
        if amount.parse::<f64>().is_err() || !known {
            return false;
        }
        rest = after.trim_start();
    }
    !is_empty
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let bits = (1..=3)
        .contains(&bits.len())
        .then(|| digits(bits, bits.len()))
        .flatten();
    bits.is_some_and(|bits| {
        (address.parse::<Ipv4Addr>().is_ok() && bits <= 32) || (address.parse::<Ipv6Addr>().is_ok() && bits <= 128)
    })
}

fn is_mac(text: &str) -> bool {
    ['-', ':', '.'].iter().any(|separator| {
        let parts: Vec<&str> = text.split(*separator).collect();
        let length = if *separator == '.' { 4 } else { 2 };
        matches!(parts.len() * length, 12 | 16 | 40) && parts.iter().all(|part| part.len() == length && is_hex(part))
    })
}

fn is_uri(text: &str) -> bool {
    let scheme = text.split_once(':').map(|(scheme, _)| scheme);
    let has_scheme = scheme.is_some_and(|scheme| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    });
    (has_scheme || text.starts_with('/')) && !text.contains(|c: char| c.is_control())
}

/// A bare address; what stands in front of the `@` is left to the server.
fn is_email(text: &str) -> bool {
    text.rsplit_once('@')
        .is_some_and(|(name, host)| !name.is_empty() && !host.is_empty() && !host.contains(char::is_whitespace))
}

fn is_hostname(text: &str) -> bool {
    let label = |part: &str| {
        (1..=63).contains(&part.len())
            && !part.starts_with('-')
            && !part.ends_with('-')
            && !part.contains(char::is_whitespace)
    };
    text.len() <= 255 && text.trim_end_matches('.').split('.').all(label)
}

fn is_uuid(text: &str, version: Option<char>) -> bool {
    let digits: String = text.chars().filter(|c| *c != '-').collect();
    let dashed = text.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    let variant = version.is_none_or(|version| {
        digits.chars().nth(12) == Some(version)
            && (version == '3' || digits.chars().nth(16).is_some_and(|c| "89abAB".contains(c)))
    });
    digits.len() == 32 && is_hex(&digits) && (dashed || !text.contains('-')) && variant
}

fn is_hex_color(text: &str) -> bool {
    let bare = text.strip_prefix('#').unwrap_or(text);
    matches!(bare.len(), 3 | 6) && is_hex(bare)
}

#[cfg(test)]
mod tests {
    use super::fault;

    #[test]
    fn texts_are_held_against_their_format() {
        for (format, good, bad) in [
            (
                "date-time",
                ["2026-01-31T12:00:00Z", "2024-02-29t00:00:00.5+01:00"],
                ["xTy", "2026-02-30T12:00:00Z"],
            ),
            ("date", ["2026-01-31", "2000-02-29"], ["foo", "2026-13-01"]),
            ("byte", ["a29wZg==", ""], ["!!!", "abc"]),
            ("duration", ["1m30s", "3 days"], ["foo", "10"]),
            ("ipv4", ["192.0.2.1", "0.0.0.0"], ["foo", "256.0.0.1"]),
            ("ipv6", ["::1", "2001:db8::1"], ["foo", "192.0.2.1"]),
            ("cidr", ["10.0.0.0/8", "2001:db8::/32"], ["foo", "10.0.0.0/33"]),
            (
                "mac",
                ["00:00:5e:00:53:01", "0000.5e00.5301"],
                ["foo", "00:00:5e:00:53"],
            ),
            ("uri", ["https://example.com/", "/path"], ["foo", ""]),
            ("email", ["a@example.com", "a.b@c"], ["foo", "@c"]),
            ("hostname", ["example.com", "a-b"], ["-a", "a b"]),
            (
                "uuid",
                [
                    "7f1f5e0b-52a4-4c3f-9d3e-0c0f3c1f5a10",
                    "7F1F5E0B52A44C3F9D3E0C0F3C1F5A10",
                ],
                ["foo", "7f1f5e0b"],
            ),
            (
                "uuid4",
                ["7f1f5e0b-52a4-4c3f-9d3e-0c0f3c1f5a10"; 2],
                ["foo", "7f1f5e0b-52a4-1c3f-9d3e-0c0f3c1f5a10"],
            ),
            ("hexcolor", ["#fff", "ff8800"], ["foo", "#ff"]),
            ("bsonobjectid", ["507f1f77bcf86cd799439011"; 2], ["foo", "507f"]),
            ("password", ["foo", ""], ["", ""]),
        ] {
            for text in good {
                assert_eq!(fault(format, text), None, "{format} {text}");
            }
            for text in bad.into_iter().filter(|_| format != "password") {
                assert!(fault(format, text).is_some(), "{format} {text}");
            }
        }
    }
}
