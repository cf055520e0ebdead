//! Which of the waiting handlers are called in one cycle: the choice as a setting (L).

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

use crate::structs::bodies::Body;

/// Which of the waiting handlers are called in one cycle, and in which order (L-2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Lifecycle {
    /// One handler: the least retried one, in registration order.
    #[default]
    Asap,
    /// All, in registration order.
    AllAtOnce,
    /// The first in registration order.
    OneByOne,
    /// One at random.
    Randomized,
    /// All, in random order.
    Shuffled,
    /// What a function chooses; see [`Lifecycle::custom`].
    Custom(Choice),
}

/// A handler that could be called now.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Waiting<'a> {
    /// The handler's id.
    pub id: &'a str,
    /// How many attempts there were before, those of its sub-handlers included.
    pub retries: u32,
    /// When the first attempt began, or the handler was first due.
    pub started: Timestamp,
}

impl<'a> Waiting<'a> {
    pub(crate) fn new(id: &'a str, retries: u32, started: Timestamp) -> Self {
        Self { id, retries, started }
    }
}

type Choose = dyn Fn(&[Waiting<'_>], &Body) -> Vec<usize> + Send + Sync;

/// A function that chooses among waiting handlers.
#[derive(Clone)]
pub struct Choice(Arc<Choose>);

impl Lifecycle {
    /// What this function chooses of the waiting handlers of an object (L-5).
    ///
    /// It gets at least one of them, in registration order, and the object; it returns the indices of those that are
    /// to be called in this cycle, in this order. Their progress is stored together, once all were called. If it
    /// returns none, it is as with [`Lifecycle::Asap`]: a handler that is to wait says so itself.
    ///
    /// ```
    /// use kopf_runtime::{Lifecycle, Operator};
    ///
    /// // Whatever is called `secure…` goes first, and alone.
    /// let operator = Operator::new("shop").settings(|settings| {
    ///     settings.execution.lifecycle = Lifecycle::custom(|waiting, _body| {
    ///         waiting.iter().position(|handler| handler.id.starts_with("secure")).into_iter().collect()
    ///     });
    /// });
    /// # let _ = operator;
    /// ```
    pub fn custom(choose: impl Fn(&[Waiting<'_>], &Body) -> Vec<usize> + Send + Sync + 'static) -> Self {
        Self::Custom(Choice(Arc::new(choose)))
    }
}

impl Choice {
    /// The indices that the function returns.
    pub(crate) fn choose(&self, waiting: &[Waiting<'_>], body: &Body) -> Vec<usize> {
        (self.0)(waiting, body)
    }
}

/// Two are equal if they are one.
impl PartialEq for Choice {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Choice {}

impl fmt::Debug for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Choice").finish_non_exhaustive()
    }
}
