//! Handlers, timers and the functions behind them.

use std::time::Duration;

use serde_json::Value;

use super::{Backoff, Configured, Filters, Optional, Schema, unset};

/// An entry of `handlers`, with one type.
#[derive(Clone, Debug)]
pub struct Handler {
    /// What it reacts to.
    pub handler_type: HandlerType,
    /// The Rust function.
    pub function: String,
    /// As given to the builder: without the `/<field>` suffix, which the runtime appends.
    pub id: String,
    /// The path in `field`, key by key; always there for `HandlerType::Change(ChangeType::Field)`.
    pub field: Option<Vec<String>>,
    /// Error options.
    pub limits: Limits,
    /// Which objects it is for.
    pub filters: Filters,
    /// False: it is not registered.
    pub enabled: Optional<bool>,
    /// What the function gets as `param`.
    pub param: Option<Value>,
    /// On delete handlers: no finalizer is set for it.
    pub optional: Optional<bool>,
    /// On resume handlers: also objects that are being deleted.
    pub deleted: Optional<bool>,
    /// On resume handlers: also objects created while the operator was away.
    pub covers_downtime: Optional<bool>,
}

impl Handler {
    /// The environment variables that must be set.
    #[must_use]
    pub fn needed_variables(&self) -> Vec<&str> {
        let flags = [&self.enabled, &self.optional, &self.deleted, &self.covers_downtime];
        let flags = flags.into_iter().flatten().filter_map(Configured::needed);
        flags
            .chain(self.limits.needed_variables())
            .chain(self.filters.needed_variables())
            .collect()
    }

    /// Whether it is registered, as long as nobody sets a variable.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        unset(&self.enabled) != Some(false)
    }
}

/// The decorator that a handler stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandlerType {
    /// A change handler.
    Change(ChangeType),
    /// Every raw watch event.
    Event,
}

/// The change handlers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChangeType {
    /// The object appeared.
    Create,
    /// Its essence changed.
    Update,
    /// It is being deleted.
    Delete,
    /// It was there when the operator started.
    Resume,
    /// One field changed.
    Field,
}

/// An entry of `timers`.
#[derive(Clone, Debug)]
pub struct Timer {
    /// The Rust function.
    pub function: String,
    /// The id.
    pub id: String,
    /// As in handlers: a filter here.
    pub field: Option<Vec<String>>,
    /// Time between two calls.
    pub interval: Optional<Duration>,
    /// How long the object must have been left alone.
    pub idle: Optional<Duration>,
    /// Aligned to the start of the last call, not to its end.
    pub sharp: Optional<bool>,
    /// Before the first call.
    pub initial_delay: Optional<Duration>,
    /// Error options.
    pub limits: Limits,
    /// Which objects it is for.
    pub filters: Filters,
    /// False: it is not registered.
    pub enabled: Optional<bool>,
    /// What the function gets as `param`.
    pub param: Option<Value>,
    /// No finalizer is set for it.
    pub optional: Optional<bool>,
    /// How long a running call may go on after it was told to end, before it is interrupted.
    pub cancellation_backoff: Optional<Duration>,
    /// How long the deletion waits for an interrupted call.
    pub cancellation_timeout: Optional<Duration>,
}

impl Timer {
    /// The environment variables that must be set.
    #[must_use]
    pub fn needed_variables(&self) -> Vec<&str> {
        let flags = [&self.enabled, &self.optional, &self.sharp];
        let times = [
            &self.interval,
            &self.idle,
            &self.initial_delay,
            &self.cancellation_backoff,
            &self.cancellation_timeout,
        ];
        let flags = flags.into_iter().flatten().filter_map(Configured::needed);
        flags
            .chain(times.into_iter().flatten().filter_map(Configured::needed))
            .chain(self.limits.needed_variables())
            .chain(self.filters.needed_variables())
            .collect()
    }

    /// Whether it is registered, as long as nobody sets a variable.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        unset(&self.enabled) != Some(false)
    }
}

/// `retries`, `timeout`, `backoff`, `errors`, `interrupt`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// Attempts in all.
    pub retries: Optional<u32>,
    /// Over all attempts.
    pub timeout: Optional<Duration>,
    /// After an arbitrary error.
    pub backoff: Option<Backoff>,
    /// What an arbitrary error means.
    pub errors: Optional<ErrorsMode>,
    /// False: the timeout does not end a running async function.
    pub interrupt: Optional<bool>,
}

impl Limits {
    fn needed_variables(&self) -> impl Iterator<Item = &str> {
        let backoff = match &self.backoff {
            Some(Backoff::Fixed(wait)) => wait.needed(),
            _ => None,
        };
        let others = [
            self.retries.as_ref().and_then(Configured::needed),
            self.timeout.as_ref().and_then(Configured::needed),
            self.errors.as_ref().and_then(Configured::needed),
            self.interrupt.as_ref().and_then(Configured::needed),
        ];
        others.into_iter().chain([backoff]).flatten()
    }
}

/// What an arbitrary error means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorsMode {
    /// Retried.
    Temporary,
    /// Never retried.
    Permanent,
    /// Counts as success.
    Ignored,
}

/// The argument struct of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// `Change<K>`.
    Change,
    /// `Event<K>`.
    Event,
    /// `Timer<K>`.
    Timer,
}

/// A function that the author writes.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its identifier.
    pub name: String,
    /// Its argument.
    pub family: Family,
    /// The change types that lead to it, for its doc comment; empty for other families.
    pub change_types: Vec<ChangeType>,
    /// A plain `fn` rather than an `async fn`.
    pub blocking: bool,
    /// What it returns besides errors, an object or any other shape; its `Shape::Object` has a type name.
    pub returns: Option<Schema>,
}
