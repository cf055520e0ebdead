//! Options of a field: which fit, and what becomes of them.

use serde_json::{Value, json};

use super::super::conformance::misfits;
use super::super::patterns::pattern_fault;
use super::{Lowering, Place, limits, merge, shape_name, values};
use crate::diagnostic::{Code, Diagnostic, Span, listed};
use crate::model::{Scalar, Schema, Shape};
use crate::naming;
use crate::spec::{FieldOption, FieldSpec};

const ANYWHERE: &[&str] = &[
    "required",
    "default",
    "nullable",
    "immutable",
    "rule",
    "message",
    "description",
    "example",
    "deprecated",
    "rust",
];

/// The further options that a schema takes.
fn fitting(schema: &Schema) -> &'static [&'static str] {
    match &schema.shape {
        Shape::Scalar(Scalar::String) => &["minLength", "maxLength", "pattern", "format", "enum"],
        Shape::Scalar(Scalar::Integer | Scalar::Int32) => &[
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
            "enum",
        ],
        Shape::Scalar(Scalar::Number) => &[
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
        ],
        Shape::List(_) => &["minItems", "maxItems", "listType", "listMapKey"],
        Shape::Map(_) => &["minProperties", "maxProperties", "mapType"],
        Shape::Object(_) => &["mapType"],
        _ => &[],
    }
}

impl Lowering<'_, '_> {
    /// Writes the options of a field into its schema. A named type brings options of its own, which these override.
    pub(super) fn apply(&mut self, field: &FieldSpec, schema: &mut Schema, place: Place<'_>, named_type: bool) {
        let fitting = fitting(schema);
        for option in &field.options {
            let key = option.key.value.as_str();
            if !ANYWHERE.contains(&key) && !fitting.contains(&key) {
                self.faults.push(misplaced(option, schema, fitting));
            }
        }
        let fits = |option: &&FieldOption| {
            ANYWHERE.contains(&option.key.value.as_str()) || fitting.contains(&option.key.value.as_str())
        };
        for option in field.options.iter().filter(fits) {
            self.one(option, schema);
        }
        if let Some(option) = field.option("enum").filter(|_| fitting.contains(&"enum")) {
            self.closed_set(option, schema, place);
        }
        self.rules(field, schema, place);
        merge::check(field, schema, named_type, self.faults);
        limits::check(field, schema, self.faults);
        self.documentation(field, schema);
        self.default_and_example(field, schema);
    }

