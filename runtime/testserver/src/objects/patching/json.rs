//! JSON patches, with the habits of the real server's implementation: negative indices count from the end, and a
//! missing value is null.

use serde_json::{Map, Value, json};

use crate::objects::patching::{no_json, not_a};
use crate::status::Status;

const MOST_OPERATIONS: usize = 10_000;

/// An operation that cannot be done; nobody is told why.
#[derive(Debug)]
struct Failed;

/// The object after the operations of a patch.
pub(super) fn patch(current: &Value, body: &[u8]) -> Result<Value, Status> {
    let operations = match serde_json::from_slice(body).map_err(|error| no_json(&error))? {
        Value::Array(operations) => operations,
        Value::Null => Vec::new(),
        other => return Err(Status::bad_request(not_a("jsonpatch.Patch", &other))),
    };
    if let Some(other) = operations.iter().find(|each| !each.is_object() && !each.is_null()) {
        return Err(Status::bad_request(not_a("jsonpatch.Operation", other)));
    }
    if operations.len() > MOST_OPERATIONS {
        let message = format!(
            "Request entity too large: The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {}",
            operations.len()
        );
        return Err(Status {
            details: Value::Null,
            ..Status::new(413, "RequestEntityTooLarge", message)
        });
    }
    let mut object = current.clone();
    for operation in &operations {
        // The server does not say which operation failed, nor why.
        perform(&mut object, operation).map_err(|Failed| Status {
            details: json!({}),
            ..Status::of_code(422)
        })?;
    }
    Ok(object)
}

fn perform(object: &mut Value, operation: &Value) -> Result<(), Failed> {
    let text = |field: &str| operation[field].as_str().ok_or(Failed);
    let path = text("path")?;
    let value = || operation.get("value").cloned().unwrap_or_default();
    match text("op")? {
        "add" => add(object, path, value()),
        "remove" => remove(object, path).map(drop),
        "replace" if path.is_empty() => {
            *object = Some(value())
                .filter(|value| value.is_object() || value.is_array())
                .ok_or(Failed)?;
            Ok(())
        }
        "replace" => replace(object, path, value()),
        "move" => {
            let moved = remove(object, text("from")?)?;
            add(object, path, moved)
        }
        "copy" => {
            let copy = get(object, text("from")?)?.ok_or(Failed)?;
            add(object, path, copy)
        }
        "test" if path.is_empty() => (*object == value()).then_some(()).ok_or(Failed),
        "test" => (get(object, path)?.unwrap_or_default() == value())
            .then_some(())
            .ok_or(Failed),
        _ => Err(Failed),
    }
}

/// What a path leads into, and the key there.
enum Place<'a> {
    Field(&'a mut Map<String, Value>, String),
    Item(&'a mut Vec<Value>, String),
}

fn find<'a>(object: &'a mut Value, path: &str) -> Result<Place<'a>, Failed> {
    // Whatever is before the first slash is not looked at.
    let (_, path) = path.split_once('/').ok_or(Failed)?;
    let (parents, key) = path
        .rsplit_once('/')
        .map_or((None, path), |(parents, key)| (Some(parents), key));
    let mut found = object;
    for part in parents.into_iter().flat_map(|parents| parents.split('/')) {
        found = match found {
            Value::Object(fields) => fields.get_mut(&unescape(part)).ok_or(Failed)?,
            Value::Array(items) => {
                let index = index(part, items.len())?;
                items.get_mut(index).ok_or(Failed)?
            }
            _ => return Err(Failed),
        };
    }
    match found {
        Value::Object(fields) => Ok(Place::Field(fields, unescape(key))),
        Value::Array(items) => Ok(Place::Item(items, key.to_owned())),
        _ => Err(Failed),
    }
}

fn add(object: &mut Value, path: &str, value: Value) -> Result<(), Failed> {
    match find(object, path)? {
        Place::Field(fields, key) => drop(fields.insert(key, value)),
        Place::Item(items, key) if key == "-" => items.push(value),
        Place::Item(items, key) => {
            let index = index(&key, items.len() + 1)?;
            items.insert(index, value);
        }
    }
    Ok(())
}

fn remove(object: &mut Value, path: &str) -> Result<Value, Failed> {
    match find(object, path)? {
        Place::Field(fields, key) => fields.remove(&key).ok_or(Failed),
        Place::Item(items, key) => {
            let index = index(&key, items.len())?;
            Ok(items.remove(index))
        }
    }
}

