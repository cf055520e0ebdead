//! Users' functions with their conditions (H).

use std::any::TypeId;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::filters::{Answer, Asked, Filters};
use super::indexes::Declaration;
use super::invocation::{ChangeFn, EventFn, IndexFn};
use super::plans::{Each, Origin};
use crate::actions::execution::Limits;
use crate::configs::conventions;
use crate::structs::bodies::Body;
use crate::structs::fields::FieldPath;

/// Which changes a handler is for (H-2 to H-6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    /// Its field differs, whatever the reason.
    Field,
    /// The object is new.
    Create,
    /// The object differs; with a field, that field differs.
    Update,
    /// The object is being deleted.
    Delete,
    /// The object was there when the operator started.
    Resume,
}

/// A handler of changes.
#[derive(Clone)]
pub(crate) struct Handler {
    /// The name in storage, with the field's suffix (H-9).
    pub(crate) id: String,
    /// Which function it is (H-10).
    pub(crate) function: TypeId,
    pub(crate) kind: ChangeKind,
    pub(crate) field: Option<FieldPath>,
    pub(crate) filters: Filters,
    pub(crate) limits: Limits,
    /// Deletion does not wait for it (H-7); deletion handlers only.
    pub(crate) optional: bool,
    /// Also for objects that are being deleted (H-3); resuming handlers only.
    pub(crate) deleted: bool,
    /// Also for objects that were created while the operator was away (C, *Improve on*); resuming handlers only.
    pub(crate) covers_downtime: bool,
    pub(crate) param: Value,
    /// Its declared sub-handlers.
    pub(crate) each: Arc<[Each]>,
    pub(crate) origin: Origin,
    pub(crate) call: ChangeFn,
}

/// A handler of raw events.
#[derive(Clone)]
pub(crate) struct EventHandler {
    pub(crate) id: String,
    pub(crate) function: TypeId,
    pub(crate) field: Option<FieldPath>,
    pub(crate) filters: Filters,
    pub(crate) param: Value,
    pub(crate) call: EventFn,
}

/// A function that says what an object contributes to an index.
#[derive(Clone)]
pub(crate) struct IndexHandler {
    /// The index, whose id is the handler's (I-1).
    pub(crate) index: Declaration,
    pub(crate) function: TypeId,
    pub(crate) field: Option<FieldPath>,
    pub(crate) filters: Filters,
    pub(crate) limits: Limits,
    pub(crate) param: Value,
    pub(crate) call: IndexFn,
}

impl ChangeKind {
    /// The handler is called about a change, of its field if it has one (H-4, H-5).
    pub(crate) fn is_about_changes(self) -> bool {
        match self {
            Self::Field | Self::Update => true,
            Self::Create | Self::Delete | Self::Resume => false,
        }
    }
}

impl Handler {
    /// Deletion waits for it, if it is for the object (H-7).
    pub(crate) fn is_mandatory(&self) -> bool {
        self.kind == ChangeKind::Delete && !self.optional
    }
}

impl EventHandler {
    /// Whether the handler is for this object as it is now, as far as that shows without its type (F-1, F-5).
    pub(crate) fn matches_body(&self, body: &Body) -> Answer {
        self.filters.matches_body(self.field.as_ref(), body)
    }
}

impl IndexHandler {
    /// Whether the object as it is now belongs into the index (F-1, F-5).
    pub(crate) fn matches(&self, asked: &Asked<'_>) -> Answer {
        if !self.filters.matches_body(self.field.as_ref(), asked.body)? {
            return Ok(false);
        }
        self.filters.when(asked)
    }
}

impl fmt::Debug for IndexHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IndexHandler")
            .field("id", &self.index.id)
            .finish_non_exhaustive()
    }
}

macro_rules! debug_by_id {
    ($($handler:ident),*) => {$(
        impl fmt::Debug for $handler {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($handler)).field("id", &self.id).finish_non_exhaustive()
            }
        }
    )*};
}
debug_by_id!(Handler, EventHandler);

/// Refuses ids of one kind's handlers that would share a record, or results (H-11, H-12, N-1).
///
/// One function may stand under several reasons with one id: it is called once (H-10). Different functions may not,
/// nor may ids that differ but yield the same annotation, such as `a/b` and `a.b`.
pub(crate) fn duplicate_ids<'a>(identities: impl IntoIterator<Item = (&'a str, TypeId)>) -> Result<(), String> {
    let mut seen: BTreeMap<String, (&str, TypeId)> = BTreeMap::new();
    for (id, function) in identities {
        let name = conventions::name(id);
        if conventions::is_reserved(&name) {
            return Err(format!(
                "the handler id `{id}` is reserved: the operator keeps its own notes under that name"
            ));
        }
        match seen.get(&name) {
            Some(&(other, _)) if other != id => {
                return Err(format!(
                    "the handler ids `{other}` and `{id}` share the annotation name `{name}`"
                ));
            }
            Some(&(_, other)) if other != function => {
                return Err(format!("two different functions have the handler id `{id}`"));
            }
            Some(_) => {}
            None => {
                seen.insert(name, (id, function));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(identities: &[(&str, TypeId)]) -> Result<(), String> {
        duplicate_ids(identities.iter().copied())
    }

    // H-10, H-11
    #[test]
    fn one_function_may_have_one_id_twice_and_two_functions_may_not() {
        let (f, g) = (TypeId::of::<u8>(), TypeId::of::<u16>());
        assert_eq!(check(&[("a", f), ("b", g), ("a", f)]), Ok(()));
        assert_eq!(
            check(&[("a", f), ("a", g)]),
            Err("two different functions have the handler id `a`".into())
        );
    }

    // N, *Improve on*
    #[test]
    fn ids_that_share_an_annotation_are_refused() {
        let f = TypeId::of::<u8>();
        let message = check(&[("a/b", f), ("a.b", f)]).unwrap_err();
        assert_eq!(
            message,
            "the handler ids `a/b` and `a.b` share the annotation name `a.b`"
        );
        assert_eq!(check(&[("a:b", f), ("a_b", f)]), Ok(()), "the hash keeps them apart");
    }

    #[test]
    fn ids_of_the_operators_own_notes_are_refused() {
        for id in ["last-handled-configuration", "kopf-managed", "kopf-gen", "touch-dummy"] {
            assert!(
                check(&[(id, TypeId::of::<u8>())]).unwrap_err().contains("is reserved"),
                "{id}"
            );
        }
    }
}
