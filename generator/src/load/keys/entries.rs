//! The keys of entries: of handlers, timers, daemons and indexes, and of the items of `forEach`.

use super::Keys;

/// Groups of keys as one list.
macro_rules! keys {
    ($($group:expr),* $(,)?) => {{
        const GROUPS: &[&[&str]] = &[$($group),*];
        const ALL: [&str; count(GROUPS)] = joined(GROUPS);
        &ALL
    }};
}

const fn count(groups: &[&[&str]]) -> usize {
    let (mut count, mut group) = (0, 0);
    while group < groups.len() {
        count += groups[group].len();
        group += 1;
    }
    count
}

const fn joined<const N: usize>(groups: &[&[&'static str]]) -> [&'static str; N] {
    let mut all = [""; N];
    let (mut next, mut group) = (0, 0);
    while group < groups.len() {
        let mut key = 0;
        while key < groups[group].len() {
            all[next] = groups[group][key];
            next += 1;
            key += 1;
        }
        group += 1;
    }
    all
}

/// What is called, and how.
const CALL: &[&str] = &["fn", "enabled", "param", "blocking"];
const LIMITS: &[&str] = &["retries", "timeout", "interrupt", "backoff", "errors"];
const FILTERS: &[&str] = &["field", "value", "labels", "annotations", "when"];
/// Both sides of a change.
const CHANGE: &[&str] = &["old", "new"];
/// Of what lives with an object.
const LIFE: &[&str] = &["initialDelay", "optional", "cancellationBackoff", "cancellationTimeout"];
const LATER: &[&str] = &["untyped", "renamedFrom"];

/// The lists of entries.
const LISTS: [(&str, &Keys); 4] = [
    ("`handlers`", &HANDLER),
    ("`timers`", &TIMER),
    ("`daemons`", &DAEMON),
    ("`indexes`", &INDEX),
];

/// The lists whose entries have this key, if `keys` are those of an entry.
pub(super) fn home(keys: &Keys, key: &str) -> Option<String> {
    let is_entry = LISTS.iter().any(|(_, entry)| entry.place == keys.place) || keys.place == SUB_HANDLER.place;
    let lists = LISTS.iter().filter(|(_, entry)| is_entry && entry.now.contains(&key));
    let lists: Vec<&str> = lists.map(|(list, _)| *list).collect();
    let (last, others) = lists.split_last()?;
    if others.is_empty() {
        return Some((*last).to_owned());
    }
    Some(format!("{} and {last}", others.join(", ")))
}

pub(in crate::load) const HANDLER: Keys = Keys {
    place: "a handler",
    now: keys![
        &["type", "id"],
        CALL,
        LIMITS,
        FILTERS,
        CHANGE,
        &["optional", "deleted", "coversDowntime", "returns", "forEach"],
    ],
    later: LATER,
    elsewhere: &[("operations", "`webhooks`")],
};

/// An item of `forEach`.
pub(in crate::load) const SUB_HANDLER: Keys = Keys {
    place: "a sub-handler",
    now: keys![&["path", "key"], CALL, LIMITS, FILTERS, CHANGE, &["forEach"]],
    later: LATER,
    elsewhere: &[
        ("deleted", "the handler itself"),
        ("coversDowntime", "the handler itself"),
    ],
};

/// What an item of `forEach` lacks, and why.
pub(in crate::load) const SUB_HANDLER_LACKS: &[(&str, &str)] = &[
    (
        "id",
        "its id comes from the item: that of the handler, `/`, and what `key` leads to in the item",
    ),
    (
        "type",
        "it is called whenever the handler is, for the same reason: remove it",
    ),
    (
        "returns",
        "its result would stand under another name for each item, which no schema can declare: write it by \
         `patch.status` to a map that `status` declares",
    ),
];

pub(in crate::load) const TIMER: Keys = Keys {
    place: "a timer",
    now: keys![
        &["id", "interval", "idle", "sharp", "onPermanent"],
        CALL,
        LIMITS,
        FILTERS,
        LIFE,
        &["returns"],
    ],
    later: LATER,
    elsewhere: &[],
};

pub(in crate::load) const DAEMON: Keys = Keys {
    place: "a daemon",
    now: keys![
        &["id", "restart"],
        CALL,
        LIMITS,
        FILTERS,
        LIFE,
        &["cancellationPolling", "returns"]
    ],
    later: LATER,
    elsewhere: &[],
};

pub(in crate::load) const INDEX: Keys = Keys {
    place: "an index",
    // Its `value` is a type, and its filters have none.
    now: keys![&["id", "key"], CALL, LIMITS, FILTERS],
    later: LATER,
    elsewhere: &[
        (
            "optional",
            "`handlers`, `timers` and `daemons`; indexes need no finalizer",
        ),
        (
            "returns",
            "`handlers`, `timers` and `daemons`; what an index holds is said by `key` and `value`",
        ),
    ],
};
