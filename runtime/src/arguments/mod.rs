//! The arguments of handlers: one struct per family, to be taken apart in the parameter list.
//!
//! ```
//! # use kopf_runtime::{Change, HandlerResult};
//! # use serde_json::Value;
//! # struct Cart;
//! # impl kopf_runtime::Kind for Cart {
//! #     type Spec = Value;
//! #     type Status = Value;
//! #     type Memo = ();
//! #     const REFERENCE: kopf_runtime::Reference = kopf_runtime::Reference {
//! #         group: "shop.example.com", version: "v1", kind: "Cart", plural: "carts", namespaced: true,
//! #     };
//! # }
//! async fn fill(Change { name, spec, retry, .. }: Change<Cart>) -> HandlerResult {
//!     println!("filling {name} with {spec:?}, attempt {retry}");
//!     Ok(())
//! }
//! ```
//!
//! The structs are non-exhaustive, so `..` is always there and a new field never breaks anyone. Names are Kopf's
//! (K-1 to K-8). Each has `for_test`, usable in a plain `#[test]` with no runtime and no network; its fields can be
//! set one by one afterwards.

#[cfg(feature = "cel")]
mod cel;
mod common;
mod filters;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use std::collections::BTreeMap;

#[cfg(feature = "cel")]
pub use cel::cel;
pub use common::{LazyClient, Raw};
pub use filters::{Condition, Filter, Texts};

use crate::intents::causes::Reason;
use crate::intents::contexts::Events;
use crate::intents::invocation::{ChangeCall, Common, EventCall, TimerCall};
use crate::intents::stoppers::Stopped;
use crate::kind::Kind;
use crate::structs::bodies::Body;
use crate::structs::diffs::{Diff, diff};
use crate::structs::events::EventType;
use crate::structs::patches::Patch;

/// Declares an argument struct: the fields that all families share, then its own.
macro_rules! arguments {
    ($(#[$doc:meta])* $family:ident { $($(#[$field_doc:meta])* $field:ident: $field_type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug)]
        #[non_exhaustive]
        pub struct $family<K: Kind> {
            /// `.metadata.name`.
            pub name: String,
            /// `.metadata.namespace`; `None` for cluster-scoped objects.
            pub namespace: Option<String>,
            /// `.metadata.uid`.
            pub uid: String,
            /// `.metadata.labels`.
            pub labels: BTreeMap<String, String>,
            /// `.metadata.annotations`.
            pub annotations: BTreeMap<String, String>,
            /// `.metadata`, raw, with a typed view.
            pub meta: Raw<k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta>,
            /// `.spec`, typed and shared.
            pub spec: Arc<K::Spec>,
            /// `.status`, raw, with a typed view: it may stem from an older schema.
            pub status: Raw<K::Status>,
            /// The whole object, raw.
            pub body: Body,
            /// Changes to the object, gathered here and sent once after the call.
            pub patch: Patch,
            /// How many attempts there were before this one.
            pub retry: u32,
            /// When the first attempt began.
            pub started: Timestamp,
            /// The time since `started`.
            pub runtime: Duration,
            /// What the handler's `param` option says.
            pub param: Value,
            /// What is kept in memory about the object, shared by all its handlers of the process; lost at a restart
            /// and when the object is gone (M-1).
            pub memo: Arc<K::Memo>,
            /// Posts Kubernetes events about the object.
            pub events: Events,
            /// The cluster, for whatever else the handler does there.
            pub client: LazyClient,
            /// The span of this call, for work that is moved elsewhere; log records in it name the object.
            pub span: tracing::Span,
            $($(#[$field_doc])* pub $field: $field_type,)*
        }

        impl<K: Kind> $family<K> {
            fn from_common(common: Common, $($field: $field_type,)*) -> Self {
                let Common { body, patch, retry, started, runtime, param, context } = common;
                let spec = context.spec.clone().and_then(|spec| spec.downcast::<K::Spec>().ok());
                let memo = context.memo.clone().and_then(|memo| memo.downcast::<K::Memo>().ok());
                Self {
                    name: body.name().unwrap_or_default().to_owned(),
                    namespace: body.namespace().map(str::to_owned),
                    uid: body.uid().unwrap_or_default().to_owned(),
                    labels: body.labels().map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
                    annotations: body.annotations().map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
                    meta: Raw::new(body.value().get("metadata").cloned().unwrap_or_default()),
                    spec: spec.expect("the spec was parsed before any handler is called"),
                    status: Raw::new(body.status().cloned().unwrap_or_default()),
                    body,
                    patch,
                    retry,
                    started,
                    runtime,
                    param,
                    memo: memo.expect("the memo was made before any handler is called"),
                    events: context.events,
                    client: LazyClient::new(context.client),
                    span: tracing::Span::current(),
                    $($field,)*
                }
            }
        }
    };
}

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
    }
}

arguments! {
    /// Arguments of handlers of raw events.
    Event {
        /// What the event says.
        event_type: EventType,
        /// The event as it came: `type` and `object`.
        event: Value,
    }
}

arguments! {
    /// Arguments of timers.
    Timer {
        /// Whether the timer was asked to stop.
        stopped: Stopped,
    }
}

impl<K: Kind> From<ChangeCall> for Change<K> {
    fn from(call: ChangeCall) -> Self {
        let raw = |value: Option<Arc<Value>>| value.map(Raw::shared);
        Self::from_common(call.common, call.reason, raw(call.old), raw(call.new), call.diff)
    }
}

impl<K: Kind> From<EventCall> for Event<K> {
    fn from(call: EventCall) -> Self {
        let event = serde_json::json!({"type": call.event_type.as_str(), "object": call.common.body.value()});
        Self::from_common(call.common, call.event_type, event)
    }
}

impl<K: Kind> From<TimerCall> for Timer<K> {
    fn from(call: TimerCall) -> Self {
        let stopped = call.common.context.stopped.clone();
        Self::from_common(call.common, stopped)
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
        }
        .into()
    }
}

impl<K: Kind> Event<K> {
    /// The arguments of an event that brings this object, with a default memo.
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

    /// The arguments of an event that brings this object, with this memo.
    ///
    /// # Panics
    /// If the object's spec does not fit `K::Spec`.
    #[must_use]
    pub fn for_test_with(object: impl Into<Value>, memo: impl Into<Arc<K::Memo>>) -> Self {
        EventCall {
            common: common::for_test::<K>(object.into(), memo.into()),
            event_type: EventType::Added,
        }
        .into()
    }
}

impl<K: Kind> Timer<K> {
    /// The arguments of a call for this object, with a default memo.
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

    /// The arguments of a call for this object, with this memo.
    ///
    /// # Panics
    /// If the object's spec does not fit `K::Spec`.
    #[must_use]
    pub fn for_test_with(object: impl Into<Value>, memo: impl Into<Arc<K::Memo>>) -> Self {
        TimerCall {
            common: common::for_test::<K>(object.into(), memo.into()),
        }
        .into()
    }
}
