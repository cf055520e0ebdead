//! Rust identifiers.

use super::words::{pascal_case, snake_case};

/// Keywords of the edition that is written to the generated `Cargo.toml`.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod",
    "move", "mut", "override", "priv", "pub", "ref", "return", "Self", "self", "static", "struct", "super", "trait",
    "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Keywords that no `r#` makes an identifier.
const NEVER_RAW: &[&str] = &["self", "Self", "super", "crate"];

/// Names of types and traits that generated code needs in their usual meaning: the prelude and its own imports.
const RESERVED_TYPES: &[&str] = &[
    "AsMut",
    "AsRef",
    "BTreeMap",
    "Box",
    "Change",
    "Clone",
    "Copy",
    "Cow",
    "Debug",
    "Default",
    "Deserialize",
    "DoubleEndedIterator",
    "Drop",
    "Eq",
    "Err",
    "ErrorsMode",
    "Event",
    "ExactSizeIterator",
    "Extend",
    "Fn",
    "FnMut",
    "FnOnce",
    "From",
    "FromIterator",
    "Future",
    "HandlerResult",
    "Into",
    "IntoFuture",
    "IntoIterator",
    "Iterator",
    "Kind",
    "None",
    "ObjectMeta",
    "Ok",
    "Operator",
    "Option",
    "Ord",
    "PartialEq",
    "PartialOrd",
    "Permanent",
    "Reference",
    "Resource",
    "Result",
    "Self",
    "Send",
    "Serialize",
    "Served",
    "Sized",
    "Some",
    "String",
    "Sync",
    "Temporary",
    "Timer",
    "ToOwned",
    "ToString",
    "TryFrom",
    "TryInto",
    "Unpin",
    "Value",
    "Vec",
];

/// Modules that a project has besides those of its kinds, and crates that it names.
const RESERVED_MODULES: &[&str] = &[
    "activities",
    "alloc",
    "anyhow",
    "blocking",
    "core",
    "generated",
    "handlers",
    "hours",
    "indexes",
    "kopf_runtime",
    "kopf_testserver",
    "kube",
    "lib",
    "main",
    "millis",
    "mins",
    "operator",
    "proc_macro",
    "secs",
    "serde",
    "serde_json",
    "std",
    "test",
    "tokio",
    "tracing",
];

/// Functions that the registry itself calls.
const RESERVED_FUNCTIONS: &[&str] = &["blocking", "hours", "main", "millis", "mins", "operator", "secs"];

/// Crates of the standard distribution and those that a generated project depends on, and names that cargo refuses.
const KNOWN_CRATES: &[&str] = &[
    "alloc",
    "anyhow",
    "build",
    "con",
    "core",
    "deps",
    "examples",
    "futures",
    "incremental",
    "k8s-openapi",
    "kopf-gen",
    "kopf-runtime",
    "kopf-testserver",
    "kube",
    "nul",
    "proc-macro",
    "prn",
    "serde",
    "serde-json",
    "std",
    "test",
    "tests",
    "tokio",
    "tracing",
    "vendor",
];

/// Whether Rust takes the word for itself.
pub(crate) fn is_keyword(name: &str) -> bool {
    KEYWORDS.contains(&name)
}

/// Whether a crate of this name would hide another.
pub(crate) fn is_known_crate(name: &str) -> bool {
    KNOWN_CRATES.contains(&name)
}

/// Whether a module of this name would hide another.
pub(crate) fn is_reserved_module(name: &str) -> bool {
    RESERVED_MODULES.contains(&name) || is_keyword(name)
}

/// Whether it is letters, digits and underscores, and starts with no digit.
fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name != "_"
}

/// Whether it is a plain identifier in snake case, as functions, fields and modules are.
pub(crate) fn snake_identifier(name: &str) -> bool {
    is_identifier(name) && !name.chars().any(|c| c.is_ascii_uppercase())
}

/// What is wrong with the name of a function.
pub(crate) fn function_fault(name: &str) -> Option<String> {
    if is_keyword(name) {
        Some(format!("`{name}` is a keyword of Rust"))
    } else if RESERVED_FUNCTIONS.contains(&name) {
        Some(format!("`{name}` is a function of the generated code itself"))
    } else if !is_identifier(name) {
        Some(format!("`{name}` is no Rust identifier"))
    } else if !snake_identifier(name) {
        Some(format!("`{name}` is not in snake case, in which Rust writes functions"))
    } else {
        None
    }
}

