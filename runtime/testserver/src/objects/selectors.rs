//! Label and field selectors.

use serde_json::Value;

use crate::kinds::Kind;
use crate::status::Status;

/// What a list, a watch or a deletion is limited to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selector {
    labels: Vec<(String, Rule)>,
    fields: Vec<(Vec<String>, Rule)>,
}

#[derive(Debug, Clone, PartialEq)]
enum Rule {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Absent,
}

impl Selector {
    pub(crate) fn parse(labels: &str, fields: &str, kind: &Kind) -> Result<Self, Status> {
        let labels = split(labels).into_iter().map(parse_label).collect::<Result<_, _>>()?;
        let fields = split(fields)
            .into_iter()
            .map(|text| parse_field(text, kind))
            .collect::<Result<_, _>>()?;
        Ok(Self { labels, fields })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        let labels = &object["metadata"]["labels"];
        let mut fields = self.fields.iter();
        self.labels
            .iter()
            .all(|(key, rule)| rule.accepts(labels.get(key).and_then(Value::as_str)))
            && fields.all(|(path, rule)| {
                let value = path.iter().fold(object, |value, key| &value[key.as_str()]);
                match value {
                    Value::String(text) => rule.accepts(Some(text)),
                    Value::Null => rule.accepts(Some("")),
                    other => rule.accepts(Some(&other.to_string())),
                }
            })
    }
}

impl Rule {
    fn accepts(&self, value: Option<&str>) -> bool {
        let among = |values: &[String]| value.is_some_and(|value| values.iter().any(|each| each == value));
        match self {
            Self::In(values) => among(values),
            Self::NotIn(values) => !among(values),
            Self::Exists => value.is_some(),
            Self::Absent => value.is_none(),
        }
    }
}

/// Splits at commas outside of parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let parts = text.split(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

fn parse_label(text: &str) -> Result<(String, Rule), Status> {
    let fault = || Status::bad_request(format!("unable to parse requirement: {text:?}"));
    if let Some(key) = text.strip_prefix('!') {
        return Ok((key.trim().into(), Rule::Absent));
    }
    if let Some((key, rule)) = parse_equality(text) {
        return Ok((key.into(), rule));
    }
    let Some((head, values)) = text.split_once('(') else {
        return if text.contains(char::is_whitespace) {
            Err(fault())
        } else {
            Ok((text.into(), Rule::Exists))
        };
    };
    let values = values.strip_suffix(')').ok_or_else(fault)?;
    let values = values.split(',').map(|value| value.trim().to_owned()).collect();
    match head.split_whitespace().collect::<Vec<_>>()[..] {
        [key, "in"] => Ok((key.into(), Rule::In(values))),
        [key, "notin"] => Ok((key.into(), Rule::NotIn(values))),
        _ => Err(fault()),
    }
}

fn parse_field(text: &str, kind: &Kind) -> Result<(Vec<String>, Rule), Status> {
    let Some((path, rule)) = parse_equality(text) else {
        return Err(Status::bad_request(format!(
            "invalid selector: '{text}'; can't understand '{text}'"
        )));
    };
    if kind.custom && !matches!(path, "metadata.name" | "metadata.namespace") {
        return Err(Status::bad_request(format!("field label not supported: {path}")));
    }
    Ok((path.split('.').map(str::to_owned).collect(), rule))
}

fn parse_equality(text: &str) -> Option<(&str, Rule)> {
    let one = |value: &str| vec![value.trim().to_owned()];
    if text.contains('(') {
        None
    } else if let Some((key, value)) = text.split_once("!=") {
        Some((key.trim(), Rule::NotIn(one(value))))
    } else {
        let (key, value) = text.split_once("==").or_else(|| text.split_once('='))?;
        Some((key.trim(), Rule::In(one(value))))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kinds::Kinds;

    fn matches(labels: &str, fields: &str) -> bool {
        let kinds = Kinds::built_in();
        let selector = Selector::parse(labels, fields, kinds.get("", "pods").unwrap()).unwrap();
        let labels = json!({"app": "web", "tier": "front"});
        selector.matches(&json!({"metadata": {"name": "a", "labels": labels}, "spec": {"nodeName": "n1"}}))
    }

    #[test]
    fn labels_are_compared_by_equality() {
        assert!(matches("app=web,tier==front,app!=db,other!=x", ""));
        assert!(!matches("app=db", ""));
    }

    #[test]
    fn labels_are_compared_by_sets() {
        assert!(matches(
            "app in (web, db),tier notin (back),app,!other, other notin (x)",
            ""
        ));
        assert!(!matches("app notin (web)", ""));
        assert!(!matches("!app", ""));
        assert!(!matches("other", ""));
    }

    #[test]
    fn fields_are_compared_by_path() {
        assert!(matches("", "metadata.name=a,spec.nodeName!=n2"));
        assert!(!matches("", "spec.nodeName=n2"));
    }

    #[test]
    fn nonsense_is_refused() {
        let kinds = Kinds::built_in();
        let pods = kinds.get("", "pods").unwrap();
        for text in ["a in", "a in (x", "a of (x)"] {
            assert_eq!(Selector::parse(text, "", pods).unwrap_err().code, 400, "{text}");
        }
    }
}
