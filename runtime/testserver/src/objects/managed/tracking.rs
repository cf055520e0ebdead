//! Keeps the managers of an object in step with what is written to it.

use serde_json::{Value, json};

use crate::objects::managed::comparing::compare;
use crate::objects::managed::{Manager, Managers, strip_changes, subresource};
use crate::objects::shapes::Shape;
use crate::objects::writing::{Draft, How, metadata_of};
use crate::status::{Cause, Status};

/// The longest name of a manager, in bytes.
const LONGEST_NAME: usize = 128;

/// Notes in an object that is about to be written who manages its fields from now on.
pub(crate) fn track(draft: &mut Draft, now: &str) -> Result<(), Status> {
    let (place, how, object) = (&draft.place, &draft.how, &mut draft.object);
    let current = draft.current.as_deref();
    let sent = metadata_of(object).remove("managedFields");
    if how.applies {
        // Applying has settled everything but the time.
        let managers = Managers::parse(sent.as_ref()).unwrap_or_default();
        set(object, managers.to_value(Some(now)));
        return Ok(());
    }
    let stored = current.and_then(|current| current["metadata"].get("managedFields"));
    if subresource(how).is_empty() {
        let causes = faults(sent.as_ref());
        if !causes.is_empty() {
            return Err(Status::invalid(&place.kind, &draft.name, &causes));
        }
    }
    let base = base(sent.as_ref(), stored, how);
    let mut managers = base.clone();
    if managers.0.is_empty() && current.is_some() {
        // Who once chose not to keep track is not tracked until something is applied.
        return Ok(());
    }
    let new = json!({});
    let mut changes = compare(Some(current.unwrap_or(&new)), Some(object), Shape::of(place));
    strip_changes(&mut changes);
    if current.is_none() && place.version()?.status {
        changes.added.below.remove("f:status");
    }
    if !changes.is_empty() {
        managers.take(&changes);
        let mut fields = changes.added;
        fields.unite(changes.modified);
        managers.give(Manager::new(place, how, false), place.api_version(), fields, now);
        managers.cap();
    }
    match stored {
        // Nothing at all must differ where nothing was changed.
        Some(stored) if managers == base && Managers::parse(Some(stored)).as_ref() == Some(&managers) => {
            set(object, stored.clone());
        }
        _ => set(object, managers.to_value(None)),
    }
    Ok(())
}

/// The name of a manager: what it calls itself, else the first part of its user agent.
pub(crate) fn manager(given: &str, user_agent: &str) -> String {
    let printable = |character: &char| !character.is_control();
    let name = match given {
        "" => user_agent.split('/').next().unwrap_or_default(),
        given => given,
    };
    let mut manager = String::new();
    for character in name.chars().filter(printable) {
        if manager.len() + character.len_utf8() > LONGEST_NAME {
            break;
        }
        manager.push(character);
    }
    if manager.is_empty() { "unknown".into() } else { manager }
}

/// What is wrong with the name that a manager gives itself.
pub(crate) fn check_manager(name: &str) -> Option<Cause> {
    if name.len() > LONGEST_NAME {
        return Some(Cause::too_long("fieldManager", LONGEST_NAME as u64));
    }
    let (position, odd) = name.chars().enumerate().find(|(_, character)| character.is_control())?;
    let detail = format!("invalid character U+{:04X} (at position {position})", u32::from(odd));
    Some(Cause::invalid("fieldManager", &json!(name), &detail))
}

/// Whether two states of an object differ in the times of its managers at most.
pub(crate) fn differ_in_times_only(one: &Value, other: &Value) -> bool {
    let managers = |object: &Value| {
        object["metadata"]
            .get("managedFields")
            .and_then(Value::as_array)
            .cloned()
    };
    let (Some(mut ours), Some(mut theirs)) = (managers(one), managers(other)) else {
        return false;
    };
    for entry in ours.iter_mut().chain(&mut theirs) {
        if let Some(entry) = entry.as_object_mut() {
            entry.remove("time");
        }
    }
    // The times may have decided about the order.
    ours.len() == theirs.len() && ours.iter().all(|entry| theirs.contains(entry)) && same_besides_managers(one, other)
}

fn same_besides_managers(one: &Value, other: &Value) -> bool {
    let besides = |value: &'_ Value, left_out: &str| -> Vec<(String, Value)> {
        let fields = value.as_object().into_iter().flatten();
        let fields = fields.filter(|(key, _)| *key != left_out);
        fields.map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    besides(one, "metadata") == besides(other, "metadata")
        && besides(&one["metadata"], "managedFields") == besides(&other["metadata"], "managedFields")
}

/// What is wrong with managers that a request sends, unless they can only be ignored.
fn faults(sent: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    let entries = sent.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if entries.iter().all(|entry| *entry == json!({})) {
        return causes;
    }
    for (index, entry) in entries.iter().enumerate() {
        let mut check = |field: &str, allowed: &[&str], detail: &str| {
            let given = entry[field].as_str().unwrap_or_default();
            if !allowed.contains(&given) {
                let path = format!("metadata.managedFields[{index}].{field}");
                causes.push(Cause::invalid(path, &json!(given), detail));
            }
        };
        check("operation", &["Apply", "Update"], "must be `Apply` or `Update`");
        check("fieldsType", &["", "FieldsV1"], "must be `FieldsV1`");
    }
    causes
}

/// The managers before a write: a request may set them itself, though not in passing.
fn base(sent: Option<&Value>, stored: Option<&Value>, how: &How) -> Managers {
    let stored = || Managers::parse(stored).unwrap_or_default();
    if !subresource(how).is_empty() {
        return stored();
    }
    if sent.is_some_and(|sent| *sent == json!([{}])) {
        return Managers::default();
    }
    match Managers::parse(sent) {
        Some(sent) if !sent.0.is_empty() => sent,
        _ => stored(),
    }
}

fn set(object: &mut Value, managers: Value) {
    if managers.as_array().is_some_and(|managers| !managers.is_empty()) {
        metadata_of(object).insert("managedFields".into(), managers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn managers_without_a_name_are_called_by_their_program() {
        assert_eq!(manager("given", "client/1"), "given");
        assert_eq!(manager("", "client/1.2 (linux) more"), "client");
        assert_eq!(manager("", ""), "unknown");
        assert_eq!(manager("", &"x".repeat(200)).len(), LONGEST_NAME);
    }

    #[test]
    fn names_of_managers_have_limits() {
        assert!(check_manager("a b").is_none());
        assert!(check_manager(&"x".repeat(129)).is_some());
        let cause = check_manager("a\nb").unwrap();
        assert!(
            cause.message.ends_with("invalid character U+000A (at position 1)"),
            "{}",
            cause.message
        );
    }

    #[test]
    fn times_alone_are_no_difference() {
        let object = |time: &str, label: &str| {
            let entry = json!({"manager": "a", "time": time});
            json!({"metadata": {"labels": {"x": label}, "managedFields": [entry]}})
        };
        assert!(differ_in_times_only(&object("1", "a"), &object("2", "a")));
        assert!(!differ_in_times_only(&object("1", "a"), &object("2", "b")));
    }
}
