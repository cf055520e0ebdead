//! The handlers of one kind.

mod background;

use std::any::TypeId;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use futures::FutureExt as _;
use serde::Serialize;

use crate::actions::invocation::on_thread;
use crate::arguments::{Change, Event};
use crate::configured::{self, Reading};
use crate::intents::handlers::{ChangeKind, EventHandler, Handler};
use crate::intents::memos::Memos;
use crate::intents::plans::Origin;
use crate::intents::registries::Registry;
use crate::kind::{Kind, erase, parse_spec};
use crate::options::{ChangeOptions, Common, EventOptions, read_each};
use crate::structs::errors::HandlerResult;
use crate::structs::fields::FieldPath;

/// The handlers of one kind, in registration order.
///
/// Each handler has an `id`: its record and its result are kept under it, so it stays the same over the versions of the
/// operator. One function may have one id for several reasons; it is called once where several of them apply (H-10).
/// Different functions need different ids; the operator does not start otherwise (H-11). Functions are told apart by
/// their types, and function pointers of one signature, or closures that one function has made, are of one type: give
/// each of them an id of its own, or only the first of them is called.
#[must_use = "hand it to `Operator::resource`"]
pub struct Resource<K = ()> {
    registry: Registry,
    kind: PhantomData<fn() -> K>,
}

impl Resource {
    /// The kind `K` without handlers. Each object begins with a default memo.
    pub fn of<K: Kind<Memo: Default>>() -> Resource<K> {
        Resource::with(Memos::fresh::<K::Memo>())
    }

    /// The kind `K` without handlers. The memo of each object is made from the operator's memo of the type `O`, which
    /// [`Operator::memo`](crate::Operator::memo) sets, when the first event of the object comes (M-4).
    ///
    /// ```
    /// # use kopf_runtime::{Kind, Operator, Reference, Resource};
    /// use std::sync::{Arc, Mutex};
    ///
    /// /// What the operator remembers.
    /// struct Shop { carts: Mutex<u64> }
    /// /// What it remembers of one cart.
    /// struct Note { number: u64, shop: Arc<Shop> }
    ///
    /// # struct Cart;
    /// impl Kind for Cart {
    ///     type Memo = Note;
    ///     // …
    /// #     type Spec = serde_json::Value;
    /// #     type Status = serde_json::Value;
    /// #     const REFERENCE: Reference = Reference {
    /// #         group: "shop.example.com", version: "v1", kind: "Cart", plural: "carts", namespaced: true,
    /// #     };
    /// }
    ///
    /// fn note(shop: &Arc<Shop>) -> Arc<Note> {
    ///     let mut carts = shop.carts.lock().unwrap();
    ///     *carts += 1;
    ///     Arc::new(Note { number: *carts, shop: Arc::clone(shop) })
    /// }
    ///
    /// let operator = Operator::new("shop")
    ///     .memo(Shop { carts: Mutex::new(0) })
    ///     .resource(Resource::with_memo::<Cart, Shop>(note));
    /// # let _ = operator;
    /// ```
    ///
    /// With [`Arc::clone`] as the function, all objects share the operator's memo.
    pub fn with_memo<K: Kind, O: Send + Sync + 'static>(
        derive: impl Fn(&Arc<O>) -> Arc<K::Memo> + Send + Sync + 'static,
    ) -> Resource<K> {
        Resource::with(Memos::derived(derive))
    }
}

impl<K: Kind> Resource<K> {
    fn with(memos: Memos) -> Self {
        Self {
            registry: Registry::new(K::REFERENCE, Arc::new(parse_spec::<K>), memos),
            kind: PhantomData,
        }
    }

