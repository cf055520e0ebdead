//! Results: their types and a first value, in text, for files that people own.

use super::types::{can_default, others_name};
use crate::model::{ObjectSchema, Presence, Scalar, Schema, Shape};
use crate::rustfmt::{CALL_WIDTH, WIDTH};

/// The type of a result; `name` says how the file calls a generated type.
pub(super) fn type_name(schema: &Schema, name: &mut dyn FnMut(&str) -> String) -> String {
    let rust = match &schema.shape {
        Shape::Scalar(Scalar::String) => "String".to_owned(),
        Shape::Scalar(Scalar::Integer) => "i64".to_owned(),
        Shape::Scalar(Scalar::Int32) => "i32".to_owned(),
        Shape::Scalar(Scalar::Number) => "f64".to_owned(),
        Shape::Scalar(Scalar::Boolean) => "bool".to_owned(),
        Shape::Enum { type_name, .. } => name(type_name),
        Shape::Object(object) => name(&object.type_name),
        Shape::List(items) => format!("Vec<{}>", type_name(items, name)),
        Shape::Map(items) => format!("std::collections::BTreeMap<String, {}>", type_name(items, name)),
        Shape::Any | Shape::Raw(_) => "serde_json::Value".to_owned(),
        Shape::Known { rust, .. } => rust.clone(),
    };
    if schema.nullable {
        format!("Option<{rust}>")
    } else {
        rust
    }
}

/// An expression as rustfmt lays it out.
pub(super) enum Expression {
    Plain(String),
    Struct(String, Vec<(String, Expression)>),
}

/// A first value that compiles, for a line that starts at `column`; texts say that `function` is done.
pub(super) fn first_value(
    schema: &Schema,
    function: &str,
    column: usize,
    name: &mut dyn FnMut(&str) -> String,
) -> Expression {
    if schema.nullable {
        return Expression::Plain("None".to_owned());
    }
    let plain = match &schema.shape {
        Shape::Scalar(Scalar::String) => done(function, column)
            .filter(|_| is_free_text(schema))
            .unwrap_or_else(|| "String::new()".to_owned()),
        Shape::Scalar(Scalar::Integer | Scalar::Int32) => "0".to_owned(),
        Shape::Scalar(Scalar::Number) => "0.0".to_owned(),
        Shape::Scalar(Scalar::Boolean) => "false".to_owned(),
        Shape::Enum { type_name, variants } => {
            let variant = variants.first().map_or("", |(_, variant)| variant.as_str());
            format!("{}::{variant}", name(type_name))
        }
        Shape::Object(object) => return struct_value(object, function, column, name),
        Shape::List(_) => "Vec::new()".to_owned(),
        Shape::Any | Shape::Raw(_) => "serde_json::Value::Null".to_owned(),
        Shape::Map(_) | Shape::Known { .. } => "Default::default()".to_owned(),
    };
    Expression::Plain(plain)
}

/// Short enough for the line; nothing if the field's name alone fills it.
fn done(function: &str, column: usize) -> Option<String> {
    let long = format!("format!(\"{function} of {{name}} is done\")");
    let short = "format!(\"{name} is done\")".to_owned();
    // `Some(` and `),` may stand around it.
    let fits = |text: &String| text.len() <= CALL_WIDTH && column + text.len() + 8 <= WIDTH;
    [long, short].into_iter().find(fits)
}

/// Whether any words will do.
fn is_free_text(schema: &Schema) -> bool {
    !["format", "pattern", "enum", "maxLength"]
        .iter()
        .any(|keyword| schema.keywords.contains_key(*keyword))
}

fn is_struct(schema: &Schema) -> bool {
    !schema.nullable && matches!(schema.shape, Shape::Object(_))
}

/// Whether a value is the stub's to give rather than `Default`'s.
fn is_filled(schema: &Schema) -> bool {
    !schema.nullable && matches!(schema.shape, Shape::Scalar(Scalar::String)) && is_free_text(schema)
}

