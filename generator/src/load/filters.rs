//! Criteria of an entry: labels, annotations, values of fields, conditions.

use super::environment::environment;
use super::keys::{CONDITION, TEXT_CRITERION, VALUE_CRITERION};
use super::reader::{Faults, any_mapping, boolean, is_empty, is_variable, mapping, sequence, text};
use crate::diagnostic::{Code, Diagnostic, Span, wrong_type};
use crate::model::{Condition, Configured, Criterion, HelperArgument};
use crate::spec::{Content, CriterionSpec, FiltersSpec, Mapping, Node, Spanned};

/// `values` names the keys which are criteria of the field.
pub(super) fn filters(keys: &Mapping, values: &[&str], faults: &mut Faults) -> FiltersSpec {
    let mut filters = FiltersSpec::default();
    filters.labels = criteria(keys.get("labels"), "`labels`", &mut filters, faults);
    filters.annotations = criteria(keys.get("annotations"), "`annotations`", &mut filters, faults);
    let mut value = |key: &str, faults: &mut Faults| {
        let node = keys.get(key).filter(|_| values.contains(&key))?;
        let criterion = value_criterion(node, key, &mut filters, faults)?;
        Some(Spanned::new(criterion, node.span))
    };
    let (now, old, new) = (value("value", faults), value("old", faults), value("new", faults));
    (filters.value, filters.old, filters.new) = (now, old, new);
    filters.when = keys.get("when").and_then(|node| {
        let condition = condition(node, &mut filters, faults)?;
        Some(Spanned::new(condition, node.span))
    });
    filters
}

fn criteria(node: Option<&Node>, what: &str, filters: &mut FiltersSpec, faults: &mut Faults) -> Vec<CriterionSpec> {
    let Some(mapping) = node
        .filter(|node| !is_empty(node))
        .and_then(|node| any_mapping(node, what, faults))
    else {
        return Vec::new();
    };
    let mut criteria = Vec::new();
    for entry in &mapping.entries {
        if let Some(criterion) = text_criterion(&entry.value, &entry.key.value, filters, faults) {
            criteria.push(CriterionSpec {
                key: entry.key.clone(),
                criterion,
                span: entry.value.span,
            });
        }
    }
    criteria
}

const TEXT_FORMS: &str = "a criterion is a text, {present: true}, {absent: true}, {fn: name} or {env: NAME}";

fn text_criterion(node: &Node, key: &str, filters: &mut FiltersSpec, faults: &mut Faults) -> Option<Criterion> {
    let what = format!("`{key}`");
    if node.as_mapping().is_none() {
        return text(node, &what, faults).map(|text| Criterion::Equals(text.value.into()));
    }
    let before = faults.len();
    let keys = mapping(node, &TEXT_CRITERION, faults)?;
    if keys.get("env").is_some() || keys.get("default").is_some() {
        alone(node, keys, &["env", "default"], TEXT_FORMS, faults)?;
        let option = environment(node, keys, text, faults)?;
        return match option.value {
            Configured::Environment { name, default } => Some(Criterion::Environment { name, default }),
            Configured::Plain(_) => None,
        };
    }
    let criterion = common(node, keys, HelperArgument::Value, TEXT_FORMS, filters, faults);
    if criterion.is_none() && faults.len() == before {
        faults.push(wrong_type(node.span, &what, "a text or a criterion", "empty").help(TEXT_FORMS));
    }
    criterion
}

const VALUE_FORMS: &str =
    "a criterion is a single value, {equals: ANYTHING}, {present: true}, {absent: true} or {fn: name}";

fn value_criterion(node: &Node, key: &str, filters: &mut FiltersSpec, faults: &mut Faults) -> Option<Criterion> {
    let what = format!("`{key}`");
    if is_variable(node, &what, "a value or a criterion", faults) {
        return None;
    }
    match &node.content {
        Content::Sequence(_) => {
            faults.push(wrong_type(node.span, &what, "a single value", "a list").help("write {equals: [...]}"));
            return None;
        }
        Content::Scalar(_) => return equals(node, &what, faults),
        Content::Mapping(_) => {}
    }
    let before = faults.len();
    let keys = mapping(node, &VALUE_CRITERION, faults)?;
    if let Some(value) = keys.get("equals") {
        alone(node, keys, &["equals"], VALUE_FORMS, faults)?;
        return equals(value, "`equals`", faults);
    }
    let criterion = common(node, keys, HelperArgument::Value, VALUE_FORMS, filters, faults);
    if criterion.is_none() && faults.len() == before {
        faults.push(wrong_type(node.span, &what, "a value or a criterion", "empty").help(VALUE_FORMS));
    }
    criterion
}

