//! The wait before the first call of a daemon or a timer (G-3, T-2, B-066).

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::{Filter, Texts};
use crate::configured::{Configured, Reading};
use crate::intents::background::FirstDelay;
use crate::intents::filters::Asked;
use crate::kind::Kind;
use crate::structs::bodies::Body;

/// What a function given to [`InitialDelay::by`] is asked about. It borrows everything, so asking is cheap.
#[non_exhaustive]
pub struct Delay<'a, K: Kind> {
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
}

impl<'a, K: Kind> From<Filter<'a, K>> for Delay<'a, K> {
    fn from(filter: Filter<'a, K>) -> Self {
        Self {
            name: filter.name,
            namespace: filter.namespace,
            uid: filter.uid,
            labels: filter.labels,
            annotations: filter.annotations,
            spec: filter.spec,
            status: filter.status,
            body: filter.body,
            memo: filter.memo,
        }
    }
}

impl<K: Kind> Delay<'static, K> {
    /// The question about this object, with a default memo.
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
        Filter::for_test(object).into()
    }

    /// As [`for_test`](Self::for_test), with this memo.
    ///
    /// # Panics
    /// If the object's spec does not fit `K::Spec`.
    #[must_use]
    pub fn for_test_with(object: impl Into<Value>, memo: impl Into<Arc<K::Memo>>) -> Self {
        Filter::for_test_with(object, memo).into()
    }
}

impl<K: Kind> Clone for Delay<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: Kind> Copy for Delay<'_, K> {}

impl<K: Kind> fmt::Debug for Delay<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delay")
            .field("name", &self.name)
            .field("namespace", &self.namespace)
            .field("spec", &self.spec)
            .finish_non_exhaustive()
    }
}

/// The wait before the first call of a daemon or a timer: a duration, a random one, or what a function says. It counts
/// from each start for an object, also when the object matches again or the operator was restarted, and stopping cuts
/// it short.
///
/// ```
/// # use kopf_runtime::{Delay, Kind};
/// use kopf_runtime::{InitialDelay, TimerOptions, mins, secs};
///
/// fn by_size<K: Kind>(delay: Delay<'_, K>) -> std::time::Duration {
///     secs(delay.body.spec().map_or(0, |spec| spec.to_string().len() as u64))
/// }
///
/// fn options<K: Kind>(o: TimerOptions<K>) -> TimerOptions<K> {
///     // Of the objects that are there when the operator starts, each has a moment of its own.
///     o.interval(mins(5)).initial_delay(InitialDelay::up_to(mins(5)))
/// }
///
/// fn others<K: Kind>(o: TimerOptions<K>) -> TimerOptions<K> {
///     o.interval(mins(5)).initial_delay(InitialDelay::by(by_size))
/// }
/// ```
pub struct InitialDelay<K>(Source, PhantomData<fn() -> K>);

#[derive(Clone)]
enum Source {
    Fixed(Configured<Duration>),
    UpTo(Configured<Duration>),
    By(FirstDelay),
}

impl<K> InitialDelay<K> {
    /// At random, from nothing up to this.
    pub fn up_to(most: impl Into<Configured<Duration>>) -> Self {
        Self(Source::UpTo(most.into()), PhantomData)
    }

    pub(crate) fn read(&self, reading: &mut Reading<'_>) -> Option<FirstDelay> {
        let option = "initial_delay";
        match &self.0 {
            Source::Fixed(delay) => reading.value(option, delay).map(FirstDelay::Fixed),
            Source::UpTo(most) => reading.value(option, most).map(FirstDelay::UpTo),
            Source::By(function) => Some(function.clone()),
        }
    }
}

impl<K: Kind> InitialDelay<K> {
    /// What the function says of the object. It must be quick; if it panics, that is logged and there is no wait.
    pub fn by(function: impl Fn(Delay<'_, K>) -> Duration + Send + Sync + 'static) -> Self {
        let function = move |asked: &Asked<'_>| function(Filter::of(asked).into());
        Self(Source::By(FirstDelay::By(Arc::new(function))), PhantomData)
    }
}

impl<K> From<Configured<Duration>> for InitialDelay<K> {
    fn from(delay: Configured<Duration>) -> Self {
        Self(Source::Fixed(delay), PhantomData)
    }
}

impl<K> From<Duration> for InitialDelay<K> {
    fn from(delay: Duration) -> Self {
        Configured::from(delay).into()
    }
}

impl<K> Clone for InitialDelay<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone(), PhantomData)
    }
}

impl<K> fmt::Debug for InitialDelay<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Source::Fixed(delay) => f.debug_tuple("Fixed").field(delay).finish(),
            Source::UpTo(most) => f.debug_tuple("UpTo").field(most).finish(),
            Source::By(_) => f.debug_tuple("By").finish_non_exhaustive(),
        }
    }
}