fn replace(object: &mut Value, path: &str, value: Value) -> Result<(), Failed> {
    match find(object, path)? {
        Place::Field(fields, key) => *fields.get_mut(&key).ok_or(Failed)? = value,
        Place::Item(items, key) => {
            let index = index(&key, items.len())?;
            items[index] = value;
        }
    }
    Ok(())
}

/// A value; nothing where a field is missing, but a failure where an element is.
fn get(object: &mut Value, path: &str) -> Result<Option<Value>, Failed> {
    match find(object, path)? {
        Place::Field(fields, key) => Ok(fields.get(&key).cloned()),
        Place::Item(items, key) => {
            let index = index(&key, items.len())?;
            Ok(Some(items[index].clone()))
        }
    }
}

/// The index that a key means among so many.
fn index(key: &str, length: usize) -> Result<usize, Failed> {
    let index: i64 = key.parse().map_err(|_| Failed)?;
    let length = i64::try_from(length).map_err(|_| Failed)?;
    let index = if index < 0 { index + length } else { index };
    usize::try_from(index).ok().filter(|_| index < length).ok_or(Failed)
}

fn unescape(key: &str) -> String {
    key.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn patched(operations: &Value) -> Value {
        let object = json!({"a": {"b/c": 1}, "list": ["x", "y"]});
        patch(&object, operations.to_string().as_bytes()).unwrap()
    }

    #[track_caller]
    fn refused(operations: &Value) -> u16 {
        let object = json!({"a": {"b/c": 1}, "list": ["x", "y"]});
        patch(&object, operations.to_string().as_bytes()).unwrap_err().code
    }

    #[test]
    fn operations_do_as_they_say() {
        let operations = json!([
            {"op": "test", "path": "/a/b~1c", "value": 1},
            {"op": "add", "path": "/list/1", "value": "new"},
            {"op": "add", "path": "/list/-", "value": "end"},
            {"op": "remove", "path": "/list/0"},
            {"op": "copy", "from": "/list/0", "path": "/copied"},
            {"op": "move", "from": "/a/b~1c", "path": "/moved"},
            {"op": "replace", "path": "/list/1", "value": "z"},
        ]);
        let wanted = json!({"a": {}, "list": ["new", "z", "end"], "copied": "new", "moved": 1});
        assert_eq!(patched(&operations), wanted);
    }

    #[test]
    fn the_real_server_is_lenient() {
        assert_eq!(patched(&json!([{"op": "add", "path": "/n"}]))["n"], Value::Null);
        assert_eq!(
            patched(&json!([{"op": "remove", "path": "/list/-1"}]))["list"],
            json!(["x"])
        );
        assert_eq!(
            patched(&json!([{"op": "add", "path": "/list/-1", "value": "z"}]))["list"],
            json!(["x", "y", "z"])
        );
        assert_eq!(
            patched(&json!([{"op": "test", "path": "/none", "value": null}]))["a"],
            json!({"b/c": 1})
        );
        assert_eq!(patched(&Value::Null)["list"], json!(["x", "y"]));
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        for operation in [
            json!({"op": "test", "path": "/a", "value": 1}),
            json!({"op": "test", "path": "/a/b~1c"}),
            json!({"op": "remove", "path": "/none"}),
            json!({"op": "replace", "path": "/none", "value": 1}),
            json!({"op": "copy", "from": "/none", "path": "/a/copy"}),
            json!({"op": "add", "path": "/list/9", "value": 1}),
            json!({"op": "add", "path": "/none/x", "value": 1}),
            json!({"op": "add", "path": "/list/0/x", "value": 1}),
            json!({"op": "add", "path": "", "value": {}}),
            json!({"op": "bogus", "path": "/a"}),
            json!({"op": "add"}),
            Value::Null,
        ] {
            assert_eq!(refused(&json!([operation])), 422, "{operation}");
        }
        assert_eq!(refused(&json!({})), 400);
        assert_eq!(refused(&json!([1])), 400);
        let many: Value = (0..10_001)
            .map(|_| json!({"op": "test", "path": "/a/b~1c", "value": 1}))
            .collect();
        assert_eq!(refused(&many), 413);
    }
}
