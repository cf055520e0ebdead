//! Entries of all lists.

use std::time::Duration;

use serde_json::Value;

use super::field::FieldSpec;
use super::sub_handler::SubHandlerSpec;
use super::tree::Spanned;
use crate::diagnostic::Span;
use crate::model::{
    Backoff, Condition, Configured, Criterion, ErrorsMode, HelperArgument, InitialDelay, OnPermanent, Restart,
};

/// Keys and texts with their places.
pub(crate) type TextMap = Vec<(Spanned<String>, Spanned<String>)>;

/// What all entries have.
#[derive(Clone, Debug)]
pub(crate) struct EntrySpec {
    /// The whole entry.
    pub(crate) span: Span,
    /// `fn`.
    pub(crate) function: Spanned<String>,
    /// `id`.
    pub(crate) id: Option<Spanned<String>>,
    /// `enabled`.
    pub(crate) enabled: OptionSpec<bool>,
    /// `param`.
    pub(crate) param: Option<Value>,
    /// `field`, key by key.
    pub(crate) field: Option<Spanned<Vec<String>>>,
    /// `retries`.
    pub(crate) retries: OptionSpec<u32>,
    /// `timeout`.
    pub(crate) timeout: OptionSpec<Duration>,
    /// `backoff`.
    pub(crate) backoff: Option<Spanned<Backoff>>,
    /// `errors`.
    pub(crate) errors: OptionSpec<ErrorsMode>,
    /// `interrupt`.
    pub(crate) interrupt: OptionSpec<bool>,
    /// `optional`.
    pub(crate) optional: OptionSpec<bool>,
    /// All criteria.
    pub(crate) filters: FiltersSpec,
    /// `blocking`.
    pub(crate) blocking: Option<Spanned<bool>>,
    /// `returns`.
    pub(crate) returns: Option<FieldSpec>,
}

/// An option that may come from the environment, with its place.
pub(crate) type OptionSpec<T> = Option<Spanned<Configured<T>>>;

/// The criteria of an entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct FiltersSpec {
    /// `labels`.
    pub(crate) labels: Vec<CriterionSpec>,
    /// `annotations`.
    pub(crate) annotations: Vec<CriterionSpec>,
    /// `value`.
    pub(crate) value: Option<Spanned<Criterion>>,
    /// `old`.
    pub(crate) old: Option<Spanned<Criterion>>,
    /// `new`.
    pub(crate) new: Option<Spanned<Criterion>>,
    /// `when`.
    pub(crate) when: Option<Spanned<Condition>>,
    /// The functions in all of them, in order of mention.
    pub(crate) functions: Vec<(Spanned<String>, HelperArgument)>,
    /// The CEL expressions in `when`, with the place of their first character if they stand in the file as they are.
    pub(crate) expressions: Vec<(Spanned<String>, Option<usize>)>,
}

/// A key of `labels` or `annotations` with its criterion.
#[derive(Clone, Debug)]
pub(crate) struct CriterionSpec {
    /// The label or annotation.
    pub(crate) key: Spanned<String>,
    /// What it must be.
    pub(crate) criterion: Criterion,
    /// Where the criterion stands.
    pub(crate) span: Span,
}

/// An entry of `handlers`.
#[derive(Clone, Debug)]
pub(crate) struct HandlerSpec {
    /// `type`, one or several.
    pub(crate) types: Vec<Spanned<String>>,
    /// `deleted`.
    pub(crate) deleted: OptionSpec<bool>,
    /// `coversDowntime`.
    pub(crate) covers_downtime: OptionSpec<bool>,
    /// `forEach`, with its place.
    pub(crate) for_each: Option<Spanned<Vec<SubHandlerSpec>>>,
    /// The rest.
    pub(crate) entry: EntrySpec,
}

/// An entry of `timers`.
#[derive(Clone, Debug)]
pub(crate) struct TimerSpec {
    /// `interval`.
    pub(crate) interval: OptionSpec<Duration>,
    /// `idle`.
    pub(crate) idle: OptionSpec<Duration>,
    /// `sharp`.
    pub(crate) sharp: OptionSpec<bool>,
    /// `onPermanent`.
    pub(crate) on_permanent: OptionSpec<OnPermanent>,
    /// When it begins and how it ends.
    pub(crate) life: LifeSpec,
    /// The rest.
    pub(crate) entry: EntrySpec,
}

/// An entry of `daemons`.
#[derive(Clone, Debug)]
pub(crate) struct DaemonSpec {
    /// `restart`.
    pub(crate) restart: OptionSpec<Restart>,
    /// When it begins and how it ends.
    pub(crate) life: LifeSpec,
    /// The rest.
    pub(crate) entry: EntrySpec,
}

/// What daemons and timers have in common.
#[derive(Clone, Debug)]
pub(crate) struct LifeSpec {
    /// `initialDelay`.
    pub(crate) initial_delay: Option<Spanned<InitialDelay>>,
    /// `cancellationBackoff`.
    pub(crate) cancellation_backoff: OptionSpec<Duration>,
    /// `cancellationTimeout`.
    pub(crate) cancellation_timeout: OptionSpec<Duration>,
    /// `cancellationPolling`, which only daemons have.
    pub(crate) cancellation_polling: OptionSpec<Duration>,
}

/// An entry of `indexes`.
#[derive(Clone, Debug)]
pub(crate) struct IndexSpec {
    /// `key`.
    pub(crate) key: Option<RustTypeSpec>,
    /// `value`.
    pub(crate) value: Option<RustTypeSpec>,
    /// The rest.
    pub(crate) entry: EntrySpec,
}

/// A Rust type as text.
#[derive(Clone, Debug)]
pub(crate) struct RustTypeSpec {
    /// The text.
    pub(crate) text: Spanned<String>,
    /// Where its first character stands if it stands in the file as it is.
    pub(crate) verbatim: Option<usize>,
}
