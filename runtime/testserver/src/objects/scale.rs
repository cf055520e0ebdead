//! The number of replicas of an object as an object of its own, `autoscaling/v1` `Scale`.

use serde_json::{Value, json};

use crate::kinds::Scale;
use crate::kinds::columns::selector_text;
use crate::status::{Cause, Status};

/// What stands for a number that the object does not have, until a request sets it.
const UNSET: i64 = i32::MIN as i64;

/// The scale of an object, for a request that changes it or reads it.
#[derive(Debug)]
pub(crate) struct Scaled {
    pub(crate) scale: Value,
    /// Whether the object says how many replicas there should be.
    is_set: bool,
}

impl Scaled {
    /// Reads the scale of an object.
    pub(crate) fn of(object: &Value, paths: &Scale) -> Result<Self, String> {
        let wanted = number(object, &paths.wanted)?;
        let found = number(object, &paths.found)?.unwrap_or_default();
        let mut metadata = json!({});
        for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
            if let Some(value) = object["metadata"].get(field) {
                metadata[field] = value.clone();
            }
        }
        let mut status = json!({"replicas": found});
        let selector = paths.selector.as_ref().map(|path| text(object, path)).transpose()?;
        if let Some(selector) = selector.flatten().filter(|selector| !selector.is_empty()) {
            status["selector"] = json!(selector);
        }
        let mut spec = json!({});
        // Nothing is left out as none.
        if let Some(wanted) = wanted.filter(|&wanted| wanted != 0) {
            spec["replicas"] = json!(wanted);
        }
        let scale = json!({
            "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status,
        });
        let is_set = wanted.is_some();
        Ok(Self { scale, is_set })
    }

    /// The scale, which an object without a number does not have.
    pub(crate) fn read(self, paths: &Scale) -> Result<Value, Status> {
        if self.is_set {
            return Ok(self.scale);
        }
        let message = format!(
            "Internal error occurred: the spec replicas field {:?} does not exist",
            paths.wanted
        );
        let mut status = Status::new(500, "InternalError", message);
        status.details = json!({"causes": [{
            "message": format!("the spec replicas field {:?} does not exist", paths.wanted),
        }]});
        Err(status)
    }

    /// The scale as it is before a change: a number that is not set yet is an impossible one.
    pub(crate) fn draft(mut self) -> Value {
        if !self.is_set {
            self.scale["spec"]["replicas"] = json!(UNSET);
        }
        self.scale
    }
}

/// The object with the number of replicas that a scale asks for.
pub(crate) fn write(object: &Value, scale: &Value, paths: &Scale) -> Result<Value, Status> {
    let replicas = match scale["spec"].get("replicas") {
        None | Some(Value::Null) => 0,
        Some(number) => number.as_i64().ok_or_else(|| {
            Status::bad_request(
                "Scale in version \"v1\" cannot be handled as a Scale: json: cannot unmarshal into Go struct field \
                 ScaleSpec.spec.replicas of type int32",
            )
        })?,
    };
    if replicas == UNSET {
        let message = format!("the spec replicas field {:?} cannot be empty", paths.wanted);
        return Err(Status::bad_request(message));
    }
    let mut object = object.clone();
    *names(&paths.wanted).fold(&mut object, |value, name| &mut value[name]) = json!(replicas);
    if let Some(version) = scale["metadata"]["resourceVersion"]
        .as_str()
        .filter(|text| !text.is_empty())
    {
        object["metadata"]["resourceVersion"] = json!(version);
    }
    Ok(object)
}

/// The faults of the numbers in an object: of the wanted one and of what was found, or only of the latter.
pub(crate) fn faults(object: &Value, paths: &Scale, status_only: bool) -> Vec<Cause> {
    let numbers = [(&paths.wanted, !status_only), (&paths.found, true)];
    let mut causes: Vec<_> = numbers
        .into_iter()
        .filter(|(_, checked)| *checked)
        .filter_map(|(path, _)| number_fault(object, path))
        .collect();
    if let Some(path) = &paths.selector
        && let Err(why) = text(object, path)
    {
        causes.push(Cause::invalid(path, &json!(""), &why));
    }
    causes
}

