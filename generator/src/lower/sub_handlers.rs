//! `forEach`: the sub-handlers, whether their paths lead to what there can be one for, and whether their keys tell items
//! apart.

use super::paths::{Contents, Distinct, Place, from_root, within};
use super::{Faults, entries};
use crate::diagnostic::{Code, Diagnostic, listed};
use crate::model::{Entry, OwnKind, SubHandler};
use crate::spec::{EntrySpec, ResourceSpec, Spanned, SubHandlerSpec};

/// The sub-handlers of one handler.
pub(super) fn sub_handlers(specs: &[SubHandlerSpec], handler: &Entry, faults: &mut Faults) -> Vec<SubHandler> {
    let sub = |spec: &SubHandlerSpec| SubHandler {
        path: spec.path.value.clone(),
        key: spec.key.as_ref().map(|key| key.value.clone()),
        entry: Entry {
            id: handler.id.clone(),
            ..entries::entry(&spec.entry, handler.full_id.clone(), faults)
        },
        for_each: sub_handlers(&spec.for_each, handler, faults),
    };
    specs.iter().map(sub).collect()
}

/// Checks all paths and keys of a resource.
pub(super) fn check(spec: &ResourceSpec, own: Option<&OwnKind>, faults: &mut Faults) {
    for handler in &spec.handlers {
        let Some(for_each) = &handler.for_each else { continue };
        let field = Field::of(None, &handler.entry, own).unwrap_or(Field::UNKNOWN);
        let mut check = Check { own, faults };
        check.all(&for_each.value, None, &field);
    }
}

struct Check<'k, 'f> {
    own: Option<&'k OwnKind>,
    faults: &'f mut Faults,
}

/// A place and what it is called.
#[derive(Clone)]
struct Named<'k> {
    place: Place<'k>,
    name: String,
}

impl<'k> Check<'k, '_> {
    /// The sub-handlers of one handler: for the whole object, or within an item.
    fn all(&mut self, subs: &[SubHandlerSpec], item: Option<&Named<'k>>, field: &Field<'k>) {
        for sub in subs {
            let field = match Field::of(Some(field), &sub.entry, self.own) {
                Ok(field) => field,
                Err(fault) => {
                    self.faults.push(fault);
                    Field::UNKNOWN
                }
            };
            if let Some(item) = self.item(sub, item) {
                self.all(&sub.for_each, Some(&item), &field);
            }
        }
        if let [first, second, ..] = subs {
            self.faults.push(two_places(first, second));
        }
    }

    /// What one sub-handler is for.
    fn item(&mut self, sub: &SubHandlerSpec, outer: Option<&Named<'k>>) -> Option<Named<'k>> {
        let path = &sub.path;
        let (found, name) = match outer {
            None => (from_root(self.own, path), path.value.join(".")),
            Some(outer) => (
                within(outer.place, &outer.name, path),
                format!("{}.{}", outer.name, path.value.join(".")),
            ),
        };
        let place = match found {
            Ok(place) => place,
            Err(fault) => {
                self.faults.push(fault);
                return None;
            }
        };
        let is_metadata = outer.is_none() && path.value == ["metadata"];
        let (item, distinct) = match place.contents() {
            Contents::Unknown if !is_metadata => (Place::Open, None),
            Contents::Scalar => (place, None),
            Contents::List(item) => (item, Some(place.distinct())),
            Contents::Map(value) => (value, None),
            Contents::Fields(_) | Contents::Unknown => {
                self.faults.push(no_items(path, &name, &place.contents()));
                return None;
            }
        };
        let item = Named {
            place: item,
            name: format!("{name}[]"),
        };
        let is_map = matches!(place.contents(), Contents::Map(_));
        if let (true, Some(key)) = (is_map, &sub.key) {
            let message = format!(
                "two entries of `{name}` may have the same `{}`, and so the same id",
                key.value.join(".")
            );
            let help = "equal ids fail the handler: leave `key` out, since the keys of a map are distinct";
            self.faults
                .push(Diagnostic::warning(Code::EqualKeys, key.span, message).help(help));
        }
        self.key(sub, &item, distinct.as_ref());
        Some(item)
    }

    fn key(&mut self, sub: &SubHandlerSpec, item: &Named<'k>, distinct: Option<&Distinct>) {
        let path = &sub.path;
        let Some(key) = &sub.key else {
            if matches!(
                (item.place.contents(), distinct),
                (Contents::Scalar, Some(Distinct::No))
            ) {
                let message = format!("`{}` may hold equal items, and so equal ids", path.value.join("."));
                let help = "equal ids fail the handler: add `listType=set` to the list";
                self.faults
                    .push(Diagnostic::warning(Code::EqualKeys, path.span, message).help(help));
            }
            return;
        };
        match within(item.place, &item.name, key).map(Place::contents) {
            Err(fault) => self.faults.push(fault),
            Ok(Contents::Scalar | Contents::Unknown) => {
                let Some(distinct) = distinct else { return };
                let is_distinct = match distinct {
                    Distinct::By(keys) => *keys == key.value,
                    Distinct::Whole | Distinct::No => false,
                };
                if !is_distinct {
                    self.faults.push(equal_keys(path, key));
                }
            }
            Ok(_) => {
                let name = format!("{}.{}", item.name, key.value.join("."));
                let message = format!("`{name}` is no single value, and so no key");
                let help = "a key is a text, a number or a boolean that no other item has: its name";
                self.faults
                    .push(Diagnostic::error(Code::ForEachPath, key.span, message).help(help));
            }
        }
    }
}