    /// Options that stand for themselves.
    fn one(&mut self, option: &FieldOption, schema: &mut Schema) {
        let key = option.key.value.as_str();
        let whole = matches!(schema.shape, Shape::Scalar(Scalar::Integer | Scalar::Int32));
        let value = match key {
            "nullable" => {
                schema.nullable = values::flag(option, self.faults).unwrap_or_default();
                return;
            }
            "minimum" | "maximum" | "multipleOf" => values::number(option, whole, self.faults).map(Value::Number),
            "exclusiveMinimum" | "exclusiveMaximum" => self.exclusive(option),
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
                values::count(option, self.faults).map(Value::from)
            }
            "pattern" => self.pattern(option),
            "format" => self.format(option),
            _ => None,
        };
        if let Some(value) = value {
            schema.keywords.insert(key.to_string(), value);
        }
    }

    fn exclusive(&mut self, option: &FieldOption) -> Option<Value> {
        let before = self.faults.len();
        let flag = values::flag(option, self.faults);
        if let (None, Some(fault)) = (flag, self.faults.get_mut(before)) {
            let limit = option.key.value.replace("exclusive", "").to_lowercase();
            fault.help = Some(format!("as in OpenAPI v3.0: {limit}=5 {}=true", option.key.value));
        }
        flag.filter(|flag| *flag).map(Value::Bool)
    }

    fn pattern(&mut self, option: &FieldOption) -> Option<Value> {
        let pattern = values::text(option, self.faults)?;
        if let Some(reason) = pattern_fault(&pattern) {
            let message = format!("`{pattern}` is no RE2 pattern: {reason}");
            self.faults
                .push(Diagnostic::error(Code::Pattern, option.value.span(), message));
            return None;
        }
        Some(json!(pattern))
    }

    fn format(&mut self, option: &FieldOption) -> Option<Value> {
        let format = values::text(option, self.faults)?;
        if limits::FORMATS.contains(&format.as_str()) {
            return Some(json!(format));
        }
        let help = crate::diagnostic::did_you_mean(&format, limits::FORMATS.iter().copied()).map_or_else(
            || format!("known are {}", listed(limits::FORMATS.iter().copied())),
            |name| format!("did you mean `{name}`?"),
        );
        let message = format!("the API server does not know the format `{format}`");
        self.faults
            .push(Diagnostic::error(Code::FieldOptionValue, option.value.span(), message).help(help));
        None
    }

    fn closed_set(&mut self, option: &FieldOption, schema: &mut Schema, place: Place<'_>) {
        let Some(texts) = values::texts(option, self.faults) else {
            return;
        };
        let span = option.value.span();
        if texts.is_empty() || texts == [""] {
            self.faults
                .push(Diagnostic::error(Code::Empty, span, "`enum` lists no value"));
            return;
        }
        if let Some((index, twice)) = texts
            .iter()
            .enumerate()
            .find(|(index, text)| texts[..*index].contains(text))
        {
            let message = format!(
                "`{twice}` stands twice in `enum`, the second time as value {}",
                index + 1
            );
            self.faults.push(Diagnostic::error(Code::Duplicate, span, message));
            return;
        }
        if matches!(schema.shape, Shape::Scalar(Scalar::String)) {
            schema.keywords.insert("enum".into(), json!(texts));
            schema.shape = Shape::Enum {
                type_name: place.type_name.to_string(),
                variants: variants(texts),
            };
            return;
        }
        let numbers: Option<Vec<i64>> = texts.iter().map(|text| text.parse().ok()).collect();
        if let Some(numbers) = numbers {
            drop(schema.keywords.insert("enum".into(), json!(numbers)));
        } else {
            let message = "values of `enum` are whole numbers here, as the field is";
            self.faults
                .push(Diagnostic::error(Code::FieldOptionValue, span, message));
        }
    }

    fn rules(&mut self, field: &FieldSpec, schema: &mut Schema, place: Place<'_>) {
        let mut rules = Vec::new();
        if let Some(option) = field.option("immutable")
            && values::flag(option, self.faults) == Some(true)
        {
            self.needs_old(option.key.span, place, "`immutable`");
            rules.push(json!({"rule": "self == oldSelf", "message": "cannot be changed"}));
        }
        let rule = field.option("rule");
        let message = field.option("message");
        if let Some(text) = rule.and_then(|option| values::text(option, self.faults)) {
            let span = rule.map_or(field.span, |option| option.value.span());
            if text.trim().is_empty() {
                self.faults
                    .push(Diagnostic::error(Code::Rule, span, "the rule is empty"));
            }
            if text.contains("oldSelf") {
                self.needs_old(span, place, "a rule on `oldSelf`");
            }
            let words = message.and_then(|option| values::text(option, self.faults));
            self.check_message(message, words.as_deref(), &text, span);
            rules.push(match words {
                Some(words) => json!({"rule": text, "message": words}),
                None => json!({"rule": text}),
            });
        } else if let (Some(message), None) = (message, rule) {
            let fault = Diagnostic::error(Code::Rule, message.key.span, "`message` without `rule`");
            self.faults
                .push(fault.help("the message belongs to a CEL rule: rule=\"self > 0\" message=\"…\""));
        }
        if !rules.is_empty() {
            schema
                .keywords
                .insert("x-kubernetes-validations".into(), Value::Array(rules));
        }
    }

    fn check_message(&mut self, option: Option<&FieldOption>, words: Option<&str>, rule: &str, rule_span: Span) {
        match (option, words) {
            (Some(option), Some(words)) if words.trim().is_empty() || words.contains('\n') => {
                let message = "the message of a rule is one line and says something";
                self.faults
                    .push(Diagnostic::error(Code::Rule, option.value.span(), message));
            }
            (None, _) if rule.trim().contains('\n') => {
                let message = "a rule of several lines needs a `message`";
                self.faults.push(Diagnostic::error(Code::Rule, rule_span, message));
            }
            _ => {}
        }
    }

    fn needs_old(&mut self, span: Span, place: Place<'_>, what: &str) {
        if !place.has_old {
            let message = format!("{what} stands below a list that is replaced as a whole, so there is no old value");
            let fault = Diagnostic::error(Code::OldSelf, span, message);
            self.faults
                .push(fault.help("give the list listType=map and a listMapKey"));
        }
    }

    fn documentation(&mut self, field: &FieldSpec, schema: &mut Schema) {
        if let Some(text) = field
            .option("description")
            .and_then(|option| values::text(option, self.faults))
        {
            schema.description = Some(text);
        } else if let Some(comment) = &field.comment {
            schema.description = Some(comment.clone());
        }
        let Some(option) = field.option("deprecated") else {
            return;
        };
        let is_flag = matches!(values::flag(option, &mut Vec::new()), Some(true));
        let note = if is_flag {
            "Deprecated.".to_string()
        } else {
            match values::text(option, self.faults) {
                Some(text) if text != "false" => format!("Deprecated: {text}"),
                _ => return,
            }
        };
        schema.description = Some(match schema.description.take() {
            Some(text) => format!("{text}\n\n{note}"),
            None => note,
        });
    }

    fn default_and_example(&mut self, field: &FieldSpec, schema: &mut Schema) {
        for key in ["default", "example"] {
            let Some(option) = field.option(key) else { continue };
            let Some(value) = values::value(option, schema, self.faults) else {
                continue;
            };
            let bare = Schema {
                default: None,
                ..schema.clone()
            };
            let mut fits = true;
            for misfit in misfits(&bare.openapi(), &value) {
                let place = if misfit.path.is_empty() {
                    format!("`{key}`")
                } else {
                    format!("`{}` of `{key}`", misfit.path.join("."))
                };
                let code = if misfit.pruned {
                    Code::DefaultPruned
                } else {
                    Code::DefaultValue
                };
                self.faults.push(Diagnostic::error(
                    code,
                    option.value.span(),
                    format!("{place} {}", misfit.message),
                ));
                fits = false;
            }
            if fits && key == "default" {
                schema.default = Some(value);
            } else if fits {
                schema.keywords.insert(key.into(), value);
            }
        }
    }
}

