//! What an author's file lacks, added without a change to any other byte.

use std::collections::BTreeMap;

use super::qualify::qualify;
pub(super) use super::source::Unparsable;
use super::source::{Binding, Edits, Gap, Source};
use crate::cargo_lock::CargoLock;
use crate::fileset::{File, Part};
use crate::rustfmt::use_line;

/// What was added to an author's file.
#[derive(Debug, Default)]
pub(super) struct Appended {
    /// The new text, if it differs.
    pub(super) text: Option<String>,
    /// Names of what was added.
    pub(super) added: Vec<String>,
}

/// Adds the parts that the text lacks, except those that were seeded before and so were removed on purpose.
pub(super) fn append(text: &str, file: &File, seeded: &[String]) -> Result<Appended, Unparsable> {
    if file.parts.is_empty() {
        return Ok(Appended::default());
    }
    if file.parts.contains(&Part::Packages) {
        return Ok(add_packages(text, &file.contents));
    }
    let source = Source::parse(text)?;
    let is_missing = |name: &String| !source.bindings.contains_key(name) && !seeded.contains(name);
    let mut edits = Edits::default();
    let mut appended = Appended::default();
    let mut imports: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for part in &file.parts {
        match part {
            Part::Function {
                name,
                text: stub,
                imports: wanted,
            } if is_missing(name) => {
                let mut stub = stub.clone();
                for (module, name) in wanted {
                    match source.bindings.get(name) {
                        Some(Binding::Import(path)) if *path == format!("{module}::{name}") => {}
                        // The file means something else by this name.
                        Some(_) => stub = qualify(&stub, module, name),
                        None if source.globs.contains(module) => {}
                        None => add_import(&mut imports, module, name),
                    }
                }
                edits.insert(source.end_of_code(), Gap::Blank, &stub);
                appended.added.push(name.clone());
            }
            Part::Module(name) if is_missing(name) => {
                let (line, gap) = source.place_of_module(name);
                edits.insert(line, gap, &format!("pub mod {name};"));
                appended.added.push(name.clone());
            }
            Part::Function { .. } | Part::Module(_) | Part::Packages => {}
        }
    }
    imports.retain(|module, names| {
        names.retain(|name| match source.place_of_use(module, name) {
            Some(line) => {
                edits.insert(line, Gap::None, &format!("use {module}::{name};"));
                false
            }
            None => true,
        });
        !names.is_empty()
    });
    if !imports.is_empty() {
        edits.insert_first(source.end_of_uses(), Gap::Blank, &use_lines(imports));
    }
    appended.text = (!appended.added.is_empty()).then(|| edits.apply(text));
    Ok(appended)
}

fn add_import<'a>(imports: &mut BTreeMap<&'a str, Vec<&'a str>>, module: &'a str, name: &'a str) {
    let names = imports.entry(module).or_default();
    if !names.contains(&name) {
        names.push(name);
    }
}

/// Other crates first, then this one, each in a block of its own.
fn use_lines(imports: BTreeMap<&str, Vec<&str>>) -> String {
    let (own, foreign): (Vec<_>, Vec<_>) = imports.into_iter().partition(|(module, _)| module.starts_with("crate"));
    let block = |imports: Vec<(&str, Vec<&str>)>| {
        let lines = imports.into_iter().map(|(module, names)| use_line(module, names));
        lines.collect::<Vec<_>>().join("\n")
    };
    let blocks = [block(foreign), block(own)];
    blocks
        .into_iter()
        .filter(|block| !block.is_empty())
        .collect::<Vec<_>>()
        .join("\n\n")
}

/// A lock that cargo cannot have written is left to cargo.
fn add_packages(text: &str, wanted: &str) -> Appended {
    let (Some(mut lock), Some(wanted)) = (CargoLock::parse(text), CargoLock::parse(wanted)) else {
        return Appended::default();
    };
    let before = lock.clone();
    let added = lock.add_missing(&wanted);
    Appended {
        text: (lock != before).then(|| lock.to_text()),
        added,
    }
}

#[cfg(test)]
mod tests {
    use super::append;
    use crate::fileset::{Class, File, Part};

    fn file(parts: Vec<Part>) -> File {
        File {
            contents: String::new(),
            class: Class::Seeded,
            owner: None,
            parts,
        }
    }

    fn stub(name: &str, imports: &[(&str, &str)]) -> Part {
        Part::Function {
            name: name.to_owned(),
            text: format!("pub fn {name}() {{}}"),
            imports: imports
                .iter()
                .map(|(module, name)| ((*module).to_owned(), (*name).to_owned()))
                .collect(),
        }
    }

    fn appended(text: &str, parts: Vec<Part>) -> String {
        append(text, &file(parts), &[])
            .unwrap()
            .text
            .unwrap_or_else(|| text.to_owned())
    }

