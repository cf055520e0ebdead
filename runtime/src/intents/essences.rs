//! What handlers are told of a change: the essence before, the essence now, and what differs (K-7, K-8).

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::configs::storages::Storages;
use crate::configs::{diffbase, digests};
use crate::structs::bodies::Body;
use crate::structs::diffs::{Diff, diff, equal};
use crate::structs::fields::FieldPath;
use crate::structs::patches;

/// How long a record's note of what was handled may be; there can be one for each handler of an unfinished cycle.
const NOTE_LIMIT: usize = 4_000;

/// What one handler is told.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    pub(crate) old: Option<Arc<Value>>,
    pub(crate) new: Option<Arc<Value>>,
    pub(crate) diff: Diff,
}

impl View {
    /// The view of a handler with a field: that field's values, and the differences within (K-8).
    pub(crate) fn reduced(self, field: Option<&FieldPath>) -> Self {
        let Some(field) = field else { return self };
        let value = |whole: Option<Arc<Value>>| whole.and_then(|whole| field.resolve(&whole).cloned()).map(Arc::new);
        Self {
            old: value(self.old),
            new: value(self.new),
            diff: self.diff.reduce(field),
        }
    }
}

/// The essence of an object now and when it was handled last.
///
/// Fields outside of the common essence are *extra*: they are stored with it, but only the handlers that ask for one
/// see it (B-5). An extra field that the stored copy does not cover, since the handler is new, counts as unchanged
/// (B-6): the first cycle that stores a copy makes it covered.
#[derive(Clone, Debug)]
pub(crate) struct Essences {
    body: Body,
    /// The fields that handlers ask for.
    asked: Vec<FieldPath>,
    /// Those of them that are not in the common essence.
    extras: Vec<FieldPath>,
    /// The extra fields that the stored copy covers, as dotted texts.
    covered: Vec<String>,
    /// As stored: with digests for what could not be stored. Absent if the object was never handled.
    stored: Option<Map<String, Value>>,
    /// The same with values instead of digests, wherever the value has not changed.
    base: Option<Value>,
    /// What is being handled, with all extra fields: the essence as it is now, unless it is pinned.
    pub(crate) fresh: Value,
    /// The essence as it is now.
    pub(crate) actual: Value,
    /// What handlers are told that ask for no extra field.
    common: View,
}

impl Essences {
    /// Reads an object. If the state was copied from another object, it counts as absent (B-028).
    pub(crate) fn read(body: &Body, asked: Vec<FieldPath>, storages: &Storages, copied: bool) -> Self {
        let extras: Vec<FieldPath> = asked
            .iter()
            .filter(|field| diffbase::is_extra(field))
            .cloned()
            .collect();
        let fresh = storages.essence(body, &extras);
        let stored = if copied { None } else { storages.diffbase.fetch(body) }.and_then(|mut stored| {
            storages.progress.clear(&mut stored);
            if let Value::Object(stored) = stored {
                Some(stored)
            } else {
                None
            }
        });
        let base = stored
            .clone()
            .map(|stored| digests::restore(Value::Object(stored), Some(&fresh)));
        let covered = covered(base.as_ref(), &extras, storages.covered_fields(body));
        let mut essences = Self {
            body: body.clone(),
            asked,
            extras,
            covered,
            stored,
            base,
            actual: fresh.clone(),
            fresh,
            common: View::default(),
        };
        essences.common = essences.view(essences.base.as_ref(), None);
        essences
    }

    /// Goes on with the essence that this note is about, whatever the object has become meanwhile.
    ///
    /// A creation is of one essence: what is edited while it goes on is told as an update afterwards, once, and no
    /// creating handler runs twice (B-015). Of a value whose digest is all that the note has, the handlers that are left
    /// see what it has become; the digest stays what was handled, so that the update is told nevertheless.
    pub(crate) fn pin(&mut self, note: &Value) {
        self.fresh = self.noted(note);
        self.common = self.view(self.base.as_ref(), None);
    }

    /// Whether the object was handled once.
    pub(crate) fn is_handled(&self) -> bool {
        self.base.is_some()
    }

    /// The essence that was handled last; absent if the object never was.
    pub(crate) fn base(&self) -> Option<&Value> {
        self.base.as_ref()
    }

    /// Whether anything but extra fields differs from what was handled last.
    pub(crate) fn is_changed(&self) -> bool {
        !self.common.diff.is_empty()
    }

