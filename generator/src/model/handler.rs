//! Entries of all lists, and the functions behind them.

use std::iter;
use std::time::Duration;

use serde_json::Value;

use super::{Backoff, Configured, Filters, IndexType, Optional, Schema, unset};

/// What the entries of all lists have.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The Rust function.
    pub function: String,
    /// As given to the builder.
    pub id: String,
    /// As it is stored and logged: with the `/<field>` that the runtime appends, but for indexes.
    pub full_id: String,
    /// The path in `field`, key by key; always there for `HandlerType::Change(ChangeType::Field)`, else a filter.
    pub field: Option<Vec<String>>,
    /// Error options.
    pub limits: Limits,
    /// Which objects it is for.
    pub filters: Filters,
    /// False: it is not registered.
    pub enabled: Optional<bool>,
    /// What the function gets as `param`.
    pub param: Option<Value>,
}

impl Entry {
    pub(super) fn needed_variables(&self) -> impl Iterator<Item = &str> {
        let enabled = self.enabled.as_ref().and_then(Configured::needed);
        enabled
            .into_iter()
            .chain(self.limits.needed_variables())
            .chain(self.filters.needed_variables())
    }

    /// Whether it is registered, as long as nobody sets a variable.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        unset(&self.enabled) != Some(false)
    }
}

/// An entry of `handlers`, with one type.
#[derive(Clone, Debug)]
pub struct Handler {
    /// What all entries have.
    pub entry: Entry,
    /// What it reacts to.
    pub handler_type: HandlerType,
    /// On delete handlers: no finalizer is set for it.
    pub optional: Optional<bool>,
    /// On resume handlers: also objects that are being deleted.
    pub deleted: Optional<bool>,
    /// On resume handlers: also objects created while the operator was away.
    pub covers_downtime: Optional<bool>,
    /// Its sub-handlers.
    pub for_each: Vec<SubHandler>,
}

impl Handler {
    pub(super) fn needed_variables(&self) -> impl Iterator<Item = &str> {
        let flags = [&self.optional, &self.deleted, &self.covers_downtime];
        needed(flags).chain(self.entries().into_iter().flat_map(Entry::needed_variables))
    }

    /// Its own entry, and those of its sub-handlers.
    #[must_use]
    pub fn entries(&self) -> Vec<&Entry> {
        let below = self.for_each.iter().flat_map(SubHandler::entries);
        iter::once(&self.entry).chain(below).collect()
    }
}

/// An item of `forEach`: a sub-handler for each item of a list, each entry of a map, or a scalar.
#[derive(Clone, Debug)]
pub struct SubHandler {
    /// Where they are: from the object's root, or within the item of the sub-handler above.
    pub path: Vec<String>,
    /// Where in the item the last part of the sub-handler's id is; `None` for the scalar itself, the map's key, or the
    /// index in the list.
    pub key: Option<Vec<String>>,
    /// What all entries have; its ids are those of the handler that it belongs to.
    pub entry: Entry,
    /// Its own sub-handlers, within the item.
    pub for_each: Vec<SubHandler>,
}

impl SubHandler {
    /// Its own entry, and those of the sub-handlers below it.
    #[must_use]
    pub fn entries(&self) -> Vec<&Entry> {
        let below = self.for_each.iter().flat_map(Self::entries);
        iter::once(&self.entry).chain(below).collect()
    }
}

