//! Options of handlers of changes, and the sub-handlers that belong to them.

use std::any::TypeId;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::{Backoff, Common};
use crate::actions::execution::ErrorsMode;
use crate::arguments::{Change, Condition, Plan};
use crate::configured::{self, Configured, Reading};
use crate::intents::criteria::Criterion;
use crate::intents::invocation::ChangeFn;
use crate::intents::plans::{Each, EachKey, Template};
use crate::kind::{Kind, erase};
use crate::structs::errors::HandlerResult;
use crate::structs::fields::FieldPath;

/// Options of `on_create`, `on_update`, `on_field`, `on_delete` and `on_resume`, and of sub-handlers.
#[derive(Clone, Debug)]
#[must_use]
pub struct ChangeOptions<K> {
    pub(crate) common: Common,
    pub(crate) optional: Option<Configured<bool>>,
    pub(crate) deleted: Option<Configured<bool>>,
    pub(crate) covers_downtime: Option<Configured<bool>>,
    pub(crate) each: Vec<EachOption<K>>,
    kind: PhantomData<fn() -> K>,
}

/// A declared sub-handler, with its options as they are given.
#[derive(Clone)]
pub(crate) struct EachOption<K> {
    path: FieldPath,
    key: EachKey,
    function: TypeId,
    call: ChangeFn,
    options: ChangeOptions<K>,
}

impl<K: Kind> ChangeOptions<K> {
    common_options!(optional, deleted, covers_downtime, each);
    error_options!();

    /// On delete handlers: deletion does not wait for this handler; no finalizer is set for it (H-7).
    pub fn optional(mut self, optional: impl Into<Configured<bool>>) -> Self {
        self.optional = Some(optional.into());
        self
    }

    /// On resume handlers: also for objects that are being deleted (H-3).
    pub fn deleted(mut self, deleted: impl Into<Configured<bool>>) -> Self {
        self.deleted = Some(deleted.into());
        self
    }

    /// On resume handlers: also for objects that were created while the operator was away (C, *Improve on*).
    ///
    /// Such an object is new to the operator, so the call is part of its creation, with that reason. Without this,
    /// resuming never mixes into creation (C-6).
    pub fn covers_downtime(mut self, covers: impl Into<Configured<bool>>) -> Self {
        self.covers_downtime = Some(covers.into());
        self
    }

    /// On update and field handlers: only if the field was this before the change; [`field`](Self::field) says which
    /// one (F-9). Not beside [`value`](Self::value).
    pub fn old(mut self, criterion: impl Into<Criterion>) -> Self {
        self.common.filters.old = Some(criterion.into());
        self
    }

    /// On update and field handlers: only if the field has become this; as [`old`](Self::old).
    pub fn new(mut self, criterion: impl Into<Criterion>) -> Self {
        self.common.filters.new = Some(criterion.into());
        self
    }

