//! Paths such as `spec.containers[].ports`, and the values that they lead to.

use serde_json::Value;

/// Visits each value at a path, with the exact path of it. Missing and null values are not visited.
pub(crate) fn each<'a>(value: &'a Value, path: &str, visit: &mut dyn FnMut(&str, &'a Value)) {
    walk(value, path, "", visit);
}

fn walk<'a>(value: &'a Value, path: &str, here: &str, visit: &mut dyn FnMut(&str, &'a Value)) {
    if value.is_null() {
        return;
    }
    let Some((step, rest)) = split(path) else {
        return visit(here, value);
    };
    if step == "[]" {
        for (index, item) in value.as_array().into_iter().flatten().enumerate() {
            walk(item, rest, &format!("{here}[{index}]"), visit);
        }
    } else if let Some(inner) = value.get(step) {
        walk(inner, rest, &join(here, step), visit);
    }
}

/// Visits each value at a path, to change it.
pub(crate) fn each_mut(value: &mut Value, path: &str, visit: &mut dyn FnMut(&mut Value)) {
    if value.is_null() {
        return;
    }
    let Some((step, rest)) = split(path) else {
        return visit(value);
    };
    if step == "[]" {
        for item in value.as_array_mut().into_iter().flatten() {
            each_mut(item, rest, visit);
        }
    } else if let Some(inner) = value.get_mut(step) {
        each_mut(inner, rest, visit);
    }
}

/// The value at a path without lists; null if there is none.
pub(crate) fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    path.split('.')
        .filter(|step| !step.is_empty())
        .fold(value, |value, step| &value[step])
}

/// The path of a field of what lies at another path.
pub(crate) fn join(path: &str, field: &str) -> String {
    match (path, field) {
        ("", _) => field.to_owned(),
        (_, "") => path.to_owned(),
        _ if field.starts_with('[') => format!("{path}{field}"),
        _ => format!("{path}.{field}"),
    }
}

/// The first step of a path, and the rest.
fn split(path: &str) -> Option<(&str, &str)> {
    if path.is_empty() {
        return None;
    }
    if let Some(rest) = path.strip_prefix("[]") {
        return Some(("[]", rest.trim_start_matches('.')));
    }
    let end = path.find(['.', '[']).unwrap_or(path.len());
    let rest = &path[end..];
    Some((&path[..end], rest.strip_prefix('.').unwrap_or(rest)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_are_walked_through() {
        let object = json!({"a": [{"b": 1}, {}, {"b": [2, 3]}], "c": null});
        let mut seen = Vec::new();
        each(&object, "a[].b[]", &mut |path, value| {
            seen.push(format!("{path}={value}"));
        });
        assert_eq!(seen, ["a[2].b[0]=2", "a[2].b[1]=3"]);
        let mut seen = Vec::new();
        for path in ["a[].b", "c", "c.d", ""] {
            each(&object, path, &mut |path, _| seen.push(path.to_owned()));
        }
        assert_eq!(seen, ["a[0].b", "a[2].b", ""]);
    }

    #[test]
    fn values_are_changed_in_place() {
        let mut object = json!({"a": [{"b": 1}, {"b": 2}]});
        each_mut(&mut object, "a[].b", &mut |value| *value = json!(0));
        assert_eq!(object, json!({"a": [{"b": 0}, {"b": 0}]}));
    }
}
