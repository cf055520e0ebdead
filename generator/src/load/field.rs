//! Fields: `TYPE | key=value …`, the long form, nested objects and `openAPIV3Schema`.

use super::line::{self, Line};
use super::reader::{Faults, any_mapping, looks_cut};
use crate::diagnostic::did_you_mean;
use crate::diagnostic::{Code, Diagnostic, cut_by_yaml, listed, not_supported_yet, wrong_type};
use crate::spec::{
    Content, Entry, FIELD_OPTIONS, FieldForm, FieldOption, FieldSpec, NamedField, Node, OptionValue, Reading, Spanned,
    TypeExpr,
};

const RAW: &str = "openAPIV3Schema";

/// The schema at a node.
pub(super) fn field(node: &Node, comment: Option<&String>, what: &str, faults: &mut Faults) -> Option<FieldSpec> {
    let (form, options) = match &node.content {
        Content::Scalar(_) => line(node, what, faults)?,
        Content::Sequence(items) => {
            faults.push(list_fault(node, items, what));
            return None;
        }
        Content::Mapping(mapping) => match mapping.entries.as_slice() {
            [only] if only.key.value == RAW => (FieldForm::Raw(only.value.clone()), Vec::new()),
            entries if mapping.get("$type").is_some() => long(entries, what, faults)?,
            entries => nested(entries, faults),
        },
    };
    Some(FieldSpec {
        span: node.span,
        comment: comment.cloned(),
        form,
        options,
    })
}

/// `[]string` without quotes is an empty list to YAML, or a fault of its syntax.
fn list_fault(node: &Node, items: &[Node], what: &str) -> Diagnostic {
    let wanted = if matches!(what, "`spec`" | "`status`") {
        "a mapping of fields, `any` or `{openAPIV3Schema: …}`"
    } else {
        "a field"
    };
    let fault = wrong_type(node.span, what, wanted, "a list");
    match items {
        [only] if only.as_scalar().is_some() => fault.help("a list type is written '[]TYPE', with the quotes"),
        _ => fault.help("write TYPE | key=value …, or a mapping of fields"),
    }
}

/// The fields of a mapping that can hold nothing else: `types`.
pub(super) fn fields(node: &Node, what: &str, faults: &mut Faults) -> Vec<NamedField> {
    let Some(mapping) = any_mapping(node, what, faults) else {
        return Vec::new();
    };
    mapping
        .entries
        .iter()
        .filter_map(|entry| named(entry, faults))
        .collect()
}

fn named(entry: &Entry, faults: &mut Faults) -> Option<NamedField> {
    let name = entry.key.value.as_str();
    let empty = entry
        .value
        .as_scalar()
        .is_some_and(|scalar| scalar.plain && scalar.text.is_empty());
    if looks_cut(name) && (empty || name.contains(['|', '"'])) {
        faults.push(cut_by_yaml(
            entry.key.span,
            format!("YAML makes a field of `{name}`, the rest of another"),
        ));
        return None;
    }
    let what = format!("`{name}`");
    let field = field(&entry.value, entry.comment.as_ref(), &what, faults)?;
    Some(NamedField {
        name: entry.key.clone(),
        field,
    })
}

fn line(node: &Node, what: &str, faults: &mut Faults) -> Option<(FieldForm, Vec<FieldOption>)> {
    if node
        .as_scalar()
        .is_some_and(|scalar| scalar.plain && scalar.text.is_empty())
    {
        let fault = Diagnostic::error(Code::FieldSyntax, node.span, format!("{what} has no type"));
        faults.push(fault.help("write TYPE | key=value …, such as `string | required=true`"));
        return None;
    }
    if let Some(value) = node.as_scalar().filter(|scalar| scalar.reading() != Reading::Text) {
        let message = format!("{what} has the value `{}` where its type belongs", value.text);
        let help = match value.reading() {
            Reading::Integer(_) => format!("a field names its type: integer | default={}", value.text),
            Reading::Float(_) => format!("a field names its type: number | default={}", value.text),
            Reading::Boolean(_) => format!("a field names its type: boolean | default={}", value.text),
            _ => "a field names its type, such as `string` or `boolean | default=true`".to_string(),
        };
        faults.push(Diagnostic::error(Code::FieldSyntax, node.span, message).help(help));
        return None;
    }
    let text = node.to_text(&format!("the type of {what}"), faults)?;
    let verbatim = node.as_scalar().and_then(|scalar| scalar.verbatim);
    let line = Line {
        text: &text,
        verbatim,
        whole: node.span,
    };
    let (expr, options) = line::parse(&line, faults)?;
    let options = options.into_iter().filter(|option| is_known(option, faults)).collect();
    Some((FieldForm::Type(expr), options))
}

fn long(entries: &[Entry], what: &str, faults: &mut Faults) -> Option<(FieldForm, Vec<FieldOption>)> {
    let mut expr: Option<TypeExpr> = None;
    let mut options = Vec::new();
    for entry in entries {
        if entry.key.value == "$type" {
            let text = entry.value.to_text(&format!("the type of {what}"), faults)?;
            let verbatim = entry.value.as_scalar().and_then(|scalar| scalar.verbatim);
            let line = Line {
                text: &text,
                verbatim,
                whole: entry.value.span,
            };
            expr = Some(line::type_only(&line, faults)?);
            continue;
        }
        let option = FieldOption {
            key: entry.key.clone(),
            value: OptionValue::Node(entry.value.clone()),
        };
        if entry.key.value.starts_with('$') {
            let message = format!("`{}` stands beside `$type`", entry.key.value);
            let help = format!(
                "in the long form only the type has the dollar sign: `{}`",
                &entry.key.value[1..]
            );
            faults.push(Diagnostic::error(Code::UnknownFieldOption, entry.key.span, message).help(help));
        } else if is_known(&option, faults) {
            options.push(option);
        }
    }
    expr.map(|expr| (FieldForm::Type(expr), options))
}

fn nested(entries: &[Entry], faults: &mut Faults) -> (FieldForm, Vec<FieldOption>) {
    let mut fields = Vec::new();
    let mut options = Vec::new();
    for entry in entries {
        if let Some(key) = entry.key.value.strip_prefix('$').filter(|key| !key.starts_with("ref")) {
            let key = Spanned::new(key.to_string(), entry.key.span);
            let option = FieldOption {
                key,
                value: OptionValue::Node(entry.value.clone()),
            };
            if is_known(&option, faults) {
                options.push(option);
            }
        } else if entry.key.value == RAW && entry.value.as_mapping().is_some() {
            let message = format!("`{RAW}` is the whole of a field and stands alone");
            let fault = Diagnostic::error(Code::MisplacedFieldOption, entry.key.span, message);
            faults.push(fault.help("write its options as keywords of OpenAPI within it"));
        } else {
            fields.extend(named(entry, faults));
        }
    }
    (FieldForm::Fields(fields), options)
}

fn is_known(option: &FieldOption, faults: &mut Faults) -> bool {
    let key = option.key.value.as_str();
    if key == "renamedFrom" {
        faults.push(not_supported_yet(option.key.span, key));
        return false;
    }
    if FIELD_OPTIONS.contains(&key) {
        return true;
    }
    let fault = Diagnostic::error(
        Code::UnknownFieldOption,
        option.key.span,
        format!("unknown field option `{key}`"),
    );
    let help = match did_you_mean(key, FIELD_OPTIONS.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!(
            "known options: {}",
            listed(FIELD_OPTIONS.iter().copied().filter(|name| *name != "renamedFrom"))
        ),
    };
    faults.push(fault.help(help));
    false
}
