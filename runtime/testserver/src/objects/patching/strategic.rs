//! Strategic merge patches: lists of built-in kinds merge by their keys, and directives say what else is meant.

use serde_json::{Map, Value};

use crate::objects::patching::order::{arrange, same};
use crate::objects::patching::{no_json, not_a};
use crate::objects::shapes::{Patched, Shape};
use crate::status::Status;

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
const ELEMENT_ORDER: &str = "$setElementOrder/";

type Fields = Map<String, Value>;

/// The object after a patch.
pub(super) fn patch(current: &Value, body: &[u8], shape: Shape<'_>) -> Result<Value, Status> {
    let patch = match serde_json::from_slice(body).map_err(|error| no_json(&error))? {
        Value::Object(patch) => patch,
        Value::Null => Map::new(),
        other => return Err(Status::bad_request(not_a("map[string]interface {}", &other))),
    };
    let current = current.as_object().cloned().unwrap_or_default();
    merge_fields(current, patch, shape).map(Value::Object)
}

fn merge_fields(mut fields: Fields, mut patch: Fields, shape: Shape<'_>) -> Result<Fields, Status> {
    match patch.remove(PATCH) {
        None => {}
        Some(directive) if directive == "replace" => return Ok(patch),
        Some(directive) if directive == "delete" => return Ok(Map::new()),
        Some(directive) => {
            let kind = go_text(&directive);
            patch.insert(PATCH.into(), directive);
            return Err(failed(format!(
                "unknown patch type: {kind} in map: {}",
                go_text(&Value::Object(patch))
            )));
        }
    }
    retain_keys(&mut fields, &mut patch)?;
    let orders: Vec<_> = patch
        .keys()
        .filter(|key| key.starts_with(ELEMENT_ORDER))
        .cloned()
        .collect();
    for directive in orders {
        let order = patch.remove(&directive).unwrap_or_default();
        let name = &directive[ELEMENT_ORDER.len()..];
        let patched = shape.patched(name);
        let Value::Array(order) = order else {
            return Err(failed(format!(
                "expected a []interface {{}}, but received a {}",
                go_type(&order)
            )));
        };
        if let Some(list) = merge_in_order(&fields, patch.remove(name), name, &order, patched)? {
            fields.insert(name.to_owned(), Value::Array(list));
        }
    }
    for (key, change) in patch {
        merge_field(&mut fields, key, change, shape)?;
    }
    Ok(fields)
}

fn merge_field(fields: &mut Fields, key: String, change: Value, shape: Shape<'_>) -> Result<(), Status> {
    if let Some(name) = key.strip_prefix(DELETE_FROM) {
        let Value::Array(gone) = change else {
            return Err(failed(format!(
                "expected a []interface {{}}, but received a {}",
                go_type(&change)
            )));
        };
        if let Some(Value::Array(items)) = fields.get_mut(name) {
            items.retain(|item| !gone.contains(item));
        }
        return Ok(());
    }
    let patched = shape.patched(&key);
    let merged = match (fields.remove(&key), change) {
        (_, Value::Null) => return Ok(()),
        (Some(Value::Object(old)), Value::Object(change)) => Value::Object(merge_fields(old, change, patched.shape)?),
        (Some(Value::Array(old)), Value::Array(change)) if patched.merges => {
            Value::Array(merge_list(&old, change, patched, &key)?)
        }
        (Some(_), change) => change,
        (None, change) => match without_directives(change) {
            Some(new) => new,
            None => return Ok(()),
        },
    };
    fields.insert(key, merged);
    Ok(())
}

fn retain_keys(fields: &mut Fields, patch: &mut Fields) -> Result<(), Status> {
    let bad = || Status::bad_request("invalid patch format of retainKeys");
    let Some(keys) = patch.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let keys = keys.as_array().ok_or_else(bad)?;
    let kept = |key: &str| keys.iter().any(|kept| kept == key);
    let directive = |key: &str| key.starts_with(DELETE_FROM) || key.starts_with(ELEMENT_ORDER);
    if patch
        .iter()
        .any(|(key, value)| !value.is_null() && !directive(key) && !kept(key))
    {
        return Err(bad());
    }
    fields.retain(|key, _| kept(key));
    Ok(())
}

