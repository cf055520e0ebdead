//! Arguments of handlers of changes.

use std::sync::Arc;

use serde_json::Value;

use super::{Item, Plan, Raw, common};
use crate::intents::causes::Reason;
use crate::intents::invocation::ChangeCall;
use crate::kind::Kind;
use crate::structs::diffs::{Diff, diff};

arguments! {
    /// Arguments of handlers that react to changes: creation, update, deletion, resuming, one field.
    Change {
        /// Why the handler runs.
        reason: Reason,
        /// The essence before the change, or the field's value in it; `None` if there was none (K-7, K-8).
        old: Option<Raw>,
        /// The essence after the change, or the field's value in it.
        new: Option<Raw>,
        /// From `old` to `new`.
        diff: Diff,
        /// The sub-handlers that are to be called after this call; taken only if it succeeds (U-4).
        plan: Plan<K>,
        /// What this sub-handler is for, if [`ChangeOptions::for_each`](crate::ChangeOptions::for_each) made it.
        item: Option<Item>,
    }
}

impl<K: Kind> From<ChangeCall> for Change<K> {
    fn from(call: ChangeCall) -> Self {
        let raw = |value: Option<Arc<Value>>| value.map(Raw::shared);
        let (plan, item) = (Plan::new(call.wants), call.item.map(Item::from));
        Self::from_common(
            call.common,
            call.reason,
            raw(call.old),
            raw(call.new),
            call.diff,
            plan,
            item,
        )
    }
}

impl<K: Kind> Change<K> {
    /// The arguments of a creation of this object, with a default memo.
    ///
    /// # Panics
    /// If the object's spec does not fit `K::Spec`.
    #[must_use]
    pub fn for_test(object: impl Into<Value>) -> Self
    where
        K::Memo: Default,
    {
        Self::for_test_with(object, K::Memo::default())
    }

    /// The arguments of a creation of this object, with this memo.
    ///
    /// # Panics
    /// If the object's spec does not fit `K::Spec`.
    #[must_use]
    pub fn for_test_with(object: impl Into<Value>, memo: impl Into<Arc<K::Memo>>) -> Self {
        let common = common::for_test::<K>(object.into(), memo.into());
        let new = Arc::new(
            common
                .body
                .spec()
                .map(|spec| serde_json::json!({"spec": spec}))
                .unwrap_or_default(),
        );
        let diff = diff(None, Some(&new));
        ChangeCall {
            common,
            reason: Reason::Create,
            old: None,
            new: Some(new),
            diff,
            wants: Plan::<K>::for_test().wants,
            item: None,
        }
        .into()
    }
}
