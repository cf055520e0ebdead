//! Fields as written to schemas, with the rules of structural schemas.

mod bounds;
mod extensions;
mod junctors;
mod keywords;
mod known;
mod limits;
mod list_keywords;
mod merge;
mod options;
mod presence;
mod structural;
mod type_names;
mod values;

pub(super) use presence::shape_name;
use structural::raw;
pub(super) use type_names::TypeNames;

use bounds::{Bounds, Depth};

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::Faults;
use crate::diagnostic::{Code, Diagnostic, Span, did_you_mean, listed};
use crate::model::{Field, ObjectSchema, Schema, Shape};
use crate::naming;
use crate::spec::{FieldForm, FieldSpec, NamedField, TypeExpr, TypeForm};

/// Which schema of a resource a field belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Spec,
    Status,
    Types,
    Result,
}

/// Where a schema stands.
#[derive(Clone, Copy, Debug)]
struct Place<'p> {
    part: Part,
    /// The Rust type, if the schema becomes one.
    type_name: &'p str,
    /// Whether the API server can find the old value: not below lists that are replaced as a whole.
    has_old: bool,
}

/// Turns the fields of one resource into schemas.
pub(super) struct Lowering<'s, 'f> {
    types: BTreeMap<&'s str, &'s FieldSpec>,
    names: &'f mut TypeNames,
    faults: &'f mut Faults,
    /// Names of `types` that are being resolved.
    open: Vec<String>,
    bounds: Bounds,
}

impl<'s, 'f> Lowering<'s, 'f> {
    pub(super) fn new(types: &'s [NamedField], names: &'f mut TypeNames, faults: &'f mut Faults) -> Self {
        let types = types
            .iter()
            .map(|named| (named.name.value.as_str(), &named.field))
            .collect();
        Self {
            types,
            names,
            faults,
            open: Vec::new(),
            bounds: Bounds::default(),
        }
    }

    /// Checks `types` on their own, so that faults in unused ones show, too.
    pub(super) fn check_types(&mut self, types: &[NamedField]) {
        for named in types {
            let name = named.name.value.as_str();
            if known::TYPES.contains(&name) {
                let message = format!("`{name}` is a type of the format already");
                self.faults
                    .push(Diagnostic::error(Code::Duplicate, named.name.span, message));
            } else if naming::pascal_case(name).is_empty() || name.contains(['|', '[', ']', '=', '"']) {
                let message = format!("`{name}` cannot name a type");
                self.faults
                    .push(Diagnostic::error(Code::RustName, named.name.span, message));
            } else {
                let expr = TypeExpr {
                    span: named.name.span,
                    form: TypeForm::Named(name.to_string()),
                };
                self.bounds.restart();
                self.type_expr(
                    &expr,
                    Place {
                        part: Part::Types,
                        type_name: "",
                        has_old: true,
                    },
                );
            }
        }
    }

    /// `spec` or `status`: an object, `any` or a raw schema.
    pub(super) fn root(&mut self, field: &FieldSpec, part: Part, type_name: &str, open: bool) -> Schema {
        let place = Place {
            part,
            type_name,
            has_old: true,
        };
        if let FieldForm::Type(expr) = &field.form {
            let any = matches!(&expr.form, TypeForm::Named(name) if name == "any");
            if !any {
                let fault = Diagnostic::error(Code::WrongType, field.span, "a kind's schema is a mapping of fields");
                self.faults
                    .push(fault.help("list the fields below, or write `any` for a free-form object"));
            }
            return known::plain(Shape::Any, json!({"type": "object"}));
        }
        self.bounds.restart();
        let mut schema = self.field(field, place);
        match &mut schema.shape {
            Shape::Object(object) => object.open = open,
            Shape::Raw(raw) => {
                if raw.get("type").and_then(Value::as_str) != Some("object") {
                    let message = "the schema of `spec` or `status` has `type: object`";
                    self.faults
                        .push(Diagnostic::error(Code::SchemaRoot, field.span, message));
                }
                for key in ["additionalProperties", "nullable"]
                    .into_iter()
                    .filter(|key| raw.contains_key(*key))
                {
                    let message = format!("`{key}` at the root of a schema");
                    self.faults
                        .push(Diagnostic::error(Code::SchemaRoot, field.span, message));
                }
                if open {
                    raw.insert("x-kubernetes-preserve-unknown-fields".into(), json!(true));
                }
            }
            _ => {}
        }
        schema
    }