/// A list after its patch, if there is either, in the order that the patch wants.
fn merge_in_order(
    fields: &Fields,
    change: Option<Value>,
    name: &str,
    order: &[Value],
    patched: Patched<'_>,
) -> Result<Option<Vec<Value>>, Status> {
    let list = |value: Value| match value {
        Value::Array(items) => Ok(items),
        other => Err(failed(format!(
            "expected a []interface {{}}, but received a {}",
            go_type(&other)
        ))),
    };
    let old = fields.get(name).cloned().map(list).transpose()?;
    let change = change.map(list).transpose()?;
    check_order(change.as_deref().unwrap_or_default(), order, patched.key)?;
    let merged = match (&old, change) {
        (None, None) => return Ok(None),
        (Some(old), None) => old.clone(),
        (None, Some(change)) => change.into_iter().filter_map(without_directives).collect(),
        (Some(old), Some(change)) if patched.merges => merge_list(old, change, patched, name)?,
        (Some(_), Some(change)) => change,
    };
    Ok(Some(arrange(merged, order, &old.unwrap_or_default(), patched.key)))
}

/// What a patch changes must stand in the order that it wants.
fn check_order(change: &[Value], order: &[Value], key: Option<&str>) -> Result<(), Status> {
    let kept: Vec<_> = change.iter().filter(|item| item.get(PATCH).is_none()).collect();
    let mut places = order.iter();
    if kept.iter().all(|item| places.any(|place| same(item, place, key))) {
        return Ok(());
    }
    let list = |items: &[Value]| go_text(&Value::Array(items.to_vec()));
    Err(failed(format!(
        "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
        list(change),
        list(order)
    )))
}

fn merge_list(old: &[Value], change: Vec<Value>, patched: Patched<'_>, name: &str) -> Result<Vec<Value>, Status> {
    check_elements(old, &change)?;
    let Some(key) = patched.key else {
        if old.iter().chain(&change).any(Value::is_object) {
            return Err(failed(format!("cannot merge lists without merge key for {name}")));
        }
        let mut merged: Vec<Value> = Vec::new();
        for item in old.iter().chain(&change) {
            if !merged.contains(item) {
                merged.push(item.clone());
            }
        }
        return Ok(arrange(merged, &change, old, None));
    };
    let (mut merged, change, replaced) = obey_directives(old, change, key)?;
    if replaced {
        return Ok(change);
    }
    for item in &change {
        require_key(item, key)?;
        match merged.iter().position(|old| same(old, item, Some(key))) {
            Some(place) => {
                let old = merged[place].as_object().cloned().unwrap_or_default();
                let item = item.as_object().cloned().unwrap_or_default();
                merged[place] = Value::Object(merge_fields(old, item, patched.shape)?);
            }
            None => merged.extend(without_directives(item.clone())),
        }
    }
    Ok(arrange(merged, &change, old, Some(key)))
}

/// The list without what the patch deletes, the patch without such elements, and whether it replaces the list.
fn obey_directives(old: &[Value], change: Vec<Value>, key: &str) -> Result<(Vec<Value>, Vec<Value>, bool), Status> {
    let (mut left, mut rest, mut replaced) = (old.to_vec(), Vec::new(), false);
    for item in change {
        match item.get(PATCH).map(|directive| directive.as_str().unwrap_or_default()) {
            None => rest.push(item),
            Some("delete") => {
                require_key(&item, key)?;
                left.retain(|old| !same(old, &item, Some(key)));
            }
            Some("replace") => replaced = true,
            Some("merge") => return Err(failed("merging lists cannot yet be specified in the patch")),
            Some(other) => {
                return Err(failed(format!(
                    "unknown patch type: {other} in map: {}",
                    go_text(&item)
                )));
            }
        }
    }
    Ok((left, rest, replaced))
}

fn require_key(item: &Value, key: &str) -> Result<(), Status> {
    match item.get(key) {
        Some(_) => Ok(()),
        None => Err(failed(format!(
            "map: {} does not contain declared merge key: {key}",
            go_text(item)
        ))),
    }
}

fn check_elements(old: &[Value], change: &[Value]) -> Result<(), Status> {
    let mut items = old.iter().chain(change);
    let Some(first) = items.next() else {
        return Ok(());
    };
    if first.is_array() {
        return Err(Status::of_code(422));
    }
    if items.all(|item| go_type(item) == go_type(first)) {
        return Ok(());
    }
    let list = |items: &[Value]| go_text(&Value::Array(items.to_vec()));
    Err(failed(format!(
        "list element types are not identical: [{} {}]",
        list(old),
        list(change)
    )))
}

