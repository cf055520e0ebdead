//! How a handler stands to an object: whether it takes part in the cycle, and what it is told (H, F).

use jiff::Timestamp;

use super::causes::Reason;
use super::essences::{Essences, View};
use super::handlers::{ChangeKind, Handler};
use crate::configs::progress::Record;
use crate::structs::bodies::Body;

/// A handler, and how it stands to the object.
pub(super) struct Candidate<'a> {
    pub(super) handler: &'a Handler,
    pub(super) record: Option<Record>,
    /// All criteria that are not about the change hold (F-17).
    pub(super) prematches: bool,
    /// The change since the object was handled last (K-8).
    since_handled: View,
    /// The change since the handler itself has handled the object, in a cycle that goes on.
    since_noted: Option<View>,
}

impl<'a> Candidate<'a> {
    pub(super) fn new(handler: &'a Handler, body: &Body, essences: &Essences, record: Option<Record>) -> Self {
        let field = handler.field.as_ref();
        let since_handled = essences.since_handled(field);
        let note = record.as_ref().and_then(|record| record.handled.as_ref());
        let since_noted = note.map(|note| essences.since(note, field));
        // Presence on either side is enough for handlers of changes (F-5).
        let sides = [Some(&since_handled), since_noted.as_ref()];
        let has_field = field.is_none()
            || sides
                .into_iter()
                .flatten()
                .any(|view| view.old.is_some() || view.new.is_some());
        let prematches = handler.filters.matches(body) && has_field;
        Self {
            handler,
            record,
            prematches,
            since_handled,
            since_noted,
        }
    }

    /// It wants to be called when the object is deleted.
    pub(super) fn is_deletion(&self) -> bool {
        self.handler.kind == ChangeKind::Delete && self.prematches
    }

    /// It has something new to be told of: since the last handling, or since its own (C, *Improve on*).
    fn has_news(&self) -> bool {
        !self.since_handled.diff.is_empty() || self.since_noted.as_ref().is_some_and(|view| !view.diff.is_empty())
    }

    /// It makes the cycle an update. Only handlers of changes do: an extra field matters to them alone (B-5), and so
    /// does what was handled and then taken back.
    pub(super) fn is_changed(&self) -> bool {
        match self.handler.kind {
            ChangeKind::Update | ChangeKind::Field => self.prematches && self.has_news(),
            ChangeKind::Create | ChangeKind::Delete | ChangeKind::Resume => false,
        }
    }

    /// It takes part in the cycle (H-2 to H-6).
    pub(super) fn is_selected(&self, selection: Selection) -> bool {
        let Selection {
            reason,
            present,
            initial,
            deletion_done,
        } = selection;
        let matches = match self.handler.kind {
            ChangeKind::Create => reason == Reason::Create,
            ChangeKind::Update => reason == Reason::Update && self.has_news(),
            ChangeKind::Field => reason.runs_handlers() && self.has_news(),
            ChangeKind::Delete => reason == Reason::Delete && (present || self.handler.optional),
            ChangeKind::Resume => match reason {
                Reason::Resume | Reason::Update => initial,
                Reason::Delete => initial && self.handler.deleted,
                // Resuming never mixes into creation (C-6).
                Reason::Create | Reason::Noop | Reason::Free | Reason::Gone => false,
            },
        };
        self.prematches && matches && !(reason == Reason::Delete && deletion_done)
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
        let subrefs = self
            .record
            .as_ref()
            .and_then(|record| record.subrefs.clone())
            .unwrap_or_default();
        std::iter::once(self.handler.id.clone()).chain(subrefs)
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
            return (fresh(), &self.since_handled);
        };
        let kept = Record {
            purpose: Some(reason.as_str().to_owned()),
            ..record.clone()
        };
        let deleted = record.purpose.as_deref() == Some(Reason::Delete.as_str());
        match &self.since_noted {
            None => (kept, &self.since_handled),
            Some(_) if deleted => (kept, &self.since_handled),
            // It has handled this very state. Attempts at another one, taken back since, are as if never made.
            Some(view) if view.diff.is_empty() => (kept.settled(now), view),
            // It has handled another state than this one: a new series of attempts.
            Some(view) if record.finished() => (
                Record {
                    handled: record.handled.clone(),
                    ..fresh()
                },
                view,
            ),
            Some(view) => (kept, view),
        }
    }
}

/// What the selection of handlers depends on.
#[derive(Clone, Copy)]
pub(super) struct Selection {
    pub(super) reason: Reason,
    /// Our finalizer is on the object.
    pub(super) present: bool,
    pub(super) initial: bool,
    pub(super) deletion_done: bool,
}
