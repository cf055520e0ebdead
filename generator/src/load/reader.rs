//! Typed values out of nodes, a fault for each that does not fit.

use std::time::Duration;

use super::keys::Keys;
use crate::diagnostic::{
    Code, Diagnostic, Span, cut_by_yaml, did_you_mean, listed, no_variable, not_supported_yet, unknown_key, wrong_type,
};
use crate::spec::{Content, Mapping, Node, Reading, Spanned, TextMap};

pub(super) type Faults = Vec<Diagnostic>;

/// The mapping at a node, with all its keys checked.
pub(super) fn mapping<'n>(node: &'n Node, keys: &Keys, faults: &mut Faults) -> Option<&'n Mapping> {
    mapping_without(node, keys, &[], faults)
}

/// The same, where some keys are refused with words of their own.
pub(super) fn mapping_without<'n>(
    node: &'n Node,
    keys: &Keys,
    lacks: &[(&str, &str)],
    faults: &mut Faults,
) -> Option<&'n Mapping> {
    let mapping = if is_empty(node) {
        &EMPTY
    } else {
        any_mapping(node, keys.place, faults)?
    };
    for entry in &mapping.entries {
        let key = entry.key.value.as_str();
        if keys.now.contains(&key) {
            continue;
        }
        faults.push(if keys.later.contains(&key) {
            not_supported_yet(entry.key.span, key)
        } else if let Some((_, why)) = lacks.iter().find(|(name, _)| *name == key) {
            let message = format!("{} has no `{key}`", keys.place);
            Diagnostic::error(Code::MisplacedOption, entry.key.span, message).help(*why)
        } else if let Some(home) = keys.home(key) {
            let message = format!("`{key}` is not a key of {}", keys.place);
            Diagnostic::error(Code::MisplacedOption, entry.key.span, message).help(format!("it belongs to {home}"))
        } else if looks_cut(key) {
            cut_by_yaml(entry.key.span, format!("YAML makes a key of `{key}`"))
        } else {
            let known: Vec<&str> = keys.now.iter().chain(keys.later).copied().collect();
            unknown_key(
                entry.key.span,
                key,
                keys.place,
                if did_you_mean(key, known.iter().copied()).is_some() {
                    &known
                } else {
                    keys.now
                },
            )
        });
    }
    Some(mapping)
}

/// A fault for a variable where none is taken.
pub(super) fn is_variable(node: &Node, what: &str, wanted: &str, faults: &mut Faults) -> bool {
    let is_variable = node.names_variable();
    if is_variable {
        faults.push(no_variable(node.span, what, wanted));
    }
    is_variable
}

/// A key whose lines below are all commented out.
pub(super) fn is_empty(node: &Node) -> bool {
    scalar(node) == Some(Reading::Null)
}

static EMPTY: Mapping = Mapping {
    entries: Vec::new(),
    flow: false,
};

/// Whether a key is the rest of a field's line.
pub(super) fn looks_cut(key: &str) -> bool {
    key.contains(['|', '=', '"']) || key.contains(' ')
}

pub(super) fn any_mapping<'n>(node: &'n Node, what: &str, faults: &mut Faults) -> Option<&'n Mapping> {
    let mapping = node.as_mapping();
    if mapping.is_none() {
        faults.push(wrong_type(node.span, what, "a mapping", node.kind()));
    }
    mapping
}

pub(super) fn sequence<'n>(node: Option<&'n Node>, what: &str, faults: &mut Faults) -> &'n [Node] {
    let Some(node) = node.filter(|node| !is_empty(node)) else {
        return &[];
    };
    if is_variable(node, what, "a list", faults) {
        return &[];
    }
    node.as_sequence().unwrap_or_else(|| {
        let help = node.as_scalar().map_or_else(
            || "begin each item with a dash on a line of its own".to_string(),
            |scalar| format!("write a list: [{}]", scalar.text),
        );
        faults.push(wrong_type(node.span, what, "a list", node.kind()).help(help));
        &[]
    })
}

pub(super) fn text(node: &Node, what: &str, faults: &mut Faults) -> Option<Spanned<String>> {
    node.to_text(what, faults).map(|text| Spanned::new(text, node.span))
}

pub(super) fn texts(node: Option<&Node>, what: &str, faults: &mut Faults) -> Vec<Spanned<String>> {
    let item = format!("an item of {what}");
    let mut texts: Vec<Spanned<String>> = Vec::new();
    for node in sequence(node, what, faults) {
        let Some(text) = text(node, &item, faults) else {
            continue;
        };
        if texts.iter().any(|other| other.value == text.value) {
            let message = format!("`{}` is listed twice in {what}", text.value);
            faults.push(Diagnostic::error(Code::Duplicate, text.span, message).help("leave one of them out"));
        } else {
            texts.push(text);
        }
    }
    texts
}

pub(super) fn text_map(node: Option<&Node>, what: &str, faults: &mut Faults) -> TextMap {
    let Some(mapping) = node
        .filter(|node| !is_empty(node))
        .and_then(|node| any_mapping(node, what, faults))
    else {
        return Vec::new();
    };
    let mut texts = Vec::new();
    for entry in &mapping.entries {
        let what = format!("`{}`", entry.key.value);
        if let Some(text) = text(&entry.value, &what, faults) {
            texts.push((entry.key.clone(), text));
        }
    }
    texts
}