    /// Whether the stored copy is to be written anew (C-12, B-6).
    pub(crate) fn is_outdated(&self) -> bool {
        !equal(self.base.as_ref(), Some(&self.fresh)) || self.lacks_coverage()
    }

    /// Whether the stored copy lacks an extra field, so that its changes would not be seen.
    pub(crate) fn lacks_coverage(&self) -> bool {
        self.base.is_some() && !self.extras.iter().all(|field| self.covers(field))
    }

    /// The change of the whole object since it was handled last; an extra field is seen by who asks for it.
    pub(crate) fn whole_since_handled(&self, field: Option<&FieldPath>) -> View {
        match field.filter(|field| diffbase::is_extra(field)) {
            None => self.common.clone(),
            extra => self.view(self.base.as_ref(), extra),
        }
    }

    /// The change since what a record says was handled, as a handler with this field sees it.
    pub(crate) fn since(&self, note: &Value, field: Option<&FieldPath>) -> View {
        let handled = self.noted(note);
        self.view(Some(&handled), field.filter(|field| diffbase::is_extra(field)))
            .reduced(field)
    }

    /// What is noted in the records of handlers that have handled the object as it is now.
    ///
    /// It is to be no longer than `room`; nor longer than what each handler of an unfinished cycle may take.
    pub(crate) fn note(&self, handled: &Value, room: usize) -> Value {
        let none = Value::Object(Map::new());
        let base = digests::sealed(&self.body, self.base.clone().unwrap_or(none));
        let handled = digests::sealed(&self.body, handled.clone());
        let patch = match (&base, &handled) {
            (Value::Object(base), Value::Object(handled)) => patches::between(base, handled),
            _ => Map::new(),
        };
        digests::fit(Value::Object(patch), &handled, &self.asked, NOTE_LIMIT.min(room))
    }

    /// A note brought up to date with what this operator itself has changed, from `before` to `after`: it is no news.
    pub(crate) fn renoted(&self, note: &Value, own: &Map<String, Value>, room: usize) -> Value {
        let mut handled = self.noted(note);
        patches::merge_into(&mut handled, &Value::Object(own.clone()));
        self.note(&handled, room)
    }

    /// The names of the extra fields that a copy of the essence as it is now covers.
    pub(crate) fn all_covered(&self) -> Vec<String> {
        self.extras.iter().map(ToString::to_string).collect()
    }

    /// The names of the extra fields that the stored copy covers.
    pub(crate) fn covered(&self) -> &[String] {
        &self.covered
    }

    /// The fields that handlers ask for, extra or not.
    pub(crate) fn asked(&self) -> &[FieldPath] {
        &self.asked
    }

    /// The fields to be read besides the common ones.
    pub(crate) fn extras(&self) -> &[FieldPath] {
        &self.extras
    }

    fn noted(&self, note: &Value) -> Value {
        let mut handled = Value::Object(self.stored.clone().unwrap_or_default());
        patches::merge_into(&mut handled, note);
        digests::restore(handled, Some(&self.fresh))
    }

    fn view(&self, old: Option<&Value>, extra: Option<&FieldPath>) -> View {
        let covered = extra.is_none_or(|field| self.covers(field));
        // What is stored may have fields that nobody asks for any more; what is fresh has not.
        let old = old.map(|old| diffbase::project(old, extra, if covered { old } else { &self.fresh }));
        let new = if self.extras.is_empty() {
            self.fresh.clone()
        } else {
            diffbase::project(&self.fresh, extra, &self.fresh)
        };
        let (old, new) = if self.is_handled() {
            (old, new)
        } else {
            // There is no change to be told, and no digest is a value.
            let shown = |essence| digests::shown(essence, &self.actual);
            (old.map(shown), shown(new))
        };
        let diff = diff(old.as_ref(), Some(&new));
        View {
            old: old.map(Arc::new),
            new: Some(Arc::new(new)),
            diff,
        }
    }

    fn covers(&self, field: &FieldPath) -> bool {
        let name = field.to_string();
        let within = |covered: &String| {
            name.strip_prefix(covered.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.base.is_none() || self.covered.iter().any(within)
    }
}

/// What the stored copy covers: as noted with it; or what is found in it, for copies of Kopf, which have no note.
fn covered(base: Option<&Value>, extras: &[FieldPath], noted: Option<Vec<String>>) -> Vec<String> {
    match (noted, base) {
        (_, None) => Vec::new(),
        (Some(noted), Some(_)) => noted,
        (None, Some(base)) => extras
            .iter()
            .filter(|field| field.resolve(base).is_some())
            .map(ToString::to_string)
            .collect(),
    }
}