/// What a patch adds where there was nothing; nothing if it wants that deleted. Unknown directives stay, for validation
/// to find them.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(mut fields) => {
            match fields.get(PATCH).and_then(Value::as_str) {
                Some("delete") => return None,
                Some("replace") => drop(fields.remove(PATCH)),
                _ => {}
            }
            let directive =
                |key: &str| key == RETAIN_KEYS || key.starts_with(DELETE_FROM) || key.starts_with(ELEMENT_ORDER);
            let fields = fields
                .into_iter()
                .filter(|(key, value)| !directive(key) && !value.is_null());
            let fields = fields.filter_map(|(key, value)| Some((key, without_directives(value)?)));
            Some(Value::Object(fields.collect()))
        }
        Value::Array(items) => Some(items.into_iter().filter_map(without_directives).collect()),
        other => Some(other),
    }
}

/// The real server takes the faults of a patch's author on itself.
fn failed(why: impl Into<String>) -> Status {
    Status {
        details: Value::Null,
        ..Status::new(500, "", why)
    }
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
    }
}

/// A value as the real server prints it.
fn go_text(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".into(),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(go_text).collect::<Vec<_>>().join(" ")),
        Value::Object(fields) => {
            let fields: Vec<_> = fields
                .iter()
                .map(|(key, value)| format!("{key}:{}", go_text(value)))
                .collect();
            format!("map[{}]", fields.join(" "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::cluster::Cluster;

    fn patched(current: &Value, change: &Value) -> Result<Value, Status> {
        let cluster = Cluster::new(Arc::new(jiff::Timestamp::now));
        let place = cluster
            .place("", "v1", "pods", Some("default"))
            .expect("pods are a built-in kind");
        patch(current, change.to_string().as_bytes(), Shape::of(&place))
    }

    #[track_caller]
    fn merged(current: &Value, change: &Value, wanted: &Value) {
        assert_eq!(patched(current, change).unwrap(), *wanted);
    }

    fn containers(names: &[&str]) -> Value {
        let containers: Value = names.iter().map(|name| json!({"name": name})).collect();
        json!({"spec": {"containers": containers}})
    }

    #[test]
    fn elements_keep_their_places() {
        let mut change = containers(&["new", "b"]);
        merged(
            &containers(&["a", "b", "c"]),
            &change,
            &containers(&["new", "a", "b", "c"]),
        );
        change["spec"]["$setElementOrder/containers"] = json!([{"name": "c"}, {"name": "new"}, {"name": "b"}]);
        merged(
            &containers(&["a", "b", "c"]),
            &change,
            &containers(&["a", "c", "new", "b"]),
        );
    }

    #[test]
    fn directives_leave_nothing_behind() {
        let current = json!({"metadata": {"labels": {"a": "1"}, "finalizers": ["x", "y"]}});
        let change = json!({
            "metadata": {"labels": {"$patch": "replace", "b": "2"}, "$deleteFromPrimitiveList/finalizers": ["x"]},
            "spec": {"nodeSelector": {"a": null}, "containers": [{"name": "a", "$patch": "delete"}, {"name": "b"}]},
        });
        let wanted = json!({
            "metadata": {"labels": {"b": "2"}, "finalizers": ["y"]},
            "spec": {"nodeSelector": {}, "containers": [{"name": "b"}]},
        });
        merged(&current, &change, &wanted);
    }

    #[test]
    fn faults_are_told_in_the_words_of_the_real_server() {
        let current = containers(&["a"]);
        for (change, code, message) in [
            (containers(&[]), 200, ""),
            (
                json!({"spec": {"$patch": "bogus"}}),
                500,
                "unknown patch type: bogus in map: map[$patch:bogus]",
            ),
            (
                json!({"spec": {"containers": [{"image": "x"}]}}),
                500,
                "map: map[image:x] does not contain declared merge key: name",
            ),
            (
                json!({"spec": {"containers": ["x"]}}),
                500,
                "list element types are not identical: [[map[name:a]] [x]]",
            ),
            (
                json!({"spec": {"$retainKeys": ["a"], "b": 1}}),
                400,
                "invalid patch format of retainKeys",
            ),
            (
                json!([]),
                400,
                "json: cannot unmarshal array into Go value of type map[string]interface {}",
            ),
        ] {
            match patched(&current, &change) {
                Ok(_) => assert_eq!(code, 200, "{change}"),
                Err(status) => assert_eq!((status.code, status.message.as_str()), (code, message), "{change}"),
            }
        }
    }
}