pub(super) fn choice(node: &Node, what: &str, choices: &[&str], faults: &mut Faults) -> Option<Spanned<String>> {
    if is_variable(node, what, &listed(choices.iter().copied()), faults) {
        return None;
    }
    let Some(scalar) = node.as_scalar().filter(|_| !is_empty(node)) else {
        faults.push(wrong_type(
            node.span,
            what,
            &listed(choices.iter().copied()),
            node.kind(),
        ));
        return None;
    };
    let text = Spanned::new(scalar.text.clone(), node.span);
    if choices.contains(&text.value.as_str()) {
        return Some(text);
    }
    let help = did_you_mean(&text.value, choices.iter().copied()).map_or_else(
        || format!("it is one of {}", listed(choices.iter().copied())),
        |name| format!("did you mean `{name}`?"),
    );
    faults.push(
        Diagnostic::error(
            Code::NotAChoice,
            text.span,
            format!("{what} cannot be `{}`", text.value),
        )
        .help(help),
    );
    None
}

fn scalar(node: &Node) -> Option<Reading> {
    node.as_scalar().map(crate::spec::Scalar::reading)
}

pub(super) fn boolean(node: &Node, what: &str, faults: &mut Faults) -> Option<Spanned<bool>> {
    if let Some(Reading::Boolean(boolean)) = scalar(node) {
        return Some(Spanned::new(boolean, node.span));
    }
    if is_variable(node, what, "true or false", faults) {
        return None;
    }
    let scalar = node.as_scalar();
    let help = match scalar.map(|scalar| scalar.text.to_lowercase()).as_deref() {
        Some("yes" | "on" | "true" | "1") => "write true",
        Some("no" | "off" | "false" | "0") => "write false",
        _ => "write true or false",
    };
    let found = match scalar {
        Some(scalar) if scalar.text.is_empty() => "empty".to_string(),
        Some(scalar) if scalar.plain => format!("`{}`", scalar.text),
        Some(scalar) => format!("the text \"{}\"", scalar.text),
        None => node.kind().to_string(),
    };
    faults.push(wrong_type(node.span, what, "true or false", &found).help(help));
    None
}

pub(super) fn integer(node: &Node, what: &str, faults: &mut Faults) -> Option<Spanned<i64>> {
    if let Some(Reading::Integer(integer)) = scalar(node) {
        return Some(Spanned::new(integer, node.span));
    }
    if is_variable(node, what, "a whole number", faults) {
        return None;
    }
    let found = match scalar(node) {
        Some(Reading::Float(number)) => number.to_string(),
        _ => node.kind().to_string(),
    };
    faults.push(wrong_type(node.span, what, "a whole number", &found).help("write digits alone, such as 3"));
    None
}

pub(super) fn count(node: &Node, what: &str, faults: &mut Faults) -> Option<Spanned<u32>> {
    let integer = integer(node, what, faults)?;
    if let Ok(count) = u32::try_from(integer.value) {
        Some(Spanned::new(count, integer.span))
    } else {
        let message = format!("{what} must be at least 0 and below 2^32, not {}", integer.value);
        faults.push(Diagnostic::error(Code::OutOfRange, node.span, message).help("write a count, such as 3"));
        None
    }
}

pub(super) fn duration(node: &Node, what: &str, faults: &mut Faults) -> Option<Spanned<Duration>> {
    if is_variable(node, what, "a duration", faults) {
        return None;
    }
    let parsed = match (&node.content, scalar(node)) {
        (_, Some(Reading::Integer(seconds))) => u64::try_from(seconds).ok().map(Duration::from_secs),
        (_, Some(Reading::Float(seconds))) => Duration::try_from_secs_f64(seconds).ok(),
        (Content::Scalar(scalar), Some(Reading::Text)) => parse_duration(&scalar.text),
        _ => {
            faults.push(wrong_type(node.span, what, "a duration", node.kind()).help(DURATION_HELP));
            return None;
        }
    };
    if let Some(duration) = parsed {
        return Some(Spanned::new(duration, node.span));
    }
    let text = node.as_scalar().map_or("", |scalar| scalar.text.as_str());
    let message = if text.starts_with('-') {
        format!("{what} cannot be negative")
    } else {
        format!("{what} cannot be `{text}`, which is no duration")
    };
    faults.push(Diagnostic::error(Code::BadDuration, node.span, message).help(DURATION_HELP));
    None
}

const DURATION_HELP: &str = "write seconds as a number, or units as in `250ms`, `90s`, `1m30s`, `2h`";

fn parse_duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total = Duration::ZERO;
    let mut last = f64::INFINITY;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let amount: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let unit = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let seconds = match &rest[..unit] {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        if seconds >= last {
            return None;
        }
        last = seconds;
        total = total.checked_add(Duration::try_from_secs_f64((amount * seconds * 1000.0).round() / 1000.0).ok()?)?;
        rest = &rest[unit..];
    }
    (!text.is_empty()).then_some(total)
}

pub(super) fn missing(span: Span, key: &str, place: &str) -> Diagnostic {
    Diagnostic::error(Code::MissingKey, span, format!("{place} has no `{key}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units_in_falling_order() {
        for (text, milliseconds) in [
            ("250ms", Some(250)),
            ("90s", Some(90_000)),
            ("1m30s", Some(90_000)),
            ("1.5h", Some(5_400_000)),
            ("1h1m1s1ms", Some(3_661_001)),
            ("0s", Some(0)),
            ("30s1m", None),
            ("1s1s", None),
            ("1d", None),
            ("s", None),
            ("-5s", None),
            ("5 s", None),
        ] {
            let parsed = parse_duration(text).map(|duration| duration.as_millis());
            assert_eq!(parsed, milliseconds, "{text}");
        }
    }
}
