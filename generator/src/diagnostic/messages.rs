//! Messages that several checks share.

use super::{Code, Diagnostic, Span, did_you_mean, listed};

pub(crate) fn unknown_key(span: Span, key: &str, place: &str, known: &[&str]) -> Diagnostic {
    let help = match did_you_mean(key, known.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("known here: {}", listed(known.iter().copied())),
    };
    Diagnostic::error(Code::UnknownKey, span, format!("unknown key `{key}` in {place}")).help(help)
}

pub(crate) fn not_supported_yet(span: Span, key: &str) -> Diagnostic {
    Diagnostic::error(Code::NotSupportedYet, span, format!("`{key}` is not supported yet"))
        .help("it belongs to the format, but this version of kopf-gen cannot generate it; remove it for now")
}

pub(crate) fn wrong_type(span: Span, what: &str, wanted: &str, found: &str) -> Diagnostic {
    Diagnostic::error(Code::WrongType, span, format!("{what} must be {wanted}, not {found}"))
}

/// For what is written as a variable where none is taken.
pub(crate) fn no_variable(span: Span, what: &str, wanted: &str) -> Diagnostic {
    wrong_type(span, what, wanted, "a mapping").help("no variable is taken here: write the value itself")
}

pub(crate) fn quote_it(span: Span, what: &str, raw: &str, read_as: &str) -> Diagnostic {
    Diagnostic::error(
        Code::QuoteIt,
        span,
        format!("{what} must be text, but plain `{raw}` reads as {read_as}"),
    )
    .help(format!("quote it: \"{raw}\""))
}

pub(crate) fn cut_by_yaml(span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::CutByYaml, span, message)
        .help("quote this value: put the whole of it between single quotes, 'like this'")
}
