//! Values of field options.

use serde_json::{Number, Value};

use super::super::Faults;
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Scalar, Schema, Shape};
use crate::spec::{FieldOption, OptionValue, Reading};

fn fault(option: &FieldOption, message: String) -> Diagnostic {
    Diagnostic::error(Code::FieldOptionValue, option.value.span(), message)
}

/// What a scalar value stands for, with its text.
fn reading(option: &FieldOption) -> Option<(Reading, &str)> {
    match &option.value {
        OptionValue::Line { text, quoted: true, .. } => Some((Reading::Text, text)),
        OptionValue::Line {
            text, quoted: false, ..
        } => {
            let scalar = crate::spec::Scalar {
                text: text.clone(),
                plain: true,
                verbatim: None,
            };
            Some((scalar.reading(), text))
        }
        OptionValue::Node(node) => node.as_scalar().map(|scalar| (scalar.reading(), scalar.text.as_str())),
    }
}

pub(super) fn flag(option: &FieldOption, faults: &mut Faults) -> Option<bool> {
    if let Some((Reading::Boolean(flag), _)) = reading(option) {
        return Some(flag);
    }
    faults.push(fault(option, format!("`{}` is true or false", option.key.value)));
    None
}

pub(super) fn count(option: &FieldOption, faults: &mut Faults) -> Option<u64> {
    match reading(option) {
        Some((Reading::Integer(count), _)) if count >= 0 => u64::try_from(count).ok(),
        _ => {
            faults.push(fault(
                option,
                format!("`{}` is a whole number, at least 0", option.key.value),
            ));
            None
        }
    }
}

pub(super) fn number(option: &FieldOption, whole: bool, faults: &mut Faults) -> Option<Number> {
    match reading(option) {
        Some((Reading::Integer(number), _)) => return Some(number.into()),
        Some((Reading::Float(number), _)) if !whole => return Number::from_f64(number),
        _ => {}
    }
    let wanted = if whole {
        "a whole number, as the field is"
    } else {
        "a number"
    };
    faults.push(fault(option, format!("`{}` is {wanted}", option.key.value)));
    None
}

pub(super) fn text(option: &FieldOption, faults: &mut Faults) -> Option<String> {
    match &option.value {
        OptionValue::Line { text, .. } => Some(text.clone()),
        OptionValue::Node(node) => node.to_text(&format!("`{}`", option.key.value), faults),
    }
}

/// `"a,b"` on one line; a list, or one text, in the long form.
pub(super) fn texts(option: &FieldOption, faults: &mut Faults) -> Option<Vec<String>> {
    match &option.value {
        OptionValue::Line { text, .. } => Some(text.split(',').map(|item| item.trim().to_string()).collect()),
        OptionValue::Node(node) => match node.as_sequence() {
            Some(items) => {
                let what = format!("an item of `{}`", option.key.value);
                let texts: Vec<_> = items.iter().filter_map(|item| item.to_text(&what, faults)).collect();
                (texts.len() == items.len()).then_some(texts)
            }
            None => text(option, faults).map(|text| vec![text]),
        },
    }
}

/// A value for a field of this schema: `default` or `example`.
pub(super) fn value(option: &FieldOption, schema: &Schema, faults: &mut Faults) -> Option<Value> {
    let node = match &option.value {
        OptionValue::Line { text, quoted, .. } => return on_line(option, text, *quoted, schema, faults),
        OptionValue::Node(node) => node,
    };
    if wants_text(schema) {
        return text(option, faults).map(Value::String);
    }
    let before = faults.len();
    let value = node.to_json(faults);
    (faults.len() == before).then_some(value)
}

fn wants_text(schema: &Schema) -> bool {
    match &schema.shape {
        Shape::Scalar(Scalar::String) | Shape::Enum { .. } => true,
        Shape::Known { schema, .. } => schema.get("type").and_then(Value::as_str) == Some("string"),
        _ => false,
    }
}

fn on_line(option: &FieldOption, text: &str, quoted: bool, schema: &Schema, faults: &mut Faults) -> Option<Value> {
    if wants_text(schema) {
        return Some(Value::String(text.to_string()));
    }
    if matches!(schema.shape, Shape::Known { .. }) && schema.openapi().contains_key("x-kubernetes-int-or-string") {
        return match reading(option) {
            Some((Reading::Integer(number), _)) if !quoted => Some(number.into()),
            _ => Some(Value::String(text.to_string())),
        };
    }
    if matches!(schema.shape, Shape::Scalar(_)) {
        match reading(option) {
            Some((Reading::Integer(number), _)) => return Some(number.into()),
            Some((Reading::Float(number), _)) => return Number::from_f64(number).map(Value::Number),
            Some((Reading::Boolean(flag), _)) => return Some(Value::Bool(flag)),
            _ => {
                let wanted = super::shape_name(schema);
                faults.push(fault(option, format!("`{text}` is no value for {wanted}")));
                return None;
            }
        }
    }
    serde_json::from_str(text).ok().or_else(|| {
        let message = format!(
            "`{text}` is not JSON, as which `{}` of {} is read",
            option.key.value,
            super::shape_name(schema)
        );
        faults.push(fault(option, message).help("or use the long form: {$type: …, default: …}"));
        None
    })
}
