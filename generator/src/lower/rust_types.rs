//! Rust types that a spec gives as text.

use std::collections::BTreeMap;

use syn::{GenericArgument, Path, PathArguments, Type};

use super::memos;
use crate::diagnostic::{Code, Diagnostic, Span, did_you_mean};
use crate::model::{IndexType, SchemaTypes, TypePart};
use crate::spec::RustTypeSpec;

/// Types that need no path, with the number of types that they take.
const PRELUDE: &[(&str, usize)] = &[
    ("Box", 1),
    ("Option", 1),
    ("Result", 2),
    ("String", 0),
    ("Vec", 1),
    ("bool", 0),
    ("char", 0),
    ("f32", 0),
    ("f64", 0),
    ("i128", 0),
    ("i16", 0),
    ("i32", 0),
    ("i64", 0),
    ("i8", 0),
    ("isize", 0),
    ("u128", 0),
    ("u16", 0),
    ("u32", 0),
    ("u64", 0),
    ("u8", 0),
    ("usize", 0),
];

/// Crates whose types every project may name.
const CRATES: &[&str] = &["alloc", "core", "serde_json", "std"];

/// Longer or deeper ones are no types that anybody means.
const LENGTH: usize = 400;
const DEPTH: usize = 24;

/// The generated types that a type may name.
pub(super) struct Known<'a> {
    /// Of each module.
    pub(super) modules: &'a BTreeMap<String, SchemaTypes>,
    /// The module whose types need no path.
    pub(super) home: &'a str,
}

/// What is to be found in a type that cannot be one of keys.
#[derive(Default)]
struct Traits {
    /// The place of what has neither `Eq` nor `Hash`, and its name.
    unhashable: Option<(Span, String)>,
}

/// The type of an index's keys or values.
pub(super) fn rust_type(
    spec: &RustTypeSpec,
    is_key: bool,
    known: &Known<'_>,
    faults: &mut Vec<Diagnostic>,
) -> Option<IndexType> {
    let text = spec.text.value.as_str();
    let whole = spec.text.span;
    let mut refuse = |span: Span, message: String, help: Option<String>| {
        faults.push(Diagnostic::error(Code::IndexType, span, message).maybe_help(help));
        None
    };
    if text.len() > LENGTH || depth(text) > DEPTH {
        let message = "this type is too large".to_owned();
        return refuse(
            whole,
            message,
            Some("give it a name in a module of yours: state::Entry".into()),
        );
    }
    let parsed: Type = match syn::parse_str(text) {
        Ok(parsed) => parsed,
        Err(error) => {
            let at = error.span().start().column;
            // In words of its own it would list all that Rust allows and a key does not.
            let message = format!("`{text}` is no Rust type");
            return refuse(place(spec, at, at + 1), message, Some(FORMS.to_owned()));
        }
    };
    let mut reader = Reader {
        spec,
        known,
        parts: Vec::new(),
        traits: Traits::default(),
    };
    if let Err((span, message, help)) = reader.read(&parsed) {
        return refuse(span, message, help);
    }
    if let Some((span, name)) = reader.traits.unhashable.filter(|_| is_key) {
        let message = format!("`{name}` cannot be part of a key: it has no `Eq` and `Hash`");
        let help = "take a text, a whole number, an enum of the spec, or a type of yours: state::Key";
        return refuse(span, message, Some(help.to_owned()));
    }
    Some(IndexType {
        parts: joined(reader.parts),
    })
}

/// Types of the language and of its library that are compared and copied, and are no keys all the same.
const WITHOUT_HASH: [&str; 5] = ["f32", "f64", "HashMap", "HashSet", "BinaryHeap"];

const FORMS: &str = "write such as String, u32, (String, u16), serde_json::Value, std::net::IpAddr, a type of the \
                     kind's schema, or state::Entry for a type of yours";

fn depth(text: &str) -> usize {
    text.matches(['<', '(', '[', '&', '*']).count()
}

/// From and to these columns, if the text stands in the file as it is.
fn place(spec: &RustTypeSpec, from: usize, to: usize) -> Span {
    let text = spec.text.value.as_str();
    let byte = |column: usize| text.char_indices().nth(column).map_or(text.len(), |(at, _)| at);
    match spec.verbatim {
        Some(first) if !text.is_empty() => {
            let from = byte(from).min(text.len() - 1);
            Span::new(first + from, first + byte(to).max(from + 1))
        }
        _ => spec.text.span,
    }
}

/// One text for several in a row.
fn joined(parts: Vec<TypePart>) -> Vec<TypePart> {
    let mut joined: Vec<TypePart> = Vec::new();
    for part in parts {
        match (joined.last_mut(), part) {
            (Some(TypePart::Text(last)), TypePart::Text(text)) => last.push_str(&text),
            (_, part) => joined.push(part),
        }
    }
    joined
}

/// The place, what is wrong there, and how to mend it.
type Refusal = (Span, String, Option<String>);

struct Reader<'a> {
    spec: &'a RustTypeSpec,
    known: &'a Known<'a>,
    parts: Vec<TypePart>,
    traits: Traits,
}

