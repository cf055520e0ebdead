//! Handlers, timers and the functions behind them.

use std::time::Duration;

use super::Schema;

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
    pub interval: Option<Duration>,
    /// How long the object must have been left alone.
    pub idle: Option<Duration>,
    /// Aligned to the start of the last call, not to its end.
    pub sharp: bool,
    /// Before the first call.
    pub initial_delay: Option<Duration>,
    /// Error options.
    pub limits: Limits,
    /// Which objects it is for.
    pub filters: Filters,
}

/// `retries`, `timeout`, `backoff`, `errors`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Attempts in all.
    pub retries: Option<u32>,
    /// Over all attempts.
    pub timeout: Option<Duration>,
    /// After an arbitrary error.
    pub backoff: Option<Duration>,
    /// What an arbitrary error means.
    pub errors: Option<ErrorsMode>,
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

/// `labels` and `annotations`, sorted by key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filters {
    /// On `metadata.labels`.
    pub labels: Vec<(String, Criterion)>,
    /// On `metadata.annotations`.
    pub annotations: Vec<(String, Criterion)>,
}

/// What a label or an annotation must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Criterion {
    /// Exactly this text.
    Equals(String),
    /// Any value.
    Present,
    /// None.
    Absent,
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
