//! Which objects and changes a handler is for (F).
//!
//! The order of the questions is that of F-1, and none is asked once one before it has been answered with no. A
//! function that fails is an answer of its own: the fault is that of its handler alone (F-15, *Improve on*).

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::Value;

use super::criteria::{Criterion, PRESENT};
use super::essences::View;
use super::memos::Memo;
use crate::actions::invocation::describe;
use crate::configured::Reading;
use crate::structs::bodies::Body;
use crate::structs::fields::FieldPath;

/// Yes, no, or why it cannot be said.
pub(crate) type Answer = Result<bool, String>;

/// What a whole-object condition is asked about.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) body: &'a Body,
    /// The `K::Spec` of the kind.
    pub(crate) spec: &'a Arc<dyn Any + Send + Sync>,
    /// The object's `K::Memo`.
    pub(crate) memo: &'a Memo,
    /// The change of the whole object; handlers of events and timers know of none (F-13).
    pub(crate) view: Option<&'a View>,
}

/// A whole-object condition without its types (F-13).
#[derive(Clone)]
pub(crate) struct When {
    pub(crate) ask: Arc<dyn Fn(&Asked<'_>) -> Answer + Send + Sync>,
    /// Why it can never be answered, such as an expression that does not parse.
    pub(crate) fault: Option<String>,
}

impl When {
    pub(crate) fn new(ask: impl Fn(&Asked<'_>) -> Answer + Send + Sync + 'static) -> Self {
        Self {
            ask: Arc::new(ask),
            fault: None,
        }
    }
}

impl Combine for When {
    fn join(joint: Joint, of: Vec<Self>) -> Self {
        let fault = of.iter().find_map(|each| each.fault.clone());
        let ask = move |asked: &Asked<'_>| joint.holds(&of, |each| (each.ask)(asked));
        Self {
            fault,
            ..Self::new(ask)
        }
    }
}

impl fmt::Debug for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("When")
            .field("fault", &self.fault)
            .finish_non_exhaustive()
    }
}

/// How several criteria make one (F-16).
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joint {
    All,
    Any,
    None,
}

impl Joint {
    /// Asks one after the other, for as long as the answer is open.
    pub(super) fn holds<T>(self, of: &[T], ask: impl Fn(&T) -> Answer) -> Answer {
        for each in of {
            match (self, ask(each)?) {
                (Self::All, false) | (Self::None, true) => return Ok(false),
                (Self::Any, true) => return Ok(true),
                (Self::All, true) | (Self::None | Self::Any, false) => {}
            }
        }
        Ok(self != Self::Any)
    }
}

/// What can be combined: criteria of one value, and conditions on the whole object.
pub trait Combine: Sized {
    #[doc(hidden)]
    fn join(joint: Joint, of: Vec<Self>) -> Self;
}

/// All of these hold; none at all do.
pub fn all<T: Combine>(of: impl IntoIterator<Item = T>) -> T {
    T::join(Joint::All, of.into_iter().collect())
}

/// At least one of these holds.
pub fn any<T: Combine>(of: impl IntoIterator<Item = T>) -> T {
    T::join(Joint::Any, of.into_iter().collect())
}

/// None of these holds.
pub fn none<T: Combine>(of: impl IntoIterator<Item = T>) -> T {
    T::join(Joint::None, of.into_iter().collect())
}

/// This does not hold.
pub fn not<T: Combine>(of: T) -> T {
    T::join(Joint::None, vec![of])
}

/// What an object and its change must be like, all of it (F-1).
#[derive(Clone, Debug, Default)]
pub(crate) struct Filters {
    pub(crate) labels: Vec<(String, Criterion)>,
    pub(crate) annotations: Vec<(String, Criterion)>,
    /// Of the handler's field.
    pub(crate) value: Option<Criterion>,
    /// Of the handler's field before the change, and after it (F-9).
    pub(crate) old: Option<Criterion>,
    pub(crate) new: Option<Criterion>,
    pub(crate) when: Vec<When>,
}

impl Filters {
    /// Takes what comes from the environment; what contradicts itself is a fault (H-14).
    ///
    /// `about_changes` says that the handler is called about changes of its field.
    pub(crate) fn read(mut self, field: Option<&FieldPath>, about_changes: bool, reading: &mut Reading<'_>) -> Self {
        let mut read = |option, criterion: &mut Criterion| {
            *criterion = std::mem::replace(criterion, PRESENT).read(option, reading);
        };
        self.labels
            .iter_mut()
            .for_each(|(_, criterion)| read("label", criterion));
        self.annotations
            .iter_mut()
            .for_each(|(_, criterion)| read("annotation", criterion));
        self.value.iter_mut().for_each(|criterion| read("value", criterion));
        self.old.iter_mut().for_each(|criterion| read("old", criterion));
        self.new.iter_mut().for_each(|criterion| read("new", criterion));
        self.check(field, about_changes, reading);
        self
    }