    /// Calls `handler` for each new object.
    pub fn on_create<F, Fut, T>(
        self,
        id: &str,
        handler: F,
        options: impl FnOnce(ChangeOptions<K>) -> ChangeOptions<K>,
    ) -> Self
    where
        F: Fn(Change<K>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = HandlerResult<T>> + Send + 'static,
        T: Serialize + 'static,
    {
        self.change(ChangeKind::Create, id, handler, options(ChangeOptions::blank()))
    }

    /// Calls `handler` for each change of an object's essence; with `field`, for each change of that field.
    pub fn on_update<F, Fut, T>(
        self,
        id: &str,
        handler: F,
        options: impl FnOnce(ChangeOptions<K>) -> ChangeOptions<K>,
    ) -> Self
    where
        F: Fn(Change<K>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = HandlerResult<T>> + Send + 'static,
        T: Serialize + 'static,
    {
        self.change(ChangeKind::Update, id, handler, options(ChangeOptions::blank()))
    }

    /// Calls `handler` before an object is deleted; the deletion waits for it unless it is optional.
    pub fn on_delete<F, Fut, T>(
        self,
        id: &str,
        handler: F,
        options: impl FnOnce(ChangeOptions<K>) -> ChangeOptions<K>,
    ) -> Self
    where
        F: Fn(Change<K>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = HandlerResult<T>> + Send + 'static,
        T: Serialize + 'static,
    {
        self.change(ChangeKind::Delete, id, handler, options(ChangeOptions::blank()))
    }

    /// Calls `handler` once for each object that was there, and handled, when the operator started.
    pub fn on_resume<F, Fut, T>(
        self,
        id: &str,
        handler: F,
        options: impl FnOnce(ChangeOptions<K>) -> ChangeOptions<K>,
    ) -> Self
    where
        F: Fn(Change<K>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = HandlerResult<T>> + Send + 'static,
        T: Serialize + 'static,
    {
        self.change(ChangeKind::Resume, id, handler, options(ChangeOptions::blank()))
    }

    /// Calls `handler` whenever `field` differs from what was handled last, also on creation (H-4).
    ///
    /// The handler's `old`, `new` and `diff` are those of the field, and its id gets `/<field>` appended (H-9).
    pub fn on_field<F, Fut, T>(
        self,
        id: &str,
        field: impl Into<FieldPath>,
        handler: F,
        options: impl FnOnce(ChangeOptions<K>) -> ChangeOptions<K>,
    ) -> Self
    where
        F: Fn(Change<K>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = HandlerResult<T>> + Send + 'static,
        T: Serialize + 'static,
    {
        self.change(
            ChangeKind::Field,
            id,
            handler,
            options(ChangeOptions::blank()).field(field),
        )
    }

    /// Calls `handler` for each raw watch event, in order.
    pub fn on_event<F, Fut, T>(
        self,
        id: &str,
        handler: F,
        options: impl FnOnce(EventOptions<K>) -> EventOptions<K>,
    ) -> Self
    where
        F: Fn(Event<K>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = HandlerResult<T>> + Send + 'static,
        T: Serialize + 'static,
    {
        let common = options(EventOptions::blank()).common;
        self.register(id, common, |registry, id, common, reading| {
            registry.events.push(EventHandler {
                id,
                function: TypeId::of::<F>(),
                filters: common.filters.read(common.field.as_ref(), false, reading),
                field: common.field,
                param: common.param,
                call: erase(handler),
            });
        })
    }

    fn change<F, Fut, T>(self, kind: ChangeKind, id: &str, handler: F, options: ChangeOptions<K>) -> Self
    where
        F: Fn(Change<K>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = HandlerResult<T>> + Send + 'static,
        T: Serialize + 'static,
    {
        let common = options.common;
        self.register(id, common, |registry, id, common, reading| {
            registry.changes.push(Arc::new(Handler {
                id,
                function: TypeId::of::<F>(),
                kind,
                filters: common
                    .filters
                    .read(common.field.as_ref(), kind.is_about_changes(), reading),
                field: common.field,
                limits: common.limits.read(reading),
                optional: reading
                    .optional("optional", options.optional.as_ref())
                    .unwrap_or_default(),
                deleted: reading
                    .optional("deleted", options.deleted.as_ref())
                    .unwrap_or_default(),
                covers_downtime: reading
                    .optional("covers_downtime", options.covers_downtime.as_ref())
                    .unwrap_or_default(),
                param: common.param,
                each: read_each(options.each, kind.is_about_changes(), reading),
                origin: Origin::default(),
                call: erase(handler),
            }));
        })
    }

    /// Registers a handler unless it is disabled; options that cannot be read keep the operator from starting.
    fn register(
        mut self,
        id: &str,
        common: Common,
        push: impl FnOnce(&mut Registry, String, Common, &mut Reading<'_>),
    ) -> Self {
        let id = suffixed(id, common.field.as_ref());
        let mut reading = Reading::of(&id, &configured::of_process);
        if reading.optional("enabled", common.enabled.as_ref()).unwrap_or(true) {
            push(&mut self.registry, id.clone(), common, &mut reading);
        }
        self.registry.faults.extend(reading.into_faults());
        self
    }

    pub(crate) fn into_registry(self) -> Registry {
        self.registry
    }
}

/// Makes a plain function usable as a handler: it runs on a thread where blocking is allowed (K-12).
///
/// The call's log records still name the object. A function that is running cannot be interrupted: its `timeout`
/// does not end it, but keeps it from being called again. `settings.execution.max_workers` says how many may run at
/// once; one that waits for its turn is not running yet, so its `timeout` ends it.
pub fn blocking<A, T, F>(
    function: F,
) -> impl Fn(A) -> futures::future::BoxFuture<'static, HandlerResult<T>> + Send + Sync
where
    F: Fn(A) -> HandlerResult<T> + Send + Sync + 'static,
    A: Send + 'static,
    T: Send + 'static,
{
    let function = Arc::new(function);
    move |arguments| {
        let function = Arc::clone(&function);
        let span = tracing::Span::current();
        on_thread(move || span.in_scope(|| function(arguments))).boxed()
    }
}

/// With a field, the id gets its path appended, even if it was given (H-9).
fn suffixed(id: &str, field: Option<&FieldPath>) -> String {
    match field {
        Some(field) => format!("{id}/{field}"),
        None => id.to_owned(),
    }
}

mod indexing;

#[cfg(test)]
mod tests;
