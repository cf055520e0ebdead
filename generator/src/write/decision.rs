//! What becomes of one file: a pure function of what was, what is, and what shall be.

use crate::fileset::Class;

/// The three states that matter.
#[derive(Clone, Copy, Debug)]
pub(super) struct States<'a> {
    /// Hash of what the last run generated.
    pub(super) base: Option<&'a str>,
    /// Hash of what is on the disk.
    pub(super) work: Option<&'a str>,
    /// Hash of what this run renders.
    pub(super) new: &'a str,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// As it should be.
    Nothing,
    /// Was not there.
    Create,
    /// Was there, and somebody removed it.
    Recreate,
    /// Is as the last run left it.
    Update,
    /// The author's, or shared and edited.
    Keep,
    /// Shared and edited, while the rendered text has changed as well.
    KeepAndTell,
    /// The author's: only what it lacks may be added.
    Append,
    /// Somebody edited what nobody edits.
    Refuse,
}

pub(super) fn decide(class: Class, states: States<'_>) -> Decision {
    let States { base, work, new } = states;
    match (class, work, base) {
        (_, None, None) => Decision::Create,
        (Class::Generated | Class::Vendored, None, Some(_)) => Decision::Recreate,
        (Class::Merged | Class::Seeded, None, Some(_)) => Decision::Keep,
        (_, Some(work), _) if work == new => Decision::Nothing,
        (Class::Seeded, Some(_), _) => Decision::Append,
        (_, Some(work), Some(base)) if work == base => Decision::Update,
        (Class::Generated | Class::Vendored, Some(_), _) => Decision::Refuse,
        (Class::Merged, Some(_), Some(base)) if base == new => Decision::Keep,
        (Class::Merged, Some(_), _) => Decision::KeepAndTell,
    }
}

/// What becomes of a file that is no longer rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Farewell {
    /// Is gone already.
    Nothing,
    /// Nobody has touched it.
    Delete,
    /// Somebody's work is in it.
    Orphan,
}

pub(super) fn part_with(class: Class, base: &str, work: Option<&str>) -> Farewell {
    match work {
        None => Farewell::Nothing,
        Some(work) if work == base && class != Class::Seeded => Farewell::Delete,
        Some(_) => Farewell::Orphan,
    }
}

#[cfg(test)]
mod tests {
    use super::{Class, Decision, Farewell, States, decide, part_with};

    #[test]
    fn the_table_holds() {
        use Decision::{Append, Create, Keep, KeepAndTell, Nothing, Recreate, Refuse, Update};
        // base, work, new; then generated and vendored, merged, seeded.
        let table = [
            (None, None, "n", [Create, Create, Create]),
            (None, Some("w"), "n", [Refuse, KeepAndTell, Append]),
            (Some("b"), None, "n", [Recreate, Keep, Keep]),
            (Some("b"), Some("n"), "n", [Nothing, Nothing, Nothing]),
            (None, Some("n"), "n", [Nothing, Nothing, Nothing]),
            (Some("b"), Some("b"), "n", [Update, Update, Append]),
            (Some("b"), Some("w"), "b", [Refuse, Keep, Append]),
            (Some("b"), Some("w"), "n", [Refuse, KeepAndTell, Append]),
        ];
        for (base, work, new, [generated, merged, seeded]) in table {
            let states = States { base, work, new };
            assert_eq!(decide(Class::Generated, states), generated, "{states:?}");
            assert_eq!(decide(Class::Vendored, states), generated, "{states:?}");
            assert_eq!(decide(Class::Merged, states), merged, "{states:?}");
            assert_eq!(decide(Class::Seeded, states), seeded, "{states:?}");
        }
    }

    #[test]
    fn only_untouched_files_are_deleted() {
        assert_eq!(part_with(Class::Generated, "b", Some("b")), Farewell::Delete);
        assert_eq!(part_with(Class::Merged, "b", Some("w")), Farewell::Orphan);
        assert_eq!(part_with(Class::Seeded, "b", Some("b")), Farewell::Orphan);
        assert_eq!(part_with(Class::Generated, "b", None), Farewell::Nothing);
    }
}
