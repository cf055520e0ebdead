//! An author's Rust file: what it defines, and where something can be added.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use syn::spanned::Spanned as _;
use syn::{Attribute, Item, UseTree};

use crate::rustfmt::version_order;

/// The file cannot be read as Rust.
#[derive(Debug)]
pub(super) struct Unparsable {
    pub(super) line: usize,
    pub(super) message: String,
}

/// Where a name comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Binding {
    /// A `use` that does not rename and always holds, with its path.
    Import(String),
    /// An item, or any other `use`.
    Other,
}

/// A file's top level.
#[derive(Debug)]
pub(super) struct Source {
    lines: Vec<String>,
    items: Vec<Place>,
    pub(super) bindings: BTreeMap<String, Binding>,
    /// Modules that are imported with `*`.
    pub(super) globs: BTreeSet<String>,
}

#[derive(Debug)]
struct Place {
    /// Counted from 0, with attributes and the comment above.
    start: usize,
    /// The line behind.
    end: usize,
    kind: PlaceKind,
}

#[derive(Debug, PartialEq, Eq)]
enum PlaceKind {
    /// With its path; braces and all that follows are left out.
    Use(Vec<String>),
    Module(String),
    Tests,
    Other,
}

impl Source {
    pub(super) fn parse(text: &str) -> Result<Self, Unparsable> {
        let file = syn::parse_file(text).map_err(|error| Unparsable {
            line: error.span().start().line,
            message: in_plain_words(&error.to_string()),
        })?;
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let mut source = Self {
            lines,
            items: Vec::new(),
            bindings: BTreeMap::new(),
            globs: BTreeSet::new(),
        };
        for item in &file.items {
            source.bind(item);
            let start = source.with_comment(item.span().start().line - 1);
            let end = item.span().end().line;
            source.items.push(Place {
                start,
                end,
                kind: kind(item),
            });
        }
        Ok(source)
    }

    /// A comment directly above belongs to the item.
    fn with_comment(&self, mut line: usize) -> usize {
        while line > 0 {
            let above = self.lines[line - 1].trim_start();
            if !above.starts_with("//") || above.starts_with("//!") {
                break;
            }
            line -= 1;
        }
        line
    }

    fn bind(&mut self, item: &Item) {
        let name = match item {
            Item::Fn(item) => &item.sig.ident,
            Item::Struct(item) => &item.ident,
            Item::Enum(item) => &item.ident,
            Item::Union(item) => &item.ident,
            Item::Trait(item) => &item.ident,
            Item::Type(item) => &item.ident,
            Item::Const(item) => &item.ident,
            Item::Static(item) => &item.ident,
            Item::Mod(item) => &item.ident,
            Item::Use(item) => return self.bind_use(String::new(), &item.tree, item.attrs.iter().any(is_cfg)),
            _ => return,
        };
        self.bindings.insert(name.to_string(), Binding::Other);
    }

    fn bind_use(&mut self, prefix: String, tree: &UseTree, is_conditional: bool) {
        match tree {
            UseTree::Path(path) => {
                self.bind_use(joined(&prefix, &path.ident.to_string()), &path.tree, is_conditional);
            }
            UseTree::Name(name) => {
                let name = name.ident.to_string();
                let binding = if is_conditional {
                    Binding::Other
                } else {
                    Binding::Import(joined(&prefix, &name))
                };
                self.bindings.insert(name, binding);
            }
            UseTree::Rename(rename) => {
                self.bindings.insert(rename.rename.to_string(), Binding::Other);
            }
            UseTree::Glob(_) if is_conditional => {}
            UseTree::Glob(_) => {
                self.globs.insert(prefix);
            }
            UseTree::Group(group) => {
                let mut bind = |tree| self.bind_use(prefix.clone(), tree, is_conditional);
                group.items.iter().for_each(&mut bind);
            }
        }
    }

    /// The end of the file, or the line of its test module: clippy wants tests last.
    pub(super) fn end_of_code(&self) -> usize {
        let tests = self.items.iter().find(|place| place.kind == PlaceKind::Tests);
        tests.map_or(self.lines.len(), |place| place.start)
    }

    /// Behind the imports, or before the first item.
    pub(super) fn end_of_uses(&self) -> usize {
        let last = self
            .items
            .iter()
            .rfind(|place| matches!(place.kind, PlaceKind::Use(_)))
            .map(|place| place.end);
        last.or_else(|| self.items.first().map(|place| place.start))
            .unwrap_or(self.lines.len())
    }

    /// Among the imports from the same crate, in rustfmt's order.
    pub(super) fn place_of_use(&self, module: &str, name: &str) -> Option<usize> {
        let wanted: Vec<String> = module.split("::").chain([name]).map(str::to_owned).collect();
        let mut uses = self.items.iter().filter_map(|place| match &place.kind {
            PlaceKind::Use(path) => Some((place, path)),
            _ => None,
        });
        let (first, path) = uses.find(|(_, path)| path.first() == wanted.first())?;
        if path_order(&wanted, path).is_lt() {
            return Some(first.start);
        }
        let mut end = first.end;
        for (place, path) in uses {
            if place.start != end || path_order(&wanted, path).is_lt() {
                break;
            }
            end = place.end;
        }
        Some(end)
    }

