//! Options that may come from the environment: `{env: NAME, default: V}` in the place of a value.

use super::keys::ENVIRONMENT;
use super::reader::{Faults, is_empty, mapping, missing, text};
use crate::diagnostic::{Code, Diagnostic, wrong_type};
use crate::model::Configured;
use crate::spec::{Mapping, Node, OptionSpec, Spanned};

/// An option of an entry, read by `read` wherever its value stands.
pub(super) fn option<T>(
    keys: &Mapping,
    key: &str,
    read: impl Fn(&Node, &str, &mut Faults) -> Option<Spanned<T>>,
    faults: &mut Faults,
) -> OptionSpec<T> {
    let node = keys.get(key)?;
    let what = format!("`{key}`");
    if node.as_mapping().is_none() {
        return read(node, &what, faults).map(|plain| Spanned::new(Configured::Plain(plain.value), plain.span));
    }
    let keys = mapping(node, &ENVIRONMENT, faults)?;
    environment(node, keys, read, faults)
}

/// A mapping whose keys are checked already.
pub(super) fn environment<T>(
    node: &Node,
    keys: &Mapping,
    read: impl Fn(&Node, &str, &mut Faults) -> Option<Spanned<T>>,
    faults: &mut Faults,
) -> OptionSpec<T> {
    let name = if let Some(name) = keys.get("env") {
        variable(name, faults)
    } else {
        let fault = missing(node.span, "env", "a value from the environment");
        faults.push(fault.help("name the variable: {env: NAME, default: VALUE}; or write the value itself"));
        None
    };
    let default = match keys.get("default") {
        Some(default) if is_empty(default) => {
            let fault = wrong_type(default.span, "`default`", "a value", "null");
            faults.push(fault.help("leave `default` out where the variable must be set"));
            return None;
        }
        Some(default) => Some(read(default, "`default`", faults)?.value),
        None => None,
    };
    Some(Spanned::new(
        Configured::Environment { name: name?, default },
        node.span,
    ))
}

fn variable(node: &Node, faults: &mut Faults) -> Option<String> {
    let name = text(node, "`env`", faults)?;
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.value.is_empty() || !name.value.chars().all(legal) || name.value.starts_with(|c: char| c.is_ascii_digit()) {
        let message = format!("`{}` cannot name an environment variable", name.value);
        let help = "use letters, digits and `_`, with no digit first: RETRIES";
        faults.push(Diagnostic::error(Code::Environment, name.span, message).help(help));
        return None;
    }
    Some(name.value)
}