fn variants(values: Vec<String>) -> Vec<(String, String)> {
    let mut variants: Vec<(String, String)> = Vec::new();
    for (index, value) in values.into_iter().enumerate() {
        let mut number = index + 1;
        let wanted = naming::variant_name(&value).unwrap_or_else(|| {
            if value.is_empty() {
                "Empty".to_string()
            } else {
                format!("Value{number}")
            }
        });
        let mut name = wanted.clone();
        while variants.iter().any(|(_, other)| *other == name) {
            name = format!("{wanted}{number}");
            number += 1;
        }
        variants.push((value, name));
    }
    variants
}

fn misplaced(option: &FieldOption, schema: &Schema, fitting: &[&str]) -> Diagnostic {
    let key = option.key.value.as_str();
    let name = shape_name(schema);
    let fault = Diagnostic::error(
        Code::MisplacedFieldOption,
        option.key.span,
        format!("`{key}` does not fit {name}"),
    );
    if matches!(schema.shape, Shape::List(_)) && !key.contains("Properties") {
        fault.help("for the items, name their type in `types` and give it the option")
    } else if fitting.is_empty() {
        fault.help(format!("{name} takes no limits"))
    } else {
        fault.help(format!("{name} takes {}", listed(fitting.iter().copied())))
    }
}

#[cfg(test)]
mod tests {
    use super::variants;

    #[test]
    fn variants_are_distinct() {
        for values in [
            vec!["a3", "a", "A"],
            vec!["A", "a", "a2", "a3", "a-2"],
            vec!["", "empty", "Empty"],
            vec!["?", "!", "value1", "value2", "Value 2"],
        ] {
            let mut names: Vec<String> = variants(values.iter().map(ToString::to_string).collect())
                .into_iter()
                .map(|(_, name)| name)
                .collect();
            names.sort();
            let count = names.len();
            names.dedup();
            assert_eq!(names.len(), count, "{values:?}: {names:?}");
        }
    }
}
