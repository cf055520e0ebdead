//! The order of lists that a strategic merge patch has merged.

use serde_json::Value;

/// Orders what the patch names as the patch does, and the rest as it was, before what it stood before.
pub(super) fn arrange(merged: Vec<Value>, order: &[Value], old: &[Value], key: Option<&str>) -> Vec<Value> {
    let place = |list: &[Value], item: &Value| list.iter().position(|other| same(item, other, key));
    let (mut named, mut others): (Vec<_>, Vec<_>) = merged.into_iter().partition(|item| place(order, item).is_some());
    named.sort_by_key(|item| place(order, item));
    others.sort_by_key(|item| place(old, item));
    let mut arranged = Vec::new();
    let mut others = others.into_iter().peekable();
    for item in named {
        let mine = place(old, &item);
        while let Some(other) = others.next_if(|other| matches!((place(old, other), mine), (Some(a), Some(b)) if a < b))
        {
            arranged.push(other);
        }
        arranged.push(item);
    }
    arranged.extend(others);
    arranged
}

/// Whether two elements stand for the same one.
pub(super) fn same(one: &Value, other: &Value, key: Option<&str>) -> bool {
    match key {
        Some(key) => one.get(key).is_some() && one.get(key) == other.get(key),
        None => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn arranged(merged: &str, order: &str, old: &str, wanted: &str) {
        let list = |text: &str| text.split_whitespace().map(Value::from).collect::<Vec<_>>();
        assert_eq!(arrange(list(merged), &list(order), &list(old), None), list(wanted));
    }

    #[test]
    fn what_is_not_named_stays_before_what_it_stood_before() {
        arranged("a b c new", "new b", "a b c", "new a b c");
        arranged("a b c", "c a", "a b c", "b c a");
        arranged("a b", "", "a b", "a b");
        arranged("x y", "y x", "", "y x");
    }
}
