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
    pub(super) fn of(asked: &Asked<'a>) -> Self {
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
    pub(super) fn erased(erased: When) -> Self {
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

#[cfg(test)]
mod tests {
    use std::any::Any;
    use std::sync::Arc;

    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::filters::{all, any, none, not};
    use crate::intents::essences::View;
    use crate::structs::diffs::diff;
    use crate::structs::references::Reference;

    struct Cart;

    #[derive(Debug, Deserialize)]
    struct CartSpec {
        items: u32,
    }

    impl Kind for Cart {
        type Spec = CartSpec;
        type Status = Value;
        type Memo = ();
        const REFERENCE: Reference = Reference {
            group: "shop.example.com",
            version: "v1",
            kind: "Cart",
            plural: "carts",
            namespaced: true,
        };
    }

    fn cart(items: u32) -> Value {
        json!({
            "metadata": {
                "name": "c", "namespace": "n", "uid": "u",
                "labels": {"a": "1", "empty": "", "null": null}, "annotations": {"b": "2"},
            },
            "spec": {"items": items},
            "status": {"full": true},
        })
    }

    fn ask(condition: impl Into<Condition<Cart>>, body: &Body, view: Option<&View>) -> bool {
        let spec: Arc<dyn Any + Send + Sync> = parse_spec::<Cart>(body).unwrap();
        let memo: Arc<dyn Any + Send + Sync> = Arc::new(());
        let asked = Asked {
            body,
            spec: &spec,
            memo: &memo,
            view,
        };
        (condition.into().erased.ask)(&asked).unwrap()
    }

    // F-13
    #[test]
    fn a_condition_sees_the_object_as_it_is() {
        let sees = |filter: Filter<'_, Cart>| {
            assert_eq!((filter.name, filter.namespace, filter.uid), ("c", Some("n"), "u"));
            assert_eq!(filter.spec.items, 3);
            assert_eq!(filter.status, Some(&json!({"full": true})));
            assert_eq!(filter.body.value()["spec"]["items"], 3);
            assert_eq!(filter.labels.iter().collect::<Vec<_>>(), [("a", "1"), ("empty", "")]);
            assert_eq!(filter.annotations.get("b"), Some("2"));
            assert_eq!((filter.old, filter.new, filter.diff), (None, None, None));
            true
        };
        assert!(ask(sees, &cart(3).into(), None));
    }

    // F-13, K-7
    #[test]
    fn a_condition_of_a_change_sees_the_change() {
        let (old, new) = (json!({"spec": {"items": 1}}), json!({"spec": {"items": 3}}));
        let view = View {
            diff: diff(Some(&old), Some(&new)),
            old: Some(Arc::new(old.clone())),
            new: Some(Arc::new(new.clone())),
        };
        let sees = move |filter: Filter<'_, Cart>| {
            assert_eq!((filter.old, filter.new), (Some(&old), Some(&new)));
            filter.diff.unwrap()[0].path == ["spec", "items"]
        };
        assert!(ask(sees, &cart(3).into(), Some(&view)));
    }

    // F-16
    #[test]
    fn functions_and_conditions_combine() {
        fn is_big(filter: Filter<'_, Cart>) -> bool {
            filter.spec.items > 10
        }
        fn is_labelled<K: Kind>(filter: Filter<'_, K>) -> bool {
            filter.labels.contains_key("a")
        }
        let both = || [Condition::from(is_big), Condition::from(is_labelled::<Cart>)];
        let answers = |items| {
            let body = Body::new(cart(items));
            let combined = [all(both()), any(both()), none(both()), not(Condition::from(is_big))];
            combined.map(|condition| ask(condition, &body, None))
        };
        assert_eq!(answers(11), [true, true, false, false]);
        assert_eq!(answers(10), [false, true, false, true]);
    }

    // F-3
    #[test]
    fn texts_are_those_that_are_there() {
        let filter = Filter::<Cart>::for_test(cart(1));
        assert_eq!(filter.labels.get("empty"), Some(""));
        assert!(!filter.labels.contains_key("null") && !filter.labels.is_empty());
        assert!(
            Filter::<Cart>::for_test(json!({"spec": {"items": 1}}))
                .labels
                .is_empty()
        );
    }
}
