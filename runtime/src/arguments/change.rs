//! Arguments of handlers of changes.

use std::sync::Arc;

use serde_json::Value;

use super::{Item, Plan, Raw};
use crate::intents::causes::Reason;
use crate::intents::invocation::{ChangeCall, Common};
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
    }, for test: "a creation of this object" = creation
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

fn creation(common: Common) -> ChangeCall {
    let spec = common.body.spec().map(|spec| serde_json::json!({"spec": spec}));
    let new = Arc::new(spec.unwrap_or_default());
    ChangeCall {
        common,
        reason: Reason::Create,
        old: None,
        diff: diff(None, Some(&new)),
        new: Some(new),
        wants: Plan::<()>::for_test().wants,
        item: None,
    }
}