fn needed<'o, T: 'o>(options: impl IntoIterator<Item = &'o Optional<T>>) -> impl Iterator<Item = &'o str> {
    options.into_iter().flatten().filter_map(Configured::needed)
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
    /// What all entries have.
    pub entry: Entry,
    /// Time between two calls.
    pub interval: Optional<Duration>,
    /// How long the object must have been left alone.
    pub idle: Optional<Duration>,
    /// Aligned to the start of the last call, not to its end.
    pub sharp: Optional<bool>,
    /// What a permanent error means.
    pub on_permanent: Optional<OnPermanent>,
    /// How it lives with its objects.
    pub life: Life,
}

impl Timer {
    pub(super) fn needed_variables(&self) -> impl Iterator<Item = &str> {
        needed([&self.interval, &self.idle])
            .chain(needed([&self.sharp]))
            .chain(needed([&self.on_permanent]))
            .chain(self.life.needed_variables())
            .chain(self.entry.needed_variables())
    }
}

/// An entry of `daemons`.
#[derive(Clone, Debug)]
pub struct Daemon {
    /// What all entries have.
    pub entry: Entry,
    /// Whether it is started again once it has ended.
    pub restart: Optional<Restart>,
    /// How it lives with its objects.
    pub life: Life,
}

impl Daemon {
    pub(super) fn needed_variables(&self) -> impl Iterator<Item = &str> {
        needed([&self.restart])
            .chain(self.life.needed_variables())
            .chain(self.entry.needed_variables())
    }
}

/// When daemons and timers begin, and how they end.
#[derive(Clone, Debug, Default)]
pub struct Life {
    /// Before the first call.
    pub initial_delay: Option<InitialDelay>,
    /// No finalizer is set for it.
    pub optional: Optional<bool>,
    /// How long it may go on after it was told to end, before it is interrupted.
    pub cancellation_backoff: Optional<Duration>,
    /// How long the deletion waits once it was interrupted.
    pub cancellation_timeout: Optional<Duration>,
    /// How often the log tells that it is still ending.
    pub cancellation_polling: Optional<Duration>,
}

impl Life {
    fn needed_variables(&self) -> impl Iterator<Item = &str> {
        let delay = match &self.initial_delay {
            Some(InitialDelay::Fixed(delay) | InitialDelay::UpTo(delay)) => delay.needed(),
            Some(InitialDelay::By(_)) | None => None,
        };
        let times = [
            &self.cancellation_backoff,
            &self.cancellation_timeout,
            &self.cancellation_polling,
        ];
        needed([&self.optional]).chain(delay).chain(needed(times))
    }

    /// The function that says how long it waits at first.
    #[must_use]
    pub fn waits_by(&self) -> Option<&str> {
        match &self.initial_delay {
            Some(InitialDelay::By(function)) => Some(function),
            _ => None,
        }
    }

    /// The longest that it may wait at first, as long as nobody sets a variable; nothing if a function decides.
    #[must_use]
    pub fn longest_delay(&self) -> Option<Duration> {
        match &self.initial_delay {
            Some(InitialDelay::Fixed(delay) | InitialDelay::UpTo(delay)) => delay.unset().copied(),
            Some(InitialDelay::By(_)) => None,
            None => Some(Duration::ZERO),
        }
    }
}

/// `initialDelay`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InitialDelay {
    /// This long.
    Fixed(Configured<Duration>),
    /// At random, at most this long.
    UpTo(Configured<Duration>),
    /// As long as this function of the author's says.
    By(String),
}

/// `onPermanent`: what a permanent error means for a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnPermanent {
    /// It goes on with the next interval.
    Continue,
    /// It ends for its object.
    Stop,
}

/// `restart`: whether a daemon that has ended is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// No.
    Never,
    /// If it has failed for good.
    OnFailure,
    /// In any case.
    Always,
}

/// An entry of `indexes`.
#[derive(Clone, Debug)]
pub struct Index {
    /// What all entries have.
    pub entry: Entry,
    /// The type of the keys.
    pub key: IndexType,
    /// The type of the values.
    pub value: IndexType,
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
    /// `Daemon<K>`.
    Daemon,
    /// `Index<K>`.
    Index,
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
    /// The change types of the handlers that it is a sub-handler of.
    pub sub_types: Vec<ChangeType>,
    /// A plain `fn` rather than an `async fn`.
    pub blocking: bool,
    /// What it returns besides errors, an object or any other shape; its `Shape::Object` has a type name.
    pub returns: Option<Schema>,
    /// The types of the keys and of the values of an index.
    pub indexed: Option<(IndexType, IndexType)>,
}