fn equals(node: &Node, what: &str, faults: &mut Faults) -> Option<Criterion> {
    if is_empty(node) {
        let fault = wrong_type(node.span, what, "a value", "null");
        faults.push(fault.help("null is no value of a field: write {absent: true}"));
        return None;
    }
    let before = faults.len();
    let value = node.to_json(faults);
    (faults.len() == before).then_some(Criterion::Equals(value))
}

/// `present`, `absent` and `fn`.
fn common(
    node: &Node,
    keys: &Mapping,
    argument: HelperArgument,
    forms: &str,
    filters: &mut FiltersSpec,
    faults: &mut Faults,
) -> Option<Criterion> {
    if let Some(name) = keys.get("fn") {
        alone(node, keys, &["fn"], forms, faults)?;
        return function(name, argument, filters, faults).map(Criterion::By);
    }
    for (name, criterion) in [("present", Criterion::Present), ("absent", Criterion::Absent)] {
        let Some(value) = keys.get(name) else { continue };
        let flag = boolean(value, &format!("`{name}`"), faults)?;
        if !flag.value || keys.entries.len() > 1 {
            let message = format!("`{name}` stands alone and is true");
            faults.push(Diagnostic::error(Code::NotAChoice, node.span, message).help(forms));
            return None;
        }
        return Some(criterion);
    }
    None
}

fn alone(node: &Node, keys: &Mapping, together: &[&str], forms: &str, faults: &mut Faults) -> Option<()> {
    if keys
        .entries
        .iter()
        .all(|entry| together.contains(&entry.key.value.as_str()))
    {
        return Some(());
    }
    let message = format!("`{}` stands alone", together.first().unwrap_or(&""));
    faults.push(Diagnostic::error(Code::NotAChoice, node.span, message).help(forms));
    None
}

fn function(node: &Node, argument: HelperArgument, filters: &mut FiltersSpec, faults: &mut Faults) -> Option<String> {
    let name = helper(node, faults)?;
    filters.functions.push((name.clone(), argument));
    Some(name.value)
}

/// The name of a function that decides on an option.
pub(super) fn helper(node: &Node, faults: &mut Faults) -> Option<Spanned<String>> {
    text(node, "`fn`", faults)
}

const CONDITION_FORMS: &str =
    "a condition is one of {fn: name}, {cel: EXPRESSION}, {all: [...]}, {any: [...]}, {none: [...]} and {not: ...}";

fn condition(node: &Node, filters: &mut FiltersSpec, faults: &mut Faults) -> Option<Condition> {
    if node.as_mapping().is_none() {
        faults.push(wrong_type(node.span, "`when`", "a mapping", node.kind()).help(CONDITION_FORMS));
        return None;
    }
    let before = faults.len();
    let keys = mapping(node, &CONDITION, faults)?;
    let [entry] = keys.entries.as_slice() else {
        let message = match keys.entries.len() {
            0 => "this condition is empty",
            _ => "several conditions stand in one mapping",
        };
        if faults.len() == before {
            let help = match keys.entries.len() {
                0 => CONDITION_FORMS,
                _ => "say how they go together: {all: [{...}, {...}]} or {any: [{...}, {...}]}",
            };
            faults.push(Diagnostic::error(Code::Condition, node.span, message).help(help));
        }
        return None;
    };
    match entry.key.value.as_str() {
        "fn" => function(&entry.value, HelperArgument::Filter, filters, faults).map(Condition::By),
        "cel" => expression(&entry.value, filters, faults).map(Condition::Cel),
        "all" => conditions(entry.key.span, &entry.value, "`all`", filters, faults).map(Condition::All),
        "any" => conditions(entry.key.span, &entry.value, "`any`", filters, faults).map(Condition::Any),
        "none" => conditions(entry.key.span, &entry.value, "`none`", filters, faults).map(Condition::None),
        "not" => condition(&entry.value, filters, faults).map(|inner| Condition::Not(Box::new(inner))),
        _ => None,
    }
}

fn conditions(
    place: Span,
    node: &Node,
    what: &str,
    filters: &mut FiltersSpec,
    faults: &mut Faults,
) -> Option<Vec<Condition>> {
    let before = faults.len();
    let items = sequence(Some(node), what, faults);
    if items.is_empty() && faults.len() == before {
        let fault = Diagnostic::error(Code::Empty, place, format!("{what} lists no condition"));
        faults.push(fault.help("list at least one: [{fn: name}]"));
    }
    let conditions: Vec<_> = items
        .iter()
        .filter_map(|item| condition(item, filters, faults))
        .collect();
    (conditions.len() == items.len() && !items.is_empty()).then_some(conditions)
}

fn expression(node: &Node, filters: &mut FiltersSpec, faults: &mut Faults) -> Option<String> {
    let expression = text(node, "`cel`", faults)?;
    let start = node.as_scalar().and_then(|scalar| scalar.verbatim);
    filters.expressions.push((expression.clone(), start));
    Some(expression.value)
}