impl Reader<'_> {
    fn text(&mut self, text: &str) {
        self.parts.push(TypePart::Text(text.to_owned()));
    }

    fn place(&self, of: &impl syn::spanned::Spanned) -> Span {
        let span = of.span();
        place(self.spec, span.start().column, span.end().column)
    }

    fn read(&mut self, rust: &Type) -> Result<(), Refusal> {
        match rust {
            Type::Tuple(tuple) => {
                self.text("(");
                let count = tuple.elems.len();
                for (at, inner) in tuple.elems.iter().enumerate() {
                    self.read(inner)?;
                    self.text(match at + 1 {
                        1 if count == 1 => ",",
                        last if last == count => "",
                        _ => ", ",
                    });
                }
                self.text(")");
                Ok(())
            }
            Type::Path(path) if path.qself.is_none() => self.path(&path.path),
            Type::Paren(inner) => self.read(&inner.elem),
            other => {
                let message = "keys and values own what they hold: this is no path of a type and no tuple".to_owned();
                Err((self.place(other), message, Some(FORMS.to_owned())))
            }
        }
    }

    fn path(&mut self, path: &Path) -> Result<(), Refusal> {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let (last, modules) = names.split_last().expect("a path has a segment");
        let is_plain = path
            .segments
            .iter()
            .rev()
            .skip(1)
            .all(|segment| segment.arguments.is_none());
        let arguments = path
            .segments
            .last()
            .map_or(&PathArguments::None, |segment| &segment.arguments);
        let place = self.place(path);
        let refused = |message: String, help: &str| Err((place, message, Some(help.to_owned())));
        if !is_plain {
            return refused("types stand behind the last name of a path only".into(), FORMS);
        }
        let root = modules.first().map(String::as_str);
        if path.leading_colon.is_some() || root.is_some_and(|root| CRATES.contains(&root)) {
            let colons = if path.leading_colon.is_some() { "::" } else { "" };
            if modules.is_empty() {
                return refused(format!("`{colons}{last}` names no type of a crate"), FORMS);
            }
            if matches!(root, Some("std")) && WITHOUT_HASH.contains(&last.as_str()) {
                self.traits.unhashable.get_or_insert((place, last.clone()));
            }
            self.text(&format!("{colons}{}", names.join("::")));
            return self.arguments(arguments);
        }
        let generated = match modules {
            [] => self.generated(self.known.home, last),
            [module] => self.generated(module, last),
            _ => None,
        };
        if let Some((part, is_enum)) = generated {
            if !arguments.is_none() {
                return refused(format!("`{last}` takes no types"), "remove the angle brackets");
            }
            if !is_enum {
                self.traits.unhashable.get_or_insert((place, last.clone()));
            }
            self.parts.push(part);
            return Ok(());
        }
        if modules.is_empty() {
            return self.bare(last, arguments, place);
        }
        if let [module] = modules
            && let Some(types) = self.known.modules.get(module)
        {
            let names = types.structs.iter().chain(&types.enums).map(String::as_str);
            let help = did_you_mean(last, names).map(|name| format!("did you mean `{module}::{name}`?"));
            let message = format!("the schema of `{module}` has no type `{last}`");
            return Err((place, message, help));
        }
        if !arguments.is_none() {
            let help = "give the whole a name in that module: pub type Entry = ...; and name that";
            return refused("a type of yours is named without types behind it".into(), help);
        }
        match memos::path(&names.join("::"), "keys or values", "Entry") {
            Ok(own) => {
                self.parts.push(TypePart::Own(own.path));
                Ok(())
            }
            Err((message, help)) => refused(message, &help),
        }
    }

    /// A type without a path.
    fn bare(&mut self, name: &str, arguments: &PathArguments, place: Span) -> Result<(), Refusal> {
        let Some((_, count)) = PRELUDE.iter().find(|(known, _)| *known == name) else {
            let types = self.known.modules.get(self.known.home);
            let generated = types
                .into_iter()
                .flat_map(|types| types.structs.iter().chain(&types.enums));
            let known = PRELUDE
                .iter()
                .map(|(name, _)| *name)
                .chain(generated.map(String::as_str));
            // Objects as a whole are not compared; what is wanted of them is.
            let spec = format!("{name}Spec");
            let spec = types.is_some_and(|types| types.structs.contains(&spec)).then_some(spec);
            let help = match spec.as_deref().or(did_you_mean(name, known)) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("write the path of a type of yours, such as state::{name}, or of the standard library"),
            };
            return Err((place, format!("`{name}` is no type that is known here"), Some(help)));
        };
        let given = match arguments {
            PathArguments::None => 0,
            PathArguments::AngleBracketed(given) => given.args.len(),
            PathArguments::Parenthesized(_) => usize::MAX,
        };
        if given != *count {
            let wanted = match count {
                0 => "no types".to_owned(),
                1 => "one type".to_owned(),
                count => format!("{count} types"),
            };
            return Err((place, format!("`{name}` takes {wanted}"), Some(FORMS.to_owned())));
        }
        if WITHOUT_HASH.contains(&name) {
            self.traits.unhashable.get_or_insert((place, name.to_owned()));
        }
        self.text(name);
        self.arguments(arguments)
    }

    /// Whether it is that of an enum, too.
    fn generated(&self, module: &str, name: &str) -> Option<(TypePart, bool)> {
        let types = self.known.modules.get(module)?;
        let is_enum = types.enums.contains(name);
        let part = TypePart::Generated {
            module: module.to_owned(),
            name: name.to_owned(),
        };
        (is_enum || types.structs.contains(name)).then_some((part, is_enum))
    }

    fn arguments(&mut self, arguments: &PathArguments) -> Result<(), Refusal> {
        match arguments {
            PathArguments::None => Ok(()),
            PathArguments::AngleBracketed(given) => {
                self.text("<");
                for (at, argument) in given.args.iter().enumerate() {
                    if at > 0 {
                        self.text(", ");
                    }
                    match argument {
                        GenericArgument::Type(inner) => self.read(inner)?,
                        other => {
                            let message = "only types stand between angle brackets here".to_owned();
                            return Err((self.place(other), message, Some(FORMS.to_owned())));
                        }
                    }
                }
                self.text(">");
                Ok(())
            }
            PathArguments::Parenthesized(other) => {
                let message = "keys and values are no functions".to_owned();
                Err((self.place(other), message, Some(FORMS.to_owned())))
            }
        }
    }
}
