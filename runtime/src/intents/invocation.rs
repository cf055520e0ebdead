//! What a call of a handler is given, before it is typed.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use jiff::Timestamp;
use serde_json::Value;

use super::causes::Reason;
use super::contexts::Context;
use super::live::LiveObject;
use super::plans::{Item, Wants};
use crate::structs::bodies::Body;
use crate::structs::diffs::Diff;
use crate::structs::events::EventType;
use crate::structs::patches::Patch;

/// A handler's function without its types: a raw call goes in, a raw result comes out.
pub(crate) type Call<A> = Arc<dyn Fn(A) -> BoxFuture<'static, anyhow::Result<Option<Value>>> + Send + Sync>;

/// The function of a changing handler.
pub(crate) type ChangeFn = Call<ChangeCall>;
/// The function of a handler of raw events.
pub(crate) type EventFn = Call<EventCall>;
/// The function of a daemon or a timer.
pub(crate) type BackgroundFn = Call<BackgroundCall>;
/// The function of an index.
pub(crate) type IndexFn = Call<IndexCall>;

/// What every call is given (K-1, K-2).
#[derive(Clone)]
pub(crate) struct Common {
    pub(crate) body: Body,
    pub(crate) patch: Patch,
    /// The attempts before this one.
    pub(crate) retry: u32,
    /// When the first attempt began.
    pub(crate) started: Timestamp,
    /// The time since then.
    pub(crate) runtime: Duration,
    pub(crate) param: Value,
    pub(crate) context: Context,
}

/// A call about a change (K-3, K-7, K-8).
#[derive(Clone)]
pub(crate) struct ChangeCall {
    pub(crate) common: Common,
    pub(crate) reason: Reason,
    pub(crate) old: Option<Arc<Value>>,
    pub(crate) new: Option<Arc<Value>>,
    pub(crate) diff: Diff,
    /// Takes the sub-handlers that the call wants.
    pub(crate) wants: Wants,
    /// What the sub-handler is for.
    pub(crate) item: Option<Item>,
}

/// A call about a raw event (K-3).
#[derive(Clone)]
pub(crate) struct EventCall {
    pub(crate) common: Common,
    pub(crate) event_type: EventType,
}

/// A call of a daemon or a timer.
#[derive(Clone)]
pub(crate) struct BackgroundCall {
    pub(crate) common: Common,
    /// The object, also while the call goes on (K-11).
    pub(crate) live: Arc<LiveObject>,
}

/// A call of an index handler.
#[derive(Clone)]
pub(crate) struct IndexCall {
    pub(crate) common: Common,
    pub(crate) returned: Returned,
}

/// Where an index handler puts the entries that it returns: they are of any type, and no JSON. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Returned(Arc<Mutex<Option<Box<dyn Any + Send>>>>);

impl Returned {
    pub(crate) fn put(&self, entries: impl Any + Send) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(entries));
    }

    pub(crate) fn take(&self) -> Option<Box<dyn Any + Send>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl fmt::Debug for Common {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Common")
            .field("name", &self.body.name())
            .field("retry", &self.retry)
            .finish_non_exhaustive()
    }
}
