//! The sub-handlers that a handler wants, before they take part in its cycle (U).

use std::any::TypeId;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::filters::Filters;
use super::handlers::{ChangeKind, Handler};
use super::invocation::ChangeFn;
use crate::actions::execution::Limits;
use crate::configs::conventions;
use crate::structs::bodies::Body;
use crate::structs::fields::FieldPath;

/// How deep handlers may be nested: far beyond what anyone needs, and an end to those that nest themselves.
const DEPTH_LIMIT: usize = 8;

/// What names the sub-handler of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EachKey {
    /// The key of a map's entry, a scalar itself, or else the index in the list.
    Natural,
    /// The scalar at this path in the item.
    Field(FieldPath),
}

impl From<FieldPath> for EachKey {
    fn from(path: FieldPath) -> Self {
        Self::Field(path)
    }
}

impl From<&str> for EachKey {
    fn from(path: &str) -> Self {
        Self::Field(path.into())
    }
}

impl<const N: usize> From<[&str; N]> for EachKey {
    fn from(path: [&str; N]) -> Self {
        Self::Field(path.into())
    }
}

/// A sub-handler without its id.
#[derive(Clone)]
pub(crate) struct Template {
    pub(crate) function: TypeId,
    /// Below the parent's field (U-10).
    pub(crate) field: Option<FieldPath>,
    pub(crate) filters: Filters,
    pub(crate) limits: Limits,
    pub(crate) param: Value,
    pub(crate) each: Arc<[Each]>,
    pub(crate) call: ChangeFn,
}

/// A sub-handler for each item of a place.
#[derive(Clone)]
pub(crate) struct Each {
    /// In the object; in a sub-handler that is for an item, in that.
    pub(crate) path: FieldPath,
    pub(crate) key: EachKey,
    pub(crate) template: Template,
}

/// What a sub-handler is for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Item {
    pub(crate) key: String,
    pub(crate) value: Arc<Value>,
}

/// Where a handler comes from; the default is that it was registered when the operator started.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    /// How many handlers it is below.
    pub(crate) depth: usize,
    pub(crate) item: Option<Item>,
    /// Its field is its parent's: it says what it is told, and nothing of when.
    pub(crate) inherits_field: bool,
}

/// What a call of a handler wants; shared by the call and who has made it.
#[derive(Clone, Default)]
pub(crate) struct Wants(Arc<Mutex<Wanted>>);

/// See [`Wants`].
#[derive(Default)]
pub(crate) struct Wanted {
    /// The id of the parent.
    parent: String,
    /// The parent is called about changes, so its sub-handlers may look at both sides of one (U-11).
    about_changes: bool,
    subs: Vec<(String, Template)>,
    /// What is wrong with the options.
    faults: Vec<String>,
    pub(crate) all_must_succeed: bool,
    pub(crate) failures: Vec<(String, String)>,
}

impl Wants {
    /// Nothing yet, of a handler that is called as one of this kind. `failures` are the ids and messages of its
    /// sub-handlers that have failed before.
    pub(crate) fn of(parent: &str, kind: ChangeKind, failures: Vec<(String, String)>) -> Self {
        Self(Arc::new(Mutex::new(Wanted {
            parent: parent.to_owned(),
            about_changes: kind.is_about_changes(),
            failures,
            ..Wanted::default()
        })))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Wanted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Wants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.lock().ids()).finish()
    }
}