    #[test]
    fn a_new_function_comes_last_with_what_it_needs() {
        let text = "//! Doc.\n\nuse kopf_runtime::{Change, HandlerResult};\n\n// mine\npub(crate) fn a() {}\n";
        let parts = vec![
            stub("a", &[("kopf_runtime", "Event")]),
            stub(
                "b",
                &[
                    ("kopf_runtime", "Timer"),
                    ("kopf_runtime", "HandlerResult"),
                    ("crate::x", "Y"),
                ],
            ),
        ];
        assert_eq!(
            appended(text, parts),
            "//! Doc.\n\nuse kopf_runtime::Timer;\nuse kopf_runtime::{Change, HandlerResult};\n\nuse crate::x::Y;\n\n// mine\npub(crate) fn a() {}\n\npub fn b() {}\n"
        );
    }

    #[test]
    fn imports_join_those_of_their_crate_in_order() {
        let text = "use anyhow::Context;\nuse kopf_runtime::HandlerResult;\nuse kopf_runtime::{Change, kube};\nuse serde_json::json;\n\nfn a() {}\n";
        let wanted = [
            ("kopf_runtime", "Event"),
            ("kopf_runtime", "Timer"),
            ("kopf_runtime::x", "A"),
        ];
        assert_eq!(
            appended(text, vec![stub("b", &wanted)]),
            "use anyhow::Context;\nuse kopf_runtime::Event;\nuse kopf_runtime::HandlerResult;\nuse kopf_runtime::Timer;\nuse kopf_runtime::x::A;\nuse kopf_runtime::{Change, kube};\nuse serde_json::json;\n\nfn a() {}\n\npub fn b() {}\n"
        );
    }

    #[test]
    fn tests_stay_last_and_line_ends_stay_as_they_are() {
        let text = "fn a() {}\r\n\r\n// about tests\r\n#[cfg(test)]\r\nmod tests {}\r\n";
        assert_eq!(
            appended(text, vec![stub("b", &[])]),
            "fn a() {}\r\n\r\npub fn b() {}\r\n\r\n// about tests\r\n#[cfg(test)]\r\nmod tests {}\r\n"
        );
    }

    #[test]
    fn files_without_anything_to_stand_behind() {
        assert_eq!(
            appended("", vec![stub("a", &[("m", "X")])]),
            "use m::X;\n\npub fn a() {}\n"
        );
        assert_eq!(
            appended("//! Doc.", vec![stub("a", &[("m", "X")])]),
            "//! Doc.\n\nuse m::X;\n\npub fn a() {}\n"
        );
        assert_eq!(
            appended("fn b() {}\n", vec![stub("a", &[("m", "X")])]),
            "use m::X;\n\nfn b() {}\n\npub fn a() {}\n"
        );
    }

    #[test]
    fn what_is_there_in_any_form_is_not_added() {
        let text = "pub use self::more::{a, c as b};\nuse m::*;\nstruct X;\n";
        let parts = vec![stub("a", &[]), stub("b", &[])];
        assert_eq!(appended(text, parts), text);
        let added = append(text, &file(vec![stub("d", &[("m", "Y"), ("n", "X")])]), &[]).unwrap();
        assert_eq!(added.text.unwrap(), format!("{text}\npub fn d() {{}}\n"));
        assert!(
            append(text, &file(vec![stub("gone", &[])]), &["gone".to_owned()])
                .unwrap()
                .text
                .is_none()
        );
    }

    #[test]
    fn names_with_another_meaning_are_written_with_their_path() {
        let wanted = ("kopf_runtime", "Event");
        for clash in [
            "use other::Event;",
            "use other::{self, Event};",
            "use kopf_runtime::kube::Event;",
            "use other::Thing as Event;",
            "#[cfg(test)]\nuse kopf_runtime::Event;",
            "struct Event;",
        ] {
            let part = Part::Function {
                name: "b".to_owned(),
                text: "/// An `Event`.\npub fn b(Event { name, .. }: Event<X>) {}".to_owned(),
                imports: vec![(wanted.0.to_owned(), wanted.1.to_owned())],
            };
            let full = "/// An `Event`.\npub fn b(kopf_runtime::Event { name, .. }: kopf_runtime::Event<X>) {}\n";
            assert_eq!(
                appended(&format!("{clash}\n"), vec![part]),
                format!("{clash}\n\n{full}")
            );
        }
    }

    #[test]
    fn modules_are_sorted_in() {
        let text = "//! Doc.\n\n/// The bucket.\npub mod bucket;\npub mod pod;\n";
        let parts = ["zebra", "cart9", "cart", "cart10", "ant"]
            .map(|name| Part::Module(name.to_owned()))
            .to_vec();
        assert_eq!(
            appended(text, parts),
            "//! Doc.\n\npub mod ant;\n/// The bucket.\npub mod bucket;\npub mod cart;\npub mod cart10;\npub mod cart9;\npub mod pod;\npub mod zebra;\n"
        );
        assert_eq!(
            appended("//! Doc.\n", vec![Part::Module("a".to_owned())]),
            "//! Doc.\n\npub mod a;\n"
        );
    }

    #[test]
    fn a_file_that_is_not_rust_is_reported_with_its_line() {
        let error = append("fn a() {}\n\nfn {\n", &file(vec![stub("b", &[])]), &[]).unwrap_err();
        assert_eq!(error.line, 3);
    }
}
