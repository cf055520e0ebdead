//! The object as it is now, for daemons and timers (K-11).

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Raw, common};
use crate::intents::invocation::{BackgroundCall, Common};
use crate::intents::live::{Calm, LiveObject};
use crate::kind::Kind;
use crate::structs::bodies::Body;

/// The object as it is now, also while the call goes on (K-11). All views are cheap.
///
/// The other arguments of a call are a snapshot of its beginning; this one follows each state that the operator learns
/// of, to the very last one of an object that is deleted.
///
/// ```
/// # use kopf_runtime::{Daemon, HandlerResult, Kind};
/// async fn follow<K: Kind>(Daemon { live, stopped, .. }: Daemon<K>) -> HandlerResult {
///     loop {
///         println!("now {:?}", live.spec());
///         tokio::select! {
///             () = live.changed() => {}
///             () = stopped.wait() => return Ok(()),
///         }
///     }
/// }
/// ```
pub struct Live<K> {
    object: Arc<LiveObject>,
    /// The number of the state that was waited for last.
    seen: AtomicU64,
    kind: PhantomData<fn() -> K>,
}

impl<K: Kind> Live<K> {
    pub(crate) fn new(object: Arc<LiveObject>) -> Self {
        Self {
            seen: AtomicU64::new(object.number()),
            object,
            kind: PhantomData,
        }
    }

    /// `.spec`, typed; of the last state whose spec fitted its type.
    #[must_use]
    pub fn spec(&self) -> Arc<K::Spec> {
        let spec: Arc<dyn Any + Send + Sync> = self.object.spec();
        spec.downcast()
            .expect("the spec was parsed before any handler is called")
    }

    /// The whole object, raw.
    #[must_use]
    pub fn body(&self) -> Body {
        self.object.body()
    }

    /// `.status`, raw, with a typed view.
    #[must_use]
    pub fn status(&self) -> Raw<K::Status> {
        Raw::stanza(&self.body(), "status")
    }

    /// `.metadata.labels`.
    #[must_use]
    pub fn labels(&self) -> BTreeMap<String, String> {
        common::texts(self.body().labels())
    }

    /// `.metadata.annotations`.
    #[must_use]
    pub fn annotations(&self) -> BTreeMap<String, String> {
        common::texts(self.body().annotations())
    }

    /// Returns at the next state: the next one since the call began, or since this returned last. States that follow
    /// each other closely count as one.
    pub async fn changed(&self) {
        let number = self.object.beyond(self.seen.load(Ordering::Relaxed)).await;
        self.seen.store(number, Ordering::Relaxed);
    }
}

impl<K> Clone for Live<K> {
    /// The clone waits by itself, from the same state on.
    fn clone(&self) -> Self {
        Self {
            object: Arc::clone(&self.object),
            seen: AtomicU64::new(self.seen.load(Ordering::Relaxed)),
            kind: PhantomData,
        }
    }
}

impl<K> fmt::Debug for Live<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Live").field(&self.object.body()).finish()
    }
}

/// A call about an object that stays as it is.
pub(super) fn for_test(common: Common) -> BackgroundCall {
    let spec = common.context.spec.clone().expect("the spec was just parsed");
    let live = Arc::new(LiveObject::new(common.body.clone(), spec, Calm::begin(0)));
    BackgroundCall { common, live }
}
