//! What a whole-object condition is asked about, and conditions themselves (F-13, F-16).

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::intents::filters::{Answer, Asked, Combine, Joint, When};
use crate::intents::memos::Memo;
use crate::kind::{Kind, parse_spec};
use crate::structs::bodies::Body;
use crate::structs::diffs::Diff;

/// What a function given to `when` is asked about. It borrows everything, so asking is cheap.
///
/// It knows nothing of the call: no `param`, `retry`, `started` or `runtime` (F-13).
///
/// ```
/// # use kopf_runtime::{Filter, Kind, Resource};
/// # struct Cart;
/// # impl kopf_runtime::Kind for Cart {
/// #     type Spec = serde_json::Value;
/// #     type Status = serde_json::Value;
/// #     type Memo = ();
/// #     const REFERENCE: kopf_runtime::Reference = kopf_runtime::Reference {
/// #         group: "shop.example.com", version: "v1", kind: "Cart", plural: "carts", namespaced: true,
/// #     };
/// # }
/// fn is_full(Filter { spec, labels, .. }: Filter<'_, Cart>) -> bool {
///     spec["items"] == 10 && labels.get("shop") != Some("closed")
/// }
///
/// # use serde_json::json;
/// assert!(is_full(Filter::for_test(json!({"spec": {"items": 10}}))));
/// ```
#[non_exhaustive]
pub struct Filter<'a, K: Kind> {
    /// `.metadata.name`.
    pub name: &'a str,
    /// `.metadata.namespace`; `None` for cluster-scoped objects.
    pub namespace: Option<&'a str>,
    /// `.metadata.uid`.
    pub uid: &'a str,
    /// `.metadata.labels`.
    pub labels: Texts<'a>,
    /// `.metadata.annotations`.
    pub annotations: Texts<'a>,
    /// `.spec`, typed.
    pub spec: &'a K::Spec,
    /// `.status`, raw; `None` if there is none.
    pub status: Option<&'a Value>,
    /// The whole object, raw.
    pub body: &'a Body,
    /// What is kept in memory about the object (M-1).
    pub memo: &'a K::Memo,
    /// The whole essence before the change (K-7), also where the handler has a field; `None` on creation, and for
    /// handlers that are not about changes: those of raw events, and timers.
    pub old: Option<&'a Value>,
    /// The whole essence after the change; `None` for handlers that are not about changes.
    pub new: Option<&'a Value>,
    /// From `old` to `new`; `None` for handlers that are not about changes.
    pub diff: Option<&'a Diff>,
}

impl<'a, K: Kind> Filter<'a, K> {
    fn of(asked: &Asked<'a>) -> Self {
        let spec = asked.spec.downcast_ref::<K::Spec>();
        Self::with(asked, spec.expect("the spec was parsed before any condition is asked"))
    }

    fn with(asked: &Asked<'a>, spec: &'a K::Spec) -> Self {
        let body = asked.body;
        let memo = asked.memo.downcast_ref::<K::Memo>();
        Self {
            name: body.name().unwrap_or_default(),
            namespace: body.namespace(),
            uid: body.uid().unwrap_or_default(),
            labels: Texts::of(body, "labels"),
            annotations: Texts::of(body, "annotations"),
            spec,
            status: body.status(),
            body,
            memo: memo.expect("the memo was made before any condition is asked"),
            old: asked.view.and_then(|view| view.old.as_deref()),
            new: asked.view.and_then(|view| view.new.as_deref()),
            diff: asked.view.map(|view| &view.diff),
        }
    }
}

impl<K: Kind> Filter<'static, K> {
    /// The question about this object, without a change and with a default memo; `old`, `new` and `diff` can be set
    /// afterwards.
    ///
    /// The object is kept until the test program ends, so that it can be borrowed.
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

    /// As [`for_test`](Self::for_test), with this memo.
    ///
    /// # Panics
    /// If the object's spec does not fit `K::Spec`.
    #[must_use]
    pub fn for_test_with(object: impl Into<Value>, memo: impl Into<Arc<K::Memo>>) -> Self {
        let memo: Arc<K::Memo> = memo.into();
        let memo: &'static Memo = Box::leak(Box::new(memo as Memo));
        let body: &'static Body = Box::leak(Box::new(Body::new(object.into())));
        let spec: &'static _ = match parse_spec::<K>(body) {
            Ok(spec) => Box::leak(Box::new(spec)),
            Err(misfit) => panic!("the object does not fit `{}`: {misfit}", K::REFERENCE.kind),
        };
        Self::of(&Asked {
            body,
            spec,
            memo,
            view: None,
        })
    }
}

impl<K: Kind> Clone for Filter<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: Kind> Copy for Filter<'_, K> {}

impl<K: Kind> fmt::Debug for Filter<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filter")
            .field("name", &self.name)
            .field("namespace", &self.namespace)
            .field("spec", &self.spec)
            .field("diff", &self.diff)
            .finish_non_exhaustive()
    }
}

/// Labels or annotations, as they are in the object.
#[derive(Clone, Copy, Debug, Default)]
pub struct Texts<'a>(Option<&'a Map<String, Value>>);

impl<'a> Texts<'a> {
    fn of(body: &'a Body, stanza: &str) -> Self {
        Self(body.metadata().and_then(|metadata| metadata.get(stanza)?.as_object()))
    }

    /// The text of a key, if it is there.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        self.0?.get(key)?.as_str()
    }

    /// Whether the key is there, with whatever text.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// All keys with their texts, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let entries = self.0.into_iter().flatten();
        entries.filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }
}

/// What an object must be like as a whole: what `when` takes.
///
/// Every function from [`Filter`] to `bool` is one; [`all`](crate::filters::all), [`any`](crate::filters::any),
/// [`none`](crate::filters::none) and [`not`](crate::filters::not) combine conditions (F-16).
///
/// ```
/// # use kopf_runtime::{Filter, Kind};
/// use kopf_runtime::{ChangeOptions, Condition, filters};
///
/// fn is_new<K: Kind>(filter: Filter<'_, K>) -> bool {
///     filter.old.is_none()
/// }
///
/// fn is_ours<K: Kind>(filter: Filter<'_, K>) -> bool {
///     filter.namespace == Some("ours")
/// }
///
/// fn options<K: Kind>(o: ChangeOptions<K>) -> ChangeOptions<K> {
///     o.when(is_ours).when(filters::not(Condition::from(is_new)))
/// }
/// ```
pub struct Condition<K> {
    pub(crate) erased: When,
    kind: PhantomData<fn() -> K>,
}

impl<K> Condition<K> {
    fn erased(erased: When) -> Self {
        Self {
            erased,
            kind: PhantomData,
        }
    }
}

impl<K: Kind, F> From<F> for Condition<K>
where
    F: Fn(Filter<'_, K>) -> bool + Send + Sync + 'static,
{
    fn from(function: F) -> Self {
        Self::erased(When::new(move |asked| Answer::Ok(function(Filter::of(asked)))))
    }
}

impl<K> Combine for Condition<K> {
    fn join(joint: Joint, of: Vec<Self>) -> Self {
        Self::erased(When::join(joint, of.into_iter().map(|each| each.erased).collect()))
    }
}

impl<K> Clone for Condition<K> {
    fn clone(&self) -> Self {
        Self::erased(self.erased.clone())
    }
}

impl<K> fmt::Debug for Condition<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condition").finish_non_exhaustive()
    }
}