fn struct_value(
    object: &ObjectSchema,
    function: &str,
    column: usize,
    name: &mut dyn FnMut(&str) -> String,
) -> Expression {
    let type_name = name(&object.type_name);
    if can_default(object) && !object.fields.iter().any(|field| is_filled(&field.schema)) {
        return Expression::Plain(format!("{type_name}::default()"));
    }
    let mut fields: Vec<_> = object
        .fields
        .iter()
        .map(|field| {
            let inner = column + 4;
            let column = inner + field.rust_name.len() + 2;
            let value = match field.presence {
                Presence::Required if is_struct(&field.schema) => first_value(&field.schema, function, inner, name),
                Presence::Optional if is_filled(&field.schema) => Expression::Plain(
                    done(function, column).map_or_else(|| "None".to_owned(), |done| format!("Some({done})")),
                ),
                Presence::Optional => Expression::Plain("None".to_owned()),
                Presence::Required | Presence::Defaulted => first_value(&field.schema, function, column, name),
            };
            (field.rust_name.clone(), value)
        })
        .collect();
    if object.open {
        fields.push((others_name(object), Expression::Plain("Default::default()".to_owned())));
    }
    Expression::Struct(type_name, fields)
}

impl Expression {
    /// `Ok(…)` at the end of a function.
    pub(super) fn as_ok(&self) -> String {
        match self {
            Self::Struct(name, _) if name.len() + 2 > CALL_WIDTH && self.on_one_line().is_none() => {
                format!("    Ok(\n        {},\n    )", self.layout(8))
            }
            _ => format!("    Ok({})", self.layout(4)),
        }
    }

    /// The text at an indentation, with what stands around it.
    fn layout(&self, indent: usize) -> String {
        match self {
            Self::Plain(text) => text.clone(),
            Self::Struct(name, fields) if fields.is_empty() => format!("{name} {{}}"),
            Self::Struct(name, fields) => self.on_one_line().unwrap_or_else(|| {
                let (inner, outer) = (" ".repeat(indent + 4), " ".repeat(indent));
                let rows = fields.iter().map(|(field, value)| {
                    let column = indent + 4 + field.len() + 2;
                    if let Some(text) = fitted(&value.layout(indent + 4), column, 1, &inner) {
                        return format!("{inner}{field}: {text},\n");
                    }
                    let text = value.layout(indent + 8);
                    // rustfmt forgets the comma here.
                    let text = fitted(&text, indent + 8, 0, &format!("{inner}    ")).unwrap_or(text);
                    format!("{inner}{field}:\n{inner}    {text},\n")
                });
                format!("{name} {{\n{}{outer}}}", rows.collect::<String>())
            }),
        }
    }

    /// rustfmt keeps a struct on one line up to 18 characters between its braces.
    fn on_one_line(&self) -> Option<String> {
        let Self::Struct(name, fields) = self else { return None };
        let fields: Option<Vec<String>> = fields
            .iter()
            .map(|(field, value)| match value {
                Self::Plain(text) => Some(format!("{field}: {text}")),
                Self::Struct(..) => Some(format!("{field}: {}", value.on_one_line()?)),
            })
            .collect();
        let inner = fields?.join(", ");
        (inner.len() <= 18).then(|| format!("{name} {{ {inner} }}"))
    }
}

/// The text of a field's value if its first line ends within the width, perhaps between the parentheses of a call.
fn fitted(text: &str, column: usize, comma: usize, indent: &str) -> Option<String> {
    let first = text.lines().next().unwrap_or_default();
    let comma = if first.len() == text.len() { comma } else { 0 };
    if column + first.len() + comma <= WIDTH {
        return Some(text.to_owned());
    }
    let head = text.strip_suffix(')').filter(|head| head.ends_with('('))?;
    (column + head.len() + comma <= WIDTH + 1).then(|| format!("{head}\n{indent})"))
}