fn number_fault(object: &Value, path: &str) -> Option<Cause> {
    let (found, why) = match number(object, path) {
        Err(why) => (0, why),
        Ok(Some(found)) if found < 0 => (found, "should be a non-negative integer".into()),
        Ok(Some(found)) if found > i64::from(i32::MAX) => {
            (found, format!("should be less than or equal to {}", i32::MAX))
        }
        Ok(_) => return None,
    };
    Some(Cause::invalid(path, &json!(found), &why))
}

fn names(path: &str) -> impl Iterator<Item = &str> {
    path.strip_prefix('.').unwrap_or(path).split('.')
}

/// The value at a path of names; nothing on the way may be anything but an object.
fn at<'a>(object: &'a Value, path: &str) -> Result<Option<&'a Value>, String> {
    let mut value = object;
    let mut passed = String::new();
    for name in names(path) {
        let Some(fields) = value.as_object() else {
            return Err(format!(
                "{passed} accessor error: {} is of the type {}, expected map[string]interface{{}}",
                shown(value),
                go_type(value)
            ));
        };
        passed = format!("{passed}.{name}");
        match fields.get(name) {
            Some(next) => value = next,
            None => return Ok(None),
        }
    }
    Ok(Some(value))
}

fn number(object: &Value, path: &str) -> Result<Option<i64>, String> {
    let Some(value) = at(object, path)? else {
        return Ok(None);
    };
    value.as_i64().map(Some).ok_or_else(|| mismatch(path, value, "int64"))
}

fn text(object: &Value, path: &str) -> Result<Option<String>, String> {
    let Some(value) = at(object, path)? else {
        return Ok(None);
    };
    if value.is_object() && path == ".spec.selector" {
        // Where built-in kinds have their selectors.
        return Ok(Some(selector_text(value)));
    }
    value
        .as_str()
        .map(|text| Some(text.to_owned()))
        .ok_or_else(|| mismatch(path, value, "string"))
}

fn mismatch(path: &str, value: &Value, wanted: &str) -> String {
    let path = path.strip_prefix('.').unwrap_or(path);
    format!(
        ".{path} accessor error: {} is of the type {}, expected {wanted}",
        shown(value),
        go_type(value)
    )
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(
        || {
            if value.is_null() {
                "<nil>".into()
            } else {
                value.to_string()
            }
        },
        str::to_owned,
    )
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths() -> Scale {
        Scale {
            wanted: ".spec.replicas".into(),
            found: ".status.replicas".into(),
            selector: Some(".status.selector".into()),
        }
    }

    #[test]
    fn a_scale_tells_of_replicas() {
        let object = json!({
            "metadata": {"name": "a", "labels": {"x": "y"}}, "spec": {"replicas": 3},
            "status": {"replicas": 2, "selector": "a=b"},
        });
        let scale = Scaled::of(&object, &paths()).unwrap().read(&paths()).unwrap();
        assert_eq!(
            scale,
            json!({
                "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 3},
                "status": {"replicas": 2, "selector": "a=b"},
            })
        );
    }

    #[test]
    fn an_object_without_a_number_has_no_scale() {
        let object = json!({"spec": {}});
        let scaled = || Scaled::of(&object, &paths()).unwrap();
        assert_eq!(scaled().read(&paths()).unwrap_err().code, 500);
        let draft = scaled().draft();
        assert_eq!(write(&object, &draft, &paths()).unwrap_err().code, 400);
        let written = write(&object, &json!({"spec": {"replicas": 2}}), &paths()).unwrap();
        assert_eq!(written, json!({"spec": {"replicas": 2}}));
    }

    #[test]
    fn numbers_are_whole_and_not_negative() {
        let messages = |replicas: Value| {
            let causes = faults(&json!({"spec": {"replicas": replicas}}), &paths(), false).into_iter();
            causes.map(|cause| cause.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(messages(json!(1)), Vec::<String>::new());
        assert_eq!(
            messages(json!(-1)),
            [".spec.replicas: Invalid value: -1: should be a non-negative integer"]
        );
        assert_eq!(
            messages(json!("x")),
            [
                ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: x is of the type string, expected int64"
            ]
        );
    }
}
