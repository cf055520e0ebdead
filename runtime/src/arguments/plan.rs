//! What handlers of changes say of their sub-handlers, and what sub-handlers are for.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Raw;
use crate::intents::causes::Reason;
use crate::intents::handlers::ChangeKind;
use crate::intents::plans::{self, Wants};

/// The sub-handlers that a handler wants (U).
///
/// A handler that is given a [`Change`](crate::Change) may want others to be called after it, each with a record, and
/// so with retries and a success of its own. They are wanted with [`Plan::sub`]; nothing is called before the handler
/// has succeeded, and nothing at all if it fails (U-3, U-4). While any of them has not finished, the handler is called
/// again in each cycle, before them, and must want the same ones again, without side effects (U-6); waiting for them
/// does not count as an attempt of it, but its `timeout` bounds it all (U-8). Those that it does not want any more are
/// not called again, and leave nothing behind.
///
/// Sub-handlers react to what their parent reacts to; their filters, limits and lifecycle are their own (U-5, U-10).
/// Their results are kept at `.status."<parent>/<own id>"` (U-14), and that of the parent once all have finished (R-5).
///
/// ```
/// use kopf_runtime::{Change, HandlerResult, secs};
/// # use kopf_runtime::{Kind, Operator, Reference, Resource};
/// # use serde_json::{Value, json};
/// # struct Cart;
/// # impl Kind for Cart {
/// #     type Spec = Value;
/// #     type Status = Value;
/// #     type Memo = ();
/// #     const REFERENCE: Reference = Reference {
/// #         group: "shop.example.com", version: "v1", kind: "Cart", plural: "carts", namespaced: true,
/// #     };
/// # }
///
/// async fn fill(Change { spec, plan, .. }: Change<Cart>) -> HandlerResult {
///     for item in spec["items"].as_array().into_iter().flatten() {
///         let item = item.to_string();
///         plan.sub(item.clone(), move |change| add(change, item.clone()), |o| o.retries(3).backoff(secs(5)));
///     }
///     Ok(())
/// }
///
/// async fn add(Change { name, .. }: Change<Cart>, item: String) -> HandlerResult {
///     println!("adding {item} to {name}");
///     Ok(())
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let change = Change::for_test(json!({"spec": {"items": [7, 8]}}));
/// let plan = change.plan.clone();
/// fill(change).await.unwrap();
/// assert_eq!(plan.ids(), ["7", "8"]);
/// # }
/// ```
///
/// Where the set follows from the object alone, [`ChangeOptions::for_each`](crate::ChangeOptions::for_each) says it
/// without any code.
pub struct Plan<K> {
    pub(crate) wants: Wants,
    kind: PhantomData<fn() -> K>,
}

impl<K> Plan<K> {
    pub(super) fn new(wants: Wants) -> Self {
        Self {
            wants,
            kind: PhantomData,
        }
    }

    /// The plan of a handler of creations, for unit tests.
    #[must_use]
    pub fn for_test() -> Self {
        Self::of_test(Reason::Create)
    }

    pub(super) fn of_test(reason: Reason) -> Self {
        let kind = match reason {
            Reason::Update => ChangeKind::Update,
            Reason::Delete => ChangeKind::Delete,
            Reason::Resume => ChangeKind::Resume,
            Reason::Create | Reason::Noop | Reason::Free | Reason::Gone => ChangeKind::Create,
        };
        Self::new(Wants::of("test", kind, Vec::new()))
    }

    /// The same after this sub-handler has failed, for unit tests.
    #[must_use]
    pub fn failed(self, id: impl Into<String>, message: impl Into<String>) -> Self {
        self.wants.lock().failures.push((id.into(), message.into()));
        self
    }

    /// The handler fails, for good, if any of its sub-handlers has failed once all of them have finished. By default
    /// it succeeds, and what they have failed of is in the log (U-7).
    pub fn all_must_succeed(&self) {
        self.wants.lock().all_must_succeed = true;
    }

    /// The own ids and the messages of those sub-handlers that have failed for good so far, by id: as it was stored, so
    /// also of those that an edit made meanwhile is going to call again, or that are not wanted any more. It is empty at
    /// the first call of a handler.
    #[must_use]
    pub fn failures(&self) -> Vec<(String, String)> {
        self.wants.lock().failures.clone()
    }

    /// The own ids of the sub-handlers that this call has wanted so far.
    #[must_use]
    pub fn ids(&self) -> Vec<String> {
        self.wants.lock().ids().map(str::to_owned).collect()
    }
}

impl<K> Clone for Plan<K> {
    fn clone(&self) -> Self {
        Self::new(self.wants.clone())
    }
}

impl<K> fmt::Debug for Plan<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Plan").field(&self.wants).finish()
    }
}

/// What a sub-handler is for, if [`ChangeOptions::for_each`](crate::ChangeOptions::for_each) made it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Item {
    /// What names it, which is the sub-handler's own id.
    pub key: String,
    /// What is found there now.
    pub value: Raw,
}

impl Item {
    /// An item for unit tests.
    #[must_use]
    pub fn for_test(key: impl Into<String>, value: impl Into<Value>) -> Self {
        Self {
            key: key.into(),
            value: Raw::shared(Arc::new(value.into())),
        }
    }

    /// The value as any fitting type.
    ///
    /// # Errors
    /// If the value does not fit; the message names the path.
    pub fn typed<T: DeserializeOwned>(&self) -> anyhow::Result<T> {
        self.value.view()
    }
}

impl From<plans::Item> for Item {
    fn from(item: plans::Item) -> Self {
        Self {
            key: item.key,
            value: Raw::shared(item.value),
        }
    }
}