    fn check(&self, field: Option<&FieldPath>, about_changes: bool, reading: &mut Reading<'_>) {
        if field.is_some_and(|field| field.keys().is_empty()) {
            reading.fault("field", "is empty");
        }
        for (option, criterion) in [("value", &self.value), ("old", &self.old), ("new", &self.new)] {
            let Some(criterion) = criterion else { continue };
            if option != "value" && !about_changes {
                reading.fault(option, "is for update and field handlers only");
            } else if field.is_none() {
                reading.fault(option, "needs `field`, whose value it is");
            } else if option != "value" && self.value.is_some() {
                reading.fault(option, "cannot stand beside `value`");
            }
            if criterion.impossible(false).is_some() {
                reading.fault(option, "is never null; `ABSENT` is for what is not there");
            }
        }
        for (option, criteria) in [("label", &self.labels), ("annotation", &self.annotations)] {
            for (key, criterion) in criteria {
                if key.is_empty() {
                    reading.fault(option, "has an empty key");
                }
                if let Some(value) = criterion.impossible(true) {
                    reading.fault(option, &format!("`{key}` is always a text, never {value}"));
                }
            }
        }
        for fault in self.when.iter().filter_map(|when| when.fault.as_ref()) {
            reading.fault("when", fault);
        }
    }

    /// Whether nothing is asked.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        let Self {
            labels,
            annotations,
            value,
            old,
            new,
            when,
        } = self;
        labels.is_empty()
            && annotations.is_empty()
            && value.is_none()
            && old.is_none()
            && new.is_none()
            && when.is_empty()
    }

    /// The labels and annotations as they are now, whatever the change (F-2, F-4).
    pub(crate) fn metadata(&self, body: &Body) -> Answer {
        for (stanza, word, criteria) in [
            ("labels", "label", &self.labels),
            ("annotations", "annotation", &self.annotations),
        ] {
            let stanza = body.metadata().and_then(|metadata| metadata.get(stanza));
            for (key, criterion) in criteria {
                let value = stanza.and_then(|stanza| stanza.get(key));
                if !accepts(criterion, value, body, || format!("on the {word} `{key}`"))? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The value of the field; one side that satisfies is enough. Without a criterion it must be there (F-5, F-6).
    pub(crate) fn value<'a>(&self, sides: impl IntoIterator<Item = Option<&'a Value>>, body: &Body) -> Answer {
        for side in sides {
            let holds = match &self.value {
                None => side.is_some(),
                Some(criterion) => accepts(criterion, side, body, || "`value`".into())?,
            };
            if holds {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The field before the change and after it (F-9).
    pub(crate) fn change(&self, old: Option<&Value>, new: Option<&Value>, body: &Body) -> Answer {
        for (name, criterion, value) in [("`old`", &self.old, old), ("`new`", &self.new, new)] {
            if let Some(criterion) = criterion
                && !accepts(criterion, value, body, || name.into())?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The conditions on the whole object (F-13).
    pub(crate) fn when(&self, asked: &Asked<'_>) -> Answer {
        for when in &self.when {
            if !guarded(|| "`when`".into(), || (when.ask)(asked))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What is there to be seen without the typed spec, for handlers that look at the current body only (F-6).
    pub(crate) fn matches_body(&self, field: Option<&FieldPath>, body: &Body) -> Answer {
        if !self.metadata(body)? {
            return Ok(false);
        }
        field.map_or(Ok(true), |field| self.value([field.resolve(body.value())], body))
    }
}

/// Asks a criterion; `what` names it where it fails.
fn accepts(criterion: &Criterion, value: Option<&Value>, body: &Body, what: impl FnOnce() -> String) -> Answer {
    guarded(what, || Ok(criterion.accepts(value, body)))
}

/// Makes a panic an answer (F-15, *Improve on*).
fn guarded(what: impl FnOnce() -> String, ask: impl FnOnce() -> Answer) -> Answer {
    match catch_unwind(AssertUnwindSafe(ask)) {
        Ok(Ok(holds)) => Ok(holds),
        Ok(Err(message)) => Err(format!("the filter {} failed: {message}", what())),
        Err(panic) => Err(format!("the filter {} {}", what(), describe(panic.as_ref()))),
    }
}

#[cfg(test)]
#[path = "filters_tests.rs"]
mod tests;
