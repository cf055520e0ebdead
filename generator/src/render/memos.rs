//! The modules of memos and of what indexes hold, which are made once and then are the author's.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::fileset::{Class, File, FileSet, Part};
use crate::model::{Memo, Operator, Resource};

/// How a kind is registered: with memos of its own, with the operator's, or without any.
pub(super) fn constructor(
    operator: &Operator,
    resource: &Resource,
    resource_type: &str,
    kind: &str,
    arc: &mut dyn FnMut() -> String,
) -> String {
    let Some(shared) = &operator.memo else {
        return format!("{resource_type}::of::<{kind}>()");
    };
    let head = format!("{resource_type}::with_memo::<{kind}, {}>", shared.rust());
    let arc = arc();
    match resource.memo.as_ref().filter(|own| *own != shared) {
        None => format!("{head}({arc}::clone)"),
        Some(own) => {
            let own = own.rust();
            format!("{head}(|operator| {{\n        {arc}::new({own}::from(&**operator))\n    }})")
        }
    }
}

/// The type of a kind's memo.
pub(super) fn type_name(operator: &Operator, resource: &Resource) -> Option<String> {
    resource.memo.as_ref().or(operator.memo.as_ref()).map(Memo::rust)
}

/// One file of the author's: the types in it, and the modules below it.
#[derive(Default)]
struct Module<'a> {
    /// In the order of mention.
    types: Vec<(&'a str, Type)>,
    modules: BTreeSet<&'a str>,
}

/// A type that the author fills in.
struct Type {
    about: String,
    conversion: Option<String>,
    /// Indexes compare it, and find it as a key.
    is_indexed: bool,
}

/// The modules at the crate's root, for `src/lib.rs`.
pub(super) fn root_modules(operator: &Operator) -> BTreeSet<String> {
    let memos = own(operator).map(|(memo, _)| memo.path.as_slice());
    let paths = memos.chain(indexed(operator).map(|(path, _)| path));
    paths.filter_map(|path| path.first().cloned()).collect()
}

/// The types in indexes that the project defines, with the id of the index.
fn indexed(operator: &Operator) -> impl Iterator<Item = (&[String], &str)> {
    operator.indexes.iter().flat_map(|index| {
        let own = index.key.own().chain(index.value.own());
        own.map(|path| (path, index.id.as_str()))
    })
}

/// All memos that the project defines, with the kind that each is for.
fn own(operator: &Operator) -> impl Iterator<Item = (&Memo, Option<&Resource>)> {
    let of_kinds = operator
        .resources
        .iter()
        .filter_map(|resource| Some((resource.memo.as_ref()?, Some(resource))));
    let all = operator.memo.iter().map(|memo| (memo, None)).chain(of_kinds);
    all.filter(|(memo, _)| memo.is_own)
}

/// Adds the files.
pub(super) fn render(operator: &Operator, files: &mut FileSet) {
    let mut modules: BTreeMap<Vec<&str>, Module<'_>> = BTreeMap::new();
    for (memo, resource) in own(operator) {
        let about = match resource {
            None => "What all handlers share.".to_owned(),
            Some(resource) => format!("What the handlers remember of one `{}`.", resource.reference.kind),
        };
        let shared = operator
            .memo
            .as_ref()
            .filter(|shared| resource.is_some() && *shared != memo);
        let kind = Type {
            about,
            conversion: shared.map(Memo::rust),
            is_indexed: false,
        };
        add(&mut modules, &memo.path, kind);
    }
    for (path, id) in indexed(operator) {
        let kind = Type {
            about: format!("What the index `{id}` holds."),
            conversion: None,
            is_indexed: true,
        };
        add(&mut modules, path, kind);
    }
    for (path, module) in modules {
        files.insert(format!("src/{}.rs", path.join("/")), file(&path.join("::"), &module));
    }
}

fn add<'a>(modules: &mut BTreeMap<Vec<&'a str>, Module<'a>>, path: &'a [String], kind: Type) {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let Some((name, folders)) = path.split_last() else {
        return;
    };
    for depth in 1..folders.len() {
        let module = modules.entry(folders[..depth].to_vec()).or_default();
        module.modules.insert(folders[depth]);
    }
    let types = &mut modules.entry(folders.to_vec()).or_default().types;
    match types.iter_mut().find(|(known, _)| known == name) {
        Some((_, known)) => known.is_indexed |= kind.is_indexed,
        None => types.push((name, kind)),
    }
}

fn file(path: &str, module: &Module<'_>) -> File {
    let are_all = |is_indexed: bool| module.types.iter().all(|(_, kind)| kind.is_indexed == is_indexed);
    let what = match (are_all(false), are_all(true)) {
        (true, _) => "Memos: they live",
        (false, true) => "Parts of indexes: they live",
        (false, false) => "Memos and parts of indexes: they live",
    };
    let mut text = format!("//! {what} as long as the operator runs, and are stored nowhere.\n");
    let mut parts = Vec::new();
    if !module.modules.is_empty() {
        text.push('\n');
    }
    for name in &module.modules {
        writeln!(text, "pub mod {name};").expect("a String takes all");
        parts.push(Part::Module((*name).to_owned()));
    }
    for (name, kind) in &module.types {
        let definition = definition(path, name, kind);
        write!(text, "\n{definition}\n").expect("a String takes all");
        parts.push(Part::Function {
            name: (*name).to_owned(),
            text: definition,
            imports: Vec::new(),
        });
    }
    File {
        contents: text,
        class: Class::Seeded,
        owner: None,
        parts,
    }
}

fn definition(path: &str, name: &str, kind: &Type) -> String {
    let Type {
        about,
        conversion,
        is_indexed,
    } = kind;
    let derives = if *is_indexed {
        "Clone, Debug, Default, PartialEq, Eq, Hash"
    } else {
        "Debug, Default"
    };
    let mut text = format!("/// {about}\n#[derive({derives})]\npub struct {name} {{}}");
    if let Some(shared) = conversion {
        // In its own module the type of the operator's memo needs no path.
        let own = format!("crate::{path}::");
        let shared = match shared.strip_prefix(&own) {
            Some(name) if !name.contains("::") => name,
            _ => shared,
        };
        write!(
            text,
            "\n\nimpl From<&{shared}> for {name} {{\n    fn from(_: &{shared}) -> Self {{\n        Self::default()\n    }}\n}}"
        )
        .expect("a String takes all");
    }
    text
}
