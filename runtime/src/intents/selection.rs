//! How a handler stands to an object: whether it takes part in the cycle, and what it is told (H, F).

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::causes::Reason;
use super::essences::{Essences, View};
use super::filters::{Answer, Asked};
use super::handlers::{ChangeKind, Handler};
use crate::configs::progress::Record;
use crate::structs::bodies::Body;

/// A handler, and how it stands to the object.
pub(super) struct Candidate<'a> {
    pub(super) handler: &'a Arc<Handler>,
    pub(super) record: Option<Record>,
    /// The records of its sub-handlers, at any depth.
    pub(super) family: BTreeMap<String, Record>,
    /// Whether all criteria hold that are not about the change (F-17).
    prematches: Answer,
    /// The change since the object was handled last (K-8).
    since_handled: Told,
    /// The change since the handler itself has handled the object, in a cycle that goes on; or since a sub-handler of
    /// it has, to which nothing else shows that there is news.
    since_noted: Option<Told>,
}

/// A change that a handler can be told of, and whether the handler is for it.
struct Told {
    view: View,
    /// Whether the field is there, or is what it must be (F-5, F-6).
    value: Answer,
    /// Whether the field was and has become what it must (F-9).
    change: Answer,
}

impl Told {
    fn new(handler: &Handler, view: View, body: &Body) -> Self {
        let Handler {
            filters, kind, field, ..
        } = handler;
        let (old, new) = (view.old.as_deref(), view.new.as_deref());
        let value = match field {
            None => Ok(true),
            // What was there before matters to handlers of changes; to others, a value that is gone is gone (F-7,
            // *Improve on*).
            Some(_) if handler.origin.inherits_field => Ok(true),
            Some(_) if kind.is_about_changes() || filters.value.is_none() => filters.value([new, old], body),
            Some(_) => filters.value([new], body),
        };
        let change = match &value {
            _ if view.diff.is_empty() => Ok(false),
            Ok(true) => filters.change(old, new, body),
            unmet => unmet.clone(),
        };
        Self { view, value, change }
    }

    /// For a handler that is not asked about anything, since a question before has been answered.
    fn unasked(view: View) -> Self {
        Self {
            view,
            value: Ok(false),
            change: Ok(false),
        }
    }

    fn is_empty(&self) -> bool {
        self.view.diff.is_empty()
    }
}

impl<'a> Candidate<'a> {
    /// Asks the handler's filters, in the order of F-1. Conditions see the change with the handler's own field (B-5).
    pub(super) fn new(
        handler: &'a Arc<Handler>,
        asked: &Asked<'_>,
        essences: &Essences,
        record: Option<Record>,
        family: BTreeMap<String, Record>,
    ) -> Self {
        let field = handler.field.as_ref();
        let metadata = handler.filters.metadata(asked.body);
        let told = |view| match metadata {
            Ok(true) => Told::new(handler, view, asked.body),
            _ => Told::unasked(view),
        };
        let whole = essences.whole_since_handled(field);
        let asked = Asked {
            view: Some(&whole),
            ..*asked
        };
        let since_handled = told(whole.clone().reduced(field));
        let since = |note| told(essences.since(note, field));
        let mut since_noted = record.as_ref().and_then(|record| record.handled.as_ref()).map(since);
        let unfinished = record.as_ref().is_some_and(|record| !record.finished());
        if unfinished && since_noted.as_ref().unwrap_or(&since_handled).is_empty() {
            // It was edited back meanwhile, but not for those that have handled the edit.
            let notes = family.values().filter_map(|record| record.handled.as_ref());
            let news = notes.map(since).find(|told| !told.is_empty());
            since_noted = news.or(since_noted);
        }
        let value = match &since_noted {
            Some(noted) if since_handled.value != Ok(true) && noted.value != Ok(false) => &noted.value,
            _ => &since_handled.value,
        };
        let prematches = match (&metadata, value) {
            (Ok(true), Ok(true)) => handler.filters.when(&asked),
            (Ok(true), value) => value.clone(),
            (metadata, _) => metadata.clone(),
        };
        Self {
            handler,
            record,
            family,
            prematches,
            since_handled,
            since_noted,
        }
    }

    /// All criteria that are not about the change hold (F-17).
    pub(super) fn prematches(&self) -> bool {
        self.prematches == Ok(true)
    }

    /// It may want to be called when the object is deleted; one whose filter fails might (F-15, *Improve on*).
    pub(super) fn may_be_deletion(&self) -> bool {
        self.handler.kind == ChangeKind::Delete && self.prematches != Ok(false)
    }

    /// Why it cannot be said whether the handler is for the object, if so.
    pub(super) fn fault(&self) -> Option<&String> {
        self.prematches.as_ref().err()
    }

    /// It has something new to be told of: since the last handling, or since its own (C, *Improve on*).
    fn has_news(&self) -> bool {
        !self.since_handled.is_empty() || self.since_noted.as_ref().is_some_and(|told| !told.is_empty())
    }

    /// It makes the cycle an update. Only handlers of changes do: an extra field matters to them alone (B-5), and so
    /// does what was handled and then taken back.
    pub(super) fn is_changed(&self) -> bool {
        self.handler.kind.is_about_changes() && self.prematches != Ok(false) && self.has_news()
    }

