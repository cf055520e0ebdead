//! Registration of index handlers.

use std::any::TypeId;
use std::future::Future;
use std::sync::Arc;

use futures::FutureExt as _;

use super::Resource;
use crate::arguments::Index;
use crate::configured::{self, Reading};
use crate::intents::handlers::IndexHandler;
use crate::intents::indexes::{Declaration, Entries, IndexKey};
use crate::intents::invocation::{IndexCall, IndexFn};
use crate::kind::Kind;
use crate::options::IndexOptions;
use crate::structs::errors::HandlerResult;

impl<K: Kind> Resource<K> {
    /// Calls `handler` for each new state of an object, before all other handlers, and keeps what it returns in the
    /// index `index` until the next state, or until the object is gone (I-5, I-7).
    ///
    /// Several handlers may feed one index, also those of several kinds; each contributes its own values (I-1). As long
    /// as not all objects that were there at the start have been indexed, no other handler of any kind is called (I-14,
    /// I-15); the log says every half a minute what they wait for. A kind that the cluster does not serve has no objects,
    /// and one that it serves later keeps nobody waiting (I-16). Afterwards, an object's handlers wait for its own index
    /// handlers only, and those have no part in `settings.queueing.worker_limit`.
    ///
    /// An object whose spec does not fit its type is in no index: nobody can say what it should contribute, and what it
    /// did contribute is no longer true.
    pub fn index<I, F, Fut>(
        mut self,
        index: I,
        handler: F,
        options: impl FnOnce(IndexOptions<K>) -> IndexOptions<K>,
    ) -> Self
    where
        I: IndexKey,
        F: Fn(Index<K>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = HandlerResult<Entries<I::Key, I::Value>>> + Send + 'static,
    {
        let _ = index;
        let common = options(IndexOptions::blank()).common;
        let mut reading = Reading::of(I::ID, &configured::of_process);
        if reading.optional("enabled", common.enabled.as_ref()).unwrap_or(true) {
            self.registry.indexes.push(IndexHandler {
                index: Declaration::of::<I>(),
                function: TypeId::of::<F>(),
                filters: common.filters.read(common.field.as_ref(), false, &mut reading),
                field: common.field,
                limits: common.limits.read(&mut reading),
                param: common.param,
                call: erase(handler),
            });
        }
        self.registry.faults.extend(reading.into_faults());
        self
    }
}

/// Generics end here: below, entries are of any type.
fn erase<K, F, Fut, E>(handler: F) -> IndexFn
where
    K: Kind,
    F: Fn(Index<K>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = HandlerResult<E>> + Send + 'static,
    E: Send + 'static,
{
    Arc::new(move |IndexCall { common, returned }| {
        let running = handler(Index::from(common));
        async move {
            returned.put(running.await?);
            Ok(None)
        }
        .boxed()
    })
}