impl Wanted {
    /// The own ids, in the order in which they were wanted.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.subs.iter().map(|(id, _)| id.as_str())
    }

    /// The whole id of a sub-handler.
    pub(crate) fn id(&self, own: &str) -> String {
        format!("{}/{own}", self.parent)
    }

    /// Whether sub-handlers may have `old` and `new` (U-11).
    pub(crate) fn is_about_changes(&self) -> bool {
        self.about_changes
    }

    pub(crate) fn want(&mut self, own: String, template: Template) {
        self.subs.push((own, template));
    }

    pub(crate) fn fault(&mut self, faults: impl IntoIterator<Item = String>) {
        self.faults.extend(faults);
    }

    /// The handlers that come of it: first those of the call, then those that the parent's options declare (U-2).
    ///
    /// # Errors
    /// What the parent fails with for good: its next call would want the same.
    pub(crate) fn handlers(&self, parent: &Handler, kind: ChangeKind, body: &Body) -> Result<Vec<Handler>, String> {
        if let Some(fault) = self.faults.first() {
            return Err(fault.clone());
        }
        let mut wanted: Vec<(String, Option<Item>, &Template)> = self
            .subs
            .iter()
            .map(|(own, template)| (own.clone(), None, template))
            .collect();
        for each in parent.each.iter() {
            let place = match &parent.origin.item {
                Some(item) => each.path.resolve(&item.value),
                None => each.path.resolve(body.value()),
            };
            let items = items(place, &each.key).map_err(|message| format!("at {}: {message}", each.path))?;
            let made = |item: Item| (item.key.clone(), Some(item), &each.template);
            wanted.extend(items.into_iter().map(made));
        }
        if !wanted.is_empty() && parent.origin.depth == DEPTH_LIMIT {
            return Err(format!(
                "the handler `{}` is {DEPTH_LIMIT} levels deep and cannot have sub-handlers of its own",
                parent.id
            ));
        }
        let handlers: Vec<Handler> = wanted
            .into_iter()
            .map(|(own, item, template)| parent.sub(kind, &own, item, template))
            .collect();
        check(&handlers)?;
        Ok(handlers)
    }
}

impl Handler {
    /// The fields that it and its declared sub-handlers ask for.
    pub(crate) fn fields(&self) -> Vec<FieldPath> {
        fn gather(above: Option<&FieldPath>, own: Option<&FieldPath>, each: &[Each], fields: &mut Vec<FieldPath>) {
            let field = below(above, own);
            for Each { template, .. } in each {
                gather(field.as_ref(), template.field.as_ref(), &template.each, fields);
            }
            fields.extend(field);
        }
        let mut fields = Vec::new();
        gather(None, self.field.as_ref(), &self.each, &mut fields);
        fields
    }

    /// A sub-handler of it, which is of its kind (U-10).
    fn sub(&self, kind: ChangeKind, own: &str, item: Option<Item>, template: &Template) -> Self {
        let Template {
            function,
            field,
            filters,
            limits,
            param,
            each,
            call,
        } = template.clone();
        Self {
            id: format!("{}/{own}", self.id),
            function,
            kind,
            origin: Origin {
                depth: self.origin.depth + 1,
                item,
                inherits_field: field.is_none(),
            },
            field: below(self.field.as_ref(), field.as_ref()),
            filters,
            limits,
            optional: self.optional,
            deleted: self.deleted,
            covers_downtime: self.covers_downtime,
            param,
            each,
            call,
        }
    }
}

/// The field of a sub-handler, in the whole object (U-10).
fn below(parent: Option<&FieldPath>, own: Option<&FieldPath>) -> Option<FieldPath> {
    match (parent, own) {
        (Some(parent), Some(own)) => Some([parent.keys(), own.keys()].concat().into()),
        (parent, own) => own.or(parent).cloned(),
    }
}

/// The items of a place; of one that is not there, none.
fn items(place: Option<&Value>, key: &EachKey) -> Result<Vec<Item>, String> {
    let entries: Vec<(String, &Value)> = match place {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Object(map)) => map.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Some(Value::Array(list)) => {
            let natural = |(index, value): (usize, _)| (scalar(value).unwrap_or_else(|| index.to_string()), value);
            list.iter().enumerate().map(natural).collect()
        }
        Some(value) => scalar(value).map(|key| (key, value)).into_iter().collect(),
    };
    let item = |(index, (natural, value)): (usize, (String, &Value))| {
        let key = match key {
            EachKey::Natural => natural,
            EachKey::Field(field) => field
                .resolve(value)
                .and_then(scalar)
                .ok_or_else(|| format!("item {index} has no text or number at `{field}`, which is to name it"))?,
        };
        Ok(Item {
            key,
            value: Arc::new(value.clone()),
        })
    };
    entries.into_iter().enumerate().map(item).collect()
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Refuses ids of sub-handlers that are empty, or would share a record (N-1, H-11).
fn check(handlers: &[Handler]) -> Result<(), String> {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for Handler { id, .. } in handlers {
        if id.ends_with('/') {
            return Err(format!("the id of a sub-handler is empty after `{id}`"));
        }
        let name = conventions::name(id);
        match seen.insert(name.clone(), id) {
            Some(other) if other == id => return Err(format!("two sub-handlers have the id `{id}`")),
            Some(other) => {
                return Err(format!(
                    "the ids `{other}` and `{id}` of sub-handlers share the annotation name `{name}`"
                ));
            }
            None => {}
        }
    }
    Ok(())
}