/// Nothing keeps the keys of one place apart from those of another.
fn two_places(first: &SubHandlerSpec, second: &SubHandlerSpec) -> Diagnostic {
    let (one, other) = (first.path.value.join("."), second.path.value.join("."));
    let key = |sub: &SubHandlerSpec| sub.key.as_ref().map(|key| key.value.clone());
    let fault = if one == other && key(first) == key(second) {
        let message = format!("an item of `{one}` would have two sub-handlers of the same id");
        Diagnostic::error(Code::EqualKeys, second.path.span, message)
    } else {
        let message = format!("an item of `{one}` and one of `{other}` may have the same key, and so the same id");
        Diagnostic::warning(Code::EqualKeys, second.path.span, message)
    };
    fault.help("equal ids fail the handler: give each `forEach` a handler with an `id` of its own")
}

fn no_items(path: &Spanned<Vec<String>>, name: &str, contents: &Contents<'_>) -> Diagnostic {
    let message = format!("`{name}` is neither a list nor a map nor a single value");
    let help = match contents {
        Contents::Fields(fields) if !fields.is_empty() => {
            format!("name one of its fields: {}", listed(fields.iter().map(String::as_str)))
        }
        _ => "name what is below it, such as metadata.labels".to_string(),
    };
    Diagnostic::error(Code::ForEachPath, path.span, message).help(help)
}

fn equal_keys(path: &Spanned<Vec<String>>, key: &Spanned<Vec<String>>) -> Diagnostic {
    let (list, key_name) = (path.value.join("."), key.value.join("."));
    let message = format!("two items of `{list}` may have the same `{key_name}`, and so the same id");
    let help = if key.value.len() == 1 {
        format!("equal ids fail the handler: add `listType=map listMapKey={key_name}` to the list")
    } else {
        "equal ids fail the handler: take a key that `listType=map` keeps distinct".to_string()
    };
    Diagnostic::warning(Code::EqualKeys, key.span, message).help(help)
}

/// What `field` of a sub-handler starts from: what its handler watches.
struct Field<'k>(Option<Named<'k>>);

impl<'k> Field<'k> {
    const UNKNOWN: Self = Self(Some(Named {
        place: Place::Open,
        name: String::new(),
    }));

    /// What an entry watches, below what the entry above it watches.
    fn of(above: Option<&Self>, entry: &EntrySpec, own: Option<&'k OwnKind>) -> Result<Self, Diagnostic> {
        let above = above.and_then(|above| above.0.clone());
        let Some(path) = &entry.field else {
            return Ok(Self(above));
        };
        let shown = path.value.join(".");
        let named = match above {
            None => Named {
                place: from_root(own, path)?,
                name: shown,
            },
            Some(above) => Named {
                place: within(above.place, &above.name, path)?,
                name: format!("{}.{shown}", above.name),
            },
        };
        Ok(Self(Some(named)))
    }
}