    /// A Rust type name for a path.
    pub(super) fn type_name(&mut self, wanted: &str, path: &str) -> String {
        self.names.claim(wanted, path)
    }

    /// What a handler returns.
    pub(super) fn result(&mut self, field: &FieldSpec, type_name: &str) -> Schema {
        self.bounds.restart();
        self.field(
            field,
            Place {
                part: Part::Result,
                type_name,
                has_old: true,
            },
        )
    }

    fn field(&mut self, field: &FieldSpec, place: Place<'_>) -> Schema {
        let depth = match &field.form {
            FieldForm::Fields(_) => Depth::LEVEL,
            FieldForm::Type(_) | FieldForm::Raw(_) => Depth::NONE,
        };
        if !self.bounds.enter(depth, field.span, self.faults) {
            return known::plain(Shape::Any, json!({}));
        }
        let mut schema = match &field.form {
            FieldForm::Type(expr) => self.type_expr(
                expr,
                Place {
                    has_old: place.has_old && !merge::hides_items(field),
                    ..place
                },
            ),
            FieldForm::Fields(fields) => self.object(fields, place),
            FieldForm::Raw(node) => known::plain(Shape::Raw(raw(node, self.faults)), json!({})),
        };
        let named_type = matches!(&field.form, FieldForm::Type(expr) if matches!(&expr.form, TypeForm::Named(name) if self.types.contains_key(name.as_str())));
        self.apply(field, &mut schema, place, named_type);
        if schema.description.is_none() {
            schema.description.clone_from(&field.comment);
        }
        self.bounds.leave(depth);
        schema
    }

    fn object(&mut self, fields: &[NamedField], place: Place<'_>) -> Schema {
        self.faults.extend(presence::like_openapi(fields));
        let mut lowered: Vec<Field> = Vec::new();
        let mut rust_names: BTreeMap<String, &str> = BTreeMap::new();
        for named in fields {
            let field = self.named(named, place);
            if let Some(other) = rust_names.get(&field.rust_name) {
                let message = format!(
                    "`{other}` and `{}` are both `{}` in Rust",
                    field.wire_name, field.rust_name
                );
                let fault = Diagnostic::error(Code::NameCollision, named.name.span, message);
                self.faults
                    .push(fault.help("give one of them another name: rust=other_name"));
            } else {
                rust_names.insert(field.rust_name.clone(), &named.name.value);
                lowered.push(field);
            }
        }
        let object = ObjectSchema {
            type_name: place.type_name.to_string(),
            fields: lowered,
            open: false,
        };
        known::plain(Shape::Object(object), json!({}))
    }

    fn named(&mut self, named: &NamedField, place: Place<'_>) -> Field {
        let name = named.name.value.as_str();
        self.check_field_name(named, place);
        let child = format!("{}{}", place.type_name, naming::pascal_case(name));
        let child = if is_type(&named.field) {
            self.names.claim(&child, &format!("{}.{name}", place.type_name))
        } else {
            child
        };
        let schema = self.field(
            &named.field,
            Place {
                type_name: &child,
                ..place
            },
        );
        let presence = self.presence(&named.field, &schema, place);
        let rust_name = self.rust_name(&named.field).unwrap_or_else(|| naming::field_name(name));
        Field {
            wire_name: name.to_string(),
            rust_name,
            presence,
            schema,
        }
    }