/// A field of a struct: `type` gives `r#type`, `self` gives `self_`, `2fa` gives `_2fa`.
pub(crate) fn field_name(wire_name: &str) -> String {
    escaped(&started(snake_case(wire_name), "_"))
}

fn started(name: String, prefix: &str) -> String {
    match name.chars().next() {
        Some(first) if first.is_ascii_digit() => format!("{prefix}{name}"),
        Some(_) => name,
        None => "field".to_string(),
    }
}

fn escaped(name: &str) -> String {
    if NEVER_RAW.contains(&name) {
        format!("{name}_")
    } else if is_keyword(name) {
        format!("r#{name}")
    } else {
        name.to_string()
    }
}

/// The module of a kind: `HTTPRoute` gives `http_route`. A name that would hide something gets `_kind`.
pub(crate) fn module_name(kind: &str) -> String {
    let name = started(snake_case(kind), "kind_");
    if is_reserved_module(&name) {
        format!("{name}_kind")
    } else {
        name
    }
}

/// The type of a kind: the kind itself, word for word. A name that generated code needs gets `Object` behind it.
pub(crate) fn kind_type_name(kind: &str) -> String {
    let plain = kind.starts_with(|c: char| c.is_ascii_uppercase()) && kind.chars().all(|c| c.is_ascii_alphanumeric());
    let name = if plain { kind.to_string() } else { pascal_case(kind) };
    if RESERVED_TYPES.contains(&name.as_str()) {
        format!("{name}Object")
    } else {
        name
    }
}

/// The type behind a name out of `types` or the like. A name that generated code needs gets `Type` behind it.
pub(crate) fn type_name(name: &str) -> String {
    let name = pascal_case(name);
    let name = if name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name
    } else {
        format!("T{name}")
    };
    if RESERVED_TYPES.contains(&name.as_str()) {
        format!("{name}Type")
    } else {
        name
    }
}

/// The variant of an enum for a value; `None` if the value has no letter or digit.
pub(crate) fn variant_name(value: &str) -> Option<String> {
    let name = pascal_case(value);
    match name.chars().next()? {
        first if first.is_ascii_digit() => Some(format!("V{name}")),
        _ if name == "Self" => Some("SelfValue".to_string()),
        _ => Some(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_become_raw_or_get_a_suffix() {
        for (wire, rust) in [
            ("type", "r#type"),
            ("ref", "r#ref"),
            ("match", "r#match"),
            ("async", "r#async"),
            ("gen", "r#gen"),
            ("try", "r#try"),
            ("self", "self_"),
            ("Self", "self_"),
            ("super", "super_"),
            ("crate", "crate_"),
            ("yield", "r#yield"),
            ("union", "union"),
            ("dyn", "r#dyn"),
            ("virtual", "r#virtual"),
            ("box", "r#box"),
            ("$ref", "r#ref"),
            ("2fa", "_2fa"),
            ("---", "field"),
            ("podCIDRs", "pod_cidrs"),
        ] {
            assert_eq!(field_name(wire), rust, "{wire}");
        }
    }

    #[test]
    fn every_field_name_parses_as_an_identifier() {
        for keyword in KEYWORDS {
            let name = field_name(keyword);
            assert!(syn::parse_str::<syn::Ident>(&name).is_ok(), "{name}");
        }
    }

    #[test]
    fn kinds_keep_their_spelling_unless_it_is_taken() {
        for (kind, type_name, module) in [
            ("Database", "Database", "database"),
            ("HTTPRoute", "HTTPRoute", "http_route"),
            ("Event", "EventObject", "event"),
            ("Option", "OptionObject", "option"),
            ("Operator", "OperatorObject", "operator_kind"),
            ("Type", "Type", "type_kind"),
            ("my-db", "MyDb", "my_db"),
        ] {
            assert_eq!(
                (kind_type_name(kind), module_name(kind)),
                (type_name.into(), module.into()),
                "{kind}"
            );
        }
    }

    #[test]
    fn variants_stand_for_any_value() {
        for (value, variant) in [
            ("none", Some("None")),
            ("4abc", Some("V4abc")),
            ("on", Some("On")),
            ("self", Some("SelfValue")),
            ("RWO", Some("Rwo")),
            ("a/b", Some("AB")),
            ("<=", None),
            ("", None),
        ] {
            assert_eq!(variant_name(value).as_deref(), variant, "{value}");
        }
    }
}