    /// Whether it takes part in the cycle (H-2 to H-6). One of which that cannot be said does, to fail (F-15,
    /// *Improve on*).
    pub(super) fn takes_part(&self, selection: Selection) -> Answer {
        let Selection {
            reason,
            present,
            initial,
            deletion_done,
        } = selection;
        let may = match self.handler.kind {
            ChangeKind::Create => reason == Reason::Create,
            ChangeKind::Update => reason == Reason::Update && self.has_news(),
            ChangeKind::Field => reason.runs_handlers() && self.has_news(),
            ChangeKind::Delete => reason == Reason::Delete && (present || self.handler.optional),
            ChangeKind::Resume => match reason {
                Reason::Resume | Reason::Update => initial,
                Reason::Delete => initial && self.handler.deleted,
                // Resuming mixes into creation only where it is asked to (C-6).
                Reason::Create => initial && self.handler.covers_downtime,
                Reason::Noop | Reason::Free | Reason::Gone => false,
            },
        };
        if !may || (reason == Reason::Delete && deletion_done) || !self.prematches.clone()? {
            return Ok(false);
        }
        if !self.handler.kind.is_about_changes() {
            return Ok(true);
        }
        match self.noted_for(reason) {
            // What it has handled stays handled, also if what came after is not for it.
            Some(noted) => noted.change.clone().map(|_| true),
            None => self.since_handled.change.clone(),
        }
    }

    /// It is called about the essence, not about the object's being there.
    pub(super) fn is_about_essence(&self, reason: Reason) -> bool {
        match self.handler.kind {
            ChangeKind::Create | ChangeKind::Update | ChangeKind::Field => reason != Reason::Delete,
            ChangeKind::Delete | ChangeKind::Resume => false,
        }
    }

    /// The ids under which it may have left records.
    pub(super) fn ids(&self) -> impl Iterator<Item = String> {
        let subrefs = self.record.iter().flat_map(|record| record.subrefs.iter().flatten());
        let family = self.family.keys();
        let all = std::iter::once(&self.handler.id).chain(subrefs).chain(family);
        all.cloned().collect::<Vec<_>>().into_iter()
    }

    /// How many attempts it has made by this record, and its sub-handlers.
    pub(super) fn tries(&self, record: &Record) -> u32 {
        let subrefs = record.subrefs.iter().flatten();
        let below = subrefs.filter_map(|id| Some(self.family.get(id)?.retries));
        below.fold(record.retries, u32::saturating_add)
    }

    /// Whether its record still says something about a cycle of this reason (C-15, C-16).
    ///
    /// What was recorded for another purpose is void, with two exceptions: resuming that is done stays done, whatever
    /// it is mixed into; and what a field's handler has handled remains handled when the object is deleted.
    fn is_record_valid(&self, record: &Record, reason: Reason) -> bool {
        match record.purpose.as_deref() {
            None => true,
            Some(purpose) if purpose == reason.as_str() => true,
            Some(purpose) => match self.handler.kind {
                ChangeKind::Resume => true,
                ChangeKind::Field => purpose == Reason::Update.as_str() && reason == Reason::Delete,
                ChangeKind::Create | ChangeKind::Update | ChangeKind::Delete => false,
            },
        }
    }

    /// What its record says it has handled, as far as that counts in a cycle of this reason.
    fn noted_for(&self, reason: Reason) -> Option<&Told> {
        let record = self
            .record
            .as_ref()
            .filter(|record| self.is_record_valid(record, reason))?;
        let deleted = record.purpose.as_deref() == Some(Reason::Delete.as_str());
        self.since_noted.as_ref().filter(|_| !deleted)
    }

    /// What it has done in a cycle of this reason, if that must be known when its filters hold again (P-8).
    ///
    /// A handler of changes has to know which state it was. Attempts that came to nothing are as if never made, unless
    /// they have called sub-handlers that have come to something.
    pub(super) fn made(&self, reason: Reason) -> Option<&Record> {
        let counts =
            |record: &Record| record.handled.is_some() || (record.finished() && !self.handler.kind.is_about_changes());
        let family = || self.family.values().any(counts);
        let record = self.record.as_ref().filter(|record| counts(record) || family())?;
        self.is_record_valid(record, reason).then_some(record)
    }

    /// Where it stands in this cycle, and what it is told.
    pub(super) fn standing(&self, reason: Reason, now: Timestamp) -> (Record, &View) {
        let fresh = || Record {
            purpose: Some(reason.as_str().to_owned()),
            ..Record::fresh(now)
        };
        let Some(record) = self
            .record
            .as_ref()
            .filter(|record| self.is_record_valid(record, reason))
        else {
            return (fresh(), &self.since_handled.view);
        };
        let kept = Record {
            purpose: Some(reason.as_str().to_owned()),
            ..record.clone()
        };
        let Some(noted) = self.noted_for(reason) else {
            return (kept, &self.since_handled.view);
        };
        let passed_by = self.handler.kind.is_about_changes() && noted.change == Ok(false);
        // It has handled this very state, or the change since is not for it. Attempts at another one, taken back
        // since, are as if never made.
        if noted.is_empty() || passed_by {
            return (kept.settled(now), &noted.view);
        }
        // It has handled another state than this one: a new series of attempts.
        if record.finished() {
            let again = Record {
                handled: record.handled.clone(),
                subrefs: record.subrefs.clone(),
                ..fresh()
            };
            return (again, &noted.view);
        }
        (kept, &noted.view)
    }
}

/// What the selection of handlers depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Selection {
    pub(super) reason: Reason,
    /// Our finalizer is on the object.
    pub(super) present: bool,
    pub(super) initial: bool,
    pub(super) deletion_done: bool,
}