    fn check_field_name(&mut self, named: &NamedField, place: Place<'_>) {
        let name = named.name.value.as_str();
        if name.is_empty() || name.chars().any(|c| c.is_control() || c.is_whitespace()) {
            self.faults.push(Diagnostic::error(
                Code::FieldSyntax,
                named.name.span,
                format!("`{name}` cannot name a field"),
            ));
        } else if place.part != Part::Result && !naming::is_camel_case(name) {
            let message = format!("`{name}` is not camelCase, as fields of Kubernetes are");
            self.faults
                .push(Diagnostic::warning(Code::NotCamelCase, named.name.span, message));
        }
    }

    fn type_expr(&mut self, expr: &TypeExpr, place: Place<'_>) -> Schema {
        let depth = match &expr.form {
            TypeForm::Named(_) => Depth::NAME,
            TypeForm::List(_) | TypeForm::Map(_) => Depth::LEVEL,
        };
        if !self.bounds.enter(depth, expr.span, self.faults) {
            return known::plain(Shape::Any, json!({}));
        }
        let schema = match &expr.form {
            TypeForm::List(item) => {
                let item = self.type_expr(item, place);
                known::plain(Shape::List(Box::new(item)), json!({}))
            }
            TypeForm::Map(value) => {
                let value = self.type_expr(value, place);
                known::plain(Shape::Map(Box::new(value)), json!({}))
            }
            TypeForm::Named(name) => self.named_type(name, expr.span, place),
        };
        self.bounds.leave(depth);
        schema
    }

    fn named_type(&mut self, name: &str, span: Span, place: Place<'_>) -> Schema {
        if let Some(schema) = known::schema(name) {
            return schema;
        }
        let Some(&field) = self.types.get(name) else {
            self.faults.push(self.unknown_type(name, span));
            return known::plain(Shape::Any, json!({}));
        };
        if self.open.iter().any(|open| open == name) {
            let message = format!("type `{name}` contains itself, which a CRD cannot express");
            let fault = Diagnostic::error(Code::RecursiveType, span, message);
            self.faults
                .push(fault.help("use `object` where the nesting starts again"));
            return known::plain(Shape::Any, json!({}));
        }
        let type_name = self.names.claim(&naming::type_name(name), &format!("types.{name}"));
        self.open.push(name.to_string());
        let part = if place.part == Part::Status {
            Part::Status
        } else {
            Part::Types
        };
        let schema = self.field(
            field,
            Place {
                part,
                type_name: &type_name,
                ..place
            },
        );
        self.open.pop();
        schema
    }

    fn unknown_type(&self, name: &str, span: Span) -> Diagnostic {
        let names = || known::TYPES.iter().copied().chain(self.types.keys().copied());
        let common = [
            ("int", "integer"),
            ("int64", "integer"),
            ("bool", "boolean"),
            ("str", "string"),
            ("float", "number"),
            ("list", "[]TYPE"),
            ("array", "[]TYPE"),
            ("map", "map[string]TYPE"),
            ("timestamp", "datetime"),
            ("date", "datetime"),
        ];
        let meant = common.iter().find(|(other, _)| *other == name).map(|(_, meant)| *meant);
        let help = match meant.or_else(|| did_you_mean(name, names())) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!(
                "types are {}, a name out of `types`, []TYPE and map[string]TYPE",
                listed(names())
            ),
        };
        Diagnostic::error(Code::UnknownType, span, format!("unknown type `{name}`")).help(help)
    }
}

/// Whether a field becomes a Rust type of its own.
fn is_type(field: &FieldSpec) -> bool {
    match &field.form {
        FieldForm::Fields(_) => true,
        FieldForm::Type(_) => field.option("enum").is_some(),
        FieldForm::Raw(_) => false,
    }
}

/// The empty status of a kind that declares none.
pub(super) fn empty_object(type_name: &str, open: bool) -> Schema {
    let object = ObjectSchema {
        type_name: type_name.to_string(),
        fields: Vec::new(),
        open,
    };
    Schema {
        shape: Shape::Object(object),
        description: None,
        nullable: false,
        default: None,
        keywords: Map::new(),
    }
}
