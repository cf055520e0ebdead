//! Whether a field is there, what it is called in Rust and in messages.

use serde_json::Value;

use super::{Lowering, Part, Place, values};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Presence, Scalar, Schema, Shape};
use crate::naming;
use crate::spec::{FieldForm, FieldSpec, NamedField, TypeExpr, TypeForm};

/// What a schema is, for messages.
pub(in super::super) fn shape_name(schema: &Schema) -> String {
    match &schema.shape {
        Shape::Scalar(Scalar::String) => "a string".into(),
        Shape::Scalar(Scalar::Integer | Scalar::Int32) => "an integer".into(),
        Shape::Scalar(Scalar::Number) => "a number".into(),
        Shape::Scalar(Scalar::Boolean) => "a boolean".into(),
        Shape::Enum { .. } => "an enum".into(),
        Shape::Object(_) => "an object".into(),
        Shape::List(_) => "a list".into(),
        Shape::Map(_) => "a map".into(),
        Shape::Any => "a free-form value".into(),
        Shape::Raw(_) => "an OpenAPI schema".into(),
        Shape::Known { schema, .. } if schema.contains_key("x-kubernetes-int-or-string") => "a number or text".into(),
        Shape::Known { schema, .. } if schema.get("type").and_then(Value::as_str) == Some("string") => {
            "encoded text".into()
        }
        Shape::Known { .. } => "a known object".into(),
    }
}

/// Plain OpenAPI reads as a mapping of fields, one of them called `type`.
pub(super) fn like_openapi(fields: &[NamedField]) -> Option<Diagnostic> {
    let find = |name: &str| fields.iter().find(|named| named.name.value == name);
    let named = find("type")?;
    let is_object = matches!(
        &named.field.form,
        FieldForm::Type(TypeExpr { form: TypeForm::Named(name), .. }) if name == "object"
    );
    let has_fields = find("properties").is_some_and(|named| matches!(named.field.form, FieldForm::Fields(_)));
    let message = "this looks like OpenAPI, but declares fields called `type` and `properties`";
    let fault = Diagnostic::warning(Code::FieldSyntax, named.name.span, message);
    (is_object && has_fields)
        .then(|| fault.help("put a schema of OpenAPI below the key `openAPIV3Schema`, or list its fields alone"))
}

impl Lowering<'_, '_> {
    pub(super) fn presence(&mut self, field: &FieldSpec, schema: &Schema, place: Place<'_>) -> Presence {
        let required = field
            .option("required")
            .filter(|option| values::flag(option, self.faults) == Some(true));
        if let Some(required) = required {
            if place.part == Part::Status {
                let fault = Diagnostic::warning(Code::RequiredStatus, required.key.span, "a required status field");
                self.faults
                    .push(fault.help("a fresh object has no status: make the field optional"));
            }
            if schema.default.is_some() {
                let message = "`required` and `default` exclude each other";
                let fault = Diagnostic::error(Code::MisplacedFieldOption, required.key.span, message);
                self.faults
                    .push(fault.help("a field with a default is never absent: drop `required`"));
            }
            return Presence::Required;
        }
        if schema.default.is_some() {
            Presence::Defaulted
        } else {
            Presence::Optional
        }
    }

    pub(super) fn rust_name(&mut self, field: &FieldSpec) -> Option<String> {
        let option = field.option("rust")?;
        let name = values::text(option, self.faults)?;
        if naming::snake_identifier(&name) {
            return Some(naming::field_name(&name)).filter(|escaped| !escaped.is_empty());
        }
        let message = format!("`{name}` cannot name a field in Rust");
        let fault = Diagnostic::error(Code::RustName, option.value.span(), message);
        self.faults
            .push(fault.help("use lower case letters, digits and underscores"));
        None
    }
}