    /// Among the other modules, in their order.
    pub(super) fn place_of_module(&self, name: &str) -> (usize, Gap) {
        let modules = || {
            self.items.iter().filter_map(|place| match &place.kind {
                PlaceKind::Module(name) => Some((name, place)),
                _ => None,
            })
        };
        let next = modules().find(|(known, _)| known.as_str() > name);
        match (next, modules().next_back()) {
            (Some((_, next)), _) => (next.start, Gap::None),
            (None, Some((_, last))) => (last.end, Gap::None),
            (None, None) => (self.lines.len(), Gap::Blank),
        }
    }
}

/// The lexer does not say what it has stumbled over.
fn in_plain_words(message: &str) -> String {
    match message {
        "cannot parse string into token stream" | "lex error" => {
            "a bracket or quote is not closed, or has no partner, near this line".to_owned()
        }
        other => other.to_owned(),
    }
}

/// The line of a top-level function, counted from 1.
pub(super) fn line_of(text: &str, name: &str) -> Option<usize> {
    let file = syn::parse_file(text).ok()?;
    file.items.iter().find_map(|item| match item {
        Item::Fn(item) if item.sig.ident == name => Some(item.sig.ident.span().start().line),
        _ => None,
    })
}

fn joined(prefix: &str, name: &str) -> String {
    if prefix.is_empty() {
        name.to_owned()
    } else {
        format!("{prefix}::{name}")
    }
}

fn kind(item: &Item) -> PlaceKind {
    match item {
        Item::Use(item) => PlaceKind::Use(use_path(&item.tree)),
        Item::Mod(module) if module.attrs.iter().any(is_cfg_test) => PlaceKind::Tests,
        Item::Mod(module) if module.content.is_none() => PlaceKind::Module(module.ident.to_string()),
        _ => PlaceKind::Other,
    }
}

fn is_cfg(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
}

fn is_cfg_test(attribute: &Attribute) -> bool {
    is_cfg(attribute) && attribute.parse_args::<syn::Ident>().is_ok_and(|word| word == "test")
}

/// Whether blank lines set an addition apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gap {
    None,
    Blank,
}

/// Additions to a text, by the line before which they go; those with blank lines around them come last there.
#[derive(Debug, Default)]
pub(super) struct Edits {
    additions: BTreeMap<(usize, Gap), Vec<String>>,
}

impl Edits {
    pub(super) fn insert(&mut self, line: usize, gap: Gap, text: &str) {
        self.additions.entry((line, gap)).or_default().push(text.to_owned());
    }

    pub(super) fn insert_first(&mut self, line: usize, gap: Gap, text: &str) {
        self.additions
            .entry((line, gap))
            .or_default()
            .insert(0, text.to_owned());
    }

    /// The text with everything added, in its own kind of line ends.
    pub(super) fn apply(self, text: &str) -> String {
        let eol = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let mut out = String::new();
        let mut at = 0;
        for ((line, gap), mut blocks) in self.additions {
            out.extend(lines[at..line].iter().copied());
            at = line;
            if !out.is_empty() && !out.ends_with('\n') {
                out.push_str(eol);
            }
            let is_blank = |line: &str| line.trim().is_empty();
            if gap == Gap::None {
                // Unlike imports, modules are sorted by bytes.
                if blocks.iter().all(|block| block.starts_with("use ")) {
                    blocks.sort_by(|a, b| version_order(a, b));
                } else {
                    blocks.sort_by(|a, b| a.trim_end_matches(';').cmp(b.trim_end_matches(';')));
                }
                out.push_str(&format!("{}\n", blocks.join("\n")).replace('\n', eol));
                continue;
            }
            if out.lines().next_back().is_some_and(|last| !is_blank(last)) {
                out.push_str(eol);
            }
            out.push_str(&format!("{}\n", blocks.join("\n\n")).replace('\n', eol));
            if lines.get(line).is_some_and(|next| !is_blank(next)) {
                out.push_str(eol);
            }
        }
        out.extend(lines[at..].iter().copied());
        out
    }
}

fn use_path(tree: &UseTree) -> Vec<String> {
    match tree {
        UseTree::Path(path) => [path.ident.to_string()]
            .into_iter()
            .chain(use_path(&path.tree))
            .collect(),
        UseTree::Name(name) => vec![name.ident.to_string()],
        UseTree::Rename(rename) => vec![rename.ident.to_string()],
        UseTree::Glob(_) | UseTree::Group(_) => vec![LIST.to_owned()],
    }
}

/// Stands for braces, which rustfmt puts behind all names.
const LIST: &str = "{";

fn path_order(a: &[String], b: &[String]) -> Ordering {
    let differing = a
        .iter()
        .zip(b)
        .map(|(a, b)| version_order(a, b))
        .find(|order| order.is_ne());
    differing.unwrap_or_else(|| a.len().cmp(&b.len()))
}