    /// A sub-handler for each item that the object has at `path`: for each of a list, for each entry of a map, or for
    /// a scalar. They come after those that the handler itself [plans](Plan), of which all else is true of them too.
    ///
    /// `path` is that in the whole object, such as `spec.volumes`; in a sub-handler that is for an item itself, that
    /// in the item, where `""` is the item. Of a place that is not there, there are no items.
    ///
    /// `key` names a sub-handler: the path of a text or number in its item, such as `"name"`, or
    /// [`EachKey::Natural`]. Its id is `<handler>/<key>`. A key may be any text but the empty one; if two are equal,
    /// if they would share an annotation, as `a/b` and `a.b` do, or if an item has none, the handler fails for good.
    ///
    /// ```
    /// use kopf_runtime::{Change, EachKey, HandlerResult, Item, Resource};
    /// # use kopf_runtime::{Kind, Reference};
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
    /// async fn fill(_: Change<Cart>) -> HandlerResult {
    ///     Ok(())
    /// }
    ///
    /// async fn add(Change { item, .. }: Change<Cart>) -> HandlerResult {
    ///     if let Some(Item { key, value, .. }) = item {
    ///         println!("adding {key}: {value}");
    ///     }
    ///     Ok(())
    /// }
    ///
    /// let carts = Resource::of::<Cart>()
    ///     .on_create("fill", fill, |o| o.for_each("spec.items", "name", add, |o| o.retries(3)))
    ///     .on_update("fill", fill, |o| o.for_each("spec.tags", EachKey::Natural, add, |o| o));
    /// # let _ = carts;
    /// ```
    pub fn for_each<F, Fut, T>(
        mut self,
        path: impl Into<FieldPath>,
        key: impl Into<EachKey>,
        handler: F,
        options: impl FnOnce(ChangeOptions<K>) -> ChangeOptions<K>,
    ) -> Self
    where
        F: Fn(Change<K>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = HandlerResult<T>> + Send + 'static,
        T: Serialize + 'static,
    {
        self.each.push(EachOption {
            path: path.into(),
            key: key.into(),
            function: TypeId::of::<F>(),
            call: erase(handler),
            options: options(ChangeOptions::blank()),
        });
        self
    }

    /// The sub-handler with these options; `None` if it is disabled. `about_changes` is said of its parent (U-11).
    fn template(
        self,
        function: TypeId,
        call: ChangeFn,
        about_changes: bool,
        reading: &mut Reading<'_>,
    ) -> Option<Template> {
        for (option, given) in [
            ("optional", &self.optional),
            ("deleted", &self.deleted),
            ("covers_downtime", &self.covers_downtime),
        ] {
            if given.is_some() {
                reading.fault(option, "is for handlers that are nobody's sub-handlers");
            }
        }
        let Common {
            param,
            filters,
            field,
            limits,
            enabled,
        } = self.common;
        let enabled = reading.optional("enabled", enabled.as_ref()).unwrap_or(true);
        let template = Template {
            function,
            filters: filters.read(field.as_ref(), about_changes, reading),
            field,
            limits: limits.read(reading),
            param,
            each: read_each(self.each, about_changes, reading),
            call,
        };
        enabled.then_some(template)
    }
}

impl<K: Kind> Plan<K> {
    /// Wants a sub-handler, which is called after those that were wanted before it (U-1).
    ///
    /// Its id is `<parent>/<id>`, without a suffix for its field (U-2). `id` may be any text but the empty one; if two
    /// are equal, or would share an annotation, as `a/b` and `a.b` do, the parent fails for good. So it does if the
    /// options cannot be read, and if handlers are nested more than eight deep.
    ///
    /// The options are those of the parent. A `field` is one below the parent's field (U-10); `old` and `new` are for
    /// the sub-handlers of update and field handlers (U-11). The sub-handler may have a plan of its own.
    pub fn sub<F, Fut, T>(
        &self,
        id: impl Into<String>,
        handler: F,
        options: impl FnOnce(ChangeOptions<K>) -> ChangeOptions<K>,
    ) where
        F: Fn(Change<K>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = HandlerResult<T>> + Send + 'static,
        T: Serialize + 'static,
    {
        let id = id.into();
        let options = options(ChangeOptions::blank());
        let mut wanted = self.wants.lock();
        let full = wanted.id(&id);
        let mut reading = Reading::of(&full, &configured::of_process);
        let about_changes = wanted.is_about_changes();
        let template = options.template(TypeId::of::<F>(), erase(handler), about_changes, &mut reading);
        wanted.fault(reading.into_faults());
        if let Some(template) = template {
            wanted.want(id, template);
        }
    }
}

/// Reads the options of declared sub-handlers.
pub(crate) fn read_each<K: Kind>(
    each: Vec<EachOption<K>>,
    about_changes: bool,
    reading: &mut Reading<'_>,
) -> Arc<[Each]> {
    let read = |each: EachOption<K>| {
        let EachOption {
            path,
            key,
            function,
            call,
            options,
        } = each;
        let name = format!("{} for each of {path}", reading.handler());
        let template = reading.part(&name, |reading| {
            options.template(function, call, about_changes, reading)
        })?;
        Some(Each { path, key, template })
    };
    each.into_iter().filter_map(read).collect()
}

impl<K> fmt::Debug for EachOption<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EachOption")
            .field("path", &self.path)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}
