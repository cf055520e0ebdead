//! Why handlers run, derived from the state of an object (C).

use std::fmt;

/// Why a cycle is what it is (C-3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The object was never handled before.
    Create,
    /// The object differs from what was handled last.
    Update,
    /// The object is being deleted, and waits for us.
    Delete,
    /// The object is as it was handled last, but the operator sees it for the first time.
    Resume,
    /// Nothing has changed.
    Noop,
    /// The object is being deleted, and does not wait for us.
    Free,
    /// The object is gone.
    Gone,
}

impl Reason {
    /// The name in records, logs and Kopf.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Resume => "resume",
            Self::Noop => "noop",
            Self::Free => "free",
            Self::Gone => "gone",
        }
    }

    /// Whether handlers are called for this reason; the others only inform (C-3).
    pub(crate) fn runs_handlers(self) -> bool {
        match self {
            Self::Create | Self::Update | Self::Delete | Self::Resume => true,
            Self::Noop | Self::Free | Self::Gone => false,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What the reason is derived from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "these are the independent factors of one decision table"
)]
pub(crate) struct Factors {
    /// The event says that the object is gone.
    pub(crate) gone: bool,
    /// The object has a deletion timestamp.
    pub(crate) deleting: bool,
    /// Our finalizer is on the object, or someone wants to see the deletion even without it (Z-9).
    pub(crate) held: bool,
    /// The object was handled once: it has a diff-base.
    pub(crate) handled: bool,
    /// Something differs from what was handled.
    pub(crate) changed: bool,
    /// The object was first seen in a listing, and was not fully handled since (C-5).
    pub(crate) initial: bool,
}

/// The decision table; the first match wins (C-4).
pub(crate) fn detect(factors: Factors) -> Reason {
    match factors {
        Factors { gone: true, .. } => Reason::Gone,
        Factors {
            deleting: true,
            held: false,
            ..
        } => Reason::Free,
        Factors {
            deleting: true,
            held: true,
            ..
        } => Reason::Delete,
        Factors { handled: false, .. } => Reason::Create,
        Factors { changed: true, .. } => Reason::Update,
        Factors {
            changed: false,
            initial: true,
            ..
        } => Reason::Resume,
        Factors {
            changed: false,
            initial: false,
            ..
        } => Reason::Noop,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // C-4: all 64 combinations against the table, read as text.
    #[test]
    fn the_first_match_of_the_table_wins() {
        for bits in 0..64_u8 {
            let bit = |index: u8| bits & (1 << index) != 0;
            let factors = Factors {
                gone: bit(0),
                deleting: bit(1),
                held: bit(2),
                handled: bit(3),
                changed: bit(4),
                initial: bit(5),
            };
            let expected = if factors.gone {
                "gone"
            } else if factors.deleting {
                if factors.held { "delete" } else { "free" }
            } else if !factors.handled {
                "create"
            } else if factors.changed {
                "update"
            } else if factors.initial {
                "resume"
            } else {
                "noop"
            };
            assert_eq!(detect(factors).to_string(), expected, "{factors:?}");
        }
    }

    // C-3
    #[test]
    fn only_four_reasons_run_handlers() {
        let all = [
            Reason::Create,
            Reason::Update,
            Reason::Delete,
            Reason::Resume,
            Reason::Noop,
            Reason::Free,
            Reason::Gone,
        ];
        assert_eq!(
            all.map(Reason::runs_handlers),
            [true, true, true, true, false, false, false]
        );
    }
}
