//! Puts an applied configuration over the live object.

use serde_json::{Map, Value};

use crate::objects::shapes::Shape;

/// The value with what the configuration says about it.
pub(crate) fn merge(live: &Value, applied: &Value, shape: Shape<'_>) -> Value {
    match (live, applied) {
        (Value::Object(live), Value::Object(applied)) if !shape.is_atomic_map() => {
            Value::Object(merge_fields(live, applied, shape))
        }
        (Value::Array(live), Value::Array(applied)) if shape.is_associative() => {
            Value::Array(merge_elements(live, applied, shape))
        }
        // Null gives up no more than a field that is left out.
        (Value::Object(_), Value::Null) if !shape.is_atomic_map() => live.clone(),
        (Value::Array(_), Value::Null) if shape.is_associative() => live.clone(),
        _ => applied.clone(),
    }
}

fn merge_fields(live: &Map<String, Value>, applied: &Map<String, Value>, shape: Shape<'_>) -> Map<String, Value> {
    let mut merged = live.clone();
    for (name, value) in applied {
        let shape = shape.field(name).map_or(Shape::Open, |field| field.shape);
        let value = live
            .get(name)
            .map_or_else(|| value.clone(), |live| merge(live, value, shape));
        merged.insert(name.clone(), value);
    }
    merged
}

/// The elements in the order of the configuration; those that it does not have stay where they were between the
/// others.
fn merge_elements(live: &[Value], applied: &[Value], shape: Shape<'_>) -> Vec<Value> {
    let name = |item: &Value| shape.element(item).unwrap_or_default();
    let before: Vec<(String, &Value)> = live.iter().map(|item| (name(item), item)).collect();
    let wanted: Vec<(String, &Value)> = applied.iter().map(|item| (name(item), item)).collect();
    let is_wanted = |element: &str| wanted.iter().any(|(other, _)| other == element);
    let was_there = |element: &str| before.iter().find(|(other, _)| other == element).map(|(_, item)| *item);
    let mut shared = wanted
        .iter()
        .map(|(element, _)| element)
        .filter(|element| was_there(element).is_some());
    let mut next_shared = shared.next();
    let mut merged = Vec::new();
    let mut rest = before.iter().peekable();
    for (element, item) in &wanted {
        while let Some((other, kept)) = rest.next_if(|(other, _)| Some(other) != next_shared) {
            if !is_wanted(other) {
                merged.push(Value::clone(kept));
            }
        }
        match was_there(element) {
            Some(old) => {
                merged.push(merge(old, item, shape.item()));
                rest.next_if(|(other, _)| other == element);
                next_shared = shared.next();
            }
            None => merged.push(Value::clone(item)),
        }
    }
    merged.extend(
        rest.filter(|(other, _)| !is_wanted(other))
            .map(|(_, kept)| Value::clone(kept)),
    );
    merged
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn ordered(live: &str, applied: &str, wanted: &str) {
        let schema = json!({"type": "array", "x-kubernetes-list-type": "set"});
        let list = |text: &str| text.split_whitespace().collect::<Value>();
        let merged = merge(&list(live), &list(applied), Shape::Schema(&schema, false));
        assert_eq!(merged, list(wanted), "{live} | {applied}");
    }

    #[test]
    fn lists_keep_the_order_of_the_configuration() {
        ordered("a b c", "c a", "b c a");
        ordered("a x b", "b a", "x b a");
        ordered("b a y", "a b n", "a y b n");
        ordered("x", "a", "x a");
        ordered("a x", "n a", "n a x");
        ordered("", "b a", "b a");
        ordered("a b", "", "a b");
    }

    #[test]
    fn maps_merge_and_lists_are_replaced() {
        let live = json!({"a": {"b": 1, "c": 2}, "list": [1, 2], "gone": {"x": 1}});
        let applied = json!({"a": {"c": 3, "d": 4}, "list": [3]});
        let merged = json!({"a": {"b": 1, "c": 3, "d": 4}, "list": [3], "gone": {"x": 1}});
        assert_eq!(merge(&live, &applied, Shape::Open), merged);
    }
}
