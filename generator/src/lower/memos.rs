//! The types of memos.

use super::Faults;
use crate::diagnostic::{Code, Diagnostic};
use crate::model::Memo;
use crate::naming;
use crate::spec::Spanned;

/// Crates whose types are there already.
const STANDARD: &[&str] = &["std", "core", "alloc"];

/// Modules of the project that hold something else.
const TAKEN: &[&str] = &["generated", "handlers", "lib", "main"];

/// Prelude names that the seeded code itself needs.
const NEEDED: &[&str] = &["From", "Self"];

pub(super) fn memo(spec: Option<&Spanned<String>>, faults: &mut Faults) -> Option<Memo> {
    let spec = spec?;
    match path(&spec.value, "a memo", "Memo") {
        Ok(memo) => Some(memo),
        Err((message, help)) => {
            faults.push(Diagnostic::error(Code::Memo, spec.span, message).help(help));
            None
        }
    }
}

/// A path of a type of the author's or of another crate's; `what` it is for and a `usual` name are for messages.
pub(super) fn path(text: &str, what: &str, usual: &str) -> Result<Memo, (String, String)> {
    let example =
        format!("write a module and a type of it: state::{usual}; the module is made once, and then it is yours");
    if let Some(foreign) = text.strip_prefix("::") {
        let path: Vec<String> = foreign.split("::").map(str::to_string).collect();
        if path.len() < 2 || !path.iter().all(|name| is_name(name)) {
            return Err((format!("`{text}` is no path of a Rust type"), example));
        }
        return Ok(Memo {
            path: vec![text.to_string()],
            is_own: false,
        });
    }
    let path: Vec<String> = text
        .strip_prefix("crate::")
        .unwrap_or(text)
        .split("::")
        .map(str::to_string)
        .collect();
    if !path.iter().all(|name| is_name(name)) {
        return Err((format!("`{text}` is no path of a Rust type"), example));
    }
    let Some((name, modules)) = path.split_last().filter(|(_, modules)| !modules.is_empty()) else {
        return Err((format!("`{text}` names no module"), format!("write state::{text}")));
    };
    let is_own = !STANDARD.contains(&modules[0].as_str());
    if !is_own {
        return Ok(Memo { path, is_own });
    }
    if TAKEN.contains(&modules[0].as_str()) {
        let message = format!("`{}` is a module of the project that holds something else", modules[0]);
        return Err((message, format!("write state::{name}")));
    }
    if let Some(module) = modules.iter().find(|module| !naming::snake_identifier(module)) {
        return Err((
            format!("`{module}` is no module in snake case"),
            format!("write {}", naming::snake_case(module)),
        ));
    }
    if naming::type_name(name) != *name && naming::pascal_case(name) != *name || NEEDED.contains(&name.as_str()) {
        return Err((
            format!("`{name}` cannot name the type of {what}"),
            format!("write {}::{usual}", modules.join("::")),
        ));
    }
    Ok(Memo { path, is_own })
}

fn is_name(name: &str) -> bool {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts && name != "_" && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !naming::is_keyword(name)
}
